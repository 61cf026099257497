// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"

json_t *page_text_number(struct json_builder *b, struct page_texts *t, const char *s)
{
	size_t nr = t->index.nr;
	uint32_t number = tally_number(&t->index, tally_key(s), 0);

	if (number == PROFILE_NONE)
		return NULL;
	if (t->index.nr > nr)
		json_add(b, t->values, json_visible(s, PAGE_MAX_NAME_BYTES));
	return json_integer(number);
}

size_t page_text_bytes(const char *s)
{
	char buf[PAGE_MAX_NAME_BYTES + 1];
	size_t bytes = strlen("\"\",");

	escape_terminal_buf(buf, sizeof(buf), s);
	for (const unsigned char *c = (unsigned char *)buf; *c; c++)
		if (*c == '<')
			bytes += strlen("\\u003c");
		else if (*c == '"' || *c == '\\' || *c == '\t')
			bytes += 2;
		else if (*c < 0x80)
			bytes++;
		else if (*c >= 0xc0) /* a character begins; beyond 16 bits it is a pair */
			bytes += (*c < 0xf0 ? 1 : 2) * strlen("\\uabcd");
	return bytes;
}

char *page_json_print(struct json_builder *b, json_t *root)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	_cleanup_free_ char *json =
		b->failed ? NULL
			  : json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII |
						     JSON_REAL_PRECISION(6));

	json_decref(root);
	/* "<" occurs within strings only; "</script" and "<!--" must not be there. */
	for (const char *s = json; out && s && *s; s++)
		if (*s == '<')
			fputs("\\u003c", out);
		else
			fputc(*s, out);
	if (!out || fclose(out) || !json) {
		free(text);
		return NULL;
	}
	return text;
}

json_t *page_printed_lines(struct json_builder *b, const struct render_input *in,
			   page_print_fn print)
{
	static const struct render_options plain = {.utf8 = true};
	struct listing l = {.in = in, .opts = &plain, .shows_kernel = true};
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	json_t *lines = json_array();
	char *rest, *line;

	l.out = open_memstream(&text, &len);
	if (!l.out) {
		b->failed = true;
		return lines;
	}
	print(&l);
	if (fclose(l.out))
		b->failed = true;
	for (rest = text; rest && (line = strsep(&rest, "\n"));)
		if (*line)
			json_add(b, lines, json_text(line));
	return lines;
}
