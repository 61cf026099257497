// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page as a file: names from a profile are text everywhere, the policy names what may
 * run, and the data is that of the profile. tests/nightly/html.sh opens it in a browser.
 */
#include "unit/export/cases.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "analyze/filter.h"
#include "analyze/source.h"
#include "analyze/time_filter.h"
#include "base/escape.h"
#include "render/page_data.h"
#include "render/page_json.h"
#include "render/page_stacks.h"
#include "render/render.h"
#include "unit/profile/owners.h"

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

static void render_with(const struct machine_code *code)
{
	static const struct attribution_options options = {0};
	static const struct source_search nowhere = {.is_strangers = true};
	static const struct render_options opts = {0};
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	struct render_input in = {.profile = p, .machine_code = code};
	FILE *out = open_memstream(&page, &page_len);

	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(source_attach(a, p, &nowhere), 0);
	in.attribution = a;
	assert_int_equal(render_annotate_html(&in, &opts, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(page), page_len);
}

static void render(void)
{
	render_with(NULL);
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

/* The weight of a sample's parts in the buckets [from, to); -1: not known. */
static struct weight parts_between(const json_t *stacks, size_t sample, int64_t from,
				   int64_t to)
{
	const json_t *samples = json_object_get(stacks, "samples");
	const json_t *weights = json_object_get(stacks, "weights");
	struct weight sum = {0};
	int64_t bucket = -1;
	size_t nr = (size_t)number(samples, sample + 3);

	for (size_t i = sample + 4; i < sample + 4 + 2 * nr; i += 2) {
		size_t weight = 2 * (size_t)number(samples, i + 1);

		bucket += number(samples, i);
		if (bucket < from || bucket >= to)
			continue;
		sum.samples += (uint64_t)number(weights, weight);
		sum.cpu_ns += (uint64_t)number(weights, weight + 1);
	}
	return sum;
}

/* Whether a sample of this set has the label; a label without a name: every one. */
static bool has_label(const json_t *stacks, int64_t set, const char *name,
		      const char *value)
{
	const json_t *label;
	size_t i;

	json_array_foreach(json_object_get(stacks, "labels"), i, label)
	{
		const json_t *values = json_object_get(label, "values");
		size_t number = (size_t)json_integer_value(
			json_array_get(json_object_get(label, "ofSet"), (size_t)set));

		if (name &&
		    !strcmp(json_string_value(json_object_get(label, "name")), name))
			return !strcmp(json_string_value(json_array_get(values, number)),
				       value);
	}
	return !name;
}

/* What a line is charged with in these buckets, from the page's own arrays. */
static struct weight self_where(const json_t *stacks, int64_t line, const char *name,
				const char *value, int64_t from, int64_t to)
{
	const json_t *samples = json_object_get(stacks, "samples");
	const json_t *nodes = json_object_get(stacks, "nodes");
	const json_t *frames = json_object_get(stacks, "frames");
	struct weight sum = {0};
	int64_t node = 0;

	for (size_t i = 0; i < json_array_size(samples);
	     i += 4 + 2 * (size_t)number(samples, i + 3)) {
		int64_t at = node += number(samples, i), up = number(samples, i + 1);

		if (up < 0 || !has_label(stacks, number(samples, i + 2), name, value))
			continue;
		while (up-- > 0)
			at -= number(nodes, 2 * (size_t)at);
		if (number(frames, 2 * (size_t)number(nodes, 2 * (size_t)at + 1) + 1) ==
		    line)
			weight_add(&sum, parts_between(stacks, i, from, to));
	}
	return sum;
}

static struct weight self_between(const json_t *stacks, int64_t line, int64_t from,
				  int64_t to)
{
	return self_where(stacks, line, NULL, NULL, from, to);
}

static uint64_t self_of(const json_t *stacks, int64_t line)
{
	return self_between(stacks, line, -1, INT64_MAX).samples;
}

/* Compares @found with what the profile, as it is now, has for the line. */
static void assert_self_is(int64_t line, struct weight found, uint64_t rounding_ns)
{
	static const struct attribution_options options = {0};
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	struct weight expected = {0};

	assert_int_equal(attribution_new(p, &options, &a), 0);
	for (size_t i = 0; a->nr_files && i < a->files[0].nr_lines; i++)
		if (a->files[0].lines[i].line == line)
			expected = a->files[0].lines[i].self;
	assert_int_equal(found.samples, expected.samples);
	assert_in_range(found.cpu_ns + rounding_ns, expected.cpu_ns,
			expected.cpu_ns + 2 * rounding_ns);
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

/* ---- the size of a page ---- */

#define MAX_PAGE_BYTES 1499999 /* docs/formats.md: less than 1.5 MB */

/* Stacks that have nothing in common but their first frame and their last ones. */
static void add_many(uint32_t nr, uint32_t depth, uint32_t nr_threads)
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
		const struct profile_label labels[] = {
			{.key = LABEL_PID, .str = "", .num = 1, .unit = ""},
			{.key = LABEL_TID, .str = "", .num = i % nr_threads, .unit = ""},
			{.key = LABEL_COMM, .str = "worker", .unit = ""},
		};

		for (uint32_t k = 1; k < depth; k++)
			stack[k] = known[random() % 500];
		stack[0] = leaves[i % 10];
		profile_add_sample(p, stack, depth, labels, ARRAY_SIZE(labels), 0,
				   (int64_t[]){i ? 1 : 1000, i ? 10 : 10000});
	}
}

static void a_large_profile_loses_callers(void **state)
{
	json_t *stacks;
	uint64_t sum = 0;

	(void)state;
	add_many(10000, 40, 1);
	render();
	assert_in_range(page_len, PAGE_MAX_BYTES / 2, MAX_PAGE_BYTES);
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

/* One stack has more frames than a page has room for. */
static void a_stack_that_is_too_deep_loses_its_callers(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app"), nr = 500000;
	uint32_t *stack = calloc(nr, sizeof(*stack));
	json_t *stacks;

	(void)state;
	stack[0] = add_location(p, app, 16, MISS_NONE, "leaf@/a.c:1");
	stack[1] = add_location(p, app, 32, MISS_NONE, "caller@/a.c:11");
	for (uint32_t i = 2; i < nr; i++)
		stack[i] = stack[i % 2];
	profile_add_sample(p, stack, nr, NULL, 0, 0, (int64_t[]){7, 7 * PERIOD_NS});
	add_stack(p, 0, 3, stack[0], stack[1]);
	render();
	assert_in_range(page_len, 1, PAGE_MAX_BYTES / 2);
	stacks = data("stacks-data");
	assert_int_equal(self_of(stacks, 1), 10);
	/* The other stack is whole. */
	assert_int_equal(json_array_size(json_object_get(stacks, "nodes")), 2 * (2 + 2));
	json_decref(stacks);
	free(stack);
}

/* More lines than a page has room for, the first ones the heaviest. */
static void many_lines_lose_the_rarest(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	json_t *stacks;
	const char *cut;

	(void)state;
	for (uint32_t i = 0; i < 60000; i++) {
		char frame[96];
		uint32_t at;

		snprintf(frame, sizeof(frame), "a_function_of_the_program_%u@/a.c:%u",
			 i / 4, 1 + i);
		at = add_location(p, app, 16 * i, MISS_NONE, frame);
		add_stack(p, 0, i < 10 ? 100 : 1, at);
	}
	render();
	assert_in_range(page_len, PAGE_MAX_BYTES / 2, MAX_PAGE_BYTES);
	stacks = data("stacks-data");
	for (int64_t line = 1; line <= 10; line++)
		assert_int_equal(self_of(stacks, line), 100);
	assert_int_equal(self_of(stacks, 60000), 0);
	cut = json_string_value(json_object_get(stacks, "cut"));
	assert_non_null(strstr(cut, "The rarest lines, "));
	json_decref(stacks);
}

/* Adds a file of @nr_lines lines, each @line, whose line 1 has samples. */
static void add_source_of(const char *path, const char *line, uint32_t nr_lines)
{
	struct profile_source source = {.path = strpool_add(pool, path),
					.nr_lines = nr_lines,
					.nr_runs = 1,
					.owner = ""};
	size_t len = strlen(line) + 1;
	char frame[96], *text = calloc(nr_lines, len);

	for (uint32_t i = 0; i < nr_lines; i++) {
		memcpy(text + i * len, line, len);
		text[i * len + len - 1] = i + 1 < nr_lines ? '\n' : '\0';
	}
	source.runs = calloc(1, sizeof(*source.runs));
	*source.runs = (struct profile_source_run){
		.first_line = 1, .nr_lines = nr_lines, .text = text};
	assert_int_equal(profile_add_source(p, &source), 0);
	snprintf(frame, sizeof(frame), "f@%s:1", path);
	add_stack(p, 0, 5, add_location(p, 0, 5000 + p->nr_locations, MISS_NONE, frame));
}

/* Bytes of all strings in the runs of sources, as the page has them. */
static size_t source_bytes(const json_t *facts)
{
	const json_t *file, *run, *line;
	size_t i, k, n, bytes = 0;

	json_array_foreach(json_object_get(facts, "files"), i, file)
		json_array_foreach(json_object_get(file, "runs"), k, run)
			json_array_foreach(run, n, line) if (json_is_string(line))
				bytes += page_text_bytes(json_string_value(line));
	return bytes;
}

/*
 * 60 files of 20 KB, which have 3 to 6 times as many bytes in JSON: they take their part of
 * the page and no more, and stacks with many labels get the rest.
 */
static void a_page_of_any_text_is_small(void **state)
{
	static const char *const texts[] = {
		"if (a << 7 < b << 7 && c < d << e) <<<<<<<<<<<",
		"\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96"
		"\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96\xd0\x96",
		"\\\"\\\"\\\"\\\"\\\"\\\"\t\t\t\t\t\t\t\t\xff\xff\xff\xff\xff\xff",
	};
	char path[64];
	json_t *facts, *stacks;

	(void)state;
	add_many(10000, 40, 4000);
	for (uint32_t i = 0; i < 60; i++) {
		const char *text = texts[i % ARRAY_SIZE(texts)];

		snprintf(path, sizeof(path), "/src/%u.c", i);
		add_source_of(path, text, (20 << 10) / ((uint32_t)strlen(text) + 1));
	}
	render();
	assert_in_range(page_len, PAGE_MAX_BYTES / 2, MAX_PAGE_BYTES);
	facts = data("facts-data");
	assert_in_range(source_bytes(facts), PAGE_MAX_SOURCE_BYTES / 2,
			PAGE_MAX_SOURCE_BYTES);
	json_decref(facts);
	stacks = data("stacks-data");
	assert_true(
		self_where(stacks, 1, "Thread", "worker (10)", -1, INT64_MAX).samples >
		0);
	json_decref(stacks);
}

/* What a text counts for is what it has in the page. */
static void texts_count_as_json(void **state)
{
	static const char *const texts[] = {
		"",
		"plain text",
		"<<b>>",
		"\"quoted\\path\"",
		"a\tb\x01\x7f",
		"\xd0\x96\xe4\xbd\xa0\xf0\x9f\x94\xa5",
		"\xff\xfe bad, cut \xe4\xbd",
		"\xe2\x80\xae\xc2\x9b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json_builder b = {0};
		json_t *array = json_array();
		_cleanup_free_ char *json = NULL;

		json_add(&b, array, json_visible(texts[i], PAGE_MAX_NAME_BYTES));
		json_add(&b, array, json_visible(texts[i], PAGE_MAX_NAME_BYTES));
		json = page_json_print(&b, array);
		assert_int_equal(strlen(json) + 1 - strlen("[]"),
				 2 * page_text_bytes(texts[i]));
	}
}

/* ---- labels ---- */

struct labelled {
	uint32_t line, pid, tid;
	const char *comm, *id, *name;
	int64_t count;
};

static const struct labelled all_labelled[] = {
	{12, 10, 10, "web", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "front", 7},
	{12, 10, 11, "web-worker", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "front", 20},
	{40, 10, 11, "web-worker", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "front", 3},
	{12, 20, 20, "db", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "", 5},
	{40, 30, 30, "cron", "", "", 11},
};

static void add_labelled(void)
{
	uint32_t app = add_mapping(p, "/home/me/app");

	for (size_t i = 0; i < ARRAY_SIZE(all_labelled); i++) {
		const struct labelled *l = &all_labelled[i];
		const struct profile_label labels[] = {
			{.key = LABEL_PID, .str = "", .num = l->pid, .unit = ""},
			{.key = LABEL_TID, .str = "", .num = l->tid, .unit = ""},
			{.key = LABEL_COMM, .str = l->comm, .unit = ""},
			{.key = LABEL_EXE, .str = "/usr/bin/app", .unit = ""},
			{.key = LABEL_CONTAINER, .str = l->id, .unit = ""},
			{.key = LABEL_CONTAINER_NAME, .str = l->name, .unit = ""},
		};
		char frame[64];
		uint32_t at;

		snprintf(frame, sizeof(frame), "f@/a.c:%u", l->line);
		at = add_location(p, app, 100 + i, MISS_NONE, frame);
		profile_add_sample(p, &at, 1, labels, *l->id ? ARRAY_SIZE(labels) : 4, 0,
				   (int64_t[]){l->count, l->count * 1000});
	}
}

static void the_filters_of_a_page_are_those_of_annotate(void **state)
{
	static const struct {
		const char *name, *value;
		enum filter_kind kind;
		const char *filter;
	} filters[] = {
		{"Process", "app (10)", FILTER_PID, "10"},
		{"Process", "app (30)", FILTER_PID, "30"},
		{"Thread", "web (10)", FILTER_THREAD, "10"},
		{"Thread", "web-worker (11)", FILTER_THREAD, "11"},
		{"Container", "front", FILTER_CONTAINER, "front"},
		{"Container", "bbbbbbbbbbbb", FILTER_CONTAINER, "bbbbbbbbbbbb"},
		{"Container", "", FILTER_CONTAINER, "-"},
	};
	json_t *stacks;

	(void)state;
	add_labelled();
	render();
	stacks = data("stacks-data");
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		const struct profile_filter filter = {.kind = filters[i].kind,
						      .value = filters[i].filter};
		_cleanup_(filtered_freep) struct filtered *n = NULL;
		struct error err = {0};

		profile_free(p);
		p = profile_new(pool);
		add_labelled();
		if (filter_profile(p, &filter, 1, &n, &err))
			fail_msg("%s", err.text);
		for (int64_t line = 12; line <= 40; line += 28)
			assert_self_is(line,
				       self_where(stacks, line, filters[i].name,
						  filters[i].value, -1, INT64_MAX),
				       0);
	}
	json_decref(stacks);
}

/* ---- kinds, which have colours ---- */

static void a_function_has_the_kind_of_its_code(void **state)
{
	static const struct {
		const char *name;
		enum page_kind kind;
		bool is_library;
	} expected[] = {
		{"work", PAGE_YOURS, false},   {"square", PAGE_YOURS, false},
		{"crc32", PAGE_LIBRARY, true}, {"<module>", PAGE_PYTHON, false},
		{"dither", PAGE_JIT, false},   {"vfs_read", PAGE_KERNEL, false},
		{"np_sum", PAGE_PYTHON, true}, {"jit_sum", PAGE_JIT, true},
	};
	json_t *stacks;
	const json_t *functions, *texts;

	(void)state;
	build_mixed_export(p);
	add_stack(p, 0, 1,
		  add_location(p, add_mapping(p, PROFILE_PYTHON), 0x70, MISS_NONE,
			       "np_sum@/usr/lib/python3/dist-packages/np.py:3"));
	add_stack(p, 0, 1,
		  add_location(p, add_mapping(p, PROFILE_JIT), 0x80, MISS_NONE,
			       "jit_sum@/usr/lib/python3/dist-packages/np.py:9"));
	render();
	stacks = data("stacks-data");
	functions = json_object_get(stacks, "functions");
	texts = json_object_get(stacks, "texts");
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		int64_t flags = -1;

		for (size_t k = 0; k < json_array_size(functions); k += 5)
			if (!strcmp(json_string_value(json_array_get(
					    texts, (size_t)number(functions, k))),
				    expected[i].name))
				flags = number(functions, k + 4);
		assert_int_not_equal(flags, -1);
		assert_int_equal(flags & 7, expected[i].kind);
		assert_int_equal(!!(flags & 8), expected[i].is_library);
	}
	json_decref(stacks);
}

/* ---- containers ---- */

/* "web 5": a container of the page, and its samples; fails if it is not there. */
static void assert_container(const json_t *stacks, const char *text, uint64_t samples)
{
	if (self_where(stacks, 1, "Container", text, -1, INT64_MAX).samples != samples)
		fail_msg("%s has not %" PRIu64 " samples", text, samples);
}

/* The page's containers are those of report --by container. */
static void containers_are_told_apart_by_id(void **state)
{
	/* Others have the first 12 digits of one. */
	static const char *const like[] = {
		"3f2a8c9d0e1f0000000000000000000000000000000000000000000000000000",
		"3f2a8c9d0e1f1111111111111111111111111111111111111111111111111111"};
	uint32_t l = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/a.c:1");
	json_t *stacks, *label;
	char text[128];

	(void)state;
	add_owned(p, l, 1, &(struct owner){.comm = "host"});
	add_owned(p, l, 2, &(struct owner){.container = DB_ID, .runtime = "docker"});
	add_owned(p, l, 3,
		  &(struct owner){.container = DB_ID, .name = "db", .runtime = "docker"});
	add_owned(p, l, 4, &(struct owner){.container = CACHE_ID, .name = "web"});
	add_owned(p, l, 5,
		  &(struct owner){
			  .container = "1000/web", .name = "web", .runtime = "podman"});
	add_owned(p, l, 6, &(struct owner){.container = "1000/machine-a"});
	add_owned(p, l, 7, &(struct owner){.container = "1000/machine-b"});
	add_owned(p, l, 8, &(struct owner){.container = like[0]});
	add_owned(p, l, 9, &(struct owner){.container = like[1], .runtime = "docker"});
	add_owned(p, l, 10, &(struct owner){.container = like[1], .runtime = "podman"});
	add_owned(p, l, 11, &(struct owner){.container = WEB_ID, .runtime = "docker"});
	render();
	stacks = data("stacks-data");
	label = json_array_get(json_object_get(stacks, "labels"), 3);
	assert_string_equal(json_string_value(json_object_get(label, "name")),
			    "Container");
	assert_int_equal(json_array_size(json_object_get(label, "values")), 10);
	assert_container(stacks, "", 1);
	assert_container(stacks, "db", 5);
	assert_container(stacks, "web (77aa8c9d0e1f)", 4);
	assert_container(stacks, "web (1000/web, podman)", 5);
	assert_container(stacks, "1000/machine-a", 6);
	assert_container(stacks, "1000/machine-b", 7);
	assert_container(stacks, "3f2a8c9d0e1f", 8);
	snprintf(text, sizeof(text), "(%s, docker)", like[1]);
	assert_container(stacks, text, 9);
	assert_container(stacks, "3f2a8c9d0e1f (podman)", 10);
	assert_container(stacks, "(" WEB_ID ", docker)", 11);
	json_decref(stacks);
}

/* ---- instructions ---- */

/* Three instructions of line 12, two of line 13. A caller has the address it returns to. */
static const struct instruction decoded[] = {
	{.address = 0x1000, .size_bytes = 10, .text = "mov rax, <evil>"},
	{.address = 0x100a, .size_bytes = 10, .text = "idiv esi"},
	{.address = 0x1014, .size_bytes = 10, .text = "add r8d, eax"},
	{.address = 0x101e,
	 .size_bytes = 100,
	 .text = "call 0x2000",
	 .flow = INSTRUCTION_CALL},
	{.address = 0x1082, .size_bytes = 1, .text = "ret"},
};

static struct machine_code *decode_by_hand(void)
{
	struct profile_code *code = calloc(1, sizeof(*code));
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t at_idiv = add_location(p, app, 0x100a, MISS_NONE, "work@/a.c:12");
	uint32_t at_add = add_location(p, app, 0x1014, MISS_NONE, "work@/a.c:12");
	uint32_t at_call = add_location(p, app, 0x1082, MISS_NONE, "work@/a.c:13");
	uint32_t below = add_location(p, app, 0x2000, MISS_NO_DEBUG_INFO, "check");
	uint32_t work = p->lines[p->locations[at_idiv].first_line].function;
	struct machine_code *m = NULL;
	struct error err = {0};

	add_stack(p, 0, 70, at_idiv);
	add_stack(p, 0, 20, at_add);
	add_stack(p, 0, 10, below, at_call);
	*code = (struct profile_code){
		.mapping = app, .address = 0x1000, .size_bytes = 131, .nr_rows = 2};
	code->rows = calloc(2, sizeof(*code->rows));
	code->rows[0] = (struct profile_code_row){0x1000, {work, 12}};
	code->rows[1] = (struct profile_code_row){0x101e, {work, 13}};
	p->extra.codes = code;
	p->extra.nr_codes = p->extra.cap_codes = 1;
	if (machine_code_new(p, machine_code_of_all, &m, &err))
		fail_msg("%s", err.text);
	assert_int_equal(m->nr, 1);
	m->pieces[0].nr = ARRAY_SIZE(decoded);
	m->pieces[0].instructions = malloc(sizeof(decoded));
	memcpy(m->pieces[0].instructions, decoded, sizeof(decoded));
	m->pieces[0].bytes = calloc(1, 131);
	assert_int_equal(machine_code_place(m, p), 0);
	return m;
}

static void a_line_has_its_instructions(void **state)
{
	static const int64_t expected[][5] = {
		/* address, line, samples, CPU, CPU of what it calls */
		{0x1000, 12, 0, 0, 0},
		{0x100a, 12, 70, 70ll * PERIOD_NS, 0},
		{0x1014, 12, 20, 20ll * PERIOD_NS, 0},
		{0x101e, 13, 0, 0, 10ll * PERIOD_NS},
		{0x1082, 13, 0, 0, 0},
	};
	_cleanup_(machine_code_freep) struct machine_code *m = decode_by_hand();
	json_t *facts;
	const json_t *piece, *at, *texts;

	(void)state;
	render_with(m);
	facts = data("facts-data");
	piece = json_array_get(json_object_get(facts, "code"), 0);
	at = json_object_get(piece, "at");
	texts = json_object_get(piece, "texts");
	assert_string_equal(json_string_value(json_object_get(piece, "function")),
			    "work");
	assert_string_equal(json_string_value(json_object_get(piece, "object")), "app");
	assert_int_equal(json_array_size(at), 6 * ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_string_equal(json_string_value(json_array_get(texts, i)),
				    decoded[i].text);
		assert_int_equal(number(at, 6 * i), expected[i][0]);
		assert_int_equal(number(at, 6 * i + 1), 0); /* the file's number */
		for (size_t k = 1; k < 5; k++)
			assert_int_equal(number(at, 6 * i + 1 + k), expected[i][k]);
	}
	json_decref(facts);
}

/* ---- times ---- */

#define SECOND_NS 1000000000ull

static void add_time(uint32_t sample, double second, uint64_t count)
{
	const struct series_lists all = {&p->samples->times, p->nr_samples,
					 sizeof(*p->samples)};

	assert_int_equal(series_add(&p->times, &p->samples[sample].times,
				    p->times.begin_ns + (uint64_t)(second * 1e9), count,
				    &all),
			 0);
}

/* Two addresses of line 12 that had different periods, and line 40. */
static void add_timed(void)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	const uint32_t at[] = {add_location(p, app, 1, MISS_NONE, "f@/a.c:12"),
			       add_location(p, app, 2, MISS_NONE, "f@/a.c:12"),
			       add_location(p, app, 3, MISS_NONE, "g@/a.c:40")};
	const int64_t values[][2] = {{7, 700000003}, {3, 450000001}, {10, 1234567891}};

	p->times.begin_ns = 77 * SECOND_NS;
	for (uint32_t i = 0; i < 3; i++)
		profile_add_sample(p, &at[i], 1, NULL, 0, 0, values[i]);
	add_time(0, 1.25, 2);
	add_time(0, 0.75, 2);
	add_time(0, 3.05, 3);
	add_time(1, 1.25, 1);
	add_time(1, 3.95, 2);
	add_time(2, 0.05, 9);
	add_time(2, 3.95, 1);
}

/* Compares the line with the one that --time leaves. */
static void assert_line_is(const json_t *stacks, int64_t line, int64_t from, int64_t to)
{
	/* Each of two samples of the profile is rounded apart. */
	assert_self_is(line, self_between(stacks, line, from, to), 2);
}

static void a_time_of_the_page_is_that_of_time(void **state)
{
	static const struct {
		double from, to;
	} ranges[] = {{0, 4}, {0.7, 1.3}, {1.2, 1.3}, {1.3, 4}, {3.9, 4}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct time_range range = {ranges[i].from, ranges[i].to};
		int64_t from = lround(range.from * 10), to = lround(range.to * 10);
		_cleanup_(filtered_freep) struct filtered *n = NULL;
		struct error err;
		json_t *stacks;

		profile_free(p);
		p = profile_new(pool);
		add_timed();
		free(page);
		render();
		stacks = data("stacks-data");
		assert_int_equal(json_integer_value(json_object_get(stacks, "bucketNs")),
				 SECOND_NS / 10);
		assert_int_equal(time_filter_profile(p, &range, "", &n, &err), 0);
		assert_line_is(stacks, 12, from, to);
		assert_line_is(stacks, 40, from, to);
		json_decref(stacks);
	}
}

static void all_parts_are_the_whole(void **state)
{
	json_t *stacks;
	struct weight all;

	(void)state;
	add_timed();
	render();
	stacks = data("stacks-data");
	all = self_between(stacks, 12, 0, 40);
	assert_int_equal(all.samples, 10);
	assert_int_equal(all.cpu_ns, 700000003 + 450000001);
	assert_int_equal(self_between(stacks, 12, -1, 0).samples, 0);
	assert_int_equal(self_between(stacks, 12, 39, 40).samples, 2);
	json_decref(stacks);
}

static void a_profile_without_times_has_no_buckets(void **state)
{
	json_t *stacks;

	(void)state;
	build_mixed_export(p);
	render();
	stacks = data("stacks-data");
	assert_int_equal(json_integer_value(json_object_get(stacks, "bucketNs")), 0);
	assert_int_equal(self_between(stacks, 13, -1, 0).samples, 20 + 12 + 2);
	json_decref(stacks);
}

static void buckets_are_longer_if_there_are_many(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	json_t *stacks;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		char frame[64];
		uint32_t at;

		snprintf(frame, sizeof(frame), "f@/a.c:%u", 1 + i);
		at = add_location(p, app, i, MISS_NONE, frame);
		add_stack(p, LB_STACK_COMPLETE, 300, at);
		for (uint32_t k = 0; k < 300; k++)
			add_time(i, k / 10.0 + 0.05, 1);
	}
	render();
	stacks = data("stacks-data");
	/* Each line has samples in 300 buckets, then 150, then 75. */
	assert_int_equal(json_integer_value(json_object_get(stacks, "bucketNs")),
			 4 * SECOND_NS / 10);
	for (int64_t line = 1; line <= 200; line += 40)
		for (int64_t bucket = 0; bucket < 75; bucket++)
			assert_int_equal(
				self_between(stacks, line, bucket, bucket + 1).samples,
				4);
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
		TEST(a_stack_that_is_too_deep_loses_its_callers),
		TEST(many_lines_lose_the_rarest),
		TEST(a_page_of_any_text_is_small),
		TEST(texts_count_as_json),
		TEST(the_filters_of_a_page_are_those_of_annotate),
		TEST(a_function_has_the_kind_of_its_code),
		TEST(containers_are_told_apart_by_id),
		TEST(a_line_has_its_instructions),
		TEST(a_time_of_the_page_is_that_of_time),
		TEST(all_parts_are_the_whole),
		TEST(a_profile_without_times_has_no_buckets),
		TEST(buckets_are_longer_if_there_are_many),
		TEST(there_may_be_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
