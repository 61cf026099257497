// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/python/text.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT    0xfffd
#define MAX_CHAR_BYTES 4 /* of UTF-8 */

static const char cut_mark[] = "...";

/* Little-endian. */
static uint32_t char_at(const uint8_t *bytes, unsigned int width)
{
	uint32_t c = 0;

	for (unsigned int i = 0; i < width; i++)
		c |= (uint32_t)bytes[i] << 8 * i;
	return c;
}

/* Surrogates that stand for a byte each, which is the low one (PEP 383). */
static bool is_byte(uint32_t c)
{
	return c >= 0xdc80 && c <= 0xdcff;
}

static uint32_t known_char(uint32_t c)
{
	bool is_surrogate = c >= 0xd800 && c <= 0xdfff;

	return !c || (is_surrogate && !is_byte(c)) || c > 0x10ffff ? REPLACEMENT : c;
}

/* Return: behind it. */
static char *put_char(char *at, uint32_t c)
{
	if (c < 0x80 || is_byte(c)) {
		*at++ = (char)c;
		return at;
	}
	if (c < 0x800) {
		*at++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*at++ = (char)(0xe0 | c >> 12);
		} else {
			*at++ = (char)(0xf0 | c >> 18);
			*at++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*at++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*at++ = (char)(0x80 | (c & 0x3f));
	return at;
}

char *python_text_utf8(const void *bytes, size_t len, unsigned int width, bool is_cut)
{
	size_t nr = width == 1 || width == 2 || width == 4 ? len / width : 0;
	char *text = malloc(nr * MAX_CHAR_BYTES + sizeof(cut_mark)), *at = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		at = put_char(at, known_char(char_at((const uint8_t *)bytes + i * width,
						     width)));
	memcpy(at, is_cut && nr ? cut_mark : "", is_cut && nr ? sizeof(cut_mark) : 1);
	return text;
}
