/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a profile as most formats want them: lists of named frames, the
 * outermost first, from line_stacks_new(). So their self of a line is that of annotate.
 */
#ifndef LB_EXPORT_STACKS_H
#define LB_EXPORT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/tally.h"
#include "export/export.h"
#include "profile/mapping_kind.h"

/* A line of a function. All strings are interned, and never NULL. */
struct export_frame {
	const char *name; /* of the function, else e.g. "[libz.so.1.2.13]" */
	const char *file; /* "" not known */
	const char *object; /* basename of the mapping, "[jit]", "[kernel]", ...; "" */
	uint32_t line; /* 0 not known */
	uint32_t start_line; /* of the function; 0 not known */
	uint32_t function; /* of the functions, by (name, file, object) */
	enum code_kind kind;
	bool is_library; /* of its object or its file, as for attribution_file */
	bool is_inlined; /* its code is within that of its caller */
};

struct export_stack {
	uint32_t first, nr; /* into frame_numbers; nr > 0 */
	struct weight weight;
	struct series_list times; /* into export_stacks.times */
	/* The kept labels, one for each key of the input; "" has no such label. */
	const char *const *labels;
};

struct export_stacks {
	struct export_frame *frames; /* different from each other */
	size_t nr_frames, cap_frames;
	uint32_t nr_functions;
	uint32_t *frame_numbers; /* of all stacks; outermost first */
	size_t nr_numbers, cap_numbers;
	struct export_stack *stacks; /* of different frames or labels */
	size_t nr_stacks;
	const char **labels; /* of all stacks */
	struct weight all; /* sum of the stacks */
	struct series times; /* empty: not known */
	/*
	 * What most formats show: CPU time ("cpu", "nanoseconds"), or in files without it
	 * what they counted.
	 */
	struct profile_value_type unit;
	bool has_cpu; /* the unit is CPU time */
};

/** Return: 0 or -ENOMEM with a message. */
int export_stacks_new(const struct export_input *in, struct export_stacks **ret,
		      struct error *err);
void export_stacks_free(struct export_stacks *s);
DEFINE_CLEANUP(struct export_stacks, export_stacks_free);

static inline uint64_t export_value(const struct export_stacks *s, struct weight w)
{
	return s->has_cpu ? w.cpu_ns : w.samples;
}

#endif
