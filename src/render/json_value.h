/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds JSON values. Callers check for lack of memory once, at the end. */
#ifndef LB_RENDER_JSON_VALUE_H
#define LB_RENDER_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/render.h"

/*
 * A NULL value means "out of memory": the setters accept it, free their arguments and
 * set `failed`; then json_print() fails.
 */
struct json_builder {
	bool failed;
};

/** Each takes @value. */
void json_set(struct json_builder *b, json_t *object, const char *key, json_t *value);
void json_add(struct json_builder *b, json_t *array, json_t *value);

/** Converts a name of any bytes: bad UTF-8 becomes U+FFFD. NULL: out of memory. */
json_t *json_text(const char *s);
/**
 * The same for a reader: control characters and the like become visible escapes
 * (base/escape.h). Cut at @max bytes.
 */
json_t *json_visible(const char *s, size_t max);
/** Caps the count at 2^63 - 1, the limit of most JSON readers. */
json_t *json_count(uint64_t n);
/** null for NULL or ""; null for 0. */
json_t *json_text_or_null(const char *s);
json_t *json_count_or_null(uint64_t n);

/** Sets "<key>" to the samples and "<key>_cpu_ns" to the CPU time. */
void json_set_weight(struct json_builder *b, json_t *object, const char *key,
		     const struct weight *w);

/**
 * Prints @root as ASCII, so that no name can harm a terminal, and frees it.
 * Return: 0, -ENOMEM, or -errno of writing.
 */
int json_print(struct json_builder *b, json_t *root, FILE *out);

/** Returns the member "tree" of the JSON (docs/formats.md). */
json_t *call_tree_value(struct json_builder *b, const struct call_tree *tree);

#endif
