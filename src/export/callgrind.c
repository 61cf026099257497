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
 * Readers take the sum of the calls of a function for its total. So a stack calls each
 * of its functions once: the outermost time. When main calls fib, fib calls fib, and so
 * on, the inner calls have another callee, "fib'2" (Callgrind's own name for it): it has
 * the cost of the call for the caller's line, but no lines. There is one for each file
 * of callers, and it is called once, too.
 *
 * The outermost function of a stack has a caller, the root: otherwise it would lose the
 * samples that nothing calls, once something else calls it.
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

struct callgrind_function {
	const char *name, *file, *object;
	uint32_t start_line;
	const char *again; /* name of its inner calls; NULL: none yet */
	uint32_t stack; /* last one that called it, + 1 */
	bool is_named; /* its number is known to the reader */
};

/* Costs of a line of a function. */
struct callgrind_row {
	uint32_t function, line;
	uint32_t callee; /* + 1; 0: self */
	struct weight weight;
};

struct callgrind {
	const struct export_stacks *s;
	FILE *out;
	/* Those of the stacks, then the added ones. */
	struct callgrind_function *functions;
	size_t nr_functions, cap_functions;
	/* Roots: (name, 0); inner calls: (name of the callee, file of the caller). */
	struct tally added;
	struct tally costs; /* (function << 32 | line, callee + 1) */
	struct tally files, objects; /* (name, 0); tag: the reader knows the number */
	struct callgrind_row *rows;
};

static void callgrind_deinit(struct callgrind *c)
{
	free(c->functions);
	tally_deinit(&c->added);
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
			(struct callgrind_function){.name = f->name,
						    .file = f->file,
						    .object = f->object,
						    .start_line = f->start_line};
	}
	c->nr_functions = s->nr_functions;
	return 0;
}

/*
 * Adds a function that is not of the stacks.
 *
 * @a, @b  its key in c->added
 * Return: its number; PROFILE_NONE: out of memory.
 */
static uint32_t add_function(struct callgrind *c, const char *a, const char *b,
			     const struct callgrind_function *f)
{
	uint32_t number = tally_number(&c->added, tally_key(a), tally_key(b));

	if (number == PROFILE_NONE ||
	    vec_grow(&c->functions, &c->cap_functions, c->nr_functions + 1,
		     sizeof(*c->functions), 0))
		return PROFILE_NONE;
	number += c->s->nr_functions;
	if (number == c->nr_functions)
		c->functions[c->nr_functions++] = *f;
	return number;
}

/* The root of a stack, which its labels name: "comm python3". */
static uint32_t root_of(struct callgrind *c, const struct export_input *in,
			const struct export_stack *stack)
{
	struct strpool *pool = in->profile->pool;
	struct callgrind_function root = {.file = strpool_add(pool, ""),
					  .object = strpool_add(pool, "")};

	for (size_t i = 0; i < in->nr_labels; i++)
		if (*stack->labels[i])
			root.name = strpool_print(
				pool, "%s%s%s %s", root.name ? root.name : "",
				root.name ? ", " : "", in->labels[i], stack->labels[i]);
	if (!root.name)
		root.name = strpool_add(pool, "[all]");
	return add_function(c, root.name, NULL, &root);
}

/* What an inner call of a function calls. */
static uint32_t again(struct callgrind *c, struct strpool *pool, uint32_t caller,
		      uint32_t callee)
{
	struct callgrind_function *to = &c->functions[callee];
	struct callgrind_function f = {.file = c->functions[caller].file,
				       .object = c->functions[caller].object};

	if (!to->again)
		to->again = strpool_print(pool, "%s'2", to->name);
	f.name = to->again;
	return add_function(c, f.name, f.file, &f);
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

	for (uint32_t i = 0; i < stack->nr && caller != PROFILE_NONE; i++) {
		const struct export_frame *f =
			&c->s->frames[c->s->frame_numbers[stack->first + i]];
		uint32_t callee = f->function;

		if (c->functions[callee].stack == number + 1)
			callee = again(c, in->profile->pool, caller, callee);
		if (callee == PROFILE_NONE)
			return -ENOMEM;
		if (c->functions[callee].stack != number + 1 &&
		    add_cost(c, caller, line, callee + 1, stack->weight))
			return -ENOMEM;
		c->functions[callee].stack = number + 1;
		caller = f->function;
		line = f->line;
	}
	return caller == PROFILE_NONE ? -ENOMEM
				      : add_cost(c, caller, line, 0, stack->weight);
}

static int compare(const void *va, const void *vb)
{
	const struct callgrind_row *a = va, *b = vb;

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

		c->rows[i] = (struct callgrind_row){.function = (uint32_t)(item->a >> 32),
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
		escape_terminal_buf(text, sizeof(text),
				    name[strspn(name, " \t")] ? name : UNKNOWN);
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
	struct callgrind_function *f = &c->functions[number];

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

static int put_row(struct callgrind *c, const struct callgrind_row *row)
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
		const struct callgrind_row *row = &c.rows[i];

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
