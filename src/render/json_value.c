// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/json_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "render/render.h"

void json_set(struct json_builder *b, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		b->failed = true;
}

void json_add(struct json_builder *b, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		b->failed = true;
}

json_t *json_text(const char *s)
{
	size_t size = 3 * strlen(s) + 1; /* each bad byte becomes three */
	_cleanup_free_ char *buf = malloc(size);

	return buf ? json_string(escape_utf8_buf(buf, size, s)) : NULL;
}

json_t *json_visible(const char *s, size_t max)
{
	size_t size = 4 * strlen(s) + 1; /* "\xNN" */
	_cleanup_free_ char *buf = NULL;

	if (size > max + 1)
		size = max + 1;
	buf = malloc(size);
	return buf ? json_string(escape_terminal_buf(buf, size, s)) : NULL;
}

json_t *json_count(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *json_text_or_null(const char *s)
{
	return s && *s ? json_text(s) : json_null();
}

json_t *json_count_or_null(uint64_t n)
{
	return n ? json_count(n) : json_null();
}

void json_set_weight(struct json_builder *b, json_t *object, const char *key,
		     const struct weight *w)
{
	char cpu_key[64];

	snprintf(cpu_key, sizeof(cpu_key), "%s_cpu_ns", key);
	json_set(b, object, key, json_count(w->samples));
	json_set(b, object, cpu_key, json_count(w->cpu_ns));
}

int json_print(struct json_builder *b, json_t *root, FILE *out)
{
	int failed;

	if (b->failed || !root) {
		json_decref(root);
		return -ENOMEM;
	}
	failed = json_dumpf(root, out,
			    JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
	json_decref(root);
	if (failed && !ferror(out))
		return -ENOMEM;
	fputc('\n', out);
	return render_finish(out);
}
