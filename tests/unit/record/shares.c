// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process/process.h"

static const struct quota rules = {.what = "unwind rules",
				   .loss = "its stacks may be cut"};

static void assert_sentence(struct tenant who, const char *user,
			    const struct process_owner *owner, const char *expected)
{
	char text[640];

	shares_sentence(who, user, owner, &rules, 1056, text, sizeof(text));
	assert_string_equal(text, expected);
}

#define LOSS                                                                     \
	" used up its quarter of the unwind rules, 1056 more were refused: its " \
	"stacks may be cut."

static void the_tenant_is_named(void **state)
{
	const struct process_owner web = {.container = "0123456789abcdef",
					  .container_name = "web"},
				   machine = {.container = "debian",
					      .container_name = ""};

	(void)state;
	assert_sentence((struct tenant){.uid = 1001}, "alice", NULL,
			"User alice (uid 1001)" LOSS);
	assert_sentence((struct tenant){.uid = 1001}, "", NULL,
			"The user with uid 1001" LOSS);
	assert_sentence(TENANT_UNKNOWN, "", NULL, "A user who is not known" LOSS);
	assert_sentence(
		TENANT_NEW, "", NULL,
		"What root's programs started, before it was known whose it is," LOSS);
	assert_sentence((struct tenant){.container = 7}, "", &web,
			"Container web (0123456789ab)" LOSS);
	assert_sentence((struct tenant){.container = 7}, "", &machine,
			"Container debian" LOSS);
	assert_sentence((struct tenant){.container = 7}, "", NULL,
			"A container that has ended" LOSS);
}

static void a_full_table_is_no_ones_fault(void **state)
{
	struct quota names = {.what = "names", .loss = "some have none", .max = 100};
	const struct tenant alice = {.uid = 1001};
	char text[640];

	(void)state;
	quota_refuse_full(&names, alice, 3);
	shares_sentence(alice, "alice", NULL, &names, 3, text, sizeof(text));
	assert_string_equal(text, "User alice (uid 1001) found the names used up, 3 were "
				  "refused: some have none.");
	quota_deinit(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tenant_is_named),
		cmocka_unit_test(a_full_table_is_no_ones_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
