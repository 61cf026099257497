// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies code that a JIT registers for debuggers, at the moment of registration, by a
 * uprobe on __jit_debug_register_code. The registering thread is in the probe, so its
 * object does not change, and no other thread is stopped. Layouts: "JIT Compilation
 * Interface" in GDB's manual, version 1, of 64-bit programs.
 *
 * Since 6.0 (kernel commit 8c7dcb84e3b7) a uprobe's program may be preempted, and
 * another thread may run it on the same CPU meanwhile. So it uses no per-CPU scratch
 * memory, and increments counters atomically.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "lineburn.h"
#include "target.h"

char LICENSE[] SEC("license")
= "GPL";

/* Set by jit_probe.c between open and load. */
/*
 * Copies only for tgids that the map "targets" includes. Other kinds of rules are not
 * checked here, because registrations are rare and cost the process only once.
 */
const volatile bool filter_targets;
const volatile __u64 ring_bytes;

/* Set after waking user space, which clears it; prevents further wake-ups. */
volatile __u32 woken;

/* The sampler owns both maps. */
struct lb_targets_map targets SEC(".maps");
struct lb_code_gens_map code_gens SEC(".maps");

/* The size satisfies the verifier; jit_probe.c sets the real one. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_jit_counters);
} counters SEC(".maps");

#define CHUNKS_PER_SPAN 32
#define SPAN_BYTES      (CHUNKS_PER_SPAN * LB_JIT_CHUNK_BYTES)
#define MAX_SPANS       (LB_JIT_MAX_CHUNKS / CHUNKS_PER_SPAN)
_Static_assert(MAX_SPANS *CHUNKS_PER_SPAN == LB_JIT_MAX_CHUNKS, "spans are whole");

/*
 * Wakes user space when the ring is filled to 1 / WAKE_SHARE, because a full ring drops
 * records.
 */
#define WAKE_SHARE 8

enum action {
	ACTION_REGISTER = 1,
	ACTION_UNREGISTER = 2,
};

struct descriptor {
	__u32 version;
	__u32 action_flag; /* enum action, or 0 */
	__u64 relevant_entry;
};

struct code_entry {
	__u64 next_entry;
	__u64 prev_entry;
	__u64 symfile_addr;
	__u64 symfile_size;
};

/*
 * Returns the flags for the last record of a call. A wake-up per call would cost the
 * target an interrupt, so records wait in the ring for the next drain.
 */
static __always_inline __u64 wake_flags(bool urgent)
{
	if (woken || (!urgent && bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) <
					 ring_bytes / WAKE_SHARE))
		return BPF_RB_NO_WAKEUP;
	woken = 1;
	return BPF_RB_FORCE_WAKEUP;
}

/* Sends a chunk. A record's size must be constant, so there are a few sizes. */
static __always_inline int put_chunk(const __u32 room, __u64 cookie, __u64 object,
				     __u64 bytes, __u64 offset)
{
	struct lb_jit_record *rec = bpf_ringbuf_reserve(&records, sizeof(*rec) + room, 0);
	__u64 len = bytes - offset;

	if (!rec)
		return LB_JIT_NO_ROOM;
	if (len > room)
		len = room;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->kind = LB_JIT_CHUNK;
	rec->cookie = cookie;
	rec->offset = offset;
	rec->len = len;
	if (bpf_probe_read_user(rec->data, len, (void *)(object + offset))) {
		rec->len = 0;
		rec->failed = LB_JIT_FAULT;
		bpf_ringbuf_submit(rec, wake_flags(true));
		return LB_JIT_FAULT;
	}
	bpf_ringbuf_submit(rec,
			   offset + len < bytes ? BPF_RB_NO_WAKEUP : wake_flags(false));
	return LB_JIT_OK;
}

/*
 * Functions that are not static are verified once, independently, for any arguments:
 * two short loops instead of one with LB_JIT_MAX_CHUNKS iterations.
 * Return: enum lb_jit_failure.
 */
__noinline int lb_jit_chunk(__u64 cookie, __u64 object, __u64 bytes, __u64 offset)
{
	__u64 left = bytes - offset;

	if (left <= 1024)
		return put_chunk(1024, cookie, object, bytes, offset);
	if (left <= 2048)
		return put_chunk(2048, cookie, object, bytes, offset);
	if (left <= 4096)
		return put_chunk(4096, cookie, object, bytes, offset);
	if (left <= 8192)
		return put_chunk(8192, cookie, object, bytes, offset);
	return put_chunk(LB_JIT_CHUNK_BYTES, cookie, object, bytes, offset);
}

__noinline int lb_jit_span(__u64 cookie, __u64 object, __u64 bytes, __u64 offset)
{
	for (int i = 0; i < CHUNKS_PER_SPAN; i++) {
		int failure;

		if (offset >= bytes)
			return LB_JIT_OK;
		failure = lb_jit_chunk(cookie, object, bytes, offset);
		if (failure)
			return failure;
		offset += LB_JIT_CHUNK_BYTES;
	}
	return LB_JIT_OK;
}

static __always_inline int copy_object(const struct lb_jit_record *rec)
{
	__u64 offset = 0;

	for (int i = 0; i < MAX_SPANS; i++) {
		int failure;

		if (offset >= rec->symfile_bytes)
			return LB_JIT_OK;
		failure = lb_jit_span(rec->cookie, rec->symfile_addr, rec->symfile_bytes,
				      offset);
		if (failure)
			return failure;
		offset += SPAN_BYTES;
	}
	return LB_JIT_OK;
}

/*
 * Checks whether the object can be copied. It is refused if the ring has no room for
 * all of it.
 */
static __always_inline int check_object(const struct lb_jit_record *rec)
{
	__u64 bytes = rec->symfile_bytes, used;
	__u32 magic;

	if (bytes < sizeof(magic))
		return LB_JIT_NOT_ELF;
	if (bpf_probe_read_user(&magic, sizeof(magic), (void *)rec->symfile_addr))
		return LB_JIT_FAULT;
	if (magic != 0x464c457f) /* "\177ELF", on a little-endian machine */
		return LB_JIT_NOT_ELF;
	if (bytes > (__u64)LB_JIT_MAX_CHUNKS * LB_JIT_CHUNK_BYTES)
		return LB_JIT_TOO_BIG;
	/* Chunks have 88 bytes of headers; the last chunk may be half empty. */
	used = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	if (used + bytes + bytes / 128 + 2 * LB_JIT_CHUNK_BYTES > ring_bytes)
		return LB_JIT_NO_ROOM;
	return LB_JIT_OK;
}

/* Reads the call from the target. Return: false if there is nothing to report. */
static __always_inline bool read_call(__u64 descriptor_addr, struct lb_jit_record *rec)
{
	struct descriptor desc = {};
	struct code_entry entry = {};

	rec->kind = LB_JIT_REGISTER;
	if (bpf_probe_read_user(&desc, sizeof(desc), (void *)descriptor_addr) ||
	    desc.version != 1) {
		rec->failed = LB_JIT_FAULT;
		return true;
	}
	rec->entry_addr = desc.relevant_entry;
	if (desc.action_flag != ACTION_REGISTER && desc.action_flag != ACTION_UNREGISTER)
		return false;
	/* To unregister, the entry's address is enough. */
	if (desc.action_flag == ACTION_UNREGISTER)
		rec->kind = LB_JIT_UNREGISTER;
	if (bpf_probe_read_user(&entry, sizeof(entry), (void *)desc.relevant_entry)) {
		if (rec->kind == LB_JIT_REGISTER)
			rec->failed = LB_JIT_FAULT;
		return true;
	}
	rec->symfile_addr = entry.symfile_addr;
	rec->symfile_bytes = entry.symfile_size;
	if (rec->kind == LB_JIT_REGISTER)
		rec->failed = check_object(rec);
	return true;
}

/*
 * Increments the generation. Return: the new one, or a later one after concurrent
 * increments.
 */
static __always_inline __u32 bump(const struct lb_jit_record *rec)
{
	struct lb_code_key key = {
		.start_boottime_ns = rec->start_boottime_ns,
		.tgid = rec->tgid,
	};
	__u32 first = 1, *gen = bpf_map_lookup_elem(&code_gens, &key);

	if (!gen) {
		if (!bpf_map_update_elem(&code_gens, &key, &first, BPF_NOEXIST))
			return first;
		gen = bpf_map_lookup_elem(&code_gens, &key);
		if (!gen)
			return 0; /* no memory: samples of this process stay at 0 */
	}
	__sync_fetch_and_add(gen, 1);
	return *(volatile __u32 *)gen;
}

/* Sends a call and its object. Return: enum lb_jit_failure of the whole call. */
static __always_inline int send(struct lb_jit_record *rec)
{
	bool more = rec->kind == LB_JIT_REGISTER && !rec->failed;
	bool urgent = rec->failed && rec->failed != LB_JIT_NOT_ELF;
	int failure;

	if (bpf_ringbuf_output(&records, rec, sizeof(*rec),
			       more ? BPF_RB_NO_WAKEUP : wake_flags(urgent)))
		return LB_JIT_NO_ROOM;
	if (!more)
		return rec->failed;
	failure = copy_object(rec);
	if (failure == LB_JIT_NO_ROOM) {
		/* Other threads filled the ring meanwhile. Report that, if it fits. */
		struct lb_jit_record end = {
			.kind = LB_JIT_CHUNK,
			.cookie = rec->cookie,
			.failed = LB_JIT_NO_ROOM,
		};

		bpf_ringbuf_output(&records, &end, sizeof(end), wake_flags(true));
	}
	return failure;
}

SEC("uprobe")
int lb_jit_register(struct lb_regs *ctx)
{
	__u64 begin_ns = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct lb_jit_record rec = {.tgid = pid_tgid >> 32};
	struct lb_jit_counters *ctr;
	__u64 failure;
	__u32 zero = 0;
	__s64 delta;

	/*
	 * 5.15. Older kernels never attach this program, but must be able to load it.
	 */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return 0;
	delta = bpf_get_attach_cookie(ctx);
	ctr = bpf_map_lookup_elem(&counters, &zero);
	if (!ctr)
		return 0; /* impossible: an array, and the index is in range */

	rec.start_boottime_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	if (filter_targets && lb_target_mask(&targets, rec.tgid, rec.start_boottime_ns) !=
				      LB_FILTER_IN(LB_FILTER_PROCESS))
		return 0;
	rec.exec_id = BPF_CORE_READ(task, self_exec_id);
	if (!read_call(lb_regs_ip(ctx) + delta, &rec))
		return 0;
	__sync_fetch_and_add(&ctr->n[LB_JIT_CTR_CALLS], 1);

	/* The order matters: see code_gen() in sampler.bpf.c. */
	rec.code_gen = bump(&rec);
	rec.time_ns = bpf_ktime_get_ns();
	rec.cookie = LB_JIT_COOKIE((__u32)pid_tgid, rec.time_ns);
	failure = send(&rec);
	/*
	 * Verifiers up to at least 6.12 lose the bounds of a register that is copied,
	 * widened or counted down. So this very register is compared, with one number
	 * at a time.
	 */
	barrier_var(failure);
	if (failure < LB_NR_JIT_FAILURES) {
		barrier_var(failure);
		if (failure)
			__sync_fetch_and_add(&ctr->n[failure], 1);
	}
	__sync_fetch_and_add(&ctr->n[LB_JIT_CTR_RUN_NS], bpf_ktime_get_ns() - begin_ns);
	return 0;
}

_Static_assert(LB_JIT_FAULT == (int)LB_JIT_CTR_FAULT &&
		       LB_JIT_NOT_ELF == (int)LB_JIT_CTR_NOT_ELF &&
		       LB_JIT_TOO_BIG == (int)LB_JIT_CTR_TOO_BIG &&
		       LB_JIT_NO_ROOM == (int)LB_JIT_CTR_NO_ROOM,
	       "a failure's number is its counter's");
