// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annotate --format html: a page that shows the profile in a browser, in one file that
 * needs no other:
 *
 *	<head>		a Content-Security-Policy, html/page.css
 *	<noscript>	a table of the hottest lines, for a browser without scripts
 *	<main>		html/page.html: what the script fills
 *	<script>	the profile as JSON (page_data.h), the flame graph's library
 *			(html/vendor), html/page.js
 *
 * Names and source text reach the browser as JSON, which the script shows as text, and in
 * <noscript> with HTML's escapes. The policy names the hashes of our own scripts and
 * style: a browser runs nothing else, and loads nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hot_lines.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "render/figure.h"
#include "render/page_data.h"
#include "render/render.h"

#define MAX_STATIC_LINES 50 /* of the table without scripts */
#define MAX_STATIC_BYTES 1024 /* of a text in it */

/* ---- parts of the page, from files beside this one ---- */

#define EMBED(name, path)                                               \
	__asm__(".pushsection .rodata\n" #name                          \
		"_begin:\n.incbin \"src/render/html/" path "\"\n" #name \
		"_end:\n.byte 0\n.popsection\n");                       \
	extern const char name##_begin[], name##_end[]

EMBED(page_html, "page.html");
EMBED(page_css, "page.css");
EMBED(page_js, "page.js");
EMBED(page_flame, "vendor/flamegraph.js");

struct html_part {
	const char *begin, *end;
};

static void put_part(const struct html_part *part, FILE *out)
{
	fwrite(part->begin, 1, (size_t)(part->end - part->begin), out);
}

/* "'sha256-...'", as the policy names an inline script or style. */
static void put_hash(const struct html_part *part, FILE *out)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = "";
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, (size_t)(part->end - part->begin),
		      (const uint8_t *)part->begin);
	sha256_digest(&ctx, sizeof(digest), digest);
	base64_encode_raw(text, sizeof(digest), digest);
	fprintf(out, "'sha256-%s'", text);
}

/* ---- the table without scripts ---- */

/* Prints text of the profile as text of HTML. */
static void put_text(const char *s, FILE *out)
{
	char text[MAX_STATIC_BYTES];

	for (const char *c = escape_terminal_buf(text, sizeof(text), s); *c; c++)
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*c, out);
		}
}

static void put_static_line(const struct attribution *a, const struct hot_line *l,
			    FILE *out)
{
	const struct attribution_source *source = &l->file->source;
	uint32_t index = l->line->line - 1;
	const char *text = index < source->nr_lines ? source->lines[index] : NULL;

	fprintf(out, "<tr><td>%s<td>%s<td>",
		figure_percent(share_of(a, &l->line->self)).text,
		figure_percent(share_of(a, &l->line->total)).text);
	put_text(l->file->path, out);
	fprintf(out, ":%" PRIu32 "<td>", l->line->line);
	put_text(l->line->function, out);
	fputs("<td><code>", out);
	put_text(text ? text : "", out);
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

static void put_head(const struct render_input *in, const struct html_part *css,
		     const struct html_part *scripts, size_t nr_scripts, FILE *out)
{
	char title[256];

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
	      "'none'; "
	      "script-src",
	      out);
	for (size_t i = 0; i < nr_scripts; i++) {
		fputc(' ', out);
		put_hash(&scripts[i], out);
	}
	fputs("; style-src ", out);
	put_hash(css, out);
	fputs("; base-uri 'none'; form-action 'none'; require-trusted-types-for "
	      "'script'; trusted-types 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
	      out);
	page_title(in, title, sizeof(title));
	put_text(title, out);
	fprintf(out, "%slineburn</title>\n<style>", *title ? " - " : "");
	put_part(css, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

static void put_data(const char *id, const char *json, FILE *out)
{
	fprintf(out, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id,
		json);
}

int render_annotate_html(const struct render_input *in, const struct render_options *opts,
			 FILE *out)
{
	const struct html_part html = {page_html_begin, page_html_end},
			       css = {page_css_begin, page_css_end};
	const struct html_part scripts[] = {{page_flame_begin, page_flame_end},
					    {page_js_begin, page_js_end}};
	struct page_data data;
	int r = page_data_new(in, &data);

	(void)opts;
	if (r)
		return r;
	put_head(in, &css, scripts, ARRAY_SIZE(scripts), out);
	r = put_static_table(in->attribution, out);
	put_part(&html, out);
	put_data("facts-data", data.facts, out);
	put_data("stacks-data", data.stacks, out);
	page_data_deinit(&data);
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		fputs("<script>", out);
		put_part(&scripts[i], out);
		fputs("</script>\n", out);
	}
	fputs("</body>\n</html>\n", out);
	return r ? r : render_finish(out);
}
