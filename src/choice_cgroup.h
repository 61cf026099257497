/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -G, --container and --unit: the cgroups that they mean, now and as others come that they
 * mean too, told to the kernel side.
 */
#ifndef LB_CHOICE_CGROUP_H
#define LB_CHOICE_CGROUP_H

#include "base/cleanup.h"
#include "options.h"

struct sampler;
struct choice_cgroups;

/**
 * Finds them. @o and @s are borrowed and must outlive this.
 * Return: 0, with *ret NULL where there is nothing to find; -ENOENT when a value means no
 * cgroup that there is; a sentence is in @err.
 */
int choice_cgroups_new(const struct options *o, struct sampler *s,
		       struct choice_cgroups **ret, struct error *err);
void choice_cgroups_free(struct choice_cgroups *c);
DEFINE_CLEANUP(struct choice_cgroups, choice_cgroups_free);

/* These two accept NULL. */

/** Readable (poll) when choice_cgroups_look() has something to do; -1: never. */
int choice_cgroups_poll_fd(const struct choice_cgroups *c);
void choice_cgroups_look(struct choice_cgroups *c);

/** Cgroups that were meant, but did not fit the kernel's map. */
uint64_t choice_cgroups_nr_refused(const struct choice_cgroups *c);

#endif
