// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode/requests.h"
#include "lib/program.h"
#include "worker/worker.h"

/* Finds the test with the longest matching name: "/jit/name" before "/name". */
static const struct program_test *program_test_find(const char *path)
{
	const struct program_test *found = NULL;
	size_t found_len = 0;

	for (const struct program_test *t = program_tests; t->name; t++) {
		size_t path_len = strlen(path), len = strlen(t->name);

		if (len > found_len && path_len >= len &&
		    !strcmp(path + path_len - len, t->name)) {
			found = t;
			found_len = len;
		}
	}
	return found;
}

/* LB_UNIT_FILTER="NAME:PATTERN": test program NAME runs only tests that match. */
static void filter_tests(const struct program_test *t)
{
	const char *filter = getenv("LB_UNIT_FILTER"), *name = t->name + 1;
	size_t len = strlen(name);

	if (filter && !strncmp(filter, name, len) && filter[len] == ':')
		cmocka_set_test_filter(filter + len + 1);
}

int main(int argc, char **argv)
{
	char path[4096] = "";
	const struct program_test *t;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return 127;
	t = program_test_find(path);
	if (!t && argc > 0)
		t = program_test_find(argv[0]); /* for a copy with another name */
	if (!t) {
		fprintf(stderr, "%s: no test has this name\n", path);
		return 127;
	}
	filter_tests(t);
	if (t->run_with)
		return t->run_with(argc, argv);
	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(operations, NR_OPERATIONS);
	return t->run();
}
