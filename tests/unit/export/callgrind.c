// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads what we write as callgrind_annotate and KCachegrind do: self by line, and as the
 * total of a function the sum of its calls. Both must be those of annotate and report.
 */
#include "unit/export/cases.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "export/export.h"

#define MAX_NAMES 64
#define MAX_TEXT  512

struct cost {
	const char *file, *function; /* function NULL: a line */
	uint32_t line;
	struct weight self, called;
};

struct reader {
	char names[3][MAX_NAMES][MAX_TEXT]; /* objects, files, functions by number */
	struct cost costs[128];
	size_t nr;
	const char *file, *function, *callee_file, *callee;
	uint64_t calls; /* > 0: the next line is the cost of a call */
	bool has_cpu;
	struct weight self, summary, totals;
};

static struct cost *cost_of(struct reader *r, const char *file, const char *function,
			    uint32_t line)
{
	struct cost *c = r->costs;

	/* Names are at one place for each number. */
	while (c < r->costs + r->nr &&
	       (c->file != file || c->function != function || c->line != line))
		c++;
	if (c == r->costs + r->nr) {
		assert_true(++r->nr < ARRAY_SIZE(r->costs));
		*c = (struct cost){.file = file, .function = function, .line = line};
	}
	return c;
}

/* "(3) name", or a "(3)" of before. */
static const char *name_of(struct reader *r, size_t kind, const char *text)
{
	char *end;
	unsigned long number;
	char *name;

	assert_int_equal(*text, '(');
	number = strtoul(text + 1, &end, 10);
	assert_true(*end == ')' && number && number < MAX_NAMES);
	name = r->names[kind][number];
	if (end[1]) {
		assert_string_equal(name, "");
		assert_true(strlen(end + 2) < MAX_TEXT);
		strcpy(name, end + 2);
	}
	assert_string_not_equal(name, "");
	return name;
}

static struct weight weight_in(const struct reader *r, const char *text)
{
	struct weight w = {0};
	char *at = (char *)text;

	if (r->has_cpu)
		w.cpu_ns = strtoull(at, &at, 10);
	w.samples = strtoull(at, &at, 10);
	assert_int_equal(*at, '\0');
	return w;
}

static void read_cost(struct reader *r, const char *line)
{
	char *at;
	uint32_t number = (uint32_t)strtoul(line, &at, 10);
	struct weight w = weight_in(r, at);

	if (r->calls) {
		assert_int_equal(r->calls, w.samples);
		weight_add(&cost_of(r, r->callee_file, r->callee, 0)->called, w);
		r->calls = 0;
		return;
	}
	weight_add(&r->self, w);
	weight_add(&cost_of(r, r->file, r->function, 0)->self, w);
	if (number)
		weight_add(&cost_of(r, r->file, NULL, number)->self, w);
}

static void read_line(struct reader *r, const char *line)
{
	if (isdigit((unsigned char)*line))
		read_cost(r, line);
	else if (!strncmp(line, "ob=", 3))
		name_of(r, 0, line + 3);
	else if (!strncmp(line, "cob=", 4))
		name_of(r, 0, line + 4);
	else if (!strncmp(line, "fl=", 3))
		r->file = name_of(r, 1, line + 3);
	else if (!strncmp(line, "cfi=", 4))
		r->callee_file = name_of(r, 1, line + 4);
	else if (!strncmp(line, "fn=", 3))
		r->function = name_of(r, 2, line + 3);
	else if (!strncmp(line, "cfn=", 4))
		r->callee = name_of(r, 2, line + 4);
	else if (!strncmp(line, "calls=", 6))
		r->calls = strtoull(line + 6, NULL, 10);
	else if (!strncmp(line, "events:", 7))
		r->has_cpu = strstr(line, "cpu_ns");
	else if (!strncmp(line, "summary:", 8))
		r->summary = weight_in(r, line + 8);
	else if (!strncmp(line, "totals:", 7))
		r->totals = weight_in(r, line + 7);
	else
		assert_true(*line == '#' || !strncmp(line, "version: 1", 10) ||
			    !strncmp(line, "creator: ", 9) ||
			    !strncmp(line, "desc: ", 6) ||
			    !strncmp(line, "positions: line", 15));
}

static void assert_weight(struct weight a, struct weight b)
{
	assert_int_equal(a.samples, b.samples);
	assert_int_equal(a.cpu_ns, b.cpu_ns);
}

static bool is_escaped(const char *escaped, const char *name)
{
	char text[MAX_TEXT];

	escape_terminal_buf(text, sizeof(text), name);
	for (char *c = text; *c; c++)
		if (*c == '\t')
			*c = ' ';
	return !strcmp(escaped, text);
}

static const struct cost *find(const struct reader *r, const char *file,
			       const char *function, uint32_t line)
{
	for (size_t i = 0; i < r->nr; i++) {
		const struct cost *c = &r->costs[i];

		if (c->line == line && !c->function == !function &&
		    is_escaped(c->file, file) &&
		    (!function || is_escaped(c->function, function)))
			return c;
	}
	fail_msg("%s:%u %s is not there", file, line, function ? function : "");
	return NULL;
}

static void compare(const struct reader *r, const struct attribution *a)
{
	size_t nr_lines = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t k = 0; k < a->files[i].nr_lines; k++) {
			const struct attribution_line *line = &a->files[i].lines[k];

			if (!line->self.samples)
				continue;
			assert_weight(find(r, a->files[i].path, NULL, line->line)->self,
				      line->self);
			nr_lines++;
		}
	for (size_t i = 0; i < r->nr; i++)
		nr_lines -= !r->costs[i].function;
	assert_int_equal(nr_lines, 0);
	for (size_t i = 0; i < a->nr_functions; i++) {
		const struct attribution_function *f = &a->functions[i];

		/* What is inside of a line is not in an export. */
		if (*f->file)
			assert_weight(find(r, f->file, f->name, 0)->called, f->total);
	}
	assert_weight(r->self, a->all);
	assert_weight(r->summary, a->all);
	assert_weight(r->totals, a->all);
}

/* Return: what was read, until the next call. */
static const struct reader *check_case(void (*build)(struct profile *p), bool has_labels)
{
	static const struct attribution_options options = {0};
	static struct reader r;
	const struct export_format *format = export_format_find("callgrind");
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	struct export_input in = {
		.profile = p, .labels = format->labels, .nr_labels = has_labels};
	struct error err = {0};
	const char *note = NULL;
	char *save = NULL;

	r = (struct reader){0};
	build(p);
	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	assert_int_equal(io_pending_open(&pending, &err), 0);
	assert_int_equal(format->write(&in, pending.out, &note, &err), 0);
	assert_int_equal(fflush(pending.out), 0);
	for (char *line = strtok_r(pending.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		read_line(&r, line);
	compare(&r, a);
	return &r;
}

/* Recursion through another function and directly; a function with and without callers. */
static void build_recursion(struct profile *p)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t a = add_location(p, app, 1, MISS_NONE, "a@/home/me/app.c:11");
	uint32_t a_again = add_location(p, app, 2, MISS_NONE, "a@/home/me/app.c:12");
	uint32_t b = add_location(p, app, 3, MISS_NONE, "b@/home/me/app.c:21");
	uint32_t c = add_location(p, app, 4, MISS_NONE, "c@/home/me/app.c:31");
	uint32_t inlined = add_location(p, app, 5, MISS_NONE,
					"c@/home/me/app.c:32|b@/home/me/app.c:22");

	add_stack(p, 0, 1, a, b, a, b, a_again);
	add_stack(p, 0, 2, c, a, b, a_again);
	add_stack(p, 0, 4, a, a, a);
	add_stack(p, 0, 8, c, c, a_again);
	add_stack(p, 0, 16, c);
	add_stack(p, 0, 32, inlined, c, inlined);
}

static void self_and_totals_are_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(export_cases); i++) {
		check_case(export_cases[i].build, false);
		check_case(export_cases[i].build, true);
	}
}

static void recursion_counts_once(void **state)
{
	const struct reader *r = check_case(build_recursion, false);
	const char *file = "/home/me/app.c";

	(void)state;
	/* The lines of inner calls have a cost. */
	assert_int_equal(find(r, file, "a'2", 0)->called.samples, 1 + 2 + 4);
	assert_int_equal(find(r, file, "b'2", 0)->called.samples, 1 + 32);
	assert_int_equal(find(r, file, "c'2", 0)->called.samples, 8 + 32);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(self_and_totals_are_right),
		cmocka_unit_test(recursion_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
