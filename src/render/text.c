// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/text.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"

struct range {
	uint32_t first, last;
};

/* Unicode 15.1, EastAsianWidth.txt: W and F, joined over unassigned gaps. */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
	{0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x274c, 0x274c},   {0x2e80, 0x303e},
	{0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},
	{0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
	{0xffe0, 0xffe6},   {0x17000, 0x18cff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f},
	{0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
};

/* General categories Mn, Me and the zero-width characters that occur in code. */
static const struct range zero_width[] = {
	{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x064b, 0x065f},
	{0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},   {0x20d0, 0x20ff},
	{0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
};

static bool in_ranges(uint32_t cp, const struct range *ranges, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	return false;
}

/* Returns the columns of one escaped piece: plain ASCII, or exactly one code point. */
static size_t piece_columns(const char *piece)
{
	const unsigned char *p = (const unsigned char *)piece;
	uint32_t cp;

	if (p[0] < 0x80)
		return strlen(piece);
	cp = p[0] < 0xe0 ? p[0] & 0x1fu : p[0] < 0xf0 ? p[0] & 0x0fu : p[0] & 0x07u;
	for (size_t i = 1; p[i]; i++)
		cp = cp << 6 | (p[i] & 0x3fu);
	if (in_ranges(cp, zero_width, ARRAY_SIZE(zero_width)))
		return 0;
	return in_ranges(cp, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

/* Returns the length of the UTF-8 sequence at @s; 1 if it is incomplete. */
static size_t sequence_len(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = p[0] < 0xc0 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 1;
	return len;
}

struct text_piece {
	char text[32]; /* escaped; a sequence of 4 bad bytes needs 16 characters */
	size_t nr_bytes; /* of the input */
	size_t columns;
};

/* Reads the piece at @s of the text @begin, which is printed at @column of its cell. */
static void piece_next(const char *begin, const char *s, size_t column,
		       struct text_piece *ret)
{
	char one[5] = "";

	if (escape_is_command(begin, s)) {
		*ret = (struct text_piece){.nr_bytes = 1, .columns = 4};
		snprintf(ret->text, sizeof(ret->text), "\\x%02x", *s);
		return;
	}
	if (*s == '\t') {
		ret->nr_bytes = 1;
		ret->columns = TEXT_TAB - column % TEXT_TAB;
		memset(ret->text, ' ', ret->columns);
		ret->text[ret->columns] = '\0';
		return;
	}
	if (*s >= ' ' && *s <= '~') { /* shortcut for nearly all characters */
		*ret = (struct text_piece){.text = {*s}, .nr_bytes = 1, .columns = 1};
		return;
	}
	ret->nr_bytes = sequence_len(s);
	memcpy(one, s, ret->nr_bytes);
	escape_terminal_buf(ret->text, sizeof(ret->text), one);
	ret->columns = piece_columns(ret->text);
}

size_t text_columns(const char *s, size_t max)
{
	const char *begin = s;
	struct text_piece piece;
	size_t columns = 0;

	for (; *s && columns <= max; s += piece.nr_bytes) {
		piece_next(begin, s, columns, &piece);
		columns += piece.columns;
	}
	return columns;
}

/* Prints the pieces that fit into @max columns, without a mark. */
static size_t print_fitting(FILE *out, const char *s, size_t max)
{
	const char *begin = s;
	struct text_piece piece;
	size_t columns = 0;

	for (; *s; s += piece.nr_bytes) {
		piece_next(begin, s, columns, &piece);
		if (columns + piece.columns > max)
			break;
		fputs(piece.text, out);
		columns += piece.columns;
	}
	return columns;
}

size_t text_cell(FILE *out, const char *s, size_t max)
{
	size_t columns;

	if (!max || max > TEXT_MAX_COLUMNS)
		max = TEXT_MAX_COLUMNS;
	if (text_columns(s, max) <= max)
		return print_fitting(out, s, max);
	columns = print_fitting(out, s, max - 1);
	fputc('>', out);
	return columns + 1;
}

size_t text_cell_tail(FILE *out, const char *s, size_t max)
{
	static const char mark[] = "...";
	const char *begin = s;
	struct text_piece piece;
	size_t excess;

	if (!max || max > TEXT_MAX_COLUMNS)
		max = TEXT_MAX_COLUMNS;
	if (max <= strlen(mark) || text_columns(s, max) <= max)
		return text_cell(out, s, max);

	/* The width of a tab depends on its position; in a path it counts at most 4. */
	excess = text_columns(s, SIZE_MAX - 1) - (max - strlen(mark));
	for (size_t skipped = 0; *s && skipped < excess; s += piece.nr_bytes) {
		piece_next(begin, s, 0, &piece);
		skipped += piece.columns;
	}
	fputs(mark, out);
	return strlen(mark) + text_cell(out, s, max - strlen(mark));
}

bool text_cut(char *s, size_t size, size_t max)
{
	static const char mark[] = "...";
	char *end = s; /* the mark fits here */
	struct text_piece piece;
	size_t columns = 0;

	for (char *at = s; *at; at += piece.nr_bytes) {
		if (columns + strlen(mark) <= max)
			end = at;
		piece_next(s, at, 0, &piece);
		columns += piece.columns;
		if (columns > max) {
			snprintf(end, size - (size_t)(end - s), "%s", mark);
			return true;
		}
	}
	return false;
}

void text_spaces(FILE *out, size_t nr)
{
	while (nr--)
		fputc(' ', out);
}

void text_sentence(FILE *out, const struct text_margins *margins, char *sentence)
{
	size_t column = margins->first;
	bool line_is_empty = true;

	text_spaces(out, margins->first);
	for (char *word = sentence; *word;) {
		size_t len = strcspn(word, " ");
		bool is_last = !word[len];
		size_t columns;

		word[len] = '\0';
		columns = text_columns(word, TEXT_MAX_COLUMNS);
		if (!line_is_empty && margins->width &&
		    column + 1 + columns > margins->width) {
			fputc('\n', out);
			text_spaces(out, margins->next);
			column = margins->next;
			line_is_empty = true;
		}
		if (!line_is_empty) {
			fputc(' ', out);
			column++;
		}
		column += text_cell(out, word, 0);
		line_is_empty = false;
		if (is_last)
			break;
		word += len + 1;
	}
	fputc('\n', out);
}
