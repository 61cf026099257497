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

#define SHORT_ID_LENGTH 12 /* of a container, as its runtime prints it */

struct group_name {
	char text[1024]; /* cut there */
};

/** Shortens a long hexadecimal id; returns other ids whole. */
struct group_name container_short_id(const char *id);

/** "web (3f2a8c9d0e1f, docker)", "nginx.service", "4711 python3", "(no container)". */
struct group_name group_name_of(enum group_by by, const struct group *g);

#endif
