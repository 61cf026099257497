/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report --by: the table of groups, as text and as JSON. */
#ifndef LB_RENDER_GROUPS_H
#define LB_RENDER_GROUPS_H

#include "analyze/groups.h"
#include "render/json_value.h"

/** Returns the array of the groups within --limit. */
json_t *groups_value(struct json_builder *b, const struct groups *groups,
		     const struct render_options *opts);

/** Returns the member "processes", within --limit; @processes may be NULL. */
json_t *processes_value(struct json_builder *b, const struct groups *processes,
			const struct render_options *opts);

/* ---- names of groups: untrusted, escape them ---- */

struct group_name {
	char text[1024]; /* truncated if longer */
};

/** Shortens a long hexadecimal id; returns other ids unchanged. */
struct group_name container_short_id(const char *id);

/**
 * Returns "web (3f2a8c9d0e1f, docker)", or "3f2a8c9d0e1f (docker)" without a name.
 * @name, @runtime  "": not known
 */
struct group_name container_name(const char *id, const char *name, const char *runtime);

#endif
