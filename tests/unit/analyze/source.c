// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit/profile/fixture.h"

#include "analyze/source.h"
#include "base/io.h"
#include "profile/pprof.h"
#include "lib/scratch.h"

static struct strpool *pool;
static struct profile *p;
static struct attribution *a;
static char dir[64];

static int setup(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	pool = strpool_new(8 << 20);
	p = profile_new(pool);
	p->extra.present = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	attribution_free(a);
	a = NULL;
	profile_free(p);
	strpool_free(pool);
	scratch_remove(dir);
	return 0;
}

static const char *write_source(const char *name, const void *text, size_t len)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(io_write_file_atomic(path, text, len, false, NULL), 0);
	return path;
}

/* Writes @nr lines "line N". */
static const char *write_lines(const char *name, unsigned int nr)
{
	char *text = malloc(nr * 16 + 1);
	size_t len = 0;
	const char *path;

	for (unsigned int i = 1; i <= nr; i++)
		len += (size_t)sprintf(text + len, "line %u\n", i);
	path = write_source(name, text, len);
	free(text);
	return path;
}

static void hit(const char *path, unsigned int line, unsigned int start_line,
		int64_t count)
{
	uint32_t f = profile_add_function(
		p, &(struct profile_function){
			   .name = "f", .filename = path, .start_line = start_line});
	struct profile_line l = {.function = f, .line = line};
	uint32_t location = profile_add_location(
		p, PROFILE_NONE, p->nr_locations + UINT64_C(1), MISS_NONE, &l, 1);

	profile_add_sample(p, &location, 1, NULL, 0, 0, (int64_t[]){count, count});
}

static int read_plain(void *ctx, const char *path, char **ret, size_t *ret_len,
		      int64_t *ret_mtime_ns)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	++*(int *)ctx;
	fd = io_open_regular(path, &st);
	if (fd < 0)
		return fd;
	*ret_mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	return io_read_all(fd, SOURCE_MAX_FILE_BYTES, ret, ret_len);
}

static int collect(void)
{
	struct attribution_options options = {0};
	int nr_opened = 0;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(source_collect(p, a, read_plain, &nr_opened), 0);
	return nr_opened;
}

/* Writes and reads the profile first, as annotate sees it. */
static void attach_after_round_trip(void)
{
	struct attribution_options options = {0};
	struct profile *back = NULL;
	void *data = NULL;
	size_t len;

	assert_int_equal(pprof_write(p, true, &data, &len), 0);
	assert_int_equal(pprof_read(data, len, "f", pool, &back, NULL), 0);
	free(data);
	attribution_free(a);
	profile_free(p);
	p = back;
	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(source_attach(a, p, &(struct source_search){0}), 0);
}

static void attach(const struct source_path_rule *rules, size_t nr_rules)
{
	struct attribution_options options = {0};

	attribution_free(a);
	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(source_attach(a, p,
				       &(struct source_search){.rules = rules,
							       .nr_rules = nr_rules}),
			 0);
}

static void a_small_file_is_kept_whole(void **state)
{
	static const char text[] = "int x;\n\n\tint y;\r\nlast";
	const char *path = write_source("a.c", text, sizeof(text) - 1);
	const struct attribution_source *source;

	(void)state;
	hit(path, 3, 1, 5);
	assert_int_equal(collect(), 1);
	assert_int_equal(p->extra.nr_sources, 1);
	assert_int_equal(p->extra.sources[0].size_bytes, sizeof(text) - 1);
	assert_int_equal(p->extra.sources[0].nr_lines, 4);
	assert_int_equal(p->extra.sources[0].nr_runs, 1);
	assert_true(p->extra.sources[0].mtime_nanos > INT64_C(1600000000) * 1000000000);
	assert_int_equal(unlink(path), 0); /* the container is gone */
	attach_after_round_trip();
	source = &a->files[0].source;
	assert_true(source->found);
	assert_string_equal(source->from, "recorded");
	assert_string_equal(source->note, "");
	assert_int_equal(source->nr_lines, 4);
	assert_string_equal(source->lines[0], "int x;");
	assert_string_equal(source->lines[1], "");
	assert_string_equal(source->lines[2], "\tint y;");
	assert_string_equal(source->lines[3], "last");
}

/* A stored text is read as lines again: both readings are the same. */
static void line_ends_are_read_once(void **state)
{
	static const char text[] = "int x;\r\r\n\r\r\n\tint y;\r\nlast\r\r";
	static const char *const lines[] = {"int x;", "", "\tint y;", "last"};
	const char *path = write_source("a.c", text, sizeof(text) - 1);
	const struct attribution_source *source;

	(void)state;
	hit(path, 3, 1, 5);
	assert_int_equal(collect(), 1);
	attach_after_round_trip();
	source = &a->files[0].source;
	assert_string_equal(source->from, "recorded");
	assert_int_equal(source->nr_lines, ARRAY_SIZE(lines));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_string_equal(source->lines[i], lines[i]);
	profile_clear_extra(p);
	attach(NULL, 0);
	source = &a->files[0].source;
	assert_string_equal(source->from, path);
	assert_int_equal(source->nr_lines, ARRAY_SIZE(lines));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_string_equal(source->lines[i], lines[i]);
}

static void the_hash_is_sha256(void **state)
{
	/* FIPS 180-2, appendix B.1: "abc" */
	static const uint8_t abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
					0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
					0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
					0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};

	(void)state;
	hit(write_source("a.c", "abc", 3), 1, 0, 1);
	collect();
	assert_memory_equal(p->extra.sources[0].sha256, abc, 32);
}

static void windows_of_a_large_file_are_kept(void **state)
{
	const char *path = write_lines("big.c", 20000);
	const struct attribution_source *source;

	(void)state;
	hit(path, 5, 0, 1);
	hit(path, 3000, 2900, 9); /* includes the start of the function */
	hit(path, 9000, 1, 3); /* the start is too far away */
	hit(path, 20000, 0, 1);
	hit(path, 20001, 0, 1); /* the file has changed */
	collect();
	assert_int_equal(p->extra.sources[0].nr_lines, 20000);
	assert_int_equal(p->extra.sources[0].nr_runs, 4);
	assert_int_equal(unlink(path), 0);
	attach_after_round_trip();
	source = &a->files[0].source;
	assert_int_equal(source->nr_lines, 20000);
	assert_string_equal(source->lines[0], "line 1");
	assert_string_equal(source->lines[24], "line 25");
	assert_null(source->lines[25]);
	assert_null(source->lines[2898]);
	assert_string_equal(source->lines[2899], "line 2900");
	assert_string_equal(source->lines[3019], "line 3020");
	assert_null(source->lines[3020]);
	assert_null(source->lines[8978]);
	assert_string_equal(source->lines[8979], "line 8980");
	assert_string_equal(source->lines[19999], "line 20000");
}

static const char *write_library(const char *name, unsigned int nr)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/site-packages", dir);
	if (access(path, F_OK))
		assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "site-packages/%s", name);
	return write_lines(path, nr);
}

/* Of a library's file a profile has what a listing shows, even if the file is small. */
static void windows_of_a_library_are_small(void **state)
{
	const struct attribution_source *source;
	const char *path = write_library("x.py", 300);

	(void)state;
	hit(path, 100, 50, 1);
	assert_int_equal(collect(), 1);
	assert_int_equal(unlink(path), 0);
	attach_after_round_trip();
	source = &a->files[0].source;
	assert_int_equal(source->nr_lines, 105);
	assert_null(source->lines[48]);
	assert_string_equal(source->lines[49], "line 50");
	assert_string_equal(source->lines[51], "line 52");
	assert_null(source->lines[52]);
	assert_null(source->lines[93]);
	assert_string_equal(source->lines[94], "line 95");
	assert_string_equal(source->lines[104], "line 105");
}

/* Samples of line 1 of one's own file, and beneath it of lines of a library. */
static void call_library(const char *own, const char *library, unsigned int line,
			 int64_t count)
{
	uint32_t f = profile_add_function(
		p, &(struct profile_function){.name = "main", .filename = own});
	uint32_t g = profile_add_function(
		p, &(struct profile_function){.name = "g", .filename = library});
	struct profile_line leaf = {g, line}, caller = {f, 1};
	uint32_t locations[2] = {
		profile_add_location(p, PROFILE_NONE, line, MISS_NONE, &leaf, 1),
		profile_add_location(p, PROFILE_NONE, 9999, MISS_NONE, &caller, 1),
	};

	profile_add_sample(p, locations, 2, NULL, 0, 0, (int64_t[]){count, count});
}

/* Their text would be most of the profile of a program that imports a library. */
static void cold_lines_of_a_library_are_left_out(void **state)
{
	const char *path = strpool_add(pool, write_library("hot.py", 300));
	const char *cold = strpool_add(pool, write_library("cold.py", 300));
	const char *own = strpool_add(pool, write_lines("own.py", 300));
	const struct attribution_source *source;

	(void)state;
	hit(own, 2, 0, 9989);
	call_library(own, path, 100, 10);
	hit(path, 200, 0, 9);
	hit(cold, 100, 0, 9);
	hit(own, 250, 0, 1);
	assert_int_equal(collect(), 2); /* not cold.py */
	assert_int_equal(p->extra.nr_sources, 2);
	assert_string_equal(p->extra.sources[1].path, path);
	assert_int_equal(p->extra.sources[1].nr_runs, 1);
	assert_int_equal(p->extra.sources[1].runs[0].first_line, 95);
	assert_int_equal(unlink(path), 0);
	attach_after_round_trip();
	source = &a->files[0].source;
	assert_int_equal(source->nr_lines, 300); /* one's own file is whole */
	source = &a->files[1].source;
	assert_string_equal(source->from, "recorded");
	assert_string_equal(source->lines[99], "line 100");
	assert_int_equal(source->nr_lines, 105);
	/* The cold file is still on disk. */
	assert_string_equal(a->files[2].source.from, cold);
	assert_string_equal(a->files[2].source.lines[99], "line 100");
}

/* The disk completes what was recorded, but only with the same text. */
static void a_part_is_completed_from_the_same_file(void **state)
{
	const char *path = strpool_add(pool, write_library("x.py", 300));

	(void)state;
	hit(path, 100, 0, 1);
	collect();
	attach_after_round_trip();
	assert_string_equal(a->files[0].source.from, "recorded");
	assert_string_equal(a->files[0].source.note, "");
	assert_int_equal(a->files[0].source.nr_lines, 300);
	assert_string_equal(a->files[0].source.lines[0], "line 1");
	write_library("x.py", 301);
	attach(NULL, 0);
	assert_int_equal(a->files[0].source.nr_lines, 105);
	assert_null(a->files[0].source.lines[0]);
	assert_string_equal(a->files[0].source.lines[99], "line 100");
	/* Same size, other text. */
	write_library("x.py", 300);
	p->extra.sources[0].sha256[0] ^= 1;
	attach(NULL, 0);
	assert_int_equal(a->files[0].source.nr_lines, 105);
	p->extra.sources[0].sha256[0] ^= 1;
	/* A stranger's profile opens nothing. */
	attribution_free(a);
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	assert_int_equal(
		source_attach(a, p, &(struct source_search){.is_strangers = true}), 0);
	assert_int_equal(a->files[0].source.nr_lines, 105);
}

static int opened_elsewhere(void *ctx, const char *path, struct stat *st)
{
	(void)path;
	return io_open_regular(ctx, st);
}

/* Another process may open the files; which ones a stranger's profile can name. */
static void files_are_opened_by_another(void **state)
{
	static const struct source_path_rule rules[] = {{"/b", "/new/"}, {"/c", "here"}};
	const char *path = strpool_add(pool, write_lines("other.c", 3));
	const struct source_search search = {
		.opener = {.open = opened_elsewhere, .ctx = (void *)path}};

	(void)state;
	hit("/nowhere/a.c", 2, 1, 1);
	attribution_free(a);
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	assert_int_equal(source_attach(a, p, &search), 0);
	assert_int_equal(a->files[0].source.nr_lines, 3);

	assert_ptr_equal(source_rule_above(rules, 2, "/new/a/b.c"), &rules[0]);
	assert_ptr_equal(source_rule_above(rules, 2, "here/b..c"), &rules[1]);
	assert_null(source_rule_above(rules, 2, "/newer/b.c"));
	assert_null(source_rule_above(rules, 2, "/new/a/../../etc/shadow"));
	assert_null(source_rule_above(rules, 2, "/b/a.c"));
	assert_null(source_rule_above(NULL, 0, "/new/a.c"));
}

static bool is_attached(const struct source_search *search)
{
	attribution_free(a);
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	assert_int_equal(source_attach(a, p, search), 0);
	return a->files[0].source.found;
}

/* A stranger's program may have named a file that only root may read. */
static void root_opens_what_everybody_may_read(void **state)
{
	const char *path = strpool_add(pool, write_lines("a.c", 3));
	const struct source_path_rule same = {dir, dir};
	const struct source_search careful = {.is_careful = true}, plain = {0},
				   by_rule = {.is_careful = true,
					      .rules = &same,
					      .nr_rules = 1};

	(void)state;
	if (geteuid()) {
		print_message("skip: needs root\n");
		skip();
	}
	hit(path, 2, 0, 1);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_true(is_attached(&careful));
	assert_int_equal(chmod(path, 0640), 0);
	assert_false(is_attached(&careful));
	assert_true(a->files[0].source.is_withheld);
	assert_non_null(strstr(a->files[0].source.note, "use --sources"));
	assert_true(is_attached(&plain));
	assert_true(is_attached(&by_rule));
	/* One that is not there is no secret. */
	assert_int_equal(chmod(dir, 0700), 0);
	assert_false(is_attached(&careful));
	assert_true(a->files[0].source.is_withheld);
	assert_int_equal(unlink(path), 0);
	assert_false(is_attached(&careful));
	assert_true(a->files[0].source.is_absent);
}

/* A rule of the caller's must not lead a stranger elsewhere. */
static void rules_lead_root_nowhere_else(void **state)
{
	const char *path = strpool_add(pool, write_lines("a.c", 3));
	const struct source_path_rule rule = {"/old", dir};
	const struct source_search plain = {.rules = &rule, .nr_rules = 1},
				   careful = {.is_careful = true,
					      .rules = &rule,
					      .nr_rules = 1};
	char up[256];

	(void)state;
	snprintf(up, sizeof(up), "/old/..%s", strrchr(dir, '/'));
	strcat(up, strrchr(path, '/'));
	hit(up, 2, 0, 1);
	assert_true(is_attached(&plain));
	assert_false(is_attached(&careful));
}

static bool is_changed(const struct source_search *search)
{
	attribution_free(a);
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	assert_int_equal(source_compare(a, p, search), 0);
	assert_false(a->files[0].source.found);
	return a->files[0].source.is_changed;
}

/* A recorded file is another one if its text is: its time tells nothing. */
static void another_text_is_a_change(void **state)
{
	const char *path = strpool_add(pool, write_lines("a.c", 30));
	static const struct source_search plain;

	(void)state;
	hit(path, 3, 0, 1);
	p->time_nanos = 1;
	collect();
	assert_false(is_changed(&plain));
	p->extra.sources[0].sha256[31] ^= 1;
	assert_true(is_changed(&plain));
	assert_false(is_changed(&(struct source_search){.is_strangers = true}));
	assert_false(is_changed(&(struct source_search){.min_share = 1.1}));
	p->extra.sources[0].sha256[31] ^= 1;
	write_lines("a.c", 31);
	assert_true(is_changed(&plain));
	assert_int_equal(unlink(path), 0);
	assert_false(is_changed(&plain));
}

/* Of one that is not recorded, age and length are all that is known. */
static void a_younger_or_shorter_file_is_a_change(void **state)
{
	static const struct source_search plain;

	(void)state;
	hit(write_lines("a.c", 30), 30, 0, 1);
	p->time_nanos = INT64_MAX;
	assert_false(is_changed(&plain));
	write_lines("a.c", 29);
	assert_true(is_changed(&plain));
	write_lines("a.c", 30);
	p->time_nanos = 1;
	assert_true(is_changed(&plain));
	assert_false(is_changed(&(struct source_search){.is_strangers = true}));
	p->time_nanos = 0;
	assert_false(is_changed(&plain));
}

static void files_that_are_not_shown_are_not_opened(void **state)
{
	const char *hot = strpool_add(pool, write_lines("hot.c", 3));
	const char *cold = strpool_add(pool, write_lines("cold.c", 3));

	(void)state;
	p->time_nanos = INT64_MAX; /* after the files were written */
	hit(hot, 1, 0, 995);
	hit(cold, 1, 0, 5);
	for (int i = 0; i < 2; i++) {
		const struct source_search search = {.min_share = i ? 0.005 : 0.006};

		attribution_free(a);
		assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a),
				 0);
		assert_int_equal(source_attach(a, p, &search), 0);
		assert_true(a->files[0].source.found);
		assert_int_equal(a->files[1].source.found, i);
		assert_string_equal(a->files[1].source.note, "");
	}
}

/* An empty line at the end of a run is not taken as missing. */
static void empty_lines_at_the_edge_stay(void **state)
{
	char *text = malloc(200001);
	const char *path;

	(void)state;
	memset(text, '\n', 200000);
	path = write_source("empty.c", text, 200000);
	free(text);
	hit(path, 100, 0, 1);
	collect();
	assert_int_equal(unlink(path), 0);
	attach_after_round_trip();
	assert_int_equal(a->files[0].source.nr_lines, 120);
	assert_null(a->files[0].source.lines[78]);
	assert_string_equal(a->files[0].source.lines[79], "");
	assert_string_equal(a->files[0].source.lines[119], "");
}

static void long_lines_are_cut_between_characters(void **state)
{
	const size_t size = 1 << 20;
	char *text = malloc(size);
	const char *path, *line;

	(void)state;
	memset(text, 'x', size);
	for (size_t i = 496; i + 2 < size; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	path = write_source("min.js", text, size);
	free(text);
	hit(path, 1, 0, 1);
	collect();
	assert_true(strlen(p->extra.sources[0].runs[0].text) <= SOURCE_LINE_BYTES);
	attach_after_round_trip();
	line = a->files[0].source.lines[0];
	assert_int_equal(strlen(line), 499);
	assert_string_equal(line + 494, "xx...");
	attach(NULL, 0);
}

static void what_is_no_text_is_left_out(void **state)
{
	char path[128], fifo[128];

	(void)state;
	hit(write_source("a.bin", "ab\0cd\n", 6), 1, 0, 5);
	snprintf(fifo, sizeof(fifo), "%s/fifo.c", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	hit(fifo, 1, 0, 4);
	hit(dir, 1, 0, 3);
	hit("relative.c", 1, 0, 2);
	snprintf(path, sizeof(path), "%s/gone.c", dir);
	hit(path, 1, 0, 1);
	assert_int_equal(collect(), 4);
	assert_int_equal(p->extra.nr_sources, 0);
	attach(NULL, 0);
	assert_non_null(strstr(a->files[0].source.note, "is not text"));
	assert_non_null(strstr(a->files[1].source.note, "not a regular file"));
	assert_non_null(strstr(a->files[2].source.note, "not a regular file"));
	assert_string_equal(
		a->files[3].source.note,
		"source not at hand: looked for relative.c; use --source-path "
		"OLD=NEW");
	for (size_t i = 0; i < a->nr_files; i++)
		assert_false(a->files[i].source.found);
}

static void the_budget_goes_to_the_hottest(void **state)
{
	size_t kept = 0;

	(void)state;
	for (int i = 0; i < 100; i++) { /* 6 MB in 100 files */
		char name[16];

		snprintf(name, sizeof(name), "f%d.c", i);
		hit(write_lines(name, 6000), 3000, 0, 1000 - i);
	}
	collect();
	for (size_t i = 0; i < p->extra.nr_sources; i++)
		for (size_t k = 0; k < p->extra.sources[i].nr_runs; k++)
			kept += strlen(p->extra.sources[i].runs[k].text) + 1;
	assert_true(kept <= SOURCE_MAX_BYTES);
	assert_true(kept > SOURCE_MAX_BYTES - SOURCE_WHOLE_BYTES);
	assert_string_equal(p->extra.sources[0].path, a->files[0].path);
}

static void disk_is_the_second_choice(void **state)
{
	const char *path = write_lines("a.c", 3);
	struct stat st;

	(void)state;
	hit(path, 2, 0, 1);
	assert_int_equal(stat(path, &st), 0);
	p->time_nanos = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	attach(NULL, 0);
	assert_true(a->files[0].source.found);
	assert_string_equal(a->files[0].source.from, path);
	assert_string_equal(a->files[0].source.note, "");
	assert_string_equal(a->files[0].source.lines[1], "line 2");
	p->time_nanos--;
	attach(NULL, 0);
	assert_true(a->files[0].source.found);
	assert_non_null(strstr(a->files[0].source.note, "changed since it was recorded"));
	p->time_nanos = 0;
	attach(NULL, 0);
	assert_non_null(strstr(a->files[0].source.note, "does not tell when it was"));
}

static void a_line_beyond_the_end_is_told(void **state)
{
	const char *path = write_lines("a.c", 3);

	(void)state;
	p->time_nanos = INT64_MAX;
	hit(path, 3, 0, 1);
	attach(NULL, 0);
	assert_string_equal(a->files[0].source.note, "");
	hit(path, 900, 0, 1);
	attach(NULL, 0);
	assert_true(a->files[0].source.found);
	assert_string_equal(a->files[0].source.note,
			    "line 900 is beyond the end of the file: it has changed "
			    "since it was recorded");
}

/* Of lines without code, only those whose text could have code are marked. */
static void comments_are_not_marked(void **state)
{
	static const char text[] = "def f(x):\n" /* 1 */
				   "    \"\"\"What it does.\"\"\"\n"
				   "    y = 0\n"
				   "    # a comment\n"
				   "\n" /* 5 */
				   "    dead = x\n"
				   "    def g():\n"
				   "        return 1\n"
				   "    return y\n";
	const char *path = write_source("marks.py", text, sizeof(text) - 1);
	struct profile_code_row rows[2] = {{0x1000, {0, 3}}, {0x1004, {0, 9}}};
	struct profile_code code = {PROFILE_NONE, 0x1000, 8, rows, 2, NULL};
	static const uint32_t expected[] = {1, 3, 6};

	(void)state;
	hit(path, 3, 1, 10);
	assert_int_equal(profile_add_code(p, &code), 0);
	attach(NULL, 0);
	assert_int_equal(a->files[0].nr_lines, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(a->files[0].lines[i].line, expected[i]);
		assert_int_equal(a->files[0].lines[i].no_code, expected[i] != 3);
	}
	/* Without the text, all lines without code are marked. */
	assert_int_equal(unlink(path), 0);
	attach(NULL, 0);
	assert_int_equal(a->files[0].nr_lines, 8);
}

static void rules_move_paths(void **state)
{
	struct source_path_rule rules[] = {
		{"/build/x", NULL}, {"/build", NULL}, {"", NULL}};
	char here[160];

	(void)state;
	write_lines("a.c", 3);
	snprintf(here, sizeof(here), "%s/", dir);
	rules[0].new_prefix = "/nonexistent";
	rules[1].new_prefix = dir;
	rules[2].new_prefix = here;
	hit("/build/a.c", 1, 0, 9);
	hit("a.c", 1, 0, 8);
	hit("/builder/a.c", 1, 0, 7);
	hit("/build/x/a.c", 1, 0, 6);
	attach(rules, 3);
	assert_true(a->files[0].source.found);
	assert_true(a->files[1].source.found);
	assert_string_equal(a->files[0].source.from, a->files[1].source.from);
	assert_false(a->files[2].source.found);
	assert_string_equal(a->files[3].source.note,
			    "source not at hand: looked for /nonexistent/a.c and "
			    "/build/x/a.c; use --source-path OLD=NEW");
}

static void names_of_no_file_are_told(void **state)
{
	(void)state;
	hit("<string>", 1, 0, 4);
	hit("node:fs", 1, 0, 3);
	hit("/nonexistent/ipykernel_12/345.py", 1, 0, 2);
	hit("/nonexistent/ipykernel_12/345/a.py", 1, 0, 1);
	attach(NULL, 0);
	assert_string_equal(a->files[0].source.note, "no source: <string> is not a file");
	assert_string_equal(a->files[1].source.note, "no source: node:fs is not a file");
	assert_string_equal(
		a->files[2].source.note,
		"no source: a notebook does not keep its cells in a file; lines are "
		"those of the cell");
	assert_non_null(strstr(a->files[3].source.note, "looked for /nonexistent"));
}

static void a_claim_of_many_lines_costs_nothing(void **state)
{
	struct profile_source *source;

	(void)state;
	hit("/x.c", 1, 0, 1);
	p->extra.sources = calloc(1, sizeof(*p->extra.sources));
	p->extra.nr_sources = p->extra.cap_sources = 1;
	source = &p->extra.sources[0];
	source->path = strpool_add(pool, "/x.c");
	source->runs = calloc(1, sizeof(*source->runs));
	source->nr_runs = 1;
	source->runs[0] = (struct profile_source_run){UINT32_MAX - 1, 1, strdup("x")};
	attach(NULL, 0);
	assert_false(a->files[0].source.found);
	assert_non_null(strstr(a->files[0].source.note, "too many lines"));
}

/* So a viewer goes from one line with text to the next. */
static void lines_with_text_are_listed(void **state)
{
	static const uint32_t expected[] = {7, 8, 9, 3000000};
	const struct attribution_source *of;
	struct profile_source *source;

	(void)state;
	hit("/x.c", 3000000, 0, 1);
	p->extra.sources = calloc(1, sizeof(*p->extra.sources));
	p->extra.nr_sources = p->extra.cap_sources = 1;
	source = &p->extra.sources[0];
	source->path = strpool_add(pool, "/x.c");
	source->runs = calloc(3, sizeof(*source->runs));
	source->nr_runs = 3;
	/* In any order, and a line twice. */
	source->runs[0] = (struct profile_source_run){3000000, 1, strdup("x")};
	source->runs[1] = (struct profile_source_run){8, 2, strdup("y\nz")};
	source->runs[2] = (struct profile_source_run){7, 2, strdup("a\nb")};
	attach(NULL, 0);
	of = &a->files[0].source;
	assert_int_equal(of->nr_lines, 3000000);
	assert_int_equal(of->nr_known, ARRAY_SIZE(expected));
	assert_memory_equal(of->known, expected, sizeof(expected));
	assert_string_equal(of->lines[6], "a");
	assert_string_equal(of->lines[7], "b");
	assert_int_equal(attribution_next_line(of, 1), 7);
	assert_int_equal(attribution_next_line(of, 9), 9);
	assert_int_equal(attribution_next_line(of, 10), 3000000);
	assert_int_equal(attribution_next_line(of, 3000001), 0);
}

/* The file of the first container, of the second, of processes without one. */
static const char *same_paths[3];

static int read_by_name(void *ctx, const char *path, char **ret, size_t *ret_len,
			int64_t *ret_mtime_ns)
{
	const char *name = path == same_paths[0] ? "a" : "b";
	int n;

	(void)ctx;
	if (path == same_paths[2])
		return -ENOENT;
	n = asprintf(ret, "%s one\n%s two\n", name, name);
	assert_true(n > 0);
	*ret_len = (size_t)n;
	*ret_mtime_ns = 0;
	return 0;
}

static const struct attribution_file *file_with(uint64_t self)
{
	for (size_t i = 0; i < a->nr_files; i++)
		if (a->files[i].self.samples == self)
			return &a->files[i];
	return NULL;
}

static void files_of_one_path_stay_apart(void **state)
{
	struct attribution_options options = {0};

	(void)state;
	same_paths[0] = strpool_add(pool, "/app/hot.c");
	same_paths[1] = profile_add_namesake(p, same_paths[0]);
	same_paths[2] = profile_add_namesake(p, same_paths[0]);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(same_paths[i], "/app/hot.c");
		assert_int_equal(profile_is_namesake(p, same_paths[i]), i > 0);
		hit(same_paths[i], 1 + (unsigned int)i % 2, 1, 10 + i);
	}
	assert_int_equal(p->nr_functions, 3);
	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(source_collect(p, a, read_by_name, NULL), 0);
	assert_int_equal(p->extra.nr_sources, 3);
	for (size_t i = 0; i < 3; i++)
		if (p->extra.sources[i].path == same_paths[1])
			p->extra.sources[i].owner = "container b";
	attach_after_round_trip();
	assert_int_equal(a->nr_files, 3);
	assert_string_equal(file_with(10)->source.lines[0], "a one");
	assert_string_equal(file_with(10)->source.note, "");
	assert_string_equal(file_with(11)->source.lines[1], "b two");
	assert_non_null(
		strstr(file_with(11)->source.note, "this is the file of container b"));
	assert_false(file_with(12)->source.found);
}

/* The file on disk is at most one of the files that have its path. */
static void the_disk_does_not_tell_files_of_one_path(void **state)
{
	const char *path = write_lines("a.c", 3);
	struct source_path_rule rule = {"", dir};

	(void)state;
	hit(path, 2, 0, 1);
	hit(profile_add_namesake(p, strpool_add(pool, path)), 2, 0, 2);
	attach(NULL, 0);
	assert_int_equal(a->nr_files, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_false(a->files[i].source.found);
		assert_non_null(
			strstr(a->files[i].source.note, "several files are called"));
	}
	/* An explicit rule for the path is trusted. */
	rule.old_prefix = dir;
	attach(&rule, 1);
	assert_true(a->files[0].source.found);
}

/* The file is untrusted: many entries of one path must not take long. */
static void entries_of_one_path_cost_little(void **state)
{
	const size_t nr = 1u << 18;

	(void)state;
	hit("/app/hot.c", 1, 0, 1);
	p->extra.sources = calloc(nr, sizeof(*p->extra.sources));
	assert_non_null(p->extra.sources);
	p->extra.nr_sources = p->extra.cap_sources = nr;
	for (size_t i = 0; i < nr; i++)
		p->extra.sources[i] = (struct profile_source){
			.path = strpool_add(pool, "/app/hot.c"), .owner = ""};
	attach(NULL, 0);
	assert_false(a->files[0].source.found);
}

/* Many functions of one path: each file keeps its own functions. */
static void many_files_of_one_path_are_packed(void **state)
{
	const size_t nr = 60000;
	const char *path = strpool_add(pool, "/app/hot.c");
	_cleanup_free_ void *data = NULL;
	clock_t begin = clock();
	size_t len;

	(void)state;
	for (size_t i = 0; i < nr; i++) {
		struct profile_function f = {.name = i % 2 ? "f" : "g",
					     .system_name = "",
					     .filename = profile_add_namesake(p, path)};

		assert_int_equal(profile_add_function(p, &f), i);
	}
	attach(NULL, 0);
	assert_int_equal(source_collect(p, a, read_by_name, NULL), 0);
	assert_int_equal(p->extra.nr_sources, nr);
	assert_int_equal(pprof_write(p, true, &data, &len), 0);
	assert_true(clock() - begin < 3 * CLOCKS_PER_SEC); /* quadratic: 7e9 steps */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_small_file_is_kept_whole),
		TEST(line_ends_are_read_once),
		TEST(the_hash_is_sha256),
		TEST(windows_of_a_large_file_are_kept),
		TEST(windows_of_a_library_are_small),
		TEST(cold_lines_of_a_library_are_left_out),
		TEST(a_part_is_completed_from_the_same_file),
		TEST(files_are_opened_by_another),
		TEST(root_opens_what_everybody_may_read),
		TEST(rules_lead_root_nowhere_else),
		TEST(another_text_is_a_change),
		TEST(a_younger_or_shorter_file_is_a_change),
		TEST(files_that_are_not_shown_are_not_opened),
		TEST(empty_lines_at_the_edge_stay),
		TEST(long_lines_are_cut_between_characters),
		TEST(what_is_no_text_is_left_out),
		TEST(the_budget_goes_to_the_hottest),
		TEST(disk_is_the_second_choice),
		TEST(a_line_beyond_the_end_is_told),
		TEST(comments_are_not_marked),
		TEST(rules_move_paths),
		TEST(names_of_no_file_are_told),
		TEST(files_of_one_path_stay_apart),
		TEST(the_disk_does_not_tell_files_of_one_path),
		TEST(entries_of_one_path_cost_little),
		TEST(many_files_of_one_path_are_packed),
		TEST(a_claim_of_many_lines_costs_nothing),
		TEST(lines_with_text_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
