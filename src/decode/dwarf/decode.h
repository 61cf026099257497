/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes one unit for the addresses in it, and returns their frames. */
#ifndef LB_DECODE_DWARF_DECODE_H
#define LB_DECODE_DWARF_DECODE_H

#include "decode/dwarf/line.h"
#include "decode/dwarf/scope.h"
#include "decode/frame.h"

struct decoded {
	struct unit unit;
	struct unit split; /* holds the DIEs when has_split */
	bool has_split, split_missing;
	bool malformed; /* in part; the readable part is used */
	struct debug_file *dwo; /* of split; NULL when there is none to free */
	struct line_table *lines; /* NULL: none */
	struct scopes scopes;
	struct line_rows rows; /* of the functions that were hit */
	struct address_hit *row_hits; /* one per rows.items; NULL: none, or not wanted */
	struct abbrev_cache *abbrevs; /* borrowed */
};

/**
 * Finds the row and the scope of each hit in @unit.
 *
 * @hits  ascending vaddr; wants_code: finds all rows of its function too (frame.h);
 *        otherwise zero
 * @ret   must not move; pass it to decoded_deinit() after success
 * Return: 0 or -ENOMEM.
 */
int decoded_init(struct decoded *ret, const struct unit *unit,
		 struct abbrev_cache *abbrevs, struct address_hit *hits, size_t nr);
void decoded_deinit(struct decoded *d);

/**
 * Returns the frames at one hit, innermost first, at most FRAMES_MAX_INLINE. Code
 * without a line (line 0: merged or moved) is attributed to the call that inlined
 * it, else to the line before it.
 *
 * @ret_miss  MISS_NONE exactly if frames[0] has a line
 * Return: how many; 0: the unit does not cover this address. Strings are valid
 * until decoded_deinit().
 */
size_t decoded_frames(struct decoded *d, const struct address_hit *hit,
		      struct frame frames[FRAMES_MAX_INLINE], enum miss *ret_miss);

/* Which line a frame is on, as numbers of the line table and of the scopes. */
struct frame_place {
	uint32_t scope, file, line;
};

/** Returns the innermost frame at @hit, by the rules of decoded_frames(). */
struct frame_place decoded_innermost(const struct decoded *d,
				     const struct address_hit *hit);
bool decoded_is_inlined(const struct decoded *d, uint32_t scope);
/** Returns the call that inlined @inner. */
struct frame_place decoded_caller(const struct decoded *d, struct frame_place inner);
/** Fills in the frame at @place; strings as those of decoded_frames(). */
void decoded_frame(struct decoded *d, struct frame_place place, struct frame *ret);

/* ---- Pieces of code of a decoded unit: the line of each part of a function ---- */

/* A declaration farther above the first line of code must be of another file. */
#define CODE_MAX_HEAD_LINES 100

/**
 * Called once per piece, strings valid during the call.
 * @function  names the function as the outermost frame of an address in it
 */
typedef void (*piece_fn)(void *ctx, const struct frame *function,
			 const struct code *code);

/**
 * Passes the pieces of @d, which was decoded with codes, to @fn. Omits pieces over the
 * limits of decode/frame.h, without memory or beyond the work budget.
 */
void decoded_pieces(struct decoded *d, piece_fn fn, void *ctx);

#endif
