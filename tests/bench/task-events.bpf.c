// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts clock ticks of tests/bench/busy-quarters.c by quarter of its work. The quarter
 * is the end of the task's name. Ticks of other tasks are rejected, as lineburn does it.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license")
= "GPL";

#define TASK_COMM_LEN 16
#define NR_QUARTERS   4

static const char name[] = "busy-quarters";

__u64 nr_samples[NR_QUARTERS];

SEC("perf_event")
int count_quarter(void *ctx)
{
	char comm[TASK_COMM_LEN];
	__u32 quarter;

	if (bpf_get_current_comm(comm, sizeof(comm)))
		return 0;
	for (int i = 0; i < (int)sizeof(name) - 1; i++)
		if (comm[i] != name[i])
			return 0;
	quarter = comm[sizeof(name) - 1] ? (__u32)comm[sizeof(name) - 1] - '1' : 0;
	if (quarter < NR_QUARTERS)
		__sync_fetch_and_add(&nr_samples[quarter], 1);
	return 0;
}
