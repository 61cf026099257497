// SPDX-License-Identifier: GPL-2.0-or-later
/* Children that the kernel side missed. Its rules are a fake, the processes are real. */
#include "target/family.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collect/filter.h"
#include "collect/task_event.h"

#define IN          LB_FILTER_IN(LB_FILTER_PROCESS)
#define OUT         LB_FILTER_OUT(LB_FILTER_PROCESS)

#define MAX_MEMBERS 65536 /* family.c */
#define NO_PROCESS  5000000u /* from here on: above the kernel's highest pid */

/* ---- collect/filter.h ---- */

static struct rule {
	uint32_t id, mask;
} rules[8];
static size_t nr_rules;
static size_t nr_set; /* by the family */

static void give_rule(uint32_t id, uint32_t mask)
{
	assert_in_range(nr_rules, 0, ARRAY_SIZE(rules) - 1);
	rules[nr_rules++] = (struct rule){id, mask};
}

static struct rule *rule_of(uint32_t id)
{
	for (size_t i = 0; i < nr_rules; i++)
		if (rules[i].id == id)
			return &rules[i];
	return NULL;
}

uint32_t sampler_task_mask(const struct sampler *s, uint32_t id)
{
	const struct rule *rule = rule_of(id);

	(void)s;
	return rule ? rule->mask : 0;
}

int sampler_each_task(const struct sampler *s,
		      int (*fn)(void *ctx, uint32_t id, uint32_t mask), void *ctx)
{
	int rc = 0;

	(void)s;
	for (size_t i = 0; i < nr_rules && !rc; i++)
		rc = fn(ctx, rules[i].id, rules[i].mask);
	return rc;
}

int sampler_filter_task(struct sampler *s, uint32_t id, uint32_t mask, struct error *err)
{
	(void)s;
	(void)err;
	assert_null(rule_of(id));
	nr_set++;
	give_rule(id, mask);
	return 0;
}

void sampler_forget_task(struct sampler *s, uint32_t id)
{
	struct rule *rule = rule_of(id);

	(void)s;
	if (rule)
		*rule = rules[--nr_rules];
}

/* ---- processes ---- */

static pid_t living[8];
static size_t nr_living;

/* Starts a process that waits. */
static uint32_t begin_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(60);
		pause();
		_exit(0);
	}
	assert_in_range(nr_living, 0, ARRAY_SIZE(living) - 1);
	living[nr_living++] = pid;
	return (uint32_t)pid;
}

static void end_process(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	assert_int_equal(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
	for (size_t i = 0; i < nr_living; i++)
		if (living[i] == (pid_t)pid)
			living[i] = living[--nr_living];
}

static int tear_down(void **state)
{
	(void)state;
	while (nr_living)
		end_process((uint32_t)living[0]);
	nr_rules = nr_set = 0;
	return 0;
}

static struct family *begin(void)
{
	struct family *f = NULL;

	assert_int_equal(family_new(NULL, &f), 0);
	family_adopt(f, 0); /* all have their rules */
	assert_int_equal(nr_set, 0);
	return f;
}

static void tell_at(struct family *f, enum task_event_kind kind, uint32_t pid,
		    uint32_t ppid, uint64_t time_ns)
{
	family_event(f,
		     &(struct task_event){
			     .kind = kind, .pid = pid, .ppid = ppid, .time_ns = time_ns});
}

static void tell(struct family *f, enum task_event_kind kind, uint32_t pid, uint32_t ppid)
{
	tell_at(f, kind, pid, ppid, clock_now_ns());
}

/* ---- the tests ---- */

#define PARENT 1u

static void a_missed_child_gets_its_parents_rule(void **state)
{
	static const uint32_t masks[] = {IN, OUT, IN | OUT};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		_cleanup_(family_freep) struct family *f = NULL;
		uint32_t child = begin_process();

		give_rule(PARENT, masks[i]);
		f = begin();
		tell(f, TASK_EVENT_FORK, child, PARENT);
		family_adopt(f, 0);
		assert_int_equal(nr_set, 0);
		family_adopt(f, 1);
		assert_int_equal(sampler_task_mask(NULL, child), masks[i]);
		/* once */
		family_adopt(f, 2);
		assert_int_equal(nr_set, 1);
		tear_down(state);
	}
}

/* Its fork is told later, because it came before the look. */
static void so_do_its_own_children(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t child = begin_process(), its_child = begin_process();

	(void)state;
	give_rule(PARENT, IN);
	f = begin();
	tell(f, TASK_EVENT_FORK, child, PARENT);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 1);
	tell(f, TASK_EVENT_FORK, its_child, child);
	family_adopt(f, 1);
	assert_int_equal(sampler_task_mask(NULL, its_child), IN);
	assert_int_equal(nr_set, 2);
	family_adopt(f, 1);
	tell(f, TASK_EVENT_FORK, begin_process(), its_child);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 2);
}

/* A daemon's parent ends at once. */
static void the_parent_may_have_ended(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t parent = begin_process(), child = begin_process();
	uint32_t its_child = begin_process();

	(void)state;
	give_rule(parent, IN);
	f = begin();
	tell(f, TASK_EVENT_FORK, child, parent);
	tell(f, TASK_EVENT_FORK, its_child, child);
	end_process(child);
	tell(f, TASK_EVENT_EXIT, child, 0);
	end_process(parent);
	tell(f, TASK_EVENT_EXIT, parent, 0);
	sampler_forget_task(NULL, parent);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 1);
	assert_int_equal(nr_rules, 1);
	assert_int_equal(sampler_task_mask(NULL, its_child), IN);
}

static void born_while_rules_were_given_out(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t child = begin_process();

	(void)state;
	give_rule(PARENT, IN);
	assert_int_equal(family_new(NULL, &f), 0);
	tell(f, TASK_EVENT_FORK, child, PARENT);
	family_adopt(f, 0);
	assert_int_equal(sampler_task_mask(NULL, child), IN);
}

static void strangers_stay_strangers(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t older = begin_process(), reused = begin_process();
	uint32_t stranger = begin_process();

	(void)state;
	give_rule(PARENT, IN);
	give_rule(older | LB_TARGET_THREAD, IN);
	f = begin();
	/* A thread's children have no rule. */
	tell(f, TASK_EVENT_FORK, stranger, older);
	/* A child ended, and its number is another's now. */
	tell(f, TASK_EVENT_FORK, reused, PARENT);
	tell(f, TASK_EVENT_FORK, reused, older);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 0);
	/* The same, and that is not told yet: the process is younger than the event. */
	tell_at(f, TASK_EVENT_FORK, stranger, PARENT,
		clock_now_ns() - 60 * CLOCK_SECOND_NS);
	family_adopt(f, 2);
	assert_int_equal(nr_set, 0);
	assert_int_equal(nr_rules, 2);
}

/* Of an earlier process with the number of a target. */
static void old_events_change_nothing(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t child = begin_process();
	uint64_t before_ns = clock_now_ns();

	(void)state;
	give_rule(NO_PROCESS, IN);
	f = begin();
	tell_at(f, TASK_EVENT_FORK, NO_PROCESS, PARENT, before_ns);
	tell(f, TASK_EVENT_FORK, child, NO_PROCESS);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 1);
}

static void who_has_ended_is_forgotten(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t child = begin_process();

	(void)state;
	give_rule(NO_PROCESS, IN);
	f = begin();
	tell(f, TASK_EVENT_EXIT, NO_PROCESS, 0);
	sampler_forget_task(NULL, NO_PROCESS);
	family_adopt(f, 0);
	tell(f, TASK_EVENT_FORK, child, NO_PROCESS);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 0);
}

/* It keeps its rule: another thread runs, or takes its number by calling exec. */
static void a_leader_may_end_first(void **state)
{
	for (int calls_exec = 0; calls_exec < 2; calls_exec++) {
		_cleanup_(family_freep) struct family *f = NULL;
		uint32_t child = begin_process();

		give_rule(NO_PROCESS, IN);
		f = begin();
		tell(f, TASK_EVENT_EXIT, NO_PROCESS, 0);
		family_adopt(f, 0);
		if (calls_exec) {
			tell(f, TASK_EVENT_EXEC, NO_PROCESS, 0);
			sampler_forget_task(NULL, NO_PROCESS);
			family_adopt(f, 0);
		}
		tell(f, TASK_EVENT_FORK, child, NO_PROCESS);
		family_adopt(f, 1);
		assert_int_equal(sampler_task_mask(NULL, child), IN);
		tear_down(state);
	}
}

/* Most events of exits were lost, too. */
static void a_full_table_keeps_those_with_rules(void **state)
{
	_cleanup_(family_freep) struct family *f = NULL;
	uint32_t child = begin_process();

	(void)state;
	give_rule(PARENT, IN);
	f = begin();
	for (uint32_t i = 0; i < MAX_MEMBERS; i++)
		tell(f, TASK_EVENT_FORK, NO_PROCESS + i, PARENT);
	tell(f, TASK_EVENT_FORK, child, PARENT); /* is not known */
	family_adopt(f, 0);
	tell(f, TASK_EVENT_FORK, child, PARENT);
	family_adopt(f, 1);
	assert_int_equal(nr_set, 1);
	assert_int_equal(sampler_task_mask(NULL, child), IN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_missed_child_gets_its_parents_rule,
					  tear_down),
		cmocka_unit_test_teardown(so_do_its_own_children, tear_down),
		cmocka_unit_test_teardown(the_parent_may_have_ended, tear_down),
		cmocka_unit_test_teardown(born_while_rules_were_given_out, tear_down),
		cmocka_unit_test_teardown(strangers_stay_strangers, tear_down),
		cmocka_unit_test_teardown(old_events_change_nothing, tear_down),
		cmocka_unit_test_teardown(who_has_ended_is_forgotten, tear_down),
		cmocka_unit_test_teardown(a_leader_may_end_first, tear_down),
		cmocka_unit_test_teardown(a_full_table_keeps_those_with_rules, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
