// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/functions.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/cfi/file.h"

/*
 * A function is entered with the return address on top of the stack, and each
 * instruction changes SP in a known way. So we follow the stack from the entry along
 * all jumps. Each instruction is visited once, because compilers reach a place with the
 * same stack on all paths. Code that is reached by a jump table only begins with the
 * stack at the jump.
 */

#define NO_INSTRUCTION UINT32_MAX

#define BYTES_PER_STEP 16 /* of code that is searched, or made room for */

/* State of the frame before an instruction. */
struct stack {
	bool is_known;
	bool has_fp; /* CFA = FP + fp_off */
	bool has_sp; /* CFA = SP + sp_off */
	uint8_t kept; /* CFA = this register (DWARF number) + kept_off; 0: none */
	int32_t sp_off, fp_off, kept_off;
	int32_t fp_saved_off; /* caller's FP is at CFA + this; 0: it is still in FP */
};

/* Effect of an instruction on the frame. */
enum effect {
	EFFECT_NONE,
	EFFECT_PUSH,
	EFFECT_PUSH_FP,
	EFFECT_POP,
	EFFECT_POP_FP,
	EFFECT_ADD, /* SP += amount */
	EFFECT_SP_FROM_FP, /* SP = FP + amount */
	EFFECT_FP_FROM_SP, /* FP = SP + amount */
	EFFECT_LEAVE,
	EFFECT_KEEP_SP, /* reg = SP */
	EFFECT_SP_FROM_KEPT, /* SP = reg */
	EFFECT_LOSE_SP, /* SP changes by an unknown amount */
};

enum flow {
	FLOW_ON,
	FLOW_BRANCH, /* or to target */
	FLOW_JUMP, /* to target */
	FLOW_TABLE, /* indirect, within the function or out of it */
	FLOW_END,
};

struct decoded_instruction {
	uint32_t at; /* from the function's beginning */
	uint32_t target; /* same */
	int32_t amount;
	uint8_t effect, flow; /* enums above */
	uint8_t reg; /* of KEEP_SP and SP_FROM_KEPT: DWARF number */
	uint8_t writes; /* callee-saved register that it changes; 0: none */
	struct stack stack;
};

struct function_code {
	struct decoded_instruction *items;
	size_t nr, cap;
	uint8_t *code; /* a copy, because capstone may read a byte twice (cursor.h) */
	uint32_t *at_byte; /* of each byte: the instruction that begins there */
	uint32_t *todo; /* known stack, but successors not yet visited */
	size_t nr_todo;
};

static void function_deinit(struct function_code *f)
{
	free(f->items);
	free(f->code);
	free(f->at_byte);
	free(f->todo);
}

/* ---- effects of instructions ---- */

static bool is_reg(const cs_x86_op *op, x86_reg reg)
{
	return op->type == X86_OP_REG && op->reg == reg;
}

/* [@base + disp], without an index. */
static bool is_at(const cs_x86_op *op, x86_reg base)
{
	return op->type == X86_OP_MEM && op->mem.base == base &&
	       op->mem.index == X86_REG_INVALID && op->mem.disp == (int32_t)op->mem.disp;
}

static bool is_imm32(const cs_x86_op *op)
{
	return op->type == X86_OP_IMM && op->imm == (int32_t)op->imm &&
	       op->imm != INT32_MIN;
}

/*
 * Returns the DWARF number of a callee-saved register, also if @op is a part of it; 0:
 * not a callee-saved register.
 */
static uint8_t kept_register(const cs_x86_op *op)
{
	static const struct {
		x86_reg parts[5];
		uint8_t number;
	} kept[] = {
		{{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH}, 3},
		{{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B}, 12},
		{{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B}, 13},
		{{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B}, 14},
		{{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B}, 15},
	};

	if (op->type != X86_OP_REG || op->reg == X86_REG_INVALID)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		for (size_t k = 0; k < ARRAY_SIZE(kept[i].parts); k++)
			if (op->reg == kept[i].parts[k])
				return kept[i].number;
	return 0;
}

/* Effect of an instruction whose first operand is SP. */
static enum effect effect_on_sp(unsigned int id, const cs_x86 *x, int32_t *amount)
{
	const cs_x86_op *from = &x->operands[1];

	if (id == X86_INS_CMP || id == X86_INS_TEST)
		return EFFECT_NONE;
	if (x->op_count != 2)
		return EFFECT_LOSE_SP;
	if ((id == X86_INS_ADD || id == X86_INS_SUB) && is_imm32(from)) {
		*amount = (int32_t)(id == X86_INS_ADD ? from->imm : -from->imm);
		return EFFECT_ADD;
	}
	if (id == X86_INS_MOV && is_reg(from, X86_REG_RBP))
		return EFFECT_SP_FROM_FP;
	if (id == X86_INS_MOV && from->size == 8 && kept_register(from))
		return EFFECT_SP_FROM_KEPT;
	if (id == X86_INS_LEA && is_at(from, X86_REG_RSP)) {
		*amount = (int32_t)from->mem.disp;
		return EFFECT_ADD;
	}
	if (id == X86_INS_LEA && is_at(from, X86_REG_RBP)) {
		*amount = (int32_t)from->mem.disp;
		return EFFECT_SP_FROM_FP;
	}
	return EFFECT_LOSE_SP;
}

static enum effect effect_of(const cs_insn *insn, int32_t *amount)
{
	const cs_x86 *x = &insn->detail->x86;
	const cs_x86_op *to = &x->operands[0], *from = &x->operands[1];

	switch (insn->id) {
	case X86_INS_PUSH:
		if (to->size != 8)
			return EFFECT_LOSE_SP;
		return is_reg(to, X86_REG_RBP) ? EFFECT_PUSH_FP : EFFECT_PUSH;
	case X86_INS_POP:
		if (to->size != 8)
			return EFFECT_LOSE_SP;
		return is_reg(to, X86_REG_RBP) ? EFFECT_POP_FP : EFFECT_POP;
	case X86_INS_PUSHFQ:
		return EFFECT_PUSH;
	case X86_INS_POPFQ:
		return EFFECT_POP;
	case X86_INS_LEAVE:
		return EFFECT_LEAVE;
	default:
		break;
	}
	if (!x->op_count)
		return EFFECT_NONE;
	if (is_reg(to, X86_REG_RSP) || is_reg(to, X86_REG_ESP))
		return effect_on_sp(insn->id, x, amount);
	if (is_reg(to, X86_REG_RBP) && x->op_count == 2) {
		if (insn->id == X86_INS_MOV && is_reg(from, X86_REG_RSP))
			return EFFECT_FP_FROM_SP;
		if (insn->id == X86_INS_LEA && is_at(from, X86_REG_RSP)) {
			*amount = (int32_t)from->mem.disp;
			return EFFECT_FP_FROM_SP;
		}
	}
	if (insn->id == X86_INS_MOV && x->op_count == 2 && is_reg(from, X86_REG_RSP) &&
	    kept_register(to))
		return EFFECT_KEEP_SP;
	return EFFECT_NONE;
}

static void set_registers(const cs_insn *insn, struct decoded_instruction *i)
{
	const cs_x86 *x = &insn->detail->x86;

	if (i->effect == EFFECT_SP_FROM_KEPT)
		i->reg = kept_register(&x->operands[1]);
	for (uint8_t k = 0; k < x->op_count; k++)
		if (x->operands[k].access & CS_AC_WRITE && kept_register(&x->operands[k]))
			i->writes = kept_register(&x->operands[k]);
	if (i->effect == EFFECT_KEEP_SP) {
		i->reg = i->writes;
		i->writes = 0;
	}
}

/* @len  of the function */
static void set_flow(const cs_insn *insn, size_t len, struct decoded_instruction *ret)
{
	const cs_detail *detail = insn->detail;
	const cs_x86_op *to = &detail->x86.operands[0];
	bool is_jump = false, is_direct;

	for (uint8_t i = 0; i < detail->groups_count; i++) {
		is_jump |= detail->groups[i] == X86_GRP_JUMP;
		if (detail->groups[i] == X86_GRP_RET)
			ret->flow = FLOW_END;
	}
	if (insn->id == X86_INS_UD2 || insn->id == X86_INS_HLT ||
	    insn->id == X86_INS_INT3)
		ret->flow = FLOW_END;
	if (!is_jump)
		return;
	is_direct = detail->x86.op_count == 1 && to->type == X86_OP_IMM;
	ret->target = is_direct && (uint64_t)to->imm < len ? (uint32_t)to->imm
							   : NO_INSTRUCTION;
	/* A jump to the next instruction is unrelocated, to another function. */
	if (is_direct && (uint64_t)to->imm == insn->address + insn->size)
		ret->target = NO_INSTRUCTION;
	if (insn->id != X86_INS_JMP)
		ret->flow = FLOW_BRANCH;
	else
		ret->flow = is_direct ? FLOW_JUMP : FLOW_TABLE;
}

static int decode(struct function_code *f, size_t len, uint64_t *steps_left)
{
	const uint8_t *code = f->code;
	csh handle;
	cs_insn *insn;
	uint64_t at = 0;
	size_t left = len;
	int err = 0;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(handle);
	while (insn && !err && *steps_left >= CODE_FRAMES_STEPS &&
	       cs_disasm_iter(handle, &code, &left, &at, insn)) {
		struct decoded_instruction *i;

		*steps_left -= CODE_FRAMES_STEPS;
		err = vec_grow(&f->items, &f->cap, f->nr + 1, sizeof(*f->items), 0);
		if (err)
			break;
		i = &f->items[f->nr];
		*i = (struct decoded_instruction){.at = (uint32_t)insn->address};
		i->effect = (uint8_t)effect_of(insn, &i->amount);
		set_registers(insn, i);
		set_flow(insn, len, i);
		f->at_byte[i->at] = (uint32_t)f->nr++;
	}
	if (!insn)
		err = -ENOMEM;
	else
		cs_free(insn, 1);
	cs_close(&handle);
	return err;
}

/* ---- the stack along the control flow ---- */

static void take_from_fp(struct stack *s, int32_t amount)
{
	s->has_sp = s->has_fp && !__builtin_sub_overflow(s->fp_off, amount, &s->sp_off);
}

static void move_sp(struct stack *s, int32_t amount)
{
	if (__builtin_sub_overflow(s->sp_off, amount, &s->sp_off))
		s->has_sp = false;
}

static void give_fp_back(struct stack *s)
{
	s->has_fp = false;
	s->fp_saved_off = 0;
	move_sp(s, 8);
}

/* The stack after @i. */
static struct stack stack_after(const struct decoded_instruction *i)
{
	struct stack s = i->stack;

	switch ((enum effect)i->effect) {
	case EFFECT_NONE:
		break;
	case EFFECT_PUSH_FP:
	case EFFECT_PUSH:
		move_sp(&s, -8);
		if (i->effect == EFFECT_PUSH_FP && !s.fp_saved_off && s.has_sp)
			s.fp_saved_off = -s.sp_off;
		break;
	case EFFECT_POP:
		move_sp(&s, 8);
		break;
	case EFFECT_POP_FP:
		give_fp_back(&s);
		break;
	case EFFECT_ADD:
		move_sp(&s, i->amount);
		break;
	case EFFECT_SP_FROM_FP:
		take_from_fp(&s, i->amount);
		break;
	case EFFECT_LEAVE:
		take_from_fp(&s, 0);
		give_fp_back(&s);
		break;
	case EFFECT_FP_FROM_SP:
		s.has_fp = s.has_sp &&
			   !__builtin_sub_overflow(s.sp_off, i->amount, &s.fp_off);
		break;
	case EFFECT_KEEP_SP:
		if (s.has_sp) {
			s.kept = i->reg;
			s.kept_off = s.sp_off;
		}
		break;
	case EFFECT_SP_FROM_KEPT:
		s.has_sp = s.kept == i->reg;
		s.sp_off = s.kept_off;
		break;
	case EFFECT_LOSE_SP:
		s.has_sp = false;
		break;
	}
	if (i->writes && i->writes == s.kept)
		s.kept = 0;
	return s;
}

static void reach(struct function_code *f, uint32_t i, const struct stack *stack)
{
	if (i >= f->nr || f->items[i].stack.is_known)
		return;
	f->items[i].stack = *stack;
	f->todo[f->nr_todo++] = i;
}

/* @ret_table  set to the stack at a jump through a table, if there is one */
static void follow(struct function_code *f, struct stack *ret_table)
{
	while (f->nr_todo) {
		uint32_t i = f->todo[--f->nr_todo];
		const struct decoded_instruction *insn = &f->items[i];
		struct stack next = stack_after(insn);

		if ((insn->flow == FLOW_JUMP || insn->flow == FLOW_BRANCH) &&
		    insn->target != NO_INSTRUCTION)
			reach(f, f->at_byte[insn->target], &next);
		if (insn->flow == FLOW_ON || insn->flow == FLOW_BRANCH)
			reach(f, i + 1, &next);
		if (insn->flow == FLOW_TABLE)
			*ret_table = next;
	}
}

static void follow_all(struct function_code *f)
{
	const struct stack entry = {.is_known = true, .has_sp = true, .sp_off = 8};
	struct stack table = {0};

	reach(f, 0, &entry);
	follow(f, &table);
	for (uint32_t i = 0; i < f->nr && table.is_known; i++)
		if (!f->items[i].stack.is_known) {
			reach(f, i, &table);
			follow(f, &table);
		}
}

/* ---- rows ---- */

static struct lb_unwind_rule rule_of(const struct stack *s)
{
	struct lb_unwind_rule rule = {.cfa = LB_CFA_UNSUPPORTED};
	bool fits = s->fp_saved_off == (int16_t)s->fp_saved_off;

	if (!s->is_known || (!s->has_sp && !s->has_fp && !s->kept))
		return rule;
	if (s->has_sp) {
		rule.cfa = LB_CFA_SP;
		rule.cfa_off = s->sp_off;
	} else if (s->has_fp) {
		rule.cfa = LB_CFA_FP;
		rule.cfa_off = s->fp_off;
	} else { /* the walk knows it in a leaf frame, as this is */
		rule.cfa = (uint8_t)(LB_CFA_REG + s->kept);
		rule.cfa_off = s->kept_off;
	}
	rule.fp = !s->fp_saved_off ? LB_FP_SAME : fits ? LB_FP_AT_CFA : LB_FP_UNSUPPORTED;
	rule.fp_off = fits ? (int16_t)s->fp_saved_off : 0;
	rule.fp |= LB_FP_DERIVED;
	return rule;
}

static int add_rows(const struct function_code *f, size_t len, uint64_t vaddr,
		    struct cfi_rows *rows)
{
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	size_t first = rows->nr;
	int err = 0;

	for (size_t i = 0; i < f->nr && !err; i++) {
		struct lb_unwind_rule rule = rule_of(&f->items[i].stack);

		if (rows->nr > first &&
		    !memcmp(&rows->items[rows->nr - 1].rule, &rule, sizeof(rule)))
			continue;
		err = cfi_rows_add(rows, vaddr + f->items[i].at, &rule, CFI_MAX_ROWS);
	}
	if (!err && f->nr)
		err = cfi_rows_add(rows, vaddr + len, &none, CFI_MAX_ROWS);
	if (!err)
		return 0;
	rows->nr = first; /* all of a function, or nothing */
	rows->stats.is_cut = true;
	return err == -ENOMEM ? err : 0;
}

int code_frames_read(const uint8_t *code, size_t len, uint64_t vaddr,
		     uint64_t *steps_left, struct cfi_rows *rows)
{
	_cleanup_(function_deinit) struct function_code f = {0};
	int err;

	if (!len || len > CODE_FRAMES_MAX_BYTES || vaddr + len < vaddr)
		return 0;
	*steps_left -= len / BYTES_PER_STEP < *steps_left ? len / BYTES_PER_STEP
							  : *steps_left;
	f.code = malloc(len);
	f.at_byte = malloc(len * sizeof(*f.at_byte));
	f.todo = malloc(len * sizeof(*f.todo)); /* each instruction is reached once */
	if (!f.code || !f.at_byte || !f.todo)
		return -ENOMEM;
	memcpy(f.code, code, len);
	memset(f.at_byte, 0xff, len * sizeof(*f.at_byte)); /* NO_INSTRUCTION */
	err = decode(&f, len, steps_left);
	if (err)
		return err;
	if (*steps_left < CODE_FRAMES_STEPS) {
		rows->stats.is_cut = true;
		return 0;
	}
	follow_all(&f);
	return add_rows(&f, len, vaddr, rows);
}

/*
 * Is it a builtin of V8? These enter each other by jumps, with the frame that their
 * caller made, so that the top of the stack at their first instruction is not a return
 * address. They keep frame pointers.
 */
static bool is_of_v8(const struct image_table *symbols, const Elf64_Sym *sym)
{
	static const char prefix[] = "Builtins_";
	const char *name = image_table_name(symbols, sym);

	return !strncmp(name, prefix, sizeof(prefix) - 1);
}

/* Drops rules that are not known, so that the walk tries frame pointers instead. */
static void drop_unsupported(struct cfi_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (rows->items[i].rule.cfa == LB_CFA_UNSUPPORTED)
			rows->items[i].rule = (struct lb_unwind_rule){.cfa = LB_CFA_NONE};
}

static uint64_t end_of(const struct cfi_piece *p)
{
	return p->vaddr + p->size_bytes;
}

/* Finds the first of @pieces that @sym overlaps. NULL: none. */
static struct cfi_piece *first_piece(struct cfi_piece *pieces, size_t nr,
				     const Elf64_Sym *sym)
{
	uint64_t lo = sym->st_value, hi = lo + sym->st_size;
	struct cfi_piece *first;

	/* Shortcut: most functions of a large file are in none. */
	if (!nr || lo >= end_of(&pieces[nr - 1]) || hi <= pieces[0].vaddr)
		return NULL;
	first = &pieces[SEARCH_FIRST(i, nr, end_of(&pieces[i]) > lo)];
	return hi > first->vaddr ? first : NULL;
}

/* A function may begin before the piece, where there are no rows. */
static bool is_covered(const struct cfi_rows *rows, const struct cfi_piece *first,
		       const Elf64_Sym *sym)
{
	return cfi_rows_cover(rows, sym->st_value < first->vaddr ? first->vaddr
								 : sym->st_value);
}

/* Is @sym in a needed piece? If not, leaves out its pieces, [@first, @end). */
static bool must_read(struct cfi_piece *first, const struct cfi_piece *end,
		      const Elf64_Sym *sym, uint64_t *steps_left)
{
	struct cfi_piece *p = first;

	for (; p < end && p->vaddr < sym->st_value + sym->st_size && *steps_left; p++) {
		(*steps_left)--;
		if (p->is_needed)
			return true;
	}
	while (p > first)
		(--p)->is_left_out = true;
	return false;
}

/* A function without rules. */
struct named_code {
	const uint8_t *code;
	uint64_t vaddr, size_bytes;
};

struct named_codes {
	struct named_code *items;
	size_t nr, cap;
};

static void named_codes_deinit(struct named_codes *c)
{
	free(c->items);
}

#define STEPS_TO_SORT 16 /* one function */

static int add_named(const struct cfi_file *f, const Elf64_Sym *sym, uint64_t *steps_left,
		     struct named_codes *ret)
{
	const uint8_t *code = binary_bytes_at(f->binary, sym->st_value, sym->st_size);
	int err;

	if (!code || *steps_left < STEPS_TO_SORT)
		return 0;
	*steps_left -= STEPS_TO_SORT;
	err = vec_grow(&ret->items, &ret->cap, ret->nr + 1, sizeof(*ret->items), 0);
	if (!err)
		ret->items[ret->nr++] =
			(struct named_code){code, sym->st_value, sym->st_size};
	return err;
}

/* Adds those that are needed to @ret. */
static int find_named(const struct cfi_file *f, struct cfi_piece *pieces,
		      size_t nr_pieces, uint64_t *steps_left, const struct cfi_rows *rows,
		      struct named_codes *ret)
{
	struct image_table symbols;
	int err = 0;

	if (!cfi_file_symbols(f, &symbols))
		return 0;
	for (size_t i = 0; i < symbols.nr && *steps_left && !err; i++) {
		Elf64_Sym sym = image_table_symbol(&symbols, i);
		struct cfi_piece *first;

		(*steps_left)--;
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size)
			continue;
		first = first_piece(pieces, nr_pieces, &sym);
		if (first && !is_covered(rows, first, &sym) &&
		    !is_of_v8(&symbols, &sym) &&
		    must_read(first, pieces + nr_pieces, &sym, steps_left))
			err = add_named(f, &sym, steps_left, ret);
	}
	return err;
}

/* By address; what holds the others first, so that their rows win. */
static int by_place(const void *va, const void *vb)
{
	const struct named_code *a = va, *b = vb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->size_bytes < b->size_bytes) - (a->size_bytes > b->size_bytes);
}

/* Returns how many bytes have code of @codes, which are in order. */
static uint64_t bytes_of(const struct named_codes *codes)
{
	uint64_t at = 0, nr = 0;

	for (size_t i = 0; i < codes->nr; i++) {
		const struct named_code *c = &codes->items[i];
		uint64_t end = c->vaddr + c->size_bytes;

		if (end > at)
			nr += end - (c->vaddr > at ? c->vaddr : at);
		at = end > at ? end : at;
	}
	return nr;
}

/*
 * Adds rows of functions to @found. A function with many names is read once. Others that
 * overlap are entries into each other, which are few: if a file has more of them, code is
 * read twice on average, and the last functions have no rows.
 */
static int read_named(const struct cfi_file *f, struct cfi_piece *pieces,
		      size_t nr_pieces, uint64_t *steps_left, const struct cfi_rows *rows,
		      struct cfi_rows *found)
{
	_cleanup_(named_codes_deinit) struct named_codes codes = {0};
	uint64_t max, nr_read = 0;
	int err = find_named(f, pieces, nr_pieces, steps_left, rows, &codes);

	if (codes.nr)
		qsort(codes.items, codes.nr, sizeof(*codes.items), by_place);
	max = 2 * bytes_of(&codes);
	for (size_t i = 0; i < codes.nr && !err; i++) {
		const struct named_code *c = &codes.items[i];

		if ((i && !by_place(c, c - 1)) || c->size_bytes > max - nr_read)
			continue;
		nr_read += c->size_bytes;
		err = code_frames_read(c->code, c->size_bytes, c->vaddr, steps_left,
				       found);
	}
	return err;
}

/* ---- returns from signals ---- */

/*
 * A signal handler returns to code of the C library that makes the system call
 * rt_sigreturn, 15. Debuggers know it by its machine code, too. musl has no call frame
 * information for it, and its symbol is stripped. As a function it would be wrong: the
 * kernel made its frame, not a call.
 */
#define SIGNAL_RETURN_MAX_BYTES 9

/* A shorter gap between functions is left by their alignment. It is not read. */
#define SIGNAL_RETURN_MIN_GAP 64

/* Does an instruction that begins with @opcode and ends with a number end at @at? */
static bool is_load(const uint8_t *code, const uint8_t *at, const char *opcode)
{
	size_t len = strlen(opcode);

	return (size_t)(at - code) >= len && !memcmp(at - len, opcode, len);
}

/*
 * Adds rows of such code. They begin one byte before it, where the walk looks up the
 * address that the handler returns to: C libraries have a nop there.
 */
static int add_signal_returns(const uint8_t *code, size_t len, uint64_t vaddr,
			      struct cfi_rows *rows)
{
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	static const struct lb_unwind_rule signal = {.cfa = LB_CFA_SIGNAL,
						     .fp = LB_FP_DERIVED};
	static const uint8_t call[] = {15, 0, 0, 0, 0x0f, 0x05}; /* $15; syscall */
	const uint8_t *end = code + len, *at = code;
	int err = 0;

	while (!err && (at = memmem(at, (size_t)(end - at), call, sizeof(call)))) {
		/* mov $15,%rax; or mov $15,%eax */
		size_t load = is_load(code, at, "\x48\xc7\xc0") ? 3
			      : is_load(code, at, "\x41\xb8")   ? 0 /* %r8d */
			      : is_load(code, at, "\xb8")       ? 1
								: 0;
		uint64_t start = vaddr + (uint64_t)(at - code) - load;

		at += sizeof(call);
		if (!load || !start)
			continue;
		err = cfi_rows_add(rows, start - 1, &signal, CFI_MAX_ROWS);
		if (!err)
			err = cfi_rows_add(rows, vaddr + (uint64_t)(at - code), &none, 0);
	}
	return err == -ENOMEM ? err : 0;
}

/* Searches [@from, @to), and what may begin before it or end behind. */
static int search_gap(const struct cfi_file *f, uint64_t from, uint64_t to,
		      uint64_t *steps_left, struct cfi_rows *found)
{
	size_t len, left;
	const uint8_t *code;

	if (!*steps_left)
		return 0;
	--*steps_left;
	code = binary_bytes_from(f->binary, from - SIGNAL_RETURN_MAX_BYTES, &left);
	/* What is before may be of another segment, or nothing. */
	if (code && left > SIGNAL_RETURN_MAX_BYTES)
		from -= SIGNAL_RETURN_MAX_BYTES;
	else
		code = binary_bytes_from(f->binary, from, &left);
	len = to - from + SIGNAL_RETURN_MAX_BYTES;
	len = len < left ? len : left;
	if (!code || *steps_left < len / BYTES_PER_STEP)
		return 0;
	*steps_left -= len / BYTES_PER_STEP;
	return add_signal_returns(code, len, from, found);
}

static int search_piece(const struct cfi_file *f, const struct cfi_piece *p,
			uint64_t *steps_left, const struct cfi_rows *rows,
			struct cfi_rows *found)
{
	uint64_t at = p->vaddr, end = end_of(p);
	int err = 0;

	for (size_t i = cfi_rows_up_to(rows, at); at < end && !err; i++) {
		uint64_t next = i < rows->nr && rows->items[i].vaddr < end
					? rows->items[i].vaddr
					: end;

		/* A gap may go on in the pieces beside this one. */
		if ((next - at >= SIGNAL_RETURN_MIN_GAP || at == p->vaddr ||
		     next == end) &&
		    (!i || rows->items[i - 1].rule.cfa == LB_CFA_NONE))
			err = search_gap(f, at, next, steps_left, found);
		at = next;
	}
	return err;
}

int cfi_functions_read(const struct cfi_file *f, struct cfi_piece *pieces,
		       size_t nr_pieces, uint64_t *steps_left, struct cfi_rows *rows)
{
	_cleanup_(cfi_rows_deinit) struct cfi_rows found = {0};
	int err = read_named(f, pieces, nr_pieces, steps_left, rows, &found);

	/* After the functions, so that these rows win. */
	for (size_t i = 0; i < nr_pieces && !err; i++)
		if (!pieces[i].is_left_out)
			err = search_piece(f, &pieces[i], steps_left, rows, &found);
	/* The rest was not looked at. */
	for (size_t i = 0; i < nr_pieces && *steps_left < CODE_FRAMES_STEPS; i++)
		pieces[i].is_left_out = !pieces[i].is_needed;
	if (err)
		return err;
	drop_unsupported(&found);
	return cfi_rows_add_below(rows, &found);
}

/* ---- files made by Go ---- */

#define MAX_START_BYTES 4096 /* real ones have some 500 */
#define MAX_STARTS      16 /* two, in files that Go made */

/* Go appends ".abi0" to names of assembly functions since 1.17. */
static bool is_named(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) &&
	       (!name[len] || !strcmp(name + len, ".abi0"));
}

/*
 * Finds the start of the new thread in runtime.clone: after "mov %rsi, %rsp" has set
 * its stack pointer. The code before that runs in the creating thread, which has a
 * caller.
 */
static uint64_t thread_offset(const uint8_t *code, uint64_t len)
{
	static const uint8_t to_new_stack[] = {0x48, 0x89, 0xf4};
	const uint8_t *at = memmem(code, len, to_new_stack, sizeof(to_new_stack));

	return at ? (uint64_t)(at - code) + sizeof(to_new_stack) : len;
}

static int add_start(const struct cfi_file *f, const Elf64_Sym *sym, bool is_clone,
		     struct cfi_rows *rows)
{
	static const struct lb_unwind_rule end = {.cfa = LB_CFA_END};
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	const uint8_t *code;
	uint64_t offset = 0;
	int err;

	if (!sym->st_size || sym->st_size > MAX_START_BYTES)
		return 0;
	code = binary_bytes_at(f->binary, sym->st_value, sym->st_size);
	if (!code)
		return 0;
	if (is_clone)
		offset = thread_offset(code, sym->st_size);
	if (offset == sym->st_size)
		return 0;
	err = cfi_rows_add(rows, sym->st_value + offset, &end, 0);
	return err ? err : cfi_rows_add(rows, sym->st_value + sym->st_size, &none, 0);
}

int cfi_go_add_starts(const struct cfi_file *f, uint64_t *steps_left,
		      struct cfi_rows *rows)
{
	struct image_table symbols;
	size_t nr = 0;
	int err = 0;

	if (!cfi_file_symbols(f, &symbols))
		return 0;
	for (size_t i = 0; i < symbols.nr && *steps_left && !err && nr < MAX_STARTS;
	     i++) {
		Elf64_Sym sym = image_table_symbol(&symbols, i);
		const char *name;
		bool is_clone;

		(*steps_left)--;
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		name = image_table_name(&symbols, &sym);
		is_clone = is_named(name, "runtime.clone");
		if (!is_clone && !is_named(name, "runtime.rt0_go"))
			continue;
		err = add_start(f, &sym, is_clone, rows);
		nr++;
	}
	return err;
}

void cfi_go_keep(struct cfi_rows *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		struct cfi_row row = rows->items[i];

		if (row.rule.cfa != LB_CFA_END &&
		    (row.rule.cfa != LB_CFA_SP || row.rule.cfa_off != 8))
			row.rule = (struct lb_unwind_rule){.cfa = LB_CFA_NONE};
		if (!nr || rows->items[nr - 1].rule.cfa != row.rule.cfa)
			rows->items[nr++] = row;
	}
	rows->nr = nr;
}
