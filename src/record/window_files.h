/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, writes and prunes the files of a recording with windows. */
#ifndef LB_RECORD_WINDOW_FILES_H
#define LB_RECORD_WINDOW_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Names of the files of a recording that writes one after the other, and which of
 * them may stay. Pure: no file is touched.
 */

/*
 * Which window of a recording: its file is called after the second in which it began,
 * in UTC, and where several did (short windows, a clock that was set back) by a number.
 */
struct window_id {
	int64_t begin_s; /* CLOCK_REALTIME, 0 to the end of the year 9999 */
	uint32_t number; /* 1, 2, ... WINDOW_MAX_NUMBER */
};

#define WINDOW_MAX_NUMBER 99999

/**
 * "dir/name.pb.gz" -> "dir/name.20261121T160000Z.pb.gz"; the second one of that
 * second is "dir/name.20261121T160000Z_02.pb.gz". An output without ".pb.gz" is the
 * whole stem. In the order of text they are in order of time.
 *
 * Return: 0; -ENAMETOOLONG when it does not fit @size, or its last component is
 * longer than files may be called.
 */
int window_path(const char *output, const struct window_id *id, char *ret, size_t size);

/**
 * Is @name (without folders) what window_path() makes of @output? Then *ret is its
 * window.
 */
bool window_of_name(const char *output, const char *name, struct window_id *ret);

/* < 0, 0, > 0: @a is earlier, the same, later. */
int window_compare(const struct window_id *a, const struct window_id *b);

/**
 * How many of the oldest files are to go, so that at most @keep files (0: any number)
 * of @max_bytes in all (0: any size) stay. The newest one always stays.
 *
 * @sizes_bytes  of @nr files, oldest first
 */
size_t window_surplus(const uint64_t *sizes_bytes, size_t nr, size_t keep,
		      uint64_t max_bytes);

struct window_files {
	const char *output; /* borrowed: what names are made of */
	size_t keep; /* newest files that stay; 0: all */
	uint64_t max_bytes; /* of all files; 0: no limit */

	/* Files that may be removed, sorted by id: those of this run, of which `turn` is
	 * the order they were written in (the clock may have been set back), and those
	 * that former runs left: 0. What appears beside is another recording's. Heap. */
	struct window_turn {
		struct window_id id;
		uint64_t turn; /* 0; 1, 2, ... */
	} * turns;
	size_t nr_turns, cap_turns;
	uint64_t nr_written;

	/* The folder, from when it was first needed; and the newest file, locked, so that
	 * another recording does not take what is here for what a former run left. */
	bool is_open;
	int dir_fd, newest_fd; /* newest_fd -1: none was written */
};

void window_files_deinit(struct window_files *w);

/**
 * Opens the folder: from now on files are written there, whatever it is called and
 * whatever its name leads to. Called again, the name is followed anew; when that fails the
 * folder stays. Return: 0 or a negative errno.
 */
int window_files_open(struct window_files *w);

/**
 * Writes the window's file under a temporary name, syncs and renames it, then removes the
 * oldest files that are too many. Files of former runs with the same output count, and are
 * older than ours; not those of another recording that runs. A folder that was removed is
 * opened anew.
 *
 * @begin_s  when the window began, CLOCK_REALTIME: its name
 * @id       number 0: gets a name that no file has and that was not given before; else what an earlier
 *           call wrote for this window is replaced
 * Return: 0 or a negative errno with a sentence in @err; then no id was given.
 */
int window_files_write(struct window_files *w, int64_t begin_s, struct window_id *id,
		       const void *data, size_t len, struct error *err);

#endif
