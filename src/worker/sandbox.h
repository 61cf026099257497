/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops every right that a worker does not need. */
#ifndef LB_WORKER_SANDBOX_H
#define LB_WORKER_SANDBOX_H

#include <stdint.h>

#include "worker/worker.h"

struct sandbox_config {
	enum worker_kind kind;
	uint64_t max_data_bytes; /* RLIMIT_DATA (not AS: files are mapped) */
	unsigned int cpu_seconds; /* RLIMIT_CPU */
};

/**
 * Locks this process down, irreversibly: limits, no new privileges, not dumpable,
 * landlock denying every path (where the kernel has it), a uid and gid of its own, no
 * capabilities, seccomp with a list of calls; any other call fails with EPERM, so that a
 * library that probes for features carries on.
 *
 * A reader differs in two things. It keeps CAP_SYS_PTRACE, if it is there: that
 * alone lets such a uid read the memory of every user's processes. And it is not
 * landlocked: a process in a landlock domain may access only processes of that
 * same domain (hook_ptrace_access_check() in the kernel's security/landlock).
 * Its system call list has no call that takes a path.
 * Return: 0 or a negative errno; then the caller must exit.
 */
int sandbox_enter(const struct sandbox_config *config);

#endif
