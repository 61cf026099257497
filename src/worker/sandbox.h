/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes every right from the calling process that decoding does not need. */
#ifndef LB_WORKER_SANDBOX_H
#define LB_WORKER_SANDBOX_H

#include <stdint.h>

struct sandbox_config {
	uint64_t max_data_bytes; /* RLIMIT_DATA (not AS: files are mapped) */
	unsigned int cpu_seconds; /* RLIMIT_CPU */
};

/**
 * Irreversible. Limits, no new privileges, not dumpable, landlock denying every
 * path (where the kernel has it), uid and gid 65534, no capabilities, seccomp
 * with a list of calls; any other call answers EPERM, so that a library that
 * probes for features carries on.
 * Return: 0 or a negative errno; then the caller must exit.
 */
int sandbox_enter(const struct sandbox_config *config);

#endif
