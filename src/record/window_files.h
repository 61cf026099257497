/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a recording's windows: written under a name of their own, pruned. */
#ifndef LB_RECORD_WINDOW_FILES_H
#define LB_RECORD_WINDOW_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/window.h"

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
