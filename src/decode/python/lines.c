// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/python/lines.h"

#define VERSION_LNOTAB    0x0309
#define VERSION_LINETABLE 0x030a
#define VERSION_LOCATIONS 0x030b

#define UNIT_BYTES        2 /* of code: an instruction or a cache entry */

void python_lines_init(struct python_lines *l, uint32_t version, uint32_t first_line,
		       const void *table, size_t len, bool is_whole)
{
	*l = (struct python_lines){.version = version,
				   .table = table,
				   .len = len,
				   .is_whole = is_whole,
				   .line = first_line};
}

/* A corrupt table can give any number: reject line numbers out of range. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* ---- 3.9 ---- */

/*
 * A pair gives the length of a range and the change of the line after it; the line of a
 * range is the sum of the changes before it. The last line holds to the end of the
 * code.
 */
static bool next_lnotab(struct python_lines *l, struct python_range *ret)
{
	if (l->end == UINT64_MAX)
		return false;
	while (l->len - l->pos >= 2 && !l->table[l->pos]) {
		l->line += (int8_t)l->table[l->pos + 1];
		l->pos += 2;
	}
	*ret = (struct python_range){.start = l->end, .line = line_of(l->line)};
	if (l->len - l->pos < 2) {
		/* If the table is cut, the missing pair could begin right here. */
		ret->end = l->end = UINT64_MAX;
		return l->is_whole;
	}
	ret->end = l->end += l->table[l->pos];
	l->line += (int8_t)l->table[l->pos + 1];
	l->pos += 2;
	return true;
}

/* ---- 3.10 ---- */

static bool next_linetable(struct python_lines *l, struct python_range *ret)
{
	while (l->len - l->pos >= 2) {
		uint8_t bytes = l->table[l->pos];
		int8_t lines = (int8_t)l->table[l->pos + 1];

		l->pos += 2;
		if (lines != INT8_MIN)
			l->line += lines;
		if (!bytes)
			continue;
		ret->start = l->end;
		ret->end = l->end += bytes;
		ret->line = lines == INT8_MIN ? 0 : line_of(l->line);
		return true;
	}
	return false;
}

/* ---- 3.11 and later ---- */

/* Kinds of entries; lower kinds stay on the same line. */
enum location_kind {
	LOCATION_ONE_LINE_0 = 10, /* + lines, 0..2 */
	LOCATION_ONE_LINE_2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

#define HEAD_BIT  0x80 /* only in head bytes: the rest of an entry is skipped by it */
#define MORE_BIT  0x40
#define MAX_SHIFT 30 /* six bits a byte; longer numbers are malformed */

/* Reads the signed number at l->pos. Return: false: malformed, or cut. */
static bool get_svarint(struct python_lines *l, int64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift <= MAX_SHIFT; shift += 6) {
		uint8_t byte;

		if (l->pos == l->len || l->table[l->pos] & HEAD_BIT)
			return false;
		byte = l->table[l->pos++];
		value |= (uint64_t)(byte & (MORE_BIT - 1)) << shift;
		if (byte & MORE_BIT)
			continue;
		*ret = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
		return true;
	}
	return false;
}

static bool next_location(struct python_lines *l, struct python_range *ret)
{
	unsigned int kind, units;
	int64_t lines = 0;
	uint8_t head;

	if (l->pos == l->len)
		return false;
	head = l->table[l->pos++];
	kind = head >> 3 & 15;
	units = (head & 7) + 1;
	if (!(head & HEAD_BIT))
		goto malformed;
	if (kind >= LOCATION_ONE_LINE_0 && kind <= LOCATION_ONE_LINE_2)
		lines = kind - LOCATION_ONE_LINE_0;
	else if ((kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG) &&
		 !get_svarint(l, &lines))
		goto malformed;
	while (l->pos < l->len && !(l->table[l->pos] & HEAD_BIT))
		l->pos++; /* columns */
	l->line += lines;
	ret->start = l->end;
	ret->end = l->end += (uint64_t)units * UNIT_BYTES;
	ret->line = kind == LOCATION_NONE ? 0 : line_of(l->line);
	return true;
malformed:
	l->pos = l->len;
	return false;
}

bool python_lines_next(struct python_lines *l, struct python_range *ret)
{
	if (l->version == VERSION_LNOTAB)
		return next_lnotab(l, ret);
	if (l->version == VERSION_LINETABLE)
		return next_linetable(l, ret);
	return l->version >= VERSION_LOCATIONS && next_location(l, ret);
}
