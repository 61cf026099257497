// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies code that a JIT registers for debuggers, at the moment of registration, by a
 * uprobe on __jit_debug_register_code. The registering thread is in the probe, so its
 * object does not change, and no other thread is stopped. Layouts: "JIT Compilation
 * Interface" in GDB's manual, version 1, of 64-bit programs.
 *
 * Since 6.0 (kernel commit 8c7dcb84e3b7) a uprobe's program may be preempted, and
 * another thread may run it on the same CPU meanwhile. So it uses no per-CPU scratch
 * memory, and increments counters atomically. Since 6.13 on x86-64 (7d1cd70d4b16), later
 * on arm64, the stack of a function that uses 64 bytes or more is such memory, too: the
 * kernel keeps one for each program and CPU. It expects that a CPU runs a program once at a
 * time, but does not ensure that for uprobes. The first thread would find the record of the
 * second one there, or a pointer that the verifier never saw. So the functions here are
 * small, and tools/bpf-stack.py asserts their size.
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
	/* Not of the interface: the descriptor is not readable, or of another version. */
	ACTION_UNREADABLE,
};

/* struct jit_descriptor begins so; the address of the entry in question follows. */
struct descriptor_begin {
	__u32 version;
	__u32 action_flag; /* enum action, or 0 */
};

#define DESCRIPTOR_ENTRY 8 /* offset of relevant_entry */
#define ENTRY_SYMFILE    16 /* of symfile_addr in struct jit_code_entry; its size follows */

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

/* Other threads filled the ring meanwhile. Reports that, if it fits. */
static __always_inline void put_end(__u64 cookie)
{
	struct lb_jit_record *end = bpf_ringbuf_reserve(&records, sizeof(*end), 0);

	if (!end)
		return;
	__builtin_memset(end, 0, sizeof(*end));
	end->kind = LB_JIT_CHUNK;
	end->cookie = cookie;
	end->failed = LB_JIT_NO_ROOM;
	bpf_ringbuf_submit(end, wake_flags(true));
}

/* Sends an object. Return: enum lb_jit_failure. */
__noinline int lb_jit_object(__u64 cookie, __u64 object, __u64 bytes)
{
	__u64 offset = 0;

	for (int i = 0; i < MAX_SPANS; i++) {
		int failure;

		if (offset >= bytes)
			return LB_JIT_OK;
		failure = lb_jit_span(cookie, object, bytes, offset);
		if (failure == LB_JIT_NO_ROOM)
			put_end(cookie);
		if (failure)
			return failure;
		offset += SPAN_BYTES;
	}
	return LB_JIT_OK;
}

/*
 * Checks whether the object can be copied. It is refused if the ring has no room for
 * all of it. Return: enum lb_jit_failure.
 */
__noinline int lb_jit_check(__u64 object, __u64 bytes)
{
	__u64 used;
	__u32 magic;

	if (bytes < sizeof(magic))
		return LB_JIT_NOT_ELF;
	if (bpf_probe_read_user(&magic, sizeof(magic), (void *)object))
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

/*
 * Increments the generation of the current process. Return: the new one, or a later one
 * after concurrent increments.
 */
__noinline __u64 lb_jit_bump(__u64 start_boottime_ns)
{
	struct lb_code_key key = {
		.start_boottime_ns = start_boottime_ns,
		.tgid = bpf_get_current_pid_tgid() >> 32,
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

/*
 * What the current thread calls for. Return: enum action; 0: nothing that is to be
 * reported.
 */
__noinline int lb_jit_action(__u64 descriptor_addr)
{
	struct descriptor_begin begin;

	if (bpf_probe_read_user(&begin, sizeof(begin), (void *)descriptor_addr) ||
	    begin.version != 1)
		return ACTION_UNREADABLE;
	if (begin.action_flag == ACTION_REGISTER ||
	    begin.action_flag == ACTION_UNREGISTER)
		return begin.action_flag;
	return 0;
}

/*
 * Reads the entry, and for a registration the object's place, into @rec. To unregister,
 * the entry's address is enough. Return: enum lb_jit_failure.
 */
static __always_inline int read_entry(__u64 descriptor_addr, int action,
				      struct lb_jit_record *rec)
{
	if (action == ACTION_UNREADABLE ||
	    bpf_probe_read_user(&rec->entry_addr, sizeof(rec->entry_addr),
				(void *)(descriptor_addr + DESCRIPTOR_ENTRY)))
		return LB_JIT_FAULT;
	if (action == ACTION_UNREGISTER)
		rec->kind = LB_JIT_UNREGISTER;
	if (bpf_probe_read_user(&rec->symfile_addr,
				sizeof(rec->symfile_addr) + sizeof(rec->symfile_bytes),
				(void *)(rec->entry_addr + ENTRY_SYMFILE)))
		return action == ACTION_REGISTER ? LB_JIT_FAULT : LB_JIT_OK;
	return action == ACTION_REGISTER
		       ? lb_jit_check(rec->symfile_addr, rec->symfile_bytes)
		       : LB_JIT_OK;
}

/* Sends the current thread's call, and its object. Return: enum lb_jit_failure. */
__noinline int lb_jit_send(__u64 descriptor_addr, int action, __u64 start_boottime_ns)
{
	/* The order matters: see code_gen() in sampler.bpf.c. */
	__u32 code_gen = lb_jit_bump(start_boottime_ns);
	struct lb_jit_record *rec = bpf_ringbuf_reserve(&records, sizeof(*rec), 0);
	__u64 pid_tgid, cookie, object, bytes;
	struct task_struct *task;
	int failure;

	if (!rec)
		return LB_JIT_NO_ROOM;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->kind = LB_JIT_REGISTER; /* until it is known that it is not */
	rec->start_boottime_ns = start_boottime_ns;
	rec->code_gen = code_gen;
	rec->time_ns = bpf_ktime_get_ns();
	pid_tgid = bpf_get_current_pid_tgid();
	rec->tgid = pid_tgid >> 32;
	rec->cookie = LB_JIT_COOKIE((__u32)pid_tgid, rec->time_ns);
	task = (struct task_struct *)bpf_get_current_task();
	bpf_core_read(&rec->exec_id, sizeof(rec->exec_id), &task->self_exec_id);
	rec->failed = failure = read_entry(descriptor_addr, action, rec);
	if (action == ACTION_REGISTER && !failure) {
		cookie = rec->cookie;
		object = rec->symfile_addr;
		bytes = rec->symfile_bytes;
		bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
		return lb_jit_object(cookie, object, bytes);
	}
	bpf_ringbuf_submit(rec, wake_flags(failure && failure != LB_JIT_NOT_ELF));
	return failure;
}

/*
 * @counter  enum lb_jit_counter. Verifiers up to at least 6.12 lose the bounds of a
 *           register that is copied, widened or counted down. So this very register is
 *           compared.
 */
__noinline int lb_jit_count(__u64 counter, __u64 nr)
{
	__u32 zero = 0;
	struct lb_jit_counters *ctr = bpf_map_lookup_elem(&counters, &zero);

	barrier_var(counter);
	if (!ctr || counter >= LB_NR_JIT_COUNTERS)
		return 0;
	barrier_var(counter);
	__sync_fetch_and_add(&ctr->n[counter], nr);
	return 0;
}

__noinline int lb_jit_is_target(__u64 start_boottime_ns)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return lb_target_mask(&targets, tgid, start_boottime_ns) ==
	       LB_FILTER_IN(LB_FILTER_PROCESS);
}

SEC("uprobe")
int lb_jit_register(struct lb_regs *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 begin_ns = bpf_ktime_get_ns(), start_boottime_ns, descriptor_addr;
	int action, failure;

	/*
	 * 5.15. Older kernels never attach this program, but must be able to load it.
	 */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return 0;
	descriptor_addr = lb_regs_ip(ctx) + bpf_get_attach_cookie(ctx);
	start_boottime_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	if (filter_targets && !lb_jit_is_target(start_boottime_ns))
		return 0;
	action = lb_jit_action(descriptor_addr);
	if (!action)
		return 0;
	lb_jit_count(LB_JIT_CTR_CALLS, 1);
	failure = lb_jit_send(descriptor_addr, action, start_boottime_ns);
	if (failure)
		lb_jit_count(failure, 1);
	lb_jit_count(LB_JIT_CTR_RUN_NS, bpf_ktime_get_ns() - begin_ns);
	return 0;
}

_Static_assert(LB_JIT_FAULT == (int)LB_JIT_CTR_FAULT &&
		       LB_JIT_NOT_ELF == (int)LB_JIT_CTR_NOT_ELF &&
		       LB_JIT_TOO_BIG == (int)LB_JIT_CTR_TOO_BIG &&
		       LB_JIT_NO_ROOM == (int)LB_JIT_CTR_NO_ROOM,
	       "a failure's number is its counter's");
