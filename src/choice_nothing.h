/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was asked for, and nobody is: in words, with what there is instead. */
#ifndef LB_CHOICE_NOTHING_H
#define LB_CHOICE_NOTHING_H

#include <stdint.h>

#include "base/error.h"
#include "options.h"

/**
 * Says why @pid cannot be followed: it is a thread's number, that of a container, it has
 * ended, or /proc hides it.
 * Return: -ESRCH, or -EACCES where it is hidden.
 */
int choice_no_process(uint32_t pid, struct error *err);

/**
 * Warns of the first --comm or --user that fits no thread there is: before somebody waits
 * for it, though such a thread may still come. Reads all of /proc if any was given.
 */
void choice_warn_of_nothing(const struct options *o);

/** Says why there are no samples, as far as that is known. Return: -ENODATA. */
int choice_no_samples(const struct options *o, struct error *err);

#endif
