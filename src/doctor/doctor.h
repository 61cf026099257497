/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lineburn needs of a system, what was found, and the remedy. */
#ifndef LB_DOCTOR_DOCTOR_H
#define LB_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/**
 * Examines this system and prints what it found.
 *
 * @json  one object: {"lineburn": 1, "kind": "doctor", "ok": bool, "checks":
 *        [{"name", "status": "ok"|"warn"|"fail", "found", "remedy"}]}
 * Return: EXIT_OK, or EXIT_SYSTEM when something keeps lineburn from recording.
 */
int doctor_run(bool json, FILE *out);

/**
 * Is this a container from which nothing can be recorded, whatever its rights: with the pids
 * of another namespace than the kernel's, or as a root that is none? A question before a
 * recording, which finds out all else itself.
 *
 * @root  put before every path: "" for this system, a folder for tests
 * Return: 0, or -EPERM: what is missing and the remedy are in @err.
 */
int doctor_admits(const char *root, struct error *err);

/* ---- the parts of it, for tests ---- */

enum check_status {
	CHECK_OK,
	CHECK_WARN, /* recording works, with less to see or at a higher price */
	CHECK_FAIL, /* recording does not work */
	NR_CHECK_STATUS,
};

struct check {
	const char *name; /* stable, for scripts */
	enum check_status status;
	char found[320]; /* may hold names that strangers chose */
	char remedy[480]; /* "" exactly when @status is CHECK_OK */
};

#define DOCTOR_MAX_CHECKS 24

struct doctor {
	struct check checks[DOCTOR_MAX_CHECKS];
	size_t nr_checks;
};

/* What cannot be read from files. */
struct doctor_probes {
	int perf_errno; /* of perf_event_open(2) for cpu-clock on CPU 0; 0: it works */
	int bpf_errno; /* of loading a small tracing program; 0: it works */
	int cookie_errno; /* of loading one that asks for its probe's cookie; 0: it works */
	int jit_probe_errno; /* of loading the probe of JITs itself, same */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: unlimited */
	const char *debuginfod_urls; /* NULL: not set */
};

/** Tries the system calls. Leaves nothing behind. */
void doctor_probe(struct doctor_probes *ret);

/**
 * Makes all checks.
 *
 * @root  put before every path: "" for this system, a folder for tests
 */
void doctor_examine(const char *root, const struct doctor_probes *probes,
		    struct doctor *ret);

/** Return: as doctor_run(). */
int doctor_print(const struct doctor *d, bool json, FILE *out);

#endif
