// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the JIT probe, each of u16 bytes and these bytes: in any order, of any calls.
 * An object is delivered whole or not at all, and each call once.
 */
#include <assert.h>
#include <stdlib.h>

#include "collect/jit_assembly.h"
#include "lib/cost.h"
#include "lib/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 5};

struct sums {
	uint64_t nr_events, sum;
};

static void take(void *ctx, const struct jit_event *ev)
{
	struct sums *sums = ctx;
	const uint8_t *object = ev->object;

	assert(ev->kind == LB_JIT_REGISTER || ev->kind == LB_JIT_UNREGISTER);
	assert(!object || (ev->kind == LB_JIT_REGISTER && ev->failure == LB_JIT_OK));
	sums->nr_events++;
	/* The sanitizer sees an object that is shorter than it says. */
	for (uint64_t i = 0; object && i < ev->size_bytes; i++)
		sums->sum += object[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pieces pieces = {data, size};
	struct jit_assembly *a = jit_assembly_new();
	struct sums sums = {0};
	uint64_t nr_begun = 0;
	struct lb_jit_record *record;
	uint16_t bytes;

	assert(a);
	while ((record = pieces_take(&pieces, &bytes))) {
		if (bytes >= sizeof(*record) && (record->kind == LB_JIT_REGISTER ||
						 record->kind == LB_JIT_UNREGISTER))
			nr_begun++;
		jit_assembly_take(a, record, bytes, take, &sums);
		free(record);
	}
	jit_assembly_expire(a, UINT64_MAX, take, &sums);
	assert(sums.nr_events <= nr_begun);
	jit_assembly_free(a);
	return 0;
}
