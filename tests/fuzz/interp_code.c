// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copied code objects, each of u16 bytes and these bytes, of which the interpreter's
 * memory chose most. Texts that are kept have their length and whole characters, and the
 * store gives all of them back.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "process/interp_code.h"
#include "lib/cost.h"
#include "lib/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

static uint64_t check_text(const struct interp_text *text)
{
	uint64_t sum = 0;

	assert(text->width <= 4 && text->width != 3);
	assert(!text->width || text->len % text->width == 0);
	/* The sanitizer sees a text that is shorter than it says. */
	for (uint32_t i = 0; text->bytes && i < text->len; i++)
		sum += text->bytes[i];
	return sum;
}

static void check_code(const struct interp_codes *codes, uint64_t id)
{
	const struct interp_code *code = interp_codes_find(codes, id);

	if (code)
		check_text(&code->file), check_text(&code->name),
			check_text(&code->table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pieces pieces = {data, size};
	struct interp_codes codes = {0};
	struct interp_store *store = NULL;
	struct lb_interp_code *record;
	uint16_t bytes;
	int rc = interp_store_new(1 << 16, &store);

	assert(!rc);
	while ((record = pieces_take(&pieces, &bytes))) {
		rc = interp_codes_add(&codes, store, record, bytes);
		assert(!rc || rc == -EINVAL || rc == -ENOSPC);
		if (!rc)
			check_code(&codes, record->code_id);
		free(record);
	}
	interp_codes_deinit(&codes);
	assert(!store->stats.nr_texts && !store->stats.nr_bytes);
	interp_store_free(store);
	return 0;
}
