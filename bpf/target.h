/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps that the programs share: targets and code generations. */
#ifndef LB_BPF_TARGET_H
#define LB_BPF_TARGET_H

#include "lineburn_filter.h"

/*
 * tgid, or tid | LB_TARGET_THREAD, -> its mask and start time, so that a reused id does
 * not match. User space does not know the start time to the nanosecond and writes 0;
 * the first tick fills it in.
 */
struct lb_targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct lb_target);
};

/*
 * Code generations of processes, written by the JIT probe. An evicted process starts at
 * 1 again; until then its samples have generation 0.
 */
struct lb_code_gens_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct lb_code_key);
	__type(value, __u32);
};

/** @start_boottime_ns  of the leader, or of the thread. Return: a mask. */
static __always_inline __u32 lb_target_mask(void *targets, __u32 id,
					    __u64 start_boottime_ns)
{
	struct lb_target *target = bpf_map_lookup_elem(targets, &id);

	if (!target)
		return 0;
	if (!target->start_boottime_ns)
		target->start_boottime_ns = start_boottime_ns;
	return target->start_boottime_ns == start_boottime_ns ? target->mask : 0;
}

#endif
