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
 * Identifies a window: its file is named after the UTC second in which the window
 * began, plus a number if several began in that second (short windows, a clock that was
 * set back).
 */
struct window_id {
	int64_t begin_s; /* CLOCK_REALTIME, 0 to the end of the year 9999 */
	uint32_t number; /* 1, 2, ... WINDOW_MAX_NUMBER */
};

#define WINDOW_MAX_NUMBER 99999

/**
 * "dir/name.pb.gz" -> "dir/name.20261121T160000Z.pb.gz"; the second window of that
 * second is "dir/name.20261121T160000Z_02.pb.gz". If the output does not end in
 * ".pb.gz", all of it is the stem. Sorting names as text sorts them by time.
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

/**
 * Returns how many of the oldest files to remove so that at most @keep files (0: any
 * number) and @max_bytes in all (0: any size) remain. The newest file always stays.
 *
 * @sizes_bytes  of @nr files, oldest first
 */
size_t window_surplus(const uint64_t *sizes_bytes, size_t nr, size_t keep,
		      uint64_t max_bytes);

struct window_files {
	const char *output; /* base of all file names; borrowed */
	size_t keep; /* newest files to keep; 0: all */
	uint64_t max_bytes; /* of all files; 0: no limit */
	bool group_reads; /* the group of each file may read it */

	/*
	 * Files that may be removed, sorted by id. `turn` is the order in which this
	 * run wrote them (the clock may have been set back), 0 for files of earlier
	 * runs. Files that appear later belong to another recording. Heap.
	 */
	struct window_turn {
		struct window_id id;
		uint64_t turn; /* 0; 1, 2, ... */
		uint64_t bytes; /* when the folder was last listed */
		bool is_there; /* in that listing */
	} * turns;
	size_t nr_turns, cap_turns;
	uint64_t nr_written;

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
 * Writes the window's file under a temporary name, syncs and renames it, then removes
 * the oldest files over the limits. Files of earlier runs with the same output count
 * and are older than ours; files of another running recording do not count. Reopens a
 * folder that was removed, as io_folder_use() does.
 *
 * @begin_s  when the window began, CLOCK_REALTIME; names the file
 * @id       number 0: set to an unused name that was never given before; else replaces
 *      the file that an earlier call wrote for this window
 * Return: 0 or a negative errno with a message in @err and @id unchanged.
 */
int window_files_write(struct window_files *w, int64_t begin_s, struct window_id *id,
		       const void *data, size_t len, struct error *err);

#endif
