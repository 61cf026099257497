// SPDX-License-Identifier: GPL-2.0-or-later
/* What other sources than /etc/passwd and /etc/group know is in tests/root/run-command.sh. */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/user.h"

#define NO_UID 4000000000u

static void test_by_name(void **state)
{
	struct user user;

	(void)state;
	assert_int_equal(user_by_name("root", USER_ASK_MS, &user), 0);
	assert_int_equal(user.uid, 0);
	assert_int_equal(user.gid, 0);
	assert_string_equal(user.name, "root");
	assert_int_equal(user_by_name("nobody", USER_ASK_MS, &user), 0);
	assert_int_equal(user.uid, getpwnam("nobody")->pw_uid);
	assert_int_equal(user_by_name("lb-no-such-user", USER_ASK_MS, &user), -ENOENT);
	/* getent(1) would look for the number. */
	assert_int_equal(user_by_name("0", USER_ASK_MS, &user), -ENOENT);
	assert_int_equal(user_by_name("", USER_ASK_MS, &user), -ENOENT);
	assert_int_equal(user_by_name("-h", USER_ASK_MS, &user), -ENOENT);
	assert_int_equal(user_by_name("+", USER_ASK_MS, &user), -ENOENT);
}

static void test_by_uid(void **state)
{
	struct user user;

	(void)state;
	assert_int_equal(user_by_uid(0, USER_ASK_MS, &user), 0);
	assert_string_equal(user.name, "root");
	assert_int_equal(user_by_uid(NO_UID, USER_ASK_MS, &user), -ENOENT);
}

static void note_range(void *ctx, const char *owner, uid_t first, uint64_t nr)
{
	char *said = ctx;

	snprintf(said + strlen(said), 256 - strlen(said), "%s:%u+%llu ", owner, first,
		 (unsigned long long)nr);
}

static void test_ranges(void **state)
{
	char path[] = "/tmp/lb-subuid-XXXXXX", said[256] = "";
	_cleanup_fclose_ FILE *file = fdopen(mkstemp(path), "w");

	(void)state;
	fputs("alice:100000:65536\n1001:200000:1\n# bob:300000:1\n\nbob\nbob:3\n"
	      "bob:x:1\nbob:4294967295:4294967295",
	      file);
	fflush(file);
	users_each_range(path, note_range, said);
	assert_string_equal(said, "alice:100000+65536 1001:200000+1 "
				  "bob:4294967295+4294967295 ");
	assert_int_equal(unlink(path), 0);
	users_each_range(path, note_range, said);
}

/* ---- files that are kept ---- */

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(1);                                                  \
		}                                                                  \
	} while (0)

static void write_etc(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	CHECK(file && fputs(text, file) >= 0);
}

static void note_user(void *ctx, const struct user *user)
{
	strcat(strcat(ctx, user->name), " ");
}

static bool are(const char *wanted)
{
	char said[256] = "";

	users_each(note_user, said);
	return !strcmp(said, wanted);
}

static void look_up_no_more_than_needed(void)
{
	char said[256] = "";
	struct stat st;

	CHECK(!unshare(CLONE_NEWNS) &&
	      !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(!mount("test", "/etc", "tmpfs", 0, NULL));
	write_etc("/etc/passwd", "a:x:1:1:::\n");
	users_keep_files();
	CHECK(!mount("test", "/etc", "tmpfs", 0, NULL));
	CHECK(are("a ") && are("a ")); /* they are not looked up while nothing changed */
	CHECK(!umount("/etc"));
	/* As vipw(8): the old file stays, under another name. */
	CHECK(!link("/etc/passwd", "/etc/passwd-"));
	write_etc("/etc/new", "b:x:1:1:::\n");
	CHECK(!rename("/etc/new", "/etc/passwd"));
	CHECK(are("b ") && !users_stat("/etc/passwd", &st) && st.st_size == 11);
	CHECK(!unlink("/etc/passwd"));
	CHECK(are("b "));
	write_etc("/etc/passwd", "c:x:1:1:::\n");
	CHECK(are("c "));
	/* One that was not there is not looked up at all. */
	write_etc("/etc/subuid", "c:100000:65536\n");
	users_each_range("/etc/subuid", note_range, said);
	CHECK(!*said && users_stat("/etc/subuid", &st));
}

static void test_kept_files(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("skipped: only root mounts another /etc\n");
		skip();
	}
	pid = fork();
	if (!pid) {
		look_up_no_more_than_needed();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int compare(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return (x > y) - (x < y);
}

/* Of each user here, what the C library says. */
static void test_groups(void **state)
{
	const struct passwd *pw;

	(void)state;
	setpwent();
	while ((pw = getpwent())) {
		gid_t wanted[1024], found[1024];
		int nr_wanted = ARRAY_SIZE(wanted);
		size_t nr;

		getgrouplist(pw->pw_name, pw->pw_gid, wanted, &nr_wanted);
		nr = user_groups(pw->pw_name, pw->pw_gid, found, ARRAY_SIZE(found));
		assert_int_equal(nr, nr_wanted);
		qsort(wanted, nr, sizeof(*wanted), compare);
		qsort(found, nr, sizeof(*found), compare);
		assert_memory_equal(found, wanted, nr * sizeof(*found));
	}
	endpwent();
}

static void test_groups_of_nobody_known(void **state)
{
	gid_t found[2];

	(void)state;
	assert_int_equal(user_groups("lb-no-such-user", 4711, found, 2), 1);
	assert_int_equal(found[0], 4711);
}

static void test_suggestions(void **state)
{
	struct suggestions users = {0};
	bool has_root = false;

	(void)state;
	users_suggest(&users);
	for (size_t i = 0; i < users.nr; i++)
		has_root |= !strcmp(users.names[i], "root");
	assert_true(has_root);
	suggestions_deinit(&users);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_by_uid),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_kept_files),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_of_nobody_known),
		cmocka_unit_test(test_suggestions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
