// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/owners.h"

#include <errno.h>

#include "analyze/filter.h"

static struct strpool *pool;

/* Filters the machine of owners.h. */
static int narrow(const struct profile_filter *filters, size_t nr, uint64_t *left,
		  struct filtered **ret, struct error *err)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	size_t before;
	int rc;

	add_machine(p);
	before = p->nr_samples;
	rc = filter_profile(p, filters, nr, ret, err);
	if (rc)
		assert_int_equal(p->nr_samples, before);
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	*left = a->all.samples;
	return rc;
}

static void check(uint64_t expected, const struct profile_filter *filters, size_t nr)
{
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	struct error err = {0};
	uint64_t left;

	if (narrow(filters, nr, &left, &n, &err))
		fail_msg("%s %s: %s", filter_kind_names[filters->kind], filters->value,
			 err.text);
	assert_int_equal(left, expected);
	assert_int_equal(n->left.samples, expected);
	assert_int_equal(n->left.cpu_ns, expected * PERIOD_NS);
	assert_int_equal(n->all.samples, 1000);
	assert_int_equal(n->nr_matches, nr);
}

#define LEFT(expected, ...)                                           \
	check(expected, (const struct profile_filter[]){__VA_ARGS__}, \
	      ARRAY_SIZE(((const struct profile_filter[]){__VA_ARGS__})))
#define ONLY(kind, value)                    \
	{                                    \
		FILTER_##kind, false, value, \
	}
#define NOT(kind, value)                    \
	{                                   \
		FILTER_##kind, true, value, \
	}

static void test_containers(void **state)
{
	(void)state;
	LEFT(400, ONLY(CONTAINER, "web"));
	LEFT(400, ONLY(CONTAINER, WEB_ID));
	LEFT(400, ONLY(CONTAINER, "3f2"));
	LEFT(700, ONLY(CONTAINER, "3f")); /* both containers match */
	LEFT(300, ONLY(CONTAINER, "db"));
	LEFT(30, ONLY(CONTAINER, "debian"));
	LEFT(30, ONLY(CONTAINER, "deb"));
	LEFT(700, ONLY(CONTAINER, "web"), ONLY(CONTAINER, "db"));
	LEFT(600, NOT(CONTAINER, "web"));
	LEFT(200, ONLY(CONTAINER, "-"));
	LEFT(800, NOT(CONTAINER, "-"));
	LEFT(300, ONLY(CONTAINER, "3f"), NOT(CONTAINER, "web"));
	LEFT(400, ONLY(CONTAINER, "web"), ONLY(CONTAINER, "nothing"));
	LEFT(400, ONLY(CONTAINER, "w?b"));
	LEFT(700, ONLY(CONTAINER, "[dw]*b")); /* both containers match */
	LEFT(400, ONLY(CONTAINER, "3f2*99"));
	LEFT(600, NOT(CONTAINER, "w*"));
}

/* Samples from before the name was known belong to the same container. */
static void test_a_name_that_comes_late(void **state)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	const struct profile_filter filter = ONLY(CONTAINER, "web");
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");

	(void)state;
	add_owned(p, line, 5, &(struct owner){.pid = 1, .container = WEB_ID});
	add_owned(p, line, 3, &(struct owner){.pid = 2, .container = DB_ID});
	add_owned(p, line, 7,
		  &(struct owner){.pid = 1, .container = WEB_ID, .name = "web"});
	assert_int_equal(filter_profile(p, &filter, 1, &n, NULL), 0);
	assert_int_equal(p->nr_samples, 2);
	assert_int_equal(n->left.samples, 12);
	assert_int_equal(n->matches[0].nr, 1);
	assert_string_equal(n->matches[0].id, WEB_ID);
}

/* A name has precedence over an id that begins with it. */
static void test_name_before_prefix(void **state)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	const struct profile_filter filter = ONLY(CONTAINER, "cafe");
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");

	(void)state;
	add_owned(p, line, 5,
		  &(struct owner){.pid = 1, .container = WEB_ID, .name = "cafe"});
	add_owned(p, line, 7, &(struct owner){.pid = 2, .container = "cafe0123"});
	assert_int_equal(filter_profile(p, &filter, 1, &n, NULL), 0);
	assert_int_equal(p->nr_samples, 1);
	assert_int_equal(n->left.samples, 5);
	assert_int_equal(n->matches[0].nr, 1);
	assert_string_equal(n->matches[0].name, "cafe");
	assert_string_equal(n->matches[0].id, WEB_ID);
}

static void test_other_kinds(void **state)
{
	(void)state;
	LEFT(130, ONLY(UNIT, "ssh.service"));
	LEFT(130, ONLY(UNIT, "ssh"));
	LEFT(870, NOT(UNIT, "ssh"));
	LEFT(130, ONLY(UNIT, "s*h"));
	LEFT(130, ONLY(UNIT, "ss?.serv*"));
	LEFT(20, ONLY(POD, POD_UID));
	LEFT(20, ONLY(POD, "0c5b2c6e_8a55"));
	LEFT(450, ONLY(PID, "100"));
	LEFT(500, ONLY(PID, "100"), ONLY(PID, "600"), ONLY(PID, "500"));
	LEFT(110, ONLY(THREAD, "101"));
	LEFT(400, ONLY(COMM, "nginx*"));
	LEFT(290, ONLY(COMM, "nginx"));
	LEFT(500, ONLY(COMM, "[nk]*"));
	LEFT(130, ONLY(USER, "root"));
	LEFT(300, ONLY(USER, "999"));
	LEFT(500, ONLY(CGROUP, "/system.slice"));
	LEFT(500, ONLY(CGROUP, "system.slice/"));
	LEFT(100, ONLY(CGROUP, "/sys/fs/cgroup/system.slice/ssh.service"));
	LEFT(850, ONLY(CGROUP, "/"));
	LEFT(330, ONLY(CGROUP, "/machine.slice"));
}

static void test_kinds_are_joined(void **state)
{
	(void)state;
	LEFT(110, ONLY(CONTAINER, "web"), NOT(COMM, "nginx"));
	LEFT(30, ONLY(COMM, "ssh*"), ONLY(CONTAINER, "debian"));
	LEFT(100, ONLY(UNIT, "ssh"), ONLY(CONTAINER, "-"));
	LEFT(400, ONLY(PID, "100"), NOT(CONTAINER, CACHE_ID));
	LEFT(50, ONLY(CONTAINER, "77"), ONLY(PID, "100"), ONLY(USER, "www-data"));
}

static void refuse(const char *sentence, const struct profile_filter *filters, size_t nr)
{
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	struct error err = {0};
	uint64_t left;

	assert_int_equal(narrow(filters, nr, &left, &n, &err), -ENODATA);
	assert_int_equal(err.exit_code, EXIT_NO_SAMPLES);
	assert_string_equal(err.text, sentence);
	assert_int_equal(left, 1000);
	assert_null(n);
}

#define REFUSED(sentence, ...)                                         \
	refuse(sentence, (const struct profile_filter[]){__VA_ARGS__}, \
	       ARRAY_SIZE(((const struct profile_filter[]){__VA_ARGS__})))

static void test_nothing_matches(void **state)
{
	(void)state;
	REFUSED("no sample is of container \"wbe\"; there is \"web\" (3f2a8c9d0e1f)",
		ONLY(CONTAINER, "wbe"));
	REFUSED("no sample is of container \"WEB\"; there is \"web\" (3f2a8c9d0e1f)",
		ONLY(CONTAINER, "WEB"));
	REFUSED("no sample is of container \"qqqqqq\" or \"debain\"; there is \"debian\" "
		"(debian)",
		ONLY(CONTAINER, "qqqqqq"), ONLY(CONTAINER, "debain"));
	REFUSED("no sample is of container \"qqqqqq\"; \"lineburn report --by "
		"container\" "
		"lists what there is",
		ONLY(CONTAINER, "qqqqqq"));
	REFUSED("no sample is of unit \"sssh\"; \"lineburn report --by unit\" lists what "
		"there is",
		ONLY(UNIT, "sssh"));
	REFUSED("no sample is of unit \"sssh.service\"; there is \"ssh.service\"",
		ONLY(UNIT, "sssh.service"));
	REFUSED("no sample is of comm \"ngin\"; there is \"nginx\" and \"nginx-log\"",
		ONLY(COMM, "ngin"));
	REFUSED("no sample is of cgroup \"ssh.service\"; there is "
		"\"/system.slice/ssh.service\" and "
		"\"/machine.slice/systemd-nspawn@debian.service/payload/system.slice/"
		"ssh.service\"",
		ONLY(CGROUP, "ssh.service"));
	REFUSED("no sample is of pid \"7\"; \"lineburn report --by process\" lists what "
		"there is",
		ONLY(PID, "7"));
	REFUSED("no sample is of pod \"ffff\"; \"lineburn report --by pod\" lists what "
		"there is",
		ONLY(POD, "ffff"));
}

static void test_nothing_left(void **state)
{
	(void)state;
	REFUSED("no sample is of container \"web\" and of comm \"sshd\"",
		ONLY(COMM, "sshd"), ONLY(CONTAINER, "web"));
	REFUSED("no sample is of container \"db\" without being of comm \"post*\", which "
		"is excluded",
		ONLY(CONTAINER, "db"), NOT(COMM, "post*"));
	REFUSED("every sample is of comm \"*\", which is excluded", NOT(COMM, "*"));
}

static void test_no_label_at_all(void **state)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	const struct profile_filter thread = ONLY(THREAD, "4");
	struct error err = {0};

	(void)state;
	/* An empty profile is no error here: the listing reports it. */
	assert_int_equal(filter_profile(p, &thread, 1, &n, &err), 0);
	assert_int_equal(n->all.samples, 0);
	add_stack(p, 0, 5,
		  add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1"));
	filtered_free(n);
	n = NULL;
	assert_int_equal(filter_profile(p, &thread, 1, &n, &err), -ENODATA);
	assert_string_equal(err.text,
			    "no sample is of thread \"4\"; no sample of this profile "
			    "has a known thread: record with --tid");
}

/* The message is not overrun by names of any length or bytes. */
static void test_long_names(void **state)
{
	static char value[5000], name[5000];
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	struct profile_filter filters[FILTER_MAX_FILTERS];
	struct error err = {0};
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	memset(name, 'x', sizeof(name) - 3);
	memcpy(name, "\033\xff\n", 3);
	add_owned(p, line, 5, &(struct owner){.pid = 1, .cgroup = name});
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		filters[i] = (struct profile_filter){FILTER_CGROUP, false, value};
	assert_int_equal(filter_profile(p, filters, ARRAY_SIZE(filters), &n, &err),
			 -ENODATA);
	assert_true(strlen(err.text) > 500 && strlen(err.text) < sizeof(err.text));
}

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	strpool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_a_name_that_comes_late),
		cmocka_unit_test(test_name_before_prefix),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_kinds_are_joined),
		cmocka_unit_test(test_nothing_matches),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_no_label_at_all),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
