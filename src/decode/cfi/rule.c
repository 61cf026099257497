// SPDX-License-Identifier: GPL-2.0-or-later
/* A state of call frame information -> what the walk does (struct lb_unwind_rule). */
#include "decode/cfi/program.h"

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

struct lb_unwind_rule cfi_rule(const struct cfi_cie *cie, const struct cfi_state *state)
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
