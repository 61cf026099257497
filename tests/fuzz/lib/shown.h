/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds for everything that is shown of a stranger's profile. */
#ifndef LB_TESTS_FUZZ_SHOWN_H
#define LB_TESTS_FUZZ_SHOWN_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "render/render.h"

static inline void check(int holds)
{
	if (!holds)
		abort();
}

/* No character that a terminal obeys. */
static inline void check_harmless(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		check((*c >= 0x20 && *c != 0x7f) || *c == '\n' || *c == '\t');
	check(!strstr(text, "\xe2\x80\xae")); /* text from right to left */
	check(!strstr(text, "\xc2\x9b")); /* begins a command, as ESC [ does */
}

/* All is ASCII. A terminal ignores the only control character in it, DEL. */
static inline void check_json(const char *text, size_t len)
{
	json_t *value = json_loadb(text, len, 0, NULL);

	for (size_t i = 0; i < len; i++)
		check((text[i] >= 0x20 && text[i] <= 0x7f) || text[i] == '\n');
	check(value != NULL);
	json_decref(value);
}

static inline size_t count_of(const char *text, const char *what)
{
	size_t nr = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		nr++;
	return nr;
}

static inline void check_text(const struct io_pending *pending, const char *format)
{
	check(!fflush(pending->out));
	check(strlen(pending->data) == pending->len);
	if (!strcmp(format, "json") || !strcmp(format, "speedscope") ||
	    !strcmp(format, "cpuprofile"))
		check_json(pending->data, pending->len);
	else if (strcmp(format, "html") != 0)
		check_harmless(pending->data);
	else
		/* No name begins or ends the page's own scripts. */
		check(count_of(pending->data, "<script") ==
		      count_of(pending->data, "</script"));
}

/* Shows @in in each format of @command that shows @needs, or in all: 0. */
static inline void check_shown(const struct render_input *in,
			       const struct render_options *options, const char *command,
			       unsigned int needs)
{
	for (size_t i = 0; i < nr_render_formats; i++) {
		const struct render_format *format = &render_formats[i];
		struct io_pending pending = {0};
		struct error err = {0};

		if (strcmp(format->command, command) != 0 ||
		    (needs && !(format->needs & needs)))
			continue;
		check(!io_pending_open(&pending, &err));
		check(!format->write(in, options, pending.out));
		check_text(&pending, format->name);
		io_pending_deinit(&pending);
	}
}

#endif
