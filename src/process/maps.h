/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executable mappings of one program image: translates an address to a file and an offset. */
#ifndef LB_PROCESS_MAPS_H
#define LB_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"

struct target_file;

enum mapping_kind {
	MAPPING_FILE, /* a file, deleted or not */
	MAPPING_MEMFD, /* memfd_create(2) or shared memory: a file without a path */
	MAPPING_ANON, /* anonymous, "//anon", "[anon:...]": what a JIT writes to */
	MAPPING_HEAP, /* [heap] */
	MAPPING_STACK, /* [stack] */
	MAPPING_VDSO, /* [vdso] */
	MAPPING_VSYSCALL, /* [vsyscall], [uprobes]: other pages that the kernel made */
	MAPPING_JITDUMP, /* the marker page of a jit-PID.dump; holds no code of its own */
};

/* One executable mapping, valid for from_ns <= time < until_ns. */
struct mapping {
	uint64_t start, end; /* [start, end), run-time addresses */
	uint64_t file_off; /* of start */
	enum mapping_kind kind;
	bool deleted; /* the kernel's path ends in " (deleted)" */
	/* as the target sees it, without " (deleted)"; interned; "" if none */
	const char *path;
	uint32_t major, minor; /* from the kernel; 0:0 unknown */
	uint64_t inode; /* 0 unknown */
	uint8_t build_id[20];
	uint8_t build_id_len; /* 0: not known from the kernel */
	/* opened; NULL: not opened (yet); borrowed from the file cache */
	struct target_file *file;
	uint64_t from_ns; /* CLOCK_MONOTONIC; 0: since before we looked */
	uint64_t until_ns; /* replaced by a later mapping; UINT64_MAX: still there */
	/* CLOCK_MONOTONIC: the kernel side has its unwind table from then on; 0: not yet */
	uint64_t told_ns;
	/* Before told_ns the kernel side has the table of other code at these addresses. */
	bool took_over;
	bool is_seen; /* by the read of /proc/PID/maps that goes on: maps_see() */
};

/*
 * A time-ordered log that can answer look-ups in the past: a replaced mapping is kept,
 * with its end time. When more than MAPS_PAST_MAX have ended, the last half of that many is
 * kept. So many are dropped at once, and have room of their own, because that moves all
 * entries: whoever maps and unmaps in a loop must not cause it at each mapping.
 */
struct maps {
	struct mapping *items; /* in order of from_ns */
	size_t nr, cap;
	uint64_t nr_dropped; /* over the maximum of MAPS_MAX, or no memory */
	uint64_t nr_forgotten; /* ended ones: over MAPS_PAST_MAX, or by maps_forget() */
	uint64_t nr_changes; /* of live mappings, or of their files */
	uint64_t nr_took_over; /* mappings that did, ever */
	/* Some that maps_end_unseen() ended may still have a table: since maps_told(). */
	bool has_untold_ends;

	/* Indexes, maintained by maps.c: numbers of items. */
	uint32_t *live; /* still there: disjoint, in order of start */
	uint32_t *past; /* ended: in order of until_ns */
	size_t nr_live, cap_live, nr_past, cap_past;
};

#define MAPS_MAX      65536 /* executable mappings of one image, past ones included */
#define MAPS_PAST_MAX 4096 /* ended ones among them */
#define MAPS_LIVE_MAX (MAPS_MAX - MAPS_PAST_MAX) /* ones that are still there */

/**
 * For fork: copies what is mapped now, not what has ended. @src may be NULL for
 * an empty set. Strings and files stay shared. Return: 0, or -ENOMEM with an
 * empty @dst.
 */
int maps_copy(struct maps *dst, const struct maps *src);
void maps_deinit(struct maps *maps);

/**
 * Adds a mapping. Older ones that it overlaps end at m->from_ns; their parts outside of
 * it remain. If a known mapping of the same owner contains it, it only adds details to
 * that (a JIT that keeps changing page rights must not fill the log). Adjacent
 * anonymous mappings are merged, as in the kernel.
 *
 * @m  copied; until_ns is ignored. A from_ns before that of the newest entry is
 *     replaced by that: the log is in order.
 * Return: 0, -EINVAL (empty range), or -ENOMEM or -ENOSPC (in nr_dropped).
 * Pointers into @maps are invalid afterwards.
 */
int maps_add(struct maps *maps, const struct mapping *m);

/**
 * Parses the text of /proc/PID/maps and calls @add for each executable mapping.
 * Pure: reads @text only. Malformed lines are skipped and counted. Mappings that are added
 * ascend and do not overlap, whatever the text says.
 *
 * @time_ns  becomes from_ns
 * @add      a result other than 0 ends the parse
 * Return: number of malformed lines.
 */
size_t maps_parse(const char *text, size_t len, uint64_t time_ns, struct strpool *pool,
		  int (*add)(void *ctx, const struct mapping *m), void *ctx);

/**
 * The kernel reports no munmap, so the text of /proc/PID/maps shows which mappings are
 * gone. Call maps_see() for each that it has, after maps_add(), and then
 * maps_end_unseen(): it ends those that are in none and began before @before_ns, the time
 * just before the read. Pointers into @maps are invalid afterwards.
 */
void maps_see(struct maps *maps, uint64_t start, uint64_t end);
void maps_end_unseen(struct maps *maps, uint64_t before_ns);

/** Returns the length of a path from /proc without the kernel's " (deleted)". */
size_t maps_text_without_deleted(const char *name, size_t len);

/**
 * Sets kind, path and deleted of @m from a name as the kernel writes it, in the text of
 * maps (after unescaping) or in an event. Names of 4096 bytes and more become
 * "//toolong", as in the kernel's events.
 */
void mapping_set_path(struct mapping *m, struct strpool *pool, const char *name);

/** Returns whether a JIT may write its code: anonymous memory, heap, memfd. */
bool mapping_may_be_jit(const struct mapping *m);

/** Drops mappings that ended by @before_ns. Invalidates pointers into @maps. */
void maps_forget(struct maps *maps, uint64_t before_ns);

/* Returns how many mappings were ever added. An increase means a new mapping. */
static inline size_t maps_nr_ever(const struct maps *maps)
{
	return maps->nr + (size_t)maps->nr_forgotten;
}

enum maps_answer {
	MAPS_FOUND,
	MAPS_NONE, /* nothing executable is known at this address */
	MAPS_AMBIGUOUS, /* its owner changed within [first_ns, last_ns] */
};

/**
 * Finds the owner of @ip in [first_ns, last_ns]. Ambiguous if one known owner replaced
 * another in that time. A change from unknown to a known owner is not ambiguous.
 * @ret  written when found: the last owner; valid until the next maps_add()
 * Cost: a binary search, and a walk over mappings that ended after @first_ns.
 */
enum maps_answer maps_find(const struct maps *maps, uint64_t ip, uint64_t first_ns,
			   uint64_t last_ns, const struct mapping **ret);

/*
 * Ended mappings that the look-ups of one stack may pass together, which takes 0.3 ms. A
 * stack may have 512 addresses, and each may pass MAPS_PAST_MAX. A JIT's code that grows
 * a thousand times in a window, under 250 frames of it, is below that.
 */
#define MAPS_PASSED_MAX 262144

/**
 * Same, but passes no more than *@left ended mappings: beyond that, the owner is as unknown
 * as an ambiguous one. Subtracts from *@left what it passed.
 */
enum maps_answer maps_find_within(const struct maps *maps, uint64_t ip, uint64_t first_ns,
				  uint64_t last_ns, size_t *left,
				  const struct mapping **ret);

/** The kernel side has the tables of all live mappings from @now_ns on. */
void maps_told(struct maps *maps, uint64_t now_ns);

/**
 * May the kernel side have looked up @ip, in [first_ns, last_ns], in the table of other code
 * that was there before? A caller that it found by that table is wrong. @left as in
 * maps_find_within().
 */
bool maps_table_was_stale(const struct maps *maps, uint64_t ip, uint64_t first_ns,
			  uint64_t last_ns, size_t *left);

/** The only place where a run-time address becomes a file offset. */
static inline uint64_t mapping_ip_to_file_off(const struct mapping *m, uint64_t ip)
{
	return ip - m->start + m->file_off;
}

#endif
