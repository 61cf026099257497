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
 * Of all lines, which are sorted in memory. Each stack has the names of all its frames:
 * a small profile with deep stacks and long names could fill any memory.
 */
#define MAX_BYTES (512u << 20)

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

/* What the stacks are made of. */
struct frame_texts {
	char *text; /* of all frames; heap */
	size_t *ends; /* by frame, into text; heap */
	bool *is_left_out; /* by frame, where another one stays; heap */
};

static void frame_texts_deinit(struct frame_texts *t)
{
	free(t->text);
	free(t->ends);
	free(t->is_left_out);
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

/* Return: has it a place? */
static bool put_frame(FILE *out, const struct folded_form *form,
		      const struct export_frame *f)
{
	bool is_placed = has_place(form, f);

	put_name(out, form, f->name);
	if (is_placed)
		fprintf(out, "%s%s:%" PRIu32 "%s", form->before_place, f->file, f->line,
			form->after_place);
	else if (form->no_place)
		fputs(form->no_place, out);
	return is_placed;
}

/* Prints each frame once: many stacks have it. Return: 0 or -ENOMEM. */
static int print_frames(const struct folded_form *form, const struct export_stacks *s,
			struct frame_texts *t)
{
	size_t len;
	FILE *out;
	bool failed;

	t->ends = calloc(s->nr_frames + 1, sizeof(*t->ends));
	t->is_left_out = calloc(s->nr_frames + 1, sizeof(*t->is_left_out));
	if (!t->ends || !t->is_left_out)
		return -ENOMEM;
	out = open_memstream(&t->text, &len);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_frames; i++) {
		bool is_placed = put_frame(out, form, &s->frames[i]);

		t->is_left_out[i] = form->places_only && !is_placed;
		t->ends[i] = (size_t)ftell(out);
	}
	failed = ferror(out);
	failed |= fclose(out) != 0;
	return failed ? -ENOMEM : 0;
}

static size_t frame_begin(const struct frame_texts *t, uint32_t frame)
{
	return frame ? t->ends[frame - 1] : 0;
}

static void put_text(FILE *out, const struct frame_texts *t, uint32_t frame)
{
	size_t begin = frame_begin(t, frame);

	fwrite(t->text + begin, 1, t->ends[frame] - begin, out);
}

static void put_stack(FILE *out, const struct frame_texts *t,
		      const struct export_stacks *s, const struct export_stack *stack)
{
	const uint32_t *frames = &s->frame_numbers[stack->first];
	bool is_first = true;

	for (uint32_t i = 0; i < stack->nr; i++) {
		if (t->is_left_out[frames[i]])
			continue;
		if (!is_first)
			fputc(';', out);
		is_first = false;
		put_text(out, t, frames[i]);
	}
	if (is_first)
		put_text(out, t, frames[stack->nr - 1]);
}

/* Returns the bytes of the stack's frames, at most @max + those of one. */
static size_t stack_bytes(const struct frame_texts *t, const struct export_stacks *s,
			  const struct export_stack *stack, size_t max)
{
	const uint32_t *frames = &s->frame_numbers[stack->first];
	size_t bytes = 0;

	for (uint32_t i = 0; i < stack->nr && bytes <= max; i++)
		if (!t->is_left_out[frames[i]])
			bytes += t->ends[frames[i]] - frame_begin(t, frames[i]) + 1;
	return bytes;
}

/* Returns the stack's text; NULL: out of memory. */
static char *fold(const struct folded_form *form, const struct frame_texts *t,
		  const struct export_stacks *s, const struct export_stack *stack,
		  size_t nr_labels)
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
	put_stack(out, t, s, stack);
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

/* Return: 0, -ENOMEM, -EFBIG (more than MAX_BYTES). */
static int fold_stacks(const struct export_input *in, const struct folded_form *form,
		       const struct export_stacks *s, struct folded *ret)
{
	_cleanup_(frame_texts_deinit) struct frame_texts t = {0};
	size_t left = MAX_BYTES;
	int r = print_frames(form, s, &t);

	ret->lines = calloc(s->nr_stacks + 1, sizeof(*ret->lines));
	if (r || !ret->lines)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_stacks; i++) {
		struct folded_line *line = &ret->lines[ret->nr];
		size_t bytes;

		if (stack_bytes(&t, s, &s->stacks[i], left) > left)
			return -EFBIG;
		line->samples = s->stacks[i].weight.samples;
		line->text = fold(form, &t, s, &s->stacks[i], in->nr_labels);
		if (!line->text)
			return -ENOMEM;
		ret->nr++;
		bytes = strlen(line->text);
		if (bytes > left)
			return -EFBIG;
		left -= bytes;
	}
	return 0;
}

static int fold_all(const struct export_input *in, const struct folded_form *form,
		    struct folded *ret, struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	int rc = export_stacks_new(in, &s, err), r;

	if (rc)
		return rc;
	r = fold_stacks(in, form, s, ret);
	if (r == -EFBIG)
		return error_set(err, r,
				 "the stacks have more than %u MB of names: export those "
				 "of one program with --comm NAME, or use a format that "
				 "has each name once, such as speedscope",
				 MAX_BYTES >> 20);
	if (r)
		return error_set(err, r, "out of memory");
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
