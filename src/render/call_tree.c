// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Indented where paths branch; a chain of single calls stays in its column:
 *
 *  self %  total %  function, and the line that calls it
 *             99.0  <module>  /app/train.py:1
 *    10.1     99.0  step  /app/train.py:41
 *    50.5     53.5  |- dither  /app/train.py:13
 *     3.0      3.0  |  [kernel]  /app/train.py:4
 *    30.3     30.3  |- cblas_dgemm (libopenblas.so)  /app/train.py:12
 *              1.2  `- ... 14 more
 */

#include <inttypes.h>
#include <string.h>

#include "render/figure.h"
#include "render/json_value.h"
#include "render/listing.h"
#include "render/text.h"

/* Member "cut": calls without a node. */
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

#define SIGN_COLUMNS 3 /* columns of one level of indentation */
#define MIN_NAME     24 /* minimum columns for a name: outer levels are dropped */
/* a child with this share of its parent continues its chain */
#define CHAIN_SHARE 0.95

/* Signs in front of a row, by level. */
enum sign {
	SIGN_NONE, /* no sibling follows */
	SIGN_PASS, /* a sibling of that level follows later */
	SIGN_BRANCH,
	SIGN_LAST,
	NR_SIGNS,
};

static const char *const ascii_signs[] = {"   ", "|  ", "|- ", "`- "};
static const char *const utf8_signs[] = {"   ", "\u2502  ", "\u251c\u2500 ",
					 "\u2514\u2500 "};
_Static_assert(ARRAY_SIZE(ascii_signs) == NR_SIGNS, "one for each");
_Static_assert(ARRAY_SIZE(utf8_signs) == NR_SIGNS, "one for each");

struct drawing {
	struct listing l;
	const struct call_tree *tree;
	/* State of the path to the current node, by depth. */
	uint32_t levels[CALL_TREE_MAX_DEPTH + 1]; /* of indentation */
	uint8_t signs[CALL_TREE_MAX_DEPTH + 1]; /* by level, from 1: enum sign */
};

static double share(const struct drawing *d, const struct weight *w)
{
	return listing_share(&d->l, w);
}

static bool shows_self(const struct drawing *d)
{
	return d->tree->direction == CALL_CALLEES;
}

static size_t figures_columns(const struct drawing *d)
{
	return shows_self(d) ? 18 : 9;
}

/* Are calls that were cut off below the node large enough for a row? */
static bool shows_any_rest(const struct drawing *d, const struct call_node *n)
{
	return listing_shows(&d->l, &n->cut.weight) || listing_shows(&d->l, &n->deeper);
}

/* Does the node have nearly all of its parent's weight? */
static bool is_chain(const struct drawing *d, const struct call_node *n)
{
	const struct call_node *parent = &d->tree->nodes[n->parent];

	return parent->nr_children == 1 && !shows_any_rest(d, parent) &&
	       share(d, &n->total) >= CHAIN_SHARE * share(d, &parent->total);
}

static void print_figures(const struct drawing *d, const struct weight *self,
			  const struct weight *total)
{
	double heat_of = share(d, shows_self(d) ? self : total);
	enum paint heat = paint_heat(&d->l, heat_of);

	paint_print(&d->l, heat, "%7s", figure_percent(heat_of).text);
	if (shows_self(d))
		fprintf(d->l.out, "  %7s", figure_percent(share(d, total)).text);
	fputs("  ", d->l.out);
}

/*
 * Prints the signs; drops the outermost levels if there is no room. Return: number of
 * columns printed.
 */
static size_t print_signs(const struct drawing *d, uint32_t level, enum sign last)
{
	const char *const *signs = d->l.opts->utf8 ? utf8_signs : ascii_signs;
	uint32_t first = 1, most = level;

	if (d->l.opts->width) {
		size_t used = figures_columns(d) + MIN_NAME;

		most = d->l.opts->width > used
			       ? (uint32_t)((d->l.opts->width - used) / SIGN_COLUMNS)
			       : 0;
	}
	if (level > most)
		first = level - most + 1;
	paint_begin(&d->l, PAINT_DIM);
	for (uint32_t i = first; i <= level; i++)
		fputs(signs[i == level && last ? last : d->signs[i]], d->l.out);
	paint_end(&d->l, PAINT_DIM);
	return SIGN_COLUMNS * (size_t)(level + 1 - first);
}

/* Describes the place of the function or the call, which follows its name. */
static void describe_place(char *buf, size_t size, const struct call_function *f,
			   const struct call_node *n)
{
	if (n->call_line)
		snprintf(buf, size, "%s:%" PRIu32, n->call_file, n->call_line);
	else if (n->parent == PROFILE_NONE && *f->file)
		snprintf(buf, size, f->start_line ? "%s:%" PRIu32 : "%s", f->file,
			 f->start_line);
	else
		buf[0] = '\0';
}

/*
 * Should the object be printed? Yes if it differs from the parent's, or if there is no
 * file.
 */
static bool names_object(const struct drawing *d, const struct call_function *f,
			 const struct call_node *n)
{
	const struct call_function *parent;

	if (!*f->object || !strcmp(f->object, PROFILE_PYTHON))
		return false;
	if (n->parent == PROFILE_NONE || !*f->file)
		return !*f->file;
	parent = &d->tree->functions[d->tree->nodes[n->parent].function];
	return shows_self(d) && parent->object != f->object;
}

static void print_name(const struct drawing *d, const struct call_node *n, size_t column)
{
	const struct call_function *f = &d->tree->functions[n->function];
	enum paint paint = n->parent == PROFILE_NONE ? PAINT_BOLD : PAINT_PLAIN;
	const char *name = *f->name ? f->name : "[no name]";
	char what[1024], place[4400];
	size_t room = listing_room(&d->l, column), used;

	snprintf(what, sizeof(what),
		 names_object(d, f, n) ? "%.900s%s (%.90s)" : "%.900s%s", name,
		 n->is_recursive ? " (recursive)" : "", f->object);
	describe_place(place, sizeof(place), f, n);
	used = paint_cell(&d->l, paint, what, room);
	if (!*place || (room && used + 2 + 8 > room))
		return;
	text_spaces(d->l.out, 2);
	paint_begin(&d->l, PAINT_DIM);
	text_cell_tail(d->l.out, place, room ? room - used - 2 : 0);
	paint_end(&d->l, PAINT_DIM);
}

/* Prints "... 14 more" below the node, in place of a last child. */
static void print_rest(struct drawing *d, uint32_t level, const struct weight *weight,
		       enum sign sign, const char *words)
{
	static const struct weight none;

	print_figures(d, shows_self(d) ? &none : weight, weight);
	d->signs[level] = SIGN_PASS;
	print_signs(d, level, sign);
	paint_print(&d->l, PAINT_DIM, "... %s", words);
	fputc('\n', d->l.out);
}

/* Prints calls that were cut off below @n, after all nodes below it. */
static void print_rests_of(struct drawing *d, const struct call_node *n)
{
	uint32_t level = d->levels[n->depth] + 1;
	bool deeper = listing_shows(&d->l, &n->deeper);
	char words[64];

	if (listing_shows(&d->l, &n->cut.weight)) {
		snprintf(words, sizeof(words), "%" PRIu64 " more", n->cut.nr);
		print_rest(d, level, &n->cut.weight, deeper ? SIGN_BRANCH : SIGN_LAST,
			   words);
	}
	if (deeper)
		print_rest(d, level, &n->deeper, SIGN_LAST, "deeper");
}

static void print_node(struct drawing *d, const struct call_node *n)
{
	enum sign sign = SIGN_NONE;
	uint32_t level = 0;
	size_t column;

	if (n->parent != PROFILE_NONE) {
		const struct call_node *parent = &d->tree->nodes[n->parent];
		bool is_last = n->is_last && !shows_any_rest(d, parent);

		level = d->levels[parent->depth];
		if (!is_chain(d, n)) {
			level++;
			sign = is_last ? SIGN_LAST : SIGN_BRANCH;
			d->signs[level] = is_last ? SIGN_NONE : SIGN_PASS;
		}
	}
	d->levels[n->depth] = level;
	print_figures(d, &n->ends, &n->total);
	column = figures_columns(d) + print_signs(d, level, sign);
	print_name(d, n, column);
	fputc('\n', d->l.out);
}

/* Prints the nodes, which are in row order. Cut-off calls follow the last child. */
static void print_nodes(struct drawing *d)
{
	const struct call_tree *tree = d->tree;

	for (size_t i = 0; i < tree->nr_nodes; i++) {
		const struct call_node *n = &tree->nodes[i];
		uint32_t next_depth = i + 1 < tree->nr_nodes ? tree->nodes[i + 1].depth
							     : 0;

		/* A blank line separates trees, but not roots without children. */
		if (i && n->parent == PROFILE_NONE &&
		    (n->nr_children || n[-1].parent != PROFILE_NONE))
			fputc('\n', d->l.out);
		print_node(d, n);
		for (const struct call_node *done = n; done->depth >= next_depth;
		     done = &tree->nodes[done->parent]) {
			print_rests_of(d, done);
			if (done->parent == PROFILE_NONE)
				break;
		}
	}
}

static void print_legend(const struct drawing *d)
{
	const struct call_tree *tree = d->tree;
	const char *of = counted_name(d->l.in->attribution);

	fputc('\n', d->l.out);
	paint_begin(&d->l, PAINT_DIM);
	if (tree->what)
		listing_sentence(
			&d->l, 0, 0,
			"%s is on the stack for %.1f %% of all %s, and innermost "
			"for %.1f %%; %s it:",
			tree->what, 100 * share(d, &tree->covered), of,
			100 * share(d, &tree->self),
			shows_self(d) ? "what is called by" : "who calls");
	else if (shows_self(d))
		listing_sentence(
			&d->l, 0, 0,
			"Outermost functions, and what they call. Shares are of all "
			"%s.",
			of);
	else
		listing_sentence(&d->l, 0, 0,
				 "Functions by their own %s, and their callers, "
				 "outwards. Shares are of all %s.",
				 of, of);
	fprintf(d->l.out, "\n%s\n",
		shows_self(d) ? " self %  total %  function, and the line that calls it"
			      : "total %  function, and its line that makes the call");
	paint_end(&d->l, PAINT_DIM);
}

/* Prints what the tree omits, and how to see it. */
static void print_cuts(const struct drawing *d)
{
	const struct call_tree *tree = d->tree;
	struct weight cut = {0}, deeper = {0};

	for (size_t i = 0; i < tree->nr_nodes; i++) {
		weight_add(&cut, tree->nodes[i].cut.weight);
		weight_add(&deeper, tree->nodes[i].deeper);
	}
	if (!tree->cut.nr && !cut.samples && !cut.cpu_ns && !deeper.samples &&
	    !deeper.cpu_ns)
		return;
	fputc('\n', d->l.out);
	paint_begin(&d->l, PAINT_DIM);
	if (tree->cut.nr)
		listing_sentence(
			&d->l, 0, 2, "%s with %.1f %% together not shown%s.",
			figure_count(tree->cut.nr, "more function", "more functions")
				.text,
			100 * share(d, &tree->cut.weight),
			tree->what      ? ""
			: shows_self(d) ? ": --callees=FUNC shows one"
					: ": --callers=FUNC shows one");
	if (cut.samples || cut.cpu_ns)
		listing_sentence(
			&d->l, 0, 2,
			"Calls below %.3g %% of %s%s are cut off, %.1f %% together: "
			"%s--min-percent sets that.",
			100 * d->l.opts->min_share,
			tree->what ? "what was asked for" : "the tree",
			d->l.opts->limit ? ", and all but the heaviest," : "",
			100 * share(d, &cut), d->l.opts->limit ? "--limit or " : "");
	if (deeper.samples || deeper.cpu_ns)
		listing_sentence(&d->l, 0, 2,
				 "%.1f %% goes on deeper: --depth sets how far.",
				 100 * share(d, &deeper));
	if (tree->nr_over_limit)
		listing_sentence(&d->l, 0, 2,
				 "The tree was too large: %" PRIu64
				 " calls and all below them were cut off. A higher "
				 "--min-percent makes it smaller.",
				 tree->nr_over_limit);
	paint_end(&d->l, PAINT_DIM);
}

void call_tree_print(const struct listing *l)
{
	struct drawing d = {.l = *l, .tree = l->in->call_tree};

	for (size_t i = 0; i < d.tree->nr_nodes; i++) {
		const struct call_node *n = &d.tree->nodes[i];

		listing_heat(&d.l, share(&d, shows_self(&d) ? &n->ends : &n->total));
	}
	print_legend(&d);
	print_nodes(&d);
	print_cuts(&d);
}
