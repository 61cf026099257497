/* SPDX-License-Identifier: GPL-2.0-or-later */
/* annotate --asm: machine code under its source lines. */
#ifndef LB_RENDER_ASM_H
#define LB_RENDER_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/machine_code.h"
#include "render/json_value.h"
#include "render/render.h"

/** in->machine_code must not be NULL. Return: as render_fn, or -ENOMEM. */
int render_asm(const struct render_input *in, const struct render_options *opts,
	       FILE *out);

/** Returns the member "asm" of the JSON (docs/formats.md). */
json_t *asm_value(struct json_builder *b, const struct render_input *in);

/* ---- lines of a listing ---- */

/* One source line and its instructions. */
struct asm_line {
	/*
	 * In the function that the code belongs to; if the caller of an inlined
	 * function is unknown, in the inlined one. line 0: these instructions have no
	 * line.
	 */
	struct profile_line place;
	struct weight self, below;
	size_t first, nr; /* of asm_lines.order */
};

struct asm_lines {
	const struct profile *p;
	const struct machine_piece *piece;
	uint32_t *order; /* indices of instructions by line, then address */
	/* those of the function's own file first, by line number */
	struct asm_line *items;
	size_t nr;
};

/** Return: 0 or -ENOMEM. @piece and @p must outlive it. */
int asm_lines_init(struct asm_lines *lines, const struct profile *p,
		   const struct machine_piece *piece);
void asm_lines_deinit(struct asm_lines *lines);

/* A row under a line. */
struct asm_row {
	/* NULL: nr_skipped instructions are omitted */
	const struct placed_instruction *instruction;
	size_t nr_skipped;
};

/* To begin, set the first three members and zero the rest. */
struct asm_rows {
	const struct asm_lines *lines;
	const struct asm_line *line;
	size_t context; /* instructions shown around one with samples */
	size_t next;
};

/** Return: false at the end. */
bool asm_rows_next(struct asm_rows *rows, struct asm_row *ret);

#endif
