/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that differs between architectures: the saved registers of a task, what
 * in them is the instruction, stack and frame pointer, and what a frame record
 * looks like. The register layouts are UAPI (struct pt_regs of asm/ptrace.h on
 * x86, struct user_pt_regs on arm64): vmlinux.h of newer kernels declares parts
 * of them narrower, which turns context reads into loads the verifier refuses.
 */
#ifndef LB_BPF_ARCH_H
#define LB_BPF_ARCH_H

#if defined(__TARGET_ARCH_x86)

struct lb_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};

#define LB_THREAD_SIZE 16384 /* asm/page_64_types.h without KASAN */

static __always_inline bool lb_regs_user(const volatile struct lb_regs *regs)
{
	return regs->cs & 3;
}

/* Saved at a system call, not at an exception (arch/x86/entry: orig_ax is its number). */
static __always_inline bool lb_regs_in_syscall(const struct lb_regs *regs)
{
	return (__s64)regs->orig_ax >= 0;
}

#define lb_regs_ip(r) ((r)->ip)
#define lb_regs_sp(r) ((r)->sp)
#define lb_regs_fp(r) ((r)->bp)

#elif defined(__TARGET_ARCH_arm64)

struct lb_regs {
	__u64 regs[31], sp, pc, pstate;
};

#define LB_THREAD_SIZE 16384 /* asm/memory.h, 4 KB pages */

static __always_inline bool lb_regs_user(const volatile struct lb_regs *regs)
{
	return (regs->pstate & 0xf) == 0; /* EL0 */
}

/* The saved number of the system call is not part of user_pt_regs: not known. */
static __always_inline bool lb_regs_in_syscall(const struct lb_regs *regs)
{
	return false;
}

#define lb_regs_ip(r)  ((r)->pc)
#define lb_regs_sp(r)  ((r)->sp)
#define lb_regs_fp(r)  ((r)->regs[29])

#else
#error "no register layout for this architecture"
#endif

/* What a frame pointer points to, on both: the caller's frame pointer and address. */
struct lb_frame_record {
	__u64 fp;
	__u64 return_ip;
};

/* Context of a perf_event program (struct bpf_perf_event_data of linux/bpf_perf_event.h). */
struct lb_perf_event_ctx {
	struct lb_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#define LB_USER_ADDRESS_LIMIT (1ULL << 56) /* no user address is above, on either */

#endif
