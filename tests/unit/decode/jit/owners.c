// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/owners.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* An address sampled in [100, 200], and registrations of code there. */
static void the_owner_is_who_was_registered_last(void **state)
{
	static const struct {
		uint64_t from[3], until[3]; /* until 0: end of the objects */
		enum ownership whose;
		uint32_t object, next;
	} rows[] = {
		{{0}, {0}, OWNERSHIP_NONE, 0, 0},
		{{0}, {UINT64_MAX}, OWNERSHIP_ONE, 0, 0},
		{{0}, {100}, OWNERSHIP_NONE, 0, 0}, /* ended too early */
		{{0}, {101}, OWNERSHIP_ONE, 0, 0},
		{{201}, {300}, OWNERSHIP_NONE, 0, 0},
		{{200}, {300}, OWNERSHIP_ONE, 0, 0}, /* seen late */
		/* Never unregistered: the newest has the address. */
		{{50, 10}, {300, UINT64_MAX}, OWNERSHIP_ONE, 0, 0},
		{{10, 50}, {UINT64_MAX, 300}, OWNERSHIP_ONE, 1, 0},
		{{0, 0},
		 {UINT64_MAX, UINT64_MAX},
		 OWNERSHIP_ONE,
		 0,
		 0}, /* newest first in the list */
		{{0, 100}, {UINT64_MAX, 300}, OWNERSHIP_ONE, 1, 0},
		/*
		 * Ended after the other was registered: when it was replaced is
		 * unknown.
		 */
		{{50, 10}, {300, 300}, OWNERSHIP_MANY, 0, 0},
		{{0, 100}, {300, UINT64_MAX}, OWNERSHIP_MANY, 0, 0},
		{{0, 50}, {50, 300}, OWNERSHIP_ONE, 1, 0},
		{{0, 101}, {300, 300}, OWNERSHIP_TWO, 0, 1},
		{{0, 150}, {150, 300}, OWNERSHIP_TWO, 0, 1},
		{{120, 150}, {150, 300}, OWNERSHIP_MANY, 0, 0},
		{{0, 120, 150}, {110, 150, 300}, OWNERSHIP_MANY, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct query item = {.ip = 0x1008, .first_ns = 100, .last_ns = 200};
		struct queries queries = {.items = &item, .nr = 1};
		uint32_t object = OWNERS_NONE, next = OWNERS_NONE;
		struct owners o;

		assert_int_equal(owners_init(&o, &queries), 0);
		for (uint32_t k = 0; k < 3 && rows[i].until[k]; k++)
			assert_int_equal(
				owners_claim(&o, k, 0x1000, 0x1010,
					     &(struct owner_time){rows[i].from[k],
								  rows[i].until[k], 0}),
				0);
		if (owners_of(&o, 0, &object, &next) != rows[i].whose)
			fail_msg("row %zu", i);
		if (rows[i].whose == OWNERSHIP_ONE || rows[i].whose == OWNERSHIP_TWO)
			assert_int_equal(object, rows[i].object);
		if (rows[i].whose == OWNERSHIP_TWO)
			assert_int_equal(next, rows[i].next);
		owners_deinit(&o);
	}
}

static void ranges_end_before_their_end(void **state)
{
	struct query items[] = {
		{.ip = 0xfff}, {.ip = 0x1000}, {.ip = 0x100f}, {.ip = 0x1010}};
	struct queries queries = {.items = items, .nr = 4};
	const struct owner_time ever = {0, UINT64_MAX, 0};
	uint32_t object, next;
	struct owners o;

	(void)state;
	assert_int_equal(owners_init(&o, &queries), 0);
	assert_int_equal(owners_claim(&o, 0, 0x1000, 0x1010, &ever), 0);
	assert_int_equal(owners_of(&o, 0, &object, &next), OWNERSHIP_NONE);
	assert_int_equal(owners_of(&o, 1, &object, &next), OWNERSHIP_ONE);
	assert_int_equal(owners_of(&o, 2, &object, &next), OWNERSHIP_ONE);
	assert_int_equal(owners_of(&o, 3, &object, &next), OWNERSHIP_NONE);
	/* Hostile objects may overlap without limit. */
	o.nr_claims = OWNERS_MAX_CLAIMS;
	assert_int_equal(owners_claim(&o, 1, 0, UINT64_MAX, &ever), -E2BIG);
	owners_deinit(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_owner_is_who_was_registered_last),
		cmocka_unit_test(ranges_end_before_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
