/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From samples to lines, functions, processes and misses (DESIGN C9, C4). Pure:
 * profile in, tables out. Every sample is charged to one line (self) or to none;
 * a line's total counts each sample once that has it anywhere on its stack.
 */
#ifndef LB_PROFILE_ATTRIBUTION_H
#define LB_PROFILE_ATTRIBUTION_H

#include "profile/profile.h"

enum charge {
	CHARGE_LINE, /* innermost frame with a line; never kernel or interpreter frames */
	CHARGE_MINE, /* innermost frame with a line outside libraries (site-packages, /usr, ...) */
	CHARGE_LEAF, /* strictly the innermost frame: no line there, no charge */
};

struct attribution_options {
	enum charge charge;
	bool kernel; /* kernel frames may take the charge */
	bool runtime; /* C frames of interpreters may take the charge */
};

/* Of one line, function, process...: samples, and CPU nanoseconds. */
struct weight {
	uint64_t samples;
	uint64_t cpu_ns; /* 0 throughout when the profile has no cpu/nanoseconds */
};

/* What ran below a charged line without lines of its own. */
struct attribution_callee {
	const char *function; /* "" not known */
	const char *object; /* basename of the mapping */
	struct weight self;
};

struct attribution_line {
	uint32_t line; /* > 0 */
	const char *function; /* the one with most self at this line */
	struct weight self, total;
	double ci95_low, ci95_high; /* share 0..1 of all samples (Wilson), of self */
	bool no_code;
	struct attribution_callee *callees; /* by weight, descending; at most 8 */
	size_t nr_callees;
};

struct attribution_source {
	bool found;
	const char *from; /* where the text is from: "recorded" or a path that was read */
	const char
		*note; /* a sentence: where it was looked for, or "changed since"; "" */
	/* Line n is lines[n - 1]; NULL: not at hand. Heap, owned by the attribution. */
	char **lines;
	size_t nr_lines;
};

struct attribution_file {
	const char *path; /* as in the debug info */
	const char *
		language; /* "c", "c++", "rust", "go", "python", "numba", "javascript", ... by suffix; "" */
	struct weight self, total;
	struct attribution_line *lines; /* by line number */
	size_t nr_lines;
	struct attribution_source source; /* filled by source_attach() */
};

struct attribution_function {
	const char *name, *object,
		*file; /* object: basename of the mapping, "[jit]", "[kernel]" */
	uint32_t start_line;
	struct weight self, total;
};

struct attribution_miss {
	enum miss miss;
	uint64_t samples; /* that were charged to no line because of it */
	const char **objects; /* basenames of mappings, most samples first; at most 5 */
	size_t nr_objects;
};

struct attribution_process {
	uint32_t pid;
	const char *comm, *container, *unit;
	struct weight self;
};

struct attribution {
	struct attribution_options options;
	struct weight all; /* = with_line + function_only + unknown */
	struct weight with_line, function_only, unknown;
	struct weight kernel; /* leaf in the kernel; overlaps the three above */
	struct weight incomplete_stacks; /* same */
	struct attribution_file *files; /* by self, descending */
	size_t nr_files;
	struct attribution_function *functions; /* by self, descending */
	size_t nr_functions;
	struct attribution_miss *misses; /* by samples, descending */
	size_t nr_misses;
	struct attribution_process *processes; /* by weight, descending */
	size_t nr_processes;
};

/** Return: 0 or -ENOMEM. Strings belong to the profile's pool. */
int attribution_new(const struct profile *p, const struct attribution_options *options,
		    struct attribution **ret);
void attribution_free(struct attribution *a);
DEFINE_CLEANUP(struct attribution, attribution_free);

/** Wilson's score interval, 95 %, of @k out of @n; 0..1 when n is 0. */
void wilson_ci95(uint64_t k, uint64_t n, double *low, double *high);

#endif
