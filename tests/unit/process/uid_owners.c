// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose the uids of a file as /etc/subuid are. Of /etc/passwd, root and nobody are used. */
#include "process/uid_owners.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/scratch.h"

static char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];
static struct uid_owners owners;
static uid_t nobody;

static void write_file(const char *text)
{
	char next[SCRATCH_BYTES + 16];
	FILE *file;

	/* As useradd(8) does. */
	snprintf(next, sizeof(next), "%s/next", folder);
	file = fopen(next, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(next, path), 0);
}

static int setup(void **state)
{
	const struct passwd *entry = getpwnam("nobody");

	(void)state;
	scratch_make(folder, 0700);
	snprintf(path, sizeof(path), "%s/subuid", folder);
	nobody = entry ? entry->pw_uid : 0;
	return !nobody;
}

static int teardown(void **state)
{
	(void)state;
	uid_owners_deinit(&owners);
	scratch_remove(folder);
	return 0;
}

/* Return: (uid_t)-1: nobody's that is known. */
static uid_t owner_of(uid_t uid)
{
	uid_t owner = (uid_t)-1;

	return uid_owners_find(&owners, uid, &owner) ? owner : (uid_t)-1;
}

static void a_range_is_its_owners(void **state)
{
	(void)state;
	write_file("30001:100000:65536\nnobody:200000:1\nnobody:300000:10\n");
	uid_owners_read(&owners, path);
	assert_int_equal(owner_of(99999), (uid_t)-1);
	assert_int_equal(owner_of(100000), 30001);
	assert_int_equal(owner_of(165535), 30001);
	assert_int_equal(owner_of(165536), (uid_t)-1);
	assert_int_equal(owner_of(200000), nobody);
	assert_int_equal(owner_of(200001), (uid_t)-1);
	assert_int_equal(owner_of(300009), nobody);
	assert_int_equal(owner_of((uid_t)-1), (uid_t)-1);
}

/* lineburn cannot ask LDAP for all of them. */
static void an_owner_without_a_line_has_one_account(void **state)
{
	(void)state;
	write_file("lb-no-such-user:100000:65536\n30x:200000:65536\n");
	uid_owners_read(&owners, path);
	assert_int_equal(owner_of(100000), 100000);
	assert_int_equal(owner_of(165535), 100000);
	assert_int_equal(owner_of(200001), 200000);
}

static void ranges_of_root_tell_nothing(void **state)
{
	(void)state;
	write_file("root:100000:65536\n0:200000:65536\n");
	uid_owners_read(&owners, path);
	assert_int_equal(owner_of(100000), (uid_t)-1);
	assert_int_equal(owner_of(200001), (uid_t)-1);
}

static void a_user_is_his_own(void **state)
{
	(void)state;
	write_file("30001:0:4294967295\n");
	uid_owners_read(&owners, path);
	assert_int_equal(owner_of(0), 0);
	assert_int_equal(owner_of(nobody), nobody);
	assert_int_equal(owner_of(4294967294), 30001);
	assert_int_equal(owner_of((uid_t)-1), (uid_t)-1);
}

static void what_is_in_two_ranges_is_the_firsts(void **state)
{
	(void)state;
	write_file("30003:150010:10\n30002:150000:100\n30001:100000:50010\n"
		   "30004:170000:4294967295\n30005:170000:10\n");
	uid_owners_read(&owners, path);
	assert_int_equal(owner_of(150009), 30001);
	assert_int_equal(owner_of(150010), 30002);
	assert_int_equal(owner_of(150099), 30002);
	assert_int_equal(owner_of(150100), (uid_t)-1);
	assert_int_equal(owner_of(170005), 30004);
	assert_int_equal(owner_of(4294967294), 30004);
}

static void users_may_come_later(void **state)
{
	(void)state;
	assert_int_equal(owner_of(0), (uid_t)-1);
	uid_owners_refresh(&owners);
	assert_int_equal(owner_of(0), (uid_t)-1);
	uid_owners_read(&owners, path);
	assert_int_equal(owner_of(0), 0);
	assert_int_equal(owner_of(100000), (uid_t)-1);
	write_file("30001:100000:65536\n");
	uid_owners_refresh(&owners);
	assert_int_equal(owner_of(100000), 30001);
	write_file("30002:100000:65536\n");
	uid_owners_refresh(&owners);
	assert_int_equal(owner_of(100000), 30002);
	assert_int_equal(unlink(path), 0);
	uid_owners_refresh(&owners);
	assert_int_equal(owner_of(100000), (uid_t)-1);
	assert_int_equal(owner_of(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_range_is_its_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(an_owner_without_a_line_has_one_account,
						setup, teardown),
		cmocka_unit_test_setup_teardown(ranges_of_root_tell_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_user_is_his_own, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_in_two_ranges_is_the_firsts,
						setup, teardown),
		cmocka_unit_test_setup_teardown(users_may_come_later, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
