/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes samples to lines, functions and misses. Pure: profile in, tables out.
 * Every sample is charged to one line (self) or to none. A line's total counts every
 * sample that has it anywhere on its stack, once.
 *
 * The filename of the mapping (mapping_kind.h) identifies code of the kernel, of
 * interpreters and of the C runtime. Its lines have neither self nor total unless
 * requested, so that a listing does not depend on installed debug packages. A complete
 * stack on which only the C runtime has lines is an exception: then these count.
 */
#ifndef LB_ANALYZE_ATTRIBUTION_H
#define LB_ANALYZE_ATTRIBUTION_H

#include "analyze/tally.h"
#include "profile/profile.h"

enum charge {
	/*
	 * Innermost frame with a line; never kernel or interpreter frames. Frames of the
	 * C runtime only if the stack is complete and no other frame has a line.
	 */
	CHARGE_LINE,
	/* Innermost frame with a line outside libraries (site-packages, /usr, ...). */
	CHARGE_MINE,
	/*
	 * Only the innermost frame: if it has no line, no charge. Never frames of the
	 * kernel, an interpreter or the C runtime.
	 */
	CHARGE_LEAF,
};

struct attribution_options {
	enum charge charge;
	bool kernel; /* kernel frames may be charged */
	bool runtime; /* frames of interpreters and of the C runtime may be charged */
};

/* When a line counts for a sample: in its total, and in its self if it is innermost. */
enum line_use {
	LINE_COUNTS = 1 << 0, /* it has a file and a number, and may be charged */
	/* Start code: counts only as the innermost frame. */
	LINE_IF_INNERMOST = 1 << 1,
	/* C runtime: counts only if no other line of the stack can be charged. */
	LINE_IF_LAST = 1 << 2,
};

/* The frame of a sample's stack whose line is charged. */
struct attribution_charge {
	uint32_t frame; /* 0: the innermost; PROFILE_NONE: no line is charged */
	uint32_t line; /* of the frame's location; 0: the innermost inlined one */
	bool with_last; /* lines with LINE_IF_LAST count */
};

/* Innermost function below a charged line; a sample has one. */
struct attribution_callee {
	const char *function; /* "" not known */
	const char *object; /* as attribution_function.object */
	struct weight self;
};

struct attribution_line {
	uint32_t line; /* > 0 */
	/* with most self at this line; no_code: the enclosing one */
	const char *function;
	uint32_t function_line; /* where function begins; 0: unknown, or no_code */
	struct weight self, total;
	double ci95_low, ci95_high; /* share 0..1 of all samples (Wilson), for self */
	/*
	 * The line is in a listed function, but has no machine code in any function
	 * whose code the profile stores. All figures are 0.
	 */
	bool no_code;
	bool left_out; /* by hot_lines_limit() */
	struct attribution_callee *callees; /* by weight, descending; at most 8 */
	size_t nr_callees;
};

struct attribution_source {
	bool found;
	const char *from; /* origin of the text: "recorded" or the path read; "" */
	const char *note; /* a message: where it was searched, or "changed since"; "" */
	/* Line n is lines[n - 1]; NULL: not available. One heap block of pointers
	 * followed by numbers and text, owned by the attribution: free(lines) frees all. */
	char **lines;
	size_t nr_lines;
	bool is_withheld; /* not opened, because a stranger may have named it */
	bool is_absent; /* not in the profile, and there is no such file here */
	bool is_changed; /* by source_compare(): the file here is another text */
	/* Numbers of the lines with text, ascending. NULL: look at each of lines. */
	const uint32_t *known;
	size_t nr_known;
};

struct attribution_file {
	const char *path; /* as in the debug info */
	/* "c", "c++", "rust", "go", "python", "numba", "javascript", ... by suffix; "" */
	const char *language;
	/* Its lines are all in library code: of the system, of packages, of a language. */
	bool is_library;
	struct weight self, total;
	struct attribution_line *lines; /* by line number */
	size_t nr_lines;
	bool left_out; /* as all its lines */
	struct attribution_source source; /* filled by source_attach() */
};

/*
 * By (name, file, object). Self needs no line: it is that of the innermost function that
 * may be charged (of the kernel or an interpreter only if there is no other). The code
 * without a name of an object is a function "", and JIT code that nothing describes is
 * one for each program, "code of a JIT, not described (node)". So the self of all
 * functions adds up to the samples that have a stack. With CHARGE_MINE, it goes to the
 * charged line's function, if any.
 */
struct attribution_function {
	const char *name, *file;
	/* Basename of the mapping, "[jit]", "[kernel]", or "[ext4]" for a module. */
	const char *object;
	uint32_t start_line; /* 0 not known */
	bool is_runtime; /* C code of an interpreter that may not be charged */
	struct weight self, total;
};

struct attribution_miss {
	enum miss miss;
	struct weight weight; /* not charged to a line for this reason */
	const char **objects; /* basenames of mappings, most samples first; at most 5 */
	size_t nr_objects;
};

struct attribution {
	struct attribution_options options;
	/*
	 * Unit of weight.samples: samples/count; in files of other tools without it,
	 * what profile_shown_value() has, e.g. alloc_space/bytes or cpu/nanoseconds.
	 */
	struct profile_value_type counted;
	/* values below 0 (a difference of profiles): counted as 0 */
	uint64_t nr_negative;
	struct weight all; /* = with_line + function_only + unknown */
	struct weight with_line, function_only, unknown;
	/* CHARGE_MINE: samples whose lines are all in libraries. Part of function_only.
	 * Samples of all misses + not_mine = function_only + unknown. */
	struct weight not_mine;
	struct weight kernel; /* leaf in the kernel; overlaps the three above */
	struct weight incomplete_stacks; /* same */
	/*
	 * Same; all callers are known, but some were found without an unwind table:
	 * LB_STACK_GUESSED, LB_STACK_DERIVED. The three are disjoint.
	 */
	struct weight guessed_stacks, derived_stacks;
	/*
	 * Charged to a line that calls JIT code with names but no lines: part of
	 * with_line.
	 */
	struct weight jit_without_lines;
	/* Not charged to a line, because JIT code that nothing describes ran there. */
	struct weight jit_unknown;
	struct attribution_file *files; /* by self, descending */
	size_t nr_files;
	struct attribution_function *functions; /* by self, descending */
	size_t nr_functions;
	struct attribution_miss *misses; /* by samples, descending */
	size_t nr_misses;
	/* What hot_lines_limit() marked. */
	struct attribution_left_out {
		size_t files, lines;
		struct weight self; /* of the lines */
	} left_out;
	/* for each sample of the profile; those without weight are charged to no line */
	struct attribution_charge *charges;
	uint8_t *line_uses; /* enum line_use of each of profile.lines */
};

/**
 * Does a line count for a sample?
 *
 * @use           enum line_use
 * @is_innermost  nothing on the stack is inside of it
 * @with_last     as in attribution_charge
 */
static inline bool line_counts(uint8_t use, bool is_innermost, bool with_last)
{
	return use & LINE_COUNTS && (is_innermost || !(use & LINE_IF_INNERMOST)) &&
	       (with_last || !(use & LINE_IF_LAST));
}

/** Attributes all samples. Return: 0 or -ENOMEM. Strings belong to the profile's pool. */
int attribution_new(const struct profile *p, const struct attribution_options *options,
		    struct attribution **ret);
void attribution_free(struct attribution *a);
/** Sums the stacks with callers that were found without an unwind table. */
struct weight attribution_unproven_stacks(const struct attribution *a);
DEFINE_CLEANUP(struct attribution, attribution_free);

/**
 * Numbers the files by path, (path, 0), as they are in the attribution. @files: empty.
 * Return: 0 or -ENOMEM.
 */
int attribution_number_files(const struct attribution *a, struct tally *files);

/**
 * Finds the first line with text from line @from (> 0) on. A hostile profile has a line of
 * any number: go from one to the next. Return: its number; 0: there is none.
 */
uint32_t attribution_next_line(const struct attribution_source *source, size_t from);

/** Computes Wilson's score interval, 95 %, of a share of @n samples; 0..1 when n is 0. */
void wilson_ci95(double share, double n, double *low, double *high);

#endif
