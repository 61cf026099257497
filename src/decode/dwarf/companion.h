/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other files that hold a part of a file's debug information: what dwz moved
 * out because several programs share it, and split DWARF (.dwo, or many of them
 * in one .dwp). They are asked for by name and are not believed: a build id or a
 * dwo id has to match.
 */
#ifndef LB_DECODE_DWARF_COMPANION_H
#define LB_DECODE_DWARF_COMPANION_H

#include "decode/dwarf/file.h"
#include "decode/dwarf/unit.h"

/** The dwz file, asked for once; owned by @file. NULL: none, or not found. */
struct debug_file *companion_alt(struct debug_file *file);

/**
 * The split unit of @skeleton, which must outlive it. @ret_file is what the
 * caller frees after use (a .dwo), or NULL (a .dwp, which @skeleton->file keeps).
 *
 * Return: 0, -ENOENT (not found, or of another build), -ENOMEM.
 */
int companion_split_unit(const struct unit *skeleton, struct debug_file **ret_file,
			 struct unit *ret);

#endif
