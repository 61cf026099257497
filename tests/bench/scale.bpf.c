// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes records into a ring, as the sampler does: user space cannot. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license")
= "GPL";

#define RECORD_BYTES 352 /* as in scale-maps.c */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

char record[RECORD_BYTES]; /* set by user space */

SEC("syscall")
int write_record(void *ctx)
{
	return (int)bpf_ringbuf_output(&ring, record, sizeof(record), BPF_RB_NO_WAKEUP);
}
