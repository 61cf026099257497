/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report --callers and --callees: who calls whom. */
#ifndef LB_RENDER_CALL_TREE_H
#define LB_RENDER_CALL_TREE_H

#include "render/json_value.h"
#include "render/listing.h"

/** Prints the tree and what was cut off. in->call_tree is not NULL. */
void call_tree_print(const struct listing *l);

/** The member "tree" of the JSON (docs/formats.md). */
json_t *call_tree_value(struct json_builder *b, const struct call_tree *tree);

#endif
