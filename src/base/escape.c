// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/escape.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Decodes one code point. Return: the number of bytes used; 0 if the bytes at @s are
 * not well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
 */
static size_t utf8_decode(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len;
	uint32_t v;

	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		len = 2;
		v = s[0] & 0x1f;
	} else if ((s[0] & 0xf0) == 0xe0) {
		len = 3;
		v = s[0] & 0x0f;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		len = 4;
		v = s[0] & 0x07;
	} else {
		return 0;
	}
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	if (v < smallest[len] || (v >= 0xd800 && v <= 0xdfff) || v > 0x10ffff)
		return 0;
	*cp = v;
	return len;
}

static bool is_unsafe(uint32_t cp)
{
	if (cp == '\t')
		return false;
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x61c || cp == 0x200e ||
	       cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

bool escape_is_command(const char *begin, const char *at)
{
	bool is_anywhere = !strncmp(at, "##[", 3);

	if ((!is_anywhere && strncmp(at, "::", 2) != 0) || !getenv("GITHUB_ACTIONS"))
		return false;
	/* Unicode has many blanks: all but ASCII is taken for one. */
	while (begin && begin < at &&
	       (*begin == ' ' || *begin == '\t' || (unsigned char)*begin >= 0x80))
		begin++;
	return is_anywhere || begin == at;
}

/*
 * Escapes the code point at @s, of a text that begins a line at @begin (NULL: elsewhere),
 * into @out; returns bytes consumed.
 */
static size_t escape_one(const char *begin, const unsigned char *s, char out[16])
{
	uint32_t cp = 0;
	size_t len = utf8_decode(s, &cp);

	if (escape_is_command(begin, (const char *)s)) {
		snprintf(out, 16, "\\x%02x", *s);
		return 1;
	}
	if (!len || (cp < 0x100 && is_unsafe(cp))) {
		snprintf(out, 16, "\\x%02x", len ? (unsigned int)cp : s[0]);
		return len ? len : 1;
	}
	if (is_unsafe(cp)) {
		snprintf(out, 16, "\\u{%x}", (unsigned int)cp);
		return len;
	}
	memcpy(out, s, len);
	out[len] = '\0';
	return len;
}

size_t escape_terminal(FILE *out, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t columns = 0;
	char one[16];

	while (*p) {
		p += escape_one(s, p, one);
		fputs(one, out);
		columns += (unsigned char)one[0] >= 0x80 ? 1 : strlen(one);
	}
	return columns;
}

/*
 * Copies the result of @next for each code point, but no partial result; see
 * escape_one().
 */
static char *copy_escaped(char *buf, size_t size, const char *s,
			  size_t (*next)(const unsigned char *s, char out[16]))
{
	const unsigned char *p = (const unsigned char *)s;
	size_t used = 0;
	char one[16];

	while (*p) {
		size_t len;

		p += next(p, one);
		len = strlen(one);
		if (used + len + 1 > size)
			break;
		memcpy(buf + used, one, len);
		used += len;
	}
	if (size)
		buf[used] = '\0';
	return buf;
}

static size_t terminal_one(const unsigned char *s, char out[16])
{
	return escape_one(NULL, s, out);
}

char *escape_terminal_buf(char *buf, size_t size, const char *s)
{
	return copy_escaped(buf, size, s, terminal_one);
}

static size_t utf8_one(const unsigned char *s, char out[16])
{
	uint32_t cp;
	size_t len = utf8_decode(s, &cp);

	if (!len) {
		strcpy(out, "\xef\xbf\xbd");
		return 1;
	}
	memcpy(out, s, len);
	out[len] = '\0';
	return len;
}

char *escape_utf8_buf(char *buf, size_t size, const char *s)
{
	return copy_escaped(buf, size, s, utf8_one);
}

bool text_append(char *buf, size_t size, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf + used, size - used, fmt, args);
	va_end(args);
	return n >= 0 && (size_t)n < size - used;
}
