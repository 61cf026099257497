/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks native frames: finds the caller of a frame. */
#ifndef LB_BPF_NATIVE_H
#define LB_BPF_NATIVE_H

#include "tables.h"

#define LB_STACK_GOES_ON (LB_STACK_AT_FUNCTION + 1) /* the walk continues */

/* Steps by frame pointers. Each caller's frame must be above its callee's. */
static __always_inline __u32 lb_by_frame_pointer(struct lb_walk *w)
{
	struct lb_stack *s = &w->stack;
	__u64 fp = s->fp, next_fp = 0, return_ip = 0;

	if (!fp)
		return LB_STACK_GUESSED_END;
	if (fp < s->sp || fp & 7 || fp >= LB_USER_ADDRESS_LIMIT)
		return LB_STACK_BAD_FP;
	/* On all architectures fp points to the caller's fp and the return address. */
	if (!lb_read_stack(s, fp, &next_fp) || !lb_read_stack(s, fp + 8, &return_ip))
		return LB_STACK_FAULT;
	return_ip = lb_code_address(return_ip);
	if (!return_ip)
		return LB_STACK_GUESSED_END;
	if (return_ip >= LB_USER_ADDRESS_LIMIT)
		return LB_STACK_BAD_FP;
	/* Any word of the stack may be there: it must at least point to code. */
	if (!lb_search_segment(return_ip - 1)) {
		lb_request_mapping(w, return_ip);
		return LB_STACK_NO_MAPPING;
	}
	s->fp = next_fp;
	s->ip = return_ip;
	s->sp = fp + 16;
	s->is_live = false;
	w->nr_guessed++;
	return LB_STACK_GOES_ON;
}

/* Reads the CFA from @at and adds @off. */
static __always_inline __u32 lb_cfa_at(struct lb_stack *s, __u64 at, __u32 off,
				       __u64 *cfa)
{
	if (!lb_read_stack(s, at, cfa))
		return LB_STACK_FAULT;
	*cfa += off;
	return LB_STACK_COMPLETE;
}

/* @lookup  code address. Return: LB_STACK_COMPLETE with *cfa set, or why not. */
static __always_inline __u32 lb_find_cfa(struct lb_walk *w,
					 const struct lb_unwind_rule *rule, __u64 lookup,
					 __u64 *cfa)
{
	__u32 reg;

	switch (rule->cfa) {
	case LB_CFA_SP:
		*cfa = w->stack.sp + rule->cfa_off;
		return LB_STACK_COMPLETE;
	case LB_CFA_FP:
		*cfa = w->stack.fp + rule->cfa_off;
		return LB_STACK_COMPLETE;
	case LB_CFA_PLT:
		return lb_plt_cfa(&w->stack, lookup, rule->cfa_off, cfa);
	case LB_CFA_DEREF_FP:
	case LB_CFA_DEREF_FP_8:
		return lb_cfa_at(&w->stack, w->stack.fp + rule->cfa_off,
				 rule->cfa == LB_CFA_DEREF_FP ? 0 : 8, cfa);
	case LB_CFA_DEREF_SP:
	case LB_CFA_DEREF_SP_8:
		return lb_cfa_at(&w->stack, w->stack.sp + rule->cfa_off,
				 rule->cfa == LB_CFA_DEREF_SP ? 0 : 8, cfa);
	}
	reg = rule->cfa - LB_CFA_REG;
	if (!w->stack.is_live || rule->cfa < LB_CFA_REG || reg >= LB_NR_DWARF_REGS)
		return LB_STACK_UNSUPPORTED;
	*cfa = w->stack.regs[reg] + rule->cfa_off;
	return LB_STACK_COMPLETE;
}

static __always_inline __u32 lb_by_rule(struct lb_walk *w,
					const struct lb_unwind_rule *rule, __u64 lookup)
{
	__u64 cfa = 0;
	__u32 status;

	if (rule->cfa == LB_CFA_END) {
		w->is_at_begin = true;
		return LB_STACK_COMPLETE;
	}
	if (rule->cfa == LB_CFA_SIGNAL) {
		cfa = w->stack.sp;
		status = lb_signal_frame(&w->stack);
		if (status)
			return status;
		/*
		 * The next frame may be below: on the thread's stack, if the handler ran
		 * on an alternate one. A second time it is a circle.
		 */
		if (w->stack.sp <= cfa && w->nr_stacks_left++)
			return LB_STACK_BAD_CFA;
		w->stack.is_live = true;
	} else {
		status = lb_find_cfa(w, rule, lookup, &cfa);
		if (status)
			return status;
		/* Must increase, or a damaged stack could make the walk loop. */
		if (cfa < w->stack.sp + (w->stack.is_live ? LB_LEAF_MIN_BYTES : 8) ||
		    cfa & 7 || cfa >= LB_USER_ADDRESS_LIMIT)
			return LB_STACK_BAD_CFA;
		status = lb_caller(&w->stack, rule, cfa);
		if (status)
			return status;
		w->stack.is_live = false;
	}
	w->nr_derived += rule->fp / LB_FP_DERIVED;
	/*
	 * Goroutines and other stacks that a program makes itself begin with a return
	 * address of 0, on top of the stack as behind a call. Elsewhere a 0 is a wrong
	 * rule, and at an interrupted frame a call of a null pointer.
	 */
	if (!w->stack.ip)
		return w->stack.is_live || rule->fp & LB_FP_UNCALLED ? LB_STACK_BAD_CFA
								     : LB_STACK_COMPLETE;
	/* An address must not have LB_FRAME_TAG set. */
	return w->stack.ip < LB_USER_ADDRESS_LIMIT ? LB_STACK_GOES_ON : LB_STACK_BAD_CFA;
}

/*
 * Returns the address to look up: for a caller the call, before the return address; for
 * a running frame or one interrupted by a signal, its instruction.
 */
static __always_inline __u64 lb_lookup_ip(const struct lb_walk *w)
{
	return w->stack.is_live || w->is_second_look ? w->stack.ip : w->stack.ip - 1;
}

/* Steps to the caller's frame. Return: LB_STACK_GOES_ON, or why the walk ends. */
static __always_inline __u32 lb_native_step(struct lb_walk *w, __u64 lookup)
{
	struct lb_unwind_rule rule = {};
	__u32 status;

	status = lb_find_rule(w, lookup, &rule);
	if (status)
		return status;
	/*
	 * A return address at the start of a function, with no code before it, was not
	 * stored there by a call, but as the begin of a stack (makecontext). It has no
	 * caller.
	 */
	if (w->is_second_look) {
		w->is_second_look = false;
		if (rule.cfa != LB_CFA_NONE)
			return rule.cfa == LB_CFA_END ? LB_STACK_COMPLETE
						      : LB_STACK_AT_FUNCTION;
	} else if (rule.cfa == LB_CFA_NONE && !w->stack.is_live &&
		   !(w->segment.flags & LB_SEGMENT_NO_ROWS)) {
		w->is_second_look = true;
		return LB_STACK_GOES_ON;
	}
	return rule.cfa == LB_CFA_NONE ? lb_by_frame_pointer(w)
				       : lb_by_rule(w, &rule, lookup);
}

#endif
