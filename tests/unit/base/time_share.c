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

/* ---- more tenants than places ---- */

#define NR_TENANTS 80 /* more than are known */
#define GREEDY     1

/*
 * A worker that always has more to do than it can. Callers serve those who wait in turn
 * (unwind/files.c, runtime/jit/watch.c): first all are announced, then the first one who
 * may take time has some, and the next look begins after it.
 */
struct crowd {
	struct time_share s;
	uint64_t now_ns;
	size_t from; /* place of whoever has the first turn */
	uint32_t uids[2 * NR_TENANTS]; /* of those who wait */
	size_t nr;
	uint64_t forgotten_ns; /* what tenants owed who were forgotten */
};

/* @who is to get a place. Counts what the one owes whose place it will be. */
static void note_forgotten(struct crowd *c, struct tenant who)
{
	uint64_t least_ns = UINT64_MAX;

	for (size_t i = 0; i < c->s.nr_accounts; i++) {
		const struct time_share_account *a = &c->s.accounts[i];

		if (tenant_is_same(a->tenant, who))
			return;
		if (a->paid_ns < least_ns)
			least_ns = a->paid_ns;
	}
	if (c->s.nr_accounts == TIME_SHARE_MAX_TENANTS && least_ns > c->now_ns)
		c->forgotten_ns += least_ns - c->now_ns;
}

/* Returns the place of whoever has its turn. */
static size_t next_turn(struct crowd *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		note_forgotten(c, user(c->uids[i]));
		time_share_waits(&c->s, user(c->uids[i]), c->now_ns);
	}
	for (size_t i = 0; i < c->nr; i++) {
		size_t at = (c->from + i) % c->nr;

		note_forgotten(c, user(c->uids[at]));
		if (!time_share_may_take(&c->s, user(c->uids[at]), c->now_ns))
			continue;
		c->from = at + 1;
		return at;
	}
	fail(); /* who owes least always may */
	return 0;
}

static void take(struct crowd *c, uint32_t uid, uint64_t time_ns)
{
	time_share_took(&c->s, user(uid), c->now_ns, c->now_ns + time_ns);
	c->now_ns += time_ns;
}

/* One has as many requests as all others, each of them short or long. */
static void one_of_many_gets_no_more_than_a_quarter(void **state)
{
	static const uint64_t sizes_ns[] = {SECOND / 1000000, SECOND / 1000, SECOND};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct crowd c = {.s = {.is_shared = true, .burst_ns = SECOND},
				  .now_ns = NOW};
		uint64_t used_ns = 0, waits_since_ns[2 * NR_TENANTS], longest_ns = 0;

		for (uint32_t i = 0; i < NR_TENANTS; i++) {
			c.uids[c.nr++] = GREEDY;
			c.uids[c.nr++] = 1000 + i;
		}
		for (size_t i = 0; i < c.nr; i++)
			waits_since_ns[i] = NOW;
		for (size_t i = 0; i < 800; i++) {
			size_t at = next_turn(&c);
			bool is_greedy = c.uids[at] == GREEDY;
			uint64_t wait_ns = c.now_ns - waits_since_ns[at];

			if (!is_greedy && wait_ns > longest_ns)
				longest_ns = wait_ns;
			take(&c, c.uids[at], is_greedy ? sizes_ns[k] : SECOND / 100);
			used_ns += is_greedy ? sizes_ns[k] : 0;
			waits_since_ns[at] = c.now_ns;
		}
		/* beyond its burst, and the request that it was in */
		assert_true(4 * used_ns <= c.now_ns - NOW + 3 * SECOND + 4 * sizes_ns[k]);
		assert_int_equal(c.forgotten_ns, 0);
		/* One turn of each of the others, and what the greedy one may have. */
		assert_true(3 * longest_ns <= 4 * (NR_TENANTS - 1) * (SECOND / 100) +
						      3 * SECOND + 4 * sizes_ns[k]);
	}
}

/*
 * However many users one has, and whatever is forgotten of them: who owes nothing is
 * served when it asks, so it waits for no more than its own debt and its place in the turn.
 */
static void who_owes_nothing_waits_for_nobody(void **state)
{
	struct crowd c = {.s = {.is_shared = true, .burst_ns = SECOND}, .now_ns = NOW};
	const uint64_t shortest_ns = 50000;
	uint64_t size_ns = shortest_ns, paid_ns = 0;
	size_t nr_served = 0;

	(void)state;
	for (uint32_t i = 0; i < NR_TENANTS; i++)
		c.uids[c.nr++] = 2000 + i;
	for (size_t i = 0; i < 800; i++) {
		/* The longest before the shortest, so that as many as can owe something. */
		take(&c, c.uids[next_turn(&c)], size_ns);
		size_ns = size_ns == shortest_ns ? 2 * SECOND : size_ns * 3 / 4;
		if (size_ns < shortest_ns)
			size_ns = shortest_ns;
		note_forgotten(&c, user(1000));
		if (c.now_ns < paid_ns)
			continue;
		assert_true(time_share_may_take(&c.s, user(1000), c.now_ns));
		paid_ns = c.now_ns + 4 * SECOND / 100;
		take(&c, 1000, SECOND / 100);
		nr_served++;
	}
	assert_true(nr_served > 0);
	assert_int_equal(c.forgotten_ns, 0);
}

/*
 * Only who owes something is worth forgetting, and then 64 others owe as much. A debt
 * passes while the next ones are made, so each has to take a third of the time that all
 * after it take: for a tenth of a microsecond they keep the worker busy for ten seconds,
 * and the first of them for longer than a request may take.
 */
static void who_is_forgotten_owes_next_to_nothing(void **state)
{
	struct time_share s = {.is_shared = true, .burst_ns = SECOND};
	uint64_t begins_ns[TIME_SHARE_MAX_TENANTS + 1] = {0}; /* before NOW */

	(void)state;
	/* 4 * (begin - end) - begin >= 100 */
	for (size_t i = 1; i <= TIME_SHARE_MAX_TENANTS; i++)
		begins_ns[i] = (100 + 4 * begins_ns[i - 1] + 2) / 3;
	for (uint32_t i = TIME_SHARE_MAX_TENANTS; i > 0; i--)
		time_share_took(&s, user(i), NOW - begins_ns[i], NOW - begins_ns[i - 1]);
	assert_int_equal(s.nr_accounts, TIME_SHARE_MAX_TENANTS);
	for (size_t i = 0; i < s.nr_accounts; i++)
		assert_in_range(s.accounts[i].paid_ns - NOW, 100, 102);
	assert_in_range(begins_ns[64], 9 * SECOND, 11 * SECOND);
	assert_true(begins_ns[64] - begins_ns[63] > 2 * SECOND);
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
		cmocka_unit_test(one_of_many_gets_no_more_than_a_quarter),
		cmocka_unit_test(who_owes_nothing_waits_for_nobody),
		cmocka_unit_test(who_is_forgotten_owes_next_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
