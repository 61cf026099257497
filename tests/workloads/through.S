/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * void through(void (*touch)(void), const void *fill): calls touch(), with FRAME bytes of its stack
 * frame full of @fill. For any FRAME from 128 on, a multiple of 16 plus 8, the code has the same
 * length, so that a walk with the unwind table of a smaller FRAME finds @fill as return address.
 */
#ifdef FAR /* bytes of code before it */
	.skip FAR
#endif
	.globl through
	.type through, @function
through:
	.cfi_startproc
	sub $FRAME, %rsp
	.cfi_adjust_cfa_offset FRAME
	lea FRAME(%rsp), %rax
1:	sub $8, %rax
	mov %rsi, (%rax)
	cmp %rsp, %rax
	jne 1b
	call *%rdi
	add $FRAME, %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_endproc
	.size through, . - through
	.section .note.GNU-stack, "", @progbits
