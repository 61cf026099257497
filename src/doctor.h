/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lineburn needs of a system, what was found, and the remedy. */
#ifndef LB_DOCTOR_H
#define LB_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum check_status {
	CHECK_OK,
	CHECK_WARN, /* works, with less to see */
	CHECK_FAIL, /* recording does not work */
};

struct check {
	const char *name; /* stable, for scripts */
	enum check_status status;
	char found[256];
	char remedy[320]; /* "" when nothing is to be done */
};

#define DOCTOR_MAX_CHECKS 16

struct doctor {
	struct check checks[DOCTOR_MAX_CHECKS];
	size_t nr_checks;
};

/**
 * Makes the checks that only read files. @root is put before every path: "" for
 * this system, a directory for tests.
 */
void doctor_read(struct doctor *d, const char *root);

/** Makes the checks that try system calls: perf_event_open(2), bpf(2). */
void doctor_try(struct doctor *d);

/** Prints the checks. Return: EXIT_OK, or EXIT_SYSTEM when one failed. */
int doctor_print(const struct doctor *d, bool json, FILE *out);

/** All of it for this system. Return: what the process shall exit with. */
int doctor_run(bool json, FILE *out);

#endif
