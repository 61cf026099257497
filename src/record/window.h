/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the files of a recording that writes one after the other, and which of
 * them may stay. Pure: no file is touched.
 */
#ifndef LB_RECORD_WINDOW_H
#define LB_RECORD_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
