// SPDX-License-Identifier: GPL-2.0-or-later
#include "fixture.h"

#include "profile/order.h"

static struct strpool *pool;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	return !pool;
}

static int teardown(void **state)
{
	(void)state;
	strpool_free(pool);
	return 0;
}

static void assert_order(const uint32_t *items, const uint32_t *expected, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(items[i], expected[i]);
}

static void similar_items_are_neighbours(void **state)
{
	struct profile *p = profile_new(pool);
	uint32_t lib = add_mapping(p, "/lib.so"), app = add_mapping(p, "/app");
	uint32_t b = add_location(p, lib, 0x20, MISS_NONE, "b@/lib.c:9");
	uint32_t a = add_location(p, lib, 0x10, MISS_NONE, "a@/lib.c:5");
	uint32_t main = add_location(p, app, 0x30, MISS_NONE, "main@/app.c:1");
	uint32_t later = add_location(p, lib, 0, MISS_NONE, "py@/x.py:8");
	uint32_t sooner = add_location(p, lib, 0, MISS_NONE, "py@/x.py:7");
	uint32_t none = add_location(p, PROFILE_NONE, 0x99, MISS_NO_MAPPING, "");
	struct profile_label label = {.key = "pid", .num = 1};
	struct profile_order order;

	(void)state;
	profile_add_sample(p, &main, 1, &label, 1, 0, (int64_t[]){1, 1});
	add_stack(p, LB_STACK_COMPLETE, 1, b, main);
	add_stack(p, LB_STACK_COMPLETE, 1, main, b);
	add_stack(p, LB_STACK_COMPLETE, 1, main);
	add_stack(p, LB_STACK_COMPLETE, 1, a, main);
	assert_int_equal(profile_order_init(&order, p, app), 0);
	/* By file, then by first line, then by name. */
	assert_order(order.functions, (uint32_t[]){2, 1, 0, 3}, 4);
	assert_order(order.function_places, (uint32_t[]){2, 1, 0, 3}, 4);
	/* The first mapping first; by address, or by line where there is none. */
	assert_order(order.locations, (uint32_t[]){none, main, sooner, later, a, b}, 6);
	assert_int_equal(order.location_places[b], 5);
	/* From the outermost frame on; those with labels last. */
	assert_order(order.samples, (uint32_t[]){3, 4, 1, 2, 0}, 5);
	profile_order_deinit(&order);
	profile_free(p);
}

static void an_empty_profile_has_an_order(void **state)
{
	struct profile *p = profile_new(pool);
	struct profile_order order;

	(void)state;
	assert_int_equal(profile_order_init(&order, p, PROFILE_NONE), 0);
	profile_order_deinit(&order);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(similar_items_are_neighbours, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_empty_profile_has_an_order, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
