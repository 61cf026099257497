// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page as a file: names from a profile are text everywhere, the policy names what may
 * run, and the data is that of the profile. tests/nightly/html.sh opens it in a browser.
 */
#include "unit/export/cases.h"

#include <jansson.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "analyze/source.h"
#include "base/escape.h"
#include "render/page_data.h"
#include "render/render.h"

static struct strpool *pool;
static struct profile *p;
static char *page;
static size_t page_len;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	p->extra.present = true;
	page = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(page);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static void render(void)
{
	static const struct attribution_options options = {0};
	static const struct source_search nowhere = {.is_strangers = true};
	static const struct render_options opts = {0};
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	struct render_input in = {.profile = p};
	FILE *out = open_memstream(&page, &page_len);

	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(source_attach(a, p, &nowhere), 0);
	in.attribution = a;
	assert_int_equal(render_annotate_html(&in, &opts, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(page), page_len);
}

/* The text from @begin to @end, heap. */
static char *between(const char *begin, const char *end)
{
	const char *first = strstr(page, begin), *last;

	assert_non_null(first);
	first += strlen(begin);
	last = strstr(first, end);
	assert_non_null(last);
	return strndup(first, (size_t)(last - first));
}

/* A JSON block; fails if it could end its script. */
static json_t *data(const char *id)
{
	_cleanup_free_ char *text = NULL;
	char begin[64];
	json_error_t error;
	json_t *root;

	snprintf(begin, sizeof(begin), "id=\"%s\">", id);
	text = between(begin, "</script>");
	assert_null(strchr(text, '<'));
	for (const char *c = text; *c; c++)
		assert_in_range(*c, 0x20, 0x7e);
	root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(root);
	return root;
}

static size_t count_of(const char *text)
{
	size_t nr = 0;

	for (const char *at = page; (at = strstr(at, text)); at += strlen(text))
		nr++;
	return nr;
}

static void assert_policy_has(const char *policy, const char *text, size_t len)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hash[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = "";
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, len, (const uint8_t *)text);
	sha256_digest(&ctx, sizeof(digest), digest);
	base64_encode_raw(hash, sizeof(digest), digest);
	assert_non_null(strstr(policy, hash));
}

static void the_policy_names_what_runs(void **state)
{
	_cleanup_free_ char *policy = NULL, *style = NULL;
	size_t nr = 0;

	(void)state;
	build_mixed_export(p);
	render();
	policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
	assert_ptr_equal(strstr(policy, "default-src 'none'; "), policy);
	assert_null(strstr(policy, "unsafe"));
	style = between("<style>", "</style>");
	assert_policy_has(policy, style, strlen(style));
	for (const char *at = page; (at = strstr(at, "<script>")); nr++) {
		const char *end = strstr(at, "</script>");

		at += strlen("<script>");
		assert_policy_has(policy, at, (size_t)(end - at));
	}
	assert_int_equal(nr, 3);
	/* Nothing else of the page can run or load. */
	assert_int_equal(count_of("<script"), 5);
	assert_int_equal(count_of("<style"), 1);
	assert_int_equal(count_of(" src="), 0);
	assert_int_equal(count_of(" style="), 0);
	assert_int_equal(count_of("<link"), 0);
}

static void hostile_names_are_text(void **state)
{
	struct profile_source source = {
		.path = strpool_add(pool, "/tmp/" EXPORT_EVIL ".py"),
		.nr_lines = 2,
		.nr_runs = 1,
		.owner = ""};
	json_t *facts, *stacks;
	const char *text;

	(void)state;
	build_hostile_export(p);
	source.runs = calloc(1, sizeof(*source.runs));
	source.runs[0].first_line = 1;
	source.runs[0].nr_lines = 2;
	source.runs[0].text =
		strdup("<!--<script>\nx = 1 </script><!-- \xe2\x80\xa8\xff\x01");
	assert_int_equal(profile_add_source(p, &source), 0);
	profile_set_command(p, (char *[]){"/bin/" EXPORT_EVIL, "</title>", NULL});
	render();
	assert_null(strstr(page, "alert(1)</script>"));
	assert_null(strstr(page, "</title></title>"));
	assert_int_equal(count_of("</title>"), 1);
	assert_int_equal(count_of("<!--"), 0);
	assert_int_equal(count_of("<script"), 5);
	assert_null(strchr(page, '\033'));
	assert_null(strstr(page, "\xe2\x80\xae"));
	facts = data("facts-data");
	stacks = data("stacks-data");
	text = json_string_value(json_array_get(
		json_array_get(json_object_get(
				       json_array_get(json_object_get(facts, "files"), 0),
				       "runs"),
			       0),
		2));
	assert_string_equal(text, "x = 1 </script><!-- \\u{2028}\\xff\\x01");
	assert_non_null(strstr(
		json_string_value(json_array_get(json_object_get(stacks, "paths"), 0)),
		"</script>"));
	json_decref(facts);
	json_decref(stacks);
}

static int64_t number(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

/* Sums of samples by the line that is charged, from the page's own arrays. */
static int64_t self_of(const json_t *stacks, int64_t line)
{
	const json_t *samples = json_object_get(stacks, "samples");
	const json_t *nodes = json_object_get(stacks, "nodes");
	const json_t *frames = json_object_get(stacks, "frames");
	int64_t node = 0, sum = 0;

	for (size_t i = 0; i < json_array_size(samples); i += 5) {
		int64_t at = node += number(samples, i), up = number(samples, i + 1);

		if (up < 0)
			continue;
		while (up-- > 0)
			at -= number(nodes, 2 * (size_t)at);
		if (number(frames, 2 * (size_t)number(nodes, 2 * (size_t)at + 1) + 1) ==
		    line)
			sum += number(samples, i + 3);
	}
	return sum;
}

static void samples_are_charged_as_in_annotate(void **state)
{
	json_t *stacks;

	(void)state;
	build_mixed_export(p);
	render();
	stacks = data("stacks-data");
	assert_int_equal(self_of(stacks, 4), 40);
	assert_int_equal(self_of(stacks, 13), 20 + 12 + 2);
	assert_int_equal(self_of(stacks, 31), 5);
	assert_int_equal(self_of(stacks, 17), 30);
	assert_int_equal(self_of(stacks, 40), 8);
	assert_string_equal(json_string_value(json_object_get(stacks, "cut")), "");
	/* app and python3 are programs to choose from. */
	assert_int_equal(
		json_array_size(json_object_get(
			json_array_get(json_object_get(stacks, "labels"), 0), "values")),
		2);
	json_decref(stacks);
}

/* Stacks that have nothing in common but their first frame and their last ones. */
static void add_many(uint32_t nr, uint32_t depth)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	_cleanup_free_ uint32_t *stack = calloc(depth, sizeof(*stack));
	uint32_t known[500], leaves[10];
	char frame[64];

	for (uint32_t i = 0; i < 500; i++) {
		snprintf(frame, sizeof(frame), "f%u@/a.c:%u", i, 1 + i);
		known[i] = add_location(p, app, i, MISS_NONE, frame);
	}
	for (uint32_t i = 0; i < 10; i++) {
		snprintf(frame, sizeof(frame), "leaf@/b.c:%u", 1 + i);
		leaves[i] = add_location(p, app, 1000 + i, MISS_NONE, frame);
	}
	srandom(1);
	for (uint32_t i = 0; i < nr; i++) {
		for (uint32_t k = 1; k < depth; k++)
			stack[k] = known[random() % 500];
		stack[0] = leaves[i % 10];
		profile_add_sample(p, stack, depth, NULL, 0, 0,
				   (int64_t[]){i ? 1 : 1000, i ? 10 : 10000});
	}
}

static void a_large_profile_loses_callers(void **state)
{
	json_t *stacks;
	int64_t sum = 0;

	(void)state;
	add_many(10000, 40);
	render();
	assert_in_range(page_len, PAGE_MAX_BYTES / 2, 1500 << 10);
	stacks = data("stacks-data");
	for (int64_t line = 1; line <= 10; line++)
		sum += self_of(stacks, line);
	assert_int_equal(sum, 9999 + 1000);
	assert_non_null(strstr(json_string_value(json_object_get(stacks, "cut")),
			       "The rarest stacks"));
	/* The heaviest stack is whole: its sample is far from the first node. */
	assert_int_equal(number(json_object_get(stacks, "samples"), 0), 39);
	json_decref(stacks);
}

static void there_may_be_nothing(void **state)
{
	(void)state;
	render();
	json_decref(data("facts-data"));
	json_decref(data("stacks-data"));
	assert_non_null(strstr(page, "no samples"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_policy_names_what_runs),
		TEST(hostile_names_are_text),
		TEST(samples_are_charged_as_in_annotate),
		TEST(a_large_profile_loses_callers),
		TEST(there_may_be_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
