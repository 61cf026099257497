/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the live view shows at one place: the rows of a table, and the figures above it.
 * Pure: profile in, texts and numbers out.
 */
#ifndef LB_LIVE_BOARD_H
#define LB_LIVE_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribution.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"

#define BOARD_MAX_ROWS 1000 /* of a list; the source has all its lines */

enum board_view {
	BOARD_LINES,
	BOARD_FUNCTIONS,
	BOARD_PROCESSES,
	BOARD_CONTAINERS,
	BOARD_SOURCE, /* the lines of one file, as they stand in it */
	NR_BOARD_VIEWS,
};

enum board_sort {
	BOARD_BY_SELF,
	BOARD_BY_TOTAL, /* processes and containers: the same as self */
	BOARD_BY_NAME,
	NR_BOARD_SORTS,
};

/** "lines", "functions", "processes", "containers", "source". */
extern const char *const board_view_names[NR_BOARD_VIEWS];
extern const char *const board_sort_names[NR_BOARD_SORTS]; /* "self", "total", "name" */

/* Strings are borrowed. Zero-initialised: the lines of everything. */
struct board_place {
	enum board_view view;
	const char *container; /* only its samples: id, "-": of no container; NULL: all */
	uint32_t pid; /* only its samples; 0: all */
	const char *path; /* BOARD_SOURCE: of the file, as in the debug info */
	/* BOARD_SOURCE: what to show first: this line; else the hottest line of ... */
	uint32_t line;
	const char *function; /* ... this function; NULL: of the file */
};

struct board_row {
	char *name; /* heap, unescaped: "dither.c:17", a function, a command, a line's text */
	char *detail; /* heap, unescaped: the function, the file, the program; "" */
	double self, total; /* share of the place's CPU time, 0..1 */
	double cpus; /* CPU seconds a second: total; processes, containers: self */
	uint32_t pid; /* BOARD_PROCESSES; 0: not known */
	uint32_t line; /* BOARD_LINES, BOARD_SOURCE */
	char *key; /* heap: file of a line or function, container of a container; or NULL */
};

struct board {
	enum board_view view;
	struct board_row *rows; /* heap */
	size_t nr_rows;
	size_t nr_left_out; /* over BOARD_MAX_ROWS */
	/* BOARD_SOURCE: the row to show first */
	size_t start;
	double seconds; /* that the figures are about */
	uint64_t samples; /* of the place */
	double cpus, all_cpus; /* CPU seconds a second: of the place, of all targets */
	double without_line; /* share of the place's CPU time without a source line */
	/* shares of the place's stacks: that lack callers; whose callers may be wrong */
	double incomplete, unproven;
	double missed,
		lost; /* share of the ticks due; of the samples taken: all targets */
	double own_cpus; /* lineburn's own CPU seconds a second */
	bool has_kernel; /* BOARD_FUNCTIONS: some are of the kernel */
	uint32_t nr_cpus, freq_hz; /* freq_hz: 0: not a clock */
	char note[1024]; /* why there is nothing to show, or what is missing; "" */
};

struct board_options {
	struct attribution_options attribution;
	enum board_sort sort;
	const char *find; /* only rows with this text, of any case; NULL: all */
};

/**
 * Makes the board of @place. Filters the samples of @p.
 *
 * Return: 0 or -ENOMEM.
 */
int board_make(struct profile *p, const struct board_place *place,
	       const struct board_options *options, struct board **ret);
void board_free(struct board *b);
DEFINE_CLEANUP(struct board, board_free);

#endif
