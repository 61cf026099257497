// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First byte: length of the pieces in which the map is read. Rest: the map. The result
 * must be the same as when it is read in one piece.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/jit/name.h"
#include "decode/jit/perfmap.h"
#include "lib/cost.h"

#define NR_QUERIES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 60000, .per_byte = 80};

static const struct perfmap_look looks[] = {{100, 20}, {200, 40}, {300, 30}, {400, 90}};

static void scan(const char *text, size_t len, size_t piece, struct strpool *pool,
		 struct queries *q, struct perfmap_scan *s)
{
	for (size_t i = 0; i < NR_QUERIES; i++)
		q->items[i] = (struct query){
			.ip = i * 0x40, .first_ns = i * 8, .last_ns = i * 8 + i % 8 * 16};
	perfmap_scan_init(s, looks, sizeof(looks) / sizeof(looks[0]), q, pool);
	for (size_t at = 0; at < len; at += piece)
		if (perfmap_scan_bytes(s, text + at, len - at < piece ? len - at : piece))
			abort();
	perfmap_scan_deinit(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	struct query whole_items[NR_QUERIES], cut_items[NR_QUERIES];
	struct queries whole = {.items = whole_items, .nr = NR_QUERIES};
	struct queries cut = {.items = cut_items, .nr = NR_QUERIES};
	struct perfmap_scan s, t;

	if (!pool || size < 2)
		return 0;
	scan((const char *)data + 1, size - 1, size, pool, &whole, &s);
	scan((const char *)data + 1, size - 1, data[0] + 1u, pool, &cut, &t);
	if (s.nr_lines != t.nr_lines || s.nr_bad != t.nr_bad || s.offset != t.offset)
		abort();
	for (size_t i = 0; i < NR_QUERIES; i++) {
		struct claim a = {0}, b = {0};
		enum owner owner = query_owner(&whole_items[i], &a);

		if (owner != query_owner(&cut_items[i], &b) || a.name != b.name)
			abort();
		if (!a.name)
			continue;
		if (whole_items[i].ip < a.start_ip)
			abort();
		(void)jit_name_frame(a.name, pool);
	}
	return 0;
}
