/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executable mappings of one program image: where an address comes from. */
#ifndef LB_PROCESS_MAPS_H
#define LB_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"

struct target_file;

enum mapping_kind {
	MAPPING_FILE, /* a file, deleted or not */
	MAPPING_MEMFD, /* memfd_create(2) or SysV shared memory: a file without a path */
	MAPPING_ANON, /* anonymous, "//anon", "[anon:...]": what a JIT writes to */
	MAPPING_HEAP, /* [heap] */
	MAPPING_STACK, /* [stack] */
	MAPPING_VDSO, /* [vdso] */
	MAPPING_VSYSCALL, /* [vsyscall] */
	MAPPING_JITDUMP, /* the marker page of a jit-PID.dump; holds no code of its own */
};

/* One executable mapping. What it says is true for from_ns <= time < until_ns. */
struct mapping {
	uint64_t start, end; /* [start, end), run-time addresses */
	uint64_t file_off; /* of start */
	enum mapping_kind kind;
	bool deleted; /* the path has " (deleted)" or the inode is another now */
	const char *
		path; /* as the target sees it, without " (deleted)"; interned; "" if none */
	uint32_t major, minor; /* as the kernel says; 0:0 unknown */
	uint64_t inode; /* 0 unknown */
	uint8_t build_id[20];
	uint8_t build_id_len; /* 0: not known from the kernel */
	struct target_file
		*file; /* opened; NULL: not opened (yet); borrowed from the file cache */
	uint64_t from_ns; /* CLOCK_MONOTONIC; 0: since before we looked */
	uint64_t until_ns; /* replaced by a later mapping; UINT64_MAX: still there */
};

/* A time-ordered log: nothing is ever removed, so look-ups in the past work. */
struct maps {
	struct mapping *items; /* in order of from_ns */
	size_t nr, cap;
	uint64_t nr_dropped; /* over the maximum of MAPS_MAX */
};

#define MAPS_MAX 65536 /* executable mappings of one image, past ones included */

/** @src may be NULL for an empty set. Strings and files stay shared. */
int maps_copy(struct maps *dst, const struct maps *src);
void maps_deinit(struct maps *maps);

/**
 * Notes a new mapping; older ones that it overlaps end at m->from_ns where they
 * overlap (a mapping that sticks out on a side keeps that side).
 * Return: 0, -ENOMEM, or -ENOSPC (counted in nr_dropped).
 */
int maps_add(struct maps *maps, const struct mapping *m);

/**
 * Parses the text of /proc/PID/maps and calls @add for each executable mapping.
 * Pure: reads @text only. Malformed lines are skipped and counted.
 *
 * @time_ns  becomes from_ns
 * Return: number of malformed lines.
 */
size_t maps_parse(const char *text, size_t len, uint64_t time_ns, struct strpool *pool,
		  int (*add)(void *ctx, const struct mapping *m), void *ctx);

/** What kind of mapping the kernel means by this path. */
enum mapping_kind mapping_kind_of(const char *path);

enum maps_answer {
	MAPS_FOUND,
	MAPS_NONE, /* nothing executable is known at this address */
	MAPS_AMBIGUOUS, /* its owner changed within [first_ns, last_ns] */
};

/** Who owned @ip during all of [first_ns, last_ns]? *ret is written when found. */
enum maps_answer maps_find(const struct maps *maps, uint64_t ip, uint64_t first_ns,
			   uint64_t last_ns, const struct mapping **ret);

/** The only place where a run-time address becomes a file offset. */
static inline uint64_t mapping_ip_to_file_off(const struct mapping *m, uint64_t ip)
{
	return ip - m->start + m->file_off;
}

#endif
