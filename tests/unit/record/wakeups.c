// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/wakeups.h"

#define LONG_NS (60 * CLOCK_SECOND_NS)

static int open_wakeups(void **state)
{
	return wakeups_new((struct wakeups **)state, NULL);
}

static int close_wakeups(void **state)
{
	wakeups_free(*state);
	return 0;
}

static void descriptors_and_time(void **state)
{
	struct wakeups *w = *state;
	int sampler = eventfd(0, EFD_CLOEXEC), writer = eventfd(0, EFD_CLOEXEC);
	uint64_t begin_ns = clock_now_ns();

	assert_int_equal(wakeups_watch(w, -1, WAKEUP_EVENTS, NULL), 0);
	assert_int_equal(wakeups_watch(w, sampler, WAKEUP_SAMPLER, NULL), 0);
	assert_int_equal(wakeups_watch(w, writer, WAKEUP_WRITER, NULL), 0);
	/* Never early. */
	assert_int_equal(wakeups_wait(w, 5500000), 0);
	assert_true(clock_now_ns() - begin_ns >= 5500000);

	eventfd_write(sampler, 1);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_SAMPLER);
	begin_ns = clock_now_ns();
	assert_int_equal(wakeups_wait_but(w, WAKEUP_SAMPLER, 5500000), 0);
	assert_true(clock_now_ns() - begin_ns >= 5500000);

	eventfd_write(writer, 1);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_SAMPLER | WAKEUP_WRITER);
	assert_int_equal(wakeups_wait_but(w, WAKEUP_SAMPLER, LONG_NS), WAKEUP_WRITER);
	close(sampler);
	close(writer);
}

/* It reports once, also for a new descriptor with the number of a closed one. */
static void a_descriptor_that_is_watched_once(void **state)
{
	struct wakeups *w = *state;
	int fd = eventfd(1, EFD_CLOEXEC), other = eventfd(1, EFD_CLOEXEC);

	wakeups_watch_once(w, fd, POLLOUT, WAKEUP_DECODER);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_DECODER);
	assert_int_equal(wakeups_wait(w, 0), 0);
	wakeups_watch_once(w, fd, POLLIN, WAKEUP_DECODER);
	assert_int_equal(wakeups_wait_but(w, WAKEUP_SAMPLER, 1000000), 0);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_DECODER);
	assert_int_equal(dup3(other, fd, O_CLOEXEC), fd);
	assert_int_equal(wakeups_wait(w, 0), 0);
	wakeups_watch_once(w, fd, POLLIN, WAKEUP_DECODER);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_DECODER);
	close(fd);
	close(other);
}

static void signals(void **state)
{
	struct wakeups *w = *state;
	struct wakeup_signal signal;

	assert_false(wakeups_take_signal(w, &signal));
	kill(getpid(), SIGUSR1);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_SIGNAL);
	assert_true(wakeups_take_signal(w, &signal));
	assert_int_equal(signal.number, SIGUSR1);
	assert_true(signal.is_from_somebody);
	assert_false(wakeups_take_signal(w, &signal));
	assert_int_equal(wakeups_wait(w, 0), 0);
}

/* For the end: nothing but a signal and this descriptor ends the wait. */
static void only_a_signal_or_its_descriptor(void **state)
{
	struct wakeups *w = *state;
	int other = eventfd(1, EFD_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
	struct wakeup_signal signal;
	uint64_t begin_ns = clock_now_ns();

	wakeups_drop_signals(w); /* children of other tests have ended */
	assert_int_equal(wakeups_watch(w, other, WAKEUP_SAMPLER, NULL), 0);
	wakeups_wait_for_signal(w, fd, POLLIN, 5500000);
	assert_true(clock_now_ns() - begin_ns >= 5500000);
	assert_int_equal(eventfd_write(fd, 1), 0);
	wakeups_wait_for_signal(w, fd, POLLIN, LONG_NS);
	assert_int_equal(eventfd_read(fd, &(eventfd_t){0}), 0);
	kill(getpid(), SIGTERM);
	wakeups_wait_for_signal(w, fd, POLLIN, LONG_NS);
	assert_true(wakeups_take_signal(w, &signal));
	assert_int_equal(signal.number, SIGTERM);
	close(fd);
	close(other);
}

/* What is asked before the loop leaves the signal to the loop. */
static void an_end_is_pending(void **state)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGQUIT};
	struct wakeups *w = *state;
	struct wakeup_signal signal;

	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGHUP);
	assert_false(wakeups_end_is_pending());
	while (wakeups_take_signal(w, &signal))
		;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		kill(getpid(), ends[i]);
		assert_true(wakeups_end_is_pending());
		assert_true(wakeups_take_signal(w, &signal));
		assert_int_equal(signal.number, ends[i]);
		assert_false(wakeups_end_is_pending());
	}
}

/* A signal from the kernel has no sender: the command of `run` has received it, too. */
static void a_child_ends(void **state)
{
	struct wakeups *w = *state;
	struct wakeup_signal signal;
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(wakeups_wait(w, LONG_NS), WAKEUP_SIGNAL);
	assert_true(wakeups_take_signal(w, &signal));
	assert_int_equal(signal.number, SIGCHLD);
	assert_false(signal.is_from_somebody);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Signals from before are ignored; the next one kills. */
static void the_second_one_kills(void **state)
{
	struct wakeups *w = *state;
	pid_t child = fork();
	int status;

	if (!child) {
		kill(getpid(), SIGINT);
		wakeups_let_signals_kill(w);
		kill(getpid(), SIGTERM);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* The terminal and the shell tell a hang-up in turn: it kills only at the very end. */
static void a_hangup_kills_last(void **state)
{
	struct wakeups *w = *state;
	int ends[2], status;
	pid_t child;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		wakeups_let_signals_kill(w);
		raise(SIGHUP);
		wakeups_let_hangup_kill(w);
		if (write(ends[1], "", 1) != 1)
			_exit(2);
		raise(SIGHUP);
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGHUP);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(descriptors_and_time, open_wakeups,
						close_wakeups),
		cmocka_unit_test_setup_teardown(a_descriptor_that_is_watched_once,
						open_wakeups, close_wakeups),
		cmocka_unit_test_setup_teardown(signals, open_wakeups, close_wakeups),
		cmocka_unit_test_setup_teardown(an_end_is_pending, open_wakeups,
						close_wakeups),
		cmocka_unit_test_setup_teardown(a_child_ends, open_wakeups,
						close_wakeups),
		cmocka_unit_test_setup_teardown(the_second_one_kills, open_wakeups,
						close_wakeups),
		cmocka_unit_test_setup_teardown(a_hangup_kills_last, open_wakeups,
						close_wakeups),
		cmocka_unit_test_setup_teardown(only_a_signal_or_its_descriptor,
						open_wakeups, close_wakeups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
