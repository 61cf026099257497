/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: mangled -> readable (C++, Rust legacy and v0) by libiberty, bounded. */
#ifndef LB_DECODE_ELF_DEMANGLE_H
#define LB_DECODE_ELF_DEMANGLE_H

#include <stddef.h>

/**
 * Writes the readable form of @name into @buf (cut with "..." when it does not
 * fit) and returns @buf, or @name itself when it is not a mangled name or is too
 * costly to demangle.
 */
const char *demangle(const char *name, char *buf, size_t size);

#endif
