// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/source_names.h"
#include "lib/scratch.h"

#define NR_ROOTS (SOURCE_NAMES_MAX_OF_A_PATH + 8)

static char dir[64];
static struct strpool *pool;
static struct profile *p;
static struct source_names files;
static struct process processes[NR_ROOTS];
static struct object objects[NR_ROOTS];

/* Makes root number @i with a file /x.py that contains @text. */
static void make_root(unsigned int i, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", dir, i);
	assert_int_equal(mkdir(path, 0755), 0);
	processes[i] = (struct process){.tgid = i + 1,
					.uid = getuid(),
					.gid = getgid(),
					.root_id = i + 1,
					.id = i};
	processes[i].root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(processes[i].root_fd >= 0);
	objects[i] = (struct object){.kind = OBJECT_INTERP, .name = "[python]", .id = i};
	snprintf(path, sizeof(path), "%s/%u/x.py", dir, i);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *name_in(unsigned int i)
{
	return source_names_find(&files, "/x.py", &objects[i], &processes[i]);
}

static void assert_reads(const char *name, const char *content)
{
	_cleanup_free_ char *text = NULL;
	struct look_facts facts;
	size_t len;

	assert_int_equal(source_names_read(&files, name, &text, &len, &facts), 0);
	assert_string_equal(text, content);
}

static int setup(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	source_names_init(&files, p);
	for (unsigned int i = 0; i < NR_ROOTS; i++)
		processes[i].root_fd = -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < NR_ROOTS; i++)
		if (processes[i].root_fd >= 0)
			close(processes[i].root_fd);
	source_names_deinit(&files);
	profile_free(p);
	strpool_free(pool);
	scratch_remove(dir);
	return 0;
}

static void content_tells_files_of_one_path(void **state)
{
	(void)state;
	make_root(0, "one");
	make_root(1, "two");
	make_root(2, "one");
	assert_string_equal(name_in(0), "/x.py");
	assert_string_equal(name_in(1), "/x.py");
	assert_ptr_not_equal(name_in(0), name_in(1));
	assert_ptr_equal(name_in(0), name_in(2));
	assert_reads(name_in(0), "one");
	assert_reads(name_in(1), "two");
	assert_int_equal(files.nr_not_told, 0);
}

/* The descriptor of a closed root is reused for another root. */
static void descriptors_do_not_tell_roots(void **state)
{
	int fd;

	(void)state;
	make_root(0, "one");
	name_in(0);
	fd = processes[0].root_fd;
	make_root(1, "two");
	assert_int_equal(dup2(processes[1].root_fd, fd), fd);
	close(processes[1].root_fd);
	processes[1].root_fd = fd;
	processes[0].root_fd = -1;
	name_in(1);
	assert_int_equal(files.looks_left, SOURCE_NAMES_MAX_LOOKS - 2);
}

/* A user mounts other files in a root of his own, after his program was named. */
static void a_root_that_was_left_is_not_read(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct look_facts facts;
	size_t len;

	(void)state;
	make_root(0, "one");
	assert_reads(name_in(0), "one");
	processes[0].root_id = 77;
	assert_int_equal(source_names_read(&files, name_in(0), &text, &len, &facts),
			 -ESRCH);
}

static void too_many_of_one_path_are_told(void **state)
{
	char text[16];

	(void)state;
	for (unsigned int i = 0; i < NR_ROOTS; i++) {
		snprintf(text, sizeof(text), "file %u", i);
		make_root(i, text);
		if (i < SOURCE_NAMES_MAX_OF_A_PATH && i)
			assert_ptr_not_equal(name_in(i), name_in(0));
		else
			assert_ptr_equal(name_in(i), name_in(0));
	}
	assert_int_equal(files.nr_not_told, NR_ROOTS - SOURCE_NAMES_MAX_OF_A_PATH);
}

static void too_many_looks_are_told(void **state)
{
	const char *name;

	(void)state;
	files.looks_left = 2;
	make_root(0, "one");
	make_root(1, "two");
	make_root(2, "three");
	name = name_in(0);
	assert_ptr_not_equal(name_in(1), name);
	assert_int_equal(files.nr_not_told, 0);
	assert_ptr_equal(name_in(2), name);
	assert_int_equal(files.nr_not_told, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(content_tells_files_of_one_path),
		TEST(descriptors_do_not_tell_roots),
		TEST(a_root_that_was_left_is_not_read),
		TEST(too_many_of_one_path_are_told),
		TEST(too_many_looks_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
