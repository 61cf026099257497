// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors that another process closes. A stopped process stands for one that waits for a
 * file system: it does not go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/target_fd.h"

static const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int opened(struct tenant who)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	target_fd_opened(fd, who);
	return fd;
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000,
				       .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* Waits until no descriptor of @fds is open. */
static bool are_closed(const int *fds, size_t nr)
{
	uint64_t end_ns = clock_now_ns() + 10 * CLOCK_SECOND_NS;
	size_t i = 0;

	while (i < nr && clock_now_ns() < end_ns)
		if (is_open(fds[i]))
			pause_ms(1);
		else
			i++;
	return i == nr;
}

/* Sends a signal to the children of process @pid. Return: how many there are. */
static int tell_children(pid_t pid, int signal)
{
	char path[64];
	int child, nr = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	for (; file && fscanf(file, "%d", &child) == 1; nr++)
		kill(child, signal);
	if (file)
		fclose(file);
	return nr;
}

/* Process that closes: the only child of this one. */
static pid_t closer(void)
{
	char path[64];
	int child = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getpid(),
		 (int)getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	return child;
}

static void begin(void)
{
	struct error err;

	assert_int_equal(target_fd_begin(&err), 0);
}

/* Until the process has ended: one call gives up after a while, which may be none. */
static void end(void)
{
	for (int i = 0; i < 300; i++) {
		target_fd_end();
		if (waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD)
			return;
	}
	fail_msg("the process that closes does not end");
}

static void without_a_process_they_are_closed_here(void **state)
{
	int fd = opened(alice);

	(void)state;
	assert_true(target_fd_has_room(alice));
	target_fd_close(fd);
	assert_false(is_open(fd));
	target_fd_close(-1);
	target_fd_end();
	target_fd_leave();
}

static void many_are_closed(void **state)
{
	int fds[1000];

	(void)state;
	begin();
	for (size_t i = 0; i < 1000; i++)
		fds[i] = opened(i % 2 ? alice : bob);
	for (size_t i = 0; i < 1000; i++)
		target_fd_close(fds[i]);
	end();
	assert_true(are_closed(fds, 1000));
}

/* Hands out a descriptor of @uid, and stops whoever closes it or the next one. */
static void get_stuck(struct tenant who)
{
	static int warm;

	/* A closer exists when it has closed one. */
	warm = opened(who);
	target_fd_close(warm);
	pause_ms(110);
	assert_true(target_fd_has_room(who));
	assert_true(are_closed(&warm, 1));
	assert_int_equal(tell_children(closer(), SIGSTOP), 1);
	pause_ms(110);
	target_fd_close(opened(who));
}

/* Who has one that is stuck has others closed; who has two is not served any more. */
static void stuck_ones_are_of_their_user(void **state)
{
	int of_alice, third, of_bob;

	(void)state;
	begin();
	get_stuck(alice);
	pause_ms(110);
	of_alice = opened(alice);
	target_fd_close(of_alice);
	assert_true(are_closed(&of_alice, 1));
	assert_true(target_fd_has_room(alice));
	assert_int_equal(tell_children(closer(), SIGSTOP), 2);
	pause_ms(110);
	of_alice = opened(alice);
	target_fd_close(of_alice);
	pause_ms(110);
	third = opened(alice);
	target_fd_close(third);
	pause_ms(1100);
	assert_false(target_fd_has_room(alice));
	assert_true(target_fd_has_room(bob));
	pause_ms(110);
	of_bob = opened(bob);
	target_fd_close(of_bob);
	assert_true(are_closed(&of_bob, 1));
	assert_true(is_open(of_alice));
	assert_true(is_open(third));
	tell_children(closer(), SIGCONT);
	assert_true(are_closed(&of_alice, 1));
	end();
	assert_false(is_open(third));
}

/* Whether all processes that may write to the pipe have closed it, or do so in 10 s. */
static void assert_ends(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	char byte;

	assert_int_equal(poll(&end, 1, 10000), 1);
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
}

static void assert_kills(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void whoever_ends_closes_the_others(void **state)
{
	int pipe_fds[2], wait_fds[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wait_fds, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		begin();
		get_stuck(alice);
		close(wait_fds[1]);
		target_fd_end();
		target_fd_leave();
		pause();
	}
	close(pipe_fds[1]);
	close(wait_fds[0]);
	assert_ends(pipe_fds[0]);
	assert_kills(child);
	close(wait_fds[1]);
}

/*
 * This process is killed while one is stuck: its end of a pipe is closed all the same, even if
 * it has become another user, who may not signal the closer.
 */
static void killed_as(uid_t uid)
{
	int pipe_fds[2], ready_fds[2];
	char byte = 1;
	pid_t child;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready_fds, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		begin();
		get_stuck(alice);
		if (setresuid(uid, uid, uid) || write(ready_fds[1], &byte, 1) != 1)
			_exit(1);
		pause();
	}
	close(pipe_fds[1]);
	assert_int_equal(read(ready_fds[0], &byte, 1), 1);
	assert_kills(child);
	assert_ends(pipe_fds[0]);
	close(ready_fds[0]);
	close(ready_fds[1]);
}

static void who_is_killed_leaves_nothing_open(void **state)
{
	(void)state;
	killed_as(geteuid());
	if (!geteuid())
		killed_as(65534);
}

/* Somebody kills them: what they may have waited for stays open. */
static void without_them_nothing_is_closed_or_opened(void **state)
{
	int fds[2];

	(void)state;
	begin();
	fds[0] = opened(alice);
	assert_true(target_fd_has_room(bob));
	kill(closer(), SIGKILL);
	pause_ms(200);
	target_fd_close(fds[0]);
	pause_ms(110);
	fds[1] = opened(alice);
	target_fd_close(fds[1]);
	assert_false(target_fd_has_room(bob));
	assert_true(is_open(fds[0]));
	assert_true(is_open(fds[1]));
	target_fd_end();
	close(fds[0]);
	close(fds[1]);
}

/* Who has many that wait gets no more; others do. */
static void those_that_wait_are_counted(void **state)
{
	int fds[1200];

	(void)state;
	begin();
	get_stuck(alice);
	kill(closer(), SIGSTOP); /* so it starts no other */
	for (size_t i = 0; i < 1200; i++)
		target_fd_close(fds[i] = opened(alice));
	/* Some were handed to one that is not there. */
	assert_in_range(target_fd_nr_waiting(), 1025, 1200);
	assert_false(target_fd_has_room(alice));
	assert_true(target_fd_has_room(bob));
	kill(closer(), SIGCONT);
	tell_children(closer(), SIGCONT);
	end();
	assert_true(are_closed(fds, 1200));
}

/* It was none: whoever leaves closes it. */
static void others_are_forgotten(void **state)
{
	int fd;

	(void)state;
	begin();
	fd = opened(alice);
	target_fd_forget(fd);
	end();
	assert_true(is_open(fd));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_process_they_are_closed_here),
		cmocka_unit_test(many_are_closed),
		cmocka_unit_test(stuck_ones_are_of_their_user),
		cmocka_unit_test(whoever_ends_closes_the_others),
		cmocka_unit_test(who_is_killed_leaves_nothing_open),
		cmocka_unit_test(without_them_nothing_is_closed_or_opened),
		cmocka_unit_test(those_that_wait_are_counted),
		cmocka_unit_test(others_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
