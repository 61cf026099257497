/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lets a group record without root: the steps are printed as the commands that they stand
 * for, with what each opens, and are made only if the user agrees.
 */
#ifndef LB_DOCTOR_FIX_H
#define LB_DOCTOR_FIX_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

#define FIX_GROUP       "lineburn"
#define FIX_SYSCTL_PATH "/etc/sysctl.d/90-lineburn.conf"

/* What the steps depend on; tests make it up. */
struct fix {
	const char *root; /* prefix of /etc and /proc/sys: "" for this system */
	const char *program; /* path of what gets the capabilities */
	/* The same file. Another user may have put another one at @program meanwhile. */
	const char *file;
	bool is_perf_restricted; /* doctor_is_perf_restricted() */
	bool is_root; /* it may make the steps */
};

/**
 * Prints the steps, and with @agreed makes those that are not made yet, up to the first
 * that fails.
 *
 * Return: 0, or a negative errno with the remedy in @err.
 */
int fix_run(const struct fix *f, bool agreed, FILE *out, struct error *err);

/** The same for this system and this program. */
int doctor_fix(bool agreed, FILE *out, struct error *err);

#endif
