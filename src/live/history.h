/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last windows of a running recording. They share one set of tables, which is copied
 * as it grows (profile/mirror.h), so a further window costs what its samples cost.
 */
#ifndef LB_LIVE_HISTORY_H
#define LB_LIVE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "profile/profile.h"

#define HISTORY_MAX_WINDOWS 600

struct history;

/**
 * @nr_windows  kept, 1 to HISTORY_MAX_WINDOWS
 * Return: NULL when out of memory.
 */
struct history *history_new(size_t nr_windows);
void history_free(struct history *h);
DEFINE_CLEANUP(struct history, history_free);

/**
 * Adds the window @p, in place of the oldest one if all are in use. If @tables (struct
 * window_taker) is not that of the last window, all earlier windows go.
 *
 * Return: 0, or -ENOMEM: the window is not added, and the earlier ones may be lost.
 */
int history_add(struct history *h, const struct profile *p, uint64_t tables);

/**
 * Joins the windows to one profile: samples, and the sums of wall_ns, losses and cost.
 * The caller may filter its samples. Valid until the next call for @h.
 *
 * Return: NULL when out of memory.
 */
struct profile *history_profile(struct history *h);

/** Drops all windows. */
void history_clear(struct history *h);

/** Returns how many windows were lost for lack of memory. */
uint64_t history_nr_lost(const struct history *h);

/** Is the text of this file, @path in a profile's functions, here? */
bool history_has_source(const struct history *h, const char *path);

#endif
