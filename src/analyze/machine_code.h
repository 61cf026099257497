/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of an instruction view: pieces of the profile's machine code, and the samples of
 * each instruction. Pure: between machine_code_new() and machine_code_place() the
 * caller fills in the instructions with a decoder.
 */
#ifndef LB_ANALYZE_MACHINE_CODE_H
#define LB_ANALYZE_MACHINE_CODE_H

#include "analyze/attribution.h"
#include "base/error.h"
#include "decode/frame.h"

#define MACHINE_CODE_MAX_PIECES 8 /* shown at once */

/* An instruction with its lines and samples. */
struct placed_instruction {
	const struct instruction *decoded;
	const struct profile_code_row *row; /* of the code, or one without a line */
	struct profile_line own; /* its line in the piece's function; line 0: unknown */
	/* samples at this address, including kernel code that it caused */
	struct weight self;
	struct weight kernel; /* part of self */
	struct weight below; /* of a call: samples in called functions */
};

/* Samples at one location within a piece. */
struct machine_hit {
	uint32_t location, code; /* indices */
	struct weight self, kernel, below;
	uint32_t seen; /* last sample that was added to below, + 1 */
};

struct machine_piece {
	const struct profile_code *code;
	uint32_t function; /* that owns the code, not an inlined one; PROFILE_NONE */
	struct weight self, kernel; /* of all its addresses */
	const struct machine_hit *hits; /* by address */
	size_t nr_hits;
	/* Set by the caller. Heap, owned; ascending; NULL: see note */
	struct instruction *instructions;
	struct placed_instruction *placed; /* heap, owned; of instructions */
	size_t nr;
	uint8_t *bytes; /* heap, owned; of all instructions, in order */
	char *texts; /* heap, owned */
	const char *note; /* a message: why instructions are missing or doubtful; "" */
	bool not_linked; /* copied before relocation filled in its addresses */
};

struct machine_code {
	struct machine_piece pieces[MACHINE_CODE_MAX_PIECES]; /* hottest first */
	size_t nr;
	size_t nr_left_out; /* requested pieces beyond the maximum */
	struct weight left_out; /* self of the pieces left out */
	struct machine_hit *hits;
};

/* The hottest pieces of all functions. */
extern const char machine_code_of_all[];

/**
 * Chooses the pieces to show.
 *
 * @what  FUNC: a function's name, its last part, or a part unique to it; FILE:LINE: all
 *        code of that line; NULL: the function with most self; machine_code_of_all
 * Return: 0; with a message -ENOENT if there is no such code, -EINVAL if several
 * functions match; -ENOMEM.
 */
int machine_code_new(const struct profile *p, const char *what, struct machine_code **ret,
		     struct error *err);
void machine_code_free(struct machine_code *m);
DEFINE_CLEANUP(struct machine_code, machine_code_free);

/** Sets lines and samples of the instructions. Return: 0 or -ENOMEM. */
int machine_code_place(struct machine_code *m, const struct profile *p);

/**
 * Returns the row that contains @address, never an empty one; before the first: a row
 * without a line.
 */
const struct profile_code_row *machine_code_row(const struct profile_code *code,
						uint64_t address);

#endif
