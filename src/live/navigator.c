// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/navigator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void level_deinit(struct navigator_level *level)
{
	free((char *)level->place.container);
	free((char *)level->place.path);
	free((char *)level->place.function);
	free(level->title);
	*level = (struct navigator_level){0};
}

/* @text NULL: nothing to copy. Return: whether @ret has it. */
static bool copy_text(const char *text, const char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return !text || *ret;
}

/* Adds a level with copies of the strings. Return: 0, -ENOSPC or -ENOMEM. */
static int push(struct navigator *n, const struct board_place *place, const char *title)
{
	struct navigator_level *level = &n->levels[n->nr_levels];

	if (n->nr_levels == NAVIGATOR_MAX_LEVELS)
		return -ENOSPC;
	*level = (struct navigator_level){.place = *place, .title = strdup(title)};
	level->place.container = level->place.path = level->place.function = NULL;
	if (!level->title || !copy_text(place->container, &level->place.container) ||
	    !copy_text(place->path, &level->place.path) ||
	    !copy_text(place->function, &level->place.function)) {
		level_deinit(level);
		return -ENOMEM;
	}
	n->nr_levels++;
	return 0;
}

int navigator_init(struct navigator *n, enum board_view view)
{
	*n = (struct navigator){.page = 1};
	return push(n, &(struct board_place){.view = view}, "");
}

void navigator_deinit(struct navigator *n)
{
	while (n->nr_levels)
		level_deinit(&n->levels[--n->nr_levels]);
}

struct navigator_level *navigator_top(struct navigator *n)
{
	return &n->levels[n->nr_levels - 1];
}

/* ---- keys ---- */

static enum navigator_action move_to(struct navigator *n, const struct board *b,
				     size_t row)
{
	struct navigator_level *level = navigator_top(n);

	if (!b || !b->nr_rows)
		return NAVIGATOR_NOTHING;
	level->cursor = row < b->nr_rows ? row : b->nr_rows - 1;
	level->has_moved = true;
	return NAVIGATOR_DRAW;
}

static enum navigator_action move_by(struct navigator *n, const struct board *b,
				     size_t rows, bool up)
{
	size_t at = navigator_top(n)->cursor;

	if (up)
		return move_to(n, b, at > rows ? at - rows : 0);
	return move_to(n, b, at + rows);
}

/* Goes into the chosen row. */
static enum navigator_action enter(struct navigator *n, const struct board *b)
{
	const struct navigator_level *level = navigator_top(n);
	struct board_place to = level->place;
	const struct board_row *row;
	char title[256];

	if (!b || level->cursor >= b->nr_rows)
		return NAVIGATOR_NOTHING;
	row = &b->rows[level->cursor];
	switch (b->view) {
	case BOARD_CONTAINERS:
		to.view = BOARD_PROCESSES;
		to.container = row->key;
		snprintf(title, sizeof(title), "%s%s",
			 strcmp(row->key, "-") != 0 ? "container " : "", row->name);
		break;
	case BOARD_PROCESSES:
		if (!row->pid)
			return NAVIGATOR_NOTHING;
		to.view = BOARD_FUNCTIONS;
		to.pid = row->pid;
		snprintf(title, sizeof(title), "process %" PRIu32 " %s", row->pid,
			 row->name);
		break;
	case BOARD_FUNCTIONS:
	case BOARD_LINES:
		if (!row->key)
			return NAVIGATOR_NOTHING;
		to.view = BOARD_SOURCE;
		to.path = row->key;
		to.line = row->line;
		to.function = b->view == BOARD_FUNCTIONS ? row->name : NULL;
		snprintf(title, sizeof(title), "%s", row->key);
		break;
	default:
		return NAVIGATOR_NOTHING;
	}
	if (push(n, &to, title))
		return NAVIGATOR_NOTHING;
	*n->find = '\0';
	return NAVIGATOR_MAKE;
}

static enum navigator_action leave(struct navigator *n)
{
	if (n->nr_levels == 1)
		return NAVIGATOR_NOTHING;
	level_deinit(&n->levels[--n->nr_levels]);
	return NAVIGATOR_MAKE;
}

/* Shows another table of the same samples. */
static enum navigator_action show(struct navigator *n, enum board_view view)
{
	struct navigator_level *level;

	while (navigator_top(n)->place.view == BOARD_SOURCE && n->nr_levels > 1)
		leave(n);
	level = navigator_top(n);
	level->place.view = view;
	level->cursor = 0;
	level->has_moved = false;
	return NAVIGATOR_MAKE;
}

static enum navigator_action sort_by(struct navigator *n, enum board_sort sort)
{
	struct navigator_level *level = navigator_top(n);

	if (level->place.view == BOARD_SOURCE)
		return NAVIGATOR_NOTHING;
	n->sort = sort;
	level->cursor = 0;
	level->has_moved = false;
	return NAVIGATOR_MAKE;
}

static enum navigator_action end_finding(struct navigator *n, bool keeps)
{
	n->is_finding = false;
	if (!keeps)
		*n->find = '\0';
	return NAVIGATOR_MAKE;
}

static enum navigator_action type(struct navigator *n, int key)
{
	size_t len = strlen(n->find);

	if (key == KEY_OF_ENTER)
		return end_finding(n, true);
	if (key == KEY_OF_ESCAPE)
		return end_finding(n, false);
	if (key == KEY_OF_BACK && len)
		n->find[len - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(n->find))
		n->find[len] = (char)key;
	else
		return NAVIGATOR_NOTHING;
	navigator_top(n)->cursor = 0;
	return NAVIGATOR_MAKE;
}

static enum navigator_action escape(struct navigator *n)
{
	if (n->shows_help) {
		n->shows_help = false;
		return NAVIGATOR_DRAW;
	}
	return *n->find ? end_finding(n, false) : leave(n);
}

/* Keys that choose a row. */
static enum navigator_action move_key(struct navigator *n, const struct board *b, int key)
{
	switch (key) {
	case KEY_OF_UP:
	case 'k':
		return move_by(n, b, 1, true);
	case KEY_OF_DOWN:
	case 'j':
		return move_by(n, b, 1, false);
	case KEY_OF_PAGE_UP:
		return move_by(n, b, n->page, true);
	case KEY_OF_PAGE_DOWN:
		return move_by(n, b, n->page, false);
	case KEY_OF_HOME:
	case 'g':
		return move_to(n, b, 0);
	case KEY_OF_END:
	case 'G':
		return move_to(n, b, SIZE_MAX);
	default:
		return NAVIGATOR_NOTHING;
	}
}

static enum navigator_action command_key(struct navigator *n, const struct board *b,
					 int key)
{
	switch (key) {
	case 'q':
	case 3: /* Ctrl-C */
		return NAVIGATOR_QUIT;
	case '1':
	case 'l':
		return show(n, BOARD_LINES);
	case '2':
	case 'f':
		return show(n, BOARD_FUNCTIONS);
	case '3':
	case 'p':
		return show(n, BOARD_PROCESSES);
	case '4':
	case 'c':
		return show(n, BOARD_CONTAINERS);
	case 's':
		return sort_by(n, BOARD_BY_SELF);
	case 't':
		return sort_by(n, BOARD_BY_TOTAL);
	case 'n':
		return sort_by(n, BOARD_BY_NAME);
	case ' ':
		n->is_paused = !n->is_paused;
		return NAVIGATOR_PAUSE;
	case '/':
		n->is_finding = true;
		*n->find = '\0';
		return NAVIGATOR_MAKE;
	case 'h':
	case '?':
		n->shows_help = !n->shows_help;
		return NAVIGATOR_DRAW;
	case KEY_OF_ENTER:
		return enter(n, b);
	case KEY_OF_BACK:
		return leave(n);
	case KEY_OF_ESCAPE:
		return escape(n);
	default:
		return move_key(n, b, key);
	}
}

enum navigator_action navigator_key(struct navigator *n, const struct board *board,
				    int key)
{
	return n->is_finding && key != 3 ? type(n, key) : command_key(n, board, key);
}

/* ---- rows ---- */

static bool is_same(const struct board_row *a, const struct board_row *b)
{
	return a->pid == b->pid && a->line == b->line && !strcmp(a->name, b->name) &&
	       !strcmp(a->detail, b->detail);
}

void navigator_follow(struct navigator *n, const struct board *old,
		      const struct board *now)
{
	struct navigator_level *level = navigator_top(n);
	const struct board_row *chosen;

	if (!old && !level->has_moved) {
		level->cursor = now->start;
		level->has_moved = now->view == BOARD_SOURCE;
	} else if (old && level->has_moved && level->cursor < old->nr_rows) {
		chosen = &old->rows[level->cursor];
		for (size_t i = 0; i < now->nr_rows; i++)
			if (is_same(chosen, &now->rows[i])) {
				level->cursor = i;
				break;
			}
	}
	if (level->cursor >= now->nr_rows)
		level->cursor = now->nr_rows ? now->nr_rows - 1 : 0;
}
