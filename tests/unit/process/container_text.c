// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of runtimes about containers: valid, broken, and hostile. */
#include "process/container_name.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define ID  "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"
#define ID2 "a8f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73"
#define UID "6f2c1d3e-4b5a-4c7d-8e9f-0123456789ab"

struct seen {
	char text[1024]; /* "id=name;" for each */
};

static void see(void *ctx, const char *id, const char *name)
{
	struct seen *seen = ctx;
	size_t used = strlen(seen->text);

	snprintf(seen->text + used, sizeof(seen->text) - used, "%.4s=%s;", id, name);
}

static const char *in_storage(const char *text, struct seen *seen)
{
	size_t len = strlen(text);
	_cleanup_free_ char *copy = malloc(len ? len : 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy, text, len);
	seen->text[0] = '\0';
	rc = container_names_in_storage(copy, len, see, seen);
	assert_true(rc == 0 || rc == -EBADMSG);
	return rc ? "bad" : seen->text;
}

/* As written by podman 4.3 and CRI-O, with a shortened "metadata". */
static void storage(void **state)
{
	struct seen seen;

	(void)state;
	assert_string_equal(
		in_storage("[{\"id\":\"" ID "\",\"names\":[\"web\"],\"image\":\"" ID2
			   "\",\"layer\":\"" ID2 "\",\"metadata\":\"{\\\"image-name\\\":"
			   "\\\"alpine\\\",\\\"name\\\":"
			   "\\\"web\\\"}\",\"created\":\"2024-01-02T03:04:05.6Z\","
			   "\"flags\":{"
			   "\"ProcessLabel\":\"\"}},{\"id\":\"" ID2
			   "\",\"names\":[\"k8s_nginx_front-7d_prod_" UID
			   "_0\",\"k8s_nginx\"]}]",
			   &seen),
		"3f4b=web;a8f4=prod/front-7d/nginx;");
	assert_string_equal(in_storage("[]", &seen), "");
	/* Invalid entries do not hide valid ones. */
	assert_string_equal(
		in_storage("[null,7,[],{\"id\":7,\"names\":[\"x\"]},{\"id\":\"" ID
			   "\"},{\"id\":\"" ID "\",\"names\":\"x\"},{\"id\":\"" ID
			   "\",\"names\":[3]},{\"id\":\"" ID
			   "\",\"names\":[]},{\"id\":\"../../etc\",\"names\":"
			   "[\"x\"]},{\"id\":\"" ID2 "\",\"names\":[\"ok\"]}]",
			   &seen),
		"a8f4=ok;");
	assert_string_equal(in_storage("{\"id\":\"" ID "\"}", &seen), "bad");
	assert_string_equal(in_storage("", &seen), "bad");
	assert_string_equal(in_storage("[{\"id\":\"" ID, &seen), "bad");
	assert_string_equal(in_storage("[\"\xff\"]", &seen), "bad");
	assert_string_equal(in_storage("[\"a\\u0000b\"]", &seen), "bad");
}

static void deep_nesting_is_refused(void **state)
{
	_cleanup_free_ char *text = malloc(100001);
	struct seen seen;

	(void)state;
	assert_non_null(text);
	memset(text, '[', 100000);
	text[100000] = '\0';
	assert_string_equal(in_storage(text, &seen), "bad");
}

static const char *in_docker(const char *text)
{
	static char name[CONTAINER_NAME_BYTES];

	strcpy(name, "unchanged");
	container_name_in_docker(text, strlen(text), name);
	return name;
}

static void docker(void **state)
{
	char text[2 * CONTAINER_NAME_BYTES], name[CONTAINER_NAME_BYTES];

	(void)state;
	assert_string_equal(in_docker("{\"ID\":\"" ID "\",\"Config\":{\"Name\":\"no\"},"
				      "\"Name\":\"/sad_tesla\"}"),
			    "sad_tesla");
	assert_string_equal(
		in_docker("{\"Name\":\"/k8s_POD_dns_kube-system_" UID "_12\"}"),
		"kube-system/dns/POD");
	/* An incomplete name of Kubernetes is kept as it is. */
	assert_string_equal(in_docker("{\"Name\":\"/k8s_a_b\"}"), "k8s_a_b");
	assert_string_equal(in_docker("{\"Name\":\"/k8s___a_b_c\"}"), "k8s___a_b_c");
	assert_string_equal(in_docker("{\"Name\":\"/\"}"), "unchanged");
	assert_string_equal(in_docker("{\"Name\":7}"), "unchanged");
	assert_string_equal(in_docker("[]"), "unchanged");
	assert_string_equal(in_docker("not json"), "unchanged");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "{\"Name\":\"/%s\"}", name);
	assert_string_equal(in_docker(text), name);
	snprintf(text, sizeof(text), "{\"Name\":\"/%sn\"}", name);
	assert_string_equal(in_docker(text), "unchanged");
}

static void logs(void **state)
{
	static const char *const others[] = {"",
					     ".log",
					     "-" ID ".log",
					     "a_b-" ID ".log",
					     "a__c-" ID ".log",
					     "_b_c-" ID ".log",
					     "a_b_-" ID ".log",
					     "a_b_c" ID ".log",
					     "a_b_c-" ID ".log.1",
					     "a_b_c-" ID,
					     "a_b_c-" UID ".log",
					     "a_b_c-3" ID ".log"};
	char id[CONTAINER_HEX_ID_LEN + 1], name[CONTAINER_NAME_BYTES];

	(void)state;
	assert_true(container_of_log("front-7d-x2_prod_nginx-" ID ".log", id, name));
	assert_string_equal(id, ID);
	assert_string_equal(name, "prod/front-7d-x2/nginx");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (container_of_log(others[i], id, name))
			fail_msg("%s", others[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storage),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(docker),
		cmocka_unit_test(logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
