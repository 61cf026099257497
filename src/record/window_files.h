/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, writes and prunes the files of a recording with windows. */
#ifndef LB_RECORD_WINDOW_FILES_H
#define LB_RECORD_WINDOW_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/io.h"

/*
 * Identifies a file: it is named after the UTC second in which its window began, plus a
 * number if there is a file of that name already: the window has several, since memory was
 * short, or another one began in that second (short windows, a clock that was set back).
 */
struct window_id {
	int64_t begin_s; /* CLOCK_REALTIME, 0 to the end of the year 9999 */
	uint32_t number; /* 1, 2, ... WINDOW_MAX_NUMBER */
	bool goes_on; /* the window of the file that was written before it; not compared */
};

#define WINDOW_MAX_NUMBER 99999

/**
 * "dir/name.pb.gz" -> "dir/name.20261121T160000Z.pb.gz"; the second file of that
 * second is "dir/name.20261121T160000Z_02.pb.gz". If the output does not end in
 * ".pb.gz", all of it is the stem. Sorting names as text sorts them by time, up to
 * number 99.
 *
 * Return: 0; -ENAMETOOLONG if it does not fit @size, or its last component is too long
 * for a file name.
 */
int window_path(const char *output, const struct window_id *id, char *ret, size_t size);

/**
 * Is @name (without folders) a name that window_path() makes from @output? If so, sets
 * *ret to its window.
 */
bool window_of_name(const char *output, const char *name, struct window_id *ret);

/* < 0, 0, > 0: @a is earlier, the same, later. */
int window_compare(const struct window_id *a, const struct window_id *b);

/* A file that may be removed. */
struct window_turn {
	struct window_id id;
	/*
	 * The order in which this run wrote it (the clock may have been set back), and its
	 * window. 0: of an earlier run, whose windows are known by their seconds.
	 */
	uint64_t turn, window;
	uint64_t bytes; /* when the folder was last listed */
	bool is_there; /* in that listing */
	bool is_surplus;
};

/* Of each window, on average. */
#define WINDOW_MAX_FILES 4

/**
 * Finds which files to remove so that at most @keep windows (0: any number) with
 * WINDOW_MAX_FILES each on average, and @max_bytes in all (0: any size) remain. The
 * newest file always stays.
 *
 * Who uses up the memory makes many files, or large ones. So those of windows that have
 * more than their even part of the files or bytes go first: other windows stay until
 * there are @keep newer ones.
 *
 * @files  of @nr, oldest first: sets is_surplus
 */
void window_find_surplus(struct window_turn *files, size_t nr, size_t keep,
			 uint64_t max_bytes);

struct window_files {
	const char *output; /* base of all file names; borrowed */
	size_t keep; /* newest windows to keep; 0: all */
	uint64_t max_bytes; /* of all files; 0: no limit */
	bool group_reads; /* the group of each file may read it */

	/*
	 * Sorted by id. Files that appear later than the recording belong to another
	 * one. Heap.
	 */
	struct window_turn *turns;
	size_t nr_turns, cap_turns;
	uint64_t nr_written, nr_windows;
	struct window_id last; /* written; number 0: none */

	/*
	 * The folder, opened when first needed; and the newest file, which is locked so
	 * that another recording does not take our files for those of an earlier run.
	 */
	bool is_open;
	struct io_folder folder;
	int newest_fd; /* -1: no file yet */
};

void window_files_deinit(struct window_files *w);

/**
 * Opens the folder. Files are written to it even if it is renamed or its path is
 * replaced. Another call resolves the path again; if it fails, the old folder stays in
 * use.
 * Return: 0 or a negative errno.
 */
int window_files_open(struct window_files *w);

/**
 * Writes a file of a window under a temporary name, syncs and renames it, then removes
 * those over the limits. Files of earlier runs with the same output count
 * and are older than ours; files of another running recording do not count. Reopens a
 * folder that was removed, as io_folder_use() does.
 *
 * @begin_s  when the window began, CLOCK_REALTIME; names the file, unless @id goes on
 * @id       number 0: set to an unused name that was never given before; else replaces
 *      the file that an earlier call wrote
 * Return: 0 or a negative errno with a message in @err and @id unchanged.
 */
int window_files_write(struct window_files *w, int64_t begin_s, struct window_id *id,
		       const void *data, size_t len, struct error *err);

#endif
