// SPDX-License-Identifier: GPL-2.0-or-later
/* The environment of the command. tests/python tests what Python makes of it. */
#include "launch/python_hook.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
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
	char command[3 * PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s' '%s/elsewhere'", home, exe);
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

struct writers {
	const char *path; /* below the hook's folder */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	const char *why; /* NULL: it is taken */
};

static void check_writers(const struct writers *w)
{
	char found[PATH_MAX], path[sizeof(home) + 64];
	struct error err = {0};
	struct stat before;
	int rc;

	snprintf(path, sizeof(path), "%s%s", home, w->path);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(chown(path, w->uid, w->gid), 0);
	assert_int_equal(chmod(path, w->mode), 0);
	rc = python_hook_find(found, &err);
	if (!w->why != !rc || (w->why && !strstr(err.text, w->why)))
		fail_msg("%s %u:%u %o: %d %s", w->path, w->uid, w->gid, w->mode, rc,
			 err.text);
	assert_int_equal(chown(path, before.st_uid, before.st_gid), 0);
	assert_int_equal(chmod(path, before.st_mode & 07777), 0);
}

static void of_strangers(void **state)
{
	static const struct writers cases[] = {
		{"", 54321, 0, 0755, "belongs to uid 54321"},
		{"/startup", 54321, 0, 0755, "belongs to uid 54321"},
		{"/startup/sitecustomize.py", 54321, 0, 0644, "belongs to uid 54321"},
		{"/lineburn_hook", 54321, 0, 0755, "belongs to uid 54321"},
		{"/lineburn_hook/numba_cache.py", 54321, 0, 0644, "belongs to uid 54321"},
		{"", 0, 0, 0757, "may be written by others"},
		{"/lineburn_hook", 0, 0, 01777, "may be written by others"},
		{"/startup", 0, 54321, 0775, "may be written by others"},
		{"/startup/sitecustomize.py", 0, 0, 0646, "may be written by others"},
		{"/startup", 0, 54321, 0755, NULL},
		{"/startup", 0, 0, 0775, NULL},
	};

	(void)state;
	if (geteuid()) {
		print_message("skip of_strangers: needs root\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_writers(&cases[i]);
}

/* The environment of the command stays as it is. */
static void of_strangers_not_passed_on(void **state)
{
	(void)state;
	assert_int_equal(chmod(home, 0777), 0);
	python_hook_set_environ(true, "python");
	assert_int_equal(chmod(home, 0755), 0);
	assert_null(getenv("PYTHONPATH"));
	assert_null(getenv("LINEBURN_PYTHON_HOOK"));
}

/* As under sudo, for the command; a group with its user's number is his own. */
static void of_the_user_himself(void **state)
{
	char command[3 * PATH_MAX], found[PATH_MAX];
	struct error err = {0};
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("skip of_the_user_himself: needs root\n");
		skip();
	}
	snprintf(command, sizeof(command),
		 "chown -R 54321:54321 '%s' && chmod -R g+w '%s'", home, home);
	assert_int_equal(system(command), 0);
	assert_int_equal(python_hook_find(found, &err), -EPERM);
	pid = fork();
	if (!pid) {
		/* With root's rights for files: the user may not enter every build folder. */
		_exit(seteuid(54321) || setfsuid(0) != 54321 ||
		      python_hook_find(found, &err));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);

	/* Root runs a program from a user's folder. */
	assert_int_equal(chown(exe, 54321, (gid_t)-1), 0);
	status = python_hook_find(found, &err);
	assert_int_equal(chown(exe, 0, (gid_t)-1), 0);
	assert_int_equal(status, 0);
	assert_int_equal(make_home(state), 0);
}

/* The server of a user's file system may tell that all of it is root's. */
static void on_another_file_system(void **state)
{
	char startup[PATH_MAX + 32], found[PATH_MAX];
	struct error err = {0};
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("skip on_another_file_system: needs root\n");
		skip();
	}
	snprintf(startup, sizeof(startup), "%s/startup", home);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNS) ||
		    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", startup, "tmpfs", 0, "mode=755") || chdir(startup) ||
		    fclose(fopen("sitecustomize.py", "w")))
			_exit(2);
		_exit(python_hook_find(found, &err) != -EPERM);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void run(const char *command)
{
	if (system(command))
		fail_msg("%s", command);
}

/* A link leads to a folder that others may replace, or is in the place of a module. */
static void behind_links(void **state)
{
	char found[PATH_MAX], before[PATH_MAX];
	struct error err = {0};

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(exe), 0);
	run("mkdir -m 777 elsewhere && mv python elsewhere && ln -s elsewhere/python .");
	assert_int_equal(python_hook_find(found, &err), -EPERM);
	assert_non_null(strstr(err.text, "elsewhere may be written by others"));
	run("rm python && mv elsewhere/python .");
	run("mv python/lineburn_hook/numba_lines.py elsewhere");
	run("ln -s ../../elsewhere/numba_lines.py python/lineburn_hook");
	assert_int_equal(python_hook_find(found, &err), -EPERM);
	assert_non_null(strstr(err.text, "numba_lines.py is a symbolic link"));
	run("mv elsewhere/numba_lines.py python/lineburn_hook && rmdir elsewhere");
	assert_int_equal(python_hook_find(found, &err), 0);
	assert_int_equal(chdir(before), 0);
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
		cmocka_unit_test_setup(of_strangers, forget),
		cmocka_unit_test_setup(of_strangers_not_passed_on, forget),
		cmocka_unit_test_setup(of_the_user_himself, forget),
		cmocka_unit_test_setup(on_another_file_system, forget),
		cmocka_unit_test_setup(behind_links, forget),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
