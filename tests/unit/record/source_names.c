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
#include "lib/slow_opener.h"

#define NR_ROOTS (SOURCE_NAMES_MAX_OF_A_PATH + 8)

static char dir[64];
static struct strpool *pool;
static struct profile *p;
static struct source_names files;
static struct process processes[NR_ROOTS];
static struct object objects[NR_ROOTS];
static const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};

static void path_in(unsigned int i, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%u/x.py", dir, i);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Makes root number @i with a file /x.py that contains @text. */
static void make_root(unsigned int i, const char *text)
{
	char path[128];

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
	path_in(i, path, sizeof(path));
	write_text(path, text);
}

static void remove_file(unsigned int i)
{
	char path[128];

	path_in(i, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
}

/* Writes a new file, with another inode. */
static void replace_file(unsigned int i, const char *text)
{
	char path[128], old[132];

	path_in(i, path, sizeof(path));
	snprintf(old, sizeof(old), "%s.old", path);
	assert_int_equal(rename(path, old), 0);
	write_text(path, text);
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

static void assert_not_read(const char *name, int rc)
{
	_cleanup_free_ char *text = NULL;
	struct look_facts facts;
	size_t len;

	assert_int_equal(source_names_read(&files, name, &text, &len, &facts), rc);
	assert_null(text);
}

static void assert_not_told(const char *name)
{
	assert_string_equal(name, "<too many files>/x.py");
	assert_not_read(name, -ENOENT);
}

static uint64_t nr_refused_of_alice;
static const char *refused_what;

static void on_refused(void *ctx, const struct quota *q, struct tenant who, uint64_t nr)
{
	(void)ctx;
	assert_true(tenant_is_same(who, alice));
	refused_what = q->what;
	nr_refused_of_alice += nr;
}

static void assert_alice_was_refused(uint64_t nr, const char *what)
{
	nr_refused_of_alice = 0;
	source_names_each_refused(&files, on_refused, NULL);
	assert_int_equal(nr_refused_of_alice, nr);
	assert_string_equal(refused_what, what);
}

static int setup(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	source_names_init(&files, p, true);
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
	(void)state;
	make_root(0, "one");
	assert_reads(name_in(0), "one");
	processes[0].root_id = 77;
	assert_not_read(name_in(0), -ESRCH);
}

/* A stranger may make any file that has the size and the time of another's. */
static void size_and_time_tell_nothing(void **state)
{
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char path[128];

	(void)state;
	files.bytes_left = 0;
	for (unsigned int i = 0; i < 2; i++) {
		make_root(i, i ? "two" : "one");
		path_in(i, path, sizeof(path));
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	assert_reads(name_in(0), "one");
	assert_reads(name_in(1), "two");
	assert_int_equal(files.nr_not_told, 1);
}

/* A stranger may run the same program, or forge its build id. */
static void a_file_is_not_that_of_a_root_without(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		make_root(i, "one");
	remove_file(0);
	remove_file(3);
	assert_ptr_not_equal(name_in(1), name_in(0));
	assert_not_read(name_in(0), -ENOENT);
	assert_reads(name_in(1), "one");
	assert_ptr_equal(name_in(2), name_in(1));
	assert_ptr_equal(name_in(3), name_in(0));
}

/* The user chose the targets, such as a build in a sandbox without its sources. */
static void one_users_roots_share_it(void **state)
{
	(void)state;
	source_names_deinit(&files);
	source_names_init(&files, p, false);
	make_root(0, "one");
	make_root(1, "one");
	remove_file(0);
	assert_ptr_equal(name_in(1), name_in(0));
	assert_reads(name_in(0), "one");
}

/* Else a stranger could change the file after it was compared with the file of others. */
static void what_was_compared_is_read(void **state)
{
	char path[128], other[128];
	const char *name;

	(void)state;
	make_root(0, "one");
	make_root(1, "one");
	name = name_in(0); /* the first, whose file is read */
	assert_ptr_equal(name_in(1), name);
	assert_reads(name, "one");
	path_in(0, path, sizeof(path));
	write_text(path, "two");
	assert_not_read(name_in(0), -ESTALE);
	/* The same text will do, in whatever file. */
	replace_file(0, "one");
	assert_reads(name_in(0), "one");

	source_names_deinit(&files);
	source_names_init(&files, p, true);
	make_root(2, "one");
	make_root(3, "");
	path_in(2, path, sizeof(path));
	path_in(3, other, sizeof(other));
	remove_file(3);
	assert_int_equal(link(path, other), 0);
	name = name_in(2);
	assert_ptr_equal(name_in(3), name);
	assert_reads(name, "one");
	/* It is the file of both. */
	write_text(path, "two");
	assert_reads(name_in(2), "two");
	replace_file(2, "two");
	assert_not_read(name_in(2), -ESTALE);
}

static void a_file_that_was_absent_is_not_read(void **state)
{
	const char *name;
	char path[128];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		make_root(i, "");
		remove_file(i);
	}
	name = name_in(0);
	assert_ptr_equal(name_in(1), name);
	path_in(0, path, sizeof(path));
	write_text(path, "forged");
	assert_not_read(name, -ESTALE);
}

/* Makes @nr roots from number @from on, each with another file, and names their files. */
static void make_different(unsigned int from, unsigned int nr)
{
	char text[16];

	for (unsigned int i = from; i < from + nr; i++) {
		snprintf(text, sizeof(text), "file %u", i);
		make_root(i, text);
		name_in(i);
	}
}

static void too_many_of_one_path_are_told(void **state)
{
	(void)state;
	make_different(0, NR_ROOTS);
	for (unsigned int i = 0; i < NR_ROOTS; i++)
		if (i < SOURCE_NAMES_MAX_OF_A_PATH) {
			assert_string_equal(name_in(i), "/x.py");
			assert_int_equal(i && name_in(i) == name_in(0), 0);
		} else {
			assert_not_told(name_in(i));
		}
	assert_int_equal(files.nr_not_told, NR_ROOTS - SOURCE_NAMES_MAX_OF_A_PATH);
}

static void a_tenant_takes_a_quarter_of_a_path(void **state)
{
	const unsigned int part = SOURCE_NAMES_MAX_OF_A_PATH / 4;

	(void)state;
	source_names_serve(&files, alice);
	make_different(0, part + 2);
	assert_string_equal(name_in(part - 1), "/x.py");
	assert_not_told(name_in(part));
	assert_not_told(name_in(part + 1));
	assert_int_equal(files.nr_not_told, 2);
	assert_alice_was_refused(2, "further source files at one path");

	source_names_serve(&files, bob);
	make_different(part + 2, 1);
	assert_reads(name_in(part + 2), "file 66");
	/* In the same root as alice, running the same code. */
	assert_reads(name_in(part), "file 64");
	assert_int_equal(files.nr_not_told, 2);
}

static void a_tenant_takes_a_quarter_of_all_places(void **state)
{
	(void)state;
	files.places.max = 8;
	source_names_serve(&files, alice);
	make_different(0, 4);
	assert_reads(name_in(2), "file 2");
	assert_not_told(name_in(3));
	assert_alice_was_refused(1, "further source files at one path");
	source_names_serve(&files, bob);
	make_different(4, 1);
	assert_reads(name_in(4), "file 4");
}

/* Roots 0, 2 and 3 have one file; alice names the first three of them, bob the fourth. */
static void compare_as_alice_and_bob(uint64_t nr_refused, const char *what)
{
	source_names_serve(&files, alice);
	make_root(0, "one");
	make_root(1, "two");
	make_root(2, "one");
	make_root(3, "one");
	assert_ptr_not_equal(name_in(0), name_in(1));
	assert_int_equal(files.nr_not_told, 0);
	assert_ptr_not_equal(name_in(2), name_in(0));
	assert_ptr_not_equal(name_in(2), name_in(1));
	assert_reads(name_in(2), "one");
	assert_int_equal(files.nr_not_told, 1);
	source_names_serve(&files, bob);
	assert_ptr_equal(name_in(3), name_in(0));
	assert_int_equal(files.nr_not_told, 1);
	assert_alice_was_refused(nr_refused, what);
}

static void a_tenant_takes_a_quarter_of_the_looks(void **state)
{
	(void)state;
	files.looks.max = 8;
	compare_as_alice_and_bob(1, "checks of source files");
}

static void a_tenant_takes_a_quarter_of_the_bytes(void **state)
{
	(void)state;
	files.bytes.max = 4 * 2 * 4;
	compare_as_alice_and_bob(2 * 4, "bytes read to compare source files");
}

static void too_many_looks_are_told(void **state)
{
	(void)state;
	files.looks_left = 2;
	make_root(0, "one");
	make_root(1, "two");
	make_root(2, "one");
	name_in(0);
	name_in(1);
	assert_int_equal(files.nr_not_told, 0);
	assert_ptr_not_equal(name_in(2), name_in(0));
	assert_reads(name_in(2), "one");
	assert_int_equal(files.nr_not_told, 1);
}

/* Without tenants there is a time for all. */
static void slow_files_of_one_user_are_not_waited_for(void **state)
{
	(void)state;
	source_names_deinit(&files);
	source_names_init(&files, p, false);
	for (unsigned int i = 0; i < 3; i++)
		make_root(i, "one");
	assert_ptr_equal(name_in(1), name_in(0));
	assert_true(files.took_ns > 0);
	files.took_ns = SOURCE_NAMES_MAX_NS;
	assert_ptr_not_equal(name_in(2), name_in(0));
	assert_int_equal(files.nr_not_told, 1);
	assert_int_equal(files.looks_left, SOURCE_NAMES_MAX_LOOKS - 2);
	assert_not_read(name_in(0), -EBUSY);
}

/* Lets the files of alice be so slow that none is opened any more. */
static void make_slow(unsigned int root)
{
	struct look itself = {.where = LOOK_ITSELF, .what = LOOK_FACTS};
	int at = processes[root].root_fd;

	assert_int_equal(opener_begin(NULL), 0);
	opener_share();
	/* The first request starts the opener. */
	assert_int_equal(opener_look_at(at, alice, &itself), 0);
	while (opener_has_time(alice))
		assert_int_equal(slow_opener_look(at, alice, &itself), 0);
	/* So that its debt does not pass at once. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(slow_opener_look(at, alice, &itself), 0);
}

/* Another's slow files are not compared; what is not of him is. */
static void slow_files_of_a_tenant_are_not_waited_for(void **state)
{
	(void)state;
	make_root(0, "one");
	make_root(1, "four");
	make_root(2, "one");
	make_root(3, "five");
	make_root(4, "one");
	processes[1].tenant = processes[2].tenant = alice;
	/* It is of another size, and so not read. */
	assert_ptr_not_equal(name_in(1), name_in(0));
	assert_int_equal(files.bytes_left, SOURCE_NAMES_MAX_BYTES);
	make_slow(1);
	assert_ptr_not_equal(name_in(2), name_in(0));
	assert_int_equal(files.looks_left, SOURCE_NAMES_MAX_LOOKS - 2);
	assert_int_equal(files.nr_not_told, 1);
	assert_ptr_not_equal(name_in(3), name_in(1));
	assert_int_equal(files.bytes_left, SOURCE_NAMES_MAX_BYTES);
	assert_int_equal(files.nr_not_told, 2);
	assert_ptr_equal(name_in(4), name_in(0));
	assert_not_read(name_in(1), -EBUSY);
	assert_reads(name_in(0), "one");
	opener_end();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(content_tells_files_of_one_path),
		TEST(descriptors_do_not_tell_roots),
		TEST(a_root_that_was_left_is_not_read),
		TEST(size_and_time_tell_nothing),
		TEST(a_file_is_not_that_of_a_root_without),
		TEST(one_users_roots_share_it),
		TEST(what_was_compared_is_read),
		TEST(a_file_that_was_absent_is_not_read),
		TEST(too_many_of_one_path_are_told),
		TEST(a_tenant_takes_a_quarter_of_a_path),
		TEST(a_tenant_takes_a_quarter_of_all_places),
		TEST(a_tenant_takes_a_quarter_of_the_looks),
		TEST(a_tenant_takes_a_quarter_of_the_bytes),
		TEST(too_many_looks_are_told),
		TEST(slow_files_of_one_user_are_not_waited_for),
		TEST(slow_files_of_a_tenant_are_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
