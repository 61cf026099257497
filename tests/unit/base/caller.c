// SPDX-License-Identifier: GPL-2.0-or-later
/* Standard streams, limits and signals, each in a process of its own. */
#include "base/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/capability.h"
#include "base/io.h"

/* Runs @test in a child. Return: its status: 0, or the line that failed. */
static int in_child(int (*test)(int), int arg)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(test(arg));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define CHECK(condition)                       \
	do                                     \
		if (!(condition))              \
			return __LINE__ % 256; \
	while (0)

/* @closed  bits of 0 to 2 */
static int closed_streams(int closed)
{
	struct stat before[3], after;
	char byte;

	for (int fd = 0; fd < 3; fd++) {
		if (closed & 1 << fd)
			close(fd);
		else
			fstat(fd, &before[fd]);
	}
	caller_open_streams();
	for (int fd = 0; fd < 3; fd++) {
		CHECK(!fstat(fd, &after));
		if (!(closed & 1 << fd)) {
			CHECK(after.st_ino == before[fd].st_ino);
			continue;
		}
		/* A program that is executed finds it closed, as without us. */
		CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
		CHECK(read(fd, &byte, 1) == 0);
		CHECK(write(fd, "", 1) < 0 && errno == EBADF);
	}
	return 0;
}

static void each_stream_that_is_closed_is_opened(void **state)
{
	(void)state;
	for (int closed = 0; closed < 8; closed++)
		assert_int_equal(in_child(closed_streams, closed), 0);
}

static void (*disposition(int sig))(int)
{
	struct sigaction action;

	sigaction(sig, NULL, &action);
	return action.sa_handler;
}

static bool has_limit(rlim_t soft, rlim_t hard)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur == soft &&
	       limit.rlim_max == hard;
}

static int soft_limit(int unused)
{
	struct rlimit own, limit;
	struct error err = {0};
	char bytes[4096] = {0};
	int fd = memfd_create("test", MFD_CLOEXEC);

	(void)unused;
	getrlimit(RLIMIT_FSIZE, &own);
	limit = (struct rlimit){1024, own.rlim_max};
	signal(SIGXFSZ, SIG_DFL);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(!caller_lift_file_limit(&err));
	CHECK(!io_write_all(fd, bytes, sizeof(bytes)));
	CHECK(disposition(SIGXFSZ) == SIG_IGN);
	caller_restore();
	CHECK(has_limit(limit.rlim_cur, limit.rlim_max));
	CHECK(disposition(SIGXFSZ) == SIG_DFL);
	return 0;
}

static void a_soft_limit_is_lifted_and_given_back(void **state)
{
	(void)state;
	assert_int_equal(in_child(soft_limit, 0), 0);
}

/* Without CAP_SYS_RESOURCE. */
static int hard_limit(int kib)
{
	const struct rlimit limit = {1024, (rlim_t)kib << 10};
	struct error err = {0};
	int rc;

	capabilities_keep(0, false);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	rc = caller_lift_file_limit(&err);
	CHECK(has_limit(limit.rlim_max, limit.rlim_max));
	if (!rc)
		return 0;
	CHECK(rc == -EFBIG && err.exit_code == EXIT_SYSTEM);
	CHECK(strstr(err.text, "files may have 16383 KiB at most here (ulimit -f)"));
	return 255;
}

static void a_hard_limit_that_is_too_low_is_refused(void **state)
{
	(void)state;
	assert_int_equal(in_child(hard_limit, 16383), 255);
	assert_int_equal(in_child(hard_limit, 16384), 0);
}

static int pipe_signal(int is_ignored)
{
	void (*before)(int) = is_ignored ? SIG_IGN : SIG_DFL;

	signal(SIGPIPE, before);
	caller_heed_pipe(); /* nothing was changed */
	CHECK(disposition(SIGPIPE) == before);
	caller_ignore_pipe();
	CHECK(disposition(SIGPIPE) == SIG_IGN);
	caller_restore();
	CHECK(disposition(SIGPIPE) == before);
	return 0;
}

static void a_closed_pipe_is_what_the_caller_wants(void **state)
{
	(void)state;
	assert_int_equal(in_child(pipe_signal, false), 0);
	assert_int_equal(in_child(pipe_signal, true), 0);
}

static int nothing_changed(int unused)
{
	struct rlimit own;

	(void)unused;
	getrlimit(RLIMIT_FSIZE, &own);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	caller_restore();
	CHECK(has_limit(own.rlim_cur, own.rlim_max));
	CHECK(disposition(SIGXFSZ) == SIG_IGN);
	CHECK(disposition(SIGPIPE) == SIG_IGN);
	return 0;
}

static void what_was_not_changed_is_not_restored(void **state)
{
	(void)state;
	assert_int_equal(in_child(nothing_changed, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stream_that_is_closed_is_opened),
		cmocka_unit_test(a_soft_limit_is_lifted_and_given_back),
		cmocka_unit_test(a_hard_limit_that_is_too_low_is_refused),
		cmocka_unit_test(a_closed_pipe_is_what_the_caller_wants),
		cmocka_unit_test(what_was_not_changed_is_not_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
