// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/gzip.h"

/* Text that does not compress well. */
static void fill(char *text, size_t len)
{
	uint32_t x = 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		text[i] = (char)('a' + (x >> 24) % 16);
	}
}

static void *pack_two(const char *a, size_t a_len, const char *b, size_t b_len,
		      size_t *len)
{
	struct gzip_writer *w = calloc(1, sizeof(*w));
	void *packed = NULL;

	gzip_put(w, a, a_len);
	gzip_end_member(w);
	gzip_put(w, b, b_len);
	assert_int_equal(gzip_take(w, &packed, len), 0);
	gzip_writer_deinit(w);
	free(w);
	return packed;
}

static void members_join(void **state)
{
	char *a = malloc(300000), *b = malloc(100);
	uint8_t *out;
	size_t len, out_len;
	void *packed;

	(void)state;
	fill(a, 300000);
	fill(b, 100);
	packed = pack_two(a, 300000, b, 100, &len);
	assert_true(gzip_is(packed, len));
	assert_int_equal(gzip_inflate(packed, len, 1 << 20, &out, &out_len), 0);
	assert_int_equal(out_len, 300100);
	assert_memory_equal(out, a, 300000);
	assert_memory_equal(out + 300000, b, 100);
	free(out);
	assert_int_equal(gzip_inflate(packed, len, 300100, &out, &out_len), 0);
	free(out);
	assert_int_equal(gzip_inflate(packed, len, 300099, &out, &out_len), -EFBIG);
	free(packed);
	free(a);
	free(b);
}

static void every_cut_is_told(void **state)
{
	char a[500], b[500];
	size_t len, out_len, first;
	uint8_t *out, *packed;

	(void)state;
	fill(a, sizeof(a));
	fill(b, sizeof(b));
	packed = pack_two(a, sizeof(a), "", 0, &first);
	free(packed);
	packed = pack_two(a, sizeof(a), b, sizeof(b), &len);
	for (size_t cut = 0; cut < len; cut++) {
		int r = gzip_inflate(packed, cut, 1 << 20, &out, &out_len);

		if (cut == first) { /* between the members: a valid file */
			assert_int_equal(r, 0);
			free(out);
		} else if (cut == first + 1) { /* a member of one byte is invalid */
			assert_int_equal(r, -EBADMSG);
		} else {
			assert_int_equal(r, -ENODATA);
		}
	}
	free(packed);
}

static void damage_is_told(void **state)
{
	char a[500];
	size_t len, out_len;
	uint8_t *out, *packed;

	(void)state;
	fill(a, sizeof(a));
	packed = pack_two(a, sizeof(a), a, sizeof(a), &len);
	packed[len - 6] ^= 1; /* checksum */
	assert_int_equal(gzip_inflate(packed, len, 1 << 20, &out, &out_len), -EBADMSG);
	packed[len - 6] ^= 1;
	packed[0] = 'x';
	assert_int_equal(gzip_inflate(packed, len, 1 << 20, &out, &out_len), -EBADMSG);
	free(packed);
}

static void a_bomb_ends_early(void **state)
{
	const size_t size = 64u << 20;
	char *zeroes = calloc(1, size);
	size_t len, out_len;
	uint8_t *out;
	void *packed;

	(void)state;
	packed = pack_two(zeroes, size, "", 0, &len);
	free(zeroes);
	assert_true(len < size / 500);
	assert_int_equal(gzip_inflate(packed, len, 1u << 30, &out, &out_len), -E2BIG);
	free(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_join),
		cmocka_unit_test(every_cut_is_told),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(a_bomb_ends_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
