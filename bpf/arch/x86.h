/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: struct pt_regs of asm/ptrace.h, psABI 1.0 for registers and frames. */
#ifndef LB_BPF_ARCH_X86_H
#define LB_BPF_ARCH_X86_H

struct lb_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};

#define LB_THREAD_SIZE 16384 /* asm/page_64_types.h without KASAN */

static __always_inline bool lb_regs_user(const volatile struct lb_regs *regs)
{
	return regs->cs & 3;
}

/*
 * Returns whether it runs 64-bit code now: with selector __USER_CS (asm/segment.h) or
 * Xen's FLAT_USER_CS64 (xen/interface/xen.h); all others are 32-bit or 16-bit. FRED
 * stores other data above these 16 bits.
 */
static __always_inline bool lb_regs_64_bit(const volatile struct lb_regs *regs)
{
	__u16 cs = regs->cs;

	return cs == 0x33 || cs == 0xe033;
}

/*
 * Returns whether a system call saved the registers (arch/x86/entry: orig_ax is its
 * number).
 */
static __always_inline bool lb_regs_in_syscall(const struct lb_regs *regs)
{
	return (__s64)regs->orig_ax >= 0;
}

#define lb_regs_ip(r) ((r)->ip)
#define lb_regs_sp(r) ((r)->sp)
#define lb_regs_fp(r) ((r)->bp)

/* By DWARF number (psABI, figure 3.36): the registers that a CFA can be based on. */
#define LB_NR_DWARF_REGS 16

static __always_inline void lb_regs_dwarf(const volatile struct lb_regs *regs, __u64 *to)
{
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
}

static __always_inline __u64 lb_thread_pointer(struct task_struct *task)
{
	return LB_TASK(task, thread.fsbase);
}

/* Converts a return address in memory to a code address. */
static __always_inline __u64 lb_code_address(__u64 saved)
{
	return saved;
}

/* A stub has 16 bytes and pushes its relocation number before it jumps. */
static __always_inline __u32 lb_plt_cfa(const struct lb_stack *s, __u64 lookup,
					__s32 push_end, __u64 *cfa)
{
	*cfa = s->sp + 8 + ((__s32)(lookup & 15) >= push_end ? 8 : 0);
	return LB_STACK_COMPLETE;
}

/*
 * The stack pointer points to the ucontext of a struct rt_sigframe (asm/sigframe.h).
 * Its uc_mcontext is at byte 40 (asm/ucontext.h) and begins with r8 (struct sigcontext
 * of asm/sigcontext.h).
 */
static __always_inline __u32 lb_signal_frame(struct lb_stack *s)
{
	/*
	 * Reads into the window, which is unused now, because the BPF stack is small.
	 */
	const struct {
		__u64 r8_to_r15[8];
		__u64 di, si, bp, bx, dx, ax, cx, sp, ip;
	} *saved = (const void *)s->window;

	s->window_bytes = 0;
	if (bpf_probe_read_user(s->window, sizeof(*saved), (void *)(s->sp + 40)))
		return LB_STACK_FAULT;
	for (int i = 0; i < 8; i++)
		s->regs[8 + i] = saved->r8_to_r15[i];
	s->regs[0] = saved->ax;
	s->regs[1] = saved->dx;
	s->regs[2] = saved->cx;
	s->regs[3] = saved->bx;
	s->regs[4] = saved->si;
	s->regs[5] = saved->di;
	s->regs[6] = saved->bp;
	s->regs[7] = saved->sp;
	s->ip = saved->ip;
	s->sp = saved->sp;
	s->fp = saved->bp;
	return LB_STACK_COMPLETE;
}

/*
 * Minimum distance of a CFA above the stack pointer: the return address is in between.
 */
#define LB_LEAF_MIN_BYTES 8

/*
 * Sets the caller's registers by @rule and @cfa.
 * Return: LB_STACK_COMPLETE, or why not.
 */
static __always_inline __u32 lb_caller(struct lb_stack *s,
				       const struct lb_unwind_rule *rule, __u64 cfa)
{
	__u8 fp = rule->fp & LB_FP_KIND;
	__u64 at;

	if (fp == LB_FP_AT_CFA || fp == LB_FP_AT_FP) {
		at = (fp == LB_FP_AT_CFA ? cfa : s->fp) + rule->fp_off;
		if (!lb_read_stack(s, at, &s->fp))
			return LB_STACK_FAULT;
	} else if (fp == LB_FP_UNDEFINED) {
		s->fp = 0;
	} else if (fp != LB_FP_SAME) {
		return LB_STACK_UNSUPPORTED;
	}
	if (!lb_read_stack(s, cfa - 8, &s->ip))
		return LB_STACK_FAULT;
	s->sp = cfa;
	return LB_STACK_COMPLETE;
}

#endif
