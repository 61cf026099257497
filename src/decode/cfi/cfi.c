// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame information: encoded pointers, the index, the instructions that describe
 * how a frame changes, and the entries that contain them. A common entry (CIE)
 * describes how the frames of a compiler begin; the entry of a function (FDE) continues
 * from there. Only the state that the walk needs is kept.
 */
#include "decode/cfi/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "decode/dwarf/cursor.h"
#include "lineburn_unwind.h"

/* ---- pointers ---- */

/* The bases of encoded pointers (LSB 5.0, 10.5.1). */
struct cfi_bases {
	const uint8_t *bytes; /* at address vaddr */
	uint64_t vaddr;
	uint64_t text_vaddr, data_vaddr, function_vaddr;
};

static uint64_t get_value(struct cursor *b, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_signed:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_uint(b, 8);
	case DW_EH_PE_uleb128:
		return cursor_uleb(b);
	case DW_EH_PE_udata2:
		return cursor_uint(b, 2);
	case DW_EH_PE_udata4:
		return cursor_uint(b, 4);
	case DW_EH_PE_sleb128:
		return (uint64_t)cursor_sleb(b);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cursor_uint(b, 2);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cursor_uint(b, 4);
	default:
		b->failed = true;
		return 0;
	}
}

/**
 * Reads an encoded pointer.
 * @encoding  DW_EH_PE_*. Indirect ones, which need the target's memory, fail.
 * @ret_is_null  the bytes are zero: no address, whatever it is relative to; may be NULL
 */
static uint64_t cfi_get_pointer(struct cursor *b, uint8_t encoding,
				const struct cfi_bases *bases, bool *ret_is_null)
{
	uint64_t here = bases->vaddr + (uint64_t)(b->p - bases->bytes), base = 0, value;
	uint8_t relative = encoding & 0x70;

	if (relative == DW_EH_PE_aligned) { /* padded, then an address */
		cursor_block(b, -here & 7);
		relative = DW_EH_PE_absptr;
	}
	if (relative == DW_EH_PE_pcrel)
		base = here;
	else if (relative == DW_EH_PE_textrel)
		base = bases->text_vaddr;
	else if (relative == DW_EH_PE_datarel)
		base = bases->data_vaddr;
	else if (relative == DW_EH_PE_funcrel)
		base = bases->function_vaddr;
	else if (relative != DW_EH_PE_absptr)
		b->failed = true;
	if (encoding & DW_EH_PE_indirect)
		b->failed = true;
	value = get_value(b, encoding & 0x0f);
	if (ret_is_null)
		*ret_is_null = !value;
	return value + base;
}

/* ---- the index ---- */

#define ENTRY_BYTES    8
#define TABLE_ENCODING (DW_EH_PE_datarel | DW_EH_PE_sdata4)

bool cfi_index_open(const uint8_t *bytes, size_t len, uint64_t vaddr,
		    struct cfi_index *ret)
{
	struct cfi_bases bases = {.bytes = bytes, .vaddr = vaddr, .data_vaddr = vaddr};
	struct cursor b = {.p = bytes, .end = bytes + len};
	struct cfi_index index = {.vaddr = vaddr};
	uint8_t version = cursor_u8(&b), frames_encoding = cursor_u8(&b);
	uint8_t nr_encoding = cursor_u8(&b), table_encoding = cursor_u8(&b);
	uint64_t nr;

	if (b.failed || version != 1 || frames_encoding == DW_EH_PE_omit)
		return false;
	index.frames_vaddr = cfi_get_pointer(&b, frames_encoding, &bases, NULL);
	if (b.failed)
		return false;
	/* Entries of variable size cannot be searched; no linker writes them. */
	if (nr_encoding != DW_EH_PE_omit && table_encoding == TABLE_ENCODING) {
		nr = cfi_get_pointer(&b, nr_encoding, &bases, NULL);
		if (!b.failed && nr <= (size_t)(b.end - b.p) / ENTRY_BYTES) {
			index.entries = b.p;
			index.nr = nr;
		}
	}
	*ret = index;
	return true;
}

static uint64_t get(const struct cfi_index *index, size_t i, size_t at)
{
	struct cursor c = {.p = index->entries + i * ENTRY_BYTES + at};

	c.end = c.p + 4;
	return index->vaddr + (uint64_t)(int32_t)cursor_u32(&c);
}

static uint64_t index_function(const struct cfi_index *index, size_t i)
{
	return get(index, i, 0);
}

static uint64_t index_fde(const struct cfi_index *index, size_t i)
{
	return get(index, i, 4);
}

/* Returns the last entry whose function begins at or below @vaddr, or 0. */
static size_t index_find(const struct cfi_index *index, uint64_t vaddr)
{
	size_t above = SEARCH_FIRST(i, index->nr, index_function(index, i) > vaddr);

	return above ? above - 1 : 0;
}

/* ---- state to rule ---- */

/* DWARF numbers (System V ABI, AMD64 supplement, 3.6.2). */
enum cfi_x86_register {
	CFI_X86_FP = 6,
	CFI_X86_SP = 7,
	CFI_X86_NR_GENERAL = 16, /* 0..15 can be bases of a CFA */
};

enum cfi_cfa_kind {
	CFI_CFA_UNKNOWN, /* an expression of another form, or not given */
	CFI_CFA_REGISTER, /* reg + off */
	CFI_CFA_DEREF, /* *(reg + off) + add */
	CFI_CFA_PLT, /* LB_CFA_PLT; off: byte of a stub after its push */
};

struct cfi_cfa {
	enum cfi_cfa_kind kind;
	uint64_t reg; /* DWARF number */
	int64_t off, add;
};

/* Where the caller's value of a register is. */
enum cfi_saved_kind {
	CFI_SAVED_UNSPECIFIED,
	CFI_SAVED_UNDEFINED,
	CFI_SAVED_SAME,
	CFI_SAVED_AT_CFA, /* *(CFA + off) */
	CFI_SAVED_IS_CFA, /* CFA + off */
	CFI_SAVED_AT_REGISTER, /* *(reg + off) */
	CFI_SAVED_UNKNOWN, /* in another register, or an expression of another form */
};

struct cfi_saved {
	enum cfi_saved_kind kind;
	uint64_t reg;
	int64_t off;
};

/* The tracked registers. */
enum cfi_slot {
	CFI_SLOT_FP,
	CFI_SLOT_RA, /* return address: the column that the CIE names */
	CFI_SLOT_SP,
	CFI_NR_SLOTS,
};

struct cfi_state {
	struct cfi_cfa cfa;
	struct cfi_saved saved[CFI_NR_SLOTS];
};

/* A common information entry. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t pointer_encoding; /* DW_EH_PE_* of addresses in its FDEs */
	bool has_augmentation_data; /* so have its FDEs */
	bool is_signal; /* its FDEs are of a signal's return */
	struct cfi_state initial;
};

/*
 * Offset of rsp in the ucontext that is on top of the stack when a signal handler
 * returns (struct rt_sigframe; uc_mcontext.gregs[REG_RSP]).
 */
#define UCONTEXT_RSP_OFF 160

#define RA_AT_CFA_OFF    (-8) /* the call pushed it, just below the CFA */

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

/* Sets the FP part of @rule, whose cfa is set. */
static void set_fp(const struct cfi_saved *fp, struct lb_unwind_rule *rule)
{
	int64_t off = fp->off;

	rule->fp = LB_FP_UNSUPPORTED;
	switch (fp->kind) {
	case CFI_SAVED_UNSPECIFIED: /* FP is callee-saved */
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

/** Returns the rule for @state. */
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
	/* The walk uses the CFA as the caller's SP. */
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
 * Is it the expression that linkers write for a PLT with stubs of 16 bytes? After the
 * push at byte n of a stub, one more word is on the stack.
 *	breg7(rsp) 8; breg16(rip) 0; lit15; and; lit<n>; ge; lit3; shl; plus
 */
static bool is_plt(const struct cursor *b, int64_t *ret_first_byte)
{
	static const uint8_t before[] = {DW_OP_breg7, 8,           DW_OP_breg16,
					 0,           DW_OP_lit15, DW_OP_and};
	static const uint8_t behind[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const uint8_t *p = b->p;
	uint64_t literal;

	if ((size_t)(b->end - p) != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(p, before, sizeof(before)) ||
	    memcmp(p + sizeof(before) + 1, behind, sizeof(behind)))
		return false;
	literal = cursor_once(p[sizeof(before)]);
	if (literal < DW_OP_lit0 || literal > DW_OP_lit15)
		return false;
	*ret_first_byte = (int64_t)literal - DW_OP_lit0;
	return true;
}

#define MAX_OPS 8 /* of an expression; more are not read */

/* Reads breg<n> off, then additions and at most one deref; else CFI_CFA_UNKNOWN. */
static struct cfi_cfa based_on_register(struct cursor b)
{
	struct cfi_cfa cfa = {.kind = CFI_CFA_REGISTER};
	uint8_t op = cursor_u8(&b);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return (struct cfi_cfa){0};
	cfa.reg = op - DW_OP_breg0;
	cfa.off = cursor_sleb(&b);
	for (int i = 0; b.p < b.end && !b.failed; i++) {
		int64_t *sum = cfa.kind == CFI_CFA_DEREF ? &cfa.add : &cfa.off;

		op = cursor_u8(&b);
		if (i == MAX_OPS)
			b.failed = true;
		else if (op == DW_OP_deref && cfa.kind == CFI_CFA_REGISTER)
			cfa.kind = CFI_CFA_DEREF;
		else if (op != DW_OP_plus_uconst ||
			 __builtin_add_overflow(*sum, (int64_t)cursor_uleb(&b), sum))
			b.failed = true;
	}
	return b.failed ? (struct cfi_cfa){0} : cfa;
}

/** Reads the operand of DW_CFA_def_cfa_expression. */
static struct cfi_cfa cfi_cfa_expression(struct cursor expression)
{
	int64_t first_byte;

	if (is_plt(&expression, &first_byte))
		return (struct cfi_cfa){.kind = CFI_CFA_PLT, .off = first_byte};
	return based_on_register(expression);
}

/** Reads the operand of DW_CFA_expression: where a register was saved. */
static struct cfi_saved cfi_saved_expression(struct cursor expression)
{
	struct cfi_cfa where = based_on_register(expression);

	if (where.kind != CFI_CFA_REGISTER)
		return (struct cfi_saved){.kind = CFI_SAVED_UNKNOWN};
	return (struct cfi_saved){
		.kind = CFI_SAVED_AT_REGISTER, .reg = where.reg, .off = where.off};
}

#define MAX_REMEMBERED       16 /* states; compilers nest one or two */

#define NR_KEPT_CIES         8 /* a power of two; most files have less than four */
#define MAX_AUGMENTATION_LEN 8

struct kept_cie {
	size_t offset;
	bool is_set, is_valid;
	struct cfi_cie cie;
};

/* Reads the entries of one section. */
struct reader {
	const struct cfi_section *section;
	struct cfi_bases bases; /* function_vaddr: of the current FDE */
	uint64_t lo, hi; /* rows are made of [lo, hi) only */
	uint64_t *steps_left; /* one is taken by each instruction and entry */
	/* Of each function in order of vaddr, ended by {LB_CFA_NONE}. */
	struct cfi_rows *rows;
	struct kept_cie cies[NR_KEPT_CIES]; /* by a hash of their offset */
};

/* Interpreter of the instructions. */
struct cfi_machine {
	struct reader *reader;
	const struct cfi_cie *cie;
	struct cursor program;
	struct cfi_state state;
	struct cfi_state remembered[MAX_REMEMBERED];
	size_t nr_remembered;
	uint64_t vaddr; /* the state holds from here on */
	uint64_t start, end; /* of the function; 0: initial instructions, at no address */
};

/* ---- instructions: rows ---- */

/* Adds a row for [from, to). Keeps room for the row that ends the function. */
static int emit(struct reader *r, uint64_t from, uint64_t to,
		const struct lb_unwind_rule *rule)
{
	struct cfi_rows *rows = r->rows;
	const struct cfi_row *last = rows->nr ? &rows->items[rows->nr - 1] : NULL;
	int err;

	if (from < r->lo)
		from = r->lo;
	if (to > r->hi)
		to = r->hi;
	if (from >= to || (last && last->rule.cfa != LB_CFA_NONE &&
			   !memcmp(&last->rule, rule, sizeof(*rule))))
		return 0;
	err = vec_grow(&rows->items, &rows->cap, rows->nr + 2, sizeof(*rows->items),
		       CFI_MAX_ROWS);
	if (err)
		return err;
	rows->items[rows->nr++] = (struct cfi_row){.vaddr = from, .rule = *rule};
	return 0;
}

/* Is the return address on top of the stack, as behind a call? */
static bool is_behind_call(const struct cfi_cfa *cfa)
{
	return cfa->kind == CFI_CFA_REGISTER && cfa->reg == CFI_X86_SP &&
	       cfa->off == -RA_AT_CFA_OFF;
}

/* Does the rule lead to a caller? */
static bool has_caller(const struct lb_unwind_rule *rule)
{
	return rule->cfa != LB_CFA_END && rule->cfa != LB_CFA_SIGNAL &&
	       rule->cfa != LB_CFA_UNSUPPORTED;
}

/* Adds the row of the state up to @vaddr, or the function's end, and moves there. */
static int go_to(struct cfi_machine *m, uint64_t vaddr)
{
	struct lb_unwind_rule rule;
	int err = 0;

	if (!m->end)
		return -EBADMSG;
	if (vaddr > m->end)
		vaddr = m->end;
	if (vaddr > m->reader->lo && m->vaddr < vaddr) {
		rule = cfi_rule(m->cie, &m->state);
		if (m->vaddr == m->start && vaddr == m->end &&
		    !is_behind_call(&m->state.cfa) && has_caller(&rule))
			rule.fp |= LB_FP_UNCALLED;
		err = emit(m->reader, m->vaddr, vaddr, &rule);
	}
	if (!err)
		m->vaddr = vaddr;
	return err;
}

static int advance(struct cfi_machine *m, uint64_t delta)
{
	uint64_t bytes, vaddr;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) ||
	    __builtin_add_overflow(m->vaddr, bytes, &vaddr))
		vaddr = UINT64_MAX;
	return go_to(m, vaddr);
}

static int set_location(struct cfi_machine *m)
{
	uint64_t vaddr = cfi_get_pointer(&m->program, m->cie->pointer_encoding,
					 &m->reader->bases, NULL);

	if (m->program.failed || vaddr < m->vaddr)
		return -EBADMSG;
	return go_to(m, vaddr);
}

/* ---- instructions: registers ---- */

/* Returns the slot of a register; NULL: it is not tracked. */
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

static void save(struct cfi_machine *m, uint64_t reg, enum cfi_saved_kind kind,
		 int64_t off)
{
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);

	if (slot)
		*slot = (struct cfi_saved){.kind = kind, .off = off};
}

/* @factored times the alignment; INT64_MAX, which no frame has, on overflow. */
static int64_t data_offset(const struct cfi_machine *m, int64_t factored)
{
	int64_t off;

	return __builtin_mul_overflow(factored, m->cie->data_align, &off) ? INT64_MAX
									  : off;
}

static void restore(struct cfi_machine *m, uint64_t reg)
{
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);
	size_t i = slot ? (size_t)(slot - m->state.saved) : 0;

	if (slot && m->end)
		*slot = m->cie->initial.saved[i];
}

static void save_expression(struct cfi_machine *m, uint64_t reg, bool is_value)
{
	struct cursor block = cursor_block(&m->program, cursor_uleb(&m->program));
	struct cfi_saved *slot = slot_of(m->cie, &m->state, reg);

	if (slot && is_value)
		*slot = (struct cfi_saved){.kind = CFI_SAVED_UNKNOWN};
	else if (slot)
		*slot = cfi_saved_expression(block);
}

/* ---- instructions ---- */

static int run_cfa(struct cfi_machine *m, uint8_t op)
{
	struct cursor *b = &m->program;
	struct cfi_cfa *cfa = &m->state.cfa;
	struct cfi_cfa set = {.kind = CFI_CFA_REGISTER, .reg = cfa->reg, .off = cfa->off};

	switch (op) {
	case DW_CFA_def_cfa:
		set.reg = cursor_uleb(b);
		set.off = (int64_t)cursor_uleb(b);
		break;
	case DW_CFA_def_cfa_sf:
		set.reg = cursor_uleb(b);
		set.off = data_offset(m, cursor_sleb(b));
		break;
	case DW_CFA_def_cfa_register:
		set.reg = cursor_uleb(b);
		break;
	case DW_CFA_def_cfa_offset:
		set.off = (int64_t)cursor_uleb(b);
		break;
	case DW_CFA_def_cfa_offset_sf:
		set.off = data_offset(m, cursor_sleb(b));
		break;
	case DW_CFA_def_cfa_expression:
		*cfa = cfi_cfa_expression(cursor_block(b, cursor_uleb(b)));
		return 0;
	default:
		return -EBADMSG;
	}
	/* Changing only the register or only the offset requires a CFA of that form. */
	if ((op != DW_CFA_def_cfa && op != DW_CFA_def_cfa_sf) &&
	    cfa->kind != CFI_CFA_REGISTER)
		set.kind = CFI_CFA_UNKNOWN;
	*cfa = set;
	return 0;
}

static int run_register(struct cfi_machine *m, uint8_t op)
{
	struct cursor *b = &m->program;
	uint64_t reg = cursor_uleb(b);

	switch (op) {
	case DW_CFA_offset_extended:
		save(m, reg, CFI_SAVED_AT_CFA, data_offset(m, (int64_t)cursor_uleb(b)));
		return 0;
	case DW_CFA_offset_extended_sf:
		save(m, reg, CFI_SAVED_AT_CFA, data_offset(m, cursor_sleb(b)));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		save(m, reg, CFI_SAVED_AT_CFA,
		     data_offset(m, (int64_t)(0 - cursor_uleb(b))));
		return 0;
	case DW_CFA_val_offset:
		save(m, reg, CFI_SAVED_IS_CFA, data_offset(m, (int64_t)cursor_uleb(b)));
		return 0;
	case DW_CFA_val_offset_sf:
		save(m, reg, CFI_SAVED_IS_CFA, data_offset(m, cursor_sleb(b)));
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
		cursor_uleb(b);
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

static int run_extended(struct cfi_machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* arm64: the return address is signed from here on */
		return 0;
	case DW_CFA_GNU_args_size:
		cursor_uleb(&m->program);
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
		return set_location(m);
	case DW_CFA_advance_loc1:
		return advance(m, cursor_uint(&m->program, 1));
	case DW_CFA_advance_loc2:
		return advance(m, cursor_uint(&m->program, 2));
	case DW_CFA_advance_loc4:
		return advance(m, cursor_uint(&m->program, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(m, cursor_uint(&m->program, 8));
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

static int run_one(struct cfi_machine *m)
{
	uint8_t op = cursor_u8(&m->program), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(m, low);
	case DW_CFA_offset:
		save(m, low, CFI_SAVED_AT_CFA,
		     data_offset(m, (int64_t)cursor_uleb(&m->program)));
		return 0;
	case DW_CFA_restore:
		restore(m, low);
		return 0;
	default:
		return run_extended(m, op);
	}
}

/* Runs to the end of the program, or to the end of the wanted range. */
static int run_all(struct cfi_machine *m)
{
	uint64_t *steps_left = m->reader->steps_left;
	uint64_t end = m->end && m->end < m->reader->hi ? m->end : m->reader->hi;

	while (m->program.p < m->program.end) {
		int err;

		if (m->end && m->vaddr >= end)
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

/* Does not clear the remembered states, because it runs for each function. */
static void machine_init(struct cfi_machine *m, struct reader *r,
			 const struct cfi_cie *cie, struct cursor program)
{
	m->reader = r;
	m->cie = cie;
	m->program = program;
	m->state = cie->initial;
	m->nr_remembered = 0;
	m->vaddr = m->start = m->end = 0;
}

/*
 * Runs the initial instructions @program and sets cie->initial.
 * Return: 0 or -EBADMSG, also when the steps run out.
 */
static int cfi_cie_run(struct reader *r, struct cfi_cie *cie, struct cursor program)
{
	struct cfi_machine m;
	int err;

	machine_init(&m, r, cie, program);
	err = run_all(&m);
	if (!err)
		cie->initial = m.state;
	return err;
}

/*
 * Adds the rows of the FDE of [start, end). After an invalid instruction, or the last
 * step, the rest of the function is LB_CFA_UNSUPPORTED.
 * Return: 0, -EBADMSG (rows are added), -ENOSPC (over CFI_MAX_ROWS), -ENOMEM.
 */
static int cfi_fde_run(struct reader *r, const struct cfi_cie *cie, uint64_t start,
		       uint64_t end, struct cursor program)
{
	static const struct lb_unwind_rule unsupported = {.cfa = LB_CFA_UNSUPPORTED};
	uint64_t last = end < r->hi ? end : r->hi;
	size_t nr_before = r->rows->nr;
	struct cfi_machine m;
	int err;

	machine_init(&m, r, cie, program);
	m.vaddr = m.start = start;
	m.end = end;
	err = run_all(&m);
	if (!err)
		err = go_to(&m, end);
	if (err == -EBADMSG) {
		int added = emit(r, m.vaddr, end, &unsupported);

		err = added ? added : err;
	}
	if (err == -ENOSPC)
		last = m.vaddr;
	/* emit() has kept room for this row. */
	if (r->rows->nr > nr_before)
		r->rows->items[r->rows->nr++] = (struct cfi_row){.vaddr = last};
	return err;
}

/* ---- entries ---- */

static void reader_init(struct reader *r, const struct cfi_section *section, uint64_t lo,
			uint64_t hi, uint64_t *steps_left, struct cfi_rows *rows)
{
	r->section = section;
	r->bases = (struct cfi_bases){.bytes = section->bytes,
				      .vaddr = section->vaddr,
				      .text_vaddr = section->text_vaddr,
				      .data_vaddr = section->data_vaddr};
	r->lo = lo;
	r->hi = hi;
	r->steps_left = steps_left;
	r->rows = rows;
	for (size_t i = 0; i < NR_KEPT_CIES; i++)
		r->cies[i].is_set = false;
}

static bool take_step(struct reader *r)
{
	if (!*r->steps_left) {
		r->rows->stats.is_cut = true;
		return false;
	}
	(*r->steps_left)--;
	return true;
}

struct cfi_entry {
	struct cursor body; /* after its id */
	size_t next_offset;
	bool is_cie;
	size_t cie_offset; /* of an FDE; not checked */
};

/*
 * Return: 0; -EBADMSG; -ENODATA: length 0, an entry without a body, which ends the
 * section or the part of it that one object file contributed.
 */
static int entry_read(const struct cfi_section *section, size_t offset,
		      struct cfi_entry *ret)
{
	struct cursor b = {.p = section->bytes + offset,
			   .end = section->bytes + section->len};
	uint64_t len = cursor_uint(&b, 4), id, cie_id = 0;
	size_t id_bytes = 4, id_offset;

	if (len == UINT32_MAX) { /* 64-bit format; ids in .eh_frame keep 4 bytes */
		len = cursor_uint(&b, 8);
		id_bytes = section->is_debug_frame ? 8 : 4;
	}
	if (b.failed)
		return -EBADMSG;
	b = cursor_block(&b, len);
	if ((size_t)(b.end - b.p) < len)
		return -EBADMSG;
	*ret = (struct cfi_entry){.next_offset = (size_t)(b.end - section->bytes)};
	if (!len)
		return -ENODATA;
	id_offset = (size_t)(b.p - section->bytes);
	id = cursor_uint(&b, id_bytes);
	if (section->is_debug_frame)
		cie_id = id_bytes == 8 ? UINT64_MAX : UINT32_MAX;
	ret->body = b;
	ret->is_cie = id == cie_id;
	ret->cie_offset = section->is_debug_frame ? id : id_offset - id;
	return 0;
}

/* ---- common entries ---- */

/* Reads what belongs to a letter of the augmentation (LSB 5.0, 10.6.1.1.1). */
static bool read_letter(char letter, struct cursor *data, const struct cfi_bases *bases,
			struct cfi_cie *cie)
{
	switch (letter) {
	case 'R':
		cie->pointer_encoding = cursor_u8(data);
		return true;
	case 'P': { /* the personality; its pointer is often indirect, and not used */
		uint8_t encoding = cursor_u8(data);

		cfi_get_pointer(data, encoding & (uint8_t)~DW_EH_PE_indirect, bases,
				NULL);
		return true;
	}
	case 'L':
		cursor_u8(data);
		return true;
	case 'S':
		cie->is_signal = true;
		return true;
	case 'B': /* arm64: addresses are signed with key B, or memory is tagged */
	case 'G':
		return true;
	default:
		return false;
	}
}

static bool read_augmentation(const char *letters, struct cursor *b,
			      const struct cfi_bases *bases, struct cfi_cie *cie)
{
	struct cursor data;

	if (*letters != 'z')
		return !*letters || !strcmp(letters, "eh");
	cie->has_augmentation_data = true;
	data = cursor_block(b, cursor_uleb(b));
	while (*++letters)
		if (!read_letter(*letters, &data, bases, cie))
			return false;
	return !data.failed;
}

static bool read_letters(struct cursor *b, char ret[MAX_AUGMENTATION_LEN + 1])
{
	for (size_t i = 0; i <= MAX_AUGMENTATION_LEN; i++) {
		ret[i] = (char)cursor_u8(b);
		if (!ret[i])
			return !b->failed;
	}
	return false;
}

static bool read_cie(struct reader *r, size_t offset, struct cfi_cie *ret)
{
	char letters[MAX_AUGMENTATION_LEN + 1];
	struct cursor *b;
	struct cfi_entry entry;
	uint8_t version;

	*ret = (struct cfi_cie){.pointer_encoding = DW_EH_PE_absptr};
	if (offset >= r->section->len || entry_read(r->section, offset, &entry) ||
	    !entry.is_cie)
		return false;
	b = &entry.body;
	version = cursor_u8(b);
	if ((version != 1 && version != 3 && version != 4) || !read_letters(b, letters))
		return false;
	if (!strcmp(letters, "eh")) /* of old compilers: an address */
		cursor_uint(b, 8);
	/* Address size and segment selector size: compilers write only 8 and 0. */
	if (version == 4 && (cursor_u8(b) != 8 || cursor_u8(b)))
		return false;
	ret->code_align = cursor_uleb(b);
	ret->data_align = cursor_sleb(b);
	ret->ra_register = version == 1 ? cursor_u8(b) : cursor_uleb(b);
	if (!read_augmentation(letters, b, &r->bases, ret) || b->failed)
		return false;
	return !cfi_cie_run(r, ret, *b);
}

/* NULL: malformed. */
static const struct cfi_cie *find_cie(struct reader *r, size_t offset)
{
	size_t hash = (offset >> 2 ^ offset >> 5 ^ offset >> 11) & (NR_KEPT_CIES - 1);
	struct kept_cie *kept = &r->cies[hash];

	if (!kept->is_set || kept->offset != offset) {
		kept->is_set = true;
		kept->offset = offset;
		kept->is_valid = read_cie(r, offset, &kept->cie);
		r->rows->stats.nr_malformed += !kept->is_valid;
	}
	return kept->is_valid ? &kept->cie : NULL;
}

/* ---- functions ---- */

/* Reads the length of a function: unsigned, even if the pointers' format is signed. */
static uint64_t get_length(struct cursor *b, uint8_t encoding,
			   const struct cfi_bases *bases)
{
	uint64_t len = cfi_get_pointer(b, encoding & 0x0f, bases, NULL);

	if ((encoding & 0x07) == DW_EH_PE_udata4)
		return (uint32_t)len;
	return (encoding & 0x07) == DW_EH_PE_udata2 ? (uint16_t)len : len;
}

/*
 * Did the linker drop the function? Then its FDE has an address of zero. A
 * text-relative zero is valid: the first function of the text.
 */
static bool is_dropped(uint8_t encoding, bool is_null)
{
	return is_null && (encoding & 0x70) != DW_EH_PE_textrel;
}

/* Return: 0, -EBADMSG, -ENOSPC, -ENOMEM. */
static int read_fde(struct reader *r, struct cfi_entry *entry)
{
	const struct cfi_cie *cie;
	struct cursor *b = &entry->body;
	uint64_t start, end;
	bool is_null;

	r->bases.function_vaddr = 0;
	cie = find_cie(r, entry->cie_offset);
	if (!cie)
		return -EBADMSG;
	start = cfi_get_pointer(b, cie->pointer_encoding, &r->bases, &is_null);
	end = start + get_length(b, cie->pointer_encoding, &r->bases);
	if (cie->has_augmentation_data)
		cursor_block(b, cursor_uleb(b));
	if (b->failed || end < start)
		return -EBADMSG;
	if (is_dropped(cie->pointer_encoding, is_null) || start >= r->hi ||
	    end <= r->lo || start == end)
		return 0;
	r->bases.function_vaddr = start;
	r->rows->stats.nr_fdes++;
	return cfi_fde_run(r, cie, start, end, *b);
}

/* Return: 0; -ENODATA: over CFI_MAX_ROWS, stop; -ENOMEM. */
static int read_entry(struct reader *r, struct cfi_entry *entry)
{
	int err = entry->is_cie ? 0 : read_fde(r, entry);

	if (err == -EBADMSG) {
		r->rows->stats.nr_malformed++;
		r->rows->stats.is_cut |= !*r->steps_left;
	}
	if (err == -ENOSPC) {
		r->rows->stats.is_cut = true;
		return -ENODATA;
	}
	return err == -ENOMEM ? err : 0;
}

int cfi_read(const struct cfi_section *section, uint64_t lo, uint64_t hi,
	     uint64_t *steps_left, struct cfi_rows *rows)
{
	struct cfi_entry entry;
	struct reader r;
	int err = 0;

	reader_init(&r, section, lo, hi, steps_left, rows);
	for (size_t offset = 0; section->len - offset >= 4 && take_step(&r);) {
		err = entry_read(section, offset, &entry);
		if (err == -EBADMSG) { /* the start of the next entry is unknown */
			rows->stats.nr_malformed++;
			return 0;
		}
		err = err ? 0 : read_entry(&r, &entry);
		if (err)
			break;
		offset = entry.next_offset;
	}
	return err == -ENOMEM ? err : 0;
}

int cfi_read_indexed(const struct cfi_section *section, const struct cfi_index *index,
		     uint64_t lo, uint64_t hi, uint64_t *steps_left,
		     struct cfi_rows *rows)
{
	struct cfi_entry entry;
	struct reader r;
	int err = 0;

	reader_init(&r, section, lo, hi, steps_left, rows);
	for (size_t i = index_find(index, lo); !err && i < index->nr; i++) {
		uint64_t offset = index_fde(index, i) - section->vaddr;

		if (index_function(index, i) >= hi || !take_step(&r))
			break;
		if (offset >= section->len || entry_read(section, offset, &entry) ||
		    entry.is_cie)
			rows->stats.nr_malformed++;
		else
			err = read_entry(&r, &entry);
	}
	return err == -ENOMEM ? err : 0;
}
