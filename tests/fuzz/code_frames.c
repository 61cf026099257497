// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a function's machine code, which is the input. */
#include <assert.h>

#include "decode/cfi/functions.h"
#include "lib/cost.h"

#define VADDR     0x7f0000000000
#define MAX_STEPS (4096 * CODE_FRAMES_STEPS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 5000, .per_byte = 250};

static void check_rule(const struct lb_unwind_rule *rule)
{
	if (rule->cfa == LB_CFA_UNSUPPORTED) {
		assert(!rule->fp && !rule->cfa_off && !rule->fp_off);
		return;
	}
	assert(rule->cfa == LB_CFA_SP || rule->cfa == LB_CFA_FP ||
	       rule->cfa > LB_CFA_REG);
	assert(rule->fp & LB_FP_DERIVED);
	assert(!rule->fp_off || (rule->fp & ~LB_FP_DERIVED) == LB_FP_AT_CFA);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t steps = MAX_STEPS, nr_instructions;
	struct cfi_rows rows = {0};

	assert(!code_frames_read(data, size, VADDR, &steps, &rows));
	nr_instructions = (MAX_STEPS - steps) / CODE_FRAMES_STEPS;
	assert(rows.stats.is_cut == (steps < CODE_FRAMES_STEPS));
	assert(!rows.nr || !rows.stats.is_cut);
	if (rows.nr) {
		const struct cfi_row *end = &rows.items[rows.nr - 1];

		assert(rows.nr - 1 <= nr_instructions);
		assert(rows.items[0].vaddr == VADDR);
		assert(end->vaddr == VADDR + size && end->rule.cfa == LB_CFA_NONE);
		for (size_t i = 0; &rows.items[i] < end; i++) {
			assert(rows.items[i].vaddr < rows.items[i + 1].vaddr);
			check_rule(&rows.items[i].rule);
		}
	}
	cfi_rows_deinit(&rows);
	return 0;
}
