/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is the current task one that is sampled? Asked at every tick of every other task, too: so
 * the answer is remembered, what is cheap is asked first, and what a cgroup's ancestors say
 * is remembered, too.
 */
#ifndef LB_BPF_FILTER_H
#define LB_BPF_FILTER_H

#include "arch.h"
#include "lineburn_filter.h"
#include "target.h"

/*
 * What is read of the kernel's types here; CO-RE finds it by name. Members keep the
 * relations that they have in the kernel, not their places.
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
 * Set by src/collect/filter.c, before and while the programs run. Each tick reads it: it is in
 * one cache line, which nobody else writes.
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
	__uint(max_entries, 16384);
	__type(key, struct lb_cgroup_key);
	__type(value, __u32); /* mask */
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct lb_comm_table);
} comm_tables SEC(".maps");

/* What a cgroup and all above it say, as it was found; of two at one place the last stays. */
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

/* A walk over cgroups, one step at a time. */
struct cgroup_walk {
	struct cgroup___lb *cgroup; /* NULL: none */
	struct list_head___lb *link; /* the next of the task's list */
	__u32 hierarchy;
	__u32 mask;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cgroup_walk);
} cgroup_walks SEC(".maps");

/* The compiler shall not look through it: the verifier has to see the register bounded. */
#define LB_BOUND(index, power_of_two) \
	asm volatile("%0 &= %1" : "+r"(index) : "i"((power_of_two)-1))

static __always_inline struct task_struct___choice *lb_filter_task(void)
{
	return (struct task_struct___choice *)lb_current_task();
}

/*
 * The current thread's name, with zeroes behind its end: there some kernels (Debian's 6.1)
 * leave what lay in the buffer before.
 */
static __always_inline void lb_current_comm(void *ret)
{
	__builtin_memset(ret, 0, LB_COMM_LEN);
	bpf_get_current_comm(ret, LB_COMM_LEN);
}

/* What is said of the current thread, or of its process. */
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

	/* One read in place may be of no credentials, for all that the kernel tells. */
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
 * A task below more cgroups than these is judged by the lowest, and one in more hierarchies
 * by the first; both are counted.
 */
#define LB_CGROUP_PARTS    16
#define LB_CGROUPS_A_PART  16
#define LB_MAX_HIERARCHIES 20 /* that a task is looked for in */

__u64 cgroups_too_deep; /* counted again when it is not at hand any more */

/*
 * What the cgroup at hand says, and on to its parent: a function of its own, so that the
 * verifier looks at it once. Return: is there another?
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
 * On to the next cgroup of the task. The list may change while it is read, when the task
 * is moved: then one tick is judged by what it was before, or by none of its cgroups.
 * Return: goes it on?
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
 * A part of the way. Steps at the top do nothing: so few ways out are for the verifier to
 * see. Return: is there more?
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

/* All the way up. */
__noinline __u64 lb_cgroup_climb(void)
{
	for (int i = 0; i < LB_CGROUP_PARTS; i++)
		if (!lb_cgroup_climb_part())
			return 1;
	__sync_fetch_and_add(&cgroups_too_deep, 1);
	return 0;
}

/* Return: was one of the hierarchy found? */
__noinline __u64 lb_cgroup_listed(void)
{
	for (int i = 0; i < LB_MAX_HIERARCHIES; i++)
		if (!lb_cgroup_next())
			return 1;
	/* A task has one of each hierarchy: there are more of them. */
	__sync_fetch_and_add(&cgroups_too_deep, 1);
	return 0;
}

/* A match of one name with one word of patterns. */
struct comm_walk {
	__u64 bits;
	__u64 word;
	__u8 comm[LB_COMM_LEN];
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

/* What the cgroup of the current task, and those above it, say in a hierarchy. */
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

/* Four bytes of the name: a function of its own, so that the verifier looks at it once. */
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

/* What the table of patterns in use says of the current task's name. */
__noinline __u64 lb_comm_mask(__u64 index)
{
	__u32 table_index = filter.comm_table & 1, zero = 0;
	struct comm_walk *walk = bpf_map_lookup_elem(&comm_walks, &zero);
	struct lb_comm_table *table = bpf_map_lookup_elem(&comm_tables, &table_index);

	if (!walk || !table || index >= table->nr_words)
		return 0;
	LB_BOUND(index, LB_COMM_WORDS);
	lb_current_comm(walk->comm);
	walk->word = index;
	walk->bits = table->words[index].start;
	for (__u64 at = 0; at < LB_COMM_LEN; at += LB_COMM_AT_ONCE)
		lb_comm_part(at);
	return lb_comm_end(&table->words[index], walk->bits);
}

/* Is a task of this mask out, whatever further kinds say? @kinds were asked. */
static __always_inline bool lb_is_out(__u64 mask, __u64 kinds)
{
	return (mask & LB_FILTER_ANY_OUT) | (filter.wanted & kinds & ~mask);
}

/* All kinds, one after the other. */
__noinline __u64 lb_judge(void)
{
	/* Of nothing that the verifier knows, so that it need not tell ways apart. */
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
 * What was found of a task when it ticked last, and what it was like then: what is said of
 * it depends on nothing else. Each lies in a cache line, and looking at it touches few
 * others: a task's start stands beside its counts of switches. It tells a task from those
 * that had its number before, and its memory. Cgroups are told by an address: those it was
 * of may be gone, and others lie there, so no answer is good for ever: at 19 Hz for 13 s of the
 * task's own time on this CPU.
 */
#define LB_VERDICTS      256
#define LB_VERDICT_TICKS 256
struct lb_verdict {
	__u64 start_boottime_ns; /* of the thread */
	__u64 css_set; /* address */
	__u64 comm[LB_COMM_LEN / 8]; /* if names are asked for */
	__u32 tid;
	__u32 uid; /* if users are */
	__u32 generation; /* lb_filter.generation */
	__u16 nr_left; /* ticks for which it is good; 0: nothing was found */
	__u16 is_chosen;
	__u64 pad[2]; /* not used */
};
_Static_assert(sizeof(struct lb_verdict) == 64, "a cache line");

struct lb_verdicts {
	struct lb_verdict at[LB_VERDICTS];
};

/* One element: those of an array are found through a table of their addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_verdicts);
} verdicts SEC(".maps");

static __always_inline void lb_filter_comm(struct task_struct___choice *task, __u64 *ret)
{
	const void *comm = task;

	if (!LB_TASK_HAS_TYPE()) {
		lb_current_comm(ret);
		return;
	}
	comm += bpf_core_field_offset(struct task_struct___choice, comm);
	ret[0] = *(const volatile __u64 *)comm;
	ret[1] = *(const volatile __u64 *)(comm + 8);
}

/* The place of what was found of a thread. @all  of this CPU */
static __always_inline struct lb_verdict *lb_verdict_of(struct lb_verdicts *all,
							__u64 tid)
{
	LB_BOUND(tid, LB_VERDICTS);
	return &all->at[tid];
}

/* Judges the current task, and remembers it. Return: is it chosen? */
__noinline __u64 lb_judge_anew(__u64 tid)
{
	struct task_struct___choice *task = lb_filter_task();
	/* First: what changes from here on has another. */
	__u32 generation = filter.generation, zero = 0;
	__u64 uses = filter.uses, is_chosen;
	struct lb_verdicts *all;
	struct lb_verdict *now;

	all = bpf_map_lookup_elem(&verdicts, &zero);
	if (!all)
		return 0; /* cannot be: the index is in range */
	now = lb_verdict_of(all, tid);
	now->nr_left = 0;
	now->tid = tid;
	now->generation = generation;
	now->start_boottime_ns = LB_TASK(task, start_boottime);
	now->css_set = (__u64)LB_TASK(task, cgroups);
	if (uses & LB_FILTER_IN(LB_FILTER_USER))
		now->uid = lb_filter_uid(task);
	if (uses & LB_FILTER_IN(LB_FILTER_COMM))
		lb_filter_comm(task, now->comm);
	is_chosen = lb_judge();
	now->is_chosen = is_chosen;
	now->nr_left = LB_VERDICT_TICKS;
	return is_chosen;
}

/* Is all that the kinds in use depend on as it was? */
static __always_inline bool lb_is_as_before(const struct lb_verdict *before,
					    struct task_struct___choice *task, __u32 tid)
{
	__u64 uses = filter.uses, comm[LB_COMM_LEN / 8], differs;

	differs = (before->tid ^ tid) | (before->generation ^ filter.generation) |
		  (before->start_boottime_ns ^ LB_TASK(task, start_boottime));
	if (uses & LB_FILTER_IN(LB_FILTER_USER))
		differs |= before->uid ^ lb_filter_uid(task);
	if (uses & LB_FILTER_IN(LB_FILTER_COMM)) {
		lb_filter_comm(task, comm);
		differs |= (before->comm[0] ^ comm[0]) | (before->comm[1] ^ comm[1]);
	}
	/* An address is for comparing only: the verifier lets nothing else be done to it. */
	return !differs && before->css_set == (__u64)LB_TASK(task, cgroups);
}

static __always_inline __u64 lb_remember(struct task_struct___choice *task, __u64 tid)
{
	struct lb_verdict *before;
	struct lb_verdicts *all;
	__u32 zero = 0;

	all = bpf_map_lookup_elem(&verdicts, &zero);
	if (!all)
		return 0; /* cannot be: the index is in range */
	before = lb_verdict_of(all, tid);
	if (before->nr_left && lb_is_as_before(before, task, tid)) {
		before->nr_left--;
		return before->is_chosen;
	}
	return lb_judge_anew(tid);
}

/*
 * As lb_is_chosen(), and in the bits above the lowest: nanoseconds that this took. It is a
 * function of its own because the verifier follows fewer ways through lb_sample() then.
 */
__noinline __u64 lb_is_chosen_timed(__u64 tid)
{
	__u64 begin_ns = bpf_ktime_get_ns();
	__u64 is_chosen = lb_remember(lb_filter_task(), tid);

	return is_chosen | (bpf_ktime_get_ns() - begin_ns) << 1;
}

/*
 * Not a function of its own at most ticks: on machines with mitigations each return is
 * mispredicted. From lb_sample() through lb_is_chosen_timed() and lb_judge_anew() to
 * lb_cgroup_up() the chain of calls has 480 of 512 bytes of stack, counted as in unwind.h.
 *
 * @task  the current one
 * @tid  of it; not 0
 * @is_timed  lb_filter_is_timed()
 * Return: is it chosen? In the bits above that one: nanoseconds that this took; 0 at most
 * ticks, since a reading of the clock takes as long as all else
 */
static __always_inline __u64 lb_is_chosen(struct task_struct *task, __u64 tid,
					  __u64 is_timed)
{
	if (is_timed)
		return lb_is_chosen_timed(tid);
	return lb_remember((struct task_struct___choice *)task, tid);
}

#endif
