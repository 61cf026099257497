// SPDX-License-Identifier: GPL-2.0-or-later
/* The command runs as it would without lineburn. */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/io.h"
#include "lib/scratch.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	unsetenv("SUDO_UID");
	setenv("PATH", "/usr/bin:/bin", 1);
	scratch_make(dir, 0777);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static struct launch *start(char **argv)
{
	struct launch_user user;
	struct launch *l;
	struct error err;

	launch_user_find(&user);
	assert_false(user.is_other);
	assert_int_equal(launch_new(argv, &user, false, &l, &err), 0);
	assert_true(l->pid > 0);
	assert_false(l->executed);
	return l;
}

static void wait_for_end(struct launch *l)
{
	for (int i = 0; i < 60000 && !launch_has_ended(l); i++)
		poll(NULL, 0, 1);
	assert_true(launch_has_ended(l));
}

/* Return: as launch_look(), when it is known. */
static int wait_for_exec(struct launch *l, struct error *err)
{
	int rc = 0;

	for (int i = 0; i < 60000 && !rc && !l->executed; i++) {
		launch_has_ended(l);
		rc = launch_look(l, err);
		poll(NULL, 0, 1);
	}
	return rc;
}

/* Runs a shell command in @dir until it ends. */
static struct launch *run(const char *script)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
	struct launch *l;
	struct error err;

	assert_int_equal(chdir(dir), 0);
	l = start(argv);
	assert_int_equal(launch_go(l, &err), 0);
	assert_int_equal(wait_for_exec(l, &err), 0);
	assert_true(l->executed);
	wait_for_end(l);
	return l;
}

static char *read_out(const char *name)
{
	char path[128];
	char *text;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(io_read_file(path, 1 << 20, &text, &len), 0);
	return text;
}

static void test_exit_status(void **state)
{
	static const int statuses[] = {0, 1, 42, 125, 255};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		_cleanup_(launch_freep) struct launch *l = NULL;
		char script[32];

		snprintf(script, sizeof(script), "exit %d", statuses[i]);
		l = run(script);
		assert_int_equal(launch_exit_status(l), statuses[i]);
		launch_die_by_same_signal(l); /* returns if there was no signal */
	}
}

static void test_death_by_signal(void **state)
{
	_cleanup_(launch_freep) struct launch *l = run("kill -TERM $$");
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(launch_exit_status(l), 128 + SIGTERM);
	pid = fork();
	if (pid == 0) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		launch_die_by_same_signal(l);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void assert_fails(const char *command, enum exit_code code, int rc)
{
	char *argv[] = {(char *)command, NULL};
	_cleanup_(launch_freep) struct launch *l = start(argv);
	struct error err = {0};

	assert_int_equal(launch_go(l, &err), 0);
	assert_int_equal(wait_for_exec(l, &err), rc);
	assert_int_equal(err.exit_code, code);
	assert_non_null(strstr(err.text, command));
	assert_non_null(strstr(err.text, strerror(-rc)));
	assert_false(l->executed);
	assert_true(launch_has_ended(l));
	assert_int_equal(launch_exit_status(l), code);
}

static void test_cannot_run(void **state)
{
	char path[128];

	(void)state;
	assert_fails("/nonexistent/command", EXIT_NOT_FOUND, -ENOENT);
	assert_fails("lineburn-no-such-command", EXIT_NOT_FOUND, -ENOENT);
	assert_fails(dir, EXIT_NOT_EXECUTABLE, -EACCES);
	snprintf(path, sizeof(path), "%s/not-executable", dir);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_fails(path, EXIT_NOT_EXECUTABLE, -EACCES);
	assert_fails("/dev/null/x", EXIT_NOT_EXECUTABLE, -ENOTDIR);
}

/* What has ended is known to have been executed, or to have failed, without a wait. */
static void test_known_at_its_end(void **state)
{
	char *good[] = {(char *)"true", NULL}, *bad[] = {(char *)"/nonexistent", NULL};
	struct error err;

	(void)state;
	for (int is_bad = 0; is_bad < 2; is_bad++) {
		_cleanup_(launch_freep) struct launch *l = start(is_bad ? bad : good);

		assert_int_equal(launch_go(l, &err), 0);
		wait_for_end(l);
		assert_int_equal(launch_look(l, &err), is_bad ? -ENOENT : 0);
		assert_int_equal(l->executed, !is_bad);
	}
}

/*
 * A process that is stopped stands for one whose file system does not answer: it does not
 * execute the command. Nobody waits for it.
 */
static void test_never_executed(void **state)
{
	char path[128];
	char *argv[] = {(char *)"touch", path, NULL};
	struct error err = {0};
	struct launch *l;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/touched-3", dir);
	l = start(argv);
	pid = l->pid;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(launch_go(l, &err), 0);
	assert_int_equal(launch_look(l, &err), 0);
	assert_false(l->executed);
	assert_false(launch_has_ended(l));
	assert_int_equal(launch_give_up(l, &err), -ETIMEDOUT);
	assert_int_equal(err.exit_code, EXIT_NOT_EXECUTABLE);
	assert_non_null(strstr(err.text, "cannot run touch: its file system did not"));
	assert_false(l->executed);
	launch_free(l);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* Freed before the start: the command does not run, and its process is gone. */
static void test_never_let_go(void **state)
{
	char path[128];
	char *argv[] = {(char *)"touch", path, NULL};
	struct launch *l;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/touched", dir);
	l = start(argv);
	pid = l->pid;
	assert_int_equal(kill(pid, SIGSTOP), 0); /* even if it is stopped */
	assert_false(launch_has_ended(l));
	launch_free(l);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_not_equal(access(path, F_OK), 0);
	launch_free(NULL);
}

/* If lineburn is killed before the start, the command ends without running. */
static void test_lineburn_dies(void **state)
{
	char path[128];
	char *argv[] = {(char *)"touch", path, NULL};
	int ends[2];
	pid_t lineburn, pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/touched-2", dir);
	assert_int_equal(pipe(ends), 0);
	lineburn = fork();
	if (lineburn == 0) {
		pid = start(argv)->pid;
		if (write(ends[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		raise(SIGKILL);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(waitpid(lineburn, NULL, 0), lineburn);
	/*
	 * The waiting process holds the pipe's write end, so the end of file shows that
	 * it has ended.
	 */
	assert_int_equal(read(ends[0], &pid, 1), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	close(ends[0]);
}

static void test_killed_before_start(void **state)
{
	char *argv[] = {(char *)"true", NULL};
	_cleanup_(launch_freep) struct launch *l = start(argv);
	struct error err = {0};

	(void)state;
	assert_int_equal(kill(l->pid, SIGKILL), 0);
	wait_for_end(l);
	assert_int_equal(launch_go(l, &err), -EPIPE);
	assert_non_null(strstr(err.text, "true was killed"));
	assert_false(l->executed);
}

static void test_waits(void **state)
{
	char path[128];
	char *argv[] = {(char *)"touch", path, NULL};
	_cleanup_(launch_freep) struct launch *l = NULL;
	struct error err;

	(void)state;
	snprintf(path, sizeof(path), "%s/waited", dir);
	l = start(argv);
	poll(NULL, 0, 50);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(launch_go(l, &err), 0);
	wait_for_end(l);
	assert_int_equal(access(path, F_OK), 0);
}

static void test_streams(void **state)
{
	_cleanup_free_ char *out = NULL;
	_cleanup_(launch_freep) struct launch *l = NULL;
	int saved = dup(STDIN_FILENO), ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "first\nsecond\n", 13), 13);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	l = run("cat >stdin");
	dup2(saved, STDIN_FILENO);
	close(saved);
	out = read_out("stdin");
	assert_string_equal(out, "first\nsecond\n");
}

/* The command inherits no open file except the standard streams. */
static void test_descriptors(void **state)
{
	_cleanup_free_ char *out = NULL;
	_cleanup_(launch_freep) struct launch *l = NULL;

	(void)state;
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC); /* inherited by this program */
	l = run("exec >fds 2>&1 </dev/null; readlink /proc/$$/fd/*; true");
	out = read_out("fds");
	assert_non_null(strstr(out, "/dev/null\n"));
	assert_null(strstr(out, "socket:"));
	assert_null(strstr(out, "pipe:"));
}

static void test_environment(void **state)
{
	_cleanup_free_ char *out = NULL, *expected = NULL;
	_cleanup_(launch_freep) struct launch *l = NULL;
	size_t len;

	(void)state;
	setenv("LINEBURN_TEST", "with spaces\nand lines", 1);
	setenv("LINEBURN_PYTHON_HOOK", "off", 1); /* as `run` does without the hook */
	l = run("tr '\\0' '@' </proc/$$/environ >env");
	assert_int_equal(launch_exit_status(l), 0);
	out = read_out("env");
	for (char **e = environ; *e; e++) {
		assert_true(asprintf(&expected, "%s@", *e) > 0);
		assert_non_null(strstr(out, expected));
		free(take_ptr(expected));
	}
	len = 0;
	for (char **e = environ; *e; e++)
		len += strlen(*e) + 1;
	assert_int_equal(strlen(out), len); /* nothing was added */
}

static uint64_t bit_of(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

static uint64_t signals_in(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	assert_non_null(line);
	return strtoull(line + strlen(name), NULL, 16);
}

/* Ignored and blocked signals (nohup) and limits are kept for the command. */
static void test_signals_and_limits(void **state)
{
	_cleanup_free_ char *out = NULL;
	_cleanup_(launch_freep) struct launch *l = NULL;
	/* Without a shell, because shells may reset signals. */
	char *argv[] = {(char *)"grep",
			(char *)"-hE",
			(char *)"SigIgn|SigBlk|Max open files",
			(char *)"/proc/self/status",
			(char *)"/proc/self/limits",
			NULL};
	int saved = dup(STDOUT_FILENO), fd;
	struct rlimit before, mine;
	uint64_t before_blocked = 0;
	sigset_t mask, old;
	struct error err;

	(void)state;
	assert_int_equal(chdir(dir), 0);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, &old);
	for (int sig = 1; sig < NSIG; sig++)
		before_blocked |= sigismember(&old, sig) ? bit_of(sig) : 0;
	getrlimit(RLIMIT_NOFILE, &before);
	mine = (struct rlimit){123, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &mine), 0);
	fflush(stdout);
	fd = open("signals", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	l = start(argv);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	/* Changes that a recording makes between launch and start. */
	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(launch_go(l, &err), 0);
	wait_for_end(l);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGHUP, SIG_DFL);
	out = read_out("signals");
	/* Only what this test set and what this program inherited. */
	assert_int_equal(signals_in(out, "SigBlk:") & ~before_blocked, bit_of(SIGUSR1));
	assert_int_equal(signals_in(out, "SigIgn:") & bit_of(SIGHUP), bit_of(SIGHUP));
	assert_non_null(strstr(out, "Max open files            123 "));
}

/* Some supervisors start their children with SIGCHLD ignored. */
static void test_sigchld_ignored(void **state)
{
	_cleanup_(launch_freep) struct launch *l = NULL;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	l = run("exit 7");
	assert_int_equal(launch_exit_status(l), 7);
}

static void test_forwards_signals(void **state)
{
	/* Shells start background commands with SIGINT ignored. */
	void (*before)(int) = signal(SIGINT, SIG_DFL);
	char *argv[] = {(char *)"sleep", (char *)"60", NULL};
	_cleanup_(launch_freep) struct launch *l = start(argv);
	struct error err;

	(void)state;
	signal(SIGINT, before);
	assert_int_equal(launch_go(l, &err), 0);
	assert_false(launch_has_ended(l));
	launch_signal(l, SIGINT);
	wait_for_end(l);
	assert_int_equal(launch_exit_status(l), 128 + SIGINT);
	launch_signal(l, SIGKILL); /* not sent: the pid may be reused */
}

/* ---- under sudo ---- */

static void test_who(void **state)
{
	static const char *const bad[] = {"", "x", "0", "12x", "-1", "4294967295"};
	struct launch_user user;

	(void)state;
	if (geteuid()) {
		print_message("only root was called by sudo\n");
		skip();
	}
	setenv("SUDO_GID", "65533", 1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		setenv("SUDO_UID", bad[i], 1);
		launch_user_find(&user);
		assert_false(user.is_other);
		assert_int_equal(user.uid, 0);
	}
	setenv("SUDO_UID", "65534", 1);
	launch_user_find(&user);
	assert_true(user.is_other);
	assert_int_equal(user.uid, 65534);
	assert_int_equal(user.gid, 65533);
	assert_string_equal(user.name, "nobody");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	launch_user_find(&user);
	assert_false(user.is_other);
}

static bool has_text(pid_t pid, const char *name, const char *part)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	assert_int_equal(io_read_file(path, 1 << 20, &text, &len), 0);
	return strstr(text, part);
}

static void test_other_user(void **state)
{
	struct launch_user user = {
		.is_other = true, .uid = 65534, .gid = 65533, .name = "nobody"};
	char *argv[] = {(char *)"sh", (char *)"-c",
			(char *)"id -u >who; id -g >>who; id -G >>who; "
				"grep CapEff /proc/self/status >>who; "
				"echo ${SUDO_UID-unset} >>who",
			NULL};
	_cleanup_(launch_freep) struct launch *l = NULL;
	_cleanup_free_ char *out = NULL;
	char shell[PATH_MAX];
	struct error err;

	(void)state;
	if (geteuid()) {
		print_message("only root runs a command as somebody else\n");
		skip();
	}
	assert_int_equal(chdir(dir), 0);
	setenv("SUDO_UID", "65534", 1);
	assert_non_null(realpath("/bin/sh", shell));
	assert_int_equal(launch_new(argv, &user, false, &l, &err), 0);
	/* While waiting it already has that user's ids, and has mapped the file. */
	for (int i = 0; i < 60000 && !has_text(l->pid, "maps", shell); i++)
		poll(NULL, 0, 1);
	assert_true(has_text(l->pid, "maps", shell));
	assert_true(has_text(l->pid, "status", "Uid:\t65534\t65534\t65534\t65534"));
	assert_int_equal(launch_go(l, &err), 0);
	wait_for_end(l);
	unsetenv("SUDO_UID");
	assert_int_equal(launch_exit_status(l), 0);
	out = read_out("who");
	assert_int_equal(strncmp(out, "65534\n65533\n65533", 17), 0);
	assert_non_null(strstr(out, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(out, "\nunset\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_death_by_signal),
		cmocka_unit_test(test_cannot_run),
		cmocka_unit_test(test_known_at_its_end),
		cmocka_unit_test(test_never_executed),
		cmocka_unit_test(test_never_let_go),
		cmocka_unit_test(test_lineburn_dies),
		cmocka_unit_test(test_killed_before_start),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_signals_and_limits),
		cmocka_unit_test(test_sigchld_ignored),
		cmocka_unit_test(test_forwards_signals),
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_other_user),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
