// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks, as FlameGraph's scripts define them: one line for each stack, the
 * outermost frame first, then a space and the number of samples. Editors read them with
 * the file and line of each frame, in forms that differ.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "export/stacks.h"

#define MAX_TEXT_BYTES 16384

/*
 * What a reader makes of a frame. The editors' readers search a frame for its place by
 * a pattern, so a name or path must not have what the pattern could take for another.
 */
struct folded_form {
	const char *before_place, *after_place; /* NULL: names only */
	const char *no_place; /* follows the name of a frame without a place; NULL */
	const char *bad_in_name; /* replaced */
	char replacement;
	const char *bad_in_path; /* such a frame has no place */
	bool is_absolute; /* only an absolute path is one */
	bool places_only; /* frames without a place disturb: leave them out */
};

static const struct folded_form names = {
	.bad_in_name = ";",
	.replacement = ':',
};
/* "main /src/a.c:30;work /src/a.c:12 40": a place ends at the first ":12". */
static const struct folded_form perfanno = {
	.before_place = " ",
	.after_place = "",
	.bad_in_name = ";/",
	.replacement = '.',
	.bad_in_path = ":;\t",
	.is_absolute = true,
	.places_only = true,
};
/* "main (/src/a.c:30);work (/src/a.c:12) 40": a path has none of " ():". */
static const struct folded_form emacs = {
	.before_place = " (",
	.after_place = ")",
	.bad_in_name = ";",
	.replacement = '.',
	.bad_in_path = " ():;\t",
};
/*
 * "40 main /src/a.c:30;work /src/a.c:12", and without a place "vfs_read ??:0", as perf
 * writes them. "#" could begin a header.
 */
static const struct folded_form perf = {
	.before_place = " ",
	.after_place = "",
	.no_place = " ??:0",
	.bad_in_name = ";/#",
	.replacement = '.',
	.bad_in_path = ":;\t",
	.is_absolute = true,
};

struct folded_line {
	char *text; /* heap */
	uint64_t samples;
};

struct folded {
	struct folded_line *lines; /* by text */
	size_t nr;
	uint64_t samples; /* of all lines */
};

static void folded_deinit(struct folded *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(f->lines[i].text);
	free(f->lines);
}

static void put_name(FILE *out, const struct folded_form *form, const char *name)
{
	char text[MAX_TEXT_BYTES];

	escape_terminal_buf(text, sizeof(text), name);
	for (char *c = text; *c; c++) {
		bool is_place = form->before_place && *c == ':' &&
				isdigit((unsigned char)c[1]);

		if (*c == '\t')
			*c = ' ';
		else if (is_place || strchr(form->bad_in_name, *c))
			*c = form->replacement;
	}
	fputs(text, out);
}

static bool has_place(const struct folded_form *form, const struct export_frame *f)
{
	char text[MAX_TEXT_BYTES];

	if (!form->before_place || !f->line || !*f->file ||
	    (form->is_absolute && *f->file != '/') ||
	    f->file[strcspn(f->file, form->bad_in_path)])
		return false;
	/* An escaped path would be another path. */
	return !strcmp(escape_terminal_buf(text, sizeof(text), f->file), f->file);
}

static void put_frame(FILE *out, const struct folded_form *form,
		      const struct export_frame *f)
{
	put_name(out, form, f->name);
	if (has_place(form, f))
		fprintf(out, "%s%s:%" PRIu32 "%s", form->before_place, f->file, f->line,
			form->after_place);
	else if (form->no_place)
		fputs(form->no_place, out);
}

static void put_stack(FILE *out, const struct folded_form *form,
		      const struct export_stacks *s, const struct export_stack *stack)
{
	const uint32_t *frames = &s->frame_numbers[stack->first];
	bool is_first = true;

	for (uint32_t i = 0; i < stack->nr; i++) {
		const struct export_frame *f = &s->frames[frames[i]];

		if (form->places_only && !has_place(form, f))
			continue;
		if (!is_first)
			fputc(';', out);
		is_first = false;
		put_frame(out, form, f);
	}
	if (is_first)
		put_frame(out, form, &s->frames[frames[stack->nr - 1]]);
}

/* Returns the stack's text; NULL: out of memory. */
static char *fold(const struct folded_form *form, const struct export_stacks *s,
		  const struct export_stack *stack, size_t nr_labels)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out)
		return NULL;
	for (size_t i = 0; i < nr_labels; i++) {
		if (!*stack->labels[i])
			continue;
		put_name(out, form, stack->labels[i]);
		fputc(';', out);
	}
	put_stack(out, form, s, stack);
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

/* Merges lines with the same text: their stacks differ in what is not shown. */
static void merge(struct folded *f)
{
	size_t nr = 0;

	qsort(f->lines, f->nr, sizeof(*f->lines), compare);
	for (size_t i = 0; i < f->nr; i++) {
		struct folded_line *line = &f->lines[i];

		f->samples += line->samples;
		if (nr && !strcmp(f->lines[nr - 1].text, line->text)) {
			f->lines[nr - 1].samples += line->samples;
			free(line->text);
		} else {
			f->lines[nr++] = *line;
		}
	}
	f->nr = nr;
}

static int fold_all(const struct export_input *in, const struct folded_form *form,
		    struct folded *ret, struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	int rc = export_stacks_new(in, &s, err);

	if (rc)
		return rc;
	ret->lines = calloc(s->nr_stacks + 1, sizeof(*ret->lines));
	for (size_t i = 0; ret->lines && i < s->nr_stacks; i++) {
		struct folded_line *line = &ret->lines[ret->nr];

		line->samples = s->stacks[i].weight.samples;
		line->text = fold(form, s, &s->stacks[i], in->nr_labels);
		if (!line->text)
			break;
		ret->nr++;
	}
	if (!ret->lines || ret->nr < s->nr_stacks)
		return error_set(err, -ENOMEM, "out of memory");
	merge(ret);
	return 0;
}

static int write_folded(const struct export_input *in, const struct folded_form *form,
			FILE *out, struct error *err)
{
	_cleanup_(folded_deinit) struct folded f = {0};
	int rc = fold_all(in, form, &f, err);

	for (size_t i = 0; !rc && i < f.nr; i++)
		if (f.lines[i].samples)
			fprintf(out, "%s %" PRIu64 "\n", f.lines[i].text,
				f.lines[i].samples);
	return rc;
}

int export_folded(const struct export_input *in, FILE *out, const char **ret_note,
		  struct error *err)
{
	(void)ret_note;
	return write_folded(in, &names, out, err);
}

int export_folded_perfanno(const struct export_input *in, FILE *out,
			   const char **ret_note, struct error *err)
{
	(void)ret_note;
	return write_folded(in, &perfanno, out, err);
}

int export_folded_emacs(const struct export_input *in, FILE *out, const char **ret_note,
			struct error *err)
{
	(void)ret_note;
	/*
	 * A file that begins with "(" would be read as Lisp, and so may a name. A line
	 * without a number at its end is skipped.
	 */
	fputs("# for flamegraph.el\n", out);
	return write_folded(in, &emacs, out, err);
}

int export_perf(const struct export_input *in, FILE *out, const char **ret_note,
		struct error *err)
{
	_cleanup_(folded_deinit) struct folded f = {0};
	char event[128];
	int rc = fold_all(in, &perf, &f, err);

	(void)ret_note;
	if (rc)
		return rc;
	escape_terminal_buf(event, sizeof(event), in->attribution->counted.type);
	fprintf(out, "# Samples: %" PRIu64 "  of event '%s'\n", f.samples, event);
	for (size_t i = 0; i < f.nr; i++)
		if (f.lines[i].samples)
			fprintf(out, "%" PRIu64 " %s\n", f.lines[i].samples,
				f.lines[i].text);
	return 0;
}
