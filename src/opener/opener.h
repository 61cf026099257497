/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector's side of the opener, a worker that looks (look.h) in its place.
 *
 * A look that does not end in time leaves its process behind, which may wait for ever, and
 * the next one gets a fresh process. The target of such a look is banned: its directory in
 * /proc (that is, its tgid and start), and for OPENER_LATE_S seconds the mount of a file that
 * could not be opened, for its tenant.
 * Stuck processes count against the tenant of their target (worker/child.h); when a tenant
 * has too many, or two late looks in OPENER_LATE_S seconds (root: eight), looks for that
 * tenant fail at once, with -EBUSY.
 * Looks that are slow, but not late, because the opener sleeps or runs for long, are paid
 * for by the tenant of their target, if tenants share the time (opener_share()): each has
 * half a second, and then a quarter of the time, for /proc, and as much for files. Beyond
 * that looks at /proc fail with -EBUSY, too; callers leave files for later
 * (opener_has_time()).
 * Where the kernel is late with the cgroup of any process, nobody pays for it, and looks
 * at cgroups have the rc -EBUSY for OPENER_LATE_S seconds.
 *
 * Without opener_begin(), and in other threads, looks are made in the calling process:
 * for readers of profiles, and doctor.
 */
#ifndef LB_OPENER_OPENER_H
#define LB_OPENER_OPENER_H

#include "base/error.h"
#include "base/quota.h"
#include "opener/look.h"

/*
 * Longest time of one request, in which its process sleeps or runs. After two
 * requests in OPENER_LATE_S seconds took longer, it is shorter for tenants that were late
 * themselves, or are not known; after four, for all. An answer takes less than a
 * millisecond unless a disk or a server is slow. After 64, no look is made.
 */
#define OPENER_MS      250
#define OPENER_LATE_MS 25
#define OPENER_LATE_S  20
#define OPENER_LIST_MS \
	2000 /* of a list of all processes, of which there may be 100,000s */

/* Most looks in one request: each may have a descriptor. */
#define OPENER_MAX_LOOKS 8

/** From now on, looks of this thread are made in the opener. Return: 0 or -errno. */
int opener_begin(struct error *err);
/** Ends that. Does not wait for stuck processes. Does nothing without a begin. */
void opener_end(void);

/**
 * Finds the tenant of a process that is not known yet; without it a user is a tenant.
 *
 * @uid     its effective user; of a program that is setuid root, who runs it
 * @cgroup  as read of it; its rc may be an error
 */
typedef struct tenant opener_tenant_fn(void *ctx, uint32_t uid,
				       const struct look *cgroup);
/** @fn  NULL: none. Until opener_end() */
void opener_find_tenants(opener_tenant_fn *fn, void *ctx);

/** From now on the targets are of several tenants, who share its time. Until opener_end() */
void opener_share(void);

/**
 * Makes the looks, in order, at @base_fd. Sets the results of each, which the caller frees
 * with look_deinit().
 *
 * @who  whose file or process that is. If it is not known, it is read in a directory of
 *       /proc when it matters
 * Return: 0, or why none was made: -EBUSY (its tenant has too many stuck ones, or the target
 * is banned, or its tenant had too much time), -ETIMEDOUT, or another negative errno; each
 * look's rc is the same.
 */
int opener_look(int base_fd, struct tenant who, struct look *looks, size_t nr);

/** opener_look() for one look. Return: its rc. */
int opener_look_at(int base_fd, struct tenant who, struct look *look);

/**
 * May files of @who be looked at now? If not, they were slow before, and it is counted: look
 * at them later.
 */
bool opener_has_time(struct tenant who);

/* Most processes in one request; each may have two descriptors in the answer. */
#define OPENER_MAX_GROUPS 16

/* Looks at one process. */
struct look_group {
	/*
	 * Its directory in /proc. Negative: it is PID in @proc_fd, a descriptor of /proc, and
	 * opened first; then this becomes the directory (O_PATH, the caller's), or a negative
	 * errno, which is that of all looks, too.
	 */
	int base_fd;
	int proc_fd;
	uint32_t pid;
	struct tenant who; /* as in opener_look() */
	struct look *looks; /* at most one that has a descriptor */
	size_t nr;
};

/** opener_look() in a directory that may have to be opened. @process->nr may be 0. */
int opener_look_at_process(struct look_group *process);

/**
 * Makes the looks of up to OPENER_MAX_GROUPS groups in one request, which saves most of the
 * time where CPUs are busy: each answer waits for a CPU twice. The rc -EAGAIN of all looks of
 * a group means: look at it alone. That is so if any may get stuck, or one did: then it is
 * not known which, and no look is counted as late, unless it was /proc itself. The child left behind is charged to the
 * one of them that is late alone; until then it counts as one of TENANT_UNKNOWN.
 */
void opener_look_groups(struct look_group *groups, size_t nr);

struct opener_stats {
	uint64_t nr_requests;
	uint64_t nr_late; /* that did not end in time */
	/* because of a ban, or too many stuck ones or slow looks of a tenant */
	uint64_t nr_refused;
	uint64_t nr_put_off; /* times that files of a tenant had to be looked at later */
	uint64_t nr_failed; /* openers that ended, or whose answer was malformed */
	uint64_t cpu_ns;
};

void opener_stats(struct opener_stats *ret);

#endif
