/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few forms of DWARF expressions that compilers, linkers and people who write
 * assembly use in call frame information. What else there is becomes ..._UNKNOWN.
 */
#ifndef LB_DECODE_CFI_EXPRESSION_H
#define LB_DECODE_CFI_EXPRESSION_H

#include "decode/cfi/program.h"

/** Of DW_CFA_def_cfa_expression. */
struct cfi_cfa cfi_cfa_expression(struct cfi_bytes expression);

/** Of DW_CFA_expression: where a register was saved. */
struct cfi_saved cfi_saved_expression(struct cfi_bytes expression);

#endif
