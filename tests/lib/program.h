/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unit tests of a folder are one program with many names. The one by which it is started
 * tells which test runs; not argv[0], which says WORKER_ARGV0 when a test starts a worker.
 */
#ifndef LB_TESTS_PROGRAM_H
#define LB_TESTS_PROGRAM_H

struct program_test {
	const char *name; /* "/jit/name" of tests/unit/decode/jit/name.c */
	int (*run)(void); /* its workers have the operations of lineburn's */
	int (*run_with)(int argc,
			char **argv); /* instead: it judges the arguments itself */
};

/* Ends with a row without a name. */
extern const struct program_test program_tests[];

#endif
