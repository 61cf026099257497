/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report --by: the table of groups, and the same as JSON. */
#ifndef LB_RENDER_GROUPS_H
#define LB_RENDER_GROUPS_H

#include "render/json_value.h"

/** Prints the groups of at least opts->min_share, and what the others are together. */
void groups_table(const struct render_input *in, const struct render_options *opts,
		  FILE *out);

/** The array of groups, all of them. */
json_t *groups_value(struct json_builder *b, const struct groups *groups);

#endif
