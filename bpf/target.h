/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom the programs look at, and what they lend each other. */
#ifndef LB_BPF_TARGET_H
#define LB_BPF_TARGET_H

#include "lineburn.h"

/*
 * tgid -> start_boottime of its leader, so that a re-used tgid does not match.
 * User space does not know it to the nanosecond and writes 0: who meets the
 * process first fills it in.
 */
struct lb_targets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
};

/*
 * Code generations of processes, written by the JIT probe. A forgotten process
 * begins at 1 again; until then its samples have generation 0.
 */
struct lb_code_gens_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct lb_code_key);
	__type(value, __u32);
};

/** @start_boottime_ns  of the leader of @tgid */
static __always_inline bool lb_is_target(void *targets, __u32 tgid,
					 __u64 start_boottime_ns)
{
	__u64 *start = bpf_map_lookup_elem(targets, &tgid);

	if (start && !*start)
		*start = start_boottime_ns;
	return start && *start == start_boottime_ns;
}

#endif
