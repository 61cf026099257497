/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side (runs in the worker): source lines and inlined chains of many addresses
 * of one file, from DWARF 2-5. It has its own reader (the other files here) on libelf's
 * sections: libdw keeps every unit that it touched until the end, opens split files by
 * itself, and supports .dwp only since 0.191.
 */
#ifndef LB_DECODE_DWARF_DWARF_H
#define LB_DECODE_DWARF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/dwarf/file.h"
#include "decode/frame.h"
#include "decode/need.h"

struct dwarf_source;

/**
 * Opens the debug information of @binary. Addresses are vaddrs of the file; of JIT
 * code, run-time addresses.
 *
 * @binary  the file that holds .debug_info; borrowed until dwarf_source_free(), its
 *          sections are decompressed in place
 * @need    opens dwz and split files; may be NULL: none are found
 *
 * Return: 0, -ENODATA (no debug info in it), -EBADMSG (malformed), -ENOMEM.
 */
int dwarf_source_open(struct binary *binary, dwarf_need_fn need, void *ctx,
		      struct dwarf_source **ret);
void dwarf_source_free(struct dwarf_source *d);
DEFINE_CLEANUP(struct dwarf_source, dwarf_source_free);

/**
 * Called once per address, in any order. @frames innermost first, strings valid
 * during the call, names as written in DWARF: .function is DW_AT_name (or ""), with
 * its namespaces and classes where there is no linkage name; .system_name is the
 * linkage name (or ""). Equal names are one pointer. @miss says why there is no line; it is
 * MISS_NONE exactly if frames[0].line is not 0.
 */
typedef void (*dwarf_found_fn)(void *ctx, size_t i, enum miss miss,
			       const struct frame *frames, size_t nr);

/**
 * Called for each contiguous part of a function that holds at least one of the
 * addresses; not for inlined functions. @i is one of these addresses; it was reported
 * before. Strings are valid during the call, names as in dwarf_found_fn.
 *
 * Code without a line gets one as in frames: that of the call at which it was inlined,
 * else the line before. Rows of length 0 at the end are lines of these functions whose
 * code is in other parts of the unit. Pieces over the limits of frame.h are left out.
 * @function  the frame of the function, without a line
 */
typedef void (*dwarf_code_fn)(void *ctx, size_t i, const struct frame *function,
			      const struct code *code);

/**
 * Makes dwarf_source_resolve() report code to @fn too, with its ctx. NULL: no longer.
 * @wanted  per address: whether to report its function; NULL: all
 */
void dwarf_source_want_code(struct dwarf_source *d, dwarf_code_fn fn, const bool *wanted);

/**
 * Finds the frames of all @vaddrs.
 *
 * @vaddrs  addresses as in the ELF file; any order, duplicates allowed
 *
 * Cost: one pass over the unit headers of the file, then each unit that is hit is
 * decoded once, and freed. Memory: 24 bytes an address, and what one unit needs.
 * Compressed sections that are used stay decompressed until dwarf_source_free(), at
 * most DEBUG_MAX_INFLATED_BYTES (beyond: MISS_DECODER_GAVE_UP).
 * Return: 0, -EBADMSG (malformed beyond use), -ENOMEM.
 */
int dwarf_source_resolve(struct dwarf_source *d, const uint64_t *vaddrs, size_t nr,
			 dwarf_found_fn found, void *ctx);

/**
 * Calls @row for each row of all line tables, in the order of the file: unit by unit,
 * within a sequence by ascending address. Has the same budget as
 * dwarf_source_resolve().
 * Return: 0 (also when some are malformed), -ENOMEM.
 */
int dwarf_source_rows(struct dwarf_source *d, dwarf_row_fn row, void *ctx);

/** What was missing since dwarf_source_open() or dwarf_source_restart(). */
void dwarf_source_stats(const struct dwarf_source *d, struct dwarf_stats *ret);

/** Begins another request with an open file. Code is not wanted. */
void dwarf_source_restart(struct dwarf_source *d, dwarf_need_fn need, void *ctx);

/** Was every part there, and within the limits, that this request needed? */
bool dwarf_source_is_whole(const struct dwarf_source *d);

/**
 * Frees what the next request can read again, and returns the bytes of the heap that it
 * still has, also of files that it opened: decompressed sections, lists of units, and what
 * libelf has of the headers.
 */
uint64_t dwarf_source_shrink(struct dwarf_source *d);

#endif
