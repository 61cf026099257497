/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output compared with a file of the tests. LB_GOLDEN_UPDATE=1 (make golden-update) accepts
 * the output as it is now.
 */
#ifndef LB_TESTS_LIB_GOLDEN_H
#define LB_TESTS_LIB_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"

/* The file at @path, NUL-terminated, heap; first with @data in it if that is accepted. */
static inline char *golden_read(const char *path, const void *data, size_t len,
				size_t *ret_len)
{
	char *expected = NULL;

	if (getenv("LB_GOLDEN_UPDATE")) {
		FILE *out = fopen(path, "w");

		assert_non_null(out);
		assert_int_equal(fwrite(data, 1, len, out), len);
		assert_int_equal(fclose(out), 0);
	}
	if (io_read_file(path, 1 << 20, &expected, ret_len))
		fail_msg("%s is missing: make golden-update, then look at it", path);
	return expected;
}

/* @name  below tests/golden */
static inline void golden_compare(const char *name, const char *text)
{
	_cleanup_free_ char *expected = NULL;
	char path[256];
	size_t len;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	expected = golden_read(path, text, strlen(text), &len);
	if (strcmp(text, expected))
		fail_msg("differs from %s; the output now is\n%s", path, text);
}

/* Nothing that a terminal obeys, but for our own colours where they were asked for. */
static inline void golden_check_harmless(const char *text, bool colour)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		assert_true((*c >= 0x20 && *c != 0x7f) || *c == '\n' ||
			    (*c == '\033' && colour && c[1] == '['));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\xc2\x9b"));
}

/* The head of a listing, at most three rows; on a terminal narrower than 80 it wraps. */
static inline void golden_check_head(const char *text, unsigned int width)
{
	const char *end = strstr(text, "\n\n");
	unsigned int rows = 1;

	assert_non_null(end);
	for (const char *c = text; c < end; c++)
		rows += *c == '\n';
	if (width >= 80)
		assert_in_range(rows, 1, 3);
}

#endif
