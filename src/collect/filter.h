/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells the kernel side which tasks to sample. Each call takes effect at the next tick,
 * also while sampling. Masks are those of lineburn_filter.h.
 */
#ifndef LB_COLLECT_FILTER_H
#define LB_COLLECT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lineburn_filter.h"

struct sampler;

/*
 * What is said of a process, and of the children that it will have; of a thread; of an
 * effective uid. A mask is added to what was said before. Return: 0, or -errno with a
 * sentence: -E2BIG when the map is full.
 */
int sampler_filter_process(struct sampler *s, uint32_t tgid, uint32_t mask,
			   struct error *err);
int sampler_filter_thread(struct sampler *s, uint32_t tid, uint32_t mask,
			  struct error *err);
int sampler_filter_user(struct sampler *s, uint32_t uid, uint32_t mask,
			struct error *err);

/*
 * Takes all back that was said. The kernel side knows by its number whom it was told of
 * until it meets it: call these when the one that was meant turns out to be gone, as
 * another may have got the number meanwhile.
 */
void sampler_forget_process(struct sampler *s, uint32_t tgid);
void sampler_forget_thread(struct sampler *s, uint32_t tid);

/**
 * What is said of a cgroup and all below it, instead of what was said before.
 * @mask  0: nothing any more
 * Return: 0 or -errno: -E2BIG when the map is full.
 */
int sampler_filter_cgroup(struct sampler *s, const struct lb_cgroup_key *key,
			  uint32_t mask);

/** Names of threads; see comm_glob.h. Return: 0 or -errno. */
int sampler_filter_comms(struct sampler *s, const struct lb_comm_table *table);

/**
 * Hierarchies in which a task's cgroup is looked for, by the first number of their lines
 * in /proc/PID/cgroup. @nr  0..LB_FILTER_HIERARCHIES
 */
void sampler_use_hierarchies(struct sampler *s, const uint32_t *hierarchies, size_t nr);

/**
 * Which kinds say anything, and which of them include: call last.
 * @no_children  what is said of processes from now on does not hold for their children
 */
void sampler_use_filter(struct sampler *s, uint32_t uses, uint32_t wanted,
			bool no_children);

#endif
