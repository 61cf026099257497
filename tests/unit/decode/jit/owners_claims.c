// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/owners.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void read_queries(struct queries *q, size_t nr, const uint64_t (*rows)[3])
{
	struct wire_writer w = {0};
	struct wire_reader r;

	wire_put_u32(&w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < 3; k++)
			wire_put_u64(&w, rows[i][k]);
	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert_int_equal(queries_read(&r, q), 0);
	wire_writer_deinit(&w);
}

static void queries_are_sorted_and_found(void **state)
{
	static const uint64_t rows[][3] = {
		{30, 1, 2}, {10, 3, 4}, {20, 5, 6}, {10, 7, 8}};
	_cleanup_(queries_deinit) struct queries q = {0};

	(void)state;
	read_queries(&q, 4, rows);
	assert_int_equal(q.nr, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(q.items[i].ip, i < 2 ? 10 : i * 10);
		assert_int_equal(q.items[i].first_ns, rows[q.items[i].index][1]);
		assert_int_equal(q.items[i].last_ns, rows[q.items[i].index][2]);
	}
	assert_int_equal(queries_lower_bound(&q, 0), 0);
	assert_int_equal(queries_lower_bound(&q, 10), 0);
	assert_int_equal(queries_lower_bound(&q, 11), 2);
	assert_int_equal(queries_lower_bound(&q, 30), 3);
	assert_int_equal(queries_lower_bound(&q, UINT64_MAX), 4);
}

static void counts_are_not_believed(void **state)
{
	static const uint8_t lie[] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4};
	struct wire_reader r = {.data = lie, .len = sizeof(lie)};
	struct queries q = {0};

	(void)state;
	assert_int_equal(queries_read(&r, &q), -EBADMSG);
	r = (struct wire_reader){.data = lie, .len = 2};
	assert_int_equal(queries_read(&r, &q), -EBADMSG);
	assert_null(q.items);
}

/* Claims on an address sampled in [100, 200], in this order. */
static const char *const a = "a", *const b = "b";

struct step {
	const char *const *name; /* NULL: end; pointer to NULL: the code was removed */
	uint64_t after_ns, by_ns;
};

static const char *const gone;

static enum owner decide(const struct step *steps, size_t nr, bool reverse,
			 struct claim *ret)
{
	static const uint64_t row[][3] = {{0x1000, 100, 200}};
	_cleanup_(queries_deinit) struct queries q = {0};

	read_queries(&q, 1, row);
	for (size_t i = 0; i < nr; i++) {
		const struct step *s = &steps[reverse ? nr - 1 - i : i];
		struct claim c = {.name = *s->name,
				  .start_ip = 0xff0,
				  .record_off = s->by_ns,
				  .after_ns = s->after_ns,
				  .by_ns = s->by_ns};

		assert_int_equal(queries_claim(&q, &c, 0x20), 0);
	}
	return query_owner(&q.items[0], ret);
}

static void time_decides(void **state)
{
	static const struct {
		size_t nr;
		struct step steps[3];
		enum owner owner;
		const char *const *name;
		uint64_t record_off;
	} rows[] = {
		{1, {{&a, 50, 50}}, OWNER_ONE, &a, 50},
		{2, {{&a, 50, 50}, {&b, 60, 60}}, OWNER_ONE, &b, 60},
		{2, {{&a, 50, 50}, {&b, 100, 100}}, OWNER_ONE, &b, 100},
		{2, {{&a, 50, 50}, {&b, 101, 101}}, OWNER_AMBIGUOUS, NULL, 0},
		{2, {{&a, 50, 50}, {&b, 199, 199}}, OWNER_AMBIGUOUS, NULL, 0},
		{2, {{&a, 50, 50}, {&b, 200, 200}}, OWNER_ONE, &a, 50},
		{2, {{&a, 50, 50}, {&b, 300, 300}}, OWNER_ONE, &a, 50},
		/* The same name again: the function is certain, the code is not. */
		{2, {{&a, 50, 50}, {&a, 150, 150}}, OWNER_SAME_NAME, &a, 50},
		{2, {{&a, 120, 120}, {&a, 150, 150}}, OWNER_SAME_NAME, &a, 150},
		{2, {{&a, 120, 120}, {&b, 150, 150}}, OWNER_AMBIGUOUS, NULL, 0},
		{3,
		 {{&a, 120, 120}, {&b, 130, 130}, {&a, 140, 140}},
		 OWNER_AMBIGUOUS,
		 NULL,
		 0},
		/* A first claim later than the sample is taken, but only the first. */
		{1, {{&a, 150, 150}}, OWNER_ONE, &a, 150},
		{1, {{&a, 300, 300}}, OWNER_ONE, &a, 300},
		{2, {{&a, 300, 300}, {&b, 400, 400}}, OWNER_ONE, &a, 300},
		/* Claims made between two times. */
		{1, {{&a, 50, 150}}, OWNER_ONE, &a, 150},
		{2, {{&a, 0, 50}, {&b, 50, 150}}, OWNER_AMBIGUOUS, NULL, 0},
		{2, {{&a, 0, 50}, {&b, 50, 250}}, OWNER_AMBIGUOUS, NULL, 0},
		{2, {{&a, 0, 50}, {&b, 200, 250}}, OWNER_ONE, &a, 50},
		{2, {{&a, 0, 50}, {&b, 250, UINT64_MAX}}, OWNER_ONE, &a, 50},
		{2, {{&a, 0, 90}, {&b, 90, 100}}, OWNER_ONE, &b, 100},
		/* Code that was removed. */
		{2, {{&a, 50, 50}, {&gone, 60, 60}}, OWNER_NONE, NULL, 0},
		{2, {{&a, 50, 50}, {&gone, 150, 150}}, OWNER_AMBIGUOUS, NULL, 0},
		{2, {{&a, 50, 50}, {&gone, 250, 250}}, OWNER_ONE, &a, 50},
		{2, {{&gone, 50, 50}, {&b, 300, 300}}, OWNER_NONE, NULL, 0},
		{2, {{&gone, 50, 50}, {&b, 150, 150}}, OWNER_ONE, &b, 150},
		{0, {{NULL, 0, 0}}, OWNER_NONE, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* All times differ, so the order of arrival must not matter. */
		for (int reverse = 0; reverse < 2; reverse++) {
			struct claim c = {0};
			enum owner got = decide(rows[i].steps, rows[i].nr, reverse, &c);

			if (got != rows[i].owner)
				fail_msg("row %zu: %d, not %d", i, got, rows[i].owner);
			if (!rows[i].name)
				continue;
			assert_ptr_equal(c.name, *rows[i].name);
			assert_int_equal(c.record_off, rows[i].record_off);
		}
	}
}

static void of_the_same_time_the_later_wins(void **state)
{
	static const struct step steps[] = {{&a, 0, 0}, {&b, 0, 0}};
	struct claim c = {0};

	(void)state;
	assert_int_equal(decide(steps, 2, false, &c), OWNER_ONE);
	assert_ptr_equal(c.name, b);
	assert_int_equal(decide(steps, 2, true, &c), OWNER_ONE);
	assert_ptr_equal(c.name, a);
}

static void claims_reach_exactly_their_range(void **state)
{
	static const uint64_t rows[][3] = {
		{0xfff, 0, 0}, {0x1000, 0, 0}, {0x10ff, 0, 0}, {0x1100, 0, 0}};
	_cleanup_(queries_deinit) struct queries q = {0};
	struct claim c = {.name = a, .start_ip = 0x1000}, got;

	(void)state;
	read_queries(&q, 4, rows);
	assert_int_equal(queries_claim(&q, &c, 0x100), 0);
	assert_int_equal(query_owner(&q.items[0], &got), OWNER_NONE);
	assert_int_equal(query_owner(&q.items[1], &got), OWNER_ONE);
	assert_int_equal(query_owner(&q.items[2], &got), OWNER_ONE);
	assert_int_equal(query_owner(&q.items[3], &got), OWNER_NONE);
	assert_int_equal(queries_claim(&q, &c, 0), 0);
	assert_int_equal(q.nr_claims, 2);
}

static void too_many_claims_are_refused(void **state)
{
	static const uint64_t rows[][3] = {{0x1000, 0, 0}};
	_cleanup_(queries_deinit) struct queries q = {0};
	struct claim c = {.name = a, .start_ip = 0x1000};

	(void)state;
	read_queries(&q, 1, rows);
	q.nr_claims = QUERY_MAX_CLAIMS - 1;
	assert_int_equal(queries_claim(&q, &c, 1), 0);
	assert_int_equal(queries_claim(&q, &c, 1), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_are_sorted_and_found),
		cmocka_unit_test(counts_are_not_believed),
		cmocka_unit_test(time_decides),
		cmocka_unit_test(of_the_same_time_the_later_wins),
		cmocka_unit_test(claims_reach_exactly_their_range),
		cmocka_unit_test(too_many_claims_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
