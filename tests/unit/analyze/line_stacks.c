// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of lines, from profiles built by hand. */
#include "unit/profile/fixture.h"

#include "analyze/line_stacks.h"
#include "analyze/phase.h"
#include "profile/labels.h"

static struct strpool *pool;
static struct profile *p, *folded;
static uint32_t app, libc, blas, kernel, python, jit, python_frames;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	folded = NULL;
	app = add_mapping(p, "/home/me/app");
	libc = add_mapping(p, "/usr/lib/libc.so.6");
	blas = add_mapping(p, "/opt/libopenblas.so");
	kernel = add_mapping(p, PROFILE_KERNEL);
	python = add_mapping(p, "/usr/bin/python3.11");
	jit = add_mapping(p, PROFILE_JIT);
	python_frames = add_mapping(p, PROFILE_PYTHON);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(folded);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static struct attribution *attribute(const struct profile *of)
{
	static const struct attribution_options options = {0};
	struct attribution *a = NULL;

	assert_int_equal(attribution_new(of, &options, &a), 0);
	return a;
}

/* @keys  names of labels, NULL at the end */
static void fold_with(const char *const *keys, const uint8_t *phases)
{
	struct line_stacks_labels labels = {.keys = keys, .phases = phases};
	struct attribution *a = attribute(p);

	while (keys && keys[labels.nr])
		labels.nr++;
	assert_int_equal(line_stacks_new(p, a, &labels, &folded), 0);
	attribution_free(a);
}

static void fold(void)
{
	fold_with(NULL, NULL);
}

/* "read app|fill@8 app|main app": functions and lines, innermost first. */
static const char *text_of(const struct profile *of, size_t sample)
{
	static char text[1024];
	const struct profile_sample *s = &of->samples[sample];

	*text = '\0';
	for (uint32_t i = 0; i < s->nr_locations; i++) {
		const struct profile_location *l =
			&of->locations[profile_stack(of, s)[i]];
		char *end;

		for (uint32_t k = 0; k < l->nr_lines; k++) {
			const struct profile_line *line = &of->lines[l->first_line + k];

			end = text + strlen(text);
			snprintf(end, sizeof(text) - (size_t)(end - text), "%s%s",
				 end == text ? "" : " ",
				 of->functions[line->function].name);
			end = text + strlen(text);
			if (line->line)
				snprintf(end, sizeof(text) - (size_t)(end - text), "@%u",
					 line->line);
		}
		end = text + strlen(text);
		if (!l->nr_lines)
			snprintf(end, sizeof(text) - (size_t)(end - text), "%s?",
				 end == text ? "" : " ");
	}
	return text;
}

static uint32_t in(uint32_t mapping, const char *frames)
{
	static uint64_t address;

	return add_location(p, mapping, ++address, MISS_NO_DEBUG_INFO, frames);
}

/* The drawing of line_stacks.h. */
static void the_leaf_is_the_charged_line(void **state)
{
	(void)state;
	add_stack(p, LB_STACK_COMPLETE, 5, in(kernel, "vfs_read"), in(libc, "read"),
		  in(python, "_io_read@/fileio.c:8"), in(python_frames, "load@/app.py:7"),
		  in(python, "_PyEval_Vector@/ceval.c:9"),
		  in(python_frames, "<module>@/app.py:30"),
		  in(python, "Py_RunMain@/main.c:3"));
	fold();
	assert_int_equal(folded->nr_samples, 1);
	assert_string_equal(text_of(folded, 0), "load@7 <module>@30 Py_RunMain");
	assert_int_equal(profile_value(folded, &folded->samples[0], 0), 5);
}

/* Of an inlined chain the part below the charged line goes, too. */
/* Stacks that become one have the times of both. */
static void times_are_merged(void **state)
{
	uint32_t outer = in(app, "main@/m.c:3");
	struct series_lists all;
	uint32_t n;

	(void)state;
	add_stack(p, LB_STACK_COMPLETE, 5, in(kernel, "read"), outer);
	add_stack(p, LB_STACK_COMPLETE, 2, in(kernel, "write"), outer);
	all = (struct series_lists){&p->samples->times, 2, sizeof(*p->samples)};
	p->times.begin_ns = 700000000;
	series_add(&p->times, &p->samples[0].times, 900000000, 5, &all);
	series_add(&p->times, &p->samples[1].times, 700000000, 2, &all);
	fold();
	assert_int_equal(folded->nr_samples, 1);
	n = folded->samples[0].times.first;
	assert_int_equal(
		series_offset(&folded->times, folded->times.points[n - 1].bucket), 2);
	assert_int_equal(folded->times.points[n - 1].count, 5);
	n = folded->times.points[n - 1].next;
	assert_int_equal(
		series_offset(&folded->times, folded->times.points[n - 1].bucket), 0);
	assert_int_equal(folded->times.points[n - 1].count, 2);
}

static void a_part_of_an_inlined_chain(void **state)
{
	(void)state;
	add_stack(p, LB_STACK_COMPLETE, 1, in(app, "asm|work@/a.c:4|run@/a.c:9"),
		  in(app, "main@/a.c:20"));
	fold();
	assert_string_equal(text_of(folded, 0), "work@4 run@9 main@20");
}

/* Frames without lines between two lines stay: they are how the one calls the other. */
static void libraries_between_lines_stay(void **state)
{
	(void)state;
	add_stack(p, LB_STACK_COMPLETE, 1, in(blas, "kernel"), in(app, "cb@/a.c:4"),
		  in(blas, "driver"), in(blas, ""), in(app, "main@/a.c:20"));
	fold();
	assert_string_equal(text_of(folded, 0), "cb@4 driver ? main@20");
}

/* The kernel, an interpreter, the C library: with lines, but annotate charges none. */
static void what_is_not_charged_has_no_line(void **state)
{
	(void)state;
	add_stack(p, LB_STACK_TRUNCATED, 1, in(kernel, "vfs_read@/fs.c:3"),
		  in(libc, "read@/read.c:5"));
	add_stack(p, LB_STACK_COMPLETE, 1, in(python, "init@/init.c:3"),
		  in(libc, "__libc_start_main@/libc-start.c:5"));
	/* Complete, and no other line: then it is charged. */
	add_stack(p, LB_STACK_COMPLETE, 1, in(kernel, "vfs_read@/fs.c:3"),
		  in(libc, "read@/read.c:5"));
	/* Code of a JIT that nothing describes: the line that calls it is not charged. */
	add_stack(p, LB_STACK_COMPLETE, 1, add_location(p, jit, 1, MISS_JIT_UNKNOWN, ""),
		  in(app, "f@/a.c:4"));
	fold();
	assert_string_equal(text_of(folded, 0), "vfs_read read");
	assert_string_equal(text_of(folded, 1), "init __libc_start_main");
	assert_string_equal(text_of(folded, 2), "read@5");
	assert_string_equal(text_of(folded, 3), "? f@4");
}

static void nothing_leads_to_an_address(void **state)
{
	uint32_t again = profile_add_mapping(
		p, &(struct profile_mapping){.filename = "/home/me/app",
					     .build_id = "c0ffee",
					     .start = 0x99000,
					     .limit = 0x9a000});

	(void)state;
	add_stack(p, LB_STACK_COMPLETE, 1, in(app, "f@/a.c:4"), in(app, "main@/a.c:9"));
	add_stack(p, LB_STACK_BAD_FP, 2, in(again, "f@/a.c:4"), in(app, "main@/a.c:9"));
	add_stack(p, LB_STACK_COMPLETE, 4, in(blas, ""));
	add_stack(p, LB_STACK_COMPLETE, 8, in(blas, ""));
	profile_add_sample(p, NULL, 0, NULL, 0, 0, (int64_t[]){16, 32});
	fold();
	assert_int_equal(folded->nr_samples, 3);
	assert_int_equal(folded->nr_mappings, 3);
	assert_int_equal(profile_value(folded, &folded->samples[0], 0), 3);
	assert_int_equal(profile_value(folded, &folded->samples[1], 0), 12);
	assert_int_equal(profile_value(folded, &folded->samples[2], 0), 16);
	assert_string_equal(text_of(folded, 2), "?");
	assert_string_equal(folded->mappings[2].filename, PROFILE_NO_OBJECT);
	assert_false(folded->extra.present);
	for (size_t i = 0; i < folded->nr_locations; i++)
		assert_int_equal(folded->locations[i].address, 0);
	for (size_t i = 0; i < folded->nr_mappings; i++) {
		assert_int_equal(folded->mappings[i].limit, 0);
		assert_true(folded->mappings[i].has_functions);
	}
}

static const struct attribution_line *find_line(const struct attribution *a,
						const char *path, uint32_t line)
{
	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t k = 0; k < a->files[i].nr_lines; k++)
			if (!strcmp(a->files[i].path, path) &&
			    a->files[i].lines[k].line == line)
				return &a->files[i].lines[k];
	return NULL;
}

/* Sums of the innermost frames with a line, and of all, as a server makes them. */
static void assert_same_as_annotate(void)
{
	struct attribution *a = attribute(p), *b = attribute(folded);
	uint64_t with_line = 0, all = 0;

	for (size_t i = 0; i < folded->nr_samples; i++) {
		const struct profile_sample *s = &folded->samples[i];
		const struct profile_location *l =
			&folded->locations[profile_stack(folded, s)[0]];
		uint64_t nr = (uint64_t)profile_value(folded, s, 0);

		all += nr;
		if (l->nr_lines && folded->lines[l->first_line].line)
			with_line += nr;
	}
	assert_int_equal(all, a->all.samples);
	assert_int_equal(with_line, a->with_line.samples);
	assert_int_equal(b->nr_files, a->nr_files);
	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t k = 0; k < a->files[i].nr_lines; k++) {
			const struct attribution_line *x = &a->files[i].lines[k], *y;

			y = find_line(b, a->files[i].path, x->line);
			if (!y)
				fail_msg("%s:%u is lost", a->files[i].path, x->line);
			assert_int_equal(y->self.samples, x->self.samples);
			assert_int_equal(y->self.cpu_ns, x->self.cpu_ns);
			assert_int_equal(y->total.samples, x->total.samples);
		}
	attribution_free(a);
	attribution_free(b);
}

/* Random stacks of frames of every kind. */
static void every_line_has_annotates_figures(void **state)
{
	static const uint32_t statuses[] = {LB_STACK_COMPLETE, LB_STACK_TRUNCATED,
					    LB_STACK_BAD_FP};
	uint32_t locations[64], stack[12];
	char frames[64];

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		const uint32_t mappings[] = {app,    libc, blas,         kernel,
					     python, jit,  python_frames};
		uint32_t mapping = mappings[i % 7];
		enum miss miss = mapping == jit ? MISS_JIT_NO_LINES : MISS_NO_SYMBOLS;

		frames[0] = '\0';
		if (i % 5)
			snprintf(frames, sizeof(frames),
				 i % 5 == 1   ? "f%u"
				 : i % 5 == 2 ? "g|f%u@/a.c:%u"
				 : i % 5 == 3 ? "f%u@/b.py:%u|__libc_start_main@/c.c:7"
					      : "f%u@/a.c:%u|h@/d.c:3",
				 i % 9, i % 11);
		locations[i] = add_location(p, mapping, i, miss, frames);
	}
	srandom(1);
	for (uint32_t i = 0; i < 5000; i++) {
		size_t nr = 1 + (size_t)random() % 12;

		for (size_t k = 0; k < nr; k++)
			stack[k] = locations[random() % 64];
		profile_add_sample(p, stack, nr, NULL, 0, statuses[i % 3],
				   (int64_t[]){1 + i % 4, 10 + i % 7});
	}
	fold();
	assert_true(folded->nr_samples < p->nr_samples);
	assert_same_as_annotate();
}

static const char *label_of(size_t sample, const char *key)
{
	const struct profile_sample *s = &folded->samples[sample];

	for (uint32_t i = 0; i < s->nr_labels; i++)
		if (!strcmp(folded->labels[s->first_label + i].key, key))
			return folded->labels[s->first_label + i].str;
	return NULL;
}

static void add_labelled(const char *comm, int64_t pid)
{
	uint32_t leaf = in(app, "f@/a.c:4");
	const struct profile_label labels[] = {
		{.key = LABEL_PID, .str = "", .num = pid, .unit = ""},
		{.key = LABEL_COMM, .str = comm, .unit = ""},
		{.key = LABEL_CONTAINER, .str = "3f4b", .unit = ""},
	};

	profile_add_sample(p, &leaf, 1, labels, ARRAY_SIZE(labels), 0, (int64_t[]){1, 1});
}

static void only_named_labels_stay(void **state)
{
	static const char *const keys[] = {LABEL_COMM, LABEL_PHASE, NULL};
	const uint8_t phases[] = {PHASE_REST, PHASE_REST, PHASE_IMPORT};

	(void)state;
	add_labelled("web", 1);
	add_labelled("web", 2);
	add_labelled("web", 3);
	fold_with(keys, phases);
	assert_int_equal(folded->nr_samples, 2);
	assert_int_equal(profile_value(folded, &folded->samples[0], 0), 2);
	assert_int_equal(folded->samples[0].nr_labels, 1);
	assert_string_equal(label_of(0, LABEL_COMM), "web");
	assert_null(label_of(0, LABEL_PHASE));
	assert_string_equal(label_of(1, LABEL_PHASE), "import");
}

/* A container's name may be recorded late: its samples have it all the same. */
static void a_container_has_one_name(void **state)
{
	static const char *const keys[] = {LABEL_CONTAINER_NAME, LABEL_COMM, NULL};
	const struct profile_label labels[] = {
		{.key = LABEL_CONTAINER, .str = "3f4b", .unit = ""},
		{.key = LABEL_CONTAINER_NAME, .str = "shop", .unit = ""},
		{.key = LABEL_COMM, .str = "web", .unit = ""},
	};
	uint32_t leaf = in(app, "f@/a.c:4");

	(void)state;
	profile_add_sample(p, &leaf, 1,
			   (const struct profile_label[]){labels[0], labels[2]}, 2, 0,
			   (int64_t[]){3, 3});
	profile_add_sample(p, &leaf, 1, labels, 3, 0, (int64_t[]){4, 4});
	profile_add_sample(p, &leaf, 1, &labels[2], 1, 0, (int64_t[]){5, 5});
	fold_with(keys, NULL);
	assert_int_equal(folded->nr_samples, 2);
	assert_int_equal(profile_value(folded, &folded->samples[0], 0), 7);
	assert_int_equal(folded->samples[0].nr_labels, 2);
	assert_string_equal(label_of(0, LABEL_CONTAINER_NAME), "shop");
	assert_null(label_of(1, LABEL_CONTAINER_NAME));
	profile_free(folded);
	folded = NULL;
	fold_with(&keys[1], NULL);
	assert_int_equal(folded->nr_samples, 1);
	assert_null(label_of(0, LABEL_CONTAINER_NAME));
}

static void hostile_labels_are_harmless(void **state)
{
	static const char *const keys[] = {LABEL_COMM, NULL};
	char comm[4096];

	(void)state;
	add_labelled("\033[31m\n\xff", 1);
	memset(comm, 'x', sizeof(comm) - 1);
	comm[sizeof(comm) - 1] = '\0';
	add_labelled(comm, 2);
	fold_with(keys, NULL);
	assert_string_equal(label_of(0, LABEL_COMM), "\\x1b[31m\\x0a\\xff");
	assert_in_range(strlen(label_of(1, LABEL_COMM)), 500, 512);
}

static void the_heaviest_keep_their_callers(void **state)
{
	struct profile *cut = NULL;
	struct weight left_out;
	uint32_t main_ = in(app, "main@/a.c:9");

	(void)state;
	add_stack(p, 0, 1, in(app, "f@/a.c:4"), in(app, "a@/a.c:6"), main_);
	add_stack(p, 0, 9, in(app, "f@/a.c:4"), in(app, "b@/a.c:7"), main_);
	add_stack(p, 0, 2, in(app, "f@/a.c:4"), in(app, "c@/a.c:8"), main_);
	add_stack(p, 0, 1, main_);
	fold();
	assert_int_equal(line_stacks_cut(folded, 1, &cut, &left_out), 0);
	assert_int_equal(left_out.samples, 3);
	assert_int_equal(cut->nr_samples, 3);
	assert_string_equal(text_of(cut, 0), "f@4 " LINE_STACKS_CUT);
	assert_int_equal(profile_value(cut, &cut->samples[0], 0), 3);
	assert_string_equal(text_of(cut, 1), "f@4 b@7 main@9");
	assert_string_equal(text_of(cut, 2), "main@9");
	profile_free(cut);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_leaf_is_the_charged_line),
		TEST(times_are_merged),
		TEST(a_part_of_an_inlined_chain),
		TEST(libraries_between_lines_stay),
		TEST(what_is_not_charged_has_no_line),
		TEST(nothing_leads_to_an_address),
		TEST(every_line_has_annotates_figures),
		TEST(only_named_labels_stay),
		TEST(a_container_has_one_name),
		TEST(hostile_labels_are_harmless),
		TEST(the_heaviest_keep_their_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
