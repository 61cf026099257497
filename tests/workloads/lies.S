/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose registers or unwind tables lie while they touch pages (lies.c):
 *   void f(char *pages, unsigned long nr, uint64_t lie)
 */
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.endm

	.macro end name
	.size \name, . - \name
	.endm

	.macro touch_pages
1:	movb $1, (%rdi)
	add $4096, %rdi
	dec %rsi
	jnz 1b
	.endm

/* ---- registers that lie; the tables are right ---- */

/* The table finds the caller by rsp, which is the lie. */
function stack_pointer
	.cfi_startproc
	mov %rsp, %r8
	mov %rdx, %rsp
	touch_pages
	mov %r8, %rsp
	ret
	.cfi_endproc
end stack_pointer

/* The table finds the caller by rbp, which is the lie. */
function base_pointer
	.cfi_startproc
	push %rbp
	.cfi_def_cfa %rbp, 16
	.cfi_offset %rbp, -16
	mov %rdx, %rbp
	touch_pages
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
end base_pointer

/*
 * Without a table, and whoever follows rsp through the instructions loses it: callers are
 * found by rbp, which is the lie.
 */
	.macro by_frame_pointer name
	function \name
	push %rbp
	mov %rsp, %r8
	mov %r8, %rsp
	mov %rdx, %rbp
	touch_pages
	pop %rbp
	ret
	end \name
	.endm

by_frame_pointer frame_pointer
/* Its name is that of a C library's entry code. */
by_frame_pointer start

/* As frame_pointer, but rsp is the lie. */
function bare_stack_pointer
	mov %rsp, %r8
	mov %rdx, %rsp
	touch_pages
	mov %r8, %rsp
	ret
end bare_stack_pointer

/* ---- tables that lie ---- */

	/* The table is DIRECTIVE in the whole function; rsp has its value at entry. */
	.macro lying name, directive:vararg
	function \name
	.cfi_startproc
	\directive
	touch_pages
	ret
	.cfi_endproc
	end \name
	.endm

lying cfa_is_stack_pointer, .cfi_def_cfa_offset 0
lying cfa_is_below, .cfi_def_cfa_offset -64
lying cfa_is_odd, .cfi_def_cfa_offset 13
lying cfa_is_far, .cfi_def_cfa_offset 0x7ffffff8
lying cfa_is_too_far, .cfi_def_cfa_offset 0x100000000
lying return_address_is_far, .cfi_offset %rip, -0x100000
lying return_address_is_a_register, .cfi_register %rip, %rax
lying outermost, .cfi_undefined %rip
/* DW_CFA_def_cfa_expression: breg7 8; not */
lying cfa_is_an_expression, .cfi_escape 0x0f, 3, 0x77, 8, 0x20
/* DW_CFA_val_expression: rip is breg7 0 */
lying return_address_is_an_expression, .cfi_escape 0x16, 16, 2, 0x77, 0

/* The CFA of a caller is its callee's. */
function cfa_is_callees
	.cfi_startproc
	.cfi_def_cfa_offset 0
	sub $8, %rsp
	call touch_for
	add $8, %rsp
	ret
	.cfi_endproc
end cfa_is_callees

/* The lie is on top of the stack, and the table takes it for the return address. */
function returns_to
	.cfi_startproc
	push %rdx
	touch_pages
	pop %rdx
	ret
	.cfi_endproc
end returns_to

/* As returns_to, but one rule is for all of it, as if no call had entered it. */
function one_rule_returns_to
	.cfi_startproc
	.cfi_def_cfa_offset 16
	push %rdx
	push %rdx
	touch_pages
	pop %rdx
	pop %rdx
	ret
	.cfi_endproc
end one_rule_returns_to

/* As returns_to, but the table takes it for the CFA: breg7 0; deref. */
function cfa_is_stored
	.cfi_startproc
	push %rdx
	.cfi_escape 0x0f, 3, 0x77, 0, 0x06
	touch_pages
	pop %rdx
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
end cfa_is_stored

/* By its table it called itself as often as the lie says. */
function repeats
	.cfi_startproc
	mov %rsp, %r8
	lea 3f(%rip), %rax
2:	push %rax
	dec %rdx
	jnz 2b
	touch_pages
	mov %r8, %rsp
3:	ret
	.cfi_endproc
end repeats

	/* The table takes what the lie points to for the registers that a signal saved. */
	.macro signal name
	function \name
	.cfi_startproc
	.cfi_signal_frame
	/* breg7 160; deref */
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
	mov %rsp, %r8
	mov %rdx, %rsp
	touch_pages
	mov %r8, %rsp
	ret
	.cfi_endproc
	end \name
	.endm

signal one_signal
signal other_signal
	.section .note.GNU-stack, "", @progbits
