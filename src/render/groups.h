/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report --by: the table of groups, and the same as JSON. */
#ifndef LB_RENDER_GROUPS_H
#define LB_RENDER_GROUPS_H

#include "analyze/groups.h"
#include "render/json_value.h"

/** The array of groups, all of them. */
json_t *groups_value(struct json_builder *b, const struct groups *groups);

/** The member "processes"; @processes may be NULL. */
json_t *processes_value(struct json_builder *b, const struct groups *processes);

/* ---- Names of groups of samples. They come from targets: escape them ---- */

struct group_name {
	char text[1024]; /* cut there */
};

/** Shortens a long hexadecimal id; returns other ids whole. */
struct group_name container_short_id(const char *id);

#endif
