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
#include "lib/held_births.h"

static struct tenant user(uint32_t uid)
{
	return (struct tenant){.uid = uid};
}

static int64_t ms_since(int64_t start_ns)
{
	return (message_clock_ns() - start_ns) / 1000000;
}

static void count(void *ctx)
{
	++*(size_t *)ctx;
}

static void what_does_not_die_is_put_aside(void **state)
{
	static size_t nr_worked;
	uint64_t cpu_ns = 0;
	struct child child;
	int64_t start;
	pid_t pid;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(child_spawn(&child, &cpu_ns), 0);
	pid = child.pid;
	freezer_freeze(pid);
	message_meanwhile(count, &nr_worked);
	start = message_clock_ns();
	child_kill(&child, user(1000), CHILD_KILL_WAIT_MS, &cpu_ns);
	assert_in_range(ms_since(start), CHILD_KILL_WAIT_MS - 1, 60000);
	assert_true(nr_worked > 0);
	/* Nobody waits for it any more. */
	nr_worked = 0;
	for (int i = 0; i < 2 * MESSAGE_MEANWHILE_MS; i++)
		assert_int_equal(child_nr_undead(), 1);
	assert_int_equal(nr_worked, 0);
	message_meanwhile(NULL, NULL);
	assert_int_equal(child.pid, 0);
	assert_true(child_has_room(user(1000))); /* for one more of this user */
	assert_int_equal(cpu_ns, 0);
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_int_equal(child_nr_undead(), 0);
	assert_true(cpu_ns > 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Whoever holds them: folders of any number of users are not what all helpers wait for. */
static void all_folders_together_have_few(void **state)
{
	uint64_t cpu_ns[CHILD_MAX_UNDEAD_FOLDERS] = {0};

	if (!freezer_is_there(state))
		skip();
	for (uint32_t i = 0; i < CHILD_MAX_UNDEAD_FOLDERS; i++) {
		struct child child;

		assert_true(child_has_room(TENANT_OF_FOLDERS(1000 + i)));
		assert_int_equal(child_spawn(&child, &cpu_ns[i]), 0);
		freezer_freeze(child.pid);
		child_kill(&child, TENANT_OF_FOLDERS(1000 + i), 0, &cpu_ns[i]);
	}
	assert_int_equal(child_nr_undead(), CHILD_MAX_UNDEAD_FOLDERS);
	assert_false(child_has_room(TENANT_OF_FOLDERS(2000)));
	assert_true(child_has_room(TENANT_OF_FOLDERS(0)));
	assert_true(child_has_room(user(1000)));
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_int_equal(child_nr_undead(), 0);
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

	for (;;) {
		answer = worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20000, &reply,
				     NULL);
		if ((answer != WORKER_CANNOT_START && answer != WORKER_REFUSED) ||
		    !retries--)
			break;
		usleep(10000);
	}
	assert_int_equal(answer, WORKER_OK);
	return wire_get_u32(&reply);
}

/* Starts a child that serves @who, and lets it get stuck. */
static void get_stuck(struct worker *w, struct tenant who)
{
	struct wire_reader reply;

	worker_serves(w, who);
	freezer_freeze((pid_t)pid_of_child(w, 0));
	assert_int_equal(
		worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20, &reply, NULL),
		WORKER_DEADLINE);
}

static enum worker_answer call(struct worker *w)
{
	struct wire_reader reply;

	return worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20000, &reply, NULL);
}

static bool is_refused(struct worker *w, struct tenant who)
{
	worker_serves(w, who);
	return call(w) == WORKER_REFUSED;
}

/* Two stuck children of a user stop the calls for that user, in every worker. */
static void a_user_with_stuck_children_stops_only_its_own_calls(void **state)
{
	struct worker *w, *other;
	uint64_t first, number;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	assert_int_equal(worker_new(NULL, &other, NULL), 0);
	for (size_t i = 0; i < CHILD_MAX_UNDEAD_TENANT; i++)
		get_stuck(w, user(1000));
	assert_true(is_refused(w, user(1000)));
	assert_true(is_refused(other, user(1000)));
	assert_false(is_refused(w, user(1001)));
	assert_false(is_refused(other, TENANT_UNKNOWN));
	/* A look may learn later whose target it was. */
	get_stuck(w, TENANT_UNKNOWN);
	first = worker_last_stuck(w);
	get_stuck(w, TENANT_UNKNOWN);
	number = worker_last_stuck(w);
	assert_true(is_refused(other, TENANT_UNKNOWN));
	child_charge_undead(number, user(1002));
	assert_true(child_is_undead(number));
	assert_false(child_is_undead(number + 1));
	assert_false(is_refused(other, TENANT_UNKNOWN));
	assert_false(is_refused(other, user(1002)));
	child_charge_undead(first, user(1002));
	assert_true(is_refused(other, user(1002)));
	/* It is theirs now. */
	child_charge_undead(first, user(1004));
	assert_true(is_refused(other, user(1002)));
	worker_free(w);
	/* They are still stuck when their worker has gone. */
	assert_true(is_refused(other, user(1000)));
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_false(is_refused(other, user(1000)));
	assert_false(child_is_undead(number));
	/* One that dies when it is killed is nobody's, and no other is taken for it. */
	worker_serves(other, user(1003));
	assert_int_equal(worker_last_stuck(other), 0);
	worker_free(other);
}

/* What a user of a container gets stuck is the container's, not that of a namesake. */
static void a_container_does_not_use_up_what_its_users_have(void **state)
{
	struct tenant container = {.container = 7};
	struct worker *w;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	for (size_t i = 0; i < CHILD_MAX_UNDEAD_TENANT; i++)
		get_stuck(w, container);
	assert_true(is_refused(w, container));
	assert_false(is_refused(w, (struct tenant){0}));
	assert_false(is_refused(w, (struct tenant){.container = 8}));
	assert_false(is_refused(w, user(1000)));
	worker_free(w);
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
}

/*
 * When many are stuck, those whose targets did it are refused, and those who are not known.
 * Others are served until a new child would be one too many; one that runs serves them
 * still.
 */
static void when_many_are_stuck_others_are_served(void **state)
{
	/* A reader: less time is given to it to die than to a decoder. */
	const struct worker_config config = {.kind = WORKER_READER};
	struct worker *w, *running;
	struct worker_stats stats;
	uint32_t uid = 1000;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(worker_new(&config, &w, NULL), 0);
	assert_int_equal(worker_new(&config, &running, NULL), 0);
	while (uid < 1000 + CHILD_MANY_UNDEAD)
		get_stuck(w, user(uid++));
	assert_int_equal(child_nr_undead(), CHILD_MANY_UNDEAD);
	assert_true(is_refused(w, user(1000)));
	assert_true(is_refused(w, TENANT_UNKNOWN));
	assert_false(is_refused(running, user(1)));
	while (child_nr_undead() < CHILD_MAX_UNDEAD)
		get_stuck(w, user(uid++));
	assert_false(is_refused(running, user(1)));
	assert_true(is_refused(running, user(1000)));
	worker_serves(w, user(1));
	assert_int_equal(call(w), WORKER_CANNOT_START);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_starts, CHILD_MAX_UNDEAD);
	/* The one that runs may get stuck, too. */
	get_stuck(running, user(1));
	assert_int_equal(child_nr_undead(), CHILD_MAX_UNDEAD + 1);
	worker_free(running);
	freezer_thaw();
	pid_of_child(w, 6000); /* when enough of them have ended */
	worker_free(w);
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Tries until the pause is over. */
static int spawn_later(struct child *ret, uint64_t *cpu_ns)
{
	int rc;

	for (int i = 0; i < 6000; i++) {
		rc = child_spawn(ret, cpu_ns);
		if (rc != -EBUSY)
			break;
		usleep(10000);
	}
	return rc;
}

/* Return: the line that failed. */
static int spawn_while_held(void)
{
	uint64_t cpu_ns = 0;
	struct child child = CHILD_NONE;
	int held = held_births_begin();

	if (held < 0)
		return __LINE__;
	if (child_spawn(&child, &cpu_ns) != -ETIMEDOUT || child.pid)
		return __LINE__;
	/* The next ones do not cost as much time. */
	if (child_spawn(&child, &cpu_ns) != -EBUSY)
		return __LINE__;
	if (spawn_later(&child, &cpu_ns) != -ETIMEDOUT)
		return __LINE__;
	close(held);
	if (spawn_later(&child, &cpu_ns) || child.files[CHILD_STAT] < 0 ||
	    child.files[CHILD_FDS] >= 0)
		return __LINE__;
	child_kill(&child, TENANT_UNKNOWN, 20000, &cpu_ns);
	return child_nr_undead() ? __LINE__ : 0;
}

/* Who holds /proc, or the directory of a child there, delays a start for half a second. */
static void a_held_directory_does_not_hold_the_parent(void **state)
{
	pid_t pid = fork();
	int status, line;

	(void)state;
	if (!pid) {
		line = spawn_while_held();
		if (line)
			fprintf(stderr, "it failed in line %d\n", line);
		_exit(line != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	static const worker_op ops[] = {op_pid};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_does_not_die_is_put_aside,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(all_folders_together_have_few,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(
			a_user_with_stuck_children_stops_only_its_own_calls,
			freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(
			a_container_does_not_use_up_what_its_users_have, freezer_set_up,
			freezer_tear_down),
		cmocka_unit_test(a_held_directory_does_not_hold_the_parent),
		cmocka_unit_test_setup_teardown(when_many_are_stuck_others_are_served,
						freezer_set_up, freezer_tear_down),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(ops, ARRAY_SIZE(ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
