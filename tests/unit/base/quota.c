// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/quota.h"

static const struct tenant root, alice = {.uid = 1000}, bob = {.uid = 1001},
				 web = {.container = 7}, db = {.container = 8};

static void a_tenant_gets_a_quarter(void **state)
{
	struct quota q = {.max = 40};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(quota_take(&q, alice, 1));
	assert_false(quota_take(&q, alice, 1));
	assert_true(quota_take(&q, bob, 10));
	assert_false(quota_take(&q, bob, 1));
	quota_give(&q, alice, 3);
	assert_false(quota_take(&q, alice, 4));
	assert_true(quota_take(&q, alice, 3));
	quota_deinit(&q);
}

/* Each container is a tenant, also if root is its user. */
static void containers_are_kept_apart(void **state)
{
	struct quota q = {.max = 40};

	(void)state;
	assert_true(quota_take(&q, web, 10));
	assert_false(quota_take(&q, web, 1));
	assert_true(quota_take(&q, db, 10));
	assert_true(quota_take(&q, alice, 10));
	quota_deinit(&q);
}

/* Of those who share something, any pays; none decides for the others. */
static void any_of_several_pays(void **state)
{
	struct payers both = payers_of_one(alice), nobody = {0};
	struct quota q = {.max = 40};
	struct tenant who;

	(void)state;
	payers_add(&both, alice);
	assert_int_equal(both.nr, 1);
	assert_true(quota_take(&q, alice, 8));
	assert_false(quota_take_any(&q, &both, 3, &who));
	payers_add(&both, web);
	assert_int_equal(both.nr, 2);
	assert_true(quota_take_any(&q, &both, 3, &who));
	assert_true(tenant_is_same(who, web));
	assert_true(quota_take_any(&q, &both, 2, &who));
	assert_true(tenant_is_same(who, alice));
	quota_add(&q, alice, 1);
	assert_false(quota_are_over(&q, &both));
	quota_add(&q, web, 8);
	assert_true(quota_are_over(&q, &both));
	assert_false(quota_take_any(&q, &both, 1, &who));
	assert_true(quota_take_any(&q, &nobody, 40, &who));
	assert_false(quota_are_over(&q, &nobody));
	/* Four could use up the table alone. */
	payers_add(&both, db);
	payers_add(&both, TENANT_UNKNOWN);
	assert_int_equal(both.nr, 0);
	payers_add(&both, alice);
	assert_int_equal(both.nr, 0);
	/* Root pays for nothing. */
	both = payers_of_one(alice);
	payers_add(&both, root);
	assert_int_equal(both.nr, 0);
	quota_deinit(&q);
}

static void root_gets_what_is_there(void **state)
{
	struct quota q = {.max = 40};

	(void)state;
	assert_true(quota_take(&q, root, 40));
	assert_false(quota_is_over(&q, root));
	/* Not known: one user, which is not root. */
	assert_true(quota_take(&q, TENANT_UNKNOWN, 10));
	assert_false(quota_take(&q, TENANT_UNKNOWN, 1));
	quota_deinit(&q);
}

static void without_a_maximum_nothing_is_refused(void **state)
{
	struct quota q = {0};

	(void)state;
	assert_true(quota_take(&q, alice, 1000));
	quota_add(&q, alice, 1000);
	assert_false(quota_is_over(&q, alice));
	quota_give(&q, alice, 1000);
	quota_deinit(&q);
}

static void who_got_more_without_a_question_is_over(void **state)
{
	struct quota q = {.max = 40};

	(void)state;
	quota_add(&q, alice, 10);
	assert_false(quota_is_over(&q, alice));
	quota_add(&q, alice, 1);
	assert_true(quota_is_over(&q, alice));
	assert_false(quota_is_over(&q, bob));
	assert_false(quota_take(&q, alice, 0));
	quota_give(&q, alice, 1);
	assert_false(quota_is_over(&q, alice));
	quota_deinit(&q);
}

struct refusals {
	struct tenant who[4];
	uint64_t nr[4];
	size_t nr_told;
};

static void on_refused(void *ctx, const struct quota *q, struct tenant who, uint64_t nr)
{
	struct refusals *r = ctx;

	assert_string_equal(q->what, "places");
	r->who[r->nr_told] = who;
	r->nr[r->nr_told++] = nr;
}

static void refusals_are_counted_by_tenant(void **state)
{
	struct quota q = {.max = 40, .what = "places"};
	struct refusals told = {0};

	(void)state;
	quota_take(&q, web, 10);
	quota_take(&q, bob, 10);
	quota_take(&q, alice, 10);
	quota_take(&q, alice, 3);
	quota_take(&q, alice, 4);
	quota_take(&q, db, 11);
	quota_each_refused(&q, on_refused, &told);
	assert_int_equal(told.nr_told, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(told.nr[i], tenant_is_same(told.who[i], alice) ? 7 : 11);
	assert_false(tenant_is_same(told.who[0], told.who[1]));
	/* Each is told once. */
	quota_each_refused(&q, on_refused, &told);
	assert_int_equal(told.nr_told, 2);
	quota_deinit(&q);
}

static void many_tenants_come_and_go(void **state)
{
	struct quota q = {.max = 4};
	struct tenant who = {0};

	(void)state;
	for (who.uid = 1; who.uid <= 5000; who.uid++)
		assert_true(quota_take(&q, who, 1));
	for (who.uid = 1; who.uid <= 5000; who.uid++)
		assert_false(quota_take(&q, who, 1));
	for (who.uid = 1; who.uid <= 5000; who.uid += 2)
		quota_give(&q, who, 1);
	for (who.uid = 1; who.uid <= 5000; who.uid++)
		assert_int_equal(quota_take(&q, who, 1), who.uid % 2);
	for (who.uid = 1; who.uid <= 5000; who.uid++)
		quota_give(&q, who, 1);
	quota_deinit(&q);
}

static void a_callers_refusals_are_counted(void **state)
{
	struct quota q = {.max = 40, .what = "places"}, unlimited = {.what = "places"};
	struct refusals told = {0};

	(void)state;
	assert_true(quota_refuse(&q, alice, 2));
	assert_false(quota_refuse(&q, root, 2));
	assert_false(quota_refuse(&unlimited, alice, 2));
	quota_each_refused(&q, on_refused, &told);
	quota_each_refused(&unlimited, on_refused, &told);
	assert_int_equal(told.nr_told, 1);
	assert_int_equal(told.nr[0], 2);
	assert_true(quota_take(&q, alice, 10));
	quota_deinit(&q);
}

/* What is refused in each round is told once, and what is refused beyond that. */
static void rounds_are_not_added_up(void **state)
{
	struct quota q = {.max = 40, .what = "places"};
	struct refusals told = {0};

	(void)state;
	quota_take(&q, alice, 10);
	for (int round = 0; round < 3; round++) {
		quota_begin_round(&q);
		for (int i = 0; i < 5; i++)
			assert_false(quota_take(&q, alice, 1));
	}
	quota_each_refused(&q, on_refused, &told);
	assert_int_equal(told.nr_told, 1);
	assert_int_equal(told.nr[0], 5);
	quota_begin_round(&q);
	for (int i = 0; i < 5; i++)
		assert_false(quota_take(&q, alice, 1));
	quota_each_refused(&q, on_refused, &told);
	assert_int_equal(told.nr_told, 1);
	assert_false(quota_take(&q, alice, 2));
	quota_each_refused(&q, on_refused, &told);
	assert_int_equal(told.nr_told, 2);
	assert_int_equal(told.nr[1], 2);
	quota_deinit(&q);
}

/* Who has no place and was told of costs nothing. */
static void empty_accounts_are_dropped(void **state)
{
	struct quota q = {.max = 40, .what = "places"};
	struct refusals told = {0};

	(void)state;
	quota_take(&q, alice, 1);
	quota_take(&q, bob, 1);
	quota_take(&q, bob, 10);
	quota_give(&q, alice, 1);
	assert_int_equal(q.nr_accounts, 1);
	quota_give(&q, bob, 1);
	assert_int_equal(q.nr_accounts, 1);
	quota_each_refused(&q, on_refused, &told);
	assert_int_equal(told.nr_told, 1);
	assert_int_equal(q.nr_accounts, 0);
	quota_deinit(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tenant_gets_a_quarter),
		cmocka_unit_test(containers_are_kept_apart),
		cmocka_unit_test(any_of_several_pays),
		cmocka_unit_test(root_gets_what_is_there),
		cmocka_unit_test(without_a_maximum_nothing_is_refused),
		cmocka_unit_test(who_got_more_without_a_question_is_over),
		cmocka_unit_test(refusals_are_counted_by_tenant),
		cmocka_unit_test(a_callers_refusals_are_counted),
		cmocka_unit_test(rounds_are_not_added_up),
		cmocka_unit_test(many_tenants_come_and_go),
		cmocka_unit_test(empty_accounts_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
