/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the instructions of call frame information (DWARF 5, 6.4.2), and keeps only the
 * state that the walk needs. x86-64.
 */
#ifndef LB_DECODE_CFI_PROGRAM_H
#define LB_DECODE_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/cfi/rows.h"
#include "decode/cfi/index.h"
#include "lineburn_unwind.h"

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
	CFI_CFA_PLT, /* struct lb_unwind_rule; off: from which byte on */
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

/* A run over one FDE. */
struct cfi_run {
	const struct cfi_cie *cie;
	const struct cfi_bases *bases;
	uint64_t start, end; /* of the function */
	uint64_t lo, hi; /* rows are made of [lo, hi) only */
	uint64_t *steps_left; /* one is taken by each instruction */
	struct cfi_rows *rows; /* in order of vaddr, ended by {LB_CFA_NONE} */
};

/**
 * Runs the initial instructions @program and sets cie->initial.
 * Return: 0 or -EBADMSG, also when the steps run out.
 */
int cfi_cie_run(struct cfi_cie *cie, struct cfi_bytes program,
		const struct cfi_bases *bases, uint64_t *steps_left);

/**
 * Adds the rows of an FDE. After an invalid instruction, or the last step, the rest of
 * the function is LB_CFA_UNSUPPORTED.
 * Return: 0, -EBADMSG (rows are added), -ENOSPC (over CFI_MAX_ROWS), -ENOMEM.
 */
int cfi_fde_run(const struct cfi_run *run, struct cfi_bytes program);

#endif
