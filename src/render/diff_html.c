// SPDX-License-Identifier: GPL-2.0-or-later
/* diff --format html: a page that shows a comparison in a browser (page_file.h). */
#include <inttypes.h>
#include <string.h>

#include "render/diff.h"
#include "render/diff_page.h"
#include "render/page_file.h"

#define MAX_STATIC_ROWS 50 /* of a table without scripts */

PAGE_EMBED(page_diff_html, "diff.html");
PAGE_EMBED(page_diff_css, "diff.css");
PAGE_EMBED(page_diff_js, "diff.js");

/* ---- the tables without scripts ---- */

static void put_figures(const struct diff_unit *unit, const struct change *c, FILE *out)
{
	fprintf(out, "<tr><td>%s<td>%s<td>%s<td>%s to %s<td>",
		diff_value(unit, c->of[DIFF_BEFORE].value).text,
		diff_value(unit, c->of[DIFF_AFTER].value).text,
		diff_difference(unit, c->difference).text,
		diff_difference(unit, c->low).text, diff_difference(unit, c->high).text);
}

static void put_table_head(const char *what, FILE *out)
{
	fprintf(out,
		"<table><tr><th>before<th>after<th>change<th>interval<th>%s that differ"
		"\n",
		what);
}

static void put_static_tables(const struct profile_diff *d, FILE *out)
{
	struct diff_unit unit = diff_unit_of(d);
	char measure[DIFF_WORDS_BYTES], words[DIFF_WORDS_BYTES];

	fputs("<noscript>\n<p>This page needs JavaScript for all that it can show.\n<p>",
	      out);
	page_put_text(diff_measure(d, measure), out);
	if (d->whole.is_compared) {
		fputs(": ", out);
		page_put_text(diff_words(&unit, &d->whole, words), out);
	}
	put_table_head("lines", out);
	for (size_t i = 0; i < d->nr_significant_lines && i < MAX_STATIC_ROWS; i++) {
		put_figures(&unit, &d->lines[i].self, out);
		page_put_text(d->lines[i].path, out);
		fprintf(out, ":%" PRIu32 "\n", diff_line_number(&d->lines[i]));
	}
	fputs("</table>\n", out);
	put_table_head("functions", out);
	for (size_t i = 0; i < d->nr_significant_functions && i < MAX_STATIC_ROWS; i++) {
		put_figures(&unit, &d->functions[i].self, out);
		page_put_text(d->functions[i].name, out);
		fputc('\n', out);
	}
	fputs("</table>\n</noscript>\n", out);
}

/* ---- the page ---- */

int render_diff_html(const struct render_input *in, const struct render_options *opts,
		     FILE *out)
{
	struct diff_page data;
	char title[256];
	struct page_file page = {.title = title,
				 .style = page_diff_css,
				 .body = page_diff_html,
				 .script = page_diff_js};
	int r = diff_page_new(in, opts->limit, &data);

	if (r)
		return r;
	diff_page_title(in->diff, title, sizeof(title));
	page.facts = data.facts;
	page.stacks = data.stacks;
	page_file_begin(&page, out);
	put_static_tables(in->diff, out);
	page_file_end(&page, out);
	diff_page_deinit(&data);
	return render_finish(out);
}
