// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filter (target?) -> kernel stack -> user stack -> count.
 *
 * Counts and stack bodies are in two slots. A program run reads drain_round once and
 * uses that slot until it ends. User space switches to the other slot, waits until no
 * run uses the old one (a map-in-map update waits for that, kernel commit 1ae80cf31938,
 * 5.0) and drains it. A stack's body is written to the slot's ring before the stack is
 * counted, so every drained count has its body.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "arch.h"
#include "filter.h"
#include "ids.h"
#include "lineburn.h"
#include "target.h"
#include "unwind.h"

char LICENSE[] SEC("license")
= "GPL";

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Set by sampler.c between open and load, like those of walk.h. */
const volatile __u16 source; /* enum lb_source of the events that run lb_sample */
const volatile bool keep_tid; /* samples keep their thread id */
const volatile __u32 launched_tgid; /* announced before its first sample; 0: none */
/* Minimum time between two programs that are announced before their first sample. */
const volatile __u64 exec_pause_ns;
const volatile bool kernel_stacks;
/* A kernel stack of so many frames was cut: LB_MAX_KERN_FRAMES, or a lower sysctl. */
const volatile __u32 kern_frames_limit = LB_MAX_KERN_FRAMES;
const volatile bool walk_user; /* false on kernels where reading user memory is unsafe */
const volatile __u32 body_ring_bytes;

/* Incremented by user space; its lowest bit is the slot that program runs use. */
volatile __u32 drain_round;
/* Set when a slot is half full, after waking user space, which clears it. */
volatile __u32 drain_wanted;
/* Set by sampler.c when a probe that increments code generations is attached. */
volatile __u32 code_gens_used;
/* Time of the last announced exec; a race causes one more announcement. */
__u64 exec_told_ns;
/* Children of targets that did not fit the map. */
__u64 targets_dropped;

/*
 * The sizes below satisfy the verifier; sampler.c sets the real ones by rate and CPUs.
 */
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

/*
 * Cache of the bodies in a slot's ring: their hashes mixed with the round, so that it
 * need not be emptied. A collision replaces the entry; the old body may then be written
 * to the ring again, which is harmless.
 */
#define STORED_AT_HAND 16384
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STORED_AT_HAND);
	__type(key, __u32);
	__type(value, __u64);
} stored SEC(".maps");

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
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_NR_SLOTS);
	__type(key, __u32);
	__type(value, struct lb_counters);
} counters SEC(".maps");

struct lb_code_gens_map code_gens SEC(".maps");

/*
 * Program images announced to user space, with their lb_user_and_group() at that time.
 * An evicted image causes a second wake-up.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct lb_image);
	__type(value, __u64);
} images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} first_samples SEC(".maps");

/*
 * Wakes user space: for the current image, or for an early drain. A separate function,
 * like lb_hash_frames(). Return: 0; nonzero: no room.
 */
__noinline int lb_wake(__u64 now, __u64 user, __u64 for_drain)
{
	struct lb_walk *w = lb_walk_here();
	struct lb_first_sample *first;

	if (!w)
		return 1;
	first = bpf_ringbuf_reserve(&first_samples, sizeof(*first), 0);
	if (!first)
		return 1;
	first->start_boottime_ns = w->image.start_boottime_ns;
	first->time_ns = now;
	first->tgid = for_drain ? 0 : w->image.tgid;
	first->exec_id = w->image.exec_id;
	first->ids.uid = user;
	first->ids.gid = user >> 32;
	first->ids.user_ns = lb_user_ns();
	first->ids.root_mount = lb_root_mount();
	first->ids.ns_tgid = lb_ns_tgid();
	lb_read_cgroups(&first->ids);
	bpf_ringbuf_submit(first, 0);
	return 0;
}

/* Announces the walk's image, unless it was. Return: whether it had been announced. */
static __always_inline bool announce_once(const struct lb_walk *w, __u64 user,
					  struct lb_counters *ctr)
{
	__u64 *told = bpf_map_lookup_elem(&images, &w->image);

	if (told && *told == user)
		return true;
	/*
	 * A concurrent insert has announced it. If the insert failed, the next sample
	 * announces it.
	 */
	if (!told && bpf_map_update_elem(&images, &w->image, &user, BPF_NOEXIST))
		return false;
	if (lb_wake(w->now, user, false)) {
		/* The next sample tries again. */
		ctr->n[LB_CTR_FIRST_DROPPED]++;
		if (!told)
			bpf_map_delete_elem(&images, &w->image);
	} else if (told) {
		/* Only now. User space must not keep ids that the process gave up. */
		*told = user;
	}
	/* Also without @told: the image may have been evicted, with another user. */
	__sync_fetch_and_add(lb_changes_of(w->image.tgid), 1);
	return false;
}

/* Announces the walk's image once, and again with another user or group. */
static __always_inline void announce(struct lb_walk *w, __u64 user,
				     struct lb_counters *ctr)
{
	struct lb_recent_image *recent = lb_recent(w);
	__u64 tag = lb_mix(w->image_hash, user);

	if (recent->announced != tag && announce_once(w, user, ctr))
		recent->announced = tag;
}

/*
 * Adds the words after body.hash to the hash, which already includes the frames. In
 * kernel bodies only the last word is not constant.
 */
static __always_inline void seal(struct lb_body *body, const __u64 *from)
{
	const __u64 *end = (const __u64 *)body->ips;
	__u64 hash = body->hash;

	for (; from < end; from++)
		hash = lb_mix_body(hash, *from);
	body->hash = hash ? hash : 1;
}

/* Writes the body to the slot's ring unless it is there. Return: 0; nonzero: full. */
static __always_inline int store(void *ring, __u32 in_round, const struct lb_body *body)
{
	__u64 tag = lb_mix(body->hash, in_round);
	__u32 nr = body->nr_frames, place = tag & (STORED_AT_HAND - 1);
	__u64 *at_hand = bpf_map_lookup_elem(&stored, &place);

	if (at_hand && *at_hand == tag)
		return 0;
	if (nr > LB_MAX_FRAMES)
		nr = LB_MAX_FRAMES;
	if (bpf_ringbuf_output(ring, (void *)body,
			       __builtin_offsetof(struct lb_body, ips) + nr * 8,
			       BPF_RB_NO_WAKEUP))
		return -1;
	if (at_hand)
		*at_hand = tag;
	return 0;
}

static __always_inline bool add(void *map, const struct lb_stack_key *key, __u64 now,
				__u64 period)
{
	struct lb_stack_count *count = bpf_map_lookup_elem(map, key);

	if (!count)
		return false;
	__sync_fetch_and_add(&count->count, 1);
	__sync_fetch_and_add(&count->values[0], period);
	/*
	 * A CPU that took its time earlier may come here later. Concurrent changes may
	 * undo one another: then the sample lies outside by a run of this program.
	 */
	if (now > count->last_ns)
		count->last_ns = now;
	if (now < count->first_ns)
		count->first_ns = now;
	return true;
}

static __always_inline void count(__u32 in_round, struct lb_walk *w, __u64 period,
				  struct lb_counters *ctr)
{
	struct lb_stack_key *key = &w->key;
	struct lb_body *user = &w->body, *kern = &w->kern;
	__u64 now = w->now;
	struct lb_stack_count fresh = {
		.count = 1,
		.values = {period},
		.first_ns = now,
		.last_ns = now,
	};
	__u32 slot = in_round & 1;
	void *map = bpf_map_lookup_elem(&counts, &slot), *ring;

	if (!map) {
		ctr->n[LB_CTR_LOST_INTERNAL]++;
		return;
	}
	if (add(map, key, now, period)) {
		ctr->n[LB_CTR_COUNTED]++;
		return;
	}
	ring = bpf_map_lookup_elem(&bodies, &slot);
	if (!ring) {
		ctr->n[LB_CTR_LOST_INTERNAL]++;
		return;
	}
	if (!drain_wanted &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > body_ring_bytes / 2) {
		drain_wanted = 1;
		ctr->n[LB_CTR_FIRST_DROPPED] += lb_wake(now, 0, true) != 0;
	}
	if ((key->user_hash && store(ring, in_round, user)) ||
	    (key->kern_hash && store(ring, in_round, kern))) {
		ctr->n[LB_CTR_NO_BODY]++;
		key->user_hash = user->nr_frames ? user->ips[0] : 0;
		key->kern_hash = key->kern_hash ? kern->ips[0] : 0;
		key->status = LB_STATUS_NO_BODY(key->status);
		if (add(map, key, now, period)) {
			ctr->n[LB_CTR_COUNTED]++;
			return;
		}
	}
	/* Another CPU may have added it meanwhile; then add to its entry. */
	if (!bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST) ||
	    add(map, key, now, period))
		ctr->n[LB_CTR_COUNTED]++;
	else
		ctr->n[LB_CTR_LOST_COUNTS_FULL]++;
}

/*
 * Reads the registers that the current task saved at its entry to the kernel.
 * Return: LB_STACK_COMPLETE with *regs set, or why there are none.
 */
static __always_inline __u32 saved_regs(struct task_struct *task, struct lb_regs *regs)
{
	struct mm_struct___lb *mm = lb_mm();
	void *saved;

	/*
	 * At an exec the new program has no start yet (load_elf_binary() of
	 * fs/binfmt_elf.c), and the registers are those of the program that has gone.
	 */
	if (mm && LB_HAS(mm_struct___lb, start_code) && !BPF_CORE_READ(mm, start_code))
		return LB_STACK_NO_USER;
	/*
	 * bpf_task_pt_regs: 5.15. On older kernels the registers are at the top of the
	 * stack. On arm64 the kernel's struct has further members after those of lb_regs.
	 */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		saved = (void *)bpf_task_pt_regs(task);
	else
		saved = (char *)LB_TASK(task, stack) + LB_THREAD_SIZE -
			bpf_core_type_size(struct pt_regs);
	if (bpf_probe_read_kernel(regs, sizeof(*regs), saved))
		return LB_STACK_NO_REGS;
	/*
	 * A thread that the kernel created for a process (io_uring: 5.12, vhost: 6.4)
	 * was never in user space. copy_thread() clears its user ip and sp; on x86 the
	 * other registers, and the thread pointer, are those of the creating thread.
	 */
	if (!lb_regs_ip(regs) && !lb_regs_sp(regs))
		return LB_STACK_NO_USER;
	return lb_regs_user(regs) ? LB_STACK_COMPLETE : LB_STACK_NO_REGS;
}

/*
 * Begins the stack at the leaf. Volatile, because the verifier rewrites each load from a
 * context, so each must be of one word. Return: whether the leaf is 64-bit code.
 */
static __always_inline bool set_leaf(struct lb_stack *s,
				     const volatile struct lb_regs *regs)
{
	lb_regs_dwarf(regs, s->regs);
	/* The vsyscall page has bit 63 set; no other user code address has. */
	s->ip = lb_regs_ip(regs) & ~LB_FRAME_TAG;
	s->sp = lb_regs_sp(regs);
	s->fp = lb_regs_fp(regs);
	return lb_regs_64_bit(regs);
}

/* Walks the user stack. Return: enum lb_stack_status. */
static __always_inline __u32 walk_stack(struct lb_perf_event_ctx *ctx,
					struct task_struct *task, struct lb_walk *w)
{
	bool is_64_bit;

	if (lb_regs_user(&ctx->regs)) {
		is_64_bit = set_leaf(&w->stack, &ctx->regs);
		barrier(); /* these loads must not be merged with those below */
	} else if (LB_TASK(task, flags) & PF_KTHREAD) {
		return LB_STACK_NO_USER;
	} else {
		/* In the window, which is unused until the walk begins. */
		struct lb_regs *regs = (struct lb_regs *)w->stack.window;
		__u32 status = saved_regs(task, regs);

		_Static_assert(sizeof(*regs) <= LB_WINDOW_BYTES, "they fit");
		if (status != LB_STACK_COMPLETE)
			return status;
		if (lb_regs_in_syscall(regs))
			w->body.kind = LB_BODY_USER_SYSCALL;
		is_64_bit = set_leaf(&w->stack, regs);
		/* A task gives up its memory before it ends (exit_mm() of kernel/exit.c). */
		if (!lb_mm()) {
			lb_push(w, w->stack.ip);
			return LB_STACK_FAULT;
		}
	}
	if (!walk_user || !is_64_bit) {
		lb_push(w, w->stack.ip);
		return walk_user ? LB_STACK_32_BIT : LB_STACK_LEAF_ONLY;
	}
	lb_walk_begin(w, task);
	if (!lb_walk() && lb_is_whole(w->status))
		return LB_STACK_TRUNCATED; /* the steps were used up */
	/* Some frames of the interpreter may be missing. */
	if (w->segment_flags & LB_SEGMENT_AWAITED && lb_is_whole(w->status))
		return LB_STACK_NO_TABLE;
	/* The interpreter's list is cut, or some of it is of another stack. */
	if ((w->interp.is_cut && lb_is_whole(w->status)) ||
	    (w->nr_stale && w->status == LB_STACK_COMPLETE))
		return LB_STACK_BAD_CFA;
	return w->status;
}

static __always_inline void add_up(const struct lb_walk *w, struct lb_counters *ctr)
{
	ctr->n[LB_CTR_USER_FRAMES] += w->nr_native;
	ctr->n[LB_CTR_PYTHON_FRAMES] += w->nr_interp;
	/* Adding zeroes would read and write further cache lines. */
	if (w->status != LB_STACK_TRUNCATED &&
	    !(w->nr_guessed | w->nr_requests_dropped | w->nr_stale | w->nr_faults |
	      w->nr_codes_dropped))
		return;
	ctr->n[LB_CTR_USER_TRUNCATED] += w->status == LB_STACK_TRUNCATED;
	ctr->n[LB_CTR_GUESSED_FRAMES] += w->nr_guessed;
	ctr->n[LB_CTR_REQUEST_DROPPED] += w->nr_requests_dropped;
	ctr->n[LB_CTR_PYTHON_STALE] += w->nr_stale;
	ctr->n[LB_CTR_PYTHON_FAULT] += w->nr_faults;
	ctr->n[LB_CTR_CODE_DROPPED] += w->nr_codes_dropped;
}

static __always_inline void take_user(struct lb_perf_event_ctx *ctx,
				      struct task_struct *task, struct lb_walk *w,
				      struct lb_counters *ctr)
{
	struct lb_stack_key *key = &w->key;
	struct lb_body *body = &w->body;

	lb_walk_reset(w);
	body->kind = LB_BODY_USER;
	key->status = w->status = walk_stack(ctx, task, w);
	key->status |= (w->nr_guessed ? LB_CALLERS_GUESSED : 0) |
		       (w->nr_derived ? LB_CALLERS_DERIVED : 0);
	add_up(w, ctr);
	seal(body, &body->cgroup_id);
	key->user_hash = body->hash;
}

#define HASHED_AT_ONCE 8

/*
 * Adds the kernel frames from @from on to their hash. A separate function, so that the
 * verifier checks it once and not for each iteration of a loop.
 */
__noinline int lb_hash_frames(__u64 from)
{
	struct lb_walk *w = lb_walk_here();

	if (!w || from > LB_MAX_KERN_FRAMES)
		return 0;
	for (int i = 0; i < HASHED_AT_ONCE; i++)
		w->kern.hash = lb_mix_body(w->kern.hash, w->kern.ips[from + i]);
	return 0;
}

/* Hashes the kernel frames; the last part is padded with zeroes. */
static __always_inline void hash_frames(struct lb_body *body)
{
	/* Read again, so that the verifier has the same bounds on all paths. */
	__u32 nr = *(const volatile __u16 *)&body->nr_frames;

	if (nr > LB_MAX_KERN_FRAMES)
		nr = LB_MAX_KERN_FRAMES;
	for (int i = 0; i < HASHED_AT_ONCE - 1; i++)
		body->ips[nr + i] = 0;
	body->hash = hash_seed;
	for (__u32 i = 0; i < LB_MAX_KERN_FRAMES && i < nr; i += HASHED_AT_ONCE)
		lb_hash_frames(i);
}

static __always_inline void take_kernel(struct lb_perf_event_ctx *ctx, struct lb_walk *w,
					struct lb_counters *ctr)
{
	struct lb_body *body = &w->kern;
	long bytes = 0;

	if (lb_regs_user(&ctx->regs))
		return;
	if (kernel_stacks)
		bytes = bpf_get_stack(ctx, body->ips, LB_MAX_KERN_FRAMES * 8, 0);
	if (bytes <= 0) {
		ctr->n[LB_CTR_KERN_FAILED] += kernel_stacks;
		body->ips[0] = lb_regs_ip(&ctx->regs);
		bytes = sizeof(body->ips[0]);
	} else if (bytes >= (long)kern_frames_limit * 8) {
		ctr->n[LB_CTR_KERN_TRUNCATED]++;
	}
	body->kind = LB_BODY_KERNEL;
	body->nr_frames = (__u64)bytes / sizeof(body->ips[0]);
	hash_frames(body);
	seal(body, (const __u64 *)&body->tid);
	w->key.kern_hash = body->hash;
}

/*
 * Looks up the code generation. The sampler takes the sample's time first; the JIT
 * probe increments the generation first and takes its event's time after that. So a
 * sample with a generation from before an event always has an earlier time. A sample
 * with the new generation may be older than the event by at most the run time of both
 * programs.
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

static __always_inline bool is_chosen(struct task_struct *task, __u32 tid, __u32 in_round,
				      struct lb_counters *ctr)
{
	/* Unknown to the verifier, so that it merges paths. */
	__u64 said = filter.nothing + 1;

	if (filter.uses)
		said = lb_is_chosen(task, tid,
				    lb_filter_is_timed(ctr->n[LB_CTR_TICKS], in_round));
	ctr->n[LB_CTR_FILTER_NS] += (said >> 1) * LB_FILTER_MEASURED;
	return said & 1;
}

/*
 * Reads what the sample needs of the task, except the walk. All of it here, because these
 * loads are cold and most do not depend on one another: so the CPU waits for them at the
 * same time. Return: the user and group of its process.
 */
static __always_inline __u64 read_task(struct task_struct *task, __u64 pid_tgid,
				       struct lb_walk *w)
{
	struct lb_body *body = &w->body;
	__u64 user = lb_user_and_group();

	w->image.start_boottime_ns = lb_task_start(task);
	w->image.tgid = pid_tgid >> 32;
	w->image.exec_id = LB_TASK(task, self_exec_id);
	body->cgroup_id = lb_current_cgroup_id();
	body->tid = keep_tid ? (__u32)pid_tgid : 0;
	body->uid = user;
	lb_current_comm((__u64 *)body->comm);
	return user;
}

SEC("perf_event")
int lb_sample(struct lb_perf_event_ctx *ctx)
{
	struct task_struct *task = lb_current_task();
	__u64 now, user, pid_tgid = lb_pid_tgid(task);
	__u32 in_round = drain_round, slot = in_round & 1;
	struct lb_counters *ctr = bpf_map_lookup_elem(&counters, &slot);
	struct lb_stack_key *key;
	struct lb_walk *w;

	if (!ctr)
		return 0; /* impossible: an array, and the index is in range */
	ctr->n[LB_CTR_TICKS]++;
	if (!(__u32)pid_tgid) {
		ctr->n[LB_CTR_IDLE]++;
		return 0;
	}
	if (!is_chosen(task, pid_tgid, in_round, ctr)) {
		ctr->n[LB_CTR_OTHER]++;
		return 0;
	}

	now = bpf_ktime_get_ns();
	w = lb_walk_here();
	ctr->n[LB_CTR_SAMPLED]++;
	if (!w) {
		ctr->n[LB_CTR_LOST_INTERNAL]++;
		return 0;
	}
	user = read_task(task, pid_tgid, w);
	key = &w->key;
	key->start_boottime_ns = w->image.start_boottime_ns;
	key->tgid = w->image.tgid;
	key->exec_id = w->image.exec_id;
	key->code_gen = code_gens_used ? code_gen(key) : 0;
	key->source = source;
	key->user_hash = key->kern_hash = 0;
	w->now = now;
	w->image_hash = lb_mix(lb_mix(hash_seed, w->image.start_boottime_ns),
			       (__u64)w->image.exec_id << 32 | w->image.tgid);
	lb_recent_begin(w);
	announce(w, user, ctr);

	take_kernel(ctx, w, ctr);
	take_user(ctx, task, w, ctr);
	count(in_round, w, ctx->sample_period, ctr);
	ctr->n[LB_CTR_RUN_NS] += bpf_ktime_get_ns() - now;
	return 0;
}

static __always_inline struct lb_image image_of(struct task_struct *task)
{
	struct lb_image image = {
		.start_boottime_ns = task->group_leader->start_boottime,
		.tgid = task->tgid,
		.exec_id = task->self_exec_id,
	};

	return image;
}

static __always_inline void add_child(const struct lb_image *parent,
				      struct task_struct *child)
{
	struct lb_target target = {};
	__u32 tgid = child->tgid;

	target.mask = lb_target_mask(&targets, parent->tgid, parent->start_boottime_ns);
	if (!target.mask)
		return;
	target.start_boottime_ns = child->start_boottime;
	/* Map full: the child's ticks count as other tasks'; sampler.c reports it. */
	if (bpf_map_update_elem(&targets, &tgid, &target, BPF_ANY))
		__sync_fetch_and_add(&targets_dropped, 1);
}

/*
 * Makes a target's child a target before its first instruction. The child has its
 * parent's mappings, so it gets a copy of the parent's process entry.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(lb_fork, struct task_struct *parent, struct task_struct *child)
{
	struct lb_image from = image_of(parent), to = image_of(child);
	struct lb_unwind_process *known, copy;

	if (to.tgid == from.tgid)
		return 0;
	if (filter.uses & LB_FILTER_IN(LB_FILTER_PROCESS) && !filter.no_children)
		add_child(&from, child);
	known = lb_process_entry(&from);
	if (known) {
		copy = *known;
		bpf_map_update_elem(&inherited, &to, &copy, BPF_ANY);
	}
	return 0;
}

/*
 * Announces a program at its exec. Short-lived programs have few samples; the first one
 * is complete only if the mappings are known before it.
 */
static __always_inline void announce_exec(const struct lb_image *image)
{
	__u64 now = bpf_ktime_get_ns();

	if (!launched_tgid || image->tgid != launched_tgid) {
		if (now - exec_told_ns < exec_pause_ns)
			return;
		if (filter.wanted & LB_FILTER_IN(LB_FILTER_PROCESS) &&
		    !bpf_map_lookup_elem(&targets, &image->tgid))
			return;
	}
	exec_told_ns = now;
	lb_request_process(image);
}

/*
 * Deletes the entry of the program before an exec, because a process that forks and
 * executes a thousand times a second must not fill the maps before user space cleans them.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(lb_exec, struct task_struct *task)
{
	struct lb_image image = image_of(task);

	announce_exec(&image);
	/* it was incremented already (begin_new_exec() of fs/exec.c) */
	image.exec_id--;
	lb_delete_process(&image);
	return 0;
}

/* Deletes the process entry with the last thread. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(lb_exit, struct task_struct *task)
{
	struct lb_image image = image_of(task);

	if (!task->signal->live.counter)
		lb_delete_process(&image);
	return 0;
}

/* Deletes a target, unless its number belongs to another process already. */
__noinline __u64 lb_forget(__u64 number, __u64 start_boottime_ns)
{
	__u32 id = number;
	struct lb_target *target = bpf_map_lookup_elem(&targets, &id);

	if (target && (!target->start_boottime_ns ||
		       target->start_boottime_ns == start_boottime_ns))
		bpf_map_delete_elem(&targets, &id);
	return 0;
}

/*
 * Deletes the rule of a thread after its exit, because its number may be reused. A
 * leader is freed last, except after another thread's exec. By then both have exchanged
 * their numbers (exchange_tids() of kernel/pid.c), and the leader's rule applies to the
 * other thread.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(lb_free, struct task_struct *task)
{
	__u32 tid = task->pid, tgid = task->tgid;

	if (filter.uses & LB_FILTER_IN(LB_FILTER_THREAD))
		lb_forget(tid | LB_TARGET_THREAD, task->start_boottime);
	if (filter.uses & LB_FILTER_IN(LB_FILTER_PROCESS) && tid == tgid)
		lb_forget(tid, task->start_boottime);
	return 0;
}
