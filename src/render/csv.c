// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CSV (RFC 4180, but with the line ends of this system's text files), of report:
 *
 *  function,object,file,start_line,self_samples,self_cpu_ns,total_samples,total_cpu_ns
 *  "dither_row","dither","/home/me/dither.c",41,3067,30982323232,4927,49772727270
 *
 * and of annotate, for each line with samples:
 *
 *  file,line,function,self_percent,total_percent,self_samples,self_cpu_ns,...
 *  "/home/me/dither.c",47,"dither_row",34.90,62.11,3067,30982323232,...
 *
 * Texts are always quoted, and escaped as for a terminal, because names are untrusted.
 */
#include <inttypes.h>

#include "base/escape.h"
#include "render/figure.h"
#include "render/render.h"

#define MAX_TEXT_BYTES 16384

/* Prints a text, doubling its quotes. */
static void put_text(FILE *out, const char *text)
{
	char escaped[MAX_TEXT_BYTES];

	fputc('"', out);
	escape_terminal_buf(escaped, sizeof(escaped), text);
	for (const char *c = escaped; *c; c++) {
		if (*c == '"')
			fputc('"', out);
		fputc(*c, out);
	}
	fputc('"', out);
}

int render_report_csv(const struct render_input *in, const struct render_options *opts,
		      FILE *out)
{
	const struct attribution *a = in->attribution;

	fputs("function,object,file,start_line,self_samples,self_cpu_ns,total_samples,"
	      "total_cpu_ns\n",
	      out);
	for (size_t i = 0; i < a->nr_functions && render_has_rank(opts, i); i++) {
		const struct attribution_function *f = &a->functions[i];

		put_text(out, f->name);
		fputc(',', out);
		put_text(out, f->object);
		fputc(',', out);
		put_text(out, f->file);
		fprintf(out,
			",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			f->start_line, f->self.samples, f->self.cpu_ns, f->total.samples,
			f->total.cpu_ns);
	}
	return render_finish(out);
}

int render_annotate_csv(const struct render_input *in, const struct render_options *opts,
			FILE *out)
{
	const struct attribution *a = in->attribution;

	fputs("file,line,function,self_percent,total_percent,self_samples,self_cpu_ns,"
	      "total_samples,total_cpu_ns\n",
	      out);
	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *f = &a->files[i];

		for (size_t j = 0; render_has_file(opts, f->path) && j < f->nr_lines;
		     j++) {
			const struct attribution_line *l = &f->lines[j];

			if (l->no_code || l->left_out)
				continue;
			put_text(out, f->path);
			fprintf(out, ",%" PRIu32 ",", l->line);
			put_text(out, l->function);
			fprintf(out,
				",%.2f,%.2f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
				"\n",
				100 * share_of(a, &l->self), 100 * share_of(a, &l->total),
				l->self.samples, l->self.cpu_ns, l->total.samples,
				l->total.cpu_ns);
		}
	}
	return render_finish(out);
}
