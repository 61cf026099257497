// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/program.h"

#include <errno.h>

#include "base/vec.h"

/* A state of call frame information -> what the walk does (struct lb_unwind_rule). */

/*
 * Where rsp is in the ucontext that the kernel leaves on top of the stack of a signal
 * handler's return (struct rt_sigframe; uc_mcontext.gregs[REG_RSP]).
 */
#define UCONTEXT_RSP_OFF 160

#define RA_AT_CFA_OFF    (-8) /* the call pushed it: what lies behind it is the CFA */

static bool is_signal_frame(const struct cfi_cfa *cfa)
{
	return cfa->kind == CFI_CFA_DEREF && cfa->reg == CFI_X86_SP &&
	       cfa->off == UCONTEXT_RSP_OFF && !cfa->add;
}

static enum lb_cfa_kind deref_kind(const struct cfi_cfa *cfa)
{
	if (cfa->reg == CFI_X86_FP && !cfa->add)
		return LB_CFA_DEREF_FP;
	if (cfa->reg == CFI_X86_SP && !cfa->add)
		return LB_CFA_DEREF_SP;
	if (cfa->reg == CFI_X86_FP && cfa->add == 8)
		return LB_CFA_DEREF_FP_8;
	if (cfa->reg == CFI_X86_SP && cfa->add == 8)
		return LB_CFA_DEREF_SP_8;
	return LB_CFA_UNSUPPORTED;
}

static unsigned int cfa_kind(const struct cfi_cfa *cfa)
{
	if (cfa->off != (int32_t)cfa->off)
		return LB_CFA_UNSUPPORTED;
	switch (cfa->kind) {
	case CFI_CFA_REGISTER:
		if (cfa->reg == CFI_X86_SP)
			return LB_CFA_SP;
		if (cfa->reg == CFI_X86_FP)
			return LB_CFA_FP;
		return cfa->reg < CFI_X86_NR_GENERAL ? LB_CFA_REG + (unsigned int)cfa->reg
						     : LB_CFA_UNSUPPORTED;
	case CFI_CFA_DEREF:
		return deref_kind(cfa);
	case CFI_CFA_PLT:
		return LB_CFA_PLT;
	case CFI_CFA_UNKNOWN:
		break;
	}
	return LB_CFA_UNSUPPORTED;
}

/* In @rule: its cfa is set. */
static void set_fp(const struct cfi_saved *fp, struct lb_unwind_rule *rule)
{
	int64_t off = fp->off;

	rule->fp = LB_FP_UNSUPPORTED;
	switch (fp->kind) {
	case CFI_SAVED_UNSPECIFIED: /* a callee keeps it */
	case CFI_SAVED_SAME:
		rule->fp = LB_FP_SAME;
		return;
	case CFI_SAVED_UNDEFINED:
		rule->fp = LB_FP_UNDEFINED;
		return;
	case CFI_SAVED_AT_CFA:
		rule->fp = LB_FP_AT_CFA;
		break;
	case CFI_SAVED_AT_REGISTER:
		if (fp->reg == CFI_X86_FP) {
			rule->fp = LB_FP_AT_FP;
		} else if (fp->reg == CFI_X86_SP && rule->cfa == LB_CFA_SP) {
			rule->fp = LB_FP_AT_CFA;
			if (__builtin_sub_overflow(off, (int64_t)rule->cfa_off, &off))
				off = INT64_MAX;
		}
		break;
	case CFI_SAVED_IS_CFA:
	case CFI_SAVED_UNKNOWN:
		break;
	}
	if (off != (int16_t)off)
		rule->fp = LB_FP_UNSUPPORTED;
	if (rule->fp != LB_FP_UNSUPPORTED)
		rule->fp_off = (int16_t)off;
}

/** What the walk does with @state. */
static struct lb_unwind_rule cfi_rule(const struct cfi_cie *cie,
				      const struct cfi_state *state)
{
	const struct cfi_saved *ra = &state->saved[CFI_SLOT_RA];
	const struct cfi_saved *sp = &state->saved[CFI_SLOT_SP];
	struct lb_unwind_rule rule = {.cfa = LB_CFA_UNSUPPORTED};

	if (ra->kind == CFI_SAVED_UNDEFINED)
		return (struct lb_unwind_rule){.cfa = LB_CFA_END};
	if (cie->is_signal && is_signal_frame(&state->cfa))
		return (struct lb_unwind_rule){.cfa = LB_CFA_SIGNAL};
	if (ra->kind != CFI_SAVED_AT_CFA || ra->off != RA_AT_CFA_OFF)
		return rule;
	/* The walk takes the CFA for the caller's SP. */
	if (sp->kind != CFI_SAVED_UNSPECIFIED &&
	    (sp->kind != CFI_SAVED_IS_CFA || sp->off))
		return rule;
	rule.cfa = (uint8_t)cfa_kind(&state->cfa);
	if (rule.cfa == LB_CFA_UNSUPPORTED)
		return rule;
	rule.cfa_off = (int32_t)state->cfa.off;
	set_fp(&state->saved[CFI_SLOT_FP], &rule);
	return rule;
}

/*
 * What linkers write for a PLT whose stubs are of 16 bytes: after the push at byte n of a
 * stub there is a word more on the stack.
 *	breg7(rsp) 8; breg16(rip) 0; lit15; and; lit<n>; ge; lit3; shl; plus
 */
static bool is_plt(const struct cfi_bytes *b, int64_t *ret_first_byte)
{
	static const uint8_t before[] = {DW_OP_breg7, 8,           DW_OP_breg16,
					 0,           DW_OP_lit15, DW_OP_and};
	static const uint8_t behind[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const uint8_t *p = b->at;

	if ((size_t)(b->end - p) != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(p, before, sizeof(before)) ||
	    memcmp(p + sizeof(before) + 1, behind, sizeof(behind)))
		return false;
	if (p[sizeof(before)] < DW_OP_lit0 || p[sizeof(before)] > DW_OP_lit15)
		return false;
	*ret_first_byte = p[sizeof(before)] - DW_OP_lit0;
	return true;
}

#define MAX_OPS 8 /* of an expression that is looked at */

/* breg<n> off, then additions, and one deref between them at most: else _UNKNOWN. */
static struct cfi_cfa based_on_register(struct cfi_bytes b)
{
	struct cfi_cfa cfa = {.kind = CFI_CFA_REGISTER};
	uint8_t op = cfi_get_u8(&b);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return (struct cfi_cfa){0};
	cfa.reg = op - DW_OP_breg0;
	cfa.off = cfi_get_sleb(&b);
	for (int i = 0; b.at < b.end && !b.failed; i++) {
		int64_t *sum = cfa.kind == CFI_CFA_DEREF ? &cfa.add : &cfa.off;

		op = cfi_get_u8(&b);
		if (i == MAX_OPS)
			b.failed = true;
		else if (op == DW_OP_deref && cfa.kind == CFI_CFA_REGISTER)
			cfa.kind = CFI_CFA_DEREF;
		else if (op != DW_OP_plus_uconst ||
			 __builtin_add_overflow(*sum, (int64_t)cfi_get_uleb(&b), sum))
			b.failed = true;
	}
	return b.failed ? (struct cfi_cfa){0} : cfa;
}

/** Of DW_CFA_def_cfa_expression. */
static struct cfi_cfa cfi_cfa_expression(struct cfi_bytes expression)
{
	int64_t first_byte;

	if (is_plt(&expression, &first_byte))
		return (struct cfi_cfa){.kind = CFI_CFA_PLT, .off = first_byte};
	return based_on_register(expression);
}

/** Of DW_CFA_expression: where a register was saved. */
static struct cfi_saved cfi_saved_expression(struct cfi_bytes expression)
{
	struct cfi_cfa where = based_on_register(expression);

	if (where.kind != CFI_CFA_REGISTER)
		return (struct cfi_saved){.kind = CFI_SAVED_UNKNOWN};
	return (struct cfi_saved){
		.kind = CFI_SAVED_AT_REGISTER, .reg = where.reg, .off = where.off};
}

#define MAX_REMEMBERED 16 /* states; compilers nest one or two */

/* The machine, while it runs. */
struct expression_machine {
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
static int go_to(struct expression_machine *m, uint64_t vaddr)
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

static int advance(struct expression_machine *m, uint64_t delta)
{
	uint64_t bytes, vaddr;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) ||
	    __builtin_add_overflow(m->vaddr, bytes, &vaddr))
		vaddr = UINT64_MAX;
	return go_to(m, vaddr);
}

static int set_location(struct expression_machine *m)
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

static void save(struct expression_machine *m, uint64_t reg, enum cfi_saved_kind kind,
		 int64_t off)
{
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);

	if (slot)
		*slot = (struct cfi_saved){.kind = kind, .off = off};
}

/* @factored times the alignment; what that overflows is no offset of a frame. */
static int64_t data_offset(const struct expression_machine *m, int64_t factored)
{
	int64_t off;

	return __builtin_mul_overflow(factored, m->cie->data_align, &off) ? INT64_MAX
									  : off;
}

static void restore(struct expression_machine *m, uint64_t reg)
{
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);
	size_t i = slot ? (size_t)(slot - m->state.saved) : 0;

	if (slot && m->run)
		*slot = m->cie->initial.saved[i];
}

static void save_expression(struct expression_machine *m, uint64_t reg, bool is_value)
{
	struct cfi_bytes block = cfi_get_block(&m->program, cfi_get_uleb(&m->program));
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);

	if (slot && is_value)
		*slot = (struct cfi_saved){.kind = CFI_SAVED_UNKNOWN};
	else if (slot)
		*slot = cfi_saved_expression(block);
}

/* ---- instructions ---- */

static int run_location(struct expression_machine *m, uint8_t op)
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

static int run_cfa(struct expression_machine *m, uint8_t op)
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

static int run_register(struct expression_machine *m, uint8_t op)
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

static int run_extended(struct expression_machine *m, uint8_t op)
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

static int run_one(struct expression_machine *m)
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
static int run_all(struct expression_machine *m, uint64_t *steps_left)
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
	struct expression_machine m;
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
	struct expression_machine m;
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
