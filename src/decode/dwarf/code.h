/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A decoded unit's pieces of code: which line each part of a function is. */
#ifndef LB_DECODE_DWARF_CODE_H
#define LB_DECODE_DWARF_CODE_H

#include "decode/code.h"
#include "decode/dwarf/decode.h"

/* A declaration farther above the first line of code is taken for one of another file. */
#define CODE_MAX_HEAD_LINES 100

/**
 * Called once per piece, strings valid during the call.
 * @function  names the function as the outermost frame of an address in it
 */
typedef void (*piece_fn)(void *ctx, const struct frame *function,
			 const struct code *code);

/**
 * The pieces of @d, which was decoded with codes. Those over the limits of
 * decode/code.h, or for which there is no memory or no work left, are left out.
 */
void decoded_pieces(struct decoded *d, piece_fn fn, void *ctx);

#endif
