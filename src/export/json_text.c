// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/json_text.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"

/* Is it a JSON string as it is, as most names are? */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			return false;
	return true;
}

static int put_escaped(FILE *out, const char *s)
{
	size_t size = 3 * strlen(s) + 1; /* each bad byte becomes three */
	_cleanup_free_ char *buf = malloc(size);
	json_t *text = buf ? json_string(escape_utf8_buf(buf, size, s)) : NULL;
	int failed = !text || json_dumpf(text, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	json_decref(text);
	return failed ? -ENOMEM : 0;
}

int json_put(FILE *out, const char *s)
{
	if (!is_plain(s))
		return put_escaped(out, s);
	fputc('"', out);
	fputs(s, out);
	fputc('"', out);
	return 0;
}

void json_put_number(FILE *out, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	fwrite(digits + at, 1, sizeof(digits) - at, out);
}
