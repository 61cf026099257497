// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/cgroup_mount.h"
#include "lib/scratch.h"

/* Paths as the kernel shows them in a cgroup namespace whose root is /a/b. */
static void paths_below_a_mount(void **state)
{
	static const struct {
		const char *root, *base, *path, *below;
	} cases[] = {
		/* No namespace, or the namespace's own root is mounted. */
		{"/", NULL, "/", "/"},
		{"/", NULL, "/x/y", "/x/y"},
		{"/", NULL, "/..", NULL},
		{"/", NULL, "/../x", NULL},
		/* A subtree is mounted. */
		{"/x", NULL, "/x", "/"},
		{"/x", NULL, "/x/y", "/y"},
		{"/x", NULL, "/xy", NULL},
		{"/x", NULL, "/", NULL},
		/* The whole hierarchy is mounted. */
		{"/../..", "/a/b", "/", "/a/b"},
		{"/../..", "/a/b", "/x", "/a/b/x"},
		{"/../..", "/a/b", "/..", "/a"},
		{"/../..", "/a/b", "/../x", "/a/x"},
		{"/../..", "/a/b", "/../..", "/"},
		{"/../..", "/a/b", "/../../x/y", "/x/y"},
		{"/../..", "/a/b", "/../../..", NULL},
		{"/../..", NULL, "/../../x/y", "/x/y"},
		{"/../..", NULL, "/../..", "/"},
		{"/../..", NULL, "/x", NULL},
		{"/../..", NULL, "/../x", NULL},
		/* A sibling of the namespace's root is mounted. */
		{"/../c", NULL, "/../c/d", "/d"},
		{"/../c", NULL, "/../d", NULL},
		{"/../c", NULL, "/", NULL},
		/* Names that only begin with dots. */
		{"/", NULL, "/..x", "/..x"},
		{"/..", "/a", "/...", "/a/..."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_free_ char *below = cgroup_namespace_to_mount(
			cases[i].root, cases[i].base, cases[i].path);

		if (cases[i].below ? !below || strcmp(below, cases[i].below) != 0
				   : below != NULL)
			fail_msg("%s in %s: %s", cases[i].path, cases[i].root,
				 below ? below : "nowhere");
	}
}

static void make(const char *top, const char *dir, int pid)
{
	char path[256];
	FILE *procs;

	snprintf(path, sizeof(path), "%s%s", top, dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, dir);
	procs = fopen(path, "w");
	assert_non_null(procs);
	if (pid)
		fprintf(procs, "1\n%d\n", pid);
	fclose(procs);
}

static void the_namespace_is_found_by_where_we_are(void **state)
{
	static const char *const dirs[] = {"/a",   "/a/b", "/a/b/own",
					   "/a/c", "/d",   "/d/e"};
	char top[SCRATCH_BYTES], path[256];
	_cleanup_free_ char *own = NULL, *root = NULL, *none = NULL, *deep = NULL;
	bool is_late = false;

	(void)state;
	scratch_make(top, 0700);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		make(top, dirs[i], strcmp(dirs[i], "/a/b/own") ? 0 : getpid());
	own = cgroup_namespace_find(top, "/../..", "/own", &is_late);
	root = cgroup_namespace_find(top, "/../../..", "/", &is_late);
	none = cgroup_namespace_find(top, "/../..", "/", &is_late);
	deep = cgroup_namespace_find(top, "/../../../../..", "/", &is_late);
	assert_non_null(own);
	assert_string_equal(own, "/a/b");
	assert_non_null(root);
	assert_string_equal(root, "/a/b/own");
	assert_null(none);
	assert_null(deep);
	assert_null(cgroup_namespace_find(top, "/", "/own", &is_late));
	assert_null(cgroup_namespace_find(top, "/../..", "/../own", &is_late));
	assert_false(is_late);
	for (size_t i = sizeof(dirs) / sizeof(*dirs); i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, dirs[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s%s", top, dirs[i]);
		rmdir(path);
	}
	rmdir(top);
}

/* Only where the whole hierarchy is mounted can all folders of a path be looked at. */
static void folders_are_looked_for_in_whole_mounts(void **state)
{
	static const struct {
		const char *root;
		bool is_whole;
	} cases[] = {
		{"/", true},   {"/..", true},    {"/../..", true},
		{"/x", false}, {"/../x", false}, {"/..x", false},
	};
	char path[] = "/", gone[] = "/lineburn-gone", root[] = "/";
	struct cgroup_places places = {0};
	struct cgroup_mounts mounts = {.nr = ARRAY_SIZE(cases) + 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		mounts.at[i].hierarchy = (uint32_t)i;
		mounts.at[i].path = path;
		mounts.at[i].root = strdup(cases[i].root);
	}
	mounts.at[ARRAY_SIZE(cases)] = (struct cgroup_mount){
		.hierarchy = ARRAY_SIZE(cases), .path = gone, .root = root};
	cgroup_places_open(&places, &mounts);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct cgroup_place *place = cgroup_place(&places, (uint32_t)i);

		assert_int_equal(place != NULL, cases[i].is_whole);
		if (place)
			assert_string_equal(place->root, cases[i].root);
		free(mounts.at[i].root);
	}
	assert_null(cgroup_place(&places, ARRAY_SIZE(cases)));
	cgroup_places_close(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_below_a_mount),
		cmocka_unit_test(the_namespace_is_found_by_where_we_are),
		cmocka_unit_test(folders_are_looked_for_in_whole_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
