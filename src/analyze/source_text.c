// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/source_text.h"

#include <string.h>

#include "analyze/source.h"

static const char cut_mark[] = "...";

bool source_line_next(const char **at, const char *end, struct source_line *ret)
{
	const char *newline;
	size_t len;

	if (*at >= end)
		return false;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	len = (size_t)((newline ? newline : end) - *at);
	*ret = (struct source_line){.text = *at, .len = len};
	if (len && ret->text[len - 1] == '\r')
		ret->len--;
	*at += len + (newline != NULL);
	return true;
}

uint32_t source_count_lines(const char *text, size_t len)
{
	const char *at = text;
	struct source_line line;
	uint32_t nr = 0;

	while (source_line_next(&at, text + len, &line))
		nr++;
	return nr;
}

bool source_is_text(const char *data, size_t len)
{
	return !memchr(data, '\0', len);
}

/* How much of the line stays before the mark: never half a UTF-8 character. */
static size_t kept_len(const struct source_line *line)
{
	size_t kept = SOURCE_LINE_BYTES - strlen(cut_mark);

	for (size_t back = 0; back < 3 && kept; back++, kept--)
		if (((unsigned char)line->text[kept] & 0xc0) != 0x80)
			break;
	return kept;
}

size_t source_line_copied_len(const struct source_line *line)
{
	return line->len <= SOURCE_LINE_BYTES ? line->len
					      : kept_len(line) + strlen(cut_mark);
}

void source_line_copy(char *to, const struct source_line *line)
{
	size_t len = line->len <= SOURCE_LINE_BYTES ? line->len : kept_len(line);

	memcpy(to, line->text, len);
	to[len] = '\0';
	if (len < line->len)
		memcpy(to + len, cut_mark, sizeof(cut_mark));
}
