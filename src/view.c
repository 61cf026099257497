// SPDX-License-Identifier: GPL-2.0-or-later
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "profile/attribution.h"
#include "profile/source.h"
#include "render/render.h"

static bool wants_colour(const struct options *o)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (o->colour != COLOUR_AUTO)
		return o->colour == COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && !strcmp(term, "dumb"));
}

/* What the locale says, without loading it. */
static bool speaks_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

static const struct render_format *find_format(const struct options *o)
{
	const char *command = o->command == COMMAND_REPORT ? "report" : "annotate";
	const char *name = o->json ? "json" : "text";

	for (size_t i = 0; i < nr_render_formats; i++)
		if (!strcmp(render_formats[i].command, command) &&
		    !strcmp(render_formats[i].name, name))
			return &render_formats[i];
	return NULL;
}

int view_show(const struct options *o, const struct profile *p, const char *file_name,
	      struct error *err)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	const struct render_format *format = find_format(o);
	struct render_options opts = {
		.colour = wants_colour(o),
		.utf8 = speaks_utf8(),
		.width = terminal_width(),
		.context = o->context,
		.min_share = o->min_share,
		.file_filter = o->file_filter,
	};
	struct render_input in = {.profile = p, .file_name = file_name};
	int rc = attribution_new(p, &o->attribution, &a);

	if (!rc)
		rc = source_attach(a, p, o->source_paths, o->nr_source_paths);
	if (rc)
		return error_set(err, rc, "out of memory");
	in.attribution = a;
	rc = format->write(&in, &opts, stdout);
	if (!rc && fflush(stdout))
		rc = -errno;
	if (rc && rc != -EPIPE) {
		errno = -rc;
		return error_set(err, rc, "cannot write the listing: %m");
	}
	return 0;
}
