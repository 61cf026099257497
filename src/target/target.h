/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets on the kernel side which processes to sample, and updates that. */
#ifndef LB_TARGET_TARGET_H
#define LB_TARGET_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/quota.h"
#include "base/strpool.h"
#include "target/request.h"

struct sampler;
struct target;

/**
 * Sets up everything but request->pids, which record/intake.c adds later, because it
 * knows their descendants. Call it before the first target is added and before
 * sampling. @r and @s are borrowed and must outlive *ret.
 * Return: 0, or -errno with a message: -ESRCH, -ENOENT: a target does not exist.
 */
int target_new(const struct target_request *r, struct sampler *s, struct target **ret,
	       struct error *err);
void target_free(struct target *c);
DEFINE_CLEANUP(struct target, target_free);

/** Returns whether only given processes and their descendants are sampled. */
bool target_follows_processes(const struct target_request *r);

/** Returns whether rules of processes apply to their children, too. */
bool target_has_families(const struct target_request *r);

/** Returns the only processes that must be tracked; NULL: all. Borrowed. */
const uint32_t *target_tgids(const struct target *c, size_t *ret_nr);

/** Readable (poll) when target_look() has something to do; -1: never. */
int target_poll_fd(const struct target *c);
void target_look(struct target *c);
/** Is a look at cgroups unfinished? Then call it again soon. */
bool target_is_looking(const struct target *c);

/** Returns whether threads were given and all of them have ended. */
bool target_threads_are_gone(struct target *c);

/** Returns how many matching cgroups are not sampled because a map was full. */
uint64_t target_nr_refused(const struct target *c);
/** quota_each_refused() of the tables of cgroups. */
void target_each_refused(struct target *c, quota_refused_fn fn, void *ctx);

/**
 * Describes the target: "process 12 34", "the whole machine: comm gzip, not user root".
 * Escaped.
 */
const char *target_describe(const struct target_request *r, struct strpool *pool);

#endif
