// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks, as FlameGraph's scripts define them: one line for each stack, the
 * outermost frame first, then a space and the number of samples.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "export/stacks.h"

#define MAX_TEXT_BYTES 16384

struct folded_line {
	char *text; /* heap */
	uint64_t samples;
};

struct folded {
	struct folded_line *lines;
	size_t nr;
};

static void folded_deinit(struct folded *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(f->lines[i].text);
	free(f->lines);
}

/* Prints a name. ";" separates frames, so it becomes ":". */
static void put_name(FILE *out, const char *name)
{
	char text[MAX_TEXT_BYTES];

	escape_terminal_buf(text, sizeof(text), name);
	for (char *c = text; *c; c++)
		fputc(*c == ';' ? ':' : *c == '\t' ? ' ' : *c, out);
}

/* Returns the stack's text; NULL: out of memory. */
static char *fold(const struct export_stacks *s, const struct export_stack *stack,
		  size_t nr_labels)
{
	const uint32_t *frames = &s->frame_numbers[stack->first];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out)
		return NULL;
	for (size_t i = 0; i < nr_labels; i++) {
		if (!*stack->labels[i])
			continue;
		put_name(out, stack->labels[i]);
		fputc(';', out);
	}
	for (uint32_t i = 0; i < stack->nr; i++) {
		if (i)
			fputc(';', out);
		put_name(out, s->frames[frames[i]].name);
	}
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

static int compare(const void *va, const void *vb)
{
	const struct folded_line *a = va, *b = vb;

	return strcmp(a->text, b->text);
}

int export_folded(const struct export_input *in, FILE *out, const char **ret_note,
		  struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	_cleanup_(folded_deinit) struct folded f = {0};
	int rc = export_stacks_new(in, &s, err);

	(void)ret_note;
	if (rc)
		return rc;
	f.lines = calloc(s->nr_stacks + 1, sizeof(*f.lines));
	for (size_t i = 0; f.lines && i < s->nr_stacks; i++) {
		struct folded_line *line = &f.lines[f.nr];

		line->samples = s->stacks[i].weight.samples;
		line->text = fold(s, &s->stacks[i], in->nr_labels);
		if (!line->text)
			break;
		f.nr++;
	}
	if (!f.lines || f.nr < s->nr_stacks)
		return error_set(err, -ENOMEM, "out of memory");
	qsort(f.lines, f.nr, sizeof(*f.lines), compare);
	/* Stacks of the same functions may differ in their lines. */
	for (size_t i = 0; i < f.nr;) {
		uint64_t samples = 0;
		size_t first = i;

		for (; i < f.nr && !strcmp(f.lines[first].text, f.lines[i].text); i++)
			samples += f.lines[i].samples;
		if (samples)
			fprintf(out, "%s %" PRIu64 "\n", f.lines[first].text, samples);
	}
	return 0;
}
