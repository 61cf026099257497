/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the data of several pages is made of. */
#ifndef LB_RENDER_PAGE_JSON_H
#define LB_RENDER_PAGE_JSON_H

#include "render/json_value.h"
#include "render/listing.h"

#define PAGE_MAX_NAME_BYTES 1024 /* of a name or a line of text; longer ones are cut */

/* Texts by address, each once. */
struct page_texts {
	struct tally index;
	json_t *values; /* array */
};

/** Returns the number of @s in values. */
json_t *page_text_number(struct json_builder *b, struct page_texts *t, const char *s);

/**
 * Returns the bytes that json_visible(@s, PAGE_MAX_NAME_BYTES) has in a page, with its
 * quotes and a comma: 6 for "<" and for each character that is not ASCII.
 */
size_t page_text_bytes(const char *s);

/**
 * Serializes @root, and frees it: ASCII without "<", so that it may stand inside of
 * <script>. Fractions have 6 digits, as in the JSON formats. NULL: out of memory.
 */
char *page_json_print(struct json_builder *b, json_t *root);

typedef void (*page_print_fn)(const struct listing *l);

/** Runs @print of a text format, and returns its lines as an array. */
json_t *page_printed_lines(struct json_builder *b, const struct render_input *in,
			   page_print_fn print);

#endif
