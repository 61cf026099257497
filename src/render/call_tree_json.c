// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/call_tree.h"

/* "cut": calls that are no nodes of their own. */
static json_t *rest_value(struct json_builder *b, const struct call_rest *rest)
{
	json_t *object = json_object();

	json_set(b, object, "calls", json_count(rest->nr));
	json_set_weight(b, object, "samples", &rest->weight);
	return object;
}

static json_t *node_value(struct json_builder *b, const struct call_tree *tree,
			  const struct call_node *n)
{
	const struct call_function *f = &tree->functions[n->function];
	json_t *node = json_object();

	json_set(b, node, "parent",
		 n->parent == PROFILE_NONE ? json_null() : json_count(n->parent));
	json_set(b, node, "depth", json_count(n->depth));
	json_set(b, node, "function", json_text(f->name));
	json_set(b, node, "object", json_text(f->object));
	json_set(b, node, "file", json_text(f->file));
	json_set(b, node, "start_line", json_count(f->start_line));
	json_set(b, node, "call_file", json_text(n->call_line ? n->call_file : ""));
	json_set(b, node, "call_line", json_count(n->call_line));
	json_set(b, node, "recursive", json_boolean(n->is_recursive));
	json_set_weight(b, node, "total", &n->total);
	json_set_weight(b, node, "ends", &n->ends);
	json_set(b, node, "cut", rest_value(b, &n->cut));
	json_set_weight(b, node, "deeper", &n->deeper);
	return node;
}

json_t *call_tree_value(struct json_builder *b, const struct call_tree *tree)
{
	json_t *root = json_object(), *nodes = json_array();

	json_set(b, root, "direction",
		 json_string(tree->direction == CALL_CALLERS ? "callers" : "callees"));
	json_set(b, root, "what", tree->what ? json_text(tree->what) : json_null());
	json_set_weight(b, root, "total", &tree->covered);
	json_set_weight(b, root, "self", &tree->self);
	json_set(b, root, "cut", rest_value(b, &tree->cut));
	for (size_t i = 0; i < tree->nr_nodes; i++)
		json_add(b, nodes, node_value(b, tree, &tree->nodes[i]));
	json_set(b, root, "nodes", nodes);
	return root;
}
