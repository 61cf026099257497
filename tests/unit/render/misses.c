// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The manuals contain all texts that the renderers print. */
#include <jansson.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cases.h"

static char *manual(const char *path)
{
	char *text = NULL;
	size_t len;

	if (io_read_file(path, 1 << 20, &text, &len))
		fail_msg("cannot read %s: run in the project's folder", path);
	return text;
}

/* Each heading is one line, so that a search for the message finds it. */
static void test_every_miss_has_its_section(void **state)
{
	_cleanup_free_ char *text = manual("docs/troubleshooting.md");
	_cleanup_free_ char *formats = manual("docs/formats.md");

	(void)state;
	for (int i = 0; i < NR_MISSES; i++) {
		char heading[256], name[64];

		snprintf(heading, sizeof(heading), "\n### %s\n", miss_text((enum miss)i));
		if (!strstr(text, heading))
			fail_msg("docs/troubleshooting.md has no heading%s", heading);
		snprintf(name, sizeof(name), "`%s`", miss_name((enum miss)i));
		if (!strstr(text, name) || !strstr(formats, name))
			fail_msg("%s is not in both manuals", name);
	}
}

static void check_members(const char *manual_text, json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, member) check_members(manual_text, member);
		return;
	}
	json_object_foreach(value, key, member)
	{
		char quoted[128];

		snprintf(quoted, sizeof(quoted), "`%s`", key);
		if (!strstr(manual_text, quoted) &&
		    !(strlen(key) > 7 && !strcmp(key + strlen(key) - 7, "_cpu_ns")))
			fail_msg("docs/formats.md does not explain %s", quoted);
		check_members(manual_text, member);
	}
}

static void test_every_member_is_explained(void **state)
{
	static const char *const files[] = {"tests/golden/typical.annotate.json",
					    "tests/golden/typical.report.json",
					    "tests/golden/stacks.callers.json",
					    "tests/golden/asm.json",
					    "tests/golden/groups.process.json",
					    "tests/golden/groups.narrowed.json"};
	_cleanup_free_ char *text = manual("docs/formats.md");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		json_t *root = json_load_file(files[i], 0, NULL);

		assert_non_null(root);
		check_members(text, root);
		json_decref(root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_miss_has_its_section),
		cmocka_unit_test(test_every_member_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
