/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles for exporters, each with a name. */
#ifndef LB_TESTS_UNIT_EXPORT_CASES_H
#define LB_TESTS_UNIT_EXPORT_CASES_H

#include "unit/profile/fixture.h"

#include "profile/labels.h"

#define EXPORT_EVIL                                                  \
	"f\033[2J;x\n\t</script><script>alert(1)</script>{\"a\"} 7 " \
	"(b.c:3)\xff\xe2\x80\xae"                                    \
	"gnp\\"

/* A sample of @nr stacks with the label comm. */
static inline void add_named_stack(struct profile *p, const char *comm, int64_t count,
				   const uint32_t *stack, size_t nr)
{
	const struct profile_label label = {.key = LABEL_COMM, .str = comm, .unit = ""};

	profile_add_sample(p, stack, nr, &label, 1, LB_STACK_COMPLETE,
			   (int64_t[]){count, count * PERIOD_NS});
}

#define add_named(p, comm, count, ...)                             \
	add_named_stack(p, comm, count, (uint32_t[]){__VA_ARGS__}, \
			sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/*
 * A C program with inlined calls, a library without lines and the kernel below it; and
 * Python with a JIT's code. Calls within a function and recursion, too.
 */
static inline void build_mixed_export(struct profile *p)
{
	uint32_t app = add_mapping(p, "/home/me/app"),
		 lib = add_mapping(p, "/usr/lib/libz.so.1");
	uint32_t python = add_mapping(p, PROFILE_PYTHON),
		 jit = add_mapping(p, PROFILE_JIT);
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t main_30 =
		add_location(p, app, 0x10, MISS_NONE, "main@/home/me/app.c:30");
	uint32_t main_31 =
		add_location(p, app, 0x14, MISS_NONE, "main@/home/me/app.c:31");
	uint32_t inlined =
		add_location(p, app, 0x20, MISS_NONE,
			     "square@/home/me/math.h:4|work@/home/me/app.c:12");
	uint32_t work_13 =
		add_location(p, app, 0x24, MISS_NONE, "work@/home/me/app.c:13");
	uint32_t crc = add_location(p, lib, 0x30, MISS_NO_DEBUG_INFO, "crc32");
	uint32_t nameless = add_location(p, lib, 0x34, MISS_NO_SYMBOLS, "");
	uint32_t reads = add_location(p, kernel, 0x40, MISS_NO_DEBUG_INFO, "vfs_read");
	uint32_t module =
		add_location(p, python, 0x50, MISS_NONE, "<module>@/home/me/fast.py:40");
	uint32_t dither =
		add_location(p, jit, 0x60, MISS_NONE, "dither@/home/me/fast.py:17");

	add_named(p, "app", 40, inlined, main_30);
	add_named(p, "app", 20, work_13, main_30);
	add_named(p, "app", 12, crc, work_13, main_31);
	add_named(p, "app", 3, nameless);
	add_named(p, "app", 5, reads, main_31);
	add_named(p, "app", 2, work_13, work_13, main_30);
	add_named(p, "python3", 30, dither, module);
	add_named(p, "python3", 8, module);
}

static inline void build_hostile_export(struct profile *p)
{
	uint32_t app = add_mapping(p, "/tmp/" EXPORT_EVIL), leaf;
	struct profile_function f = {.name = EXPORT_EVIL,
				     .filename = "/tmp/" EXPORT_EVIL ".py",
				     .system_name = "",
				     .start_line = 1};
	struct profile_line line = {.line = 2};

	line.function = profile_add_function(p, &f);
	leaf = profile_add_location(p, app, 0x10, MISS_NONE, &line, 1);
	add_named(p, EXPORT_EVIL, 5, leaf);
	add_named(p, "", 2, leaf, leaf);
}

/* Another tool's: bytes instead of CPU time. */
static inline void build_heap_export(struct profile *p)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t leaf = add_location(p, app, 0x10, MISS_NONE, "fill@/home/me/app.c:8");

	p->value_types[0] = (struct profile_value_type){"alloc_space", "bytes"};
	p->nr_value_types = 1;
	p->count_value = p->cpu_value = PROFILE_NONE;
	profile_add_sample(p, &leaf, 1, NULL, 0, 0, (int64_t[]){4096});
}

static inline void build_empty_export(struct profile *p)
{
	(void)p;
}

static const struct {
	const char *name;
	void (*build)(struct profile *p);
} export_cases[] = {
	{"mixed", build_mixed_export},
	{"hostile", build_hostile_export},
	{"heap", build_heap_export},
	{"empty", build_empty_export},
};

#endif
