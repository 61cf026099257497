// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/service_id.h"

#define PYTHON "/usr/bin/python3.11"
#define UID    "1000/3f4b9d2c5a6e7f80"

static struct process python_of(const char *command)
{
	return (struct process){.tgid = 10,
				.command = command,
				.cwd = "/srv/web",
				.owner = {.exe = PYTHON}};
}

static bool is_one(struct process a, struct process b)
{
	char id_a[SERVICE_ID_SIZE], id_b[SERVICE_ID_SIZE];

	service_id_of(&a, id_a);
	assert_int_equal(strlen(id_a), SERVICE_ID_SIZE - 1);
	assert_int_equal(strspn(id_a, "0123456789abcdef"), SERVICE_ID_SIZE - 1);
	return !strcmp(id_a, service_id_of(&b, id_b));
}

static bool is_one_program(const char *a, const char *b)
{
	return is_one(python_of(a), python_of(b));
}

static void what_changes_at_each_start_is_not_in_it(void **state)
{
	struct process a = python_of("python3\napp.py\n"), b = a;

	(void)state;
	b.tgid = 11;
	b.start_boottime_ns = 5;
	b.root_id = 3;
	b.owner.container = UID;
	b.owner.cgroup = "/system.slice/docker-3f4b.scope";
	b.owner.pod = "6f2c1d3e";
	b.owner.unit = "session-4.scope";
	assert_true(is_one(a, b));
}

static void the_script_is_the_program(void **state)
{
	struct process elsewhere = python_of("python3\napp.py\n");

	(void)state;
	assert_true(is_one_program("python3\napp.py\n", "python\n-u\n./app.py\n80\n"));
	assert_true(is_one_program("python3\napp.py\n", "python\n/srv/web/app.py\n"));
	assert_false(is_one_program("python3\napp.py\n", "python3\nadmin.py\n"));
	assert_false(is_one_program("python3\napp\n", "python3\n-m\napp\n"));
	assert_true(is_one_program("python3\n-m\napp\n", "python3\n-mapp\n80\n"));
	elsewhere.cwd = "/srv/shop";
	assert_false(is_one(python_of("python3\napp.py\n"), elsewhere));
}

/* Arguments of compiled programs are numbers and files' names. */
static void other_runtimes_have_scripts_too(void **state)
{
	struct process a = python_of("node\n--perf-prof\nweb.js\n"), b = a;

	(void)state;
	a.owner.exe = b.owner.exe = "/usr/bin/node";
	b.command = "node\nshop.js\n";
	assert_false(is_one(a, b));
	b.command = "node\nweb.js\n3000\n";
	assert_true(is_one(a, b));
	a.command = "./solve\n3\n";
	b.command = "./solve\n0.5\n";
	assert_true(is_one(a, b));
	b.owner.exe = "/usr/bin/other";
	assert_false(is_one(a, b));
}

static void the_container_tells_equal_paths_apart(void **state)
{
	struct process a = python_of("python3\n/app/main.py\n"), b = a;

	(void)state;
	a.owner.container_name = "web";
	b.owner.container_name = "shop";
	assert_false(is_one(a, b));
	/* Of Kubernetes, without the pod. */
	a.owner.container_name = "prod/web-7d4b9c6f5-x2x9z/main";
	b.owner.container_name = "prod/web-7d4b9c6f5-abcde/main";
	assert_true(is_one(a, b));
	b.owner.container_name = "test/web-7d4b9c6f5-x2x9z/main";
	assert_false(is_one(a, b));
	b.owner.container_name = "prod/web-7d4b9c6f5-x2x9z/proxy";
	assert_false(is_one(a, b));
}

static void instances_of_a_unit_are_one_service(void **state)
{
	struct process a = python_of("python3\n/app/main.py\n"), b = a;

	(void)state;
	a.owner.unit = "web@1.service";
	b.owner.unit = "web@2.service";
	assert_true(is_one(a, b));
	b.owner.unit = "shop@1.service";
	assert_false(is_one(a, b));
}

/* The end of one text and the beginning of the next cannot be exchanged. */
static void texts_do_not_run_together(void **state)
{
	struct process a = python_of(NULL), b = a;

	(void)state;
	a.owner.container_name = "ab.service";
	b.owner.unit = "ab.service";
	assert_false(is_one(a, b));
}

/* An id that changes from release to release would separate a service's sources. */
static void it_is_the_same_in_every_run(void **state)
{
	struct process a = python_of("python3\napp.py\n"), none = {0};
	char id[SERVICE_ID_SIZE], other[SERVICE_ID_SIZE];

	(void)state;
	assert_string_equal(service_id_of(&a, id),
			    "7ba0a9ca0d0388d51f16ef6a03725e418bec6ed0");
	assert_string_not_equal(service_id_of(NULL, other), id);
	assert_true(is_one(none, (struct process){.tgid = 3}));
	assert_string_equal(service_id_of(&none, id), other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_changes_at_each_start_is_not_in_it),
		cmocka_unit_test(the_script_is_the_program),
		cmocka_unit_test(other_runtimes_have_scripts_too),
		cmocka_unit_test(the_container_tells_equal_paths_apart),
		cmocka_unit_test(instances_of_a_unit_are_one_service),
		cmocka_unit_test(texts_do_not_run_together),
		cmocka_unit_test(it_is_the_same_in_every_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
