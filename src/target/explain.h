/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains why a target matches nothing, and names similar targets that exist. */
#ifndef LB_TARGET_EXPLAIN_H
#define LB_TARGET_EXPLAIN_H

#include <stdint.h>

#include "base/error.h"
#include "target/request.h"

/**
 * Explains why @pid cannot be followed: it is a thread's id, it is a pid in a
 * container, it has exited, or /proc hides it.
 * Return: -ESRCH, or -EACCES if hidden.
 */
int explain_no_process(uint32_t pid, struct error *err);

/**
 * Warns of the first --comm or --user that matches no thread now; one may start later.
 * Reads all of /proc if one of them was given.
 */
void explain_empty_target(const struct target_request *r);

/**
 * Explains why there are no samples, if known.
 *
 * @is_clock  CPU time was sampled
 *
 * Return: -ENODATA
 */
int explain_no_samples(const struct target_request *r, bool is_clock, struct error *err);

#endif
