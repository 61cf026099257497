/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about a file: a decoder inspects it once, and the file keeps the result. */
#ifndef LB_PROCESS_FILE_FACTS_H
#define LB_PROCESS_FILE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/runtimes.h"

struct target_file;
struct worker;

/* Hostile: each runtime validates its own facts. */
struct file_facts {
	bool is_elf;
	struct runtime_facts {
		bool is_known; /* it is one; else zeroes follow */
		uint64_t words[RUNTIME_FACTS_BYTES / sizeof(uint64_t)];
	} runtimes[NR_RUNTIMES];
};

#define FILE_FACTS_DEADLINE_MS \
	2000 /* a file on a slow disk; its names are looked through */

/**
 * Inspects a file that is not in the cache.
 *
 * @path  as its target sees it
 * Cost: 0.04 ms for most programs, 4 ms where there are 15 MB of names (LLVM linked
 * statically), 35 ms when those come from a disk.
 * Return: 0, or -ENODATA: the decoder failed (deadline, death), or does not start.
 */
int file_facts_read(struct worker *decoder, int fd, const char *path,
		    struct file_facts *ret);

/**
 * Returns the facts about @file. The first call for an open file inspects it; a failure
 * is final. Return: borrowed, valid as long as the file; NULL: nothing is known.
 */
const struct file_facts *file_facts_get(struct target_file *file, struct worker *decoder);

/** Returns a runtime's facts: the struct that its inspector fills in. NULL: none. */
static inline const void *file_facts_of(const struct file_facts *facts,
					enum runtime_number runtime)
{
	return facts && facts->runtimes[runtime].is_known ? facts->runtimes[runtime].words
							  : NULL;
}

#endif
