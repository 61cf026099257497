// SPDX-License-Identifier: GPL-2.0-or-later
/* Children that SIGKILL does not end at once: the freezer of cgroup v1 stops them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "worker/child.h"
#include "worker/message.h"
#include "worker/worker.h"

static char cgroup[64]; /* of this run only */

static bool write_text(const char *file, const char *text)
{
	_cleanup_close_ int fd = -1;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static int set_up(void **state)
{
	snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/freezer/lineburn-test-%d",
		 (int)getpid());
	*state = mkdir(cgroup, 0755) ? NULL : cgroup;
	return 0;
}

static int tear_down(void **state)
{
	if (*state) {
		write_text("freezer.state", "THAWED");
		for (int i = 0; i < 6000 && rmdir(cgroup) && errno == EBUSY; i++)
			usleep(10000);
	}
	return 0;
}

static bool state_is(const char *state)
{
	char path[128], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/freezer.state", cgroup);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return !strncmp(text, state, strlen(state));
}

static void freeze(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	assert_true(write_text("cgroup.procs", text));
	assert_true(write_text("freezer.state", "FROZEN"));
	/* A task that waits for a CPU freezes when it runs. */
	while (!state_is("FROZEN"))
		usleep(1000);
}

static void thaw(void)
{
	assert_true(write_text("freezer.state", "THAWED"));
}

static bool need_freezer(void **state)
{
	if (!*state)
		print_message("skipped: needs root and the freezer of cgroup v1\n");
	return *state;
}

static int64_t ms_since(int64_t start_ns)
{
	return (message_clock_ns() - start_ns) / 1000000;
}

static void what_does_not_die_is_put_aside(void **state)
{
	struct undead undead = {.nr = 0};
	struct child child;
	int64_t start;
	pid_t pid;

	if (!need_freezer(state))
		skip();
	assert_int_equal(child_spawn(&child), 0);
	pid = child.pid;
	freeze(pid);
	start = message_clock_ns();
	child_kill(&child, &undead);
	assert_in_range(ms_since(start), CHILD_KILL_WAIT_MS - 1, 60000);
	assert_int_equal(child.pid, 0);
	assert_int_equal(undead.nr, 1);
	assert_true(undead_reap(&undead)); /* there is room for more */
	assert_int_equal(undead.nr, 1);
	thaw();
	for (int i = 0; i < 6000 && undead.nr; i++) {
		usleep(10000);
		undead_reap(&undead);
	}
	assert_int_equal(undead.nr, 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	undead_deinit(&undead);
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

/* A worker starts new children until too many of them cannot be killed. */
static void too_many_undead_stop_new_starts(void **state)
{
	struct worker_stats stats;
	struct wire_reader reply;
	struct worker *w;

	if (!need_freezer(state))
		skip();
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	for (size_t i = 0; i < CHILD_MAX_UNDEAD; i++) {
		freeze((pid_t)pid_of_child(w, 0));
		assert_int_equal(
			worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20, &reply, NULL),
			WORKER_DEADLINE);
	}
	assert_int_equal(
		worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 20, &reply, NULL),
		WORKER_CANNOT_START);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_deadline, CHILD_MAX_UNDEAD);
	assert_int_equal(stats.nr_starts, CHILD_MAX_UNDEAD);
	thaw();
	pid_of_child(w, 6000); /* when one of them has ended */
	worker_free(w);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(int argc, char **argv)
{
	static const worker_op ops[] = {op_pid};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_does_not_die_is_put_aside, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(too_many_undead_stop_new_starts, set_up,
						tear_down),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(ops, ARRAY_SIZE(ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
