/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the reader of the live view is, and where a key leads: container -> process ->
 * function -> source, and back. Knows no terminal.
 */
#ifndef LB_LIVE_NAVIGATOR_H
#define LB_LIVE_NAVIGATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "live/board.h"

#define NAVIGATOR_MAX_LEVELS 16
#define NAVIGATOR_MAX_FIND   64

/* Keys that are no character. */
enum navigator_key {
	KEY_OF_UP = 0x110000, /* above the characters of Unicode */
	KEY_OF_DOWN,
	KEY_OF_PAGE_UP,
	KEY_OF_PAGE_DOWN,
	KEY_OF_HOME,
	KEY_OF_END,
	KEY_OF_ENTER,
	KEY_OF_BACK,
	KEY_OF_ESCAPE,
};

/* What has to be done after a key. */
enum navigator_action {
	NAVIGATOR_NOTHING,
	NAVIGATOR_DRAW, /* the same board at another row */
	NAVIGATOR_MAKE, /* another board */
	NAVIGATOR_PAUSE, /* stop taking windows, or begin anew: see is_paused */
	NAVIGATOR_QUIT,
};

/* A table or source that the reader came through. */
struct navigator_level {
	struct board_place place; /* strings: heap */
	char *title; /* heap: "container web", "process 12 python"; "" */
	size_t cursor; /* row */
	bool has_moved; /* the reader chose the row: it is followed, else the first one */
};

struct navigator {
	struct navigator_level levels[NAVIGATOR_MAX_LEVELS];
	size_t nr_levels; /* > 0; the last one is shown */
	enum board_sort sort;
	char find[NAVIGATOR_MAX_FIND];
	bool is_finding; /* the reader types the text to find */
	bool is_paused, shows_help;
	size_t page; /* rows that a page has */
};

/** Return: 0 or -ENOMEM. */
int navigator_init(struct navigator *n, enum board_view view);
void navigator_deinit(struct navigator *n);

/** Returns the level that is shown. */
struct navigator_level *navigator_top(struct navigator *n);

/** @board  that is shown; NULL: none yet */
enum navigator_action navigator_key(struct navigator *n, const struct board *board,
				    int key);

/**
 * The board is replaced by a newer one of the same place: the row that the reader chose
 * stays the chosen one. @old NULL: the place is new, and its first row is chosen.
 */
void navigator_follow(struct navigator *n, const struct board *old,
		      const struct board *now);

#endif
