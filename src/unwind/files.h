/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of files and of the vdso: finds the object of a mapping, and builds the
 * rows that the kernel requests, file by file, within a deadline.
 */
#ifndef LB_UNWIND_FILES_H
#define LB_UNWIND_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/quota.h"
#include "lineburn_unwind.h"

struct mapping;
struct process_table;
struct shared_worker;
struct unwind_files;
struct unwind_tables;
struct unwind_totals;

/** All arguments are borrowed and must outlive *ret. */
int unwind_files_new(struct unwind_tables *tables, struct process_table *processes,
		     struct shared_worker *decoder, struct unwind_totals *totals,
		     struct unwind_files **ret, struct error *err);
void unwind_files_free(struct unwind_files *f);
DEFINE_CLEANUP(struct unwind_files, unwind_files_free);

/** From now on, large files are read in idle time even if they were not requested. */
void unwind_files_read_all(struct unwind_files *f);

/**
 * Fills in the segment of @m (MAPPING_FILE, MAPPING_MEMFD, MAPPING_VDSO); without rows if
 * its file cannot be read, is no ELF file, or there is no room. It ends where the file does.
 */
void unwind_files_segment(struct unwind_files *f, const struct mapping *m,
			  struct lb_unwind_segment *ret);

/**
 * Queues a request for rows at @ip in @m, for a process of @who. unwind_files_serve()
 * answers it.
 */
void unwind_files_want(struct unwind_files *f, const struct mapping *m, uint64_t ip,
		       struct tenant who);

/** quota_each_refused() of the queue. */
void unwind_files_each_refused(struct unwind_files *f, quota_refused_fn fn, void *ctx);

/* What is left when the functions below returned false. */
enum unwind_files_work {
	UNWIND_FILES_NONE,
	UNWIND_FILES_EARLY, /* nobody waits for it */
	UNWIND_FILES_WANTED, /* the decoder is busy, or it is the turn of others */
};
enum unwind_files_work unwind_files_work(const struct unwind_files *f);

/**
 * Requests the queued rows from the decoder, in the order in which users share its time.
 * It waits for the answers as worker/shared.h says; those that come later are written when
 * they come.
 *
 * @deadline_ns  CLOCK_MONOTONIC: starts no further file after it
 * Return: whether the time was too short.
 */
bool unwind_files_serve(struct unwind_files *f, uint64_t deadline_ns);
/** Same, for small mapped files whose rows will probably be requested soon. */
bool unwind_files_serve_early(struct unwind_files *f, uint64_t deadline_ns);

/**
 * Same, some other pages of a large file that was requested several times, or of any under
 * unwind_files_read_all(). Call it when nothing else is to do.
 */
bool unwind_files_serve_ahead(struct unwind_files *f);

/**
 * Builds rows of all pages of @m in advance; call unwind_files_segment() first. @m is
 * one of lineburn's own files (launch/launch.c), so its size is limited. @deadline_ns
 * as above.
 */
void unwind_files_read(struct unwind_files *f, const struct mapping *m,
		       uint64_t deadline_ns);

/**
 * Lets rows be requested again of files about which the decoder was late, when their pauses
 * are over. Call it regularly.
 */
void unwind_files_retry(struct unwind_files *f);

/**
 * Drops the tables of files that were released, or closed a minute ago. The kernel must
 * have no segment of these files.
 */
void unwind_files_forget(struct unwind_files *f);

#endif
