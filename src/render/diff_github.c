// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * diff --format github: notices that GitHub Actions shows at the lines of a pull
 * request, the whole first, then what changed most; a rule of --fail-if that is
 * exceeded is an error. GitHub takes ten of each from a step.
 *
 * 	::notice file=/srv/dither.py,line=25,title=lineburn::1.803 s before, ...
 */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "render/diff.h"

#define MAX_NOTICES 10

/* Escapes for a terminal first: the log of the step shows the text. */
static void put(FILE *out, const char *text, bool is_property)
{
	char escaped[4096];

	escape_terminal_buf(escaped, sizeof(escaped), text);
	for (const char *at = escaped; *at; at++)
		if (*at == '%' || *at == '\r' || *at == '\n' ||
		    (is_property && (*at == ':' || *at == ',')))
			fprintf(out, "%%%02X", (unsigned char)*at);
		else
			fputc(*at, out);
}

static void begin(FILE *out, const char *kind, const char *path, uint32_t line)
{
	fprintf(out, "::%s ", kind);
	if (*path) {
		fputs("file=", out);
		put(out, path, true);
		fputc(',', out);
	}
	if (*path && line)
		fprintf(out, "line=%" PRIu32 ",", line);
	fputs("title=lineburn::", out);
}

static void end(FILE *out, const struct diff_unit *unit, const struct change *c,
		const char *function)
{
	char words[DIFF_WORDS_BYTES];

	put(out, diff_words(unit, c, words), false);
	if (*function) {
		fputs(", ", out);
		put(out, function, false);
	}
	fputc('\n', out);
}

static void put_verdicts(const struct render_input *in, const struct diff_unit *unit,
			 FILE *out)
{
	const struct diff_verdicts *v = in->verdicts;
	size_t nr = 0;

	for (size_t i = 0; v && i < v->nr && nr < MAX_NOTICES; i++) {
		const struct diff_verdict *verdict = &v->items[i];

		if (!verdict->is_exceeded)
			continue;
		nr++;
		begin(out, "error", verdict->path, verdict->line);
		put(out, verdict->rule->subject, false);
		fprintf(out,
			" grew by more than %.3g %%25: ", 100 * verdict->rule->growth);
		end(out, unit, &verdict->change, verdict->function);
	}
}

/* GitHub shows the code after, in which the line may be gone. */
static void put_line(const struct diff_line *line, const struct diff_unit *unit,
		     FILE *out)
{
	begin(out, "notice", line->path, line->line[DIFF_AFTER]);
	if (!line->line[DIFF_AFTER])
		fprintf(out, "line %" PRIu32 " before: ", line->line[DIFF_BEFORE]);
	end(out, unit, &line->self, line->function);
}

int render_diff_github(const struct render_input *in, const struct render_options *opts,
		       FILE *out)
{
	const struct profile_diff *d = in->diff;
	struct diff_unit unit = diff_unit_of(d);
	size_t nr = d->nr_significant_lines, room = MAX_NOTICES;
	char measure[DIFF_WORDS_BYTES];

	put_verdicts(in, &unit, out);
	if (d->whole.is_significant) {
		begin(out, "notice", "", 0);
		put(out, diff_measure(d, measure), false);
		fputs(": ", out);
		end(out, &unit, &d->whole, "");
		room--;
	}
	if (opts->limit && opts->limit < room)
		room = opts->limit;
	for (size_t i = 0; i < nr && i < room; i++)
		put_line(&d->lines[i], &unit, out);
	return render_finish(out);
}
