/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks a user stack from its registers into ips[]: the seam behind which the
 * table-driven unwinder goes. This walk follows frame pointers, so it finds the
 * leaf always and the callers only where the code keeps them.
 */
#ifndef LB_BPF_UNWIND_H
#define LB_BPF_UNWIND_H

#include "arch.h"
#include "lineburn.h"

/**
 * @ips   room for LB_MAX_FRAMES; leaf first
 * @walk  false: leaf only
 * Return: number of frames written, > 0; *status says how far it came.
 */
static __always_inline __u32 lb_unwind_user(const struct lb_regs *regs, bool walk,
					    __u64 *ips, __u32 *status)
{
	__u64 fp = lb_regs_fp(regs), below = lb_regs_sp(regs);
	__u32 i;

	ips[0] = lb_regs_ip(regs);
	if (!walk) {
		*status = LB_STACK_LEAF_ONLY;
		return 1;
	}
	for (i = 1; i < LB_MAX_FRAMES; i++) {
		struct lb_frame_record record;

		if (!fp) {
			*status = LB_STACK_COMPLETE;
			return i;
		}
		/* Each caller's frame lies above its callee's, else the chain is none. */
		if (fp < below || fp & 7 || fp >= LB_USER_ADDRESS_LIMIT) {
			*status = LB_STACK_BAD_FP;
			return i;
		}
		if (bpf_probe_read_user(&record, sizeof(record), (void *)fp)) {
			*status = LB_STACK_FAULT;
			return i;
		}
		if (!record.return_ip) {
			*status = LB_STACK_COMPLETE;
			return i;
		}
		ips[i] = record.return_ip;
		below = fp + sizeof(record);
		fp = record.fp;
	}
	*status = fp ? LB_STACK_TRUNCATED : LB_STACK_COMPLETE;
	return LB_MAX_FRAMES;
}

#endif
