/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the executable mappings of a process to the kernel's segments. */
#ifndef LB_UNWIND_SEGMENTS_H
#define LB_UNWIND_SEGMENTS_H

#include <stddef.h>

#include "lineburn_unwind.h"

struct process;
struct text_set;
struct unwind_files;

#define SEGMENTS_OF_IMAGE 32768 /* most of one image */

struct segment_list {
	struct lb_unwind_segment *items; /* in order of start, disjoint; heap */
	size_t nr, cap;
};
void segment_list_deinit(struct segment_list *l);

/**
 * Replaces @l by the current mappings of @p: files and the vdso with their tables, JIT
 * memory without, except for the texts in it. If there are too many, omits texts, then
 * the smallest mappings. Return: 0, or -ENOSPC if some were omitted or memory is short.
 */
int segment_list_make(struct segment_list *l, const struct process *p,
		      struct unwind_files *files, const struct text_set *texts);

#endif
