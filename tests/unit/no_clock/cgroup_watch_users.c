// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Very many cgroups of one user beside those of others, in plain folders: what they cost,
 * and that nobody else loses by them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fake_clock.h"
#include "lib/scratch.h"
#include "lib/slow_opener.h"
#include "target/cgroup_watch.h"

#define MANY      1000 /* users: who makes very many, and another */
#define ANOTHER   1001
#define LOOK_NS   (20 * CLOCK_MS_NS)
#define MAX_NAMES 8
#define PLACES    40 /* of one user */
#define WATCHES   30
#define RULES     20

/* Which cgroups match, and what was done about them. */
struct watched {
	struct cgroup_mounts mounts;
	struct cgroup_watch *set;
	char top[SCRATCH_BYTES], root[2];
	bool descends; /* into all; else only into the first two levels */
	bool matches; /* those of the third level */
	bool is_unknown; /* whether these do */
	uint64_t match_ns; /* how long it takes to match one */
	bool is_noted; /* names are */
	char names[MAX_NAMES][16];
	size_t nr_matched, nr_rules;
	uint64_t rules[4 * RULES]; /* ids */
	char told[512]; /* who was refused what */
};

static unsigned int nr_slashes(const char *path)
{
	unsigned int nr = 0;

	for (; *path; path++)
		nr += *path == '/' && path[1];
	return nr;
}

static uint32_t on_match(void *ctx, const struct cgroup_mount *mount, const char *path,
			 bool *ret_descend)
{
	struct watched *w = ctx;

	(void)mount;
	fake_now_ns += w->match_ns;
	if (w->is_noted && w->nr_matched < MAX_NAMES)
		snprintf(w->names[w->nr_matched], sizeof(w->names[0]), "%s", path);
	w->nr_matched++;
	*ret_descend = w->descends || nr_slashes(path) < 2;
	if (nr_slashes(path) != 2)
		return 0;
	return w->is_unknown ? CGROUP_WATCH_UNKNOWN : w->matches;
}

static bool on_change(void *ctx, const struct cgroup_mount *mount, uint64_t id,
		      uint32_t mask)
{
	struct watched *w = ctx;

	(void)mount;
	for (size_t i = 0; i < w->nr_rules; i++)
		if (w->rules[i] == id) {
			if (!mask)
				w->rules[i] = w->rules[--w->nr_rules];
			return true;
		}
	if (mask && w->nr_rules == 4 * RULES)
		return false;
	if (mask)
		w->rules[w->nr_rules++] = id;
	return true;
}

static void on_refused(void *ctx, const struct quota *q, struct tenant who,
		       uint64_t nr_refused)
{
	struct watched *w = ctx;
	size_t len = strlen(w->told);

	snprintf(w->told + len, sizeof(w->told) - len, "%s: %u %llu\n", q->what, who.uid,
		 (unsigned long long)nr_refused);
}

static const char *refused(struct watched *w)
{
	*w->told = '\0';
	cgroup_watch_each_refused(w->set, on_refused, w);
	return w->told;
}

static void begin(struct watched *w)
{
	struct cgroup_watch_handlers handlers = {w, on_match, on_change};
	struct cgroup_watch_limits limits = {4 * PLACES, 4 * WATCHES, 4 * RULES};

	*w = (struct watched){.root = "/"};
	fake_now_ns = 1;
	scratch_make(w->top, 0755);
	w->mounts.nr = 1;
	w->mounts.at[0] = (struct cgroup_mount){.path = w->top, .root = w->root};
	assert_int_equal(cgroup_watch_new(&w->mounts, &handlers, &limits, &w->set), 0);
	cgroup_watch_add(w->set, &w->mounts.at[0]);
}

static void end(struct watched *w)
{
	cgroup_watch_free(w->set);
	scratch_remove(w->top);
}

/* @uid  0: root */
static void make(const struct watched *w, const char *path, uid_t uid)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", w->top, path);
	assert_int_equal(mkdir(full, 0755), 0);
	if (uid)
		assert_int_equal(chown(full, uid, uid), 0);
}

/* Makes one folder of each of three users, with @nr in that of MANY. */
static void make_many(const struct watched *w, unsigned int nr)
{
	char path[32];

	make(w, "many", MANY);
	make(w, "another", ANOTHER);
	make(w, "root", 0);
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "many/%u", i);
		make(w, path, 0);
	}
	make(w, "another/x", ANOTHER);
	make(w, "root/x", 0);
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("skipped: needs root, to make folders of users\n");
	skip();
}

static unsigned int nr_watches(const struct watched *w)
{
	char path[64], line[256];
	unsigned int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d",
		 cgroup_watch_poll_fd(w->set));
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		nr += !strncmp(line, "inotify wd:", 11);
	fclose(f);
	return nr;
}

static void look(struct watched *w)
{
	fake_now_ns += 1000 * CLOCK_SECOND_NS;
	cgroup_watch_look(w->set, fake_now_ns);
}

static void nobody_gets_more_than_a_quarter(void **state)
{
	struct watched w;

	(void)state;
	need_root();
	begin(&w);
	w.matches = true;
	make_many(&w, PLACES + 2);
	assert_true(cgroup_watch_walk(w.set, 1));
	/* The folder that they are in has a place, too. */
	assert_string_equal(refused(&w), "known cgroups: 1000 3\n"
					 "rules of cgroups: 1000 19\n");
	assert_int_equal(w.nr_rules, RULES + 2);
	assert_int_equal(cgroup_watch_nr_missed(w.set), 3 + 19);
	/* What is refused again was told. */
	look(&w);
	assert_true(w.nr_matched > 2 * PLACES);
	assert_string_equal(refused(&w), "");
	assert_int_equal(cgroup_watch_nr_missed(w.set), 3 + 19);
	/* Others are found when they appear. */
	make(&w, "another/y", ANOTHER);
	make(&w, "root/y", 0);
	look(&w);
	assert_int_equal(w.nr_rules, RULES + 4);
	/* What is given back can be taken. */
	w.matches = false;
	cgroup_watch_walk_again(w.set);
	look(&w);
	assert_int_equal(w.nr_rules, 0);
	w.matches = true;
	cgroup_watch_walk_again(w.set);
	look(&w);
	assert_int_equal(w.nr_rules, RULES + 4);
	end(&w);
}

/* Root gets all that is there, and who comes when it is full is told so, too. */
static void root_gets_what_is_there(void **state)
{
	struct watched w;
	char path[32];

	(void)state;
	need_root();
	begin(&w);
	w.matches = true;
	make(&w, "root", 0);
	for (unsigned int i = 0; i < 4 * PLACES; i++) {
		snprintf(path, sizeof(path), "root/%u", i);
		make(&w, path, 0);
	}
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_int_equal(w.nr_rules, 4 * RULES);
	assert_string_equal(refused(&w), "");
	assert_int_equal(cgroup_watch_nr_missed(w.set), 2 + 4 * (PLACES - RULES) - 2);
	make(&w, "another", ANOTHER);
	look(&w);
	assert_string_equal(refused(&w), "known cgroups: 1001 1\n");
	end(&w);
}

static void nobody_watches_more_than_a_quarter(void **state)
{
	struct watched w;

	(void)state;
	need_root();
	begin(&w);
	w.descends = true;
	make_many(&w, WATCHES + 5);
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_string_equal(refused(&w), "watched cgroups: 1000 6\n");
	assert_int_equal(cgroup_watch_nr_missed(w.set), 6);
	/* And that at the top, and two of each of the others. */
	assert_int_equal(nr_watches(&w), WATCHES + 1 + 2 + 2);
	end(&w);
}

/* A folder was root's when it was found. Those in it are its user's, as that of a subuid. */
static void a_folder_gets_its_owner_later(void **state)
{
	struct watched w;
	char path[64];

	(void)state;
	need_root();
	begin(&w);
	w.matches = true;
	make(&w, "many", 0);
	assert_true(cgroup_watch_walk(w.set, 1));
	snprintf(path, sizeof(path), "%s/many", w.top);
	assert_int_equal(chown(path, MANY, MANY), 0);
	for (unsigned int i = 0; i < RULES + 1; i++) {
		snprintf(path, sizeof(path), "many/%u", i);
		make(&w, path, 100000 + i);
	}
	look(&w);
	assert_string_equal(refused(&w), "rules of cgroups: 1000 1\n");
	end(&w);
}

/* Nor does it keep others from being forgotten: who holds it is not known. */
static void a_late_folder_drops_nobodys(void **state)
{
	struct watched w;
	char path[64];

	(void)state;
	need_root();
	begin(&w);
	w.matches = true;
	make_many(&w, 3);
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_int_equal(w.nr_rules, 5);
	assert_false(cgroup_watch_has_late(w.set));
	assert_int_equal(opener_begin(NULL), 0);
	slow_opener_hold(TENANT_OF_FOLDERS(MANY));
	snprintf(path, sizeof(path), "%s/another/x", w.top);
	assert_int_equal(rmdir(path), 0);
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_true(cgroup_watch_has_late(w.set));
	assert_int_equal(w.nr_rules, 4);
	slow_opener_hold(TENANT_OF_FOLDERS(0));
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_true(cgroup_watch_has_late(w.set));
	assert_int_equal(w.nr_rules, 4);
	opener_end();
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_false(cgroup_watch_has_late(w.set));
	assert_int_equal(w.nr_rules, 4);
	assert_int_equal(cgroup_watch_nr_missed(w.set), 0);
	end(&w);
}

/* What cannot be told now keeps the rule that it has, and gets none that it has not. */
static void who_is_not_known_now_keeps_its_rule(void **state)
{
	struct watched w;

	(void)state;
	need_root();
	begin(&w);
	w.matches = true;
	make_many(&w, 1);
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_int_equal(w.nr_rules, 3);
	w.matches = false;
	w.is_unknown = true;
	make(&w, "root/y", 0);
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_true(cgroup_watch_has_late(w.set));
	assert_int_equal(w.nr_rules, 3);
	w.is_unknown = false;
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_int_equal(w.nr_rules, 0);
	end(&w);
}

static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static void a_walk_pauses(void **state)
{
	unsigned int before = nr_descriptors();
	struct watched w;
	char path[32];

	(void)state;
	begin(&w);
	w.descends = true;
	for (unsigned int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%u", i);
		make(&w, path, 0);
		snprintf(path, sizeof(path), "%u/x", i);
		make(&w, path, 0);
	}
	/* Matching one takes all of the time. */
	w.match_ns = LOOK_NS;
	assert_false(cgroup_watch_walk(w.set, LOOK_NS));
	assert_in_range(w.nr_matched, 1, 2);
	for (size_t nr = w.nr_matched; nr < 11; nr++) {
		look(&w);
		assert_int_equal(w.nr_matched, nr + 1);
	}
	assert_int_equal(nr_watches(&w), 11);
	/* The end of the walk is not one that began meanwhile. */
	look(&w);
	assert_int_equal(w.nr_matched, 11);
	/* So do events. */
	make(&w, "a", 0);
	make(&w, "b", 0);
	look(&w);
	assert_int_equal(w.nr_matched, 12);
	look(&w);
	assert_int_equal(w.nr_matched, 13);
	look(&w);
	assert_int_equal(w.nr_matched, 13);
	/* In the middle of a walk. */
	cgroup_watch_walk_again(w.set);
	look(&w);
	look(&w);
	end(&w);
	assert_int_equal(nr_descriptors(), before);
}

/* What disappears in a pause is forgotten, and what appears is found. */
static void changes_in_a_pause(void **state)
{
	struct watched w;
	char full[64];

	(void)state;
	begin(&w);
	w.matches = true;
	make(&w, "a", 0);
	make(&w, "a/x", 0);
	make(&w, "b", 0);
	make(&w, "b/x", 0);
	w.match_ns = LOOK_NS;
	assert_false(cgroup_watch_walk(w.set, 1));
	make(&w, "c", 0);
	make(&w, "c/x", 0);
	for (int i = 0; i < 8; i++)
		look(&w);
	assert_int_equal(w.nr_rules, 3);
	cgroup_watch_walk_again(w.set);
	look(&w);
	snprintf(full, sizeof(full), "%s/a/x", w.top);
	assert_int_equal(rmdir(full), 0);
	for (int i = 0; i < 16; i++)
		look(&w);
	assert_int_equal(w.nr_rules, 2);
	assert_int_equal(cgroup_watch_nr_missed(w.set), 0);
	end(&w);
}

static void roots_come_first(void **state)
{
	struct watched w;

	(void)state;
	need_root();
	begin(&w);
	w.descends = w.is_noted = true;
	make(&w, "another", ANOTHER);
	make(&w, "another/x", 0);
	make(&w, "root", 0);
	make(&w, "root/x", 0);
	make(&w, "root/x/y", 0);
	assert_true(cgroup_watch_walk(w.set, 1));
	assert_int_equal(w.nr_matched, 6);
	assert_string_equal(w.names[3], "/root/x");
	assert_string_equal(w.names[4], "/root/x/y");
	assert_string_equal(w.names[5], "/another/x");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_gets_more_than_a_quarter),
		cmocka_unit_test(root_gets_what_is_there),
		cmocka_unit_test(nobody_watches_more_than_a_quarter),
		cmocka_unit_test(a_folder_gets_its_owner_later),
		cmocka_unit_test(a_late_folder_drops_nobodys),
		cmocka_unit_test(who_is_not_known_now_keeps_its_rule),
		cmocka_unit_test(a_walk_pauses),
		cmocka_unit_test(changes_in_a_pause),
		cmocka_unit_test(roots_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
