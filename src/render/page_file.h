/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page as a file that needs no other:
 *
 *	<head>		a Content-Security-Policy, html/page.css and the page's own style
 *	<noscript>	a table for a browser without scripts, which the caller prints
 *	<main>		what the script fills
 *	<script>	data as JSON (page_json.h), the flame graph's library (html/vendor),
 *			html/common.js, the page's own script
 *
 * Names and source text reach the browser as JSON, which the script shows as text, and in
 * <noscript> with HTML's escapes. The policy names the hashes of our own scripts and
 * styles: a browser runs nothing else, and loads nothing.
 */
#ifndef LB_RENDER_PAGE_FILE_H
#define LB_RENDER_PAGE_FILE_H

#include <stdio.h>

/* A file of src/render/html, in the program. */
struct page_asset {
	const char *begin, *end;
};

/* Defines @name, which must be unique in the program, with that file's content. */
#define PAGE_EMBED(name, path)                                          \
	__asm__(".pushsection .rodata\n" #name                          \
		"_begin:\n.incbin \"src/render/html/" path "\"\n" #name \
		"_end:\n.byte 0\n.popsection\n");                       \
	extern const char name##_begin[], name##_end[];                 \
	static const struct page_asset name = {name##_begin, name##_end}

struct page_file {
	const char *title;
	struct page_asset style; /* beside page.css; may be empty */
	struct page_asset body, script;
	const char *facts, *stacks; /* JSON */
};

/** Prints all up to <noscript>. */
void page_file_begin(const struct page_file *page, FILE *out);
/** Prints all behind it. */
void page_file_end(const struct page_file *page, FILE *out);

/** Prints text of a profile as text of HTML. */
void page_put_text(const char *s, FILE *out);

#endif
