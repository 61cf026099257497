/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds JSON values. Running out of memory is noticed once, at the end. */
#ifndef LB_RENDER_JSON_VALUE_H
#define LB_RENDER_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/render.h"

/*
 * NULL stands for "out of memory" throughout: the setters take such a value, free
 * what they were given and note it, and json_value_print() refuses.
 */
struct json_builder {
	bool failed;
};

/** Each takes @value. */
void json_set(struct json_builder *b, json_t *object, const char *key, json_t *value);
void json_add(struct json_builder *b, json_t *array, json_t *value);

/** Names may hold any bytes: bad UTF-8 becomes U+FFFD. NULL: out of memory. */
json_t *json_text(const char *s);
/** JSON numbers of most readers end at 2^63 - 1: larger counts become that. */
json_t *json_count(uint64_t n);

/** Sets "<key>" to the samples and "<key>_cpu_ns" to the CPU time. */
void json_set_weight(struct json_builder *b, json_t *object, const char *key,
		     const struct weight *w);

/**
 * Prints @root as ASCII, so that no name can do harm on a terminal, and drops it.
 * Return: 0, -ENOMEM, or -errno of writing.
 */
int json_print(struct json_builder *b, json_t *root, FILE *out);

#endif
