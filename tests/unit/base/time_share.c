// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose request is next. */
#include "base/time_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define NOW    (1000 * SECOND)

static struct tenant user(uint32_t uid)
{
	return (struct tenant){.uid = uid};
}

static void nobody_waits_without_neighbours(void **state)
{
	struct time_share s = {.burst_ns = SECOND};

	(void)state;
	time_share_took(&s, user(1000), NOW, NOW + 100 * SECOND);
	assert_true(time_share_may_take(&s, user(1000), NOW + 100 * SECOND));
	assert_false(time_share_is_used_up(&s, user(1000), NOW + 100 * SECOND));
	assert_int_equal(s.nr_put_off, 0);
}

static void nobody_gets_more_than_a_quarter(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};
	uint64_t now = NOW, used = 0;

	(void)state;
	while (now < NOW + 1000 * SECOND) {
		if (time_share_may_take(&s, user(1000), now)) {
			time_share_took(&s, user(1000), now, now + SECOND / 2);
			now += SECOND / 2;
			used += SECOND / 2;
		}
		now += SECOND / 100;
	}
	assert_in_range(used, 249 * SECOND, 252 * SECOND);
	assert_in_range(s.nr_put_off, 490, 510); /* each time once */
}

/* What runs there as root is a stranger to others. */
static void a_container_pays_for_its_root(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};
	const struct tenant container = {.container = 1}, other = {.container = 2};

	(void)state;
	time_share_took(&s, container, NOW, NOW + 100 * SECOND);
	assert_false(time_share_may_take(&s, container, NOW + 100 * SECOND));
	assert_true(time_share_may_take(&s, other, NOW + 100 * SECOND));
	assert_true(time_share_may_take(&s, user(0), NOW + 100 * SECOND));
}

static void root_is_never_put_off(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};

	(void)state;
	time_share_took(&s, user(0), NOW, NOW + 100 * SECOND);
	time_share_waits(&s, user(1000), NOW + 100 * SECOND);
	assert_true(time_share_may_take(&s, user(0), NOW + 100 * SECOND));
}

static void who_had_least_is_first(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};

	(void)state;
	time_share_took(&s, user(1000), NOW, NOW + 2);
	time_share_took(&s, user(1001), NOW, NOW + 1);
	time_share_waits(&s, user(1001), NOW + 3);
	assert_false(time_share_may_take(&s, user(1000), NOW + 3));
	time_share_waits(&s, user(1002), NOW + 3);
	assert_false(time_share_may_take(&s, user(1001), NOW + 3));
	/* Both owe nothing any more. */
	assert_true(time_share_may_take(&s, user(1000), NOW + 8));
	/* Who was served does not wait. */
	time_share_took(&s, user(1000), NOW + 8, NOW + 9);
	time_share_took(&s, user(1001), NOW + 8, NOW + 9);
	time_share_took(&s, user(1002), NOW + 8, NOW + 9);
	time_share_took(&s, user(1002), NOW + 9, NOW + 10);
	assert_true(time_share_may_take(&s, user(1002), NOW + 10));
	assert_int_equal(s.nr_put_off, 2);
}

/* He did not need it after all. */
static void who_may_take_but_does_not_keeps_nobody_waiting(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};

	(void)state;
	time_share_took(&s, user(1000), NOW, NOW + SECOND);
	time_share_waits(&s, user(1001), NOW + SECOND);
	assert_true(time_share_may_take(&s, user(1001), NOW + SECOND));
	assert_true(time_share_may_take(&s, user(1000), NOW + SECOND));
	assert_int_equal(s.nr_put_off, 0);
}

/* Who has gone, or does not want it any more, keeps nobody waiting. */
static void who_does_not_ask_does_not_wait(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};

	(void)state;
	time_share_took(&s, user(1000), NOW, NOW + SECOND);
	time_share_waits(&s, user(1001), NOW + SECOND);
	assert_false(time_share_may_take(&s, user(1000), NOW + SECOND + SECOND / 10));
	assert_true(time_share_may_take(&s, user(1000), NOW + SECOND + SECOND / 10 + 1));
}

static void of_many_tenants_those_who_owe_most_are_known(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};

	(void)state;
	time_share_took(&s, user(1), NOW, NOW + 9 * SECOND);
	for (uint32_t uid = 2; uid < 100000; uid++)
		time_share_took(&s, user(uid), NOW, NOW + 1);
	assert_int_equal(s.nr_accounts, TIME_SHARE_MAX_TENANTS);
	assert_true(time_share_is_used_up(&s, user(1), NOW + 9 * SECOND));
	assert_false(time_share_is_used_up(&s, user(2), NOW + 9 * SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_without_neighbours),
		cmocka_unit_test(nobody_gets_more_than_a_quarter),
		cmocka_unit_test(a_container_pays_for_its_root),
		cmocka_unit_test(root_is_never_put_off),
		cmocka_unit_test(who_had_least_is_first),
		cmocka_unit_test(who_may_take_but_does_not_keeps_nobody_waiting),
		cmocka_unit_test(who_does_not_ask_does_not_wait),
		cmocka_unit_test(of_many_tenants_those_who_owe_most_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
