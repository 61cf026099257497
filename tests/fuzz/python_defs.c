// SPDX-License-Identifier: GPL-2.0-or-later
/* Python source: lines that are found must lie in it and have the searched name. */
#include <stdlib.h>
#include <string.h>

#include "decode/python/defs.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 20};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_def defs[] = {{"f", 0}, {"C.f", 0}, {"f.g", 0}, {"", 0}};
	const char *text = (const char *)data;

	python_defs_find(text, size, defs, sizeof(defs) / sizeof(defs[0]));
	for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
		const char *at = text, *end = text + size;

		for (uint32_t line = 1; line < defs[i].line; line++) {
			at = memchr(at, '\n', (size_t)(end - at));
			if (!at++)
				abort();
		}
		if (defs[i].line && !memmem(at, (size_t)(end - at), "def", 3))
			abort();
	}
	return 0;
}
