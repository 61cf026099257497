/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what lineburn needs from a system, and suggests remedies. */
#ifndef LB_DOCTOR_DOCTOR_H
#define LB_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/**
 * Examines this system and prints the results.
 *
 * @json  one object: {"lineburn": 1, "kind": "doctor", "ok": bool, "checks":
 *        [{"name", "status": "ok"|"warn"|"fail", "found", "remedy"}]}
 * Return: EXIT_OK, or EXIT_SYSTEM if lineburn cannot record.
 */
int doctor_run(bool json, FILE *out);

/**
 * Call before a recording: fails in a container that cannot record with any privileges,
 * because it has its own pid namespace, or its root is not the real one. The recording
 * itself detects all other problems.
 *
 * @root  prefix of every path: "" for this system, a folder for tests
 * Return: 0, or -EPERM with the problem and the remedy in @err.
 */
int doctor_admits(const char *root, struct error *err);

enum check_status {
	CHECK_OK,
	CHECK_WARN, /* recording works, with less data or at a higher cost */
	CHECK_FAIL, /* recording does not work */
	NR_CHECK_STATUS,
};

/* A capability that a recording uses (docs/security.md). */
struct needed_cap {
	int cap;
	const char *name;
	bool admin_does; /* CAP_SYS_ADMIN suffices, too */
	bool of_root; /* only for root, whose helpers have uids of their own (CAP_SETUID) */
	enum check_status without; /* CHECK_OK: it is worth a word */
	const char *why;
};

#define NR_NEEDED_CAPS 10
extern const struct needed_cap needed_caps[NR_NEEDED_CAPS];

/**
 * Does recording with CAP_PERFMON fail, because the kernel restricts perf events to
 * CAP_SYS_ADMIN? Some distributions' kernels do, where kernel.perf_event_paranoid is 3 or
 * more.
 */
bool doctor_is_perf_restricted(void);

/* ---- parts, for tests ---- */

struct check {
	const char *name; /* stable, for scripts */
	enum check_status status;
	char found[480]; /* may contain untrusted names */
	char remedy[480]; /* "" if @status is CHECK_OK */
};

#define DOCTOR_MAX_CHECKS 24

struct doctor {
	struct check checks[DOCTOR_MAX_CHECKS];
	size_t nr_checks;
};

/* Results of system calls, which no file shows. */
struct doctor_probes {
	int perf_errno; /* of perf_event_open(2) for cpu-clock on CPU 0; 0: it works */
	/*
	 * Of one for this process alone and in user space, without CAP_SYS_ADMIN. Only a
	 * kernel that restricts perf events to CAP_SYS_ADMIN refuses that (EACCES).
	 */
	int own_perf_errno;
	int bpf_errno; /* of loading a small tracing program; 0: it works */
	int cookie_errno; /* of loading one that reads its probe's cookie; 0: it works */
	int jit_probe_errno; /* of loading the probe of JITs itself, same */
	bool are_uprobes_refused; /* to these rights */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: unlimited */
	const char *debuginfod_urls; /* NULL: not set */
	bool lacks_debuginfod_find; /* which asks the servers */
	bool is_arm64;
};

/** Tries the system calls. Has no lasting effect. */
void doctor_probe(struct doctor_probes *ret);

/**
 * Runs all checks.
 *
 * @root  prefix of every path: "" for this system, a folder for tests
 */
void doctor_examine(const char *root, const struct doctor_probes *probes,
		    struct doctor *ret);

/** Return: as doctor_run(). */
int doctor_print(const struct doctor *d, bool json, FILE *out);

#endif
