// SPDX-License-Identifier: GPL-2.0-or-later
/* annotate --format html: a page that shows the profile in a browser (page_file.h). */
#include <errno.h>
#include <inttypes.h>

#include "analyze/hot_lines.h"
#include "base/cleanup.h"
#include "render/figure.h"
#include "render/page_data.h"
#include "render/page_file.h"
#include "render/render.h"

#define MAX_STATIC_LINES 50 /* of the table without scripts */

PAGE_EMBED(page_html, "page.html");
PAGE_EMBED(page_js, "page.js");

/* ---- the table without scripts ---- */

static void put_static_line(const struct attribution *a, const struct hot_line *l,
			    FILE *out)
{
	const struct attribution_source *source = &l->file->source;
	uint32_t index = l->line->line - 1;
	const char *text = index < source->nr_lines ? source->lines[index] : NULL;

	fprintf(out, "<tr><td>%s<td>%s<td>",
		figure_percent(share_of(a, &l->line->self)).text,
		figure_percent(share_of(a, &l->line->total)).text);
	page_put_text(l->file->path, out);
	fprintf(out, ":%" PRIu32 "<td>", l->line->line);
	page_put_text(l->line->function, out);
	fputs("<td><code>", out);
	page_put_text(text ? text : "", out);
	fputs("</code>\n", out);
}

static int put_static_table(const struct attribution *a, FILE *out)
{
	_cleanup_free_ struct hot_line *lines = NULL;
	size_t nr;

	if (hot_lines_of(a, NULL, &lines, &nr))
		return -ENOMEM;
	fputs("<noscript>\n<p>This page needs JavaScript for all that it can show. The "
	      "hottest lines:\n<table><tr><th>self %<th>total %<th>line<th>function"
	      "<th>source\n",
	      out);
	for (size_t i = 0; i < nr && i < MAX_STATIC_LINES; i++)
		put_static_line(a, &lines[i], out);
	fputs("</table>\n</noscript>\n", out);
	return 0;
}

/* ---- the page ---- */

int render_annotate_html(const struct render_input *in, const struct render_options *opts,
			 FILE *out)
{
	struct page_data data;
	struct page_file page = {.body = page_html, .script = page_js};
	char title[256];
	int r = page_data_new(in, &data);

	(void)opts;
	if (r)
		return r;
	page_title(in, title, sizeof(title));
	page.title = title;
	page.facts = data.facts;
	page.stacks = data.stacks;
	page_file_begin(&page, out);
	r = put_static_table(in->attribution, out);
	page_file_end(&page, out);
	page_data_deinit(&data);
	return r ? r : render_finish(out);
}
