// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/quota.h"

static void a_user_gets_a_quarter(void **state)
{
	struct quota q = {.max = 40};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(quota_take(&q, 1000, 1));
	assert_false(quota_take(&q, 1000, 1));
	assert_true(quota_take(&q, 1001, 10));
	assert_false(quota_take(&q, 1001, 1));
	quota_give(&q, 1000, 3);
	assert_false(quota_take(&q, 1000, 4));
	assert_true(quota_take(&q, 1000, 3));
	quota_deinit(&q);
}

static void root_gets_what_is_there(void **state)
{
	struct quota q = {.max = 40};

	(void)state;
	assert_true(quota_take(&q, 0, 40));
	/* Not known: one user, which is not root. */
	assert_true(quota_take(&q, UINT32_MAX, 10));
	assert_false(quota_take(&q, UINT32_MAX, 1));
	quota_deinit(&q);
}

static void without_a_maximum_all_is_counted(void **state)
{
	struct quota q = {0};

	(void)state;
	assert_true(quota_take(&q, 1000, 1000));
	quota_give(&q, 1000, 999);
	q.max = 4;
	assert_false(quota_take(&q, 1000, 1));
	quota_deinit(&q);
}

static void many_users_are_kept_apart(void **state)
{
	struct quota q = {.max = 4};

	(void)state;
	for (uint32_t uid = 1; uid <= 5000; uid++)
		assert_true(quota_take(&q, uid, 1));
	for (uint32_t uid = 1; uid <= 5000; uid++) {
		assert_false(quota_take(&q, uid, 1));
		quota_give(&q, uid, 1);
	}
	for (uint32_t uid = 1; uid <= 5000; uid++)
		assert_true(quota_take(&q, uid, 1));
	quota_deinit(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_gets_a_quarter),
		cmocka_unit_test(root_gets_what_is_there),
		cmocka_unit_test(without_a_maximum_all_is_counted),
		cmocka_unit_test(many_users_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
