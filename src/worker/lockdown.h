/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up the rights that the collector does not need after it has started. */
#ifndef LB_WORKER_LOCKDOWN_H
#define LB_WORKER_LOCKDOWN_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#ifndef CAP_BPF /* Linux 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

#ifndef CAP_CHECKPOINT_RESTORE /* Linux 5.9 */
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* A set of capabilities (linux/capability.h): bit n is capability n. */
#define CAPABILITY(number) (UINT64_C(1) << (number))

/**
 * Drops all capabilities of this thread but those in @keep, of which some may be absent.
 *
 * @pass_on  programs that it executes get them, too, also if it is not root
 * Return: 0 or a negative errno.
 */
int capabilities_keep(uint64_t keep, bool pass_on);

struct lockdown {
	uid_t uid; /* the process becomes this user; its own: it stays */
	gid_t gid;
	pid_t may_signal; /* a process that it may signal, besides itself; 0: none */
	/*
	 * Called without CAP_SYS_ADMIN: does the collector need it? NULL: no.
	 */
	bool (*needs_admin)(void *ctx);
	void *ctx;
};

/**
 * Irreversible. Afterwards this process has
 * - CAP_BPF and CAP_PERFMON, if it had them: to make maps, and events of new CPUs and
 *   files. CAP_SYS_ADMIN only where it stands for them, or is needed
 * - no_new_privs
 * - a seccomp filter without calls that execute, create processes, trace or signal other
 *   processes, mount, load modules, change ids, or write, create, remove or change files
 *   by a path
 *
 * Other threads that run now keep their capabilities, and get the filter. New threads
 * have the same as the calling one.
 *
 * Return: 0, or a negative errno with a message; then the process must not go on.
 */
int lockdown_enter(const struct lockdown *l, struct error *err);

#endif
