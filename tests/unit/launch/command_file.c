// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the same file as execvp(3), in a directory of scripts and links. */
#include "launch/launch.h"
#include "lib/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[SCRATCH_BYTES];

static void write_script(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(name, mode), 0);
}

/* Checks that @path is the file that is executed for @name. */
static void assert_file(const char *name, const char *path)
{
	struct stat a, b;
	int fd = command_file_open(name);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(stat(path, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_dev, b.st_dev);
	close(fd);
}

static void files_are_found_as_execvp_does(void **state)
{
	(void)state;
	assert_file("/bin/sh", "/bin/sh");
	assert_file("sh", "/bin/sh");
	assert_file("./link", "/bin/sh");
	assert_int_equal(command_file_open("sh/nothing"), -ENOENT);
	assert_int_equal(command_file_open("nothing"), -ENOENT);
	assert_int_equal(command_file_open(""), -ENOENT);
	/*
	 * Directories and files that are not executable are skipped; -EACCES if nothing
	 * else is found.
	 */
	assert_int_equal(setenv("PATH", "a:/bin", 1), 0);
	assert_file("sh", "/bin/sh");
	assert_int_equal(setenv("PATH", "a", 1), 0);
	assert_int_equal(command_file_open("sh"), -EACCES);
	assert_int_equal(setenv("PATH", "nowhere:", 1), 0);
	assert_file("link", "/bin/sh");
	assert_int_equal(unsetenv("PATH"), 0);
	assert_file("sh", "/bin/sh");
}

static void scripts_have_interpreters(void **state)
{
	(void)state;
	assert_int_equal(setenv("PATH", "/bin:/usr/bin", 1), 0);
	write_script("plain", "#!/bin/sh\nexit\n", 0755);
	assert_file("./plain", "/bin/sh");
	write_script("spaces", "#! \t/bin/sh -e\n", 0755);
	assert_file("./spaces", "/bin/sh");
	write_script("by_env", "#!/usr/bin/env -S FOO=1 sh -e\n", 0755);
	assert_file("./by_env", "/bin/sh");
	write_script("by_env", "#!/usr/bin/env sh\n", 0755);
	assert_file("./by_env", "/bin/sh");
	write_script("of_script", "#!./plain\n", 0755);
	assert_file("./of_script", "/bin/sh");
	write_script("circle", "#!./circle\n", 0755);
	assert_int_equal(command_file_open("./circle"), -ELOOP);
	/* Neither names an interpreter. */
	write_script("nobody", "#!\n", 0755);
	assert_file("./nobody", "./nobody");
	write_script("short", "#", 0755);
	assert_file("./short", "./short");
}

/* Opening a FIFO would block until there is a writer. */
static void a_pipe_is_no_command(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("pipe", 0755), 0);
	assert_int_equal(command_file_open("./pipe"), -EACCES);
}

static int set_up(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	if (chdir(dir) || mkdir("a", 0755) || mkdir("a/sh", 0755))
		return -1;
	return symlink("/bin/sh", "link");
}

static int tear_down(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_found_as_execvp_does),
		cmocka_unit_test(scripts_have_interpreters),
		cmocka_unit_test(a_pipe_is_no_command),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
