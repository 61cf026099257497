// SPDX-License-Identifier: GPL-2.0-or-later
/* The file format: round trips, files of other tools, and broken files. */
#include <errno.h>
#include <unistd.h>

#include "fixture.h"

#include "compare.h"
#include "lib/pprof_rules.h"
#include "lineburn.pb-c.h"
#include "profile.pb-c.h"
#include "profile/extra.h"
#include "profile/gzip.h"
#include "profile/pprof.h"

static struct strpool *pool;

static int group_setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	return !pool;
}

static int group_teardown(void **state)
{
	(void)state;
	strpool_free(pool);
	return 0;
}

/* A sample has samples in several buckets, in no order; others have none. */
static void add_times(struct profile *p)
{
	const struct series_lists all = {&p->samples->times, p->nr_samples,
					 sizeof(*p->samples)};
	static const uint64_t ms[] = {2000, 1500, 2050, 9000};

	p->times.begin_ns = 1450000000;
	for (size_t i = 0; i < ARRAY_SIZE(ms); i++)
		assert_int_equal(series_add(&p->times, &p->samples[0].times,
					    ms[i] * 1000000, i + 1, &all),
				 0);
	assert_int_equal(series_add(&p->times, &p->samples[p->nr_samples - 1].times,
				    1450000000, 7, &all),
			 0);
}

static void add_extra(struct profile *p)
{
	struct profile_extra *extra = &p->extra;
	char *argv[] = {"./app", "", "--flag=\xc3\xa4", NULL};
	uint64_t *losses = (uint64_t *)&extra->losses, *cost = (uint64_t *)&extra->cost;
	struct profile_source *source;

	extra->present = true;
	profile_set_command(p, argv);
	extra->target = strpool_add(pool, "-p 12");
	extra->host = strpool_add(pool, "box");
	extra->kernel_release = strpool_add(pool, "6.1.0");
	extra->arch = strpool_add(pool, "aarch64");
	extra->version = strpool_add(pool, "0.1.0");
	extra->freq_hz = 99;
	extra->wall_ns = 61000000000;
	extra->nr_cpus = 512;
	for (size_t i = 0; i < sizeof(extra->losses) / sizeof(*losses); i++)
		losses[i] = 1000 + i; /* all differ, to detect a missing member */
	for (size_t i = 0; i < sizeof(extra->cost) / sizeof(*cost); i++)
		cost[i] = UINT64_MAX - i;
	profile_add_warning(p, "something was cut short");
	profile_add_warning(p, "");
	extra->sources = calloc(2, sizeof(*extra->sources));
	extra->nr_sources = extra->cap_sources = 2;
	source = &extra->sources[0];
	source->path = strpool_add(pool, "/src/app.c");
	source->size_bytes = 123456;
	memset(source->sha256, 0xab, sizeof(source->sha256));
	source->nr_lines = 4000;
	source->mtime_nanos = 1700000000123456789;
	source->newer_than_binary = true;
	source->runs = calloc(2, sizeof(*source->runs));
	source->nr_runs = 2;
	source->runs[0] = (struct profile_source_run){10, 3, strdup("a\n\tb \xff\n")};
	source->runs[1] = (struct profile_source_run){99, 1, strdup("")};
	extra->sources[1].path = strpool_add(pool, "/src/empty.c");
}

/* Code of the app, and of a JIT with its bytes; one function has no samples. */
static void add_codes(struct profile *p, uint32_t app)
{
	uint8_t bytes[] = {0x55, 0x00, 0xc3};
	struct profile_code_row rows[] = {
		{0x1200, {1, 40}},
		{0x1200, {0, 7}}, /* inlined into line 40 */
		{0x1234, {PROFILE_NONE, 0}},
		{0x12ff, {0, UINT32_MAX}},
	};
	struct profile_code code = {.mapping = app,
				    .address = 0x1200,
				    .size_bytes = 0xff,
				    .rows = rows,
				    .nr_rows = 4};

	assert_int_equal(profile_add_code(p, &code), 0);
	rows[0].address = 0xfffffffffffffff0;
	rows[0].at.function = profile_add_function(
		p, &(struct profile_function){.name = "only_in_code",
					      .filename = "/src/app.c"});
	code = (struct profile_code){.mapping = PROFILE_NONE,
				     .address = 0xfffffffffffffff0,
				     .size_bytes = 3,
				     .rows = rows,
				     .nr_rows = 1,
				     .bytes = bytes};
	assert_int_equal(profile_add_code(p, &code), 0);
}

static struct profile *make_profile(void)
{
	struct profile *p = profile_new(pool);
	uint32_t libc = add_mapping(p, "/usr/lib/libc.so.6");
	uint32_t app = add_mapping(p, "/opt/app");
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t inlined = add_location(p, app, 0x1234, MISS_NONE,
					"sq@/src/sq.h:7|work@/src/app.c:41");
	uint32_t outer =
		add_location(p, app, 0xffffffffffffff00, MISS_NONE, "main@/src/app.c:90");
	uint32_t bare = add_location(p, libc, 0x77, MISS_NO_SYMBOLS, "");
	uint32_t named = add_location(p, libc, 0x78, MISS_NO_DEBUG_INFO, "memcpy");
	uint32_t sys =
		add_location(p, kernel, 0xffffffff81000000, MISS_KERNEL, "vfs_read");
	uint32_t lost = add_location(p, PROFILE_NONE, 0x1, MISS_NO_MAPPING, "");
	uint32_t assembly = add_location(p, libc, 0x79, MISS_NONE, "@/src/clone.S:7");
	struct profile_label labels[] = {{.key = "pid", .num = 4711},
					 {.key = "comm", .str = "w\xc3\xb6rker"},
					 {.key = "latency", .num = -5, .unit = "ms"}};

	p->functions[0].system_name = strpool_add(pool, "_ZL2sqd");
	p->mappings[libc].has_inline_frames = false;
	p->locations[outer].is_folded = true;
	add_stack(p, LB_STACK_COMPLETE, 50, inlined, outer);
	add_stack(p, LB_STACK_BAD_FP, 3, bare, outer);
	add_stack(p, LB_STACK_NO_USER, 2, sys);
	add_stack(p, LB_STACK_COMPLETE, 9, sys, named, inlined, outer);
	add_stack(p, LB_STACK_NO_BODY, 1, lost);
	add_stack(p, LB_STACK_COMPLETE, 2, assembly);
	profile_add_sample(p, &named, 1, labels, 3, LB_STACK_FAULT, (int64_t[]){4, 40});
	profile_add_sample(p, NULL, 0, labels, 1, LB_STACK_NO_REGS, (int64_t[]){1, 10});
	add_times(p);
	p->time_nanos = 1700000000000000001;
	p->duration_nanos = 61000000000;
	p->period = PERIOD_NS;
	profile_add_comment(p, "a summary");
	p->doc_url = strpool_add(pool, "https://example.org/");
	p->drop_frames = strpool_add(pool, "^malloc$");
	add_extra(p);
	add_codes(p, app);
	return p;
}

static struct profile *read_back(const void *data, size_t len)
{
	struct profile *p = NULL;
	struct error err = {0};

	if (pprof_read(data, len, "test.pb.gz", pool, &p, &err))
		fail_msg("%s", err.text);
	return p;
}

static struct profile *round_trip(const struct profile *p, bool with_extra)
{
	struct profile *back;
	void *data = NULL;
	char broken[256];
	size_t len;

	assert_int_equal(pprof_write(p, with_extra, &data, &len), 0);
	if (!pprof_rules_hold(data, len, broken, sizeof(broken)))
		fail_msg("%s", broken);
	back = read_back(data, len);
	free(data);
	return back;
}

static void what_is_written_is_read(void **state)
{
	struct profile *p = make_profile();
	struct profile *back = round_trip(p, true), *again;

	(void)state;
	assert_profiles_equal(p, back);
	/* The program was moved to the first mapping, and stays there. */
	assert_string_equal(back->mappings[0].filename, "/opt/app");
	again = round_trip(back, true);
	assert_profiles_equal(p, again);
	profile_free(again);
	profile_free(back);
	profile_free(p);
}

static const struct profile_location *location_at(const struct profile *p,
						  uint64_t address)
{
	for (size_t i = 0; i < p->nr_locations; i++)
		if (p->locations[i].address == address)
			return &p->locations[i];
	fail_msg("no location at %llx", (unsigned long long)address);
	return NULL;
}

static const char *name_at(const struct profile *p, uint64_t address)
{
	const struct profile_location *l = location_at(p, address);

	assert_int_equal(l->nr_lines, 1);
	assert_int_equal(p->lines[l->first_line].line, 0);
	return p->functions[p->lines[l->first_line].function].name;
}

static void extra_may_stay_out(void **state)
{
	struct profile *p = make_profile();
	struct profile *back = round_trip(p, false);

	(void)state;
	assert_false(back->extra.present);
	assert_null(back->extra.command);
	assert_int_equal(location_at(back, 0x77)->miss, MISS_NONE);
	assert_int_equal(back->nr_samples, p->nr_samples);
	/* Functions that only Extra refers to are left out, too. */
	assert_int_equal(back->nr_functions, p->nr_functions - 1 + 2);
	for (size_t i = 0; i < back->nr_functions; i++)
		assert_string_not_equal(back->functions[i].name, "only_in_code");
	/* Code without a function gets one named after its object. */
	assert_string_equal(name_at(back, 0x77), "[libc.so.6]");
	assert_string_equal(name_at(back, 0x1), "[unknown]");
	profile_free(back);
	profile_free(p);
}

static void code_that_makes_no_sense_is_not_kept(void **state)
{
	struct profile *p = make_profile();
	struct profile_code_row rows[2];
	struct profile_code code;
	size_t nr = p->extra.nr_codes;

	(void)state;
#define TRY(...)                                                         \
	(rows[0] = (struct profile_code_row){0x1000, {0, 1}},            \
	 rows[1] = (struct profile_code_row){0x1008, {PROFILE_NONE, 0}}, \
	 code = (struct profile_code){.mapping = 0,                      \
				      .address = 0x1000,                 \
				      .size_bytes = 16,                  \
				      .rows = rows,                      \
				      .nr_rows = 2},                     \
	 __VA_ARGS__, profile_add_code(p, &code))
	assert_int_equal(TRY(code.mapping = 3), -EINVAL);
	assert_int_equal(TRY(code.size_bytes = 0), -EINVAL);
	assert_int_equal(TRY(code.size_bytes = 7), -EINVAL);
	assert_int_equal(TRY(code.size_bytes = UINT64_MAX), -EINVAL);
	assert_int_equal(TRY(code.nr_rows = 0), -EINVAL);
	assert_int_equal(TRY(rows[0].address = 0xfff), -EINVAL);
	assert_int_equal(TRY(rows[0].address = 0x1009), -EINVAL);
	assert_int_equal(TRY(rows[1].at.function = (uint32_t)p->nr_functions), -EINVAL);
	assert_int_equal(TRY(code.nr_rows = PROFILE_MAX_CODE_BYTES), -ENOSPC);
	assert_int_equal(TRY(code.nr_rows = SIZE_MAX), -ENOSPC);
	assert_int_equal(TRY(code.bytes = (uint8_t *)rows, code.size_bytes = UINT64_MAX),
			 -ENOSPC);
	assert_int_equal(p->extra.nr_codes, nr);
	assert_int_equal(TRY((void)0), 0);
#undef TRY
	profile_free(p);
}

static void code_is_bounded(void **state)
{
	struct profile *p = make_profile();
	static uint8_t bytes[1 << 20];
	struct profile_code_row row = {0x1000, {0, 1}};
	struct profile_code code = {.address = 0x1000,
				    .size_bytes = sizeof(bytes),
				    .rows = &row,
				    .nr_rows = 1,
				    .bytes = bytes};
	size_t nr = 0;

	(void)state;
	while (!profile_add_code(p, &code))
		nr++;
	assert_int_equal(nr, 3); /* the fourth one exceeds the limit */
	assert_true(p->extra.codes_bytes <= PROFILE_MAX_CODE_BYTES);
	code.bytes = NULL; /* without bytes: code in a file */
	assert_int_equal(profile_add_code(p, &code), 0);
	profile_free(p);
}

static void an_empty_profile_is_one(void **state)
{
	struct profile *p = profile_new(pool);
	struct profile *back;

	(void)state;
	p->extra.present = true;
	back = round_trip(p, true);
	assert_profiles_equal(p, back);
	profile_free(back);
	profile_free(p);
}

static void strings_in_the_file_are_utf8(void **state)
{
	struct profile *p = profile_new(pool);
	struct profile *back;

	(void)state;
	add_location(p, PROFILE_NONE, 1, MISS_NONE, "f\xffg@/\xc3\x28.c:1");
	p->extra.present = true;
	p->extra.host = strpool_add(pool, "h\x80");
	back = round_trip(p, true);
	assert_string_equal(back->functions[0].name, "f\xef\xbf\xbdg");
	assert_string_equal(back->functions[0].filename, "/\xef\xbf\xbd(.c");
	assert_string_equal(back->extra.host, "h\xef\xbf\xbd");
	profile_free(back);
	profile_free(p);
}

/* ---- files of other tools, made with the generated code ---- */

struct foreign {
	Perftools__Profiles__Profile profile;
	Perftools__Profiles__ValueType types[2], *type_list[2];
	Perftools__Profiles__Sample samples[2], *sample_list[2];
	Perftools__Profiles__Location locations[2], *location_list[2];
	Perftools__Profiles__Line lines[2], *line_list[2];
	Perftools__Profiles__Function function, *function_list[1];
	Perftools__Profiles__Mapping mapping, *mapping_list[1];
	uint64_t ids[2][2];
	int64_t values[2][2];
	char *strings[8];
};

/* Only heap/bytes, sparse and unordered ids, no mapping, a missing function. */
static void foreign_init(struct foreign *f)
{
	static const char *const strings[] = {"",     "heap",    "bytes", "alloc",
					      "/x.c", "objects", "count", "_Zalloc"};

	memset(f, 0, sizeof(*f));
	perftools__profiles__profile__init(&f->profile);
	for (size_t i = 0; i < 8; i++)
		f->strings[i] = (char *)strings[i];
	for (size_t i = 0; i < 2; i++) {
		perftools__profiles__value_type__init(&f->types[i]);
		perftools__profiles__sample__init(&f->samples[i]);
		perftools__profiles__location__init(&f->locations[i]);
		perftools__profiles__line__init(&f->lines[i]);
		f->type_list[i] = &f->types[i];
		f->sample_list[i] = &f->samples[i];
		f->location_list[i] = &f->locations[i];
		f->line_list[i] = &f->lines[i];
		f->locations[i].id = i ? 3 : UINT64_MAX;
		f->locations[i].mapping_id = 77;
		f->locations[i].n_line = 1;
		f->locations[i].line = &f->line_list[i];
		f->lines[i].function_id = i ? 9 : 500000000000;
		f->lines[i].line = i ? -3 : 12;
		f->samples[i].n_location_id = 2;
		f->samples[i].location_id = f->ids[i];
		f->ids[i][0] = i ? 3 : UINT64_MAX;
		f->ids[i][1] = 3;
		f->samples[i].n_value = 2;
		f->samples[i].value = f->values[i];
		f->values[i][0] = i ? -100 : 1;
		f->values[i][1] = i ? -200 : 4096;
	}
	f->types[0].type = 5;
	f->types[0].unit = 6;
	f->types[1].type = 1;
	f->types[1].unit = 2;
	perftools__profiles__function__init(&f->function);
	f->function.id = 500000000000;
	f->function.name = f->function.system_name = 3;
	f->function.filename = 4;
	perftools__profiles__mapping__init(&f->mapping);
	f->mapping.id = 1;
	f->function_list[0] = &f->function;
	f->mapping_list[0] = &f->mapping;
	f->profile.n_sample_type = f->profile.n_sample = f->profile.n_location = 2;
	f->profile.n_function = 1;
	f->profile.sample_type = f->type_list;
	f->profile.sample = f->sample_list;
	f->profile.location = f->location_list;
	f->profile.function = f->function_list;
	f->profile.mapping = f->mapping_list;
	f->profile.n_string_table = 8;
	f->profile.string_table = f->strings;
}

static int foreign_read(const struct foreign *f, struct profile **ret, struct error *err)
{
	size_t len = perftools__profiles__profile__get_packed_size(&f->profile);
	uint8_t *data = malloc(len);
	int r;

	perftools__profiles__profile__pack(&f->profile, data);
	r = pprof_read(data, len, "other.pprof", pool, ret, err);
	free(data);
	return r;
}

static void sparse_ids_and_gaps_are_fine(void **state)
{
	struct foreign f;
	struct profile *p = NULL;
	struct error err = {0};

	(void)state;
	foreign_init(&f);
	assert_int_equal(foreign_read(&f, &p, &err), 0);
	assert_false(p->extra.present);
	assert_int_equal(p->count_value, PROFILE_NONE);
	assert_int_equal(p->cpu_value, PROFILE_NONE);
	assert_int_equal(p->nr_samples, 2);
	assert_int_equal(p->sample_locations[0], 0);
	assert_int_equal(p->sample_locations[1], 1);
	assert_int_equal(p->locations[0].mapping, PROFILE_NONE);
	assert_int_equal(p->lines[0].function, 0);
	assert_int_equal(p->lines[0].line, 12);
	assert_int_equal(p->lines[1].function, PROFILE_NONE);
	assert_int_equal(p->lines[1].line, 0); /* -3 in the file */
	assert_string_equal(p->functions[0].name, "alloc");
	assert_string_equal(p->functions[0].system_name, "");
	assert_int_equal(p->values[2], -100);
	assert_int_equal(p->period, 0);
	assert_string_equal(p->value_types[1].type, "heap");
	profile_free(p);
}

/* Reads a file with two types, whose default type is @by_default unless that is "". */
static struct profile *read_types(const char *first, const char *unit, const char *second,
				  const char *second_unit, const char *by_default)
{
	struct foreign f;
	struct profile *p = NULL;
	struct error err = {0};

	foreign_init(&f);
	f.strings[5] = (char *)first;
	f.strings[6] = (char *)unit;
	f.strings[1] = (char *)second;
	f.strings[2] = (char *)second_unit;
	f.profile.default_sample_type = !strcmp(by_default, first)    ? 5
					: !strcmp(by_default, second) ? 1
								      : 0;
	assert_int_equal(foreign_read(&f, &p, &err), 0);
	return p;
}

static void one_type_is_shown_and_the_others_are_told(void **state)
{
	static const struct {
		const char *types[4], *by_default;
		uint32_t count, cpu, shown;
		const char *warning;
	} cases[] = {
		{{"samples", "count", "cpu", "nanoseconds"}, "", 0, 1, 1, NULL},
		{{"cpu-time", "nanoseconds", "cpu-samples", "count"}, "", 1, 0, 0, NULL},
		{{"cpu", "nanoseconds", "wall", "nanoseconds"},
		 "wall",
		 PROFILE_NONE,
		 0,
		 0,
		 "This profile also has wall (nanoseconds): not shown."},
		{{"cpu-time", "nanoseconds", "cpu", "nanoseconds"},
		 "",
		 PROFILE_NONE,
		 1,
		 1,
		 "This profile also has cpu-time (nanoseconds): not shown."},
		{{"cpu", "percent", "wall", "nanoseconds"},
		 "cpu",
		 PROFILE_NONE,
		 PROFILE_NONE,
		 0,
		 "This profile also has wall (nanoseconds): not shown."},
		{{"sample", "count", "wall", "nanoseconds"},
		 "",
		 PROFILE_NONE,
		 PROFILE_NONE,
		 1,
		 "This profile also has sample (count): not shown."},
		{{"samples", "count", "faults", "count"},
		 "faults",
		 0,
		 PROFILE_NONE,
		 1,
		 "This profile also has samples (count): not shown."},
		{{"samples", "count", "wall", "nanoseconds"},
		 "",
		 0,
		 PROFILE_NONE,
		 0,
		 "This profile also has wall (nanoseconds): not shown."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const *t = cases[i].types;
		struct profile *p =
			read_types(t[0], t[1], t[2], t[3], cases[i].by_default);

		assert_int_equal(p->count_value, cases[i].count);
		assert_int_equal(p->cpu_value, cases[i].cpu);
		assert_int_equal(profile_shown_value(p), cases[i].shown);
		assert_int_equal(p->extra.nr_warnings, cases[i].warning != NULL);
		if (cases[i].warning)
			assert_string_equal(p->extra.warnings[0], cases[i].warning);
		profile_free(p);
	}
}

static void a_raw_name_alone_is_the_name(void **state)
{
	struct foreign f;
	struct profile *p = NULL;

	(void)state;
	foreign_init(&f);
	f.function.name = 0;
	f.function.system_name = 7;
	assert_int_equal(foreign_read(&f, &p, NULL), 0);
	assert_string_equal(p->functions[0].name, "_Zalloc");
	assert_string_equal(p->functions[0].system_name, "");
	profile_free(p);
}

static void bad_location(struct foreign *f)
{
	f->ids[1][1] = 4;
}
static void too_few_values(struct foreign *f)
{
	f->samples[1].n_value = 1;
}
static void string_out_of_range(struct foreign *f)
{
	f->function.name = 8;
}
static void string_below_zero(struct foreign *f)
{
	f->types[1].unit = -1;
}
static void id_twice(struct foreign *f)
{
	f->locations[0].id = 3;
}
static void id_zero(struct foreign *f)
{
	f->function.id = 0;
}
static void mapping_id_zero(struct foreign *f)
{
	f->profile.n_mapping = 1;
	f->mapping.id = 0;
}
static void comment_out_of_range(struct foreign *f)
{
	f->profile.comment = f->values[0];
	f->profile.n_comment = 2;
}
static void first_string_not_empty(struct foreign *f)
{
	f->strings[0] = "x";
}
static void no_types(struct foreign *f)
{
	f->profile.n_sample_type = f->profile.n_sample = 0;
}
static void extra_is_garbage(struct foreign *f)
{
	f->profile.lineburn_extra.data = (uint8_t *)f->strings[3];
	f->profile.lineburn_extra.len = 5;
}

static void what_does_not_fit_is_told(void **state)
{
	static const struct {
		void (*damage)(struct foreign *f);
		const char *sentence;
	} rows[] = {
		{bad_location, "other.pprof is malformed: sample 1 has no location 4;"},
		{too_few_values,
		 "other.pprof is malformed: sample 1 has 1 values for 2 types;"},
		{string_out_of_range, "other.pprof is malformed: string 8 of 8;"},
		{string_below_zero, "other.pprof is malformed: string -1 of 8;"},
		{id_twice, "other.pprof is malformed: two locations have the id 3;"},
		{id_zero, "other.pprof is malformed: a function has the id 0;"},
		{mapping_id_zero, "other.pprof is malformed: a mapping has the id 0;"},
		{comment_out_of_range, "other.pprof is malformed: string 4096 of 8;"},
		{first_string_not_empty,
		 "other.pprof is not a profile: it has no table of"},
		{no_types,
		 "other.pprof is not a profile: it does not say what was counted;"},
		{extra_is_garbage,
		 "other.pprof is malformed: the part that only lineburn"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct foreign f;
		struct profile *p = NULL;
		struct error err = {0};

		foreign_init(&f);
		rows[i].damage(&f);
		assert_int_equal(foreign_read(&f, &p, &err), -EBADMSG);
		assert_null(p);
		if (strncmp(err.text, rows[i].sentence, strlen(rows[i].sentence)))
			fail_msg("\"%s\" should begin \"%s\"", err.text,
				 rows[i].sentence);
	}
}

/* ---- files of future versions ---- */

/* Reads a foreign profile whose Extra has a miss and a status with the name @name. */
static struct profile *read_newer(uint32_t version, const char *name)
{
	Lineburn__Extra extra = LINEBURN__EXTRA__INIT;
	struct profile *p = NULL;
	struct foreign f;
	uint64_t ids[] = {3};
	uint32_t zero[] = {0, 0};
	char *names[] = {(char *)name};
	uint8_t packed[256];

	extra.version = version;
	extra.n_miss_name = extra.n_status_name = 1;
	extra.miss_name = extra.status_name = names;
	extra.n_miss = extra.n_miss_location = 1;
	extra.miss_location = ids;
	extra.miss = zero;
	extra.n_sample_status = 2;
	extra.sample_status = zero;
	foreign_init(&f);
	f.profile.lineburn_extra.len = lineburn__extra__pack(&extra, packed);
	f.profile.lineburn_extra.data = packed;
	assert_int_equal(foreign_read(&f, &p, NULL), 0);
	return p;
}

static void names_of_the_future_are_not_told(void **state)
{
	struct profile *p = read_newer(1, "no-dwz");

	(void)state;
	assert_true(p->extra.present);
	assert_int_equal(p->locations[1].miss, MISS_NO_DWZ); /* the id 3 */
	assert_int_equal(p->locations[0].miss, MISS_NONE);
	profile_free(p);
	p = read_newer(1, "fault");
	assert_int_equal(p->samples[1].status, LB_STACK_FAULT);
	profile_free(p);
	p = read_newer(1, "a-reason-to-come");
	assert_true(p->extra.present);
	assert_int_equal(p->locations[1].miss, MISS_NONE);
	assert_int_equal(p->samples[0].status, LB_STACK_COMPLETE);
	profile_free(p);
}

/* Reads a foreign profile whose Extra has @code. Return: as pprof_read(). */
static int read_code(const Lineburn__Code *code, size_t *ret_nr)
{
	Lineburn__Extra extra = LINEBURN__EXTRA__INIT;
	Lineburn__Code copy = *code, *list = &copy;
	struct profile *p = NULL;
	struct foreign f;
	uint8_t packed[256];
	int r;

	extra.version = 1;
	extra.n_code = 1;
	extra.code = &list;
	foreign_init(&f);
	f.profile.lineburn_extra.len = lineburn__extra__pack(&extra, packed);
	f.profile.lineburn_extra.data = packed;
	r = foreign_read(&f, &p, NULL);
	*ret_nr = p ? p->extra.nr_codes : 0;
	profile_free(p);
	return r;
}

static void lies_about_code_are_refused(void **state)
{
	uint64_t offsets[] = {0, 4}, functions[] = {0, 4711};
	uint32_t lines[] = {1, 2};
	uint8_t bytes[8] = {0};
	Lineburn__Code code;
	size_t nr;

	(void)state;
#define TRY(...)                                                                  \
	(lineburn__code__init(&code), code.address = 0x1000, code.size_bytes = 8, \
	 code.n_row_offset = code.n_row_function_id = code.n_row_line = 2,        \
	 code.row_offset = offsets, code.row_function_id = functions,             \
	 code.row_line = lines, offsets[0] = 0, offsets[1] = 4, __VA_ARGS__,      \
	 read_code(&code, &nr))
	/* Unknown mapping and function ids are ignored. */
	assert_int_equal(TRY(code.mapping_id = 4711), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(TRY(code.machine_code.data = bytes, code.machine_code.len = 8),
			 0);
	assert_int_equal(nr, 1);
	assert_int_equal(TRY(code.n_row_line = 1), -EBADMSG);
	assert_int_equal(TRY(code.n_row_function_id = 0), -EBADMSG);
	assert_int_equal(TRY(code.n_row_offset = 1), -EBADMSG);
	assert_int_equal(TRY(offsets[0] = 5), -EBADMSG);
	assert_int_equal(TRY(offsets[1] = 9), -EBADMSG);
	assert_int_equal(TRY(offsets[1] = UINT64_MAX), -EBADMSG);
	assert_int_equal(TRY(code.size_bytes = 0), -EBADMSG);
	assert_int_equal(TRY(code.size_bytes = UINT64_MAX), -EBADMSG);
	assert_int_equal(TRY(code.machine_code.data = bytes, code.machine_code.len = 7),
			 -EBADMSG);
#undef TRY
}

/* Reads a foreign profile whose Extra has @codes. Return: as pprof_read(). */
static int read_codes(const Lineburn__Codes *codes, struct profile **ret)
{
	Lineburn__Extra extra = LINEBURN__EXTRA__INIT;
	struct foreign f;
	uint8_t packed[256];

	extra.version = 1;
	extra.codes = (Lineburn__Codes *)codes;
	foreign_init(&f);
	f.profile.lineburn_extra.len = lineburn__extra__pack(&extra, packed);
	f.profile.lineburn_extra.data = packed;
	return foreign_read(&f, ret, NULL);
}

static void lies_in_columns_are_refused(void **state)
{
	uint64_t mappings[2], sizes[2], distances[3], functions[3];
	int64_t addresses[2], lines[3];
	uint32_t nr_rows[2];
	protobuf_c_boolean has[2];
	uint8_t bytes[8] = {0};
	Lineburn__Codes c;
	struct profile *p;

	(void)state;
	/* Two codes, of two rows and one; the second has its machine code. */
#define TRY(...)                                                                     \
	(lineburn__codes__init(&c), p = NULL, mappings[0] = mappings[1] = 4711,      \
	 addresses[0] = 0x1000, addresses[1] = -16, sizes[0] = sizes[1] = 8,         \
	 nr_rows[0] = 2, nr_rows[1] = 1, has[0] = 0, has[1] = 1, distances[0] = 0,   \
	 distances[1] = 4, distances[2] = 0, functions[0] = 500000000000,            \
	 functions[1] = 0, functions[2] = 500000000000, lines[0] = 12, lines[1] = 0, \
	 lines[2] = -2, c.mapping_id = mappings, c.address_distance = addresses,     \
	 c.size_bytes = sizes, c.nr_rows = nr_rows, c.has_machine_code = has,        \
	 c.row_distance = distances, c.row_function_id = functions,                  \
	 c.row_line_distance = lines, c.n_mapping_id = c.n_address_distance = 2,     \
	 c.n_size_bytes = c.n_nr_rows = c.n_has_machine_code = 2,                    \
	 c.n_row_distance = c.n_row_function_id = c.n_row_line_distance = 3,         \
	 c.machine_code.data = bytes, c.machine_code.len = 8, __VA_ARGS__,           \
	 read_codes(&c, &p))
	assert_int_equal(TRY((void)0), 0);
	assert_int_equal(p->extra.nr_codes, 2);
	assert_int_equal(p->extra.codes[0].address, 0x1000);
	assert_int_equal(p->extra.codes[1].address, 0xff0);
	assert_int_equal(p->extra.codes[0].rows[1].address, 0x1004);
	assert_int_equal(p->extra.codes[0].rows[1].at.function, PROFILE_NONE);
	assert_int_equal(p->extra.codes[0].rows[0].at.line, 12);
	assert_int_equal(p->extra.codes[0].rows[1].at.line, 0);
	assert_int_equal(p->extra.codes[1].rows[0].at.line, 10);
	assert_null(p->extra.codes[0].bytes);
	assert_non_null(p->extra.codes[1].bytes);
	profile_free(p);
#define REFUSED(...) assert_int_equal(TRY(__VA_ARGS__), -EBADMSG)
	REFUSED(c.n_mapping_id = 1);
	REFUSED(c.n_address_distance = 1);
	REFUSED(c.n_size_bytes = 1);
	REFUSED(c.n_nr_rows = 1);
	REFUSED(c.n_has_machine_code = 1);
	REFUSED(c.n_row_distance = 2);
	REFUSED(c.n_row_function_id = 2);
	REFUSED(c.n_row_line_distance = 2);
	REFUSED(nr_rows[1] = 2);
	REFUSED(nr_rows[0] = UINT32_MAX);
	REFUSED(nr_rows[1] = 0);
	REFUSED(distances[0] = 9);
	REFUSED(distances[1] = 9);
	REFUSED(distances[1] = UINT64_MAX);
	REFUSED(lines[2] = -13);
	REFUSED(lines[0] = INT64_C(1) << 32);
	REFUSED(lines[2] = INT64_MAX);
	REFUSED(lines[2] = INT64_MIN);
	REFUSED(c.machine_code.len = 7);
	REFUSED(sizes[1] = UINT64_MAX);
	REFUSED(sizes[0] = 0);
#undef REFUSED
#undef TRY
}

static void lies_in_misses_are_refused(void **state)
{
	Lineburn__Extra extra = LINEBURN__EXTRA__INIT;
	Lineburn__Misses misses = LINEBURN__MISSES__INIT;
	uint64_t distances[] = {3, UINT64_MAX - 3}; /* the ids 3 and UINT64_MAX */
	uint32_t reasons[] = {1, 0};
	char *names[] = {"no-dwz", "no-debug-info"};
	uint8_t packed[256];
	struct profile *p = NULL;
	struct foreign f;

	(void)state;
	extra.version = 1;
	extra.miss_name = names;
	extra.n_miss_name = 2;
	extra.misses = &misses;
	misses.location_distance = distances;
	misses.reason = reasons;
#define READ(nr_distances, nr_reasons)                                                \
	(misses.n_location_distance = (nr_distances), misses.n_reason = (nr_reasons), \
	 foreign_init(&f),                                                            \
	 f.profile.lineburn_extra.len = lineburn__extra__pack(&extra, packed),        \
	 f.profile.lineburn_extra.data = packed, foreign_read(&f, &p, NULL))
	assert_int_equal(READ(2, 2), 0);
	assert_int_equal(p->locations[1].miss, MISS_NO_DEBUG_INFO);
	assert_int_equal(p->locations[0].miss, MISS_NO_DWZ);
	profile_free(p);
	assert_int_equal(READ(1, 2), -EBADMSG);
	assert_int_equal(READ(2, 1), -EBADMSG);
	reasons[1] = 2;
	assert_int_equal(READ(2, 2), -EBADMSG);
	reasons[1] = 0;
	distances[0] = 4;
	assert_int_equal(READ(1, 1), -EBADMSG);
#undef READ
}

/* Reads a profile of one sample with these times. */
static int read_times(uint64_t bucket_ns, uint32_t *times, size_t nr)
{
	Lineburn__Extra extra;
	uint8_t buf[256];
	struct profile *p = profile_new(pool);
	struct extra_ids ids = {0};
	struct arena arena = {.max = 1 << 20};
	int rc;

	add_stack(p, LB_STACK_COMPLETE, 9,
		  add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1"));
	lineburn__extra__init(&extra);
	extra.version = EXTRA_VERSION;
	extra.time_bucket_ns = bucket_ns;
	extra.time = times;
	extra.n_time = nr;
	rc = extra_unpack(p, buf, lineburn__extra__pack(&extra, buf), &ids, &arena);
	arena_deinit(&arena);
	profile_free(p);
	return rc;
}

static void lies_about_times_are_refused(void **state)
{
#define TRY(bucket_ns, ...)                              \
	read_times(bucket_ns, (uint32_t[]){__VA_ARGS__}, \
		   sizeof((uint32_t[]){__VA_ARGS__}) / 4)
	(void)state;
	assert_int_equal(TRY(100, 2, 0, 4, 599, 5), 0);
	assert_int_equal(TRY(100, 0), 0);
	/* of recordings of half an hour, and of a month */
	assert_int_equal(TRY(3200000000, 2, 0, 4, 599, 5), 0);
	assert_int_equal(TRY(6553600000000, 2, 0, 4, 599, 5), 0);
	assert_int_equal(TRY(1ULL << 61, 1, 2, 1), -EBADMSG);
	assert_int_equal(TRY(0, 0), -EBADMSG);
	assert_int_equal(TRY(UINT64_MAX, 1, 1, 1), -EBADMSG);
	assert_int_equal(TRY(100, 1, 0), -EBADMSG);
	assert_int_equal(TRY(100, 2, 0, 1), -EBADMSG);
	assert_int_equal(TRY(100, UINT32_MAX, 0, 1), -EBADMSG);
	assert_int_equal(TRY(100, 1, 0, 0), -EBADMSG); /* no samples */
	assert_int_equal(TRY(100, 1, 0, 1, 0), -EBADMSG); /* a sample too many */
	assert_int_equal(TRY(100, 2, 1, 1, UINT32_MAX, 1), -EBADMSG);
	assert_int_equal(TRY(100, 2, 0, 1, 600, 1), -EBADMSG); /* too many buckets */
#undef TRY
}

static void a_version_of_the_future_is_left_aside(void **state)
{
	struct profile *p = read_newer(2, "no-dwz");

	(void)state;
	assert_false(p->extra.present);
	assert_int_equal(p->locations[1].miss, MISS_NONE);
	assert_int_equal(p->nr_comments, 1);
	assert_non_null(strstr(p->comments[0], "written by a newer lineburn"));
	profile_free(p);
}

/* ---- broken files ---- */

static void assert_refused(const void *data, size_t len, int code, const char *sentence)
{
	struct profile *p = NULL;
	struct error err = {0};

	assert_int_equal(pprof_read(data, len, "f", pool, &p, &err), code);
	assert_null(p);
	if (!strstr(err.text, sentence))
		fail_msg("\"%s\" should have \"%s\"", err.text, sentence);
}

static void what_is_no_profile_is_refused(void **state)
{
	static const char text[] = "#!/bin/sh\necho hello, this is no profile\n";
	static const char perf[] = "PERFILE2\0\0\0";
	uint8_t zeroes[64] = {0};

	(void)state;
	assert_refused("", 0, -EBADMSG, "it is empty");
	assert_refused(text, sizeof(text), -EBADMSG, "f is not a profile");
	assert_refused(perf, sizeof(perf), -EBADMSG, "a recording of perf");
	assert_refused(zeroes, sizeof(zeroes), -EBADMSG, "f is not a profile");
	assert_refused("\x1f\x8b", 2, -EBADMSG, "f is truncated");
	assert_refused("\x1f\x8bxxxxxxxxxxxxxxxxxxxxx", 20, -EBADMSG, "damaged");
}

static void every_truncation_is_refused(void **state)
{
	struct profile *p = make_profile(), *back = NULL;
	void *data = NULL;
	size_t len, whole, nr_codes = p->extra.nr_codes;

	(void)state;
	p->extra.nr_codes = 0; /* keep functions that only codes refer to */
	assert_int_equal(pprof_write(p, false, &data, &whole), 0);
	p->extra.nr_codes = nr_codes;
	free(data);
	assert_int_equal(pprof_write(p, true, &data, &len), 0);
	for (size_t cut = 1; cut < len; cut++) {
		struct error err = {0};

		if (cut == whole) { /* the first member alone is a profile */
			assert_int_equal(pprof_read(data, cut, "f", pool, &back, &err),
					 0);
			profile_free(back);
			continue;
		}
		assert_int_equal(pprof_read(data, cut, "f", pool, &back, &err), -EBADMSG);
	}
	free(data);
	profile_free(p);
}

static void every_flipped_byte_is_survived(void **state)
{
	struct profile *p = make_profile();
	void *data = NULL;
	uint8_t *plain = NULL;
	size_t len, plain_len, nr_read = 0;

	(void)state;
	assert_int_equal(pprof_write(p, true, &data, &len), 0);
	assert_int_equal(gzip_inflate(data, len, 1 << 20, &plain, &plain_len), 0);
	for (size_t i = 0; i < plain_len; i++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			struct profile *back = NULL;

			plain[i] ^= (uint8_t)(1u << bit);
			nr_read += !pprof_read(plain, plain_len, "f", pool, &back, NULL);
			profile_free(back);
			plain[i] ^= (uint8_t)(1u << bit);
		}
	}
	assert_true(nr_read > 0 && nr_read < plain_len * 8);
	free(plain);
	free(data);
	profile_free(p);
}

static void bombs_are_refused(void **state)
{
	struct gzip_writer *w = calloc(1, sizeof(*w));
	static const uint8_t tag[] = {0x32, 0x80, 0x80, 0x80,
				      0x10}; /* a string of 32 MB */
	char *zeroes = calloc(1, 1 << 20);
	void *data = NULL;
	size_t len;

	(void)state;
	gzip_put(w, tag, sizeof(tag));
	for (int i = 0; i < 32; i++)
		gzip_put(w, zeroes, 1 << 20);
	assert_int_equal(gzip_take(w, &data, &len), 0);
	assert_refused(data, len, -EFBIG, "unpacks to more than 200 times its size");
	free(data);
	free(zeroes);
	gzip_writer_deinit(w);
	free(w);
}

/* A profile with a location of @nr_lines lines of @name, @nr_frames times on a stack. */
static void write_stack(const char *name, uint32_t nr_lines, size_t nr_frames, void **ret,
			size_t *ret_len)
{
	struct profile *p = profile_new(pool);
	struct profile_line *lines = calloc(nr_lines, sizeof(*lines));
	uint32_t *stack = calloc(nr_frames, sizeof(*stack));
	uint32_t function = profile_add_function(
		p, &(struct profile_function){.name = name, .filename = "/a.c"});

	for (uint32_t i = 0; i < nr_lines; i++)
		lines[i] = (struct profile_line){function, 1 + i};
	stack[0] = profile_add_location(p, add_mapping(p, "/app"), 1, MISS_NONE, lines,
					nr_lines);
	for (size_t i = 1; i < nr_frames; i++)
		stack[i] = stack[0];
	profile_add_sample(p, stack, nr_frames, NULL, 0, LB_STACK_COMPLETE,
			   (int64_t[]){1, PERIOD_NS});
	assert_int_equal(pprof_write(p, false, ret, ret_len), 0);
	profile_free(p);
	free(lines);
	free(stack);
}

static void assert_stack_is_read(const char *name, uint32_t nr_lines, size_t nr_frames)
{
	struct profile *back;
	void *data = NULL;
	size_t len;

	write_stack(name, nr_lines, nr_frames, &data, &len);
	back = read_back(data, len);
	assert_int_equal(back->locations[0].nr_lines, nr_lines);
	assert_int_equal(back->nr_sample_locations, nr_frames);
	profile_free(back);
	free(data);
}

static void assert_stack_is_refused(const char *name, uint32_t nr_lines, size_t nr_frames,
				    const char *sentence)
{
	void *data = NULL;
	size_t len;

	write_stack(name, nr_lines, nr_frames, &data, &len);
	assert_refused(data, len, -EFBIG, sentence);
	free(data);
}

static void inlined_frames_are_bounded(void **state)
{
	(void)state;
	assert_stack_is_read("f", 1024, 256);
	assert_stack_is_refused("f", 1025, 1, "a location has more than 1024 lines");
	assert_stack_is_refused("f", 1024, 1000, "too many inlined frames");
	/* 16 for each byte, and a place on a stack takes one. */
	assert_stack_is_read("f", 17, 1000000);
	assert_stack_is_read("f", 1, 1000000);
}

static void long_names_are_not_repeated_without_end(void **state)
{
	char *name = calloc(1, 60001);

	(void)state;
	memset(name, 'f', 60000);
	assert_stack_is_read(name, 1, 1000);
	assert_stack_is_refused(name, 1, 2000, "it repeats long names too often");
	assert_stack_is_refused(name, 1000, 2, "it repeats long names too often");
	name[1024] = '\0';
	assert_stack_is_read(name, 1, 1000000);
	free(name);
}

/* Returns a text of @nr times "\u00e4", then @end. To be freed. */
static char *long_text(size_t nr, const char *end)
{
	char *text = calloc(1, 2 * nr + strlen(end) + 1);

	for (size_t i = 0; i < nr; i++)
		memcpy(text + 2 * i, "\xc3\xa4", 2);
	strcpy(text + 2 * nr, end);
	return text;
}

/* Reads a function's name back. Interned. */
static const char *name_read_back(const char *name)
{
	const char *read;
	struct profile *back;
	void *data = NULL;
	size_t len;

	write_stack(name, 1, 1, &data, &len);
	back = read_back(data, len);
	read = back->functions[0].name;
	profile_free(back);
	free(data);
	return read;
}

static void endless_names_are_cut(void **state)
{
	char *fits = long_text(32767, "a"), *a = long_text(100000, "a"),
	     *b = long_text(100000, "b"), *odd = long_text(100000, "");
	const char *cut;

	(void)state;
	assert_string_equal(name_read_back(fits), fits);
	cut = name_read_back(a);
	assert_in_range(strlen(cut), 65000, 65535);
	assert_int_equal(strspn(cut, "\xc3\xa4") % 2, 0);
	assert_memory_equal(cut + strspn(cut, "\xc3\xa4"), "[...", 4);
	/* Different texts stay different, and equal ones equal. */
	assert_ptr_equal(name_read_back(a), cut);
	assert_ptr_not_equal(name_read_back(b), cut);
	memmove(odd + 1, odd, 199999);
	*odd = 'x';
	cut = name_read_back(odd);
	assert_int_equal(strspn(cut + 1, "\xc3\xa4") % 2, 0);
	free(fits);
	free(a);
	free(b);
	free(odd);
}

static void two_recordings_in_a_file_are_refused(void **state)
{
	struct profile *p = make_profile();
	void *data = NULL;
	char *twice;
	size_t len;

	(void)state;
	assert_int_equal(pprof_write(p, true, &data, &len), 0);
	twice = malloc(2 * len);
	memcpy(twice, data, len);
	memcpy(twice + len, data, len);
	assert_refused(twice, 2 * len, -EBADMSG, "have the id 1");
	free(twice);
	free(data);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(extra_may_stay_out),
		cmocka_unit_test(code_that_makes_no_sense_is_not_kept),
		cmocka_unit_test(code_is_bounded),
		cmocka_unit_test(an_empty_profile_is_one),
		cmocka_unit_test(strings_in_the_file_are_utf8),
		cmocka_unit_test(sparse_ids_and_gaps_are_fine),
		cmocka_unit_test(one_type_is_shown_and_the_others_are_told),
		cmocka_unit_test(a_raw_name_alone_is_the_name),
		cmocka_unit_test(what_does_not_fit_is_told),
		cmocka_unit_test(names_of_the_future_are_not_told),
		cmocka_unit_test(lies_about_code_are_refused),
		cmocka_unit_test(lies_in_columns_are_refused),
		cmocka_unit_test(lies_in_misses_are_refused),
		cmocka_unit_test(lies_about_times_are_refused),
		cmocka_unit_test(a_version_of_the_future_is_left_aside),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_flipped_byte_is_survived),
		cmocka_unit_test(bombs_are_refused),
		cmocka_unit_test(inlined_frames_are_bounded),
		cmocka_unit_test(long_names_are_not_repeated_without_end),
		cmocka_unit_test(endless_names_are_cut),
		cmocka_unit_test(two_recordings_in_a_file_are_refused),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
