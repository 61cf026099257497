// SPDX-License-Identifier: GPL-2.0-or-later
/* Comparisons that are made by hand, compared with tests/golden/diff.*. */
#include "lib/golden.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>

#include "render/render.h"

#define S 1e9
#define CHANGE(before, after, lowest, highest)                                        \
	{                                                                             \
		.of = {{(before)*S, (before)*1000, 0}, {(after)*S, (after)*1000, 0}}, \
		.difference = ((after) - (before)) * S, .low = (lowest)*S,            \
		.high = (highest)*S, .p = 1e-7, .is_compared = true,                  \
		.is_significant = (lowest) > 0 || (highest) < 0,                      \
	}

static struct diff_recording before[] = {
	{.name = "slow.pb.gz",
	 .all = {4208, 4208000000},
	 .samples = 4208,
	 .freq_hz = 999,
	 .per = 1,
	 .wall_ns = 5000000000,
	 .is_command = true},
	{.name = "slow2.pb.gz",
	 .all = {4100, 4100000000},
	 .samples = 4100,
	 .freq_hz = 1200,
	 .per = 1},
};
static struct diff_recording after[] = {
	{.name = "fast.pb.gz",
	 .all = {3118, 3118000000},
	 .samples = 3118,
	 .freq_hz = 999,
	 .per = 1,
	 .wall_ns = 4000000000,
	 .is_command = true},
	{.name = "fast2.pb.gz",
	 .all = {3100, 3100000000},
	 .samples = 3100,
	 .freq_hz = 4999,
	 .per = 1},
};

static struct diff_line lines[] = {
	{.path = "/srv/images/dither.py",
	 .function = "dither",
	 .line = {24, 25},
	 .text = {"                new = np.uint8(np.round(old / 255.0)) * 255",
		  "\t\tnew = 255 if old > 127 else 0"},
	 .match = LINE_CHANGED,
	 .self = CHANGE(1.803, 0.212, -1.71, -1.472),
	 .total = CHANGE(1.803, 0.212, 0, 0)},
	{.path = "/srv/images/dither.py",
	 .function = "dither",
	 .line = {0, 31},
	 .text = {NULL, "        below[:] = 0"},
	 .is_new = true,
	 .self = CHANGE(0, 0.31, 0.251, 0.38),
	 .total = CHANGE(0, 0.31, 0, 0)},
	{.path = "/srv/images/dither.py",
	 .function = "dither",
	 .line = {29, 0},
	 .text = {"        result[y, x + 1] += error * 7 // 16", NULL},
	 .is_gone = true,
	 .self = CHANGE(0.3, 0, -0.37, -0.24),
	 .total = CHANGE(0.3, 0, 0, 0)},
	{.path = "/a/path/that/is/much/longer/than/any/terminal/is/wide/at/first/sight.c",
	 .function = "",
	 .line = {7, 7},
	 .match = LINE_SAME,
	 .self = CHANGE(0.1, 0.2, 0.05, 0.16),
	 .total = CHANGE(0.1, 0.2, 0, 0)},
	{.path = "noise.c",
	 .function = "noise",
	 .line = {1, 1},
	 .match = LINE_SAME,
	 .self = CHANGE(0.9, 0.95, -0.1, 0.2),
	 .total = CHANGE(0.9, 0.95, 0, 0)},
	{.path = "few.c",
	 .function = "few",
	 .line = {2, 2},
	 .self = {.of = {{0.001 * S, 1, 0}, {0.002 * S, 2, 0}},
		  .difference = 0.001 * S,
		  .low = -0.01 * S,
		  .high = 0.01 * S,
		  .p = 1},
	 .total = CHANGE(0.001, 0.002, 0, 0)},
};

static struct diff_function functions[] = {
	{.name = "dither",
	 .file = "/srv/images/dither.py",
	 .object = "[jit]",
	 .start_line = {14, 15},
	 .self = CHANGE(2.103, 0.522, -1.7, -1.4),
	 .total = CHANGE(2.2, 0.6, 0, 0)},
	{.name = "",
	 .file = "",
	 .object = "libblas.so.3",
	 .self = CHANGE(0.1, 0.2, 0.05, 0.16),
	 .total = CHANGE(0.1, 0.2, 0, 0)},
	{.name = "main",
	 .file = "main.c",
	 .object = "app",
	 .start_line = {3, 3},
	 .self = CHANGE(0.9, 0.95, -0.1, 0.2),
	 .total = CHANGE(4.1, 3.1, 0, 0)},
};

static struct diff_function kernel_function = {.name = "_raw_spin_unlock_irqrestore",
					       .file = "",
					       .object = "[kernel]",
					       .self = CHANGE(0.1, 0.2, 0.05, 0.16),
					       .total = CHANGE(0.1, 0.2, 0, 0)};

static const struct profile_diff typical = {
	.per = DIFF_PER_RUN,
	.has_cpu = true,
	.counted = {"samples", "count"},
	.comparison = {.noise = 0.01, .sides = {{1, 4208, 1e6}, {1, 3118, 1e6}}},
	.recordings = {before, after},
	.whole = CHANGE(4.208, 3.118, -1.21, -0.97),
	.lines = lines,
	.nr_lines = ARRAY_SIZE(lines),
	.nr_significant_lines = 4,
	.functions = functions,
	.nr_functions = ARRAY_SIZE(functions),
	.nr_significant_functions = 2,
	.nr_compared = 45,
	.samples_needed = 12,
	.visible_growth = 0.213,
};

static struct diff_rule rules[] = {{(char *)"dither.py:dither", 0.1},
				   {(char *)"total", 0.05}};
static struct diff_verdict verdict_items[] = {
	{.is_function = true,
	 .rule = &rules[0],
	 .path = "/srv/images/dither.py",
	 .function = "dither",
	 .line = 15,
	 .change = CHANGE(2.2, 3.1, 0.6, 1.2),
	 .growth = 0.409,
	 .is_exceeded = true},
	{.rule = &rules[1],
	 .path = "",
	 .function = "",
	 .change = CHANGE(4.208, 3.118, -1.21, -0.97),
	 .growth = -0.259},
};
static const struct diff_verdicts verdicts = {
	.items = verdict_items, .nr = 2, .nr_exceeded = 1};

static void make_share(struct change *c)
{
	c->of[DIFF_BEFORE].value /= 5 * S;
	c->of[DIFF_AFTER].value /= 5 * S;
	c->difference /= 5 * S;
	c->low /= 5 * S;
	c->high /= 5 * S;
}

/* A comparison, derived from the typical one. */
static struct profile_diff diff_of(const char *name)
{
	static struct diff_line share_lines[ARRAY_SIZE(lines)];
	static struct diff_function share_functions[ARRAY_SIZE(functions)];
	static struct diff_line hostile_line;
	static struct diff_function hostile_function;
	static struct diff_recording hostile_recording, event, arm64;
	struct profile_diff d = typical;

	if (!strcmp(name, "noise")) {
		d.lines = &lines[4];
		d.nr_lines = 2;
		d.functions = &functions[2];
		d.nr_functions = 1;
		d.nr_significant_lines = d.nr_significant_functions = 0;
		d.whole = (struct change)CHANGE(4.208, 4.25, -0.1, 0.2);
		d.comparison.noise = 0;
	} else if (!strcmp(name, "several")) {
		d.per = DIFF_PER_SECOND;
		d.comparison.sides[0].nr_recordings = 2;
		d.comparison.sides[1].nr_recordings = 2;
		d.visible_growth = 0;
		d.is_filtered = d.skips_compile = true;
		d.mixed_path = "/srv/images/dither.py";
	} else if (!strncmp(name, "kernel", 6)) {
		d.functions = &kernel_function;
		d.nr_functions = d.nr_significant_functions = 1;
		event.name = "events.pb.gz";
		if (!strcmp(name, "kernel-events"))
			d.recordings[DIFF_BEFORE] = d.recordings[DIFF_AFTER] = &event;
	} else if (!strncmp(name, "arm64", 5)) {
		/* One of them is enough. */
		arm64 = after[0];
		arm64.is_of_arm64 = true;
		if (strcmp(name, "arm64-before") != 0)
			d.recordings[DIFF_AFTER] = &arm64;
		if (strcmp(name, "arm64") != 0)
			d.recordings[DIFF_BEFORE] = &arm64;
	} else if (!strcmp(name, "shares")) {
		for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
			share_lines[i] = lines[i];
			make_share(&share_lines[i].self);
			make_share(&share_lines[i].total);
		}
		for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
			share_functions[i] = functions[i];
			make_share(&share_functions[i].self);
			make_share(&share_functions[i].total);
		}
		d.lines = share_lines;
		d.functions = share_functions;
		d.per = DIFF_PER_SAMPLE;
		d.comparison.are_shares = true;
		d.whole = (struct change){.of = {{1, 4208, 0}, {1, 3118, 0}}, .p = 1};
	} else if (!strcmp(name, "hostile")) {
		hostile_line = lines[0];
		hostile_line.path = "a\x1b[2Jb,c:d%\n::error::x\xe2\x80\xae.py";
		hostile_line.function = "f\r\n::error file=x::owned\xff";
		hostile_line.text[DIFF_AFTER] = "\x1b]0;t\a </script>\xc2\x9b";
		hostile_function = functions[0];
		hostile_function.name = hostile_line.function;
		hostile_function.object = "\n\t";
		hostile_recording = before[0];
		hostile_recording.name = "\x1b[31m%s%n\n";
		hostile_recording.lost = 1000;
		d.recordings[DIFF_BEFORE] = &hostile_recording;
		d.lines = &hostile_line;
		d.functions = &hostile_function;
		d.nr_lines = d.nr_significant_lines = 1;
		d.nr_functions = d.nr_significant_functions = 1;
		d.whole = (struct change)CHANGE(0, 3.118, 2.9, 3.3);
	}
	return d;
}

struct golden {
	const char *diff, *format, *variant;
	struct render_options opts;
	bool with_verdicts;
};

static const struct golden goldens[] = {
	{"typical", "text", "100", {.width = 100}, true},
	{"typical", "text", "80", {.width = 80}, false},
	{"typical", "text", "narrow", {.width = 30}, false},
	{"typical", "text", "no-limit", {.width = 0}, false},
	{"typical", "text", "colour", {.width = 100, .colour = true}, true},
	{"typical", "text", "rows", {.width = 100, .limit = 1}, false},
	{"typical", "json", "", {.width = 100}, true},
	{"typical", "json", "rows", {.limit = 1}, false},
	{"typical", "github", "", {.width = 100}, true},
	{"typical", "github", "rows", {.limit = 1}, false},
	{"noise", "text", "", {.width = 100}, false},
	{"noise", "github", "", {.width = 100}, false},
	{"several", "text", "", {.width = 100}, false},
	{"shares", "text", "", {.width = 100}, false},
	{"shares", "json", "", {.width = 100}, false},
	{"arm64", "text", "", {.width = 100}, false},
	{"arm64", "json", "", {.limit = 1}, false},
	{"hostile", "text", "", {.width = 100}, false},
	{"hostile", "json", "", {.width = 100}, false},
	{"hostile", "github", "", {.width = 100}, false},
};

static char *render(const struct golden *g)
{
	struct profile_diff d = diff_of(g->diff);
	struct render_input in = {.diff = &d,
				  .verdicts = g->with_verdicts ? &verdicts : NULL};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(render_format_find("diff", g->format)->write(&in, &g->opts, out),
			 0);
	fclose(out);
	assert_int_equal(strlen(text), len); /* a NUL would hide the rest */
	return text;
}

static void test_golden(void **state)
{
	const struct golden *g = *state;
	_cleanup_free_ char *text = render(g);
	bool is_json = !strcmp(g->format, "json");
	char name[128];

	golden_check_harmless(text, g->opts.colour);
	if (is_json) {
		json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

		assert_non_null(root);
		json_decref(root);
	}
	snprintf(name, sizeof(name), "diff.%s%s%s.%s", g->diff, *g->variant ? "." : "",
		 g->variant,
		 is_json                      ? "json"
		 : !strcmp(g->format, "text") ? "txt"
					      : g->format);
	golden_compare(name, text);
}

static void check_said(const char *diff, const char *format, const char *what,
		       bool is_said)
{
	const struct golden g = {diff, format, "", {0}, false};
	_cleanup_free_ char *text = render(&g);

	if (!strstr(text, what) == is_said)
		fail_msg("%s of %s %s \"%s\"", format, diff,
			 is_said ? "does not say" : "says", what);
}

static void check_limit(const char *diff, const char *format, enum render_limit limit,
			bool is_said)
{
	check_said(diff, format, render_limit_texts[limit], is_said);
}

/* Only a clock misses what the kernel does with interrupts off. */
static void limits_are_said(void **state)
{
	static const char *const formats[] = {"text", "json", "html"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		check_limit("kernel", formats[i], RENDER_LIMIT_CLOCK, true);
		check_limit("kernel-events", formats[i], RENDER_LIMIT_CLOCK, false);
		check_limit("typical", formats[i], RENDER_LIMIT_CLOCK, false);
		check_limit("arm64", formats[i], RENDER_LIMIT_ARM64, true);
		check_limit("typical", formats[i], RENDER_LIMIT_ARM64, false);
	}
}

/* Callers are missing on one side or on both, which matters for their totals. */
static void sides_of_arm64_are_said(void **state)
{
	static const char *const formats[] = {"text", "json", "html"};
	static const struct {
		const char *diff, *said, *others[2];
	} cases[] = {
		{"arm64",
		 "often missing. This concerns one side, after: ",
		 {"one side, before", "concerns both sides"}},
		{"arm64-before",
		 "often missing. This concerns one side, before: ",
		 {"one side, after", "concerns both sides"}},
		{"arm64-both",
		 "often missing. This concerns both sides.",
		 {"one side, before", "one side, after"}},
	};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++)
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			check_said(cases[c].diff, formats[i], cases[c].said, true);
			check_said(cases[c].diff, formats[i], cases[c].others[0], false);
			check_said(cases[c].diff, formats[i], cases[c].others[1], false);
		}
}

/* The width is kept by every row that can be cut: all but the numbers. */
static void width_is_kept(void **state)
{
	(void)state;
	for (unsigned int width = 75; width < 130; width += 5) {
		const struct golden g = {"typical", "text", "", {.width = width}, true};
		_cleanup_free_ char *text = render(&g);

		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (strlen(line) > width)
				fail_msg("%zu columns instead of %u: %s", strlen(line),
					 width, line);
	}
}

static void failing_output(void **state)
{
	static const char *const formats[] = {"text", "json", "github", "html"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct render_input in = {.diff = &typical};
		struct render_options opts = {.width = 80};
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_int_equal(
			render_format_find("diff", formats[i])->write(&in, &opts, out),
			-ENOSPC);
		fclose(out);
	}
}

/* At most ten notices, as many as GitHub takes of a step. */
static void github_takes_ten(void **state)
{
	static struct diff_line many[30];
	struct profile_diff d = typical;
	struct render_input in = {.diff = &d};
	const struct render_options opts = {0};
	char *text = NULL;
	size_t len, nr = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = lines[0];
	d.lines = many;
	d.nr_lines = d.nr_significant_lines = ARRAY_SIZE(many);
	assert_int_equal(render_diff_github(&in, &opts, out), 0);
	fclose(out);
	for (const char *at = text; (at = strstr(at, "::notice ")); at++)
		nr++;
	assert_int_equal(nr, 10);
	free(text);
}

/* ---- the page ---- */

/* A JSON block of a page; fails if it could end its script. */
static json_t *data_of(const char *page, const char *id)
{
	_cleanup_free_ char *text = NULL;
	char begin[64];
	const char *at, *end;
	json_t *root;

	snprintf(begin, sizeof(begin), "id=\"%s\">", id);
	at = strstr(page, begin);
	assert_non_null(at);
	at += strlen(begin);
	end = strstr(at, "</script>");
	text = strndup(at, (size_t)(end - at));
	assert_null(strchr(text, '<'));
	for (const char *c = text; *c; c++)
		assert_in_range(*c, 0x20, 0x7e);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	return root;
}

static void same_value(const json_t *page, size_t i, const json_t *json, const char *key)
{
	const json_t *a = json_array_get(page, i), *b = json_object_get(json, key);

	if (json_is_null(b) != json_is_null(a) ||
	    (!json_is_null(b) && json_number_value(a) != json_number_value(b)))
		fail_msg("%zu is %g, and %s is %g", i, json_number_value(a), key,
			 json_number_value(b));
}

/* The 9 numbers from @at on are those of a change in the JSON. */
static void same_change(const json_t *page, size_t at, const json_t *json)
{
	static const char *const keys[] = {
		"before",     "after", "before_samples", "after_samples",
		"difference", "low",   "high",           "p"};
	int64_t flags = json_integer_value(json_array_get(page, at + 8));

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		same_value(page, at + i, json, keys[i]);
	assert_int_equal(flags & 1, json_is_true(json_object_get(json, "significant")));
	assert_int_equal(flags >> 1, !json_is_null(json_object_get(json, "p")));
}

/* Rows of lines or functions, which have the same columns from the totals on. */
static void same_rows(const json_t *facts, const json_t *json, const char *what)
{
	const json_t *page = json_object_get(facts, what), *row;
	size_t i;

	assert_int_equal(json_array_size(page),
			 16 * json_array_size(json_object_get(json, what)));
	json_array_foreach(json_object_get(json, what), i, row)
	{
		same_value(page, 16 * i + 5, json_object_get(row, "total"), "before");
		same_value(page, 16 * i + 6, json_object_get(row, "total"), "after");
		same_change(page, 16 * i + 7, json_object_get(row, "self"));
	}
}

static void the_page_has_the_figures_of_the_json(void **state)
{
	static const char *const names[] = {"typical", "noise", "several", "shares",
					    "hostile"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct golden html = {names[i], "html", "", {0}, true};
		const struct golden plain = {names[i], "json", "", {0}, true};
		_cleanup_free_ char *page = render(&html), *text = render(&plain);
		json_t *facts = data_of(page, "facts-data");
		json_t *json = json_loads(text, 0, NULL);

		same_rows(facts, json, "lines");
		same_rows(facts, json, "functions");
		if (!json_is_null(json_object_get(json, "whole")))
			same_change(json_object_get(facts, "whole"), 0,
				    json_object_get(json, "whole"));
		json_decref(facts);
		json_decref(json);
	}
}

static int64_t number_at(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

static void the_page_has_words_and_places(void **state)
{
	const struct golden html = {"typical", "html", "", {0}, true};
	const struct golden plain = {"typical", "text", "", {0}, true};
	_cleanup_free_ char *page = render(&html), *text = render(&plain);
	json_t *facts = data_of(page, "facts-data"), *lines_of, *head;
	const char *first;

	(void)state;
	head = json_object_get(facts, "head");
	first = json_string_value(json_array_get(head, 0));
	assert_memory_equal(text, first, strlen(first));
	assert_int_equal(json_array_size(json_object_get(facts, "rules")), 3);
	lines_of = json_object_get(facts, "lines");
	/* Changed, new, gone, the same, the same, not known. */
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		static const int matches[] = {3, 4, 5, 1, 1, 0};

		assert_int_equal(number_at(lines_of, 16 * i + 2),
				 lines[i].line[DIFF_BEFORE]);
		assert_int_equal(number_at(lines_of, 16 * i + 3),
				 lines[i].line[DIFF_AFTER]);
		assert_int_equal(number_at(lines_of, 16 * i + 4), matches[i]);
	}
	json_decref(facts);
}

static void the_page_is_harmless(void **state)
{
	const struct golden html = {"hostile", "html", "", {0}, true};
	_cleanup_free_ char *page = render(&html);
	json_t *facts = data_of(page, "facts-data");
	const json_t *texts = json_object_get(facts, "texts");
	size_t nr = 0;

	(void)state;
	for (const char *at = page; (at = strstr(at, "<script")); at++)
		nr++;
	assert_int_equal(nr, 5); /* two of data, three of code */
	assert_null(strchr(page, '\033'));
	assert_null(strstr(page, "\xe2\x80\xae"));
	assert_string_equal(json_string_value(json_array_get(texts, 0)),
			    "f\\x0d\\x0a::error file=x::owned\\xff");
	json_decref(facts);
}

static void the_page_has_a_limit(void **state)
{
	const struct golden html = {"typical", "html", "", {.limit = 2}, false};
	_cleanup_free_ char *page = render(&html);
	json_t *facts = data_of(page, "facts-data");

	(void)state;
	assert_int_equal(json_array_size(json_object_get(facts, "lines")), 2 * 16);
	assert_int_equal(json_array_size(json_object_get(facts, "functions")), 2 * 16);
	assert_int_equal(json_integer_value(json_object_get(facts, "nrLines")), 6);
	json_decref(facts);
}

/* A row that is blank before a text of the profile. */
static void text_gives_github_no_command(void **state)
{
	struct profile_diff d = diff_of("hostile");
	struct diff_line line = d.lines[0];
	struct render_input in = {.diff = &d};
	struct render_options opts = {.width = 100};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	line.function = "::add-mask::a";
	line.text[DIFF_BEFORE] = NULL;
	line.text[DIFF_AFTER] = "\t::stop-commands::t ##[add-mask]b";
	d.lines = &line;
	setenv("GITHUB_ACTIONS", "true", 1);
	assert_int_equal(render_format_find("diff", "text")->write(&in, &opts, out), 0);
	unsetenv("GITHUB_ACTIONS");
	fclose(out);
	assert_null(strstr(text, "##["));
	for (char *row = strtok(text, "\n"); row; row = strtok(NULL, "\n"))
		if (!strncmp(row + strspn(row, " "), "::", 2))
			fail_msg("%s", row);
	free(text);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(goldens) + 10] = {
		cmocka_unit_test(limits_are_said),
		cmocka_unit_test(sides_of_arm64_are_said),
		cmocka_unit_test(width_is_kept),
		cmocka_unit_test(failing_output),
		cmocka_unit_test(github_takes_ten),
		cmocka_unit_test(the_page_has_the_figures_of_the_json),
		cmocka_unit_test(the_page_has_words_and_places),
		cmocka_unit_test(the_page_is_harmless),
		cmocka_unit_test(the_page_has_a_limit),
		cmocka_unit_test(text_gives_github_no_command),
	};

	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++)
		tests[i + 10] = (struct CMUnitTest){.name = "golden",
						    .test_func = test_golden,
						    .initial_state = (void *)&goldens[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
