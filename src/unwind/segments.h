/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the executable mappings of a process to the kernel's segments. */
#ifndef LB_UNWIND_SEGMENTS_H
#define LB_UNWIND_SEGMENTS_H

#include <stddef.h>

#include "lineburn_unwind.h"

struct process;
struct text_set;
struct unwind_files;

#define SEGMENTS_OF_IMAGE 32768 /* of one image */

struct segment_list {
	struct lb_unwind_segment *items; /* in order of start, disjoint; heap */
	size_t nr, cap;
};
void segment_list_deinit(struct segment_list *l);

/**
 * Replaces @l by what @p has mapped now: files and the vdso with their tables, memory of
 * JITs without, but for the texts in it. Where they are too many, texts are left out,
 * then the smallest mappings. Return: 0, or -ENOSPC when that was so, or memory was short.
 */
int segment_list_make(struct segment_list *l, const struct process *p,
		      struct unwind_files *files, const struct text_set *texts);

#endif
