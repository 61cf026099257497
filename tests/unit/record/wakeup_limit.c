// SPDX-License-Identifier: GPL-2.0-or-later
/* Which answers are prompt; the others begin at random times. */
#include "record/wakeup_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND_NS 1000000000ULL
#define BEGIN_NS  (1000 * SECOND_NS)
#define TICK_NS   1001001ULL

/* How many of @nr answers, @apart_ns apart, are prompt. */
static unsigned int nr_prompt(struct wakeup_limit *p, uint64_t *now_ns, unsigned int nr,
			      uint64_t apart_ns)
{
	unsigned int prompt = 0;

	for (; nr--; *now_ns += apart_ns)
		prompt += !wakeup_limit_wait_ns(p, *now_ns);
	return prompt;
}

static void what_begins_is_answered_at_once(void **state)
{
	struct wakeup_limit p = {0};
	uint64_t now_ns = BEGIN_NS;

	(void)state;
	assert_int_equal(nr_prompt(&p, &now_ns, WAKEUP_LIMIT_PROMPT_BURST, 1000), 100);
	assert_int_equal(nr_prompt(&p, &now_ns, 1000, 1000), 0);
	/* 25 more after a quarter of a second, the maximum of 100 after a long time. */
	now_ns += SECOND_NS / 4;
	assert_int_equal(nr_prompt(&p, &now_ns, 1000, 1000), 25);
	now_ns += 1000 * SECOND_NS;
	assert_int_equal(nr_prompt(&p, &now_ns, 1000, 1000), 100);
}

static void what_is_seldom_is_always_answered_at_once(void **state)
{
	struct wakeup_limit p = {0};
	uint64_t now_ns = BEGIN_NS;

	(void)state;
	assert_int_equal(nr_prompt(&p, &now_ns, 1000, WAKEUP_LIMIT_PROMPT_NS), 1000);
}

/*
 * Ten seconds of ticks at 999 Hz that each wake: delayed answers are spread evenly over
 * a tick's period. The count of a tenth has a standard deviation of 30.
 */
static void the_others_begin_in_step_with_nothing(void **state)
{
	struct wakeup_limit p = {0};
	uint64_t now_ns = BEGIN_NS;
	unsigned int parts[10] = {0}, nr = 0;

	(void)state;
	nr_prompt(&p, &now_ns, WAKEUP_LIMIT_PROMPT_BURST, 0);
	for (int i = 0; i < 10000; i++, now_ns += TICK_NS) {
		uint64_t ns = wakeup_limit_wait_ns(&p, now_ns);

		assert_true(ns < WAKEUP_LIMIT_REST_NS);
		if (!ns)
			continue;
		nr++;
		parts[ns % TICK_NS * 10 / TICK_NS]++;
	}
	assert_in_range(nr, 8990, 9010); /* all but 100 each second */
	for (int i = 0; i < 10; i++)
		assert_in_range(parts[i], nr / 10 - 120, nr / 10 + 120);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_begins_is_answered_at_once),
		cmocka_unit_test(what_is_seldom_is_always_answered_at_once),
		cmocka_unit_test(the_others_begin_in_step_with_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
