// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LLVM's sample profile as text, for clang -fprofile-sample-use:
 *
 * 	main:93:1		function: its samples, those of its entry
 * 	 3: 40			line, from the function's first line on: samples
 * 	 5: square:52		call that was inlined there
 * 	  1: 52
 *
 * A compiler wants to know how often a line runs, and only instructions have been
 * sampled. So a line has the samples of the instruction with most of them, not the sum:
 * a line of many instructions would seem to run more often. The samples of a function
 * are the sum over its lines.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/strpool.h"
#include "export/export.h"
#include "profile/mapping_kind.h"

#define MAX_OFFSET 0xffff /* LLVM takes line offsets modulo 65536 */

/* A line of the text. */
struct autofdo_row {
	uint32_t in; /* scope + 1; 0: a function that is inlined nowhere */
	uint32_t offset;
	uint32_t scope; /* + 1: what is inlined here; 0: a count */
	const char *name; /* of the scope; "" */
	uint64_t samples;
};

struct autofdo {
	const struct profile *p;
	FILE *out;
	uint64_t *hits; /* by location: samples whose innermost frame it is */
	uint64_t native, used; /* samples: all of native code, those in the output */
	/*
	 * Functions, each inlined copy apart: (scope around it + 1, 0: none) << 32 |
	 * offset there, name. One follows that around it. total: sum of its counts.
	 */
	struct tally scopes;
	struct tally counts; /* (scope, offset) */
	struct autofdo_row *rows;
	size_t *first_row; /* by row.in; one more is the end */
};

static void autofdo_deinit(struct autofdo *a)
{
	free(a->hits);
	tally_deinit(&a->scopes);
	tally_deinit(&a->counts);
	free(a->rows);
	free(a->first_row);
}

/* The name that the linker knows. */
static const char *linker_name(const struct profile_function *f)
{
	return *f->system_name ? f->system_name : f->name;
}

/* Would the reader find this name in a line? */
static bool is_linker_name(const char *name)
{
	if (!*name || isdigit((unsigned char)*name) || strchr("[#", *name))
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == ':')
			return false;
	return true;
}

static bool is_native(const struct profile *p, const struct profile_location *l)
{
	enum code_kind kind;

	if (l->mapping == PROFILE_NONE)
		return false;
	kind = mapping_kind(p, l->mapping);
	return code_kind_is_native(kind) || kind == CODE_INTERPRETER;
}

/* Has each frame of the location what a row needs? */
static bool is_usable(const struct profile *p, const struct profile_location *l)
{
	if (!l->nr_lines || l->nr_lines > FRAMES_MAX_INLINE)
		return false;
	for (uint32_t i = 0; i < l->nr_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];
		const struct profile_function *f;

		if (line->function == PROFILE_NONE || !line->line)
			return false;
		f = &p->functions[line->function];
		if (!f->start_line || !is_linker_name(linker_name(f)))
			return false;
	}
	return true;
}

static int count_hits(struct autofdo *a, struct error *err)
{
	const struct profile *p = a->p;
	struct weigher weigher = weigher_of(p);
	char counted[64];

	if (weigher.cpu_value == PROFILE_NONE &&
	    strcmp(weigher.counted.type, "samples") != 0)
		return error_set(err, -EINVAL,
				 "the profile has no samples of CPU time, but counts %s, "
				 "which does not tell a compiler how often code runs",
				 escape_terminal_buf(counted, sizeof(counted),
						     weigher.counted.type));
	a->hits = calloc(p->nr_locations + 1, sizeof(*a->hits));
	if (!a->hits)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint64_t samples = weigher_weigh(&weigher, s).samples;
		uint32_t leaf;

		if (!s->nr_locations)
			continue;
		leaf = profile_stack(p, s)[0];
		if (!is_native(p, &p->locations[leaf]))
			continue;
		a->hits[leaf] += samples;
		a->native += samples;
	}
	return 0;
}

/* Adds the samples at an address to its line, within what it is inlined into. */
static int add_location(struct autofdo *a, const struct profile_location *l,
			uint64_t samples)
{
	uint32_t scope = PROFILE_NONE, offset = 0, count;
	struct tally_item *item;

	for (uint32_t i = l->nr_lines; i-- > 0;) {
		const struct profile_line *line = &a->p->lines[l->first_line + i];
		const struct profile_function *f = &a->p->functions[line->function];

		scope = tally_number(&a->scopes, (uint64_t)(scope + 1) << 32 | offset,
				     tally_key(linker_name(f)));
		if (scope == PROFILE_NONE)
			return -ENOMEM;
		offset = (line->line - f->start_line) & MAX_OFFSET;
	}
	count = tally_number(&a->counts, scope, offset);
	if (count == PROFILE_NONE)
		return -ENOMEM;
	item = &a->counts.items[count];
	if (item->total.samples < samples)
		item->total.samples = samples;
	a->used += samples;
	return 0;
}

static void add_up(struct autofdo *a)
{
	for (size_t i = 0; i < a->counts.nr; i++) {
		const struct tally_item *count = &a->counts.items[i];

		weight_add(&a->scopes.items[count->a].total, count->total);
	}
	for (size_t i = a->scopes.nr; i-- > 0;) {
		const struct tally_item *scope = &a->scopes.items[i];
		uint32_t around = (uint32_t)(scope->a >> 32);

		if (around)
			weight_add(&a->scopes.items[around - 1].total, scope->total);
	}
}

static int compare(const void *va, const void *vb)
{
	const struct autofdo_row *a = va, *b = vb;

	if (a->in != b->in)
		return a->in < b->in ? -1 : 1;
	if (!a->in && a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int make_rows(struct autofdo *a)
{
	size_t nr = a->scopes.nr + a->counts.nr;

	add_up(a);
	a->rows = calloc(nr + 1, sizeof(*a->rows));
	a->first_row = calloc(a->scopes.nr + 2, sizeof(*a->first_row));
	if (!a->rows || !a->first_row)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		bool is_scope = i < a->scopes.nr;
		const struct tally_item *item =
			is_scope ? &a->scopes.items[i]
				 : &a->counts.items[i - a->scopes.nr];

		a->rows[i] =
			is_scope ? (struct autofdo_row){.in = (uint32_t)(item->a >> 32),
							.offset = (uint32_t)item->a,
							.scope = i + 1,
							.name = tally_string(item->b)}
				 : (struct autofdo_row){.in = (uint32_t)item->a + 1,
							.offset = (uint32_t)item->b,
							.name = ""};
		a->rows[i].samples = item->total.samples;
		a->first_row[a->rows[i].in + 1]++;
	}
	for (size_t i = 1; i < a->scopes.nr + 2; i++)
		a->first_row[i] += a->first_row[i - 1];
	qsort(a->rows, nr, sizeof(*a->rows), compare);
	return 0;
}

/*
 * Returns the samples of a function's entry: those of its first line that has some, as
 * LLVM does it for inlined functions. It takes this number for all code that every call
 * runs; with 0 such code would be cold.
 */
static uint64_t entry_samples(const struct autofdo *a, uint32_t in)
{
	const struct autofdo_row *row = &a->rows[a->first_row[in]];

	while (row->scope)
		row = &a->rows[a->first_row[row->scope]];
	return row->samples;
}

static void put_rows(const struct autofdo *a, uint32_t in, int depth)
{
	for (size_t i = a->first_row[in]; i < a->first_row[in + 1]; i++) {
		const struct autofdo_row *row = &a->rows[i];

		if (depth)
			fprintf(a->out, "%*s%" PRIu32 ": ", depth, "", row->offset);
		if (row->scope)
			fprintf(a->out, "%s:", row->name);
		fprintf(a->out, "%" PRIu64, row->samples);
		if (!depth)
			fprintf(a->out, ":%" PRIu64, entry_samples(a, row->scope));
		fputc('\n', a->out);
		if (row->scope)
			put_rows(a, row->scope, depth + 1);
	}
}

static int check(const struct autofdo *a, const char **ret_note, struct error *err)
{
	static const char remedy[] = "build it with -g, or with -gmlt "
				     "-fdebug-info-for-profiling";

	if (!a->native)
		return error_set(err, -EINVAL,
				 "no sample is in native code, so there is nothing for "
				 "a compiler");
	if (!a->used)
		return error_set(err, -EINVAL,
				 "native code of the profile has no lines, or it is not "
				 "known where its functions begin; %s, and record again",
				 remedy);
	if (a->used < a->native)
		*ret_note = strpool_print(
			a->p->pool,
			"%.1f %% of the samples in native code are left out, because "
			"their lines, or the first lines of their functions, are not "
			"known; %s",
			100 * (double)(a->native - a->used) / (double)a->native, remedy);
	return 0;
}

int export_autofdo(const struct export_input *in, FILE *out, const char **ret_note,
		   struct error *err)
{
	const struct profile *p = in->profile;
	_cleanup_(autofdo_deinit) struct autofdo a = {.p = p, .out = out};
	int rc = count_hits(&a, err), r = 0;

	if (rc)
		return rc;
	for (size_t i = 0; i < p->nr_locations && !r; i++)
		if (a.hits[i] && is_usable(p, &p->locations[i]))
			r = add_location(&a, &p->locations[i], a.hits[i]);
	if (!r)
		r = make_rows(&a);
	if (r)
		return error_set(err, -ENOMEM, "out of memory");
	rc = check(&a, ret_note, err);
	if (!rc)
		put_rows(&a, 0, 0);
	return rc;
}
