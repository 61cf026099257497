// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files are trusted, when they are read, and when they are read again. */
#include "process/container_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_proc.h"
#include "lib/slow_opener.h"

#define ID     "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"
#define ID2    "a8f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73"
#define SEC    1000000000ull
#define LIST   "/var/lib/containers/storage/overlay-containers"
#define DOCKER "/var/lib/docker/containers/"

static struct fake_proc fake; /* runtimes' files are looked for below its root */
static struct container_names *names;

static int setup(void **state)
{
	int roots[2] = {-1, -1};

	(void)state;
	fake_proc_init(&fake);
	roots[1] = open(fake.root, O_PATH | O_DIRECTORY);
	assert_true(roots[1] >= 0);
	names = container_names_new(roots, 2);
	assert_non_null(names);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	container_names_free(names);
	names = NULL;
	fake_proc_deinit(&fake);
	return 0;
}

/* Makes each directory of "/a/b/c" in the root. */
static void make_folders(const char *path)
{
	char part[256];

	for (size_t i = 1; i <= strlen(path); i++)
		if (path[i] == '/' || !path[i]) {
			memcpy(part, path, i);
			part[i] = '\0';
			fake_mkdir("%s%s", fake.root, part);
		}
}

static void write_file(const char *folder, const char *file, const char *text)
{
	make_folders(folder);
	fake_write(text, strlen(text), "%s%s/%s", fake.root, folder, file);
}

static void need_root(void)
{
	if (getuid()) {
		print_message(
			"files of runtimes belong to root: not run as another user\n");
		skip();
	}
}

static void each_runtime_tells(void **state)
{
	(void)state;
	need_root();
	write_file(DOCKER ID, "config.v2.json", "{\"Name\":\"/sad_tesla\"}");
	assert_string_equal(container_names_find(names, ID, SEC), "sad_tesla");
	write_file(LIST, "containers.json", "[{\"id\":\"" ID2 "\",\"names\":[\"db\"]}]");
	assert_string_equal(container_names_find(names, ID2, 2 * SEC), "db");
	/* The name is cached. */
	fake_remove_tree(fake.root);
	assert_string_equal(container_names_find(names, ID, 9 * SEC), "sad_tesla");
	assert_false(container_names_retry(names, 99 * SEC));
}

static void the_kubelet_tells(void **state)
{
	(void)state;
	need_root();
	write_file("/var/log/containers", "web-0_shop_nginx-" ID ".log", "");
	assert_string_equal(container_names_find(names, ID, SEC), "shop/web-0/nginx");
}

static void a_name_that_comes_later_is_found(void **state)
{
	(void)state;
	need_root();
	assert_string_equal(container_names_find(names, ID, SEC), "");
	assert_string_equal(container_names_find(names, ID2, SEC), "");
	assert_false(container_names_retry(names, SEC + SEC / 2));
	write_file("/var/log/containers", "web-0_shop_nginx-" ID ".log", "");
	assert_string_equal(container_names_find(names, ID, SEC + SEC / 2), "");
	assert_true(container_names_retry(names, 2 * SEC));
	assert_string_equal(container_names_find(names, ID, 2 * SEC), "shop/web-0/nginx");
	assert_false(container_names_retry(names, 3 * SEC));
	/* The other one is given up after four tries. */
	assert_false(container_names_retry(names, 4 * SEC));
	write_file(DOCKER ID2, "config.v2.json", "{\"Name\":\"/late\"}");
	assert_false(container_names_retry(names, 50 * SEC));
	assert_string_equal(container_names_find(names, ID2, 50 * SEC), "");
}

/* Only four looks that find nothing are made, but those that were late do not count. */
static void a_name_is_not_given_up_while_looks_are_late(void **state)
{
	(void)state;
	need_root();
	make_folders("/var/log/containers");
	assert_int_equal(opener_begin(NULL), 0);
	slow_opener_hold(TENANT_OF_FOLDERS(TENANT_UNKNOWN_UID));
	assert_string_equal(container_names_find(names, ID, SEC), "");
	assert_string_equal(container_names_find(names, ID2, SEC), "");
	for (uint64_t s = 2; s < 9; s++)
		assert_false(container_names_retry(names, s * SEC));
	opener_end();
	write_file("/var/log/containers", "web-0_shop_nginx-" ID ".log", "");
	write_file("/var/log/containers", "db-0_shop_sql-" ID2 ".log", "");
	assert_true(container_names_retry(names, 9 * SEC));
	assert_string_equal(container_names_find(names, ID, 9 * SEC), "shop/web-0/nginx");
	assert_string_equal(container_names_find(names, ID2, 9 * SEC), "shop/db-0/sql");
}

static void what_a_look_for_another_finds_is_told(void **state)
{
	(void)state;
	need_root();
	assert_string_equal(container_names_find(names, ID, SEC), "");
	write_file(LIST, "volatile-containers.json",
		   "[{\"id\":\"" ID "\",\"names\":[\"a\"]},{\"id\":\"" ID2
		   "\",\"names\":[\"b\"]}]");
	assert_string_equal(container_names_find(names, ID2, 3 * SEC), "b");
	assert_true(container_names_retry(names, 3 * SEC));
	assert_false(container_names_retry(names, 3 * SEC));
	assert_string_equal(container_names_find(names, ID, 3 * SEC), "a");
}

static void what_others_can_write_is_not_believed(void **state)
{
	char path[256];

	(void)state;
	need_root();
	write_file(DOCKER ID, "config.v2.json", "{\"Name\":\"/forged\"}");
	snprintf(path, sizeof(path), "%s" DOCKER ID "/config.v2.json", fake.root);
	assert_int_equal(chmod(path, 0666), 0);
	write_file(LIST, "containers.json",
		   "[{\"id\":\"" ID "\",\"names\":[\"forged\"]}]");
	snprintf(path, sizeof(path), "%s" LIST "/containers.json", fake.root);
	assert_int_equal(chown(path, 1000, 1000), 0);
	write_file("/var/log/containers", "a_b_forged-" ID ".log", "");
	snprintf(path, sizeof(path), "%s/var/log/containers", fake.root);
	assert_int_equal(chmod(path, 0777), 0);
	assert_string_equal(container_names_find(names, ID, SEC), "");
	/* A FIFO does not block. */
	make_folders("/run/containers/storage/overlay-containers");
	snprintf(path, sizeof(path),
		 "%s/run/containers/storage/overlay-containers/volatile-containers.json",
		 fake.root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(container_names_find(names, ID2, 9 * SEC), "");
}

static void only_ids_are_looked_for(void **state)
{
	static const char *const texts[] = {"",       "web",  "../../../etc/passwd",
					    ID "/..", ID "a", "\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_string_equal(container_names_find(names, texts[i], SEC), "");
	assert_false(container_names_retry(names, 9 * SEC));
}

/* Users who can create cgroups can invent ids. */
static void very_many_ids_are_bounded(void **state)
{
	char id[65];

	(void)state;
	need_root();
	write_file(DOCKER ID, "config.v2.json", "{\"Name\":\"/real\"}");
	for (unsigned int i = 0; i < CONTAINER_NAMES_MAX + 10; i++) {
		snprintf(id, sizeof(id), "%064x", i);
		assert_string_equal(container_names_find(names, id, SEC), "");
	}
	assert_string_equal(container_names_find(names, ID, SEC), "real");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_runtime_tells),
		TEST(the_kubelet_tells),
		TEST(a_name_that_comes_later_is_found),
		TEST(a_name_is_not_given_up_while_looks_are_late),
		TEST(what_a_look_for_another_finds_is_told),
		TEST(what_others_can_write_is_not_believed),
		TEST(only_ids_are_looked_for),
		TEST(very_many_ids_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
