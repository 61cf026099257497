/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of hot lines, for a page. */
#ifndef LB_RENDER_PAGE_CODE_H
#define LB_RENDER_PAGE_CODE_H

#include "render/json_value.h"

#define PAGE_MAX_CODE_BYTES (160u << 10) /* about, as JSON */

/**
 * Returns an array of pieces of machine code, hottest first: "function", "object",
 * "note", and for the instructions with samples and those beside them "at", numbers:
 * address, file (in attribution.files), line, samples, their weight, weight of what a
 * call calls; and "texts".
 */
json_t *page_code_value(struct json_builder *b, const struct render_input *in);

#endif
