/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops all privileges that a worker does not need. */
#ifndef LB_WORKER_SANDBOX_H
#define LB_WORKER_SANDBOX_H

#include <stdint.h>

#include "base/capability.h"
#include "worker/worker.h"

/* The memory of every user's processes. */
#define READER_CAPABILITIES CAPABILITY(CAP_SYS_PTRACE)
/*
 * What is in the /proc of every user's processes (SYS_PTRACE), map_files
 * (CHECKPOINT_RESTORE), folders of other users (DAC_READ_SEARCH), files with the rights of
 * their owner (SETUID, SETGID).
 */
#define OPENER_CAPABILITIES                                                \
	(CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_CHECKPOINT_RESTORE) | \
	 CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_SETUID) |        \
	 CAPABILITY(CAP_SETGID))

struct sandbox_config {
	enum worker_kind kind;
	/* RLIMIT_DATA (not RLIMIT_AS: decoders map large files) */
	uint64_t max_data_bytes;
	unsigned int cpu_seconds; /* RLIMIT_CPU */
};

/**
 * Locks this process down, irreversibly: limits, no new privileges, not dumpable,
 * landlock denying every path (where the kernel has it), a uid and gid of its own, no
 * capabilities, seccomp with a list of calls. Any other call fails with EPERM, so that
 * a library that probes for features continues.
 *
 * A reader differs in two ways. It keeps CAP_SYS_PTRACE, if present, which lets it read
 * the memory of every user's processes. And it has no landlock domain: a process in one
 * may access only processes of that same domain (hook_ptrace_access_check() in the
 * kernel's security/landlock). No call in its list takes a path.
 *
 * An opener has calls that look up and read files, and the capabilities for that (the
 * source has the list). It has no landlock domain either, for the same reason.
 * Return: 0 or a negative errno; then the caller must exit.
 */
int sandbox_enter(const struct sandbox_config *config);

#endif
