// SPDX-License-Identifier: GPL-2.0-or-later
/* Which users are looked up in the time of a pass, with fakes of the users and the clock. */
#include "record/user_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/user.h"
#include "lib/fake_clock.h"

#define ANSWER_NS   (USER_NAMES_PASS_NS / 4)
#define LOCAL       1000u
#define FIRST_RANGE 100000u
#define NR_RANGE    1000u
#define NR_MANY     32769u

static struct user_names users;
static struct strpool *pool;
static uint64_t answer_ns;
static int answer_rc;
static size_t nr_asked;
static char asked[256]; /* the first of them */

int user_by_uid(uid_t uid, int timeout_ms, struct user *ret)
{
	size_t len = strlen(asked);

	(void)timeout_ms;
	nr_asked++;
	if (len < sizeof(asked) / 2)
		snprintf(asked + len, sizeof(asked) - len, "%u ", uid);
	fake_now_ns += answer_ns;
	snprintf(ret->name, sizeof(ret->name), "user%u", uid);
	return answer_rc;
}

void users_each(user_fn *fn, void *ctx)
{
	fn(ctx, &(struct user){.uid = LOCAL, .name = "local"});
	fn(ctx, &(struct user){.uid = LOCAL, .name = "again"});
	fn(ctx, &(struct user){.uid = LOCAL + 1, .name = "nobody wants"});
}

void users_each_range(const char *path, user_range_fn *fn, void *ctx)
{
	assert_string_equal(path, "/etc/subuid");
	fn(ctx, "owner", FIRST_RANGE, NR_RANGE);
}

static int begin(void **state)
{
	(void)state;
	users = (struct user_names){0};
	pool = strpool_new(1 << 24);
	answer_ns = ANSWER_NS;
	answer_rc = 0;
	return !pool;
}

static int end(void **state)
{
	(void)state;
	user_names_deinit(&users);
	strpool_free(pool);
	return 0;
}

/* Begins a pass and looks up what is wanted. Return: who was asked for. */
static const char *pass(void)
{
	*asked = '\0';
	nr_asked = 0;
	users.has_unasked = false;
	while (user_names_step(&users))
		;
	return asked;
}

static void assert_name(uid_t uid, const char *name)
{
	assert_string_equal(user_names_find(&users, pool, uid, true), name);
}

static void most_samples_are_first(void **state)
{
	(void)state;
	user_names_begin_pass(&users);
	for (uid_t uid = 1; uid <= 6; uid++)
		user_names_want(&users, uid, uid);
	user_names_want(&users, 1, 9);
	assert_string_equal(pass(), "1 6 5 4 ");
	assert_name(1, "user1");
	assert_name(4, "user4");
	assert_false(users.has_unasked);
	assert_name(3, "3");
	assert_true(users.has_unasked);
	assert_int_equal(nr_asked, 4);
	assert_int_equal(users.nr_wanted, 0);

	/* The rest, in the next pass. */
	user_names_begin_pass(&users);
	for (uid_t uid = 1; uid <= 6; uid++)
		user_names_want(&users, uid, uid);
	assert_string_equal(pass(), "3 2 ");
	assert_name(2, "user2");
	assert_name(6, "user6");
	assert_false(users.has_unasked);
}

/* Each step asks for one: drains come between them. */
static void a_step_asks_for_one(void **state)
{
	(void)state;
	user_names_begin_pass(&users);
	user_names_want(&users, 1, 1);
	user_names_want(&users, 2, 1);
	nr_asked = 0;
	assert_true(user_names_step(&users));
	assert_int_equal(nr_asked, 1);
	assert_false(user_names_step(&users));
	assert_int_equal(nr_asked, 2);
	assert_false(user_names_step(&users));
	assert_int_equal(nr_asked, 2);
}

static void users_with_names_are_not_starved(void **state)
{
	(void)state;
	user_names_begin_pass(&users);
	for (uid_t uid = FIRST_RANGE - 1; uid <= FIRST_RANGE + NR_RANGE; uid++)
		user_names_want(&users, uid, 1000);
	user_names_want(&users, LOCAL, 1);
	user_names_want(&users, 7, 1);
	assert_string_equal(pass(), "99999 101000 7 100000 ");
	assert_name(LOCAL, "local");
	assert_name(7, "user7");
	assert_name(FIRST_RANGE, "user100000");
	assert_name(FIRST_RANGE + 1, "100001");
	assert_int_equal(nr_asked, 4);
}

/* A process may be identified after its group of rows was looked through. */
static void who_was_not_requested_is_asked_for_in_time(void **state)
{
	(void)state;
	user_names_begin_pass(&users);
	for (uid_t uid = 1; uid <= 3; uid++)
		user_names_want(&users, uid, 1);
	pass();
	assert_string_equal(user_names_find(&users, pool, 4, false), "4");
	assert_int_equal(nr_asked, 3);
	assert_name(4, "user4");
	assert_name(5, "5");
	assert_name(5, "5");
	assert_int_equal(nr_asked, 4);
}

static void who_has_no_name_is_not_asked_for_again(void **state)
{
	(void)state;
	answer_rc = -ENOENT;
	user_names_begin_pass(&users);
	user_names_want(&users, 1, 1);
	assert_string_equal(pass(), "1 ");
	assert_name(1, "1");
	user_names_begin_pass(&users);
	user_names_want(&users, 1, 1);
	assert_string_equal(pass(), "");
	assert_name(1, "1");
	assert_false(users.has_unasked);
}

static void a_late_answer_is_the_last(void **state)
{
	(void)state;
	answer_rc = -ETIMEDOUT;
	user_names_begin_pass(&users);
	user_names_want(&users, 1, 2);
	user_names_want(&users, 2, 1);
	user_names_want(&users, LOCAL, 1);
	assert_string_equal(pass(), "1 ");
	user_names_begin_pass(&users);
	assert_name(1, "1");
	assert_name(2, "2");
	assert_name(LOCAL, "local");
	assert_int_equal(nr_asked, 1);
	assert_false(users.has_unasked);
}

/* Who had no name may have one later; names stay. */
static void numbers_are_looked_up_again(void **state)
{
	(void)state;
	user_names_begin_pass(&users);
	user_names_want(&users, 1, 1);
	pass();
	answer_rc = -ENOENT;
	user_names_want(&users, 2, 1);
	assert_string_equal(pass(), "2 ");
	assert_name(2, "2");
	answer_rc = 0;
	fake_now_ns += UINT64_C(590000000000);
	user_names_begin_pass(&users);
	user_names_want(&users, 2, 1);
	assert_string_equal(pass(), "");
	fake_now_ns += UINT64_C(10000000000);
	user_names_begin_pass(&users);
	user_names_want(&users, 1, 1);
	user_names_want(&users, 2, 1);
	assert_string_equal(pass(), "2 ");
	assert_name(1, "user1");
	assert_name(2, "user2");
}

/* Many users leave room for others. */
static void many_are_forgotten(void **state)
{
	(void)state;
	answer_ns = 0;
	user_names_begin_pass(&users);
	for (uid_t uid = 1; uid <= NR_MANY; uid++)
		user_names_want(&users, uid, 1);
	pass();
	assert_int_equal(nr_asked, NR_MANY - 2);
	user_names_begin_pass(&users);
	assert_int_equal(users.nr, 0);
	assert_name(1, "user1");
	user_names_begin_pass(&users);
	assert_int_equal(users.nr, 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(most_samples_are_first),
		TEST(a_step_asks_for_one),
		TEST(users_with_names_are_not_starved),
		TEST(who_was_not_requested_is_asked_for_in_time),
		TEST(who_has_no_name_is_not_asked_for_again),
		TEST(a_late_answer_is_the_last),
		TEST(numbers_are_looked_up_again),
		TEST(many_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
