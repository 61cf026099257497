/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of addresses in one piece of code, from its DEBUG_INFO. */
#ifndef LB_DECODE_JIT_LINES_H
#define LB_DECODE_JIT_LINES_H

#include "decode/jit/record.h"
#include "decode/jit/scripts.h"

struct line_hit {
	uint64_t ip; /* where it would be had the code never moved */
	size_t index; /* for the caller */
	/* The answer. */
	uint32_t line; /* 0: none */
	const char
		*file; /* as the runtime wrote it, interned; set when there is a line */
	/* The entry that covers it, while the record is read. */
	struct debug_entry entry;
	bool has_entry;
};

/* What serves all records of one dump. */
struct line_source {
	const struct jitdump *jd; /* borrowed */
	struct strpool *pool; /* borrowed */
	struct scripts *scripts; /* made when the first damaged name is met */
	uint64_t nr_bad; /* records with malformed or unrecoverable entries */
};

void line_source_deinit(struct line_source *s);

/**
 * @hits  addresses in @load, ascending; line and file are written
 * Cost: reads the record twice. Return: 0 or -ENOMEM.
 */
int line_source_resolve(struct line_source *s, const struct record *debug,
			const struct record_load *load, struct line_hit *hits, size_t nr);

#endif
