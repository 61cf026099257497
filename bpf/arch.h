/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Architecture-specific code is in arch/: the saved registers of a task, its
 * instruction, stack, frame and thread pointers, and the layout of a call frame. The
 * register layouts are UAPI: vmlinux.h of newer kernels declares some registers
 * narrower, which turns context reads into loads that the verifier rejects.
 *
 * Each file defines: struct lb_regs, LB_THREAD_SIZE, lb_regs_user(), lb_regs_64_bit(),
 * lb_regs_in_syscall(), lb_regs_ip(), _sp() and _fp(), LB_NR_DWARF_REGS and
 * lb_regs_dwarf(), lb_thread_pointer(), and the steps of a walk: lb_plt_cfa(),
 * lb_signal_frame(), lb_caller(), lb_code_address().
 */
#ifndef LB_BPF_ARCH_H
#define LB_BPF_ARCH_H

#include "lineburn_unwind.h"

/*
 * Reads fields of the current task: directly if its pointer has a type (5.11), else by
 * a helper, which costs as much as ten direct reads.
 */
#define LB_TASK_HAS_TYPE() \
	bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)
#define LB_TASK(task, field) \
	(LB_TASK_HAS_TYPE() ? (task)->field : BPF_CORE_READ(task, field))

static __always_inline struct task_struct *lb_current_task(void)
{
	if (LB_TASK_HAS_TYPE())
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

static __always_inline __u64 lb_pid_tgid(struct task_struct *task)
{
	if (LB_TASK_HAS_TYPE())
		return (__u64)task->tgid << 32 | (__u32)task->pid;
	return bpf_get_current_pid_tgid();
}

/* Returns the start time of the task's process, CLOCK_BOOTTIME ns. */
static __always_inline __u64 lb_task_start(struct task_struct *task)
{
	if (LB_TASK_HAS_TYPE())
		return task->group_leader->start_boottime;
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/* above all user addresses, on any machine */
#define LB_USER_ADDRESS_LIMIT (1ULL << 56)

/*
 * A read of user memory costs the same, 20 to 90 ns, for 8 bytes and for a few hundred.
 * So memory is read in windows of this size, which contain a few frames each. A window
 * never crosses a boundary of the smallest page size, because the next page may be
 * unmapped, and a fault costs more than a larger window saves. The first window of a
 * stack is smaller: it has all of a short stack, and touches fewer cache lines.
 */
#define LB_WINDOW_BYTES       1024
#define LB_FIRST_WINDOW_BYTES 256
#define LB_PAGE_BYTES         4096

#define LB_MAX_DWARF_REGS     32

/* Registers of the current frame: first the leaf's, then those at each call. */
struct lb_stack {
	__u64 ip, sp, fp;
	bool is_live; /* all registers are known: a leaf, or interrupted by a signal */
	__u32 next_window_bytes; /* 1..LB_WINDOW_BYTES */
	__u64 window_addr; /* of the bytes in window */
	__u64 window_bytes; /* valid bytes; 0: none */
	__u64 regs[LB_MAX_DWARF_REGS]; /* if is_live; by DWARF number, LB_NR_DWARF_REGS */
	__u8 window[LB_WINDOW_BYTES] __attribute__((aligned(8)));
};

/* Reads a window that begins at @addr (walk.h). Return: 0: not even a word. */
int lb_read_window(__u64 addr);

/*
 * Reads a word of the stack. A window begins at the word, because callers' words are
 * above.
 */
static __always_inline bool lb_read_stack(struct lb_stack *s, __u64 addr, __u64 *ret)
{
	__u64 off = addr - s->window_addr;

	if (off > LB_WINDOW_BYTES - 8 || off + 8 > s->window_bytes) {
		if (!lb_read_window(addr))
			return false;
		off = 0;
	}
	*ret = *(__u64 *)(s->window + off);
	return true;
}

#if defined(__TARGET_ARCH_x86)
#include "arch/x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "arch/arm64.h"
#else
#error "nothing is known of this architecture"
#endif

/* Context of a perf_event program (struct bpf_perf_event_data of linux/bpf_perf_event.h). */
struct lb_perf_event_ctx {
	struct lb_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
