/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an instruction view shows: which pieces of the profile's machine code, and
 * how the samples spread over their instructions. Pure: what the instructions are,
 * a decoder says, and the caller puts it in between choosing and placing.
 */
#ifndef LB_ANALYZE_MACHINE_CODE_H
#define LB_ANALYZE_MACHINE_CODE_H

#include "analyze/attribution.h"
#include "base/error.h"

#define MACHINE_CODE_MAX_PIECES 8 /* shown at once */

enum instruction_flow {
	INSTRUCTION_ON, /* to the next one, or nowhere (a return, a trap) */
	INSTRUCTION_JUMP,
	INSTRUCTION_CALL,
};

struct instruction {
	uint64_t address;
	uint32_t size_bytes;
	enum instruction_flow flow;
	bool has_target; /* of a direct jump or call */
	uint64_t target;
	const char *text; /* in machine_piece.texts; hostile */
	/* By machine_code_place(): */
	struct profile_line innermost; /* line 0: it has none */
	struct profile_line own; /* where the piece's function has it; line 0 not known */
	struct weight self; /* samples at this address; the kernel's on its behalf too */
	struct weight kernel; /* part of self */
	struct weight below; /* a call: samples in what it called */
};

/* Samples at one location within a piece. */
struct machine_hit {
	uint32_t location, code; /* indices */
	struct weight self, kernel, below;
	uint32_t seen; /* last sample that was added to below, + 1 */
};

struct machine_piece {
	const struct profile_code *code;
	uint32_t
		function; /* that the code belongs to, inlined ones apart; PROFILE_NONE */
	struct weight self, kernel; /* of all its addresses */
	const struct machine_hit *hits; /* by address */
	size_t nr_hits;
	struct instruction *instructions; /* heap, owned; ascending; NULL: see note */
	size_t nr;
	uint8_t *bytes; /* heap, owned; of all instructions, one behind the other */
	char *texts; /* heap, owned */
	const char *note; /* a sentence: why there are no instructions, or doubt; "" */
	bool not_linked; /* the copy was made before its addresses were filled in */
};

struct machine_code {
	struct machine_piece pieces[MACHINE_CODE_MAX_PIECES]; /* hottest first */
	size_t nr;
	size_t nr_left_out; /* pieces that were asked for and are too many */
	struct weight left_out; /* self of those */
	struct machine_hit *hits;
};

/**
 * Chooses what to show.
 *
 * @what  FUNC: a function's name, the last part of one, or a part that only one has;
 *        FILE:LINE: what has code of that line; NULL: the function with most self
 * Return: 0; -ENOENT when there is no such code and -EINVAL when several functions
 * are meant, with a sentence; -ENOMEM.
 */
int machine_code_new(const struct profile *p, const char *what, struct machine_code **ret,
		     struct error *err);
void machine_code_free(struct machine_code *m);
DEFINE_CLEANUP(struct machine_code, machine_code_free);

/** Gives the instructions their lines and samples. Return: 0 or -ENOMEM. */
int machine_code_place(struct machine_code *m, const struct profile *p);

/** The row that @address is in, not one of no length; NULL: before the first. */
const struct profile_code_row *machine_code_row(const struct profile_code *code,
						uint64_t address);

#endif
