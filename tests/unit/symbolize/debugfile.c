// SPDX-License-Identifier: GPL-2.0-or-later
/* Two roots in a temporary directory, "target" and "own", and their debug files. */
#include <fcntl.h>
#include <sys/stat.h>

#include "symbolize/debugfile.h"
#include "unit/decode/elf/fixture.h"

static struct debugfile_search search_for(const char *binary_path)
{
	struct debugfile_search s = {
		.debug_dir = "/usr/lib/debug",
		.uid = geteuid(),
		.gid = getegid(),
		.binary_path = binary_path,
	};

	s.target_root_fd = open("target", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s.own_root_fd = open("own", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s.own_debug_fd = open("own/usr/lib/debug", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s;
}

static void search_done(struct debugfile_search *s)
{
	close(s->target_root_fd);
	close(s->own_root_fd);
	close(s->own_debug_fd);
}

/* Makes a file whose content is its path. */
static void put(const char *path)
{
	fixture_run(
		"mkdir -p $(dirname %s) && printf '%s' >%s && chmod -R a+rX target own",
		path, path, path);
}

/* Return: the content of the file that was opened; "": none. */
static const char *ask_for(struct debugfile_search *s, const struct need *need)
{
	static char text[512];
	struct wire_writer w = {0};
	ssize_t len = 0;
	int fd;

	need_put(&w, need);
	fd = debugfile_open(s, w.data, w.len);
	wire_writer_deinit(&w);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	assert_true(len >= 0);
	text[len] = '\0';
	return text;
}

static struct need make_need(enum need_kind kind, const char *name, const char *comp_dir)
{
	struct need need = {.kind = kind};

	strcpy(need.name, name);
	strcpy(need.comp_dir, comp_dir);
	return need;
}

static void test_build_id(void **state)
{
	struct debugfile_search s = search_for("/usr/bin/prog");
	struct need need = {.kind = NEED_DEBUG_BY_BUILD_ID,
			    .build_id = {0xab, 0xcd, 0xef},
			    .build_id_len = 3};

	(void)state;
	assert_string_equal(ask_for(&s, &need), "");
	put("own/usr/lib/debug/.build-id/ab/cdef.debug");
	put("target/usr/lib/debug/.build-id/ab/cdef.debug");
	/* asked again it gives the next one, after another question the first */
	need.build_id_len = 2;
	assert_string_equal(ask_for(&s, &need), "");
	need.build_id_len = 3;
	assert_string_equal(ask_for(&s, &need),
			    "target/usr/lib/debug/.build-id/ab/cdef.debug");
	assert_string_equal(ask_for(&s, &need),
			    "own/usr/lib/debug/.build-id/ab/cdef.debug");
	assert_true(s.origin_is_own);
	assert_string_equal(ask_for(&s, &need), "");
	assert_string_equal(ask_for(&s, &need), "");
	need.build_id_len = 0;
	assert_string_equal(ask_for(&s, &need), "");
	search_done(&s);
}

static void test_debug_link(void **state)
{
	struct debugfile_search s = search_for("/opt/bin/prog");
	struct need need = make_need(NEED_DEBUG_BY_LINK, "prog.debug", "");

	(void)state;
	put("target/opt/bin/prog.debug");
	put("target/opt/bin/.debug/prog.debug");
	put("target/usr/lib/debug/opt/bin/prog.debug");
	put("own/usr/lib/debug/opt/bin/prog.debug");
	put("own/opt/bin/prog.debug"); /* not ours: beside a binary of the target */
	assert_string_equal(ask_for(&s, &need), "target/opt/bin/prog.debug");
	assert_string_equal(ask_for(&s, &need), "target/opt/bin/.debug/prog.debug");
	assert_string_equal(ask_for(&s, &need),
			    "target/usr/lib/debug/opt/bin/prog.debug");
	assert_string_equal(ask_for(&s, &need), "own/usr/lib/debug/opt/bin/prog.debug");
	assert_string_equal(ask_for(&s, &need), "");
	search_done(&s);
}

static void test_names_that_lead_elsewhere(void **state)
{
	static const char *const names[] = {"../secret", "/etc/secret", "",
					    ".",         "..",          "a/b"};
	struct debugfile_search s = search_for("/opt/bin/prog");

	(void)state;
	put("own/etc/secret");
	put("target/etc/secret");
	put("target/opt/secret");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct need need = make_need(NEED_DEBUG_BY_LINK, names[i], "");

		assert_string_equal(ask_for(&s, &need), "");
	}
	assert_int_equal(debugfile_open(&s, "garbage", 7), -1);
	assert_int_equal(debugfile_open(&s, "", 0), -1);
	search_done(&s);
}

static void test_dwz(void **state)
{
	struct debugfile_search s = search_for("/opt/bin/prog");
	struct need id = {.kind = NEED_DEBUG_BY_BUILD_ID,
			  .build_id = {0x12, 0x34},
			  .build_id_len = 2};
	struct need absolute = make_need(NEED_DWZ, "/usr/lib/debug/.dwz/abs", "");
	struct need relative = make_need(NEED_DWZ, "../../.dwz/rel", "");
	struct need escape = make_need(NEED_DWZ, "../../../../../../etc/secret", "");
	struct need etc = make_need(NEED_DWZ, "/etc/secret", "");
	struct need same_base = make_need(NEED_DWZ, "/somewhere/else/rel", "");

	(void)state;
	put("own/etc/secret");
	put("own/usr/lib/debug/.dwz/rel");
	put("own/usr/lib/debug/.dwz/abs");
	put("own/usr/lib/debug/.build-id/12/34.debug");
	/* the link is in the binary itself: first the target's root, then ours */
	assert_string_equal(ask_for(&s, &absolute), "own/usr/lib/debug/.dwz/abs");
	put("target/usr/lib/debug/.dwz/abs");
	assert_string_equal(ask_for(&s, &absolute), "target/usr/lib/debug/.dwz/abs");
	/* the link is in our debug file: relative to it, and only in debug_dir */
	assert_string_equal(ask_for(&s, &id), "own/usr/lib/debug/.build-id/12/34.debug");
	assert_string_equal(ask_for(&s, &relative), "own/usr/lib/debug/.dwz/rel");
	assert_string_equal(ask_for(&s, &same_base), "own/usr/lib/debug/.dwz/rel");
	assert_string_equal(ask_for(&s, &absolute), "own/usr/lib/debug/.dwz/abs");
	assert_string_equal(ask_for(&s, &escape), "");
	assert_string_equal(ask_for(&s, &etc), "");
	search_done(&s);
}

static void test_split_files(void **state)
{
	struct debugfile_search s = search_for("/opt/bin/prog");
	struct need relative = make_need(NEED_DWO, "obj/a.dwo", "/build");
	struct need absolute = make_need(NEED_DWO, "/build/obj/a.dwo", "/ignored");
	struct need moved = make_need(NEED_DWO, "obj/b.dwo", "/gone");
	struct need nowhere = make_need(NEED_DWO, "obj/c.dwo", "not/absolute");
	struct need dwp = make_need(NEED_DWP, "", "");

	(void)state;
	put("target/build/obj/a.dwo");
	put("own/build/obj/c.dwo");
	put("target/opt/bin/b.dwo");
	assert_string_equal(ask_for(&s, &relative), "target/build/obj/a.dwo");
	assert_string_equal(ask_for(&s, &relative), "target/build/obj/a.dwo");
	assert_string_equal(ask_for(&s, &absolute), "target/build/obj/a.dwo");
	assert_string_equal(ask_for(&s, &moved), "target/opt/bin/b.dwo");
	assert_string_equal(ask_for(&s, &nowhere), "");
	assert_string_equal(ask_for(&s, &dwp), "");
	put("target/opt/bin/prog.dwp");
	assert_string_equal(ask_for(&s, &dwp), "target/opt/bin/prog.dwp");
	search_done(&s);
}

/* Unsafe files in the target's root; a target whose user is unknown. */
static void test_hostile_target(void **state)
{
	struct debugfile_search s = search_for("/srv/prog");
	struct need link = make_need(NEED_DEBUG_BY_LINK, "prog.debug", "");
	char absolute[128];

	(void)state;
	put("own/etc/passwd-like");
	fixture_run("mkdir -p target/srv && mkfifo target/srv/prog.debug");
	assert_string_equal(ask_for(&s, &link), "");
	/* a symlink is resolved inside its root */
	snprintf(absolute, sizeof(absolute), "%s/own/etc/passwd-like", fixture_dir);
	fixture_run("rm target/srv/prog.debug && ln -s %s target/srv/prog.debug",
		    absolute);
	s.last_question = 0;
	assert_string_equal(ask_for(&s, &link), "");
	fixture_run("rm target/srv/prog.debug");
	put("target/srv/prog.debug");
	s.last_question = 0;
	assert_string_equal(ask_for(&s, &link), "target/srv/prog.debug");
	s.uid = (uid_t)-1;
	s.last_question = 0;
	assert_string_equal(ask_for(&s, &link), "");
	search_done(&s);
}

/* A file that the target may not read is not read for it. */
static void test_rights_of_the_target(void **state)
{
	struct debugfile_search s = search_for("/private/prog");
	struct need link = make_need(NEED_DEBUG_BY_LINK, "prog.debug", "");

	(void)state;
	if (geteuid() != 0) {
		search_done(&s);
		print_message("skipped: only root can act as somebody else\n");
		skip();
	}
	put("target/private/prog.debug");
	fixture_run("chmod 600 target/private/prog.debug");
	s.uid = 65534;
	s.gid = 65534;
	assert_string_equal(ask_for(&s, &link), "");
	fixture_run("chown 65534 target/private/prog.debug");
	s.last_question = 0;
	assert_string_equal(ask_for(&s, &link), "target/private/prog.debug");
	search_done(&s);
}

static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	return !fixture_try("mkdir -p target/usr/lib/debug own/usr/lib/debug && chmod -R "
			    "a+rX target own");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_names_that_lead_elsewhere),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_split_files),
		cmocka_unit_test(test_hostile_target),
		cmocka_unit_test(test_rights_of_the_target),
	};

	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
