/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal of the live view, by ncurses. One thread uses it at a time. */
#ifndef LB_LIVE_SCREEN_H
#define LB_LIVE_SCREEN_H

#include "base/cleanup.h"
#include "base/error.h"
#include "live/board.h"
#include "live/navigator.h"

struct screen;

/**
 * Takes over the terminal at stdin and stdout. What is written to stderr meanwhile
 * appears on the screen's last line, and on stderr after screen_free().
 *
 * Return: 0; -ENOTTY if stdin or stdout is no terminal; another -errno; with a message.
 */
int screen_new(struct screen **ret, struct error *err);
void screen_free(struct screen *s);
DEFINE_CLEANUP(struct screen, screen_free);

/** Draws a board; NULL: there is none yet. Sets n->page. */
void screen_draw(struct screen *s, struct navigator *n, const struct board *b);

/**
 * Takes a key that was pressed, without waiting.
 *
 * Return: a character or an enum navigator_key; -1: there is none; 0: another key, or the
 * terminal has another size, so draw.
 */
int screen_key(struct screen *s);

#endif
