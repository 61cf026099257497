/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whether the current task is sampled. Runs at every tick of every task. So
 * cheap kinds are checked first, and verdicts are cached, per thread and per cgroup
 * including its ancestors.
 */
#ifndef LB_BPF_FILTER_H
#define LB_BPF_FILTER_H

#include "arch.h"
#include "lineburn_filter.h"
#include "target.h"

/*
 * Fields of kernel types that are read here; CO-RE finds them by name. Nesting is as in
 * the kernel, offsets are not.
 */
struct cgroup_root___lb {
	int hierarchy_id;
} __attribute__((preserve_access_index));

struct kernfs_node___lb {
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup___lb;

struct cgroup_subsys_state___lb {
	struct cgroup___lb *cgroup;
	struct cgroup_subsys_state___lb *parent;
} __attribute__((preserve_access_index));

struct cgroup___lb {
	struct cgroup_subsys_state___lb self;
	struct kernfs_node___lb *kn;
	struct cgroup_root___lb *root;
} __attribute__((preserve_access_index));

struct list_head___lb {
	struct list_head___lb *next;
} __attribute__((preserve_access_index));

struct cgrp_cset_link___lb {
	struct cgroup___lb *cgrp;
	struct list_head___lb cgrp_link;
} __attribute__((preserve_access_index));

struct css_set___lb {
	struct cgroup___lb *dfl_cgrp;
	struct list_head___lb cgrp_links;
} __attribute__((preserve_access_index));

struct kuid___lb {
	__u32 val;
} __attribute__((preserve_access_index));

struct cred___lb {
	struct kuid___lb euid;
} __attribute__((preserve_access_index));

struct task_struct___choice {
	struct css_set___lb *cgroups;
	const struct cred___lb *cred;
	__u64 start_boottime;
	char comm[LB_COMM_LEN];
} __attribute__((preserve_access_index));

/*
 * Set by src/collect/filter.c, before and while the programs run. Has its own cache
 * line, because each tick reads it.
 */
volatile struct lb_filter filter __attribute__((aligned(64)));

struct lb_targets_map targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* effective uid, initial user namespace */
	__type(value, __u32); /* mask */
} users SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LB_FILTER_MAX_CGROUPS);
	__type(key, struct lb_cgroup_key);
	__type(value, __u32); /* mask */
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct lb_comm_table);
} comm_tables SEC(".maps");

/* Cache of the masks of cgroups including ancestors; a collision replaces the entry. */
#define LB_CGROUPS_AT_HAND 256
struct cgroup_at_hand {
	__u64 id; /* 0: none */
	__u32 hierarchy;
	__u32 generation; /* lb_filter.generation */
	__u32 mask;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_CGROUPS_AT_HAND);
	__type(key, __u32);
	__type(value, struct cgroup_at_hand);
} cgroups_at_hand SEC(".maps");

/* State of a walk over cgroups, one step at a time. */
struct cgroup_walk {
	struct cgroup___lb *cgroup; /* NULL: none */
	struct list_head___lb *link; /* next in the task's list */
	__u32 hierarchy;
	__u32 mask;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cgroup_walk);
} cgroup_walks SEC(".maps");

/* Hides the bound from the compiler, so that the verifier sees it. */
#define LB_BOUND(index, power_of_two) \
	asm volatile("%0 &= %1" : "+r"(index) : "i"((power_of_two)-1))

static __always_inline struct task_struct___choice *lb_filter_task(void)
{
	return (struct task_struct___choice *)lb_current_task();
}

/* Reads the two words of the current thread's name; old data may be behind its NUL. */
static __always_inline void lb_comm_words(struct task_struct___choice *task, __u64 *ret)
{
	const void *comm = task;

	if (!LB_TASK_HAS_TYPE()) {
		__builtin_memset(ret, 0, LB_COMM_LEN);
		bpf_get_current_comm(ret, LB_COMM_LEN);
		return;
	}
	comm += bpf_core_field_offset(struct task_struct___choice, comm);
	ret[0] = *(const volatile __u64 *)comm;
	ret[1] = *(const volatile __u64 *)(comm + 8);
}

/*
 * Reads the current thread's name and zeroes the bytes after it. Not by the helper, whose
 * code, and that of the functions that it calls, is in several pages.
 */
static __always_inline void lb_current_comm(__u64 *ret)
{
	lb_comm_words(lb_filter_task(), ret);
	lb_comm_end_at_nul(ret);
}

/* Returns the current thread's cgroup of the unified hierarchy. Not by the helper, as above. */
static __always_inline __u64 lb_current_cgroup_id(void)
{
	struct css_set___lb *cgroups;
	struct cgroup___lb *cgroup;
	struct kernfs_node___lb *node;

	/* A later kernel may have other fields. */
	if (!LB_TASK_HAS_TYPE() ||
	    !bpf_core_field_exists(struct task_struct___choice, cgroups) ||
	    !bpf_core_field_exists(struct css_set___lb, dfl_cgrp) ||
	    !bpf_core_field_exists(struct cgroup___lb, kn) ||
	    !bpf_core_field_exists(struct kernfs_node___lb, id))
		return bpf_get_current_cgroup_id();
	cgroups = lb_filter_task()->cgroups;
	/* To the verifier a pointer that was read directly may be NULL. */
	cgroup = cgroups ? cgroups->dfl_cgrp : NULL;
	node = cgroup ? cgroup->kn : NULL;
	return node ? node->id : 0;
}

/* Returns the mask of the current thread, or of its process. */
__noinline __u64 lb_task_mask(__u64 kind)
{
	struct task_struct___choice *task = lb_filter_task();
	__u64 id = bpf_get_current_pid_tgid(), start;

	if (!(filter.uses & LB_FILTER_IN(LB_FILTER_THREAD) << kind))
		return 0;
	if (kind == LB_FILTER_THREAD) {
		start = LB_TASK(task, start_boottime);
		id |= LB_TARGET_THREAD;
	} else {
		start = lb_task_start(lb_current_task());
		id >>= 32;
	}
	return lb_target_mask(&targets, id, start);
}

static __always_inline __u32 lb_filter_uid(struct task_struct___choice *task)
{
	const struct cred___lb *cred = LB_TASK(task, cred);

	/* To the verifier a pointer that was read directly may be NULL. */
	return cred ? LB_TASK(cred, euid.val) : ~0u;
}

__noinline __u64 lb_user_mask(void)
{
	__u32 uid, *mask;

	if (!(filter.uses & LB_FILTER_IN(LB_FILTER_USER)))
		return 0;
	uid = lb_filter_uid(lb_filter_task());
	mask = bpf_map_lookup_elem(&users, &uid);
	return mask ? *mask : 0;
}

/*
 * Limits for cgroup levels and hierarchies of a task. If exceeded, only the lowest
 * levels and the first hierarchies are checked; both cases are counted.
 */
#define LB_CGROUP_PARTS    16
#define LB_CGROUPS_A_PART  16
#define LB_MAX_HIERARCHIES 20 /* searched for a task */

__u32 cgroups_too_deep; /* counted again after the cache entry was replaced */

/*
 * Adds the mask of the current cgroup and steps to its parent. A separate function, so
 * that the verifier checks it once. Return: whether there is a parent.
 */
__noinline __u64 lb_cgroup_up(void)
{
	struct lb_cgroup_key key = {};
	struct cgroup___lb *cgroup;
	struct cgroup_walk *walk;
	__u32 zero = 0, *mask;

	walk = bpf_map_lookup_elem(&cgroup_walks, &zero);
	if (!walk)
		return 0;
	cgroup = walk->cgroup;
	if (!cgroup)
		return 0;
	BPF_CORE_READ_INTO(&key.id, cgroup, kn, id);
	key.hierarchy = walk->hierarchy;
	mask = bpf_map_lookup_elem(&cgroups, &key);
	if (mask)
		walk->mask |= *mask;
	BPF_CORE_READ_INTO(&walk->cgroup, cgroup, self.parent, cgroup);
	return (__u64)walk->cgroup;
}

/*
 * Steps to the next cgroup of the task. The list may change while it is read, if the
 * task is moved: then one tick is judged by the old cgroup, or by none.
 * Return: whether there is another.
 */
__noinline __u64 lb_cgroup_next(void)
{
	struct cgrp_cset_link___lb *link;
	struct cgroup___lb *cgroup;
	struct cgroup_walk *walk;
	__u32 zero = 0;

	walk = bpf_map_lookup_elem(&cgroup_walks, &zero);
	if (!walk)
		return 0;
	if (!walk->link) {
		walk->cgroup = NULL;
		return 0;
	}
	link = (void *)walk->link -
	       bpf_core_field_offset(struct cgrp_cset_link___lb, cgrp_link);
	walk->cgroup = cgroup = BPF_CORE_READ(link, cgrp);
	walk->link = BPF_CORE_READ(link, cgrp_link.next);
	return (__u32)BPF_CORE_READ(cgroup, root, hierarchy_id) ^ walk->hierarchy;
}

/*
 * Climbs a few levels. Steps beyond the root do nothing, so the verifier has few exits
 * to check. Return: whether there are more levels.
 */
__noinline __u64 lb_cgroup_climb_part(void)
{
	for (int i = 0; i < LB_CGROUPS_A_PART / 4; i++) {
		lb_cgroup_up();
		lb_cgroup_up();
		lb_cgroup_up();
		if (!lb_cgroup_up())
			return 0;
	}
	return 1;
}

/* Climbs to the root. */
__noinline __u64 lb_cgroup_climb(void)
{
	for (int i = 0; i < LB_CGROUP_PARTS; i++)
		if (!lb_cgroup_climb_part())
			return 1;
	__sync_fetch_and_add(&cgroups_too_deep, 1);
	return 0;
}

/* Returns whether a cgroup of the hierarchy was found. */
__noinline __u64 lb_cgroup_listed(void)
{
	for (int i = 0; i < LB_MAX_HIERARCHIES; i++)
		if (!lb_cgroup_next())
			return 1;
	/*
	 * A task has one cgroup per hierarchy: there are more hierarchies than the
	 * limit.
	 */
	__sync_fetch_and_add(&cgroups_too_deep, 1);
	return 0;
}

/* State of matching one name with one word of patterns. */
struct comm_walk {
	__u64 bits;
	__u64 word;
	__u8 comm[LB_COMM_LEN] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct comm_walk);
} comm_walks SEC(".maps");

static __always_inline struct cgroup_at_hand *lb_cgroup_place(__u64 id, __u32 hierarchy)
{
	__u32 place = (id * 0x9e3779b97f4a7c15ULL >> 32 ^ hierarchy) &
		      (LB_CGROUPS_AT_HAND - 1);

	return bpf_map_lookup_elem(&cgroups_at_hand, &place);
}

/* Returns the mask of the current task's cgroup and its ancestors in a hierarchy. */
__noinline __u64 lb_cgroup_mask(__u64 index)
{
	struct css_set___lb *css_set = LB_TASK(lb_filter_task(), cgroups);
	__u32 zero = 0, generation = filter.generation, hierarchy;
	struct cgroup_walk *walk = bpf_map_lookup_elem(&cgroup_walks, &zero);
	struct cgroup_at_hand *known;
	struct cgroup___lb *cgroup;
	__u64 id;

	if (!walk || index >= filter.nr_hierarchies)
		return 0;
	LB_BOUND(index, LB_FILTER_HIERARCHIES);
	walk->hierarchy = hierarchy = filter.hierarchies[index];
	if (hierarchy) {
		walk->link = BPF_CORE_READ(css_set, cgrp_links.next);
		if (!lb_cgroup_listed())
			return 0;
	} else {
		walk->cgroup = LB_TASK(css_set, dfl_cgrp);
	}
	cgroup = walk->cgroup;
	id = BPF_CORE_READ(cgroup, kn, id);
	known = lb_cgroup_place(id, hierarchy);
	if (!known)
		return 0;
	if (known->id != id || known->hierarchy != hierarchy ||
	    known->generation != generation) {
		walk->mask = 0;
		lb_cgroup_climb();
		known->id = id;
		known->hierarchy = hierarchy;
		known->generation = generation;
		known->mask = walk->mask;
	}
	return known->mask;
}

/*
 * Matches four bytes of the name. A separate function, so that the verifier checks it
 * once.
 */
__noinline __u64 lb_comm_part(__u64 at)
{
	__u32 index = filter.comm_table & 1, zero = 0;
	struct comm_walk *walk = bpf_map_lookup_elem(&comm_walks, &zero);
	struct lb_comm_table *table = bpf_map_lookup_elem(&comm_tables, &index);

	if (!walk || !table)
		return 0;
	at &= LB_COMM_LEN - LB_COMM_AT_ONCE;
	index = walk->word;
	LB_BOUND(index, LB_COMM_WORDS);
	walk->bits = lb_comm_step(&table->words[index], walk->bits, &walk->comm[at]);
	return 0;
}

/* Returns the mask of the current task's name, from the active pattern table. */
__noinline __u64 lb_comm_mask(__u64 index)
{
	__u32 table_index = filter.comm_table & 1, zero = 0;
	struct comm_walk *walk = bpf_map_lookup_elem(&comm_walks, &zero);
	struct lb_comm_table *table = bpf_map_lookup_elem(&comm_tables, &table_index);

	if (!walk || !table || index >= table->nr_words)
		return 0;
	LB_BOUND(index, LB_COMM_WORDS);
	lb_current_comm((__u64 *)walk->comm);
	walk->word = index;
	walk->bits = table->words[index].start;
	for (__u64 at = 0; at < LB_COMM_LEN; at += LB_COMM_AT_ONCE)
		lb_comm_part(at);
	return lb_comm_end(&table->words[index], walk->bits);
}

/*
 * Returns whether the task is rejected by the checked @kinds, regardless of the others.
 */
static __always_inline bool lb_is_out(__u64 mask, __u64 kinds)
{
	return (mask & LB_FILTER_ANY_OUT) | (filter.wanted & kinds & ~mask);
}

/* Checks all kinds in order of cost. */
__noinline __u64 lb_judge(void)
{
	/* Unknown to the verifier, so that it merges paths. */
	__u64 uses = filter.uses, mask = filter.nothing;

	mask |= lb_task_mask(LB_FILTER_THREAD);
	mask |= lb_task_mask(LB_FILTER_PROCESS);
	mask |= lb_user_mask();
	if (lb_is_out(mask, LB_FILTER_BY_NUMBER))
		return 0;
	if (uses & LB_FILTER_CGROUPS) {
		for (__u64 i = 0; i < LB_FILTER_HIERARCHIES; i++)
			mask |= lb_cgroup_mask(i);
		if (lb_is_out(mask, LB_FILTER_CGROUPS))
			return 0;
	}
	if (uses & LB_FILTER_IN(LB_FILTER_COMM)) {
		for (__u64 i = 0; i < LB_COMM_WORDS; i++)
			mask |= lb_comm_mask(i);
		if (lb_is_out(mask, LB_FILTER_IN(LB_FILTER_COMM)))
			return 0;
	}
	return 1;
}

/*
 * The cached verdict of a task, with all inputs that it depends on. Each entry is one
 * cache line, and checking it uses few others: a task's start time is next to its
 * switch counters. The start time distinguishes a task from earlier ones with the same
 * tid or at the same address. Cgroups are compared by the address of the css_set, which
 * may be freed and reused, so a verdict expires: at 19 Hz after 13 s of the task's own
 * time on this CPU.
 */
#define LB_VERDICTS      256
#define LB_VERDICT_TICKS 256
struct lb_verdict {
	__u64 start_boottime_ns; /* of the thread */
	__u64 css_set; /* address */
	__u64 comm[LB_COMM_LEN / 8]; /* if there are rules for names */
	__u32 tid;
	__u32 uid; /* if there are rules for users */
	__u32 generation; /* lb_filter.generation */
	__u16 nr_left; /* ticks until it expires; 0: empty entry */
	__u16 is_chosen;
	__u64 pad[2]; /* not used */
};
_Static_assert(sizeof(struct lb_verdict) == 64, "a cache line");

struct lb_verdicts {
	struct lb_verdict at[LB_VERDICTS];
};

/* One element, because array elements would need a look-up of their address. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_verdicts);
} verdicts SEC(".maps");

/* Returns the cache entry of a thread. @all  entries of this CPU */
static __always_inline struct lb_verdict *lb_verdict_of(struct lb_verdicts *all,
							__u64 tid)
{
	LB_BOUND(tid, LB_VERDICTS);
	return &all->at[tid];
}

/* Judges the current task and caches the verdict. Return: whether it is chosen. */
__noinline __u64 lb_judge_anew(__u64 tid)
{
	struct task_struct___choice *task = lb_filter_task();
	/* Read before the rules: a later change increments it. */
	__u32 generation = filter.generation, zero = 0;
	__u64 uses = filter.uses, is_chosen;
	struct lb_verdicts *all;
	struct lb_verdict *now;

	all = bpf_map_lookup_elem(&verdicts, &zero);
	if (!all)
		return 0; /* impossible: the index is in range */
	now = lb_verdict_of(all, tid);
	now->nr_left = 0;
	now->tid = tid;
	now->generation = generation;
	now->start_boottime_ns = LB_TASK(task, start_boottime);
	now->css_set = (__u64)LB_TASK(task, cgroups);
	if (uses & LB_FILTER_IN(LB_FILTER_USER))
		now->uid = lb_filter_uid(task);
	if (uses & LB_FILTER_IN(LB_FILTER_COMM))
		lb_comm_words(task, now->comm);
	is_chosen = lb_judge();
	now->is_chosen = is_chosen;
	now->nr_left = LB_VERDICT_TICKS;
	return is_chosen;
}

/* Returns whether all inputs of the kinds in use are unchanged. */
static __always_inline bool lb_is_as_before(const struct lb_verdict *before,
					    struct task_struct___choice *task, __u32 tid)
{
	__u64 uses = filter.uses, comm[LB_COMM_LEN / 8], differs;

	differs = (before->tid ^ tid) | (before->generation ^ filter.generation) |
		  (before->start_boottime_ns ^ LB_TASK(task, start_boottime));
	if (uses & LB_FILTER_IN(LB_FILTER_USER))
		differs |= before->uid ^ lb_filter_uid(task);
	if (uses & LB_FILTER_IN(LB_FILTER_COMM)) {
		lb_comm_words(task, comm);
		differs |= (before->comm[0] ^ comm[0]) | (before->comm[1] ^ comm[1]);
	}
	/* The verifier allows only a comparison of the address. */
	return !differs && before->css_set == (__u64)LB_TASK(task, cgroups);
}

static __always_inline __u64 lb_remember(struct task_struct___choice *task, __u64 tid)
{
	struct lb_verdict *before;
	struct lb_verdicts *all;
	__u32 zero = 0;

	all = bpf_map_lookup_elem(&verdicts, &zero);
	if (!all)
		return 0; /* impossible: the index is in range */
	before = lb_verdict_of(all, tid);
	if (before->nr_left && lb_is_as_before(before, task, tid)) {
		before->nr_left--;
		return before->is_chosen;
	}
	return lb_judge_anew(tid);
}

/*
 * Like lb_is_chosen(), with the time it took in ns in the bits above the lowest. A
 * separate function, so that the verifier follows fewer paths through lb_sample().
 */
__noinline __u64 lb_is_chosen_timed(__u64 tid)
{
	__u64 begin_ns = bpf_ktime_get_ns();
	__u64 is_chosen = lb_remember(lb_filter_task(), tid);

	return is_chosen | (bpf_ktime_get_ns() - begin_ns) << 1;
}

/*
 * Inline, so that most ticks need no call: on machines with mitigations each return is
 * mispredicted. The call chain from lb_sample() through lb_is_chosen_timed() and
 * lb_judge_anew() to lb_cgroup_up() needs nearly all of the stack (unwind.h).
 *
 * @task  the current one
 * @tid  of it; not 0
 * @is_timed  lb_filter_is_timed()
 * Return: bit 0: whether it is chosen. Other bits: nanoseconds that this took; 0 at
 * most ticks, because reading the clock takes as long as everything else
 */
static __always_inline __u64 lb_is_chosen(struct task_struct *task, __u64 tid,
					  __u64 is_timed)
{
	if (is_timed)
		return lb_is_chosen_timed(tid);
	return lb_remember((struct task_struct___choice *)task, tid);
}

#endif
