// SPDX-License-Identifier: GPL-2.0-or-later
/* Children that SIGKILL does not end at once: the freezer of cgroup v1 stops them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "worker/child.h"
#include "worker/message.h"
#include "worker/worker.h"

#include "lib/freezer.h"

static int64_t ms_since(int64_t start_ns)
{
	return (message_clock_ns() - start_ns) / 1000000;
}

static void what_does_not_die_is_put_aside(void **state)
{
	uint64_t cpu_ns = 0;
	struct child child;
	int64_t start;
	pid_t pid;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(child_spawn(&child), 0);
	pid = child.pid;
	freezer_freeze(pid);
	start = message_clock_ns();
	child_kill(&child, 1000, CHILD_KILL_WAIT_MS, &cpu_ns);
	assert_in_range(ms_since(start), CHILD_KILL_WAIT_MS - 1, 60000);
	assert_int_equal(child.pid, 0);
	assert_int_equal(child_nr_undead(), 1);
	assert_true(child_has_room(1000)); /* for one more of this user */
	assert_int_equal(cpu_ns, 0);
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_int_equal(child_nr_undead(), 0);
	assert_true(cpu_ns > 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static int op_pid(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds;
	wire_put_u32(reply, (uint32_t)getpid());
	return 0;
}

/* @retries  of a start that is refused, 10 ms each */
static uint32_t pid_of_child(struct worker *w, unsigned int retries)
{
	struct wire_reader reply;
	enum worker_answer answer;

	while ((answer = worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20000, &reply,
				     NULL)) == WORKER_CANNOT_START &&
	       retries--)
		usleep(10000);
	assert_int_equal(answer, WORKER_OK);
	return wire_get_u32(&reply);
}

/* Starts a child that serves @uid, and lets it get stuck. */
static void get_stuck(struct worker *w, uint32_t uid)
{
	struct wire_reader reply;

	worker_serves(w, uid);
	freezer_freeze((pid_t)pid_of_child(w, 0));
	assert_int_equal(
		worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20, &reply, NULL),
		WORKER_DEADLINE);
}

static bool is_refused(struct worker *w, uint32_t uid)
{
	struct wire_reader reply;

	worker_serves(w, uid);
	return worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20000, &reply, NULL) ==
	       WORKER_CANNOT_START;
}

/* Two stuck children of a user stop the calls for that user, in every worker. */
static void a_user_with_stuck_children_stops_only_its_own_calls(void **state)
{
	struct worker *w, *other;
	uint64_t number;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	assert_int_equal(worker_new(NULL, &other, NULL), 0);
	for (size_t i = 0; i < CHILD_MAX_UNDEAD_USER; i++)
		get_stuck(w, 1000);
	assert_true(is_refused(w, 1000));
	assert_true(is_refused(other, 1000));
	assert_false(is_refused(w, 1001));
	assert_false(is_refused(other, CHILD_NO_USER));
	/* A look may learn later whose target it was. */
	get_stuck(w, CHILD_NO_USER);
	get_stuck(w, CHILD_NO_USER);
	assert_true(is_refused(other, CHILD_NO_USER));
	number = worker_charge_stuck(w, 1002);
	assert_true(child_is_undead(number));
	assert_false(child_is_undead(number + 1));
	assert_false(is_refused(other, CHILD_NO_USER));
	assert_true(is_refused(other, 1002));
	worker_free(w);
	/* They are still stuck when their worker has gone. */
	assert_true(is_refused(other, 1000));
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_false(is_refused(other, 1000));
	assert_false(child_is_undead(number));
	/* One that dies when it is killed is nobody's, and no other is taken for it. */
	worker_serves(other, 1003);
	assert_int_equal(worker_charge_stuck(other, 1003), 0);
	worker_free(other);
}

/* A worker starts new children until too many of all users cannot be killed. */
static void too_many_undead_stop_new_starts(void **state)
{
	const size_t max = CHILD_MAX_UNDEAD;
	struct worker_stats stats;
	struct worker *w;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	for (size_t i = 0; i < max; i++)
		get_stuck(w, 1000 + (uint32_t)i);
	assert_true(is_refused(w, 1));
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_deadline, max);
	assert_int_equal(stats.nr_starts, max);
	freezer_thaw();
	worker_serves(w, 1);
	pid_of_child(w, 6000); /* when one of them has ended */
	worker_free(w);
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(int argc, char **argv)
{
	static const worker_op ops[] = {op_pid};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_does_not_die_is_put_aside,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(
			a_user_with_stuck_children_stops_only_its_own_calls,
			freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(too_many_undead_stop_new_starts,
						freezer_set_up, freezer_tear_down),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(ops, ARRAY_SIZE(ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
