/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets on the kernel side which tasks to sample. Each call takes effect at the next
 * tick, also while sampling. Masks are those of lineburn_filter.h.
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
 * Adds a mask to the rule of a process and its future children, of a thread (@id is its
 * tid | LB_TARGET_THREAD), or of an effective uid. Return: 0, or -errno with a message:
 * -E2BIG if the map is full.
 */
int sampler_filter_task(struct sampler *s, uint32_t id, uint32_t mask, struct error *err);
int sampler_filter_user(struct sampler *s, uint32_t uid, uint32_t mask,
			struct error *err);

/** Returns the rule of a process or a thread (tid | LB_TARGET_THREAD); 0: none. */
uint32_t sampler_task_mask(const struct sampler *s, uint32_t id);

/**
 * Calls @fn for each rule of processes and threads until it returns nonzero. Rules that
 * come or go meanwhile may be missing.
 * Return: the last result of @fn, or 0, or -errno.
 */
int sampler_each_task(const struct sampler *s,
		      int (*fn)(void *ctx, uint32_t id, uint32_t mask), void *ctx);

/*
 * Removes the rule of a process or thread. Until its first tick the kernel side knows
 * it only by its number. Call this if it has exited, because its number may be reused.
 */
void sampler_forget_task(struct sampler *s, uint32_t id);

/**
 * Sets the rule of a cgroup and all below it, replacing the previous rule.
 * @mask  0: removes the rule
 * Return: 0 or -errno: -E2BIG if the map is full.
 */
int sampler_filter_cgroup(struct sampler *s, const struct lb_cgroup_key *key,
			  uint32_t mask);

/** Sets the patterns of thread names; see comm_glob.h. Return: 0 or -errno. */
int sampler_filter_comms(struct sampler *s, const struct lb_comm_table *table);

/**
 * Sets the hierarchies in which a task's cgroup is looked up, by the first number of
 * their lines in /proc/PID/cgroup. @nr  0..LB_FILTER_HIERARCHIES
 */
void sampler_use_hierarchies(struct sampler *s, const uint32_t *hierarchies, size_t nr);

/**
 * Sets which kinds have rules, and which have include rules. Call last.
 * @no_children  children do not inherit process rules that are set from now on
 */
void sampler_use_filter(struct sampler *s, uint32_t uses, uint32_t wanted,
			bool no_children);

#endif
