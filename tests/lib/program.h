/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unit tests of a folder are one program with several names. The name of the
 * executable (/proc/self/exe) selects the test. argv[0] does not: it is WORKER_ARGV0
 * when a test starts a worker.
 */
#ifndef LB_TESTS_PROGRAM_H
#define LB_TESTS_PROGRAM_H

struct program_test {
	const char *name; /* "/jit/name" of tests/unit/decode/jit/name.c */
	int (*run)(void); /* as a worker, it runs lineburn's decoder operations */
	int (*run_with)(int argc,
			char **argv); /* replaces run(); also handles the arguments */
};

/* Ends with a row whose name is NULL. */
extern const struct program_test program_tests[];

#endif
