/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process and all that descends from it, told to the kernel side. */
#ifndef LB_TARGET_FAMILY_H
#define LB_TARGET_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct sampler;

/**
 * Says @mask of @tgid and, with @children, of what descends from it: /proc is read until
 * there is nobody new, since whoever is not told of yet hands nothing on to its children.
 * Return: 0, -ESRCH when there is no such process, or -errno; with a sentence.
 */
int target_add_family(struct sampler *s, uint32_t tgid, uint32_t mask, bool children,
		      struct error *err);

#endif
