/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: files with debug information that stay open between requests. A program
 * that names a few new addresses of the same libraries every other second would spend
 * most of its time on decompressing their sections again.
 */
#ifndef LB_DECODE_DWARF_KEPT_H
#define LB_DECODE_DWARF_KEPT_H

#include "decode/dwarf/dwarf.h"

/* Kept at most: files, bytes of the heap of all. */
#define KEPT_MAX_FILES 16
#define KEPT_MAX_BYTES (32u << 20)
#define KEPT_MAX_AGE   256 /* requests about other files since it was used */

/**
 * As dwarf_source_open(), for the file @fd, which is borrowed for this call. If the same
 * file (device, inode, size, times) was kept, returns what is known of it already.
 *
 * @root  number of the root in which @need finds further files, as split ones: in another
 *        root they may be others
 * @ret  borrowed until kept_dwarf_done(); one at a time
 */
int kept_dwarf_open(int fd, uint64_t root, dwarf_need_fn need, void *ctx,
		    struct dwarf_source **ret);

/** Keeps the file, unless it is not sound, parts of it are missing or it is too large. */
void kept_dwarf_done(bool is_sound);

#endif
