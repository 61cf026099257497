// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_file.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "base/cleanup.h"
#include "base/escape.h"

#define MAX_TEXT_BYTES 1024

PAGE_EMBED(page_css, "page.css");
PAGE_EMBED(page_common, "common.js");
PAGE_EMBED(page_flame, "vendor/flamegraph.js");

static void put_part(const struct page_asset *part, FILE *out)
{
	fwrite(part->begin, 1, (size_t)(part->end - part->begin), out);
}

/* "'sha256-...'", as the policy names an inline script or style. */
static void put_hash(const struct page_asset *part, FILE *out)
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

static void put_hashes(const struct page_asset *parts, size_t nr, FILE *out)
{
	for (size_t i = 0; i < nr; i++) {
		fputc(' ', out);
		put_hash(&parts[i], out);
	}
}

static void put_elements(const char *tag, const struct page_asset *parts, size_t nr,
			 FILE *out)
{
	for (size_t i = 0; i < nr; i++) {
		fprintf(out, "<%s>", tag);
		put_part(&parts[i], out);
		fprintf(out, "</%s>\n", tag);
	}
}

static void put_data(const char *id, const char *json, FILE *out)
{
	fprintf(out, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id,
		json);
}

void page_put_text(const char *s, FILE *out)
{
	char text[MAX_TEXT_BYTES];

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

void page_file_begin(const struct page_file *page, FILE *out)
{
	const struct page_asset styles[] = {page_css, page->style};
	const struct page_asset scripts[] = {page_flame, page_common, page->script};
	size_t nr_styles = page->style.begin ? 2 : 1;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
	      "'none'; script-src",
	      out);
	put_hashes(scripts, ARRAY_SIZE(scripts), out);
	fputs("; style-src", out);
	put_hashes(styles, nr_styles, out);
	fputs("; base-uri 'none'; form-action 'none'; require-trusted-types-for "
	      "'script'; trusted-types 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
	      out);
	page_put_text(page->title, out);
	fprintf(out, "%slineburn</title>\n", *page->title ? " - " : "");
	put_elements("style", styles, nr_styles, out);
	fputs("</head>\n<body>\n", out);
}

void page_file_end(const struct page_file *page, FILE *out)
{
	const struct page_asset scripts[] = {page_flame, page_common, page->script};

	put_part(&page->body, out);
	put_data("facts-data", page->facts, out);
	put_data("stacks-data", page->stacks, out);
	put_elements("script", scripts, ARRAY_SIZE(scripts), out);
	fputs("</body>\n</html>\n", out);
}
