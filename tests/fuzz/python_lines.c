// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First byte: version. Second byte: how much of the table is present. Rest: the table.
 * Ranges must be contiguous, and a truncated table must give the same ranges up to
 * where it ends.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/python/lines.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 3000, .per_byte = 20};

static void check_range(const struct python_range *r, uint64_t end)
{
	if (r->start != end || r->end <= r->start || r->line > INT32_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_lines all, some;
	struct python_range a, b = {0};
	uint64_t end = 0;
	uint32_t version;
	size_t len, nr = 0;
	uint8_t *cut;

	if (size < 2)
		return 0;
	version = 0x0308 + data[0] % 8;
	size -= 2;
	len = size * data[1] / 255;
	/* A block of exact size, so that AddressSanitizer sees reads past its end. */
	cut = malloc(len ? len : 1);
	if (!cut)
		return 0;
	memcpy(cut, data + 2, len);
	python_lines_init(&all, version, 100, data + 2, size, true);
	python_lines_init(&some, version, 100, cut, len, false);
	while (python_lines_next(&some, &b)) {
		check_range(&b, end);
		if (!python_lines_next(&all, &a) || a.start != b.start ||
		    a.end != b.end || a.line != b.line)
			abort();
		end = b.end;
	}
	while (python_lines_next(&all, &a)) {
		check_range(&a, end);
		end = a.end;
		if (nr++ > size)
			abort();
	}
	free(cut);
	return 0;
}
