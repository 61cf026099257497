// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annotate --format quickfix: hot lines as the notes of a compiler (GCC's form), for
 * error lists of editors, the line with most self first:
 *
 *  /home/me/dither.c:47:1: note: 34.9 % self, 62.1 % total, dither_row
 *
 * GCC prints a column by default, and some editors know only that form. A sample has
 * none, so it is 1. A path with a line break is escaped, so it cannot add a line.
 */
#include <errno.h>
#include <inttypes.h>

#include "analyze/hot_lines.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "render/figure.h"
#include "render/render.h"

static void put_note(const struct attribution *a, const struct hot_line *n, FILE *out)
{
	struct figure self = figure_percent(share_of(a, &n->line->self));

	escape_terminal(out, n->file->path);
	fprintf(out, ":%" PRIu32 ":1: note: %s %% self, %s %% total%s", n->line->line,
		*self.text ? self.text : "0.0",
		figure_percent(share_of(a, &n->line->total)).text,
		*n->line->function ? ", " : "");
	escape_terminal(out, n->line->function);
	fputc('\n', out);
}

int render_annotate_quickfix(const struct render_input *in,
			     const struct render_options *opts, FILE *out)
{
	const struct attribution *a = in->attribution;
	_cleanup_free_ struct hot_line *lines = NULL;
	size_t nr;

	if (hot_lines_of(a, opts->file_filter, &lines, &nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr && render_has_rank(opts, i); i++)
		if (share_of(a, &lines[i].line->total) >= opts->min_share)
			put_note(a, &lines[i], out);
	return render_finish(out);
}
