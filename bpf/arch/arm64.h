/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64: struct user_pt_regs of asm/ptrace.h, AAPCS64 (2023Q3) for registers and frames. */
#ifndef LB_BPF_ARCH_ARM64_H
#define LB_BPF_ARCH_ARM64_H

struct lb_regs {
	__u64 regs[31], sp, pc, pstate;
};

#define LB_THREAD_SIZE 16384 /* asm/memory.h, 4 KB pages */

static __always_inline bool lb_regs_user(const volatile struct lb_regs *regs)
{
	return (regs->pstate & 0xf) == 0; /* EL0 */
}

/*
 * Returns whether it runs 64-bit code. Otherwise PSR_MODE32_BIT is set (asm/ptrace.h).
 */
static __always_inline bool lb_regs_64_bit(const volatile struct lb_regs *regs)
{
	return !(regs->pstate & 0x10);
}

/* Unknown: user_pt_regs lacks the number of the system call. */
static __always_inline bool lb_regs_in_syscall(const struct lb_regs *regs)
{
	return false;
}

#define lb_regs_ip(r) ((r)->pc)
#define lb_regs_sp(r) ((r)->sp)
#define lb_regs_fp(r) ((r)->regs[29])

/* By DWARF number (AADWARF64, table 1): x0..x30, sp. */
#define LB_NR_DWARF_REGS 32
#define LB_LINK_REG      30

static __always_inline void lb_regs_dwarf(const volatile struct lb_regs *regs, __u64 *to)
{
#pragma unroll
	for (int i = 0; i < 31; i++)
		to[i] = regs->regs[i];
	to[31] = regs->sp;
}

static __always_inline __u64 lb_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/*
 * Removes the signature (FEAT_PAuth) that a saved return address may have above the
 * bits of the address. Addresses have 48 bits unless user space requests more.
 */
static __always_inline __u64 lb_code_address(__u64 saved)
{
	return saved & ((1ULL << 48) - 1);
}

/* A stub jumps without using the stack, so it has ordinary rows. */
static __always_inline __u32 lb_plt_cfa(const struct lb_stack *s, __u64 lookup,
					__s32 push_end, __u64 *cfa)
{
	return LB_STACK_UNSUPPORTED;
}

/*
 * The stack pointer points to a struct rt_sigframe (arch/arm64/kernel/signal.c):
 * siginfo of 128 bytes, then a ucontext. Its uc_mcontext is at byte 176
 * (asm/ucontext.h, the signal mask padded to 1024 bits), and begins with fault_address,
 * x0..x30, sp, pc (struct sigcontext).
 */
static __always_inline __u32 lb_signal_frame(struct lb_stack *s)
{
	__u64 regs = s->sp + 128 + 176 + 8;

	if (bpf_probe_read_user(&s->ip, 8, (void *)(regs + 32 * 8)) ||
	    bpf_probe_read_user(s->regs, 32 * 8, (void *)regs))
		return LB_STACK_FAULT;
	s->ip = lb_code_address(s->ip);
	s->sp = s->regs[31];
	s->fp = s->regs[29];
	return LB_STACK_COMPLETE;
}

/* A leaf may use no stack at all. */
#define LB_LEAF_MIN_BYTES 0

/*
 * Sets the caller's registers by @rule and @cfa. A function that saves the frame
 * pointer saves the link register above it: stp x29, x30 (AAPCS64, 6.4.6). A function
 * that does not is a leaf: its return address is in the link register, which is known
 * only with all registers.
 * Return: LB_STACK_COMPLETE, or why not.
 */
static __always_inline __u32 lb_caller(struct lb_stack *s,
				       const struct lb_unwind_rule *rule, __u64 cfa)
{
	__u64 at;

	if (rule->fp == LB_FP_AT_CFA || rule->fp == LB_FP_AT_FP) {
		at = (rule->fp == LB_FP_AT_CFA ? cfa : s->fp) + rule->fp_off;
		if (!lb_read_stack(s, at, &s->fp) || !lb_read_stack(s, at + 8, &s->ip))
			return LB_STACK_FAULT;
	} else if (rule->fp == LB_FP_SAME && s->is_live) {
		s->ip = s->regs[LB_LINK_REG];
	} else {
		return LB_STACK_UNSUPPORTED;
	}
	s->ip = lb_code_address(s->ip);
	s->sp = cfa;
	return LB_STACK_COMPLETE;
}

#endif
