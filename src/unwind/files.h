/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of files and of the vdso: finds the object of a mapping, and makes the
 * rows that the kernel asks for, file by file, within a time.
 */
#ifndef LB_UNWIND_FILES_H
#define LB_UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "lineburn_unwind.h"

struct mapping;
struct process_table;
struct unwind_files;
struct unwind_tables;
struct worker;

/** All are borrowed and must outlive it. */
int unwind_files_new(struct unwind_tables *tables, struct process_table *processes,
		     struct worker *decoder, struct unwind_files **ret,
		     struct error *err);
void unwind_files_free(struct unwind_files *f);
DEFINE_CLEANUP(struct unwind_files, unwind_files_free);

/**
 * The segment that @m (MAPPING_FILE, MAPPING_MEMFD, MAPPING_VDSO) is; without rows if its
 * file cannot be read, is no ELF file, or there is no room.
 */
void unwind_files_segment(struct unwind_files *f, const struct mapping *m,
			  struct lb_unwind_segment *ret);

/** The kernel has no rows at @ip, in @m. Answered by the next unwind_files_serve(). */
void unwind_files_want(struct unwind_files *f, const struct mapping *m, uint64_t ip);

/**
 * Asks the decoder for what is wanted. A file that takes long is waited for.
 *
 * @deadline_ns  CLOCK_MONOTONIC: no further file is begun
 * Return: is there something left to do?
 */
bool unwind_files_serve(struct unwind_files *f, uint64_t deadline_ns);
/** Same, for small files that were mapped and will be wanted soon. */
bool unwind_files_serve_early(struct unwind_files *f, uint64_t deadline_ns);

/**
 * Rows of all pages of @m, of which unwind_files_segment() was asked, though nobody missed
 * them; it is one of ours (launch/launch.c), not of any size. @deadline_ns as above.
 */
void unwind_files_read(struct unwind_files *f, const struct mapping *m,
		       uint64_t deadline_ns);

/**
 * What is known of files goes that are given back, or have been closed for a minute. No
 * segment of theirs may be told.
 */
void unwind_files_forget(struct unwind_files *f);

struct unwind_files_totals {
	uint64_t nr_asked, nr_failed; /* calls of the decoder; without an answer */
	uint64_t ask_ns; /* waited for answers */
	uint64_t nr_wants_dropped; /* too many at once: the kernel asks again */
};
void unwind_files_totals(const struct unwind_files *f, struct unwind_files_totals *ret);

#endif
