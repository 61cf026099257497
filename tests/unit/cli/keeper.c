// SPDX-License-Identifier: GPL-2.0-or-later
/* The process that keeps root's rights: what it does for a viewer, and what it refuses. */
#include "cli/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker/broker.h"

#include "lib/scratch.h"

static char dir[SCRATCH_BYTES];

static int make_dir(void **state)
{
	(void)state;
	scratch_make(dir, 0755);
	if (chdir(dir) || mkdir("in", 0755) || mkfifo("in/fifo", 0600))
		return -1;
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	scratch_remove(dir);
	return 0;
}

static void put(const char *path, const char *text)
{
	struct error err;

	assert_int_equal(io_write_file_atomic(path, text, strlen(text), false, &err), 0);
}

static int write_it(void *path, const void *data, size_t len, struct error *err)
{
	return io_write_file_atomic(path, data, len, false, err);
}

static void output(void **state)
{
	const struct keeper_config config = {.finish = write_it, .ctx = "in/out"};
	_cleanup_free_ char *text = NULL;
	struct error err = {0};
	struct stat st;
	size_t len;

	(void)state;
	assert_int_equal(keeper_begin(&config, &err), 0);
	assert_int_equal(keeper_finish("whole", 5, &err), 0);
	assert_int_equal(io_read_file("in/out", 100, &text, &len), 0);
	assert_string_equal(text, "whole");
	assert_int_equal(keeper_finish("", 0, &err), 0);
	assert_int_equal(stat("in/out", &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(keeper_open(NULL, "in/out", &st), -EPERM);
	broker_end();
}

/* The message comes from the child. */
static void output_that_fails(void **state)
{
	const struct keeper_config config = {.finish = write_it, .ctx = "no/out"};
	struct error err = {0};

	(void)state;
	assert_int_equal(keeper_begin(&config, &err), 0);
	assert_int_equal(keeper_finish("whole", 5, &err), -ENOENT);
	assert_non_null(strstr(err.text, "cannot write no/out: No such file"));
	broker_end();
}

/* Nothing was to be written. */
static void output_not_asked_for(void **state)
{
	const struct keeper_config config = {.opens_all = true};
	struct error err = {0};

	(void)state;
	assert_int_equal(keeper_begin(&config, &err), 0);
	assert_int_equal(keeper_finish("whole", 5, &err), -EPERM);
	broker_end();
}

static int die(void *ctx, const void *data, size_t len, struct error *err)
{
	(void)ctx;
	(void)data;
	(void)len;
	(void)err;
	_exit(0);
}

static int write_below(void *fd, const void *data, size_t len, struct error *err)
{
	(void)err;
	return io_write_file_at(*(int *)fd, "kept", data, len, false, NULL);
}

/* The one descriptor that it was given leads it, not the folder's name. */
static void kept_folder(void **state)
{
	int fd = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct keeper_config config = {
		.finish = write_below, .ctx = &fd, .kept_fd = &fd};
	struct error err = {0};
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(keeper_begin(&config, &err), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(rename("in", "was") | mkdir("in", 0700), 0);
	assert_int_equal(keeper_finish("whole", 5, &err), 0);
	assert_int_equal(stat("was/kept", &st), 0);
	assert_int_equal(unlink("was/kept") | rmdir("in") | rename("was", "in"), 0);
	broker_end();
}

static void keeper_that_dies(void **state)
{
	const struct keeper_config config = {.finish = die, .opens_all = true};
	struct error err = {0};
	struct stat st;

	(void)state;
	assert_int_equal(keeper_begin(&config, &err), 0);
	assert_true(keeper_finish("whole", 5, &err) < 0);
	assert_string_equal(err.text, "the process that writes the output was killed");
	assert_true(keeper_finish("whole", 5, &err) < 0);
	assert_true(keeper_open(NULL, "/", &st) < 0);
	broker_end();
}

static int read_byte(int fd)
{
	char byte = 0;

	assert_true(fd >= 0);
	assert_int_equal(read(fd, &byte, 1), 1);
	close(fd);
	return byte;
}

static void files(void **state)
{
	static const struct source_path_rule rule = {"/b", "in"};
	const struct keeper_config below = {.rules = &rule, .nr_rules = 1};
	const struct keeper_config all = {.opens_all = true};
	_cleanup_free_ char *name = calloc(1, 5001);
	struct error err = {0};
	struct stat st;

	(void)state;
	put("in/a.c", "a");
	put("b.c", "bb");
	assert_int_equal(keeper_begin(&below, &err), 0);
	assert_int_equal(read_byte(keeper_open(NULL, "in/a.c", &st)), 'a');
	assert_int_equal(st.st_size, 1);
	assert_int_equal(keeper_open(NULL, "b.c", &st), -EPERM);
	assert_int_equal(keeper_open(NULL, "in/../b.c", &st), -EPERM);
	assert_int_equal(keeper_open(NULL, "in/none.c", &st), -ENOENT);
	assert_int_equal(keeper_open(NULL, "in/fifo", &st), -EINVAL);
	assert_int_equal(keeper_open(NULL, memset(name, 'x', 5000), &st), -ENAMETOOLONG);
	broker_end();

	assert_int_equal(keeper_begin(&all, &err), 0);
	assert_int_equal(read_byte(keeper_open(NULL, "b.c", &st)), 'b');
	assert_int_equal(keeper_open(NULL, "/proc/version", &st), -EXDEV);
	broker_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output),
		cmocka_unit_test(output_that_fails),
		cmocka_unit_test(output_not_asked_for),
		cmocka_unit_test(kept_folder),
		cmocka_unit_test(keeper_that_dies),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
