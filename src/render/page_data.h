/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page knows, as JSON that may stand inside of <script>: ASCII without "<".
 * docs/formats.md does not describe it: page.js, which the page contains, reads it.
 */
#ifndef LB_RENDER_PAGE_DATA_H
#define LB_RENDER_PAGE_DATA_H

#include "render/render.h"

#define PAGE_MAX_BYTES        (1200u << 10) /* of all data; else callers are left out */
#define PAGE_MAX_SOURCE_BYTES (400u << 10) /* of sources as JSON, hottest files first */
/* Of further times of a stack, some 7 bytes each; else buckets of time are longer. */
#define PAGE_MAX_TIMES (24u << 10)

struct page_data {
	char *facts; /* heap: what was recorded, texts, sources */
	char *stacks; /* heap: functions, frames, samples, labels */
};

/** Return: 0 or -ENOMEM. */
int page_data_new(const struct render_input *in, struct page_data *ret);
void page_data_deinit(struct page_data *d);

/**
 * Writes what was run or recorded into @buf, for a title: "python dither.py"; "-a"; the
 * name of the file; "".
 */
void page_title(const struct render_input *in, char *buf, size_t size);

#endif
