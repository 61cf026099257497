// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two sides of recordings that are made by hand: which lines are the same, and figures.
 */
#include "unit/profile/fixture.h"

#include <errno.h>
#include <math.h>

#include "analyze/profile_diff.h"

static struct strpool *pool;
static struct profile_diff *d;
static struct error err;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	d = NULL;
	err = (struct error){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	diff_free(d);
	strpool_free(pool);
	return 0;
}

static void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected))))
		fail_msg("%.10g instead of %.10g", value, expected);
}

/* ---- recordings ---- */

/* A sample of a recording; the stack is one location, "inner|outer". */
struct row {
	int64_t count;
	const char *stack;
};

/* A recording, and how it was made. */
struct made {
	const struct row *rows; /* ends with a stack of NULL */
	const char *path, *text; /* of one source file; NULL: none */
	uint32_t first_line; /* of the text; 0: 1 */
	uint32_t nr_lines; /* of the file; 0: those of the text */
	uint64_t wall_ns;
	bool is_attached; /* by lineburn record */
	bool is_foreign; /* of another tool */
	const char *arch; /* NULL: not known */
};

static void add_text(struct profile *p, const struct made *m)
{
	struct profile_source source = {.path = strpool_add(pool, m->path), .owner = ""};
	uint32_t nr = 1;

	for (const char *c = m->text; *c; c++)
		nr += *c == '\n';
	source.nr_lines = m->nr_lines ? m->nr_lines : nr;
	source.sha256[0] = (uint8_t)m->text[0];
	source.runs = calloc(1, sizeof(*source.runs));
	source.nr_runs = 1;
	source.runs[0] = (struct profile_source_run){m->first_line ? m->first_line : 1,
						     nr, strdup(m->text)};
	assert_int_equal(profile_add_source(p, &source), 0);
}

static struct profile *make(const struct made *m)
{
	static char *argv[] = {"program", NULL};
	struct profile *p = profile_new(pool);
	uint32_t app = add_mapping(p, "/home/me/app");

	for (const struct row *row = m->rows; row && row->stack; row++)
		add_stack(p, LB_STACK_COMPLETE, row->count,
			  add_location(p, app, 0x1000 + (uint64_t)(row - m->rows),
				       MISS_NONE, row->stack));
	p->extra.present = !m->is_foreign;
	p->extra.wall_ns = m->wall_ns;
	if (m->arch)
		p->extra.arch = strpool_add(pool, m->arch);
	if (!m->is_attached && !m->is_foreign)
		assert_int_equal(profile_set_command(p, argv), 0);
	if (m->text)
		add_text(p, m);
	return p;
}

static void start(struct diff_options options, uint32_t nr_before, uint32_t nr_after)
{
	options.sides[DIFF_BEFORE].nr_recordings = nr_before;
	options.sides[DIFF_AFTER].nr_recordings = nr_after;
	assert_int_equal(diff_new(&options, pool, &d), 0);
}

/* Frees @p. */
static int add_profile(enum diff_side side, struct profile *p, const char *name)
{
	static const struct attribution_options options = {0};
	struct attribution *a = NULL;
	int rc;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	rc = diff_add(d, side, p, a, name, &err);
	attribution_free(a);
	profile_free(p);
	return rc;
}

static int add(enum diff_side side, const struct made *m)
{
	return add_profile(side, make(m), side == DIFF_BEFORE ? "before" : "after");
}

static void compare_with(struct diff_options options, const struct made *before,
			 const struct made *after)
{
	start(options, 1, 1);
	assert_int_equal(add(DIFF_BEFORE, before), 0);
	assert_int_equal(add(DIFF_AFTER, after), 0);
	assert_int_equal(diff_compare(d, &err), 0);
}

static void compare(const struct made *before, const struct made *after)
{
	compare_with((struct diff_options){0}, before, after);
}

/*
 * "a.py:2>3 f 50>60 same": number, function, samples of self, match; "-" where there is
 * no number. By number after, then before.
 */
static const char *line_text(const struct diff_line *l)
{
	static const char *const matches[] = {"?", "same", "moved", "changed"};
	static char text[256];

	snprintf(text, sizeof(text), "%s:%u>%u %s %g>%g %s", l->path,
		 l->line[DIFF_BEFORE], l->line[DIFF_AFTER], l->function,
		 l->self.of[DIFF_BEFORE].samples, l->self.of[DIFF_AFTER].samples,
		 l->is_new    ? "new"
		 : l->is_gone ? "gone"
			      : matches[l->match]);
	return text;
}

static void expect_line(const char *expected)
{
	char all[4096] = "";

	for (size_t i = 0; i < d->nr_lines; i++) {
		const char *text = line_text(&d->lines[i]);

		if (!strcmp(text, expected))
			return;
		strcat(strcat(all, "\n"), text);
	}
	fail_msg("no line %s among%s", expected, all);
}

/* ---- which lines are the same ---- */

static const char old_text[] = "def f():\n    x = 1\n    y = 2\n    return x\n\nf()";
static const char new_text[] =
	"import os\ndef f():\n    x = 1\n    y = os.y\n    z = 3\n    return x\n\nf()";

static void lines_by_text(void **state)
{
	const struct made before = {.rows = (struct row[]){{50, "f@a.py:2|m@a.py:6"},
							   {40, "f@a.py:3|m@a.py:6"},
							   {30, "f@a.py:4|m@a.py:6"},
							   {0}},
				    .path = "a.py",
				    .text = old_text};
	const struct made after = {.rows = (struct row[]){{60, "f@a.py:3|m@a.py:8"},
							  {10, "f@a.py:5|m@a.py:8"},
							  {30, "f@a.py:6|m@a.py:8"},
							  {0}},
				   .path = "a.py",
				   .text = new_text};

	(void)state;
	compare(&before, &after);
	assert_int_equal(d->nr_lines, 5);
	expect_line("a.py:2>3 f 50>60 same");
	expect_line("a.py:4>6 f 30>30 same");
	expect_line("a.py:6>8 m 0>0 same");
	expect_line("a.py:3>0 f 40>0 gone"); /* one line became two */
	expect_line("a.py:0>5 f 0>10 new");
	near(d->whole.of[DIFF_BEFORE].value, 120.0 * PERIOD_NS);
	near(d->whole.difference, -20.0 * PERIOD_NS);
	near(d->functions[0].self.difference, -20.0 * PERIOD_NS);
	near(d->functions[0].total.of[DIFF_AFTER].samples, 100);
}

static void changed_and_moved_lines(void **state)
{
	const struct made before = {
		.rows = (struct row[]){{50, "f@a.py:2"}, {40, "g@a.py:6"}, {0}},
		.path = "a.py",
		.text = "def f():\n    x = slow()\n    return x\n\ndef g(number):\n    "
			"return number.to_bytes()\n1\n2\n3"};
	const struct made after = {
		.rows = (struct row[]){{5, "f@a.py:6"}, {40, "g@a.py:2"}, {0}},
		.path = "a.py",
		.text = "def g(number):\n    return number.to_bytes()\n1\n2\n3\ndef "
			"f():\n "
			"   x = quick()\n    return x"};

	(void)state;
	compare(&before, &after);
	expect_line("a.py:6>2 g 40>40 same");
	diff_free(d);
	d = NULL;
	compare(&after, &(struct made){.rows = before.rows,
				       .path = "a.py",
				       .text = "def g(number):\n    return "
					       "int(number)\n1\n2\n3\ndef f():\n    x = "
					       "quick()\n    return x"});
	expect_line("a.py:2>2 f 40>50 changed");
}

/* The file became shorter after its program had started: no text tells of these lines. */
static void lines_beyond_the_text(void **state)
{
	const struct made before = {
		.rows = (struct row[]){{50, "f@a.py:2"}, {400, "g@a.py:88"}, {0}},
		.path = "a.py",
		.text = old_text};
	const struct made after = {
		.rows = (struct row[]){{50, "f@a.py:3"}, {400, "g@a.py:88"}, {0}},
		.path = "a.py",
		.text = new_text};

	(void)state;
	compare(&before, &after);
	assert_int_equal(d->nr_lines, 2);
	expect_line("a.py:2>3 f 50>50 same");
	expect_line("a.py:88>88 g 400>400 ?");
	assert_int_equal(d->nr_significant_lines, 0);
}

/* Without text: the offset from the start of the function; else the number. */
static void lines_without_text(void **state)
{
	/* fixture.h: a function begins at the first line of its ten, 21 and 41 */
	const struct made before = {
		.rows = (struct row[]){
			{50, "f@a.c:23"}, {40, "g@a.c:77"}, {30, "@a.c:5"}, {0}}};
	const struct made after = {
		.rows = (struct row[]){
			{60, "f@a.c:43"}, {40, "h@a.c:77"}, {20, "@a.c:5"}, {0}}};

	(void)state;
	compare(&before, &after);
	assert_int_equal(d->nr_lines, 3);
	expect_line("a.c:23>43 f 50>60 ?");
	expect_line("a.c:77>77 h 40>40 ?");
	expect_line("a.c:5>5  30>20 ?");
}

/* A window of the text does not tell what the rest of the file has. */
static void lines_with_part_of_text(void **state)
{
	const struct made before = {
		.rows = (struct row[]){{50, "f@a.py:102"}, {40, "g@a.py:202"}, {0}},
		.path = "a.py",
		.text = "def f():\n    x = 1\n    y = 2",
		.first_line = 101,
		.nr_lines = 1000};
	const struct made after = {
		.rows = (struct row[]){{50, "f@a.py:112"}, {40, "g@a.py:202"}, {0}},
		.path = "a.py",
		.text = "def f():\n    x = 1\n    y = 2",
		.first_line = 111,
		.nr_lines = 1010};

	(void)state;
	compare(&before, &after);
	assert_int_equal(d->nr_lines, 2);
	expect_line("a.py:102>112 f 50>50 same");
	expect_line("a.py:202>202 g 40>40 ?");
}

/* A text may have 524,288 lines, known or not. */
static void lines_with_large_numbers(void **state)
{
	static const char text[] = "def f(x):\n    x = 1 + 2\n    return x";
	static const struct {
		uint32_t line;
		const char *expected;
	} cases[] = {
		{524286, "a.py:524287>524287 f 50>50 same"},
		{524287, "a.py:524288>524288 f 50>50 ?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char frame[32];
		struct row rows[] = {{50, frame}, {0}};
		const struct made both = {.rows = rows,
					  .path = "a.py",
					  .text = text,
					  .first_line = cases[i].line,
					  .nr_lines = 600000};

		snprintf(frame, sizeof(frame), "f@a.py:%u", cases[i].line + 1);
		compare(&both, &both);
		assert_int_equal(d->nr_lines, 1);
		expect_line(cases[i].expected);
		diff_free(d);
		d = NULL;
	}
}

static void moved_files(void **state)
{
	const struct source_path_rule moved[] = {{"/old/src/a.py", "/new/b.py"},
						 {"/old", "/new/"}};
	const struct made before = {.rows = (struct row[]){{50, "f@/old/src/a.py:2"},
							   {40, "g@/old/c.py:3"},
							   {30, "h@/older/c.py:3"},
							   {0}}};
	const struct made after = {.rows = (struct row[]){{50, "f@/new/b.py:2"},
							  {40, "g@/new/c.py:3"},
							  {0}}};

	(void)state;
	compare_with((struct diff_options){.moved = moved, .nr_moved = 2}, &before,
		     &after);
	assert_int_equal(d->nr_lines, 3);
	expect_line("/new/b.py:2>2 f 50>50 ?");
	expect_line("/new/c.py:3>3 g 40>40 ?");
	expect_line("/older/c.py:3>3 h 30>0 ?");
	assert_int_equal(d->nr_functions, 3);
}

/*
 * A stack that has a function of two objects, or of two files with one path, counts once in
 * its total and in those of its lines. The start code counts as the innermost line only.
 */
static void each_stack_counts_once(void **state)
{
	struct profile *sides[NR_DIFF_SIDES];

	(void)state;
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		struct profile *p = sides[s] = profile_new(pool);
		uint32_t app = add_mapping(p, "/home/me/app");
		uint32_t plugin = add_mapping(p, "/home/me/plugin.so");
		const char *path = strpool_add(pool, "/home/me/f.h");
		struct profile_function other = {
			.name = strpool_add(pool, "f"),
			.system_name = "",
			.filename = profile_add_namesake(p, path)};
		struct profile_line line = {profile_add_function(p, &other), 7};
		uint32_t main_at =
			add_location(p, app, 0x10, MISS_NONE,
				     "main@/home/me/m.c:3|_start@/home/me/s.c:1");
		uint32_t in_app =
			add_location(p, app, 0x20, MISS_NONE, "f@/home/me/f.h:7");
		uint32_t in_plugin =
			add_location(p, plugin, 0x30, MISS_NONE, "f@/home/me/f.h:7");
		uint32_t in_other =
			profile_add_location(p, app, 0x40, MISS_NONE, &line, 1);

		add_stack(p, LB_STACK_COMPLETE, 100, in_plugin, in_app, main_at);
		add_stack(p, LB_STACK_COMPLETE, 20, in_other, in_app, main_at);
		add_stack(p, LB_STACK_COMPLETE, 3, main_at);
		add_stack(p, LB_STACK_COMPLETE, 1,
			  add_location(p, app, 0x50, MISS_NONE, "_start@/home/me/s.c:1"));
	}
	start((struct diff_options){0}, 1, 1);
	assert_int_equal(add_profile(DIFF_BEFORE, sides[DIFF_BEFORE], "before"), 0);
	assert_int_equal(add_profile(DIFF_AFTER, sides[DIFF_AFTER], "after"), 0);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_int_equal(d->nr_lines, 3);
	for (size_t i = 0; i < d->nr_lines; i++)
		near(d->lines[i].total.of[DIFF_AFTER].samples,
		     !strcmp(d->lines[i].path, "/home/me/f.h")   ? 120
		     : !strcmp(d->lines[i].path, "/home/me/m.c") ? 123
								 : 1);
	assert_int_equal(d->nr_functions, 3);
	for (size_t i = 0; i < d->nr_functions; i++)
		near(d->functions[i].total.of[DIFF_BEFORE].samples,
		     !strcmp(d->functions[i].name, "f")      ? 120
		     : !strcmp(d->functions[i].name, "main") ? 123
							     : 124);
}

/* A side that has several versions shows none of them. */
static void two_texts_on_a_side(void **state)
{
	struct made one = {.rows = (struct row[]){{50, "f@a.py:2"}, {0}},
			   .path = "a.py",
			   .text = "a\nb"};
	struct made other = one;

	(void)state;
	other.text = "x\na\nb";
	start((struct diff_options){0}, 2, 1);
	assert_int_equal(add(DIFF_BEFORE, &one), 0);
	assert_int_equal(add(DIFF_BEFORE, &other), 0);
	assert_int_equal(add(DIFF_AFTER, &one), 0);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_string_equal(d->mixed_path, "a.py");
	expect_line("a.py:2>2 f 100>50 ?");
	assert_null(d->lines[0].text[DIFF_BEFORE]);
	assert_string_equal(d->lines[0].text[DIFF_AFTER], "b");
	assert_null(d->files[0].text[DIFF_BEFORE].lines);
}

/* ---- two files of one recording with one path ---- */

/*
 * Two files, of each: 'l', it has a line, or '-'; then its text, or '0', it has an entry
 * without text, or '-', it has no entry.
 */
struct namesakes {
	const char *path, *other;
	bool other_is_first; /* it has the first entry, and more samples */
	bool is_mixed;
};

static void add_one(struct profile *p, const char *name, const char *how, int64_t count)
{
	struct profile_function f = {
		.name = strpool_add(pool, "f"), .system_name = "", .filename = name};
	struct profile_source source = {.path = name, .owner = ""};
	uint32_t app = add_mapping(p, "/home/me/app");
	struct profile_line line = {profile_add_function(p, &f), 2};

	if (*how == 'l')
		add_stack(p, LB_STACK_COMPLETE, count,
			  profile_add_location(p, app, 0x10 + p->nr_locations, MISS_NONE,
					       &line, 1));
	if (how[1] == '-')
		return;
	if (how[1] != '0') {
		char text[] = "x\n?";

		text[2] = how[1];
		source.nr_lines = 2;
		source.sha256[0] = (uint8_t)how[1];
		source.runs = calloc(1, sizeof(*source.runs));
		source.nr_runs = 1;
		source.runs[0] = (struct profile_source_run){1, 2, strdup(text)};
	}
	assert_int_equal(profile_add_source(p, &source), 0);
}

static struct profile *make_namesakes(const struct namesakes *n)
{
	struct profile *p = profile_new(pool);
	const char *path = strpool_add(pool, "/a.py");
	const char *other = profile_add_namesake(p, path);

	if (n->other_is_first)
		add_one(p, other, n->other, 60);
	add_one(p, path, n->path, 50);
	if (!n->other_is_first)
		add_one(p, other, n->other, 40);
	return p;
}

/* A text is not shown for another file's lines, whichever of the two is known. */
static void namesakes_on_a_side(void **state)
{
	static const struct namesakes cases[] = {
		{"la", "l0", false, true},
		{"la", "l0", true, true},
		{"l-", "lb", false, true},
		{"l-", "lb", true, true},
		{"la", "lb", false, true},
		{"la", "lb", true, true},
		{"l-", "l0", false, true},
		{"la", "la", false, false},
		/* A file without lines does not matter. */
		{"la", "-0", false, false},
		{"la", "-0", true, false},
		{"la", "-b", true, false},
		{"--", "la", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text;

		start((struct diff_options){.per = DIFF_PER_SAMPLE}, 1, 1);
		for (int s = 0; s < NR_DIFF_SIDES; s++)
			assert_int_equal(add_profile((enum diff_side)s,
						     make_namesakes(&cases[i]), "x"),
					 0);
		assert_int_equal(diff_compare(d, &err), 0);
		assert_int_equal(d->nr_lines, 1);
		text = d->lines[0].text[DIFF_AFTER];
		if (cases[i].is_mixed != d->files[0].is_mixed ||
		    cases[i].is_mixed != !text || (text && strcmp(text, "a") != 0))
			fail_msg("case %zu: \"%s\"", i, text ? text : "");
		if (cases[i].is_mixed)
			assert_string_equal(d->mixed_path, "/a.py");
		else
			assert_null(d->mixed_path);
		diff_free(d);
		d = NULL;
	}
}

/* Another recording may have no room for a text: it is still that of one file. */
static void a_text_of_one_recording(void **state)
{
	static const struct namesakes with = {"la", "--", false, false};
	static const struct namesakes without = {"l-", "--", false, false};

	(void)state;
	start((struct diff_options){.per = DIFF_PER_SAMPLE}, 2, 1);
	add_profile(DIFF_BEFORE, make_namesakes(&with), "with");
	add_profile(DIFF_BEFORE, make_namesakes(&without), "without");
	add_profile(DIFF_AFTER, make_namesakes(&with), "with");
	assert_int_equal(diff_compare(d, &err), 0);
	assert_null(d->mixed_path);
	assert_string_equal(d->lines[0].text[DIFF_BEFORE], "a");
}

/* ---- which functions are the same ---- */

/* A file may have the name of an object. */
static void a_file_is_no_object(void **state)
{
	struct profile *sides[NR_DIFF_SIDES];

	(void)state;
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		struct profile *p = sides[s] = profile_new(pool);
		uint32_t in_file = add_location(p, add_mapping(p, "/app/y"), 0x10,
						MISS_NONE, "f@x.py:1");
		uint32_t in_object = add_location(p, add_mapping(p, "/app/x.py"), 0x20,
						  MISS_NONE, "f");

		add_stack(p, LB_STACK_COMPLETE, 100, in_file, in_object);
		add_stack(p, LB_STACK_COMPLETE, 50, in_object);
	}
	start((struct diff_options){.per = DIFF_PER_SAMPLE}, 1, 1);
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		assert_int_equal(add_profile((enum diff_side)s, sides[s], "x"), 0);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_int_equal(d->nr_functions, 2);
	for (size_t i = 0; i < d->nr_functions; i++) {
		const struct diff_function *f = &d->functions[i];

		assert_string_equal(*f->file ? f->file : f->object, "x.py");
		near(f->self.of[DIFF_AFTER].samples, *f->file ? 100 : 50);
		near(f->total.of[DIFF_AFTER].samples, *f->file ? 100 : 150);
	}
}

/* ---- what figures are divided by ---- */

static const struct row hundred[] = {{100, "f@a.c:3"}, {0}};
static const struct row two_hundred[] = {{200, "f@a.c:3"}, {0}};

static void divided(void **state)
{
	static const double work_before[] = {4}, work_after[] = {5, 20};
	struct made before = {.rows = hundred, .wall_ns = 2000000000};
	struct made after = {.rows = two_hundred, .wall_ns = 8000000000};
	struct diff_options options = {.per = DIFF_PER_SECOND};

	(void)state;
	compare_with(options, &before, &after);
	near(d->lines[0].self.of[DIFF_BEFORE].value, 50.0 * PERIOD_NS);
	near(d->lines[0].self.of[DIFF_AFTER].value, 25.0 * PERIOD_NS);
	diff_free(d);

	compare_with((struct diff_options){.per = DIFF_PER_SAMPLE}, &before, &after);
	near(d->lines[0].self.of[DIFF_BEFORE].value, 1);
	near(d->lines[0].self.difference, 0);
	assert_false(d->whole.is_compared);
	diff_free(d);

	options = (struct diff_options){.per = DIFF_PER_WORK};
	options.sides[DIFF_BEFORE].work = work_before;
	options.sides[DIFF_BEFORE].nr_works = 1;
	options.sides[DIFF_AFTER].work = work_after;
	options.sides[DIFF_AFTER].nr_works = 2;
	start(options, 2, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(add(DIFF_BEFORE, &before), 0);
		assert_int_equal(add(DIFF_AFTER, &after), 0);
	}
	assert_int_equal(diff_compare(d, &err), 0);
	near(d->whole.of[DIFF_BEFORE].value, 25.0 * PERIOD_NS);
	near(d->whole.of[DIFF_BEFORE].variance, 0);
	near(d->whole.of[DIFF_AFTER].value, 25.0 * PERIOD_NS); /* of 40 and 10 */
	near(d->whole.of[DIFF_AFTER].variance, 450.0 * PERIOD_NS * PERIOD_NS);
}

static enum diff_per default_of(const struct made *before, const struct made *after)
{
	enum diff_per per;

	compare(before, after);
	per = d->per;
	diff_free(d);
	d = NULL;
	return per;
}

static void divided_by_default(void **state)
{
	struct made command = {.rows = hundred, .wall_ns = 2000000000};
	struct made attached = command, foreign = command, timeless = command;

	(void)state;
	attached.is_attached = true;
	foreign.is_foreign = true;
	timeless.is_attached = true;
	timeless.wall_ns = 0;
	assert_int_equal(default_of(&command, &command), DIFF_PER_RUN);
	assert_int_equal(default_of(&attached, &attached), DIFF_PER_SECOND);
	assert_int_equal(default_of(&attached, &command), DIFF_PER_SECOND);
	assert_int_equal(default_of(&foreign, &foreign), DIFF_PER_RUN);
	assert_int_equal(default_of(&timeless, &attached), DIFF_PER_RUN);
}

static void recorded_on_arm64(void **state)
{
	const struct made x86 = {.rows = hundred, .arch = "x86_64"};
	const struct made arm64 = {.rows = hundred, .arch = "aarch64"};

	(void)state;
	compare(&x86, &arm64);
	assert_false(d->recordings[DIFF_BEFORE][0].is_of_arm64);
	assert_true(d->recordings[DIFF_AFTER][0].is_of_arm64);
}

/* ---- what cannot be compared ---- */

static void refuse(enum diff_side side, struct profile *p, int exit_code,
		   const char *message)
{
	assert_int_equal(add_profile(side, p, "other"), -EINVAL);
	assert_int_equal(err.exit_code, exit_code);
	if (!strstr(err.text, message))
		fail_msg("\"%s\" lacks \"%s\"", err.text, message);
	err = (struct error){0};
}

static struct profile *make_events(const char *type, const char *unit)
{
	struct profile *p = make(&(struct made){.rows = NULL});

	profile_set_measure(p, type, unit);
	add_stack(p, LB_STACK_COMPLETE, 10, add_location(p, 0, 1, MISS_NONE, "f@a.c:3"));
	return p;
}

static void kinds(void **state)
{
	struct profile *heap;

	(void)state;
	start((struct diff_options){0}, 3, 3);
	refuse(DIFF_BEFORE, make(&(struct made){.rows = NULL}), EXIT_NO_SAMPLES,
	       "other has no samples");
	heap = make_events("inuse_space", "bytes");
	heap->value_types[0].type = strpool_add(pool, "inuse_objects");
	heap->count_value = PROFILE_NONE;
	refuse(DIFF_BEFORE, heap, EXIT_FAILED, "other does not count samples but inuse_");
	heap = make_events("cpu", "nanoseconds");
	heap->value_types[0].type = strpool_add(pool, "wall");
	heap->cpu_value = 1;
	heap->count_value = PROFILE_NONE;
	refuse(DIFF_BEFORE, heap, EXIT_FAILED,
	       "other does not count samples but cpu in nanoseconds");
	assert_int_equal(add(DIFF_BEFORE, &(struct made){.rows = hundred}), 0);
	refuse(DIFF_AFTER, make_events("page-faults", "count"), EXIT_FAILED,
	       "other has page-faults, the recordings before it have samples");
	diff_free(d);

	/* Page faults, one sample for two of them. */
	start((struct diff_options){0}, 1, 1);
	heap = make_events("page-faults", "count");
	heap->default_sample_type = strpool_add(pool, "page-faults");
	heap->values[1] = 20;
	assert_int_equal(add_profile(DIFF_BEFORE, heap, "before"), 0);
	heap = make_events("page-faults", "count");
	heap->default_sample_type = strpool_add(pool, "page-faults");
	heap->values[1] = 60;
	assert_int_equal(add_profile(DIFF_AFTER, heap, "after"), 0);
	assert_int_equal(diff_compare(d, &err), 0);
	near(d->whole.of[DIFF_BEFORE].value, 20);
	near(d->whole.of[DIFF_BEFORE].samples, 10);
	near(d->lines[0].self.of[DIFF_AFTER].value, 60);
	near(d->lines[0].self.of[DIFF_AFTER].samples, 10);
}

static void no_duration(void **state)
{
	(void)state;
	start((struct diff_options){.per = DIFF_PER_SECOND}, 1, 1);
	assert_int_equal(add(DIFF_BEFORE, &(struct made){.rows = hundred}), 0);
	assert_int_equal(add(DIFF_AFTER, &(struct made){.rows = hundred}), 0);
	assert_int_equal(diff_compare(d, &err), -EINVAL);
	assert_non_null(strstr(err.text, "before does not tell how long"));
}

/* ---- equal programs, and one with a slower line ---- */

#define SIM_LINES   200
#define SIM_SAMPLES 5000
#define SLOW_LINE   0

static uint64_t seed;

/* xorshift64* (S. Vigna), 0 to 1 */
static double uniform(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)(seed * 0x2545f4914f6cdd1dULL >> 11) / (double)(1ULL << 53);
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/*
 * A run of a program of 200 lines, the first the hottest: @samples on average, all
 * times longer by a factor around 1 with the deviation @noise, and one line by @slower.
 */
static struct profile *simulate(double samples, double noise, double slower)
{
	struct profile *p = make(&(struct made){.rows = NULL});
	double sums[SIM_LINES], sum = 0, speed = 1 + noise * normal();
	int64_t counts[SIM_LINES] = {0};

	for (int i = 0; i < SIM_LINES; i++)
		sums[i] = sum += (i == SLOW_LINE ? 1 + slower : 1) / (i + 2);
	/* without the slower line it would be "samples" */
	samples *= speed * sum / (sum - slower / (SLOW_LINE + 2));
	samples += sqrt(samples) * normal();
	for (int n = 0; n < (int)samples; n++) {
		double at = uniform() * sum;
		int low = 0, high = SIM_LINES - 1;

		while (low < high) {
			int middle = (low + high) / 2;

			if (sums[middle] <= at)
				low = middle + 1;
			else
				high = middle;
		}
		counts[low]++;
	}
	for (int i = 0; i < SIM_LINES; i++) {
		char frame[64];

		snprintf(frame, sizeof(frame), "f%d@file%d.c:%d", i / 10, i / 50, i + 1);
		if (counts[i])
			add_stack(p, LB_STACK_COMPLETE, counts[i],
				  add_location(p, 0, (uint64_t)i, MISS_NONE, frame));
	}
	return p;
}

/* Compares @nr recordings of each side. */
static void simulate_pair(const struct diff_options *options, uint32_t nr, double samples,
			  double noise, double slower)
{
	diff_free(d);
	start(*options, nr, nr);
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(
			add_profile(DIFF_BEFORE, simulate(samples, noise, 0), ""), 0);
		assert_int_equal(
			add_profile(DIFF_AFTER, simulate(samples, noise, slower), ""), 0);
	}
	assert_int_equal(diff_compare(d, &err), 0);
}

static int count_alarms(const struct diff_options *options, uint32_t nr, double noise)
{
	int nr_alarms = 0;

	seed = 42;
	for (int pair = 0; pair < 100; pair++) {
		simulate_pair(options, nr, SIM_SAMPLES, noise, 0);
		nr_alarms += d->whole.is_significant || d->nr_significant_lines ||
			     d->nr_significant_functions;
	}
	return nr_alarms;
}

static void equal_programs(void **state)
{
	const struct diff_options amounts = {0}, assumed = {.noise = 0.01};
	const struct diff_options shares = {.per = DIFF_PER_SAMPLE};

	(void)state;
	assert_in_range(count_alarms(&amounts, 1, 0), 0, 5);
	assert_in_range(count_alarms(&shares, 1, 0), 0, 5);
	assert_in_range(count_alarms(&assumed, 1, 0.01), 0, 5);
	/* Runs that differ more are known for it when there are several. */
	assert_in_range(count_alarms(&amounts, 3, 0.03), 0, 5);
}

static void slower_line(void **state)
{
	static const struct diff_options options[] = {
		{.noise = 0.01}, {.per = DIFF_PER_SAMPLE, .noise = 0.01}};

	(void)state;
	seed = 7;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		/* a line of 10 %: 20,000 of 200,000 samples */
		simulate_pair(&options[i], 1, 200000, 0, 0.10);
		assert_int_equal(d->nr_significant_lines, 1);
		assert_int_equal(d->lines[0].line[DIFF_AFTER], SLOW_LINE + 1);
		assert_true(d->lines[0].self.low > 0);
	}
	/* several recordings, which differ by half a percent */
	simulate_pair(&options[0], 5, 40000, 0.005, 0.10);
	assert_int_equal(d->nr_significant_lines, 1);
	assert_int_equal(d->lines[0].line[DIFF_AFTER], SLOW_LINE + 1);
	/* too few samples to tell */
	simulate_pair(&options[0], 1, 2000, 0, 0.10);
	assert_int_equal(d->nr_significant_lines, 0);
}

/* ---- names, numbers and texts without sense ---- */

static void hostile(void **state)
{
	static const char *const stacks[] = {
		"\x1b[31m@\xff\xfe:4294967295",
		"@:1",
		"f@/../..:0",
		"|||",
		"a\nb@c\td:7",
		"",
		"\xe2\x80\xae@%s%n:2147483648",
	};

	(void)state;
	seed = 3;
	for (int round = 0; round < 300; round++) {
		struct row rows[9] = {{0}};
		struct made made[NR_DIFF_SIDES];
		char text[NR_DIFF_SIDES][40] = {{0}};

		start((struct diff_options){.per = (enum diff_per)(uniform() * 4)}, 1, 1);
		for (int s = 0; s < NR_DIFF_SIDES; s++) {
			for (size_t i = 0; i < 1 + (size_t)(uniform() * 7); i++) {
				rows[i].count =
					(int64_t)ldexp(uniform(), (int)(39 * uniform())) -
					2;
				rows[i].stack =
					stacks[(size_t)(uniform() * ARRAY_SIZE(stacks))];
			}
			for (size_t i = 0; i < sizeof(text[s]) - 1; i++)
				text[s][i] = "ab\n\n\x01\xff"[(size_t)(uniform() * 6)];
			made[s] = (struct made){
				.rows = rows,
				.path = uniform() < 0.5 ? "c\td" : "\xff\xfe",
				.text = text[s],
				.first_line = uniform() < 0.3 ? UINT32_MAX - 100 : 1,
				.wall_ns = (uint64_t)(1 + 1e9 * uniform()),
			};
		}
		if (!add(DIFF_BEFORE, &made[0]) && !add(DIFF_AFTER, &made[1]) &&
		    !diff_compare(d, &err))
			for (size_t i = 0; i < d->nr_lines; i++)
				assert_true(isfinite(d->lines[i].self.difference));
		else
			assert_true(err.text[0]);
		diff_free(d);
		d = NULL;
		err = (struct error){0};
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lines_by_text),
		TEST(changed_and_moved_lines),
		TEST(lines_beyond_the_text),
		TEST(lines_without_text),
		TEST(lines_with_part_of_text),
		TEST(lines_with_large_numbers),
		TEST(moved_files),
		TEST(each_stack_counts_once),
		TEST(two_texts_on_a_side),
		TEST(namesakes_on_a_side),
		TEST(a_text_of_one_recording),
		TEST(a_file_is_no_object),
		TEST(divided),
		TEST(divided_by_default),
		TEST(recorded_on_arm64),
		TEST(kinds),
		TEST(no_duration),
		TEST(equal_programs),
		TEST(slower_line),
		TEST(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
