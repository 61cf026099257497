/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hand-made profiles with their attributions as input for renderers, each with a name.
 * All static: nothing to free, nothing computed by other stages.
 */
#ifndef LB_TESTS_UNIT_RENDER_CASES_H
#define LB_TESTS_UNIT_RENDER_CASES_H

#include <string.h>

#include "lineburn.h"
#include "render/render.h"

#define MS_NS 1000000ull
/* One sample at 999 Hz. */
#define TICK_NS 1001001ull
#define W(n)                                                    \
	{                                                       \
		.samples = (n), .cpu_ns = (uint64_t)(n)*TICK_NS \
	}

struct render_case {
	const char *name;
	struct profile profile;
	struct attribution attribution;
	struct groups processes;
	const char *file_name;
};

/* ---- a C program with a library that has no debug info ---- */

static char *dither_text[] = {
	"#include <cblas.h>",
	"#include \"dither.h\"",
	"",
	"static inline int diffuse(int old, int q)",
	"{",
	"\treturn (old * q) >> 4;",
	"}",
	"",
	"void dither_row(struct image *im, int y)",
	"{",
	"\tunsigned char *row = im->data + y * im->width;",
	"",
	"\tfor (int x = 0; x < im->width; x++) {",
	"\t\tint old = row[x];",
	"\t\tint new = old > 127 ? 255 : 0;",
	"",
	"\t\trow[x] = new;",
	"\t\tim->err[x + 1] += diffuse(old - new, 7); /* to the right, then below: a "
	"comment that is long */",
	"\t\tim->err[x] += diffuse(old - new, 5);",
	"\t}",
	"}",
	"",
	"/* Colour first, rows after. */",
	"void dither(struct image *im)",
	"{",
	"\tcblas_sgemm(CblasRowMajor, im->m, im->n, im->k, 1.0f, im->data);",
	"",
	"\tfor (int y = 0; y < im->height; y++)",
	"\t\tdither_row(im, y);",
	"}",
};

static struct attribution_callee sgemm_callees[] = {
	{"sgemm_kernel_HASWELL", "libopenblas.so.0", W(1410)},
	{"", "libopenblas.so.0", W(95)},
};

static struct attribution_line dither_lines[] = {
	{.line = 6,
	 .function = "diffuse",
	 .self = W(1302),
	 .total = W(1302),
	 .ci95_low = 0.2476,
	 .ci95_high = 0.2721},
	{.line = 11, .function = "dither_row", .no_code = true},
	{.line = 13,
	 .function = "dither_row",
	 .self = W(402),
	 .total = W(402),
	 .ci95_low = 0.0731,
	 .ci95_high = 0.0881},
	{.line = 14,
	 .function = "dither_row",
	 .self = W(2),
	 .total = W(2),
	 .ci95_low = 0.0001,
	 .ci95_high = 0.0014},
	{.line = 17,
	 .function = "dither_row",
	 .self = W(700),
	 .total = W(700),
	 .ci95_low = 0.1303,
	 .ci95_high = 0.1497},
	{.line = 18,
	 .function = "dither_row",
	 .self = W(204),
	 .total = W(1004),
	 .ci95_low = 0.0356,
	 .ci95_high = 0.0465},
	{.line = 19,
	 .function = "dither_row",
	 .self = W(98),
	 .total = W(600),
	 .ci95_low = 0.0161,
	 .ci95_high = 0.0238},
	{.line = 26,
	 .function = "dither",
	 .self = W(1751),
	 .total = W(1751),
	 .ci95_low = 0.3363,
	 .ci95_high = 0.3627,
	 .callees = sgemm_callees,
	 .nr_callees = ARRAY_SIZE(sgemm_callees)},
	{.line = 29, .function = "dither", .total = W(2708), .ci95_high = 0.0008},
};

static char *main_text[] = {
	"int main(int argc, char **argv)",           "{",
	"\tstruct image *im = image_load(argv[1]);", "\tdither(im);",
	"\treturn image_save(im, argv[2]);",         "}",
};

static struct attribution_line main_lines[] = {
	{.line = 3,
	 .function = "main",
	 .self = W(11),
	 .total = W(11),
	 .ci95_low = 0.0012,
	 .ci95_high = 0.0039},
	{.line = 4, .function = "main", .total = W(4459), .ci95_high = 0.0008},
	{.line = 5,
	 .function = "main",
	 .self = W(246),
	 .total = W(246),
	 .ci95_low = 0.0434,
	 .ci95_high = 0.0555},
};

static struct attribution_file dither_files[] = {
	{.path = "/home/me/dither/dither.c",
	 .language = "c",
	 .self = W(4459),
	 .total = W(4459),
	 .lines = dither_lines,
	 .nr_lines = ARRAY_SIZE(dither_lines),
	 .source = {true, "recorded", "", dither_text, ARRAY_SIZE(dither_text)}},
	{.path = "/home/me/dither/main.c",
	 .language = "c",
	 .self = W(257),
	 .total = W(4716),
	 .lines = main_lines,
	 .nr_lines = ARRAY_SIZE(main_lines),
	 .source = {true, "/home/me/dither/main.c",
		    "This file was changed after the program was built.", main_text,
		    ARRAY_SIZE(main_text)}},
	{.path = "/build/glibc/malloc/malloc.c",
	 .language = "c",
	 .self = W(4),
	 .total = W(4),
	 .source = {.from = "", .note = ""}},
};

static struct attribution_function dither_functions[] = {
	{.name = "dither_row",
	 .object = "dither",
	 .file = "/home/me/dither/dither.c",
	 .start_line = 9,
	 .self = W(1406),
	 .total = W(2708)},
	{.name = "sgemm_kernel_HASWELL",
	 .object = "libopenblas.so.0",
	 .file = "",
	 .start_line = 0,
	 .self = W(1410),
	 .total = W(1410)},
	{.name = "diffuse",
	 .object = "dither",
	 .file = "/home/me/dither/dither.c",
	 .start_line = 4,
	 .self = W(1302),
	 .total = W(1302)},
	{.name = "copy_page",
	 .object = "[kernel]",
	 .file = "",
	 .start_line = 0,
	 .self = W(250),
	 .total = W(250)},
	{.name = "",
	 .object = "libopenblas.so.0",
	 .file = "",
	 .start_line = 0,
	 .self = W(95),
	 .total = W(95)},
	{.name = "main",
	 .object = "dither",
	 .file = "/home/me/dither/main.c",
	 .start_line = 1,
	 .self = W(11),
	 .total = W(4716)},
	{.name = "dither",
	 .object = "dither",
	 .file = "/home/me/dither/dither.c",
	 .start_line = 24,
	 .self = W(0),
	 .total = W(4459)},
	{.name = "_int_malloc",
	 .object = "libc.so.6",
	 .file = "/build/glibc/malloc/malloc.c",
	 .start_line = 3700,
	 .self = W(4),
	 .total = W(4)},
};

static const char *blas_objects[] = {"libopenblas.so.0", "libm.so.6"};
static const char *no_objects[] = {"[unknown]"};
static struct attribution_miss dither_misses[] = {
	{MISS_KERNEL, W(250), NULL, 0},
	{MISS_NO_DEBUG_INFO, W(36), blas_objects, ARRAY_SIZE(blas_objects)},
	{MISS_NO_MAPPING, W(10), no_objects, ARRAY_SIZE(no_objects)},
};

/* Texts by enum owner_text: the name of the container first. */
static struct group dither_processes[] = {
	{.is_told = true,
	 .pid = 4711,
	 .text = {"", "", "", "", "session-2.scope", "dither", "", "", ""},
	 .self = W(5000)},
	{.is_told = true,
	 .pid = 4712,
	 .ns_pid = 7,
	 .text = {"web", "3f2a9c", "docker", "", "", "convert", "", "www-data", ""},
	 .self = W(12)},
};

static const char *dither_command[] = {"./dither", "--fast", "my image.png", NULL};
static const char *dither_warnings[] = {
	"The file /usr/bin/convert was replaced while it ran.",
};

#define DITHER_EXTRA                                                                     \
	{                                                                                \
		.present = true, .command = dither_command, .target = "", .host = "box", \
		.kernel_release = "6.1.0", .arch = "x86_64", .version = "0.1.0",         \
		.freq_hz = 999, .wall_ns = 5100 * MS_NS, .nr_cpus = 2,                   \
		.losses = {.due = 5057,                                                  \
			   .ran = 5012,                                                  \
			   .due_error = 9,                                               \
			   .sampled = 5012,                                              \
			   .counted = 5012,                                              \
			   .missed = 45},                                                \
		.cost = {                                                                \
			.bpf_runs = 10189,                                               \
			.bpf_ns = 8120000,                                               \
			.collector_cpu_ns = 212 * MS_NS,                                 \
			.collector_peak_rss_bytes = 34u << 20,                           \
			.map_bytes = 18u << 20                                           \
		}                                                                        \
	}

#define PROCESSES(array)                                                      \
	(struct groups)                                                       \
	{                                                                     \
		.by = GROUP_BY_OWNER, .items = array, .nr = ARRAY_SIZE(array) \
	}

#define DITHER_ATTRIBUTION                                                             \
	{                                                                              \
		.counted = {"samples", "count"}, .all = W(5012), .with_line = W(4716), \
		.function_only = W(286), .unknown = W(10), .kernel = W(250),           \
		.incomplete_stacks = W(0), .files = dither_files,                      \
		.nr_files = ARRAY_SIZE(dither_files), .functions = dither_functions,   \
		.nr_functions = ARRAY_SIZE(dither_functions), .misses = dither_misses, \
		.nr_misses = ARRAY_SIZE(dither_misses)                                 \
	}

/* ---- few samples, and a source that is not available ---- */

static struct attribution_line lost_source_lines[] = {
	{.line = 118,
	 .function = "std::vector<Point>::push_back(Point const&)",
	 .self = W(17),
	 .total = W(17),
	 .ci95_low = 0.1335,
	 .ci95_high = 0.3037},
	{.line = 119,
	 .function = "",
	 .self = W(3),
	 .total = W(40),
	 .ci95_low = 0.0124,
	 .ci95_high = 0.1008},
	{.line = 123456,
	 .function = "simulate",
	 .self = W(43),
	 .total = W(83),
	 .ci95_low = 0.4118,
	 .ci95_high = 0.6217},
};
static struct attribution_file lost_source_files[] = {
	{.path = "/build/sim/src/physics/integrators/simulate_with_a_long_name.cpp",
	 .language = "c++",
	 .self = W(63),
	 .total = W(83),
	 .lines = lost_source_lines,
	 .nr_lines = ARRAY_SIZE(lost_source_lines),
	 .source = {.from = "",
		    .note = "Source not found: looked in the profile and at "
			    "/build/sim/src/physics/integrators/"
			    "simulate_with_a_long_name.cpp; "
			    "--source-path OLD=NEW tells where it is now."}},
};

/* ---- no lines at all ---- */

static struct attribution_function stripped_functions[] = {
	{.name = "compress_block",
	 .object = "gzip",
	 .file = "",
	 .start_line = 0,
	 .self = W(3000),
	 .total = W(3900)},
	{.name = "longest_match",
	 .object = "gzip",
	 .file = "",
	 .start_line = 0,
	 .self = W(900),
	 .total = W(900)},
	{.name = "main",
	 .object = "gzip",
	 .file = "",
	 .start_line = 0,
	 .self = W(0),
	 .total = W(3900)},
	{.name = "tiny",
	 .object = "gzip",
	 .file = "",
	 .start_line = 0,
	 .self = W(1),
	 .total = W(1)},
};
static const char *gzip_objects[] = {"gzip"};
static struct attribution_miss stripped_misses[] = {
	{MISS_NO_DEBUG_INFO, W(3901), gzip_objects, 1},
};

/* ---- hostile names ---- */

#define EVIL_NAME                                                                        \
	"f\033[2J\033]52;c;cm0gLXJm\a\n\r</script><script>alert(1)</script>\xff\xc0\x80" \
	"\xe2\x80\xae"                                                                   \
	"gnp.exe\xc2\x9b"                                                                \
	"31m"

static char *hostile_text[] = {
	"int ok;",
	"char *s = \"\033]0;owned\a\"; /* \xe2\x80\xae txet \xe2\x81\xa6 */",
	"\tint\t\xe4\xbd\xa0\xe5\xa5\xbd = 1; // wide, then cafe\xcc\x81 "
	"\xf0\x9f\x94\xa5 \xfe",
};
static struct attribution_callee hostile_callees[] = {
	{EVIL_NAME, "lib\033[31m.so", W(200)},
};
static struct attribution_line hostile_lines[] = {
	{.line = 2,
	 .function = EVIL_NAME,
	 .self = W(300),
	 .total = W(300),
	 .ci95_low = 0.27,
	 .ci95_high = 0.33,
	 .callees = hostile_callees,
	 .nr_callees = 1},
	{.line = 3,
	 .function = EVIL_NAME,
	 .self = W(100),
	 .total = W(100),
	 .ci95_low = 0.08,
	 .ci95_high = 0.12},
	{.line = UINT32_MAX,
	 .function = EVIL_NAME,
	 .self = W(600),
	 .total = W(600),
	 .ci95_low = 0.57,
	 .ci95_high = 0.63},
};
static struct attribution_file hostile_files[] = {
	{.path = "/tmp/" EVIL_NAME ".c",
	 .language = "c",
	 .self = W(1000),
	 .total = W(1000),
	 .lines = hostile_lines,
	 .nr_lines = ARRAY_SIZE(hostile_lines),
	 .source = {true, "recorded", "Changed since: " EVIL_NAME ".", hostile_text,
		    ARRAY_SIZE(hostile_text)}},
};
static struct attribution_function hostile_functions[] = {
	{.name = EVIL_NAME,
	 .object = "[\"j\"it]",
	 .file = "/tmp/" EVIL_NAME ".c",
	 .start_line = 1,
	 .self = W(1000),
	 .total = W(1000)},
};
static const char *hostile_objects[] = {EVIL_NAME, "ok.so"};
static struct attribution_miss hostile_misses[] = {
	{MISS_JIT_UNKNOWN, {5, 7 * TICK_NS}, hostile_objects, 2}, /* long periods */
};
static struct group hostile_processes[] = {
	{.is_told = true,
	 .pid = 1,
	 .text = {"", EVIL_NAME, "", "", "", "a\033[1m\n\xff", "", "", ""},
	 .self = W(500)},
	{.is_told = true,
	 .pid = 2,
	 .text = {EVIL_NAME, "", "", "", EVIL_NAME, "b", "", "", EVIL_NAME},
	 .self = W(500)},
};
static const char *hostile_command[] = {"./x", EVIL_NAME, "", NULL};
static const char *hostile_warnings[] = {"The name " EVIL_NAME " is odd."};

/* ---- every kind of loss ---- */

static struct profile_sample loss_samples[LB_NR_STACK_STATUS];
static int64_t loss_values[LB_NR_STACK_STATUS];

static inline void build_foreign(struct render_case *c)
{
	c->attribution = (struct attribution)DITHER_ATTRIBUTION;
	c->processes = PROCESSES(dither_processes);
	c->file_name = "go.pb.gz";
	c->profile.period = 0;
}

static inline void build_typical(struct render_case *c)
{
	c->attribution = (struct attribution)DITHER_ATTRIBUTION;
	c->processes = PROCESSES(dither_processes);
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	c->profile.extra.warnings = dither_warnings;
	c->profile.extra.nr_warnings = 1;
}

static inline void build_no_source(struct render_case *c)
{
	c->attribution = (struct attribution){
		.all = W(83),
		.with_line = W(63),
		.function_only = W(20),
		.files = lost_source_files,
		.nr_files = 1,
	};
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	c->profile.extra.wall_ns = 60000 * MS_NS;
}

static inline void build_no_lines(struct render_case *c)
{
	c->attribution = (struct attribution){
		.all = W(3901),
		.function_only = W(3901),
		.functions = stripped_functions,
		.nr_functions = ARRAY_SIZE(stripped_functions),
		.misses = stripped_misses,
		.nr_misses = 1,
	};
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	c->profile.extra.command = NULL;
	c->profile.extra.target = "-a";
}

static inline void build_hostile(struct render_case *c)
{
	c->attribution = (struct attribution){
		.all = W(1005),
		.with_line = W(1000),
		.unknown = W(5),
		.files = hostile_files,
		.nr_files = 1,
		.functions = hostile_functions,
		.nr_functions = 1,
		.misses = hostile_misses,
		.nr_misses = 1,
	};
	c->processes = PROCESSES(hostile_processes);
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	c->profile.extra.command = hostile_command;
	c->profile.extra.warnings = hostile_warnings;
	c->profile.extra.nr_warnings = 1;
	c->file_name = EVIL_NAME;
}

static inline void build_empty(struct render_case *c)
{
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	c->profile.extra.losses = (struct profile_losses){.idle = 10000};
	c->profile.extra.cost = (struct profile_cost){0};
}

static struct attribution_function idle_functions[] = {
	{.name = "poll_once",
	 .object = "waiter",
	 .file = "",
	 .start_line = 0,
	 .self = W(26),
	 .total = W(26)},
};

/* An idle target: the machine missed fewer ticks than its account can tell. */
static inline void build_idle(struct render_case *c)
{
	c->attribution = (struct attribution){
		.counted = {"samples", "count"},
		.all = W(26),
		.function_only = W(26),
		.functions = idle_functions,
		.nr_functions = 1,
	};
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	c->profile.extra.cost = (struct profile_cost){0};
	c->profile.extra.losses = (struct profile_losses){.idle = 9000,
							  .other = 74,
							  .due = 186,
							  .ran = 100,
							  .due_error = 86,
							  .sampled = 26,
							  .counted = 26};
}

/* A profile of another tool, of memory instead of CPU. */
static inline void build_heap(struct render_case *c)
{
	c->attribution = (struct attribution)DITHER_ATTRIBUTION;
	c->processes = PROCESSES(dither_processes);
	c->attribution.counted =
		(struct profile_value_type){"alloc_space\033[m", "bytes"};
	c->attribution.all.cpu_ns = 0;
	c->attribution.not_mine = (struct weight){.samples = 6};
	c->attribution.nr_negative = 2;
	c->attribution.options.charge = CHARGE_MINE;
	c->profile.period = 0;
}

static inline void build_losses(struct render_case *c)
{
	uint64_t n = 0;
	uint64_t *member = (uint64_t *)&c->profile.extra.losses;

	c->attribution = (struct attribution)DITHER_ATTRIBUTION;
	c->processes = PROCESSES(dither_processes);
	c->attribution.incomplete_stacks = (struct weight)W(33);
	c->attribution.guessed_stacks = (struct weight)W(14);
	c->attribution.derived_stacks = (struct weight)W(16);
	c->profile.extra = (struct profile_extra)DITHER_EXTRA;
	for (; n < sizeof(struct profile_losses) / sizeof(*member); n++)
		member[n] = n + 1;
	c->profile.extra.losses.due = 5154;
	c->profile.extra.losses.ran = 5054;
	c->profile.extra.losses.missed = 100;
	c->profile.extra.losses.stolen_ns = 310000000;
	c->profile.extra.losses.sampled = 5054; /* counted + 42 lost */
	c->profile.extra.losses.counted = 5012;
	c->profile.samples = loss_samples;
	c->profile.nr_samples = LB_NR_STACK_STATUS;
	c->profile.values = loss_values;
	c->profile.nr_value_types = 1;
	c->profile.count_value = 0;
	for (uint32_t i = 0; i < LB_NR_STACK_STATUS; i++) {
		loss_samples[i].status = i;
		loss_samples[i].first_value = i;
		loss_values[i] = i + 1;
	}
}

static inline void build_arm64(struct render_case *c)
{
	build_losses(c);
	c->profile.extra.losses = (struct profile_losses){.due = 5012, .sampled = 5012};
	c->attribution.incomplete_stacks = (struct weight)W(0);
	c->profile.extra.arch = "aarch64";
}

static const struct {
	const char *name;
	void (*build)(struct render_case *c);
} render_cases[] = {
	{"typical", build_typical},     {"foreign", build_foreign},
	{"no-source", build_no_source}, {"no-lines", build_no_lines},
	{"hostile", build_hostile},     {"heap", build_heap},
	{"empty", build_empty},         {"losses", build_losses},
	{"arm64", build_arm64},         {"idle", build_idle},
};

/* Builds the case in @ret. Return: false if the name is unknown. */
static inline bool render_case_get(const char *name, struct render_case *ret)
{
	*ret = (struct render_case){.name = name};
	ret->profile.extra.arch = "";
	ret->profile.count_value = PROFILE_NONE;
	ret->profile.cpu_value = PROFILE_NONE;
	ret->profile.period = TICK_NS;
	ret->profile.period_type = (struct profile_value_type){"cpu", "nanoseconds"};
	ret->profile.duration_nanos = 5100 * MS_NS;
	for (size_t i = 0; i < ARRAY_SIZE(render_cases); i++)
		if (!strcmp(render_cases[i].name, name)) {
			render_cases[i].build(ret);
			return true;
		}
	return false;
}

static inline struct render_input render_case_input(const struct render_case *c)
{
	return (struct render_input){.profile = &c->profile,
				     .attribution = &c->attribution,
				     .processes = &c->processes,
				     .file_name = c->file_name};
}

#endif
