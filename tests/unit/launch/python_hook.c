// SPDX-License-Identifier: GPL-2.0-or-later
/* The environment of the command. tests/python tests what Python makes of it. */
#include "launch/python_hook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ENDING "/python/startup"

/* The tests' executables are deeper than lineburn, so they need their own python/. */
static char exe[PATH_MAX];
static char home[PATH_MAX + 16];

static int make_home(void **state)
{
	char command[3 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	assert_true(len > 0);
	exe[len] = '\0';
	*strrchr(exe, '/') = '\0';
	snprintf(home, sizeof(home), "%s/python", exe);
	snprintf(command, sizeof(command), "rm -rf '%s' && cp -r python '%s'", home,
		 home);
	return system(command);
}

static int remove_home(void **state)
{
	char command[2 * PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", home);
	return system(command);
}

static int forget(void **state)
{
	(void)state;
	unsetenv("PYTHONPATH");
	unsetenv("LINEBURN_PYTHON_HOOK");
	return 0;
}

/* The value of PYTHONPATH after our directory. */
static const char *rest(void)
{
	const char *path = getenv("PYTHONPATH");

	assert_non_null(path);
	assert_memory_equal(path, exe, strlen(exe));
	assert_memory_equal(path + strlen(exe), ENDING, strlen(ENDING));
	return path + strlen(exe) + strlen(ENDING);
}

static void found_beside_the_executable(void **state)
{
	char found[PATH_MAX];
	struct error err;

	(void)state;
	assert_int_equal(python_hook_find(found, &err), 0);
	assert_string_equal(found, home);
}

static void alone(void **state)
{
	(void)state;
	python_hook_set_environ(true, "python");
	assert_string_equal(rest(), "");
	assert_string_equal(getenv("LINEBURN_PYTHON_HOOK"), "run");
}

/* Python takes an empty value as unset. After a colon it is the current directory. */
static void empty_path(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "", 1);
	python_hook_set_environ(true, "python");
	assert_string_equal(rest(), "");
}

static void before_others(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "/a::/b:", 1);
	python_hook_set_environ(true, "python");
	assert_string_equal(rest(), ":/a::/b:");
}

static void once_only(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "/a", 1);
	python_hook_set_environ(true, "python");
	python_hook_set_environ(true, "python");
	assert_string_equal(rest(), ":/a");
}

static void switched_off(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "/a", 1);
	python_hook_set_environ(false, "python");
	assert_string_equal(getenv("PYTHONPATH"), "/a");
	assert_string_equal(getenv("LINEBURN_PYTHON_HOOK"), "off");
}

static void off_by_the_user(void **state)
{
	(void)state;
	setenv("LINEBURN_PYTHON_HOOK", "off", 1);
	python_hook_set_environ(true, "python");
	assert_null(getenv("PYTHONPATH"));
	assert_string_equal(getenv("LINEBURN_PYTHON_HOOK"), "off");
}

/* A user who may not read our directory: the environment is unchanged. */
static void unreadable(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("skip unreadable: needs root\n");
		skip();
	}
	assert_int_equal(chmod(home, 0700), 0);
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(2);
		python_hook_set_environ(true, "sh");
		_exit(getenv("PYTHONPATH") != NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(home, 0755), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(found_beside_the_executable, forget),
		cmocka_unit_test_setup(alone, forget),
		cmocka_unit_test_setup(empty_path, forget),
		cmocka_unit_test_setup(before_others, forget),
		cmocka_unit_test_setup(once_only, forget),
		cmocka_unit_test_setup(switched_off, forget),
		cmocka_unit_test_setup(off_by_the_user, forget),
		cmocka_unit_test_setup(unreadable, forget),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
