/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the cgroups of -G, --container and --unit, tracks them as they come and go, and
 * sends them to the kernel side.
 */
#ifndef LB_TARGET_CGROUPS_H
#define LB_TARGET_CGROUPS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "target/request.h"

struct sampler;
struct target_cgroups;

/**
 * Finds the cgroups. @r and @s are borrowed and must outlive *ret.
 * Return: 0, with *ret NULL if no such option is given; -ENOENT with a sentence when a
 * value matches no cgroup.
 */
int target_cgroups_new(const struct target_request *r, struct sampler *s,
		       struct target_cgroups **ret, struct error *err);
void target_cgroups_free(struct target_cgroups *c);
DEFINE_CLEANUP(struct target_cgroups, target_cgroups_free);

/* These two accept NULL. */

/** Readable (poll) when target_cgroups_look() has something to do; -1: never. */
int target_cgroups_poll_fd(const struct target_cgroups *c);
void target_cgroups_look(struct target_cgroups *c);

/** Returns how many matching cgroups did not fit the kernel's map. */
uint64_t target_cgroups_nr_refused(const struct target_cgroups *c);

#endif
