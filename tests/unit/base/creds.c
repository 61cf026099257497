// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens files with the credentials of another user. Needs root; skipped otherwise. */
#include "base/creds.h"
#include "base/capability.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/scratch.h"

#define NOBODY 65534
#define OTHER  65533
#define GROUP  54321

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	scratch_make(dir, 0755);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static void need_root(void)
{
	if (geteuid()) {
		print_message("only root can become somebody else\n");
		skip();
	}
}

static void make_file(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	char path[128];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, uid, gid), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static bool can_open(const char *name)
{
	char path[128];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

static void test_file_of_root(void **state)
{
	struct creds creds;

	(void)state;
	need_root();
	make_file("of-root", 0, 0, 0600);
	make_file("of-nobody", NOBODY, NOBODY, 0600);
	make_file("of-other", OTHER, OTHER, 0600);
	make_file("of-root-group", OTHER, 0, 0640);
	make_file("of-nobody-group", OTHER, NOBODY, 0640);

	assert_int_equal(creds_become(&creds, NOBODY, NOBODY), 0);
	assert_false(can_open("of-root"));
	assert_true(can_open("of-nobody"));
	assert_false(can_open("of-other"));
	assert_false(can_open("of-root-group"));
	assert_true(can_open("of-nobody-group"));
	creds_restore(&creds);
	assert_true(can_open("of-root"));
	assert_true(can_open("of-other"));
	assert_int_equal(geteuid(), 0);
}

/* New files belong to the other user. */
static void test_new_file(void **state)
{
	struct creds creds;
	struct stat st;
	char path[128];

	(void)state;
	need_root();
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(creds_become(&creds, NOBODY, OTHER), 0);
	snprintf(path, sizeof(path), "%s/new", dir);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	creds_restore(&creds);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(st.st_gid, OTHER);
}

static void test_supplementary_groups(void **state)
{
	gid_t before[3] = {GROUP, GROUP + 1, GROUP + 2}, after[8];
	struct creds creds;

	(void)state;
	need_root();
	make_file("of-group", OTHER, GROUP, 0640);
	assert_int_equal(setgroups(3, before), 0);
	assert_int_equal(creds_become(&creds, NOBODY, NOBODY), 0);
	assert_int_equal(getgroups(8, after), 0);
	assert_false(can_open("of-group"));
	creds_restore(&creds);
	assert_int_equal(getgroups(8, after), 3);
	assert_memory_equal(after, before, sizeof(before));
	assert_int_equal(setgroups(0, NULL), 0);
}

/* More groups than can be saved: refused, nothing changes. */
static void test_many_groups(void **state)
{
	static gid_t groups[1025];
	struct creds creds;

	(void)state;
	need_root();
	make_file("of-many", OTHER, GROUP, 0640);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		groups[i] = (gid_t)(GROUP + i);
	assert_int_equal(setgroups(1024, groups), 0);
	assert_int_equal(creds_become(&creds, NOBODY, NOBODY), 0);
	assert_false(can_open("of-many"));
	creds_restore(&creds);
	assert_int_equal(getgroups(0, NULL), 1024);
	assert_int_equal(setgroups(1025, groups), 0);
	assert_int_equal(creds_become(&creds, NOBODY, NOBODY), -EPERM);
	assert_true(can_open("of-root")); /* nothing changed */
	assert_int_equal(getgroups(0, NULL), 1025);
	assert_int_equal(setgroups(0, NULL), 0);
}

/* Runs @body in a process of user OTHER with only @caps. Return: its exit status. */
static int as_other_with(uint64_t caps, int (*body)(void))
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t)caps, .permitted = (uint32_t)caps},
	};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		gid_t group = GROUP;

		if (syscall(SYS_setgroups, 1, &group) ||
		    syscall(SYS_prctl, 8 /* PR_SET_KEEPCAPS */, 1, 0, 0, 0) ||
		    syscall(SYS_setresgid, OTHER, OTHER, OTHER) ||
		    syscall(SYS_setresuid, OTHER, OTHER, OTHER) ||
		    syscall(SYS_capset, &header, data))
			_exit(99);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int become_nobody(void)
{
	struct creds creds;
	int rc = creds_become(&creds, NOBODY, NOBODY);

	if (!rc)
		return can_open("secret") ? 1 : 2;
	/* Refused: the credentials are unchanged. */
	return rc == -EPERM && can_open("of-other-2") && getgroups(0, NULL) == 1 ? 0 : 3;
}

static int become_ourselves(void)
{
	struct creds creds;

	if (!can_open("secret"))
		return 1;
	if (creds_become(&creds, OTHER, OTHER))
		return 2;
	if (can_open("secret") || !can_open("of-other-2"))
		return 3;
	creds_restore(&creds);
	return can_open("secret") ? 0 : 4;
}

static void test_without_root(void **state)
{
	(void)state;
	need_root();
	make_file("secret", 0, 0, 0600);
	make_file("of-other-2", OTHER, OTHER, 0600);
	/*
	 * Without capabilities neither ids nor groups change; then with one; then with
	 * both.
	 */
	assert_int_equal(as_other_with(0, become_nobody), 0);
	assert_int_equal(as_other_with(1 << CAP_SETUID, become_nobody), 0);
	assert_int_equal(as_other_with(1 << CAP_SETGID, become_nobody), 0);
	assert_int_equal(as_other_with(1 << CAP_SETUID | 1 << CAP_SETGID, become_nobody),
			 2);
	assert_int_equal(as_other_with(1 << CAP_SETUID | 1 << CAP_SETGID |
					       1 << CAP_DAC_READ_SEARCH,
				       become_nobody),
			 2);
	/* A collector that is not root but has file capabilities. */
	assert_int_equal(as_other_with(1 << CAP_DAC_READ_SEARCH, become_ourselves), 0);
}

static int give_up_all(void)
{
	uid_t own = creds_own_id();
	gid_t group = GROUP;

	if (setgroups(1, &group) || creds_give_up(own, own))
		return 1;
	if (getuid() != own || getegid() != own || getgroups(0, NULL) ||
	    !setresuid(0, 0, 0) || !setgroups(1, &group))
		return 2;
	if (can_open("kept") || syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 3;
	return 0;
}

/* No way back, in a process of its own. */
static void test_give_up(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	need_root();
	assert_true(creds_own_id() != creds_own_id());
	make_file("kept", 0, GROUP, 0640);
	pid = fork();
	if (!pid)
		_exit(give_up_all());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int drop_capabilities(void)
{
	if (!can_open("secret-2"))
		return 1;
	if (capabilities_keep(0, false))
		return 2;
	return can_open("secret-2") ? 3 : 0;
}

static void test_drop_capabilities(void **state)
{
	(void)state;
	need_root();
	make_file("secret-2", 0, 0, 0600);
	assert_int_equal(as_other_with(1 << CAP_DAC_READ_SEARCH, drop_capabilities), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_of_root),
		cmocka_unit_test(test_new_file),
		cmocka_unit_test(test_supplementary_groups),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_without_root),
		cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_drop_capabilities),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
