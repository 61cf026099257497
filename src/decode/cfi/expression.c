// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/expression.h"

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

struct cfi_cfa cfi_cfa_expression(struct cfi_bytes expression)
{
	int64_t first_byte;

	if (is_plt(&expression, &first_byte))
		return (struct cfi_cfa){.kind = CFI_CFA_PLT, .off = first_byte};
	return based_on_register(expression);
}

struct cfi_saved cfi_saved_expression(struct cfi_bytes expression)
{
	struct cfi_cfa where = based_on_register(expression);

	if (where.kind != CFI_CFA_REGISTER)
		return (struct cfi_saved){.kind = CFI_SAVED_UNKNOWN};
	return (struct cfi_saved){
		.kind = CFI_SAVED_AT_REGISTER, .reg = where.reg, .off = where.off};
}
