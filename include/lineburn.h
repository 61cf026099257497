/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What crosses the line between kernel and user space: map keys, values,
 * records, limits and loss counters. Nothing else belongs here.
 */
#ifndef LB_LINEBURN_H
#define LB_LINEBURN_H

#ifndef __VMLINUX_H__ /* the BPF side already has the types */
#include <linux/types.h>
#endif

#define LB_MAX_FRAMES 127 /* of each stack, user and kernel */
#define LB_COMM_LEN   16 /* TASK_COMM_LEN */
#define LB_NR_SLOTS   2 /* the kernel writes one while user space drains the other */

/* How far the walk of the user stack came. Kept with every sample. */
enum lb_stack_status {
	LB_STACK_COMPLETE, /* the outermost frame was reached */
	LB_STACK_NO_USER, /* a kernel thread: there is no user stack */
	LB_STACK_TRUNCATED, /* more than LB_MAX_FRAMES: outermost frames are missing */
	LB_STACK_BAD_FP, /* the frame pointer leads nowhere: callers are missing */
	LB_STACK_FAULT, /* a stack page could not be read: callers are missing */
	LB_STACK_NO_REGS, /* user registers were not to be had: no user frame at all */
	LB_STACK_LEAF_ONLY, /* walking is switched off on this kernel: leaf only */
	LB_STACK_NO_BODY, /* body store full: the hashes are the two leaf addresses */
	LB_NR_STACK_STATUS,
};

/*
 * Key of the counts map: one entry per distinct pair of stacks of one program
 * image. The hashes are seeded at load and cover the whole struct lb_body
 * behind its hash, so thread name and cgroup distinguish samples too.
 */
struct lb_stack_key {
	__u64 start_boottime_ns; /* of the thread group's leader */
	__u64 user_hash; /* of the user body; 0: no user stack */
	__u64 kern_hash; /* of the kernel body; 0: no kernel stack */
	__u32 tgid; /* initial pid namespace */
	__u32 exec_id; /* task->self_exec_id: exec keeps tgid and start time */
	__u32 code_gen; /* bumped at each JIT (un)registration; 0: none seen */
	__u32 status; /* enum lb_stack_status */
};
_Static_assert(sizeof(struct lb_stack_key) == 40, "no padding in map keys");

struct lb_stack_count {
	__u64 count;
	__u64 first_ns; /* CLOCK_MONOTONIC of the first and last sample in this slot */
	__u64 last_ns;
};
_Static_assert(sizeof(struct lb_stack_count) == 24, "no padding in map values");

enum lb_body_kind {
	LB_BODY_USER,
	LB_BODY_USER_SYSCALL, /* ips[0] is behind the instruction that entered the kernel */
	LB_BODY_KERNEL,
};

/* A stack, written once per slot into the slot's ring before it is counted. */
struct lb_body {
	__u64 hash; /* what the key refers to */
	__u64 cgroup_id; /* cgroup v2 directory inode; kernel bodies: 0 */
	char comm[LB_COMM_LEN]; /* of the thread; kernel bodies: zeroes */
	__u32 tid; /* 0 unless threads were asked for */
	__u16 kind; /* enum lb_body_kind */
	__u16 nr_frames; /* 0..LB_MAX_FRAMES */
	__u64 ips[LB_MAX_FRAMES]; /* leaf first; the record ends after nr_frames */
};
_Static_assert(sizeof(struct lb_body) == 40 + 8 * LB_MAX_FRAMES, "no padding");

/*
 * Wakes the collector: the first sample of a program image, or, with tgid 0,
 * a slot that is half full and wants to be drained early.
 */
struct lb_first_sample {
	__u64 start_boottime_ns;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 tgid;
	__u32 exec_id;
};
_Static_assert(sizeof(struct lb_first_sample) == 24, "no padding in records");

/*
 * Per CPU and slot. ticks = idle + other + sampled, and
 * sampled = counted + lost_counts_full + lost_internal, exactly, at every flip.
 */
enum lb_counter {
	LB_CTR_TICKS, /* program runs */
	LB_CTR_IDLE, /* pid 0: neither due nor sampled */
	LB_CTR_OTHER, /* not one of the targets */
	LB_CTR_SAMPLED, /* ticks of the targets */
	LB_CTR_COUNTED, /* ... that are in the counts map */
	LB_CTR_LOST_COUNTS_FULL, /* ... lost: the counts map is full */
	LB_CTR_LOST_INTERNAL, /* ... lost: a map look-up failed that cannot fail */
	LB_CTR_NO_BODY, /* counted under the leaf: the body store is full */
	LB_CTR_USER_TRUNCATED, /* user stacks cut at LB_MAX_FRAMES */
	LB_CTR_KERN_TRUNCATED, /* kernel stacks that filled LB_MAX_FRAMES */
	LB_CTR_KERN_FAILED, /* kernel stack asked for, not given */
	LB_CTR_RUN_NS, /* nanoseconds spent in the program, idle ticks excluded */
	LB_CTR_FIRST_DROPPED, /* struct lb_first_sample did not fit its ring */
	LB_NR_COUNTERS,
};

struct lb_counters {
	__u64 n[LB_NR_COUNTERS];
};

/* ---- code that a JIT registers for debuggers (bpf/jit.bpf.c) ---- */

#define LB_JIT_CHUNK_BYTES 16384 /* of an object, in one record */
#define LB_JIT_MAX_CHUNKS \
	1024 /* of one object: 16 MiB; larger ones are fetched by a list walk */

/* Key of the code generations: a process, whatever it executes. */
struct lb_code_key {
	__u64 start_boottime_ns; /* of the thread group's leader */
	__u32 tgid;
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_code_key) == 16, "no padding in map keys");

enum lb_jit_kind {
	LB_JIT_REGISTER, /* chunks follow, with the same cookie, unless failed */
	LB_JIT_CHUNK, /* in order of offset; one with failed != 0 is the last */
	LB_JIT_UNREGISTER,
};

/*
 * One call of __jit_debug_register_code. Records of one call come in order; those
 * of different threads may come in between. Times are CLOCK_MONOTONIC, taken after
 * the code generation was bumped and before the first record is sent.
 */
struct lb_jit_record {
	__u32 kind; /* enum lb_jit_kind */
	__u32 len; /* CHUNK: bytes of data that count; else 0 */
	__u64 cookie; /* of the call: LB_JIT_COOKIE() of its thread and time */
	/* The next seven are 0 in a CHUNK. */
	__u64 time_ns;
	__u64 start_boottime_ns;
	__u32 tgid;
	__u32 exec_id;
	__u64 entry_addr; /* of struct jit_code_entry, in the target; 0: not known */
	__u64 symfile_addr; /* of the object, in the target */
	__u64 symfile_bytes; /* as the target says: hostile */
	__u64 offset; /* CHUNK: of data in the object */
	__u32 failed; /* enum lb_jit_failure; not 0: no (further) chunk will come */
	__u32 code_gen; /* of the process, after this call or a later one; CHUNK: 0 */
	__u8 data[]; /* CHUNK only; the record may be longer than len */
};
_Static_assert(sizeof(struct lb_jit_record) == 80, "no padding in records");

/* Thread ids have 22 bits (PID_MAX_LIMIT of linux/threads.h), nanoseconds wrap after 73 min. */
#define LB_JIT_COOKIE(tid, time_ns) \
	((__u64)(tid) << 42 | ((__u64)(time_ns) & ((1ULL << 42) - 1)))

/* What became of a call; each that is not LB_JIT_OK is the counter of that number. */
enum lb_jit_failure {
	LB_JIT_OK,
	LB_JIT_FAULT, /* target memory could not be read, or is no descriptor of version 1 */
	LB_JIT_NOT_ELF, /* an object in a format of the runtime's own */
	LB_JIT_TOO_BIG, /* more than LB_JIT_MAX_CHUNKS */
	LB_JIT_NO_ROOM, /* the ring has no room for the object */
	LB_NR_JIT_FAILURES,
};

/*
 * Per CPU. calls = whole objects and unregistrations in the ring + fault + not_elf +
 * too_big + no_room, exactly, when no call is under way.
 */
enum lb_jit_counter {
	LB_JIT_CTR_CALLS, /* registrations and unregistrations of targets */
	LB_JIT_CTR_FAULT,
	LB_JIT_CTR_NOT_ELF,
	LB_JIT_CTR_TOO_BIG,
	LB_JIT_CTR_NO_ROOM, /* a record did not fit: the call is lost, or the object is not whole */
	LB_JIT_CTR_RUN_NS, /* spent in the probe, with the time for which it was preempted */
	LB_NR_JIT_COUNTERS,
};

struct lb_jit_counters {
	__u64 n[LB_NR_JIT_COUNTERS];
};

#endif
