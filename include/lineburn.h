/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that the kernel and user space exchange: map keys, values, records, limits and
 * loss counters. Nothing else belongs here.
 */
#ifndef LB_LINEBURN_H
#define LB_LINEBURN_H

#ifndef __VMLINUX_H__ /* the BPF side already has the types */
#include <linux/types.h>
#endif

#define LB_MAX_FRAMES      512 /* of a user stack; an option limits the walk further */
#define LB_MAX_KERN_FRAMES 127 /* of a kernel stack, or kernel.perf_event_max_stack */
#define LB_COMM_LEN        16 /* TASK_COMM_LEN */
#define LB_NR_SLOTS        2 /* the kernel writes one while user space drains the other */

/* Event that made the kernel take a sample (collect/sample_source.h). */
enum lb_source {
	LB_SOURCE_CPU_CLOCK, /* values[0]: CPU time, ns */
	LB_SOURCE_PAGE_FAULTS, /* values[0]: page faults */
	LB_NR_SOURCES,
};
#define LB_NR_VALUES 1 /* most values of a sample */

/* Why the walk of the user stack ended. Stored with every sample. */
enum lb_stack_status {
	LB_STACK_COMPLETE, /* the outermost frame was reached */
	/* no user stack: a kernel thread, or an exec that has not begun the new program */
	LB_STACK_NO_USER,
	LB_STACK_TRUNCATED, /* more frames than the limit: outermost ones are missing */
	LB_STACK_BAD_FP, /* the frame pointer is invalid: callers are missing */
	/* a page could not be read, or the task gave up its memory: callers are missing */
	LB_STACK_FAULT,
	LB_STACK_NO_REGS, /* user registers were not available: no user frames at all */
	LB_STACK_LEAF_ONLY, /* walking is disabled on this kernel: leaf only */
	LB_STACK_NO_BODY, /* body store full: the hashes are the two leaf addresses */
	/* The walk by unwind tables ended early: callers are missing. */
	LB_STACK_NO_MAPPING, /* the return address is in no known executable mapping */
	LB_STACK_NO_TABLE, /* the unwind rows of that code are not in the kernel yet */
	LB_STACK_UNSUPPORTED, /* the walk does not support the rule */
	LB_STACK_BAD_CFA, /* a frame is not above its callee's: the stack is damaged */
	LB_STACK_32_BIT, /* 32-bit code: its stack is not walked, leaf only */
	/* Set by user space: complete, and LB_CALLERS_GUESSED. */
	LB_STACK_GUESSED,
	/*
	 * Set by user space: an unwind table was of other code, which was at the address
	 * before. The callers that it led to were removed.
	 */
	LB_STACK_REPLACED,
	/* Set by user space: complete, and LB_CALLERS_DERIVED. */
	LB_STACK_DERIVED,
	LB_NR_STACK_STATUS, /* the ones above are in profiles */
	/*
	 * The frame pointer of code without unwind rows is 0: it may be the outermost
	 * frame. Its name tells (record/profile_builder.c).
	 */
	LB_STACK_GUESSED_END = LB_NR_STACK_STATUS,
	/*
	 * The outermost return address is the first byte of a function, which no call
	 * leaves on a stack: it is where a coroutine's stack begins, or a function
	 * pointer. Its name tells.
	 */
	LB_STACK_AT_FUNCTION,
};

/* In a key's status, above enum lb_stack_status: how callers were found. */
#define LB_CALLERS_GUESSED (1 << 8) /* some by frame pointers, without unwind rows */
#define LB_CALLERS_DERIVED (1 << 9) /* some by rows that were made from machine code */
#define LB_CALLERS(status) ((status) & (LB_CALLERS_GUESSED | LB_CALLERS_DERIVED))

/* Status in a key without bodies: LB_STACK_NO_BODY, and why the walk ended. */
#define LB_STATUS_NO_BODY(status) ((status) << 8 | LB_STACK_NO_BODY)
#define LB_STATUS_OF_WALK(status) ((status) >> 8)

/*
 * Key of the counts map: one entry per distinct pair of stacks of one program image.
 * The hashes are seeded at load and cover all of struct lb_body after its hash, so
 * samples with different thread names, users or cgroups differ, too.
 */
struct lb_stack_key {
	__u64 start_boottime_ns; /* of the thread group's leader */
	__u64 user_hash; /* of the user body; 0: no user stack */
	__u64 kern_hash; /* of the kernel body; 0: no kernel stack */
	__u32 tgid; /* initial pid namespace */
	__u32 exec_id; /* task->self_exec_id: exec keeps tgid and start time */
	__u32 code_gen; /* incremented at each JIT (un)registration; 0: none seen */
	/* enum lb_stack_status | LB_CALLERS_*, or LB_STATUS_NO_BODY() */
	__u16 status;
	__u16 source; /* enum lb_source */
};
_Static_assert(sizeof(struct lb_stack_key) == 40, "no padding in map keys");

struct lb_stack_count {
	__u64 count;
	__u64 values[LB_NR_VALUES]; /* [0]: sum of the events' periods */
	__u64 first_ns; /* CLOCK_MONOTONIC of the first and last sample in this slot */
	__u64 last_ns;
};
_Static_assert(sizeof(struct lb_stack_count) == 24 + 8 * LB_NR_VALUES,
	       "no padding in map values");

enum lb_body_kind {
	LB_BODY_USER,
	LB_BODY_USER_SYSCALL, /* ips[0] follows the instruction that entered the kernel */
	LB_BODY_KERNEL,
};

/*
 * A user frame with bit 63 set is not an address but an interpreter frame. It has the
 * kind (enum runtime_number of decode/runtimes.h), the code object and the place in it.
 * No address of user code has that bit, except in the vsyscall page, so the leaf's bit
 * is cleared.
 */
#define LB_FRAME_TAG           (1ULL << 63)
#define LB_FRAME_KIND_BITS     3
#define LB_FRAME_ID_BITS       40 /* of the code object: lb_interp_code.code_id */
#define LB_FRAME_INDEX_BITS    20 /* place in it; Python: offset in the bytecode / 2 */
#define LB_FRAME_INDEX_UNKNOWN ((1u << LB_FRAME_INDEX_BITS) - 1) /* or too large */
#define LB_FRAME_FIELD(value, bits, shift) \
	(((__u64)(value) & ((1ULL << (bits)) - 1)) << (shift))
#define LB_FRAME_OF(kind, code_id, index)                                 \
	(LB_FRAME_TAG |                                                   \
	 LB_FRAME_FIELD(kind, LB_FRAME_KIND_BITS,                         \
			LB_FRAME_ID_BITS + LB_FRAME_INDEX_BITS) |         \
	 LB_FRAME_FIELD(code_id, LB_FRAME_ID_BITS, LB_FRAME_INDEX_BITS) | \
	 LB_FRAME_FIELD(index, LB_FRAME_INDEX_BITS, 0))
#define LB_FRAME_KIND(frame)                                           \
	((__u32)((frame) >> (LB_FRAME_ID_BITS + LB_FRAME_INDEX_BITS) & \
		 ((1u << LB_FRAME_KIND_BITS) - 1)))
#define LB_FRAME_ID(frame) \
	((frame) >> LB_FRAME_INDEX_BITS & ((1ULL << LB_FRAME_ID_BITS) - 1))
#define LB_FRAME_INDEX(frame) ((__u32)(frame)&LB_FRAME_INDEX_UNKNOWN)
_Static_assert(1 + LB_FRAME_KIND_BITS + LB_FRAME_ID_BITS + LB_FRAME_INDEX_BITS == 64,
	       "a frame is a word");

/* Identifies a program image, for unwind tables, code objects and wake-ups. */
struct lb_image {
	__u64 start_boottime_ns; /* of the thread group's leader */
	__u32 tgid; /* initial pid namespace */
	__u32 exec_id; /* task->self_exec_id */
};
_Static_assert(sizeof(struct lb_image) == 16, "no padding in map keys");

/* A stack, written once per slot into the slot's ring before it is counted. */
struct lb_body {
	__u64 hash; /* the key refers to it */
	__u64 cgroup_id; /* cgroup v2 directory inode; kernel bodies: 0 */
	char comm[LB_COMM_LEN]; /* of the thread; kernel bodies: zeroes */
	__u32 uid; /* effective, of the process; LB_NO_ID: not read; kernel bodies: 0 */
	__u32 pad1; /* 0 */
	__u32 tid; /* 0 unless threads are distinguished */
	__u8 kind; /* enum lb_body_kind */
	__u8 pad; /* 0 */
	__u16 nr_frames; /* 0..LB_MAX_FRAMES */
	__u64 ips[LB_MAX_FRAMES]; /* leaf first; the record ends after nr_frames */
};
_Static_assert(sizeof(struct lb_body) == 48 + 8 * LB_MAX_FRAMES, "no padding");

/* Credentials and root directory of a program image's leader at a sample. */
struct lb_ids {
	/*
	 * Of the cgroups of the running thread, and of the process's parent: equal numbers
	 * that were read at one time mean the same cgroups in all hierarchies. 0: not read
	 */
	__u64 cgroups, parents_cgroups;
	__u32 ppid; /* its parent now; 0: not read */
	__u32 uid, gid; /* effective, initial user namespace; LB_NO_ID: not read */
	__u32 user_ns; /* inode number of its user namespace; 0: not read */
	/*
	 * Id of the mount whose root is its root directory; 0: its root is not a
	 * mount's root.
	 */
	__u32 root_mount;
	__u32 ns_tgid; /* its pid in its own (innermost) pid namespace; 0: not read */
};
#define LB_NO_ID 0xffffffffU

/*
 * Wakes the collector at the first sample of a program image, and at the first one with
 * another user or group. With tgid 0: a slot is half full and should be drained early.
 */
struct lb_first_sample {
	__u64 start_boottime_ns;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 tgid;
	__u32 exec_id;
	struct lb_ids ids;
};
_Static_assert(sizeof(struct lb_first_sample) == 64, "no padding in records");

/*
 * Per CPU and slot. ticks = idle + other + sampled, and
 * sampled = counted + lost_counts_full + lost_internal, exactly, at every flip.
 *
 * The first ones, up to the frames, are those that an ordinary sample changes.
 */
enum lb_counter {
	LB_CTR_TICKS, /* program runs, for any source */
	LB_CTR_IDLE, /* pid 0: neither expected nor sampled */
	LB_CTR_OTHER, /* not one of the targets */
	/*
	 * Nanoseconds spent in the filter: one of LB_FILTER_MEASURED ticks is measured
	 * and counts for all.
	 */
	LB_CTR_FILTER_NS,
	LB_CTR_SAMPLED, /* ticks of the targets */
	LB_CTR_COUNTED, /* ... that are in the counts map */
	LB_CTR_RUN_NS, /* nanoseconds spent on sampled ticks, after the filter */
	LB_CTR_USER_FRAMES, /* native user frames, of all sampled stacks */
	LB_CTR_PYTHON_FRAMES, /* frames of interpreters, same */
	LB_CTR_LOST_COUNTS_FULL, /* ... lost: the counts map is full */
	LB_CTR_LOST_INTERNAL, /* ... lost: a map look-up failed unexpectedly */
	LB_CTR_NO_BODY, /* counted under the leaf, because the body store is full */
	LB_CTR_USER_TRUNCATED, /* user stacks cut at the configured number of frames */
	LB_CTR_KERN_TRUNCATED, /* kernel stacks that reached a limit */
	LB_CTR_KERN_FAILED, /* the kernel stack was requested but not available */
	LB_CTR_FIRST_DROPPED, /* struct lb_first_sample did not fit its ring */
	/* struct lb_unwind_request did not fit its ring, or is one too many of its walk */
	LB_CTR_REQUEST_DROPPED,
	LB_CTR_GUESSED_FRAMES, /* native user frames found by frame pointers */
	/* runs of interpreter frames without a known place in the C stack */
	LB_CTR_PYTHON_STALE,
	LB_CTR_PYTHON_FAULT, /* an interpreter's memory was unreadable or invalid */
	LB_CTR_CODE_DROPPED, /* struct lb_interp_code did not fit its ring */
	LB_NR_COUNTERS,
};

#define LB_FILTER_MEASURED 64 /* a power of two */

struct lb_counters {
	__u64 n[LB_NR_COUNTERS];
};

/* ---- code that a JIT registers for debuggers (bpf/jit.bpf.c) ---- */

#define LB_JIT_CHUNK_BYTES 16384 /* of an object, in one record */
#define LB_JIT_MAX_CHUNKS \
	1024 /* of one object: 16 MiB; larger ones are read by a list walk */

/* Key of the code generations: a process, across its execs. */
struct lb_code_key {
	__u64 start_boottime_ns; /* of the thread group's leader */
	__u32 tgid;
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_code_key) == 16, "no padding in map keys");

enum lb_jit_kind {
	LB_JIT_REGISTER, /* chunks follow, with the same cookie, unless failed */
	LB_JIT_CHUNK, /* in order of offset; a chunk with failed != 0 is the last */
	LB_JIT_UNREGISTER,
};

/*
 * One call of __jit_debug_register_code. Records of one call are in order; those of
 * other threads may be interleaved. Times are CLOCK_MONOTONIC, taken after the code
 * generation was incremented and before the first record is sent.
 */
struct lb_jit_record {
	__u32 kind; /* enum lb_jit_kind */
	__u32 len; /* CHUNK: valid bytes of data; else 0 */
	__u64 cookie; /* of the call: LB_JIT_COOKIE() of its thread and time */
	/* The next seven are 0 in a CHUNK. */
	__u64 time_ns;
	__u64 start_boottime_ns;
	__u32 tgid;
	__u32 exec_id;
	__u64 entry_addr; /* of struct jit_code_entry, in the target; 0: not known */
	__u64 symfile_addr; /* of the object, in the target */
	__u64 symfile_bytes; /* from the target: untrusted */
	__u64 offset; /* CHUNK: of data in the object */
	__u32 failed; /* enum lb_jit_failure; nonzero: no further chunk follows */
	__u32 code_gen; /* of the process, after this call or a later one; CHUNK: 0 */
	__u8 data[]; /* CHUNK only; the record may be longer than len */
};
_Static_assert(sizeof(struct lb_jit_record) == 80, "no padding in records");

/* tids have 22 bits (PID_MAX_LIMIT of linux/threads.h), nanoseconds wrap after 73 min. */
#define LB_JIT_COOKIE(tid, time_ns) \
	((__u64)(tid) << 42 | ((__u64)(time_ns) & ((1ULL << 42) - 1)))

/* Outcome of a call. Each value but LB_JIT_OK is also the number of its counter. */
enum lb_jit_failure {
	LB_JIT_OK,
	LB_JIT_FAULT, /* target memory unreadable, or not a descriptor of version 1 */
	LB_JIT_NOT_ELF, /* the object is in a runtime-specific format */
	LB_JIT_TOO_BIG, /* more than LB_JIT_MAX_CHUNKS */
	LB_JIT_NO_ROOM, /* the ring has no room for the object */
	LB_NR_JIT_FAILURES,
};

/*
 * Per CPU. calls = whole objects and unregistrations in the ring + fault + not_elf +
 * too_big + no_room, exactly, while no call is in progress.
 */
enum lb_jit_counter {
	LB_JIT_CTR_CALLS, /* registrations and unregistrations of targets */
	LB_JIT_CTR_FAULT,
	LB_JIT_CTR_NOT_ELF,
	LB_JIT_CTR_TOO_BIG,
	LB_JIT_CTR_NO_ROOM, /* a record did not fit: the call or its object is lost */
	LB_JIT_CTR_RUN_NS, /* spent in the probe, including preemption */
	LB_NR_JIT_COUNTERS,
};

struct lb_jit_counters {
	__u64 n[LB_NR_JIT_COUNTERS];
};

#endif
