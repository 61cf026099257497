// SPDX-License-Identifier: GPL-2.0-or-later
/* First byte: number of addresses in the request. Rest: the decoder's answer, which comes
 * twice: a symbolizer keeps its code once, and so many frames of inlined functions. */
#include <stdlib.h>
#include <string.h>

#include "decode/answer.h"
#include "symbolize/symbolizer_internal.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 4000, .per_byte = 15};

static volatile unsigned int touched;

static void check_code(const struct code *code)
{
	uint64_t at = code->address, end = at + code->size_bytes;

	if (end <= at || !code->nr_rows)
		abort();
	for (size_t i = 0; i < code->nr_rows; i++) {
		if (code->rows[i].address < at || !code->rows[i].frame.function ||
		    !code->rows[i].frame.system_name || !code->rows[i].frame.file)
			abort();
		at = code->rows[i].address;
	}
	if (at > end)
		abort();
	/* All bytes must be readable. */
	for (uint64_t i = 0; code->bytes && i < code->size_bytes; i++)
		touched += code->bytes[i];
}

static void check_items(const struct answers *a, struct strpool *pool)
{
	for (size_t i = 0; i < a->nr; i++) {
		const struct answer *item = &a->items[i];
		bool has_line = item->nr_frames && item->frames[0].line;

		if ((unsigned int)item->miss >= NR_MISSES ||
		    has_line != (item->miss == MISS_NONE))
			abort();
		for (size_t k = 0; k < item->nr_frames; k++)
			if (strpool_add(pool, item->frames[k].file) !=
				    item->frames[k].file &&
			    strcmp(item->frames[k].file, "[too many names]") != 0)
				abort();
	}
	for (size_t i = 0; i < a->nr_codes; i++)
		check_code(&a->codes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 16);
	struct symbolizer s = {.pool = pool, .config.max_addresses = 2};
	const struct source none = {0};
	size_t nr_kept = 0;

	for (int time = 0; pool && time < 2; time++) {
		_cleanup_(answers_deinit) struct answers a = {0};
		struct wire_reader r = {.data = data, .len = size, .pos = size ? 1 : 0};

		if (answers_read(&r, size ? data[0] : 0, pool, &a))
			break;
		if (a.nr != data[0])
			abort();
		check_items(&a, pool);
		if (symbolizer_keep_all(&s, &none, &a) ||
		    symbolizer_keep_codes(&s, &none, &a))
			abort();
		check_items(&a, pool);
		if (s.codes.nr > a.nr_codes || (time && s.codes.nr != nr_kept))
			abort();
		nr_kept = s.codes.nr;
	}
	for (size_t i = 0; i < nr_kept; i++)
		check_code(&s.codes.items[i].code);
	symbolizer_codes_deinit(&s);
	while (s.nr_frames)
		free(s.frames[--s.nr_frames]);
	free(s.frames);
	return 0;
}
