// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/program.h"

#include <errno.h>

#include "base/vec.h"
#include "decode/cfi/expression.h"

#define MAX_REMEMBERED 16 /* states; compilers nest one or two */

/* The machine, while it runs. */
struct machine {
	const struct cfi_run *run; /* NULL: initial instructions, at no address */
	const struct cfi_cie *cie;
	const struct cfi_bases *bases;
	struct cfi_bytes program;
	struct cfi_state state;
	struct cfi_state remembered[MAX_REMEMBERED];
	size_t nr_remembered;
	uint64_t vaddr; /* from which on the state holds */
};

/* ---- rows ---- */

static bool same_rule(const struct lb_unwind_rule *a, const struct lb_unwind_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Room is kept for the row that ends a function. */
static int add_row(struct cfi_rows *rows, uint64_t vaddr,
		   const struct lb_unwind_rule *rule)
{
	int err;

	if (rows->nr && rows->items[rows->nr - 1].rule.cfa != LB_CFA_NONE &&
	    same_rule(&rows->items[rows->nr - 1].rule, rule))
		return 0;
	err = vec_grow(&rows->items, &rows->cap, rows->nr + 2, sizeof(*rows->items),
		       CFI_MAX_ROWS);
	if (err)
		return err;
	rows->stats.nr_unsupported += rule->cfa == LB_CFA_UNSUPPORTED;
	rows->items[rows->nr++] = (struct cfi_row){.vaddr = vaddr, .rule = *rule};
	return 0;
}

/* The rule holds in [from, to). */
static int emit(const struct cfi_run *run, uint64_t from, uint64_t to,
		const struct lb_unwind_rule *rule)
{
	if (from < run->lo)
		from = run->lo;
	if (to > run->hi)
		to = run->hi;
	return from < to ? add_row(run->rows, from, rule) : 0;
}

/* The state is as it is up to @vaddr, clipped to the end of the function. */
static int go_to(struct machine *m, uint64_t vaddr)
{
	struct lb_unwind_rule rule;
	int err = 0;

	if (!m->run)
		return -EBADMSG;
	if (vaddr > m->run->end)
		vaddr = m->run->end;
	if (vaddr > m->run->lo && m->vaddr < vaddr) {
		rule = cfi_rule(m->cie, &m->state);
		err = emit(m->run, m->vaddr, vaddr, &rule);
	}
	if (!err)
		m->vaddr = vaddr;
	return err;
}

static int advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes, vaddr;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) ||
	    __builtin_add_overflow(m->vaddr, bytes, &vaddr))
		vaddr = UINT64_MAX;
	return go_to(m, vaddr);
}

static int set_location(struct machine *m)
{
	uint64_t vaddr =
		cfi_get_pointer(&m->program, m->cie->pointer_encoding, m->bases, NULL);

	if (m->program.failed || vaddr < m->vaddr)
		return -EBADMSG;
	return go_to(m, vaddr);
}

/* ---- registers ---- */

/* NULL: not one that is followed. */
static struct cfi_saved *slot_of(const struct cfi_cie *cie, struct cfi_state *state,
				 uint64_t reg)
{
	if (reg == cie->ra_register)
		return &state->saved[CFI_SLOT_RA];
	if (reg == CFI_X86_FP)
		return &state->saved[CFI_SLOT_FP];
	if (reg == CFI_X86_SP)
		return &state->saved[CFI_SLOT_SP];
	return NULL;
}

static void save(struct machine *m, uint64_t reg, enum cfi_saved_kind kind, int64_t off)
{
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);

	if (slot)
		*slot = (struct cfi_saved){.kind = kind, .off = off};
}

/* @factored times the alignment; what that overflows is no offset of a frame. */
static int64_t data_offset(const struct machine *m, int64_t factored)
{
	int64_t off;

	return __builtin_mul_overflow(factored, m->cie->data_align, &off) ? INT64_MAX
									  : off;
}

static void restore(struct machine *m, uint64_t reg)
{
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);
	size_t i = slot ? (size_t)(slot - m->state.saved) : 0;

	if (slot && m->run)
		*slot = m->cie->initial.saved[i];
}

static void save_expression(struct machine *m, uint64_t reg, bool is_value)
{
	struct cfi_bytes block = cfi_get_block(&m->program, cfi_get_uleb(&m->program));
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);

	if (slot && is_value)
		*slot = (struct cfi_saved){.kind = CFI_SAVED_UNKNOWN};
	else if (slot)
		*slot = cfi_saved_expression(block);
}

/* ---- instructions ---- */

static int run_location(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_set_loc:
		return set_location(m);
	case DW_CFA_advance_loc1:
		return advance(m, cfi_get_fixed(&m->program, 1));
	case DW_CFA_advance_loc2:
		return advance(m, cfi_get_fixed(&m->program, 2));
	case DW_CFA_advance_loc4:
		return advance(m, cfi_get_fixed(&m->program, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(m, cfi_get_fixed(&m->program, 8));
	default:
		return -EBADMSG;
	}
}

static int run_cfa(struct machine *m, uint8_t op)
{
	struct cfi_bytes *b = &m->program;
	struct cfi_cfa *cfa = &m->state.cfa;
	struct cfi_cfa set = {.kind = CFI_CFA_REGISTER, .reg = cfa->reg, .off = cfa->off};

	switch (op) {
	case DW_CFA_def_cfa:
		set.reg = cfi_get_uleb(b);
		set.off = (int64_t)cfi_get_uleb(b);
		break;
	case DW_CFA_def_cfa_sf:
		set.reg = cfi_get_uleb(b);
		set.off = data_offset(m, cfi_get_sleb(b));
		break;
	case DW_CFA_def_cfa_register:
		set.reg = cfi_get_uleb(b);
		break;
	case DW_CFA_def_cfa_offset:
		set.off = (int64_t)cfi_get_uleb(b);
		break;
	case DW_CFA_def_cfa_offset_sf:
		set.off = data_offset(m, cfi_get_sleb(b));
		break;
	case DW_CFA_def_cfa_expression:
		*cfa = cfi_cfa_expression(cfi_get_block(b, cfi_get_uleb(b)));
		return 0;
	default:
		return -EBADMSG;
	}
	/* These two change a register and an offset: there have to be such. */
	if ((op != DW_CFA_def_cfa && op != DW_CFA_def_cfa_sf) &&
	    cfa->kind != CFI_CFA_REGISTER)
		set.kind = CFI_CFA_UNKNOWN;
	*cfa = set;
	return 0;
}

static int run_register(struct machine *m, uint8_t op)
{
	struct cfi_bytes *b = &m->program;
	uint64_t reg = cfi_get_uleb(b);

	switch (op) {
	case DW_CFA_offset_extended:
		save(m, reg, CFI_SAVED_AT_CFA, data_offset(m, (int64_t)cfi_get_uleb(b)));
		return 0;
	case DW_CFA_offset_extended_sf:
		save(m, reg, CFI_SAVED_AT_CFA, data_offset(m, cfi_get_sleb(b)));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		save(m, reg, CFI_SAVED_AT_CFA,
		     data_offset(m, (int64_t)(0 - cfi_get_uleb(b))));
		return 0;
	case DW_CFA_val_offset:
		save(m, reg, CFI_SAVED_IS_CFA, data_offset(m, (int64_t)cfi_get_uleb(b)));
		return 0;
	case DW_CFA_val_offset_sf:
		save(m, reg, CFI_SAVED_IS_CFA, data_offset(m, cfi_get_sleb(b)));
		return 0;
	case DW_CFA_restore_extended:
		restore(m, reg);
		return 0;
	case DW_CFA_undefined:
		save(m, reg, CFI_SAVED_UNDEFINED, 0);
		return 0;
	case DW_CFA_same_value:
		save(m, reg, CFI_SAVED_SAME, 0);
		return 0;
	case DW_CFA_register:
		cfi_get_uleb(b);
		save(m, reg, CFI_SAVED_UNKNOWN, 0);
		return 0;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		save_expression(m, reg, op == DW_CFA_val_expression);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int run_extended(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* arm64: the return address is signed from here on */
		return 0;
	case DW_CFA_GNU_args_size:
		cfi_get_uleb(&m->program);
		return 0;
	case DW_CFA_remember_state:
		if (m->nr_remembered == MAX_REMEMBERED)
			return -EBADMSG;
		m->remembered[m->nr_remembered++] = m->state;
		return 0;
	case DW_CFA_restore_state:
		if (!m->nr_remembered)
			return -EBADMSG;
		m->state = m->remembered[--m->nr_remembered];
		return 0;
	case DW_CFA_set_loc:
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
	case DW_CFA_MIPS_advance_loc8:
		return run_location(m, op);
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return run_cfa(m, op);
	default:
		return run_register(m, op);
	}
}

static int run_one(struct machine *m)
{
	uint8_t op = cfi_get_u8(&m->program), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(m, low);
	case DW_CFA_offset:
		save(m, low, CFI_SAVED_AT_CFA,
		     data_offset(m, (int64_t)cfi_get_uleb(&m->program)));
		return 0;
	case DW_CFA_restore:
		restore(m, low);
		return 0;
	default:
		return run_extended(m, op);
	}
}

/* Up to the end of the program, or where rows are not wanted any more. */
static int run_all(struct machine *m, uint64_t *steps_left)
{
	while (m->program.at < m->program.end) {
		int err;

		if (m->run && (m->vaddr >= m->run->end || m->vaddr >= m->run->hi))
			return 0;
		if (!*steps_left)
			return -EBADMSG;
		(*steps_left)--;
		err = run_one(m);
		if (err)
			return err;
		if (m->program.failed)
			return -EBADMSG;
	}
	return 0;
}

int cfi_cie_run(struct cfi_cie *cie, struct cfi_bytes program,
		const struct cfi_bases *bases, uint64_t *steps_left)
{
	struct machine m;
	int err;

	/* The states that may be remembered are not cleared: this runs for each function. */
	m.run = NULL;
	m.cie = cie;
	m.bases = bases;
	m.program = program;
	m.state = (struct cfi_state){0};
	m.nr_remembered = 0;
	m.vaddr = 0;
	err = run_all(&m, steps_left);
	if (!err)
		cie->initial = m.state;
	return err;
}

int cfi_fde_run(const struct cfi_run *run, struct cfi_bytes program)
{
	static const struct lb_unwind_rule unsupported = {.cfa = LB_CFA_UNSUPPORTED};
	uint64_t end = run->end < run->hi ? run->end : run->hi;
	size_t nr_before = run->rows->nr;
	struct machine m;
	int err;

	m.run = run;
	m.cie = run->cie;
	m.bases = run->bases;
	m.program = program;
	m.state = run->cie->initial;
	m.nr_remembered = 0;
	m.vaddr = run->start;
	err = run_all(&m, run->steps_left);
	if (!err)
		err = go_to(&m, run->end);
	if (err == -EBADMSG) {
		int r = emit(run, m.vaddr, run->end, &unsupported);

		err = r ? r : err;
	}
	if (err == -ENOSPC)
		end = m.vaddr;
	/* There is room for it: add_row() saw to that. */
	if (run->rows->nr > nr_before)
		run->rows->items[run->rows->nr++] = (struct cfi_row){.vaddr = end};
	return err;
}
