/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the tasks to sample. User space writes the rules and may change them while
 * the programs run. Each kind of rule has a bit that includes a task and one that
 * excludes it. A task is sampled if no kind excludes it, and every kind with include
 * rules includes it.
 */
#ifndef LB_LINEBURN_FILTER_H
#define LB_LINEBURN_FILTER_H

#ifndef __VMLINUX_H__ /* the BPF side already has the types */
#include <linux/types.h>
#endif

#include "lineburn.h"

/* In order of cost. */
enum lb_filter_kind {
	LB_FILTER_THREAD, /* tid */
	LB_FILTER_PROCESS, /* tgid, inherited by children */
	LB_FILTER_USER, /* effective uid */
	LB_FILTER_CGROUP, /* these three: a cgroup and all below it */
	LB_FILTER_CONTAINER,
	LB_FILTER_UNIT,
	LB_FILTER_COMM, /* name of the thread */
	LB_NR_FILTER_KINDS,
};

/* Bits of masks: a task's verdict, the include rules, the kinds in use. */
#define LB_FILTER_IN(kind)  (1u << (kind))
#define LB_FILTER_OUT(kind) (1u << ((kind) + 16))
#define LB_FILTER_ANY_OUT   0xffff0000u
#define LB_FILTER_BY_NUMBER                                                 \
	(LB_FILTER_IN(LB_FILTER_THREAD) | LB_FILTER_IN(LB_FILTER_PROCESS) | \
	 LB_FILTER_IN(LB_FILTER_USER))
#define LB_FILTER_CGROUPS                                                     \
	(LB_FILTER_IN(LB_FILTER_CGROUP) | LB_FILTER_IN(LB_FILTER_CONTAINER) | \
	 LB_FILTER_IN(LB_FILTER_UNIT))

/* Most cgroup hierarchies that are checked: v2, and those of v1 in use. */
#define LB_FILTER_HIERARCHIES 4
/* Most cgroups with a rule. */
#define LB_FILTER_MAX_CGROUPS 16384

/*
 * User space writes the data first, then the words that refer to it, then the generation.
 * A program run reads the generation before the data.
 */
struct lb_filter {
	__u32 uses; /* LB_FILTER_IN() of kinds that have rules */
	__u32 wanted; /* LB_FILTER_IN() of kinds that have include rules */
	__u32 no_children; /* children do not inherit the rules of their parent */
	__u32 generation; /* incremented when any rule was changed */
	__u32 nr_hierarchies;
	__u32 comm_table; /* index of the active table */
	__u32 nothing; /* 0 */
	__u32 pad; /* 0 */
	/* First numbers of lines of /proc/PID/cgroup; v2: 0. */
	__u32 hierarchies[LB_FILTER_HIERARCHIES];
};

/*
 * Returns whether this tick measures how long the filter takes. @tick: of this CPU,
 * since the slot was emptied. @round: incremented at each measurement. Even if slots
 * are emptied after a few ticks, each tick is measured in some round: an odd step
 * visits all LB_FILTER_MEASURED rounds, and one near the golden section of that number
 * spreads them.
 */
static inline __attribute__((always_inline)) int lb_filter_is_timed(__u64 tick,
								    __u32 round)
{
	return !((tick + 39 * (__u64)round) & (LB_FILTER_MEASURED - 1));
}

/* Marks a thread's id; tids have 22 bits (PID_MAX_LIMIT of linux/threads.h). */
#define LB_TARGET_THREAD (1u << 31)

/* The rule of a process or a thread. */
struct lb_target {
	/* of the leader, or the thread; 0: set at the first tick */
	__u64 start_boottime_ns;
	__u32 mask; /* LB_FILTER_IN() and _OUT() */
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_target) == 16, "no padding in map values");

/* kernfs ids are never reused within one hierarchy: inode and its generation. */
struct lb_cgroup_key {
	__u64 id; /* inode of the directory */
	__u32 hierarchy; /* first number of its line in /proc/PID/cgroup; v2: 0 */
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct lb_cgroup_key) == 16, "no padding in map keys");

/*
 * Compiled name patterns. All are matched at once, with a bit for each element (the
 * bit-parallel matching of R. Baeza-Yates and G. Gonnet, 1992). A pattern has 16 bits
 * of a word. Bit i is set when the bytes so far match the first i elements. A '*' is
 * not an element: it keeps its bit set. An element that matches the byte shifts its bit
 * up.
 */
#define LB_COMM_PATTERN_BITS 16
#define LB_COMM_PER_WORD     4
#define LB_COMM_WORDS        4
#define LB_COMM_PATTERNS     (LB_COMM_PER_WORD * LB_COMM_WORDS)
#define LB_COMM_MAX_ELEMENTS (LB_COMM_PATTERN_BITS - 1)

struct lb_comm_byte {
	__u64 match; /* bits whose next element matches this byte */
	__u64 stay; /* bits before a '*'; for the byte 0, which ends a name: all */
};

struct lb_comm_word {
	struct lb_comm_byte bytes[256];
	__u64 start; /* the first bit of each pattern */
	__u64 in, out; /* last bits of the patterns that include, and that exclude */
};

struct lb_comm_table {
	__u32 nr_words; /* 0..LB_COMM_WORDS */
	__u32 pad; /* 0 */
	struct lb_comm_word words[LB_COMM_WORDS];
};

#define LB_COMM_AT_ONCE 4

/**
 * @bytes  the next LB_COMM_AT_ONCE of a name, padded with zeroes. Return: the new bits.
 */
static inline __attribute__((always_inline)) __u64 lb_comm_step(
	const struct lb_comm_word *word, __u64 bits, const __u8 *bytes)
{
	for (int i = 0; i < LB_COMM_AT_ONCE; i++) {
		const struct lb_comm_byte *byte = &word->bytes[bytes[i]];

		bits = (bits & byte->match) << 1 | (bits & byte->stay);
	}
	return bits;
}

/* Returns a mask of the bytes before the first zero in @word; none is zero: all ones. */
static inline __attribute__((always_inline)) __u64 lb_comm_mask_of(__u64 word)
{
	__u64 zero = (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;

	/* The lowest bit is of the first one; above it, bytes of 1 have one, too. */
	return (zero & -zero) - 1;
}

/** Zeroes the bytes behind the end of a name. @name  LB_COMM_LEN bytes, little-endian */
static inline __attribute__((always_inline)) void lb_comm_end_at_nul(__u64 *name)
{
	__u64 mask = lb_comm_mask_of(name[0]);

	name[0] &= mask;
	name[1] = ~mask ? 0 : name[1] & lb_comm_mask_of(name[1]);
}

/** @bits  after all LB_COMM_LEN bytes. Return: a mask of LB_FILTER_COMM. */
static inline __attribute__((always_inline)) __u32 lb_comm_end(
	const struct lb_comm_word *word, __u64 bits)
{
	__u32 mask = 0;

	if (bits & word->in)
		mask |= LB_FILTER_IN(LB_FILTER_COMM);
	if (bits & word->out)
		mask |= LB_FILTER_OUT(LB_FILTER_COMM);
	return mask;
}

#endif
