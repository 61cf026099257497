/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One row of a drained slot, as plain data. */
#ifndef LB_COLLECT_SAMPLE_H
#define LB_COLLECT_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lineburn.h"

/* All pointers are valid during the callback only. */
struct sample {
	uint64_t start_boottime_ns; /* of the thread group's leader */
	uint32_t tgid; /* initial pid namespace */
	uint32_t exec_id;
	uint32_t code_gen;
	enum lb_stack_status status;
	uint64_t count; /* > 0 */
	enum lb_source source;
	/* What the samples stand for, by source: [0] is the sum of their periods. */
	uint64_t values[LB_NR_VALUES];
	uint64_t first_ns; /* CLOCK_MONOTONIC, first_ns <= last_ns */
	uint64_t last_ns;
	const char *comm; /* of the thread, terminated; NULL: not known */
	uint32_t tid; /* 0: threads are not kept apart, or not known */
	uint64_t cgroup_id; /* 0: not known */
	uint64_t user_hash; /* identifies comm, cgroup, tid and user_ips together */
	uint64_t kern_hash; /* 0: no kernel stack */
	/* Leaf first: an instruction, or a return address after a system call. */
	const __u64 *user_ips;
	const __u64 *kern_ips; /* leaf first: an instruction, then return addresses */
	bool user_leaf_is_return; /* the thread is in a system call */
	uint32_t nr_user;
	uint32_t nr_guessed; /* user frames found by frame pointers; 255: or more */
	uint32_t nr_kern;
};

#endif
