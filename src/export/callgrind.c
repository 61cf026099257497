// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callgrind's profile format, version 1, for KCachegrind and callgrind_annotate:
 *
 * 	ob=(1) app			a function: its object, file and name, each
 * 	fl=(1) /src/app.c		with its number, later by its number only
 * 	fn=(2) main
 * 	31 50000000 5			a line with its self
 * 	cob=(1)				a call: the callee, how often, first line of the
 * 	cfi=(1)				callee; then the line of the call with the cost
 * 	cfn=(3) work			of what was called
 * 	calls=62 11
 * 	30 620000000 62
 *
 * An inlined function is a function that is called. So the line of the call has its
 * cost, as in annotate. "fi=" and "fe=" would charge its lines to the function around
 * it: then nothing would be left of the call.
 *
 * Readers take the sum of the calls of a function for its total. So every stack calls
 * each of its functions once: the outermost time. An inner call of a function that
 * recurses would count the sample again. And the outermost function of a stack has a
 * caller, the root: otherwise it would lose the samples that nothing calls, once
 * something else calls it.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/vec.h"
#include "export/stacks.h"

#define MAX_TEXT_BYTES 16384
#define UNKNOWN        "???" /* as Callgrind writes it */

struct function {
	const char *name, *file, *object;
	uint32_t start_line;
	uint32_t stack; /* last one that called it, + 1 */
	bool is_named; /* its number is known to the reader */
};

/* Costs of a line of a function. */
struct row {
	uint32_t function, line;
	uint32_t callee; /* + 1; 0: self */
	struct weight weight;
};

struct callgrind {
	const struct export_stacks *s;
	FILE *out;
	struct function *functions; /* those of the stacks, then the roots */
	size_t nr_functions, cap_functions;
	struct tally roots; /* (name, 0) */
	struct tally costs; /* (function << 32 | line, callee + 1) */
	struct tally files, objects; /* (name, 0); tag: the reader knows the number */
	struct row *rows;
};

static void callgrind_deinit(struct callgrind *c)
{
	free(c->functions);
	tally_deinit(&c->roots);
	tally_deinit(&c->costs);
	tally_deinit(&c->files);
	tally_deinit(&c->objects);
	free(c->rows);
}

/* ---- sums ---- */

static int add_functions(struct callgrind *c)
{
	const struct export_stacks *s = c->s;

	if (vec_grow(&c->functions, &c->cap_functions, s->nr_functions + 1,
		     sizeof(*c->functions), 0))
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_frames; i++) {
		const struct export_frame *f = &s->frames[i];

		c->functions[f->function] =
			(struct function){.name = f->name,
					  .file = f->file,
					  .object = f->object,
					  .start_line = f->start_line};
	}
	c->nr_functions = s->nr_functions;
	return 0;
}

/*
 * Returns the root of a stack, which its labels name: "comm python3"; PROFILE_NONE: out
 * of memory.
 */
static uint32_t root_of(struct callgrind *c, const struct export_input *in,
			const struct export_stack *stack)
{
	struct strpool *pool = in->profile->pool;
	const char *name = NULL;
	uint32_t root;

	for (size_t i = 0; i < in->nr_labels; i++)
		if (*stack->labels[i])
			name = strpool_print(pool, "%s%s%s %s", name ? name : "",
					     name ? ", " : "", in->labels[i],
					     stack->labels[i]);
	if (!name)
		name = strpool_add(pool, "[all]");
	root = tally_number(&c->roots, tally_key(name), 0);
	if (root == PROFILE_NONE ||
	    vec_grow(&c->functions, &c->cap_functions, c->nr_functions + 1,
		     sizeof(*c->functions), 0))
		return PROFILE_NONE;
	root += c->s->nr_functions;
	if (root == c->nr_functions)
		c->functions[c->nr_functions++] =
			(struct function){.name = name,
					  .file = strpool_add(pool, ""),
					  .object = strpool_add(pool, "")};
	return root;
}

static int add_cost(struct callgrind *c, uint32_t function, uint32_t line,
		    uint32_t callee, struct weight weight)
{
	uint32_t cost = tally_number(&c->costs, (uint64_t)function << 32 | line, callee);

	if (cost == PROFILE_NONE)
		return -ENOMEM;
	weight_add(&c->costs.items[cost].self, weight);
	return 0;
}

static int add_stack(struct callgrind *c, const struct export_input *in, uint32_t number)
{
	const struct export_stack *stack = &c->s->stacks[number];
	uint32_t caller = root_of(c, in, stack), line = 0;
	int r = caller == PROFILE_NONE ? -ENOMEM : 0;

	for (uint32_t i = 0; i < stack->nr && !r; i++) {
		const struct export_frame *f =
			&c->s->frames[c->s->frame_numbers[stack->first + i]];
		uint32_t *called = &c->functions[f->function].stack;

		if (*called != number + 1)
			r = add_cost(c, caller, line, f->function + 1, stack->weight);
		*called = number + 1;
		caller = f->function;
		line = f->line;
	}
	return r ? r : add_cost(c, caller, line, 0, stack->weight);
}

static int compare(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->callee > b->callee) - (a->callee < b->callee);
}

static int sum(struct callgrind *c, const struct export_input *in)
{
	int r = add_functions(c);

	for (uint32_t i = 0; i < c->s->nr_stacks && !r; i++)
		r = add_stack(c, in, i);
	c->rows = calloc(c->costs.nr + 1, sizeof(*c->rows));
	if (r || !c->rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->costs.nr; i++) {
		const struct tally_item *item = &c->costs.items[i];

		c->rows[i] = (struct row){.function = (uint32_t)(item->a >> 32),
					  .line = (uint32_t)item->a,
					  .callee = (uint32_t)item->b,
					  .weight = item->self};
	}
	qsort(c->rows, c->costs.nr, sizeof(*c->rows), compare);
	return 0;
}

/* ---- text ---- */

static void put_name(FILE *out, const char *key, uint32_t number, const char *name)
{
	char text[MAX_TEXT_BYTES];

	fprintf(out, "%s=(%" PRIu32 ")", key, number + 1);
	if (name) {
		fputc(' ', out);
		escape_terminal_buf(text, sizeof(text), *name ? name : UNKNOWN);
		for (const char *at = text; *at; at++)
			fputc(*at == '\t' ? ' ' : *at, out);
	}
	fputc('\n', out);
}

/* A file or an object. Return: 0 or -ENOMEM. */
static int put_place(struct callgrind *c, const char *key, struct tally *names,
		     const char *name)
{
	uint32_t number = tally_number(names, tally_key(name), 0);

	if (number == PROFILE_NONE)
		return -ENOMEM;
	put_name(c->out, key, number, names->items[number].tag ? NULL : name);
	names->items[number].tag = true;
	return 0;
}

static int put_function(struct callgrind *c, uint32_t number, const char *ob,
			const char *fl, const char *fn)
{
	struct function *f = &c->functions[number];

	if (put_place(c, ob, &c->objects, f->object) ||
	    put_place(c, fl, &c->files, f->file))
		return -ENOMEM;
	put_name(c->out, fn, number, f->is_named ? NULL : f->name);
	f->is_named = true;
	return 0;
}

static void put_weight(const struct callgrind *c, struct weight w)
{
	if (c->s->has_cpu)
		fprintf(c->out, " %" PRIu64, w.cpu_ns);
	fprintf(c->out, " %" PRIu64 "\n", w.samples);
}

static void put_head(const struct callgrind *c, const char *counted)
{
	char event[64];
	size_t len = 0;

	/* Readers know letters, digits and "_". */
	for (; counted[len] && len + 1 < sizeof(event); len++)
		event[len] = isalnum((unsigned char)counted[len]) ? counted[len] : '_';
	event[len] = '\0';
	fprintf(c->out,
		"# callgrind format\n"
		"version: 1\n"
		"creator: lineburn\n"
		"desc: Samples: calls are the samples with a call on their stack, not "
		"how often it was called.\n"
		"positions: line\n"
		"events:%s %s\n"
		"summary:",
		c->s->has_cpu ? " cpu_ns" : "",
		isalpha((unsigned char)*event) ? event : "count");
	put_weight(c, c->s->all);
}

static int put_row(struct callgrind *c, const struct row *row)
{
	if (row->callee) {
		uint32_t callee = row->callee - 1;

		if (put_function(c, callee, "cob", "cfi", "cfn"))
			return -ENOMEM;
		/* After "calls=0" a reader would take the cost for self. */
		fprintf(c->out, "calls=%" PRIu64 " %" PRIu32 "\n",
			row->weight.samples + !row->weight.samples,
			c->functions[callee].start_line);
	}
	fprintf(c->out, "%" PRIu32, row->line);
	put_weight(c, row->weight);
	return 0;
}

int export_callgrind(const struct export_input *in, FILE *out, const char **ret_note,
		     struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	_cleanup_(callgrind_deinit) struct callgrind c = {.out = out};
	int rc = export_stacks_new(in, &s, err);

	(void)ret_note;
	if (rc)
		return rc;
	c.s = s;
	rc = sum(&c, in);
	if (!rc)
		put_head(&c, in->attribution->counted.type);
	for (size_t i = 0; i < c.costs.nr && !rc; i++) {
		const struct row *row = &c.rows[i];

		if (!i || row->function != row[-1].function) {
			fputc('\n', out);
			rc = put_function(&c, row->function, "ob", "fl", "fn");
		}
		if (!rc)
			rc = put_row(&c, row);
	}
	if (rc)
		return error_set(err, rc, "out of memory");
	fputs("\ntotals:", out);
	put_weight(&c, s->all);
	return 0;
}
