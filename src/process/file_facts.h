/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file says of itself: a decoder is asked once, and the answer kept with the file. */
#ifndef LB_PROCESS_FILE_FACTS_H
#define LB_PROCESS_FILE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/runtimes.h"

struct target_file;
struct worker;

/* Hostile: each runtime checks its own before it believes them. */
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
 * Asks about a file that is not in the cache.
 *
 * @path  as its target sees it
 * Cost: 0.04 ms for most programs, 4 ms where there are 15 MB of names (LLVM linked
 * statically), 35 ms when those come from a disk.
 * Return: 0, or -ENODATA: the decoder could not tell (deadline, death), or does not start.
 */
int file_facts_read(struct worker *decoder, int fd, const char *path,
		    struct file_facts *ret);

/**
 * The facts about @file. The first call for an open file asks; a failure is final, too.
 * Return: borrowed, as long as the file is; NULL: nothing is known.
 */
const struct file_facts *file_facts_get(struct target_file *file, struct worker *decoder);

/** What a runtime has to say: the struct that its inspector fills in. NULL: it is none. */
static inline const void *file_facts_of(const struct file_facts *facts,
					enum runtime_number runtime)
{
	return facts && facts->runtimes[runtime].is_known ? facts->runtimes[runtime].words
							  : NULL;
}

#endif
