// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/bans.h"

#define BAN_NS  (20 * CLOCK_SECOND_NS)
#define HOUR_NS (3600 * CLOCK_SECOND_NS)

static const struct ban_subject mount = {.dev = 1, .mount_id = 7};
static const struct ban_subject process = {.dev = 1, .inode = 7};

static const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};

static int a_descriptor(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t stuck; /* the child that is */

static bool is_stuck(uint64_t number)
{
	return number && number == stuck;
}

static bool have(const struct bans *b, const struct ban_subject *subject, uint64_t now_ns)
{
	return bans_have(b, subject, alice, now_ns, BAN_NS, is_stuck);
}

static void it_is_banned_for_a_time(void **state)
{
	const struct ban_subject *subjects[] = {&mount, &process};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		const struct ban_subject *subject = subjects[i];
		struct bans b = {0};

		assert_false(have(&b, subject, HOUR_NS));
		bans_add(&b, subject, alice, a_descriptor(), 0, HOUR_NS);
		assert_true(have(&b, subject, HOUR_NS + BAN_NS - 1));
		assert_false(have(&b, subject, HOUR_NS + BAN_NS));
		bans_add(&b, subject, alice, a_descriptor(), 0, HOUR_NS + BAN_NS);
		assert_true(have(&b, subject, HOUR_NS + BAN_NS));
		bans_clear(&b);
		assert_false(have(&b, subject, HOUR_NS));
	}
}

static void it_is_banned_as_long_as_a_child_is_stuck_there(void **state)
{
	struct bans b = {0};

	(void)state;
	bans_add(&b, &process, alice, a_descriptor(), 5, 0);
	bans_add(&b, &mount, alice, a_descriptor(), 6, 0);
	stuck = 5;
	assert_true(have(&b, &process, HOUR_NS));
	assert_false(have(&b, &mount, HOUR_NS));
	stuck = 0;
	assert_false(have(&b, &process, HOUR_NS));
	bans_clear(&b);
}

/* Others use the same mount, but not the same process. */
static void a_mount_is_banned_for_who_was_late(void **state)
{
	struct bans b = {0};

	(void)state;
	bans_add(&b, &mount, alice, a_descriptor(), 0, HOUR_NS);
	bans_add(&b, &process, alice, a_descriptor(), 0, HOUR_NS);
	assert_true(bans_have(&b, &mount, alice, HOUR_NS, BAN_NS, is_stuck));
	assert_false(bans_have(&b, &mount, bob, HOUR_NS, BAN_NS, is_stuck));
	assert_true(bans_have(&b, &mount, TENANT_UNKNOWN, HOUR_NS, BAN_NS, is_stuck));
	assert_true(bans_have(&b, &process, bob, HOUR_NS, BAN_NS, is_stuck));
	bans_clear(&b);
	bans_add(&b, &mount, TENANT_UNKNOWN, a_descriptor(), 0, HOUR_NS);
	assert_true(bans_have(&b, &mount, bob, HOUR_NS, BAN_NS, is_stuck));
	bans_clear(&b);
}

static void only_it_is_banned(void **state)
{
	const struct ban_subject other_mount = {.dev = 1, .mount_id = 8};
	const struct ban_subject other_process = {.dev = 1, .inode = 8};
	const struct ban_subject other_proc = {.dev = 2, .inode = 7};
	struct bans b = {0};

	(void)state;
	bans_add(&b, &mount, alice, a_descriptor(), 0, 0);
	assert_false(have(&b, &other_mount, 0));
	assert_false(have(&b, &process, 0));
	bans_clear(&b);
	bans_add(&b, &process, alice, a_descriptor(), 0, 0);
	assert_false(have(&b, &other_process, 0));
	assert_false(have(&b, &other_proc, 0));
	assert_false(have(&b, &mount, 0));
	bans_clear(&b);
}

/* Its descriptor is closed, and no other's. */
static void the_oldest_ban_ends_first(void **state)
{
	struct ban_subject subject = process;
	int fds[MAX_BANS + 1];
	struct bans b = {0};

	(void)state;
	for (size_t i = 0; i <= MAX_BANS; i++) {
		subject.inode = i + 1;
		fds[i] = a_descriptor();
		bans_add(&b, &subject, alice, fds[i], 0, i);
	}
	for (size_t i = 0; i <= MAX_BANS; i++) {
		subject.inode = i + 1;
		assert_int_equal(have(&b, &subject, BAN_NS), i > 0);
		assert_int_equal(fcntl(fds[i], F_GETFD), i > 0 ? FD_CLOEXEC : -1);
	}
	bans_clear(&b);
	for (size_t i = 0; i <= MAX_BANS; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_banned_for_a_time),
		cmocka_unit_test(it_is_banned_as_long_as_a_child_is_stuck_there),
		cmocka_unit_test(a_mount_is_banned_for_who_was_late),
		cmocka_unit_test(only_it_is_banned),
		cmocka_unit_test(the_oldest_ban_ends_first),
	};

	return cmocka_run_group_tests_name("opener:bans", tests, NULL, NULL);
}
