// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/suggest.h"
#include "process/cgroup_mount.h"

static void mounts_of_a_hybrid_machine(void **state)
{
	static const char mountinfo[] =
		"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
		"32 31 0:29 / /sys/fs/cgroup/cpu\\040x rw,relatime shared:3 - cgroup "
		"cgroup rw,cpuacct,cpu\n"
		"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		"nonsense\n"
		"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup "
		"rw,xattr,name=systemd\n"
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
		"56 46 0:38 / /tmp/other rw - cgroup2 cgroup2 rw\n";
	static const char cgroup[] =
		"9:name=systemd:/\n4:memory:/a\n1:cpu,cpuacct:/\n0::/\n";
	struct cgroup_mounts m;

	(void)state;
	assert_int_equal(cgroup_mounts_parse(mountinfo, cgroup, &m), 0);
	assert_int_equal(m.nr, 4);
	assert_int_equal(m.at[0].hierarchy, 0);
	assert_string_equal(m.at[0].path, "/sys/fs/cgroup/unified");
	assert_int_equal(m.at[1].hierarchy, 9);
	assert_string_equal(m.at[1].name, "name=systemd");
	assert_int_equal(m.at[2].hierarchy, 4);
	assert_int_equal(m.at[3].hierarchy, 1);
	assert_string_equal(m.at[3].path, "/sys/fs/cgroup/cpu x");
	cgroup_mounts_deinit(&m);
}

/* A mount of a subdirectory, as in containers, does not show the whole hierarchy. */
static void mounts_of_a_part_come_second(void **state)
{
	static const char mountinfo[] =
		"31 23 0:38 /part /mnt/first rw - cgroup2 cgroup2 rw\n"
		"32 31 0:32 /a /mnt/memory rw - cgroup cgroup rw,memory\n"
		"33 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		"34 31 0:38 / /mnt/again rw - cgroup2 cgroup2 rw\n"
		"35 31 0:38 /other /mnt/other rw - cgroup2 cgroup2 rw\n";
	struct cgroup_mounts m;

	(void)state;
	assert_int_equal(cgroup_mounts_parse(mountinfo, "4:memory:/a\n0::/\n", &m), 0);
	assert_int_equal(m.nr, 2);
	assert_string_equal(m.at[0].path, "/sys/fs/cgroup");
	assert_false(m.at[0].is_part);
	assert_string_equal(m.at[1].path, "/mnt/memory");
	assert_true(m.at[1].is_part);
	cgroup_mounts_deinit(&m);
}

/*
 * The mount that shows most of the hierarchy is used, also in a container that sees the
 * machine's cgroups.
 */
static void the_mount_that_shows_most(void **state)
{
	static const char mountinfo[] =
		"50 31 0:38 /sys\\134x /c1 rw - cgroup2 none rw\n"
		"51 31 0:38 / /c2 rw - cgroup2  rw\n"
		"52 31 0:38 /../.. /c3 rw - cgroup2 cgroup2 rw\n"
		"53 31 0:38 / /c4 rw - cgroup2 cgroup2 rw\n"
		"54 31 0:32 / /c5 rw - cgroup  rw,memory\n"
		"55 54 0:32 /a /c5 rw - cgroup cgroup rw,memory\n";
	struct cgroup_mounts m;

	(void)state;
	assert_int_equal(cgroup_mounts_parse(mountinfo, "4:memory:/\n0::/\n", &m), 0);
	assert_int_equal(m.nr, 2);
	assert_string_equal(m.at[0].path, "/c3");
	assert_string_equal(m.at[0].root, "/../..");
	assert_int_equal(m.at[0].id, 52);
	/* Mounted over the other one. */
	assert_string_equal(m.at[1].path, "/c5");
	assert_string_equal(m.at[1].root, "/a");
	cgroup_mounts_deinit(&m);
	assert_int_equal(
		cgroup_mounts_parse("50 31 0:38 /sys\\134x /c1 rw - cgroup2 none rw\n"
				    "51 31 0:38 / /c2 rw - cgroup2  rw\n",
				    "0::/\n", &m),
		0);
	assert_int_equal(m.nr, 1);
	assert_string_equal(m.at[0].path, "/c2");
	cgroup_mounts_deinit(&m);
}

static void what_is_similar(void **state)
{
	struct suggestions s = {0};
	char buf[128];

	(void)state;
	assert_string_equal(suggestions_say(&s, "web", buf, sizeof(buf)),
			    "there is none");
	suggestions_add(&s, "db");
	suggestions_add(&s, "web-1");
	suggestions_add(&s, "web-1");
	suggestions_add(&s, "e\033[m");
	assert_int_equal(s.nr, 3);
	assert_string_equal(suggestions_say(&s, "web", buf, sizeof(buf)),
			    "similar: web-1");
	assert_string_equal(suggestions_say(&s, "wbe-1", buf, sizeof(buf)),
			    "similar: web-1");
	assert_string_equal(suggestions_say(&s, "nothing-like", buf, sizeof(buf)),
			    "there are db, web-1, e\\x1b[m");
	suggestions_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts_of_a_hybrid_machine),
		cmocka_unit_test(mounts_of_a_part_come_second),
		cmocka_unit_test(the_mount_that_shows_most),
		cmocka_unit_test(what_is_similar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
