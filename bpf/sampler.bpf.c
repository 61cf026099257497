// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filter (who) -> kernel stack -> user stack -> count.
 *
 * Counts and stack bodies live in two slots. A program run reads active_slot
 * once and stays in that slot; user space flips it, waits until no run is in the
 * old one (a map-in-map update waits for that, kernel commit 1ae80cf31938, 5.0)
 * and drains what nobody writes any more. A stack's body goes into the slot's
 * ring before it is counted, so every count that is drained has its body.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "arch.h"
#include "lineburn.h"
#include "target.h"
#include "unwind.h"

char LICENSE[] SEC("license")
= "GPL";

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Set by sampler.c between open and load. */
const volatile __u64 hash_seed;
const volatile bool filter_targets; /* only the tgids in the map "targets" */
const volatile bool keep_tid; /* threads are told apart */
const volatile bool kernel_stacks;
const volatile bool walk_user; /* false on kernels where reading user memory is unsafe */
const volatile __u32 body_ring_bytes;

/* Written by user space: the slot that program runs use. */
volatile __u32 active_slot;
/* Set here when a slot is half full, so that user space is woken once; cleared by it. */
volatile __u32 drain_wanted;
/* Set by sampler.c once something is probed that bumps code generations. */
volatile __u32 code_gens_used;
/* Children of targets that did not fit the map. */
__u64 targets_dropped;

/* The sizes below are for the verifier; sampler.c sets the real ones by rate and CPUs. */
struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct lb_stack_key);
	__type(value, struct lb_stack_count);
};
struct counts_map counts_0 SEC(".maps"), counts_1 SEC(".maps");

struct bodies_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};
struct bodies_map bodies_0 SEC(".maps"), bodies_1 SEC(".maps");

/* Hashes whose body is in the slot's ring already. */
struct seen_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
};
struct seen_map seen_0 SEC(".maps"), seen_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LB_NR_SLOTS);
	__type(key, __u32);
	__array(values, struct counts_map);
} counts SEC(".maps")
= {.values = {&counts_0, &counts_1}};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LB_NR_SLOTS);
	__type(key, __u32);
	__array(values, struct bodies_map);
} bodies SEC(".maps")
= {.values = {&bodies_0, &bodies_1}};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LB_NR_SLOTS);
	__type(key, __u32);
	__array(values, struct seen_map);
} seen SEC(".maps")
= {.values = {&seen_0, &seen_1}};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_NR_SLOTS);
	__type(key, __u32);
	__type(value, struct lb_counters);
} counters SEC(".maps");

struct lb_targets_map targets SEC(".maps");
struct lb_code_gens_map code_gens SEC(".maps");

struct image_key {
	__u64 start_boottime_ns;
	__u32 tgid;
	__u32 exec_id;
};

/* Program images that user space was told about. Forgetting one costs a second wake-up. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct image_key);
	__type(value, __u8);
} images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} first_samples SEC(".maps");

struct scratch {
	struct lb_regs regs;
	struct lb_body user, kern;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline void wake(__u32 tgid, const struct image_key *image, __u64 now,
				 struct lb_counters *ctr)
{
	struct lb_first_sample *first;

	first = bpf_ringbuf_reserve(&first_samples, sizeof(*first), 0);
	if (!first) {
		ctr->n[LB_CTR_FIRST_DROPPED]++;
		return;
	}
	first->start_boottime_ns = image->start_boottime_ns;
	first->time_ns = now;
	first->tgid = tgid;
	first->exec_id = image->exec_id;
	bpf_ringbuf_submit(first, 0);
}

static __always_inline void announce(const struct image_key *image, __u64 now,
				     struct lb_counters *ctr)
{
	__u8 known = 1;

	if (bpf_map_lookup_elem(&images, image))
		return;
	/* A concurrent insert already told; a failed one tells again next time. */
	if (!bpf_map_update_elem(&images, image, &known, BPF_NOEXIST))
		wake(image->tgid, image, now, ctr);
}

/* Everything behind body.hash goes into the hash. */
static __always_inline void seal(struct lb_body *body)
{
	__u64 hash = hash_seed, *head = (__u64 *)&body->cgroup_id;
	__u32 nr = body->nr_frames;

	for (int i = 0; i < 4; i++) {
		hash = (hash ^ head[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	for (__u32 i = 0; i < LB_MAX_FRAMES && i < nr; i++) {
		hash = (hash ^ body->ips[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	body->hash = hash ? hash : 1;
}

/* Puts the body into the slot's ring unless it is there. Return: 0, or it is full. */
static __always_inline int store(void *ring, void *seen_hashes, struct lb_body *body)
{
	__u64 hash = body->hash;
	__u32 nr = body->nr_frames;
	__u8 known = 1;

	if (bpf_map_lookup_elem(seen_hashes, &hash))
		return 0;
	if (nr > LB_MAX_FRAMES)
		nr = LB_MAX_FRAMES;
	if (bpf_ringbuf_output(ring, body,
			       __builtin_offsetof(struct lb_body, ips) + nr * 8,
			       BPF_RB_NO_WAKEUP))
		return -1;
	/* Should this fail, the body is written a second time, which does no harm. */
	bpf_map_update_elem(seen_hashes, &hash, &known, BPF_ANY);
	return 0;
}

static __always_inline bool add(void *map, const struct lb_stack_key *key, __u64 now)
{
	struct lb_stack_count *count = bpf_map_lookup_elem(map, key);

	if (!count)
		return false;
	__sync_fetch_and_add(&count->count, 1);
	if (now > count->last_ns)
		count->last_ns = now;
	return true;
}

static __always_inline void count(__u32 slot, struct lb_stack_key *key,
				  struct scratch *scratch, __u64 now,
				  struct lb_counters *ctr)
{
	struct lb_stack_count fresh = {.count = 1, .first_ns = now, .last_ns = now};
	void *map = bpf_map_lookup_elem(&counts, &slot);
	void *ring = bpf_map_lookup_elem(&bodies, &slot);
	void *hashes = bpf_map_lookup_elem(&seen, &slot);

	if (!map || !ring || !hashes) {
		ctr->n[LB_CTR_LOST_INTERNAL]++;
		return;
	}
	if (add(map, key, now)) {
		ctr->n[LB_CTR_COUNTED]++;
		return;
	}
	if (!drain_wanted &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > body_ring_bytes / 2) {
		struct image_key none = {};

		drain_wanted = 1;
		wake(0, &none, now, ctr);
	}
	if ((key->user_hash && store(ring, hashes, &scratch->user)) ||
	    (key->kern_hash && store(ring, hashes, &scratch->kern))) {
		ctr->n[LB_CTR_NO_BODY]++;
		key->user_hash = key->user_hash ? scratch->user.ips[0] : 0;
		key->kern_hash = key->kern_hash ? scratch->kern.ips[0] : 0;
		key->status = LB_STACK_NO_BODY;
		if (add(map, key, now)) {
			ctr->n[LB_CTR_COUNTED]++;
			return;
		}
	}
	/* The other CPU may have added it since; then it is there to be counted. */
	if (!bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST) || add(map, key, now))
		ctr->n[LB_CTR_COUNTED]++;
	else
		ctr->n[LB_CTR_LOST_COUNTS_FULL]++;
}

/*
 * User registers of the current task: the interrupted ones, or those that it
 * entered the kernel with.
 */
static __always_inline bool user_regs(struct lb_perf_event_ctx *ctx,
				      struct task_struct *task, struct lb_regs *regs)
{
	void *saved;

	if (lb_regs_user(&ctx->regs)) {
		/* A context is read member by member: the verifier rewrites each load. */
		lb_regs_ip(regs) = lb_regs_ip(&ctx->regs);
		lb_regs_sp(regs) = lb_regs_sp(&ctx->regs);
		lb_regs_fp(regs) = lb_regs_fp(&ctx->regs);
		return true;
	}
	/* bpf_task_pt_regs: 5.15. Before it the layout of the stack's top is known. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		saved = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		saved = (char *)BPF_CORE_READ(task, stack) + LB_THREAD_SIZE -
			sizeof(*regs);
	return !bpf_probe_read_kernel(regs, sizeof(*regs), saved) && lb_regs_user(regs);
}

static __always_inline void take_user(struct lb_perf_event_ctx *ctx,
				      struct task_struct *task, struct scratch *scratch,
				      struct lb_stack_key *key, struct lb_counters *ctr)
{
	struct lb_body *body = &scratch->user;
	__u32 nr = 0;

	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		key->status = LB_STACK_NO_USER;
	else if (!user_regs(ctx, task, &scratch->regs))
		key->status = LB_STACK_NO_REGS;
	else
		nr = lb_unwind_user(&scratch->regs, walk_user, body->ips, &key->status);
	if (key->status == LB_STACK_TRUNCATED)
		ctr->n[LB_CTR_USER_TRUNCATED]++;

	body->kind = LB_BODY_USER;
	if (nr && !lb_regs_user(&ctx->regs) && lb_regs_in_syscall(&scratch->regs))
		body->kind = LB_BODY_USER_SYSCALL;
	body->nr_frames = nr;
	body->cgroup_id = bpf_get_current_cgroup_id();
	body->tid = keep_tid ? (__u32)bpf_get_current_pid_tgid() : 0;
	bpf_get_current_comm(body->comm, sizeof(body->comm));
	seal(body);
	key->user_hash = body->hash;
}

static __always_inline void take_kernel(struct lb_perf_event_ctx *ctx,
					struct scratch *scratch, struct lb_stack_key *key,
					struct lb_counters *ctr)
{
	struct lb_body *body = &scratch->kern;
	long bytes = 0;

	if (lb_regs_user(&ctx->regs))
		return;
	if (kernel_stacks)
		bytes = bpf_get_stack(ctx, body->ips, sizeof(body->ips), 0);
	if (bytes <= 0) {
		ctr->n[LB_CTR_KERN_FAILED] += kernel_stacks;
		body->ips[0] = lb_regs_ip(&ctx->regs);
		bytes = sizeof(body->ips[0]);
	}
	if (bytes == sizeof(body->ips))
		ctr->n[LB_CTR_KERN_TRUNCATED]++;
	body->kind = LB_BODY_KERNEL;
	body->nr_frames = (__u64)bytes / sizeof(body->ips[0]);
	seal(body);
	key->kern_hash = body->hash;
}

/*
 * Looked up after the sample's time was taken, while the JIT probe bumps first and
 * takes the time of its event after that: so a sample with a generation from
 * before an event always has a time before the event's. One with the new
 * generation may be older than the event by as long as both programs run.
 */
static __always_inline __u32 code_gen(const struct lb_stack_key *key)
{
	struct lb_code_key process = {
		.start_boottime_ns = key->start_boottime_ns,
		.tgid = key->tgid,
	};
	__u32 *gen = bpf_map_lookup_elem(&code_gens, &process);

	return gen ? *gen : 0;
}

SEC("perf_event")
int lb_sample(struct lb_perf_event_ctx *ctx)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();
	__u32 slot = active_slot & 1, zero = 0;
	struct lb_stack_key key = {.tgid = pid_tgid >> 32};
	struct lb_counters *ctr = bpf_map_lookup_elem(&counters, &slot);
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	struct task_struct *task;
	struct image_key image = {};

	if (!ctr || !scratch)
		return 0; /* cannot be: both are arrays and the index is in range */
	ctr->n[LB_CTR_TICKS]++;
	if (!(__u32)pid_tgid) {
		ctr->n[LB_CTR_IDLE]++;
		return 0;
	}

	task = (struct task_struct *)bpf_get_current_task();
	key.start_boottime_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	if (filter_targets && !lb_is_target(&targets, key.tgid, key.start_boottime_ns)) {
		ctr->n[LB_CTR_OTHER]++;
		return 0;
	}
	ctr->n[LB_CTR_SAMPLED]++;
	key.exec_id = BPF_CORE_READ(task, self_exec_id);
	if (code_gens_used)
		key.code_gen = code_gen(&key);

	image.start_boottime_ns = key.start_boottime_ns;
	image.tgid = key.tgid;
	image.exec_id = key.exec_id;
	announce(&image, now, ctr);

	take_kernel(ctx, scratch, &key, ctr);
	take_user(ctx, task, scratch, &key, ctr);
	count(slot, &key, scratch, now, ctr);
	ctr->n[LB_CTR_RUN_NS] += bpf_ktime_get_ns() - now;
	return 0;
}

/* A target's new process is a target from its first instruction on. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(lb_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, tgid = child->tgid;
	__u64 start = child->start_boottime;

	if (tgid == parent_tgid || !bpf_map_lookup_elem(&targets, &parent_tgid))
		return 0;
	/* Full: the child's ticks are counted as somebody else's; sampler.c tells. */
	if (bpf_map_update_elem(&targets, &tgid, &start, BPF_ANY))
		__sync_fetch_and_add(&targets_dropped, 1);
	return 0;
}

/* The last thread of a target is gone: its tgid may be given to a stranger. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(lb_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (!task->signal->live.counter)
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}
