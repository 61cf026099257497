// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annotate --format quickfix: hot lines as the notes of a compiler (GCC's form), for
 * error lists of editors, the line with most self first:
 *
 *  /home/me/dither.c:47: note: 34.9 % self, 62.1 % total, dither_row
 *
 * An editor opens what stands before the first ":LINE:". A path with a line break is
 * escaped, so it cannot add a line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "render/figure.h"
#include "render/render.h"

struct note {
	const struct attribution_file *file;
	const struct attribution_line *line;
};

static int hottest_first(const void *va, const void *vb)
{
	const struct note *a = va, *b = vb;
	int order = weight_compare(a->line->self, b->line->self);

	if (!order)
		order = weight_compare(a->line->total, b->line->total);
	if (!order && a->file != b->file)
		order = a->file < b->file ? -1 : 1;
	return order ? order
		     : (a->line->line > b->line->line) - (a->line->line < b->line->line);
}

static void put_note(const struct attribution *a, const struct note *n, FILE *out)
{
	struct figure self = figure_percent(share_of(a, &n->line->self));

	escape_terminal(out, n->file->path);
	fprintf(out, ":%" PRIu32 ": note: %s %% self, %s %% total, ", n->line->line,
		*self.text ? self.text : "0.0",
		figure_percent(share_of(a, &n->line->total)).text);
	escape_terminal(out, n->line->function);
	fputc('\n', out);
}

int render_annotate_quickfix(const struct render_input *in,
			     const struct render_options *opts, FILE *out)
{
	const struct attribution *a = in->attribution;
	_cleanup_free_ struct note *notes = NULL;
	size_t nr = 0, nr_lines = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		nr_lines += a->files[i].nr_lines;
	notes = calloc(nr_lines + 1, sizeof(*notes));
	if (!notes)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *f = &a->files[i];

		for (size_t j = 0; render_has_file(opts, f->path) && j < f->nr_lines;
		     j++) {
			const struct attribution_line *l = &f->lines[j];

			if (!l->no_code && share_of(a, &l->total) >= opts->min_share)
				notes[nr++] = (struct note){f, l};
		}
	}
	qsort(notes, nr, sizeof(*notes), hottest_first);
	for (size_t i = 0; i < nr; i++)
		put_note(a, &notes[i], out);
	return render_finish(out);
}
