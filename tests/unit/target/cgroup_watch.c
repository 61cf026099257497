// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses a real cgroup hierarchy: inotify reports removed directories of other file
 * systems differently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/cgroup_watch.h"

#define NR_MADE 300

/* The ids that the kernel side would have. */
struct told {
	char top[64]; /* "/lineburn-set-PID" */
	uint64_t ids[2 * NR_MADE];
	size_t nr;
	const char *matching; /* prefix of the names that match */
};

static uint32_t match(void *ctx, const struct cgroup_mount *mount, const char *path,
		      bool *ret_descend)
{
	const struct told *t = ctx;
	size_t len = strlen(t->top);

	(void)mount;
	*ret_descend = !strcmp(path, "/") || !strncmp(path, t->top, len);
	return !strncmp(path, t->top, len) && path[len] == '/' &&
	       !strncmp(strrchr(path, '/') + 1, t->matching, strlen(t->matching));
}

static bool change(void *ctx, const struct cgroup_mount *mount, uint64_t id,
		   uint32_t mask)
{
	struct told *t = ctx;

	(void)mount;
	for (size_t i = 0; i < t->nr; i++)
		if (t->ids[i] == id) {
			if (!mask)
				t->ids[i] = t->ids[--t->nr];
			return true;
		}
	assert_true(t->nr < 2 * NR_MADE);
	if (mask)
		t->ids[t->nr++] = id;
	return true;
}

static unsigned int nr_watches(const struct cgroup_watch *set)
{
	char path[64], line[256];
	unsigned int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", cgroup_watch_poll_fd(set));
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		nr += !strncmp(line, "inotify wd:", 11);
	fclose(f);
	return nr;
}

struct fixture {
	struct cgroup_mounts mounts;
	const struct cgroup_mount *mount;
	struct cgroup_watch *set;
	struct told told;
	char top[PATH_MAX];
	uint64_t now_ns;
};

/* @is_v1: directories can be renamed. Return: false if there is no such hierarchy. */
static bool begin(struct fixture *f, bool is_v1)
{
	struct cgroup_watch_handlers handlers = {&f->told, match, change};
	struct cgroup_watch_limits limits = {65536, 32768, 16384};

	*f = (struct fixture){.told.matching = "in-", .now_ns = UINT64_MAX / 2};
	assert_int_equal(cgroup_mounts_read(&f->mounts), 0);
	for (size_t i = 0; i < f->mounts.nr && !f->mount; i++)
		if (is_v1 == (f->mounts.at[i].hierarchy != 0))
			f->mount = &f->mounts.at[i];
	snprintf(f->told.top, sizeof(f->told.top), "/lineburn-set-%d", (int)getpid());
	if (f->mount)
		snprintf(f->top, sizeof(f->top), "%s%s", f->mount->path, f->told.top);
	if (!f->mount || mkdir(f->top, 0755)) {
		printf("skip: no cgroup can be made here\n");
		cgroup_mounts_deinit(&f->mounts);
		return false;
	}
	assert_int_equal(cgroup_watch_new(&f->mounts, &handlers, &limits, &f->set), 0);
	cgroup_watch_add(f->set, f->mount);
	assert_true(cgroup_watch_walk(f->set, UINT64_MAX / 2));
	return true;
}

static void end(struct fixture *f)
{
	cgroup_watch_free(f->set);
	rmdir(f->top);
	cgroup_mounts_deinit(&f->mounts);
}

static char *at(const struct fixture *f, const char *name, unsigned int i)
{
	static char path[2][2 * PATH_MAX];
	static unsigned int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s%u", f->top, name, i);
	return path[turn];
}

static void look(struct fixture *f)
{
	for (int i = 0; i < 32; i++)
		cgroup_watch_look(f->set, f->now_ns);
}

static void what_is_removed_is_forgotten(void **state)
{
	struct fixture f;
	unsigned int watches;

	(void)state;
	if (!begin(&f, false) && !begin(&f, true))
		skip();
	watches = nr_watches(f.set);
	for (unsigned int i = 0; i < NR_MADE; i++) {
		assert_int_equal(mkdir(at(&f, "in-", i), 0755), 0);
		assert_int_equal(mkdir(at(&f, "out-", i), 0755), 0);
	}
	look(&f);
	assert_int_equal(f.told.nr, NR_MADE);
	assert_int_equal(nr_watches(f.set), watches + 2 * NR_MADE);
	for (unsigned int i = 0; i < NR_MADE; i++) {
		assert_int_equal(rmdir(at(&f, "in-", i)), 0);
		assert_int_equal(rmdir(at(&f, "out-", i)), 0);
	}
	look(&f);
	assert_int_equal(f.told.nr, 0);
	assert_int_equal(nr_watches(f.set), watches);
	assert_int_equal(cgroup_watch_nr_missed(f.set), 0);
	end(&f);
}

static void a_walk_forgets_what_it_does_not_see(void **state)
{
	struct fixture f;
	unsigned int watches;

	(void)state;
	if (!begin(&f, false) && !begin(&f, true))
		skip();
	watches = nr_watches(f.set);
	assert_int_equal(mkdir(at(&f, "in-", 1), 0755), 0);
	assert_int_equal(mkdir(at(&f, "out-", 1), 0755), 0);
	look(&f);
	assert_int_equal(f.told.nr, 1);
	/* Other names match now. */
	f.told.matching = "out-";
	cgroup_watch_walk_again(f.set);
	look(&f);
	assert_int_equal(f.told.nr, 1);
	f.told.matching = "none-";
	cgroup_watch_walk_again(f.set);
	look(&f);
	assert_int_equal(f.told.nr, 0);
	/* The whole tree is outside: nothing below it is watched. */
	strcat(f.told.top, "-no");
	cgroup_watch_walk_again(f.set);
	look(&f);
	assert_int_equal(nr_watches(f.set), watches - 1);
	assert_int_equal(rmdir(at(&f, "in-", 1)), 0);
	assert_int_equal(rmdir(at(&f, "out-", 1)), 0);
	end(&f);
}

static void names_that_change(void **state)
{
	struct fixture f;
	unsigned int watches;

	(void)state;
	if (!begin(&f, true))
		skip();
	watches = nr_watches(f.set);
	assert_int_equal(mkdir(at(&f, "in-", 1), 0755), 0);
	assert_int_equal(mkdir(at(&f, "in-1/deep-", 1), 0755), 0);
	look(&f);
	assert_int_equal(f.told.nr, 1);
	assert_int_equal(nr_watches(f.set), watches + 2);
	assert_int_equal(rename(at(&f, "in-", 1), at(&f, "out-", 1)), 0);
	look(&f);
	assert_int_equal(f.told.nr, 0);
	assert_int_equal(nr_watches(f.set), watches + 2);
	assert_int_equal(rename(at(&f, "out-", 1), at(&f, "in-", 2)), 0);
	look(&f);
	assert_int_equal(f.told.nr, 1);
	assert_int_equal(rmdir(at(&f, "in-2/deep-", 1)), 0);
	assert_int_equal(rmdir(at(&f, "in-", 2)), 0);
	look(&f);
	assert_int_equal(f.told.nr, 0);
	assert_int_equal(nr_watches(f.set), watches);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_removed_is_forgotten),
		cmocka_unit_test(a_walk_forgets_what_it_does_not_see),
		cmocka_unit_test(names_that_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
