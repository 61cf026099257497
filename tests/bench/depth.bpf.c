// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What to compare a stack walk with: the kernel's frame pointer walk, an empty program.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license")
= "GPL";

#define MAX_FRAMES 127

struct stack {
	__u64 ips[MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack);
} stacks SEC(".maps");

__u64 nr_frames, nr_stacks;

SEC("perf_event")
int by_frame_pointers(void *ctx)
{
	__u32 zero = 0;
	struct stack *stack = bpf_map_lookup_elem(&stacks, &zero);
	long bytes;

	if (!stack)
		return 0;
	bytes = bpf_get_stack(ctx, stack->ips, sizeof(stack->ips), BPF_F_USER_STACK);
	if (bytes > 0) {
		nr_frames += (__u64)bytes / 8;
		nr_stacks++;
	}
	return 0;
}

SEC("perf_event")
int nothing(void *ctx)
{
	return 0;
}
