/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up the rights that the collector does not need after it has started. */
#ifndef LB_WORKER_LOCKDOWN_H
#define LB_WORKER_LOCKDOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct lockdown {
	uid_t uid; /* the process becomes this user; its own: it stays */
	gid_t gid;
	pid_t may_signal; /* a process that it may signal, besides itself; 0: none */
	bool loads_programs; /* BPF programs, later: for uprobes */
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
 *   processes, type into a terminal, mount, load modules, change ids, or write, create,
 *   remove or change files by a path; unless @l->loads_programs, without those that load
 *   BPF programs, which could read the kernel's memory and signal what runs
 *
 * Other threads that run now keep their capabilities, and get the filter. New threads
 * have the same as the calling one.
 *
 * Return: 0, or a negative errno with a message; then the process must not go on.
 */
int lockdown_enter(const struct lockdown *l, struct error *err);

#endif
