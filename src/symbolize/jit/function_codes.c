// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/jit/function_codes.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t *bytes_of(const struct image *m, const struct function_lines *f)
{
	struct image_code code[IMAGE_MAX_CODE];
	size_t nr = image_code(m, code);

	for (size_t i = 0; i < nr; i++)
		if (code[i].bytes && f->start_ip >= code[i].start_ip &&
		    f->end_ip <= code[i].end_ip)
			return code[i].bytes + (f->start_ip - code[i].start_ip);
	return NULL;
}

static struct code_row row_of(uint64_t ip, const struct frame *frame)
{
	return (struct code_row){
		.address = ip,
		.function = frame->function ? frame->function : "",
		.system_name = frame->system_name ? frame->system_name : "",
		.file = frame->file ? frame->file : "",
		.line = frame->line,
		.start_line = frame->start_line,
	};
}

static bool is_same(const struct code_row *a, const struct code_row *b)
{
	return a->line == b->line && a->start_line == b->start_line &&
	       !strcmp(a->function, b->function) &&
	       !strcmp(a->system_name, b->system_name) && !strcmp(a->file, b->file);
}

/* Chain of frames that the last row had; nr 0 at first. */
struct chain {
	const struct frame *frames;
	uint32_t nr;
};

static bool is_same_chain(const struct chain *a, const struct chain *b)
{
	if (a->nr != b->nr)
		return false;
	for (uint32_t i = 0; i < a->nr; i++) {
		struct code_row x = row_of(0, &a->frames[i]),
				y = row_of(0, &b->frames[i]);

		if (!is_same(&x, &y))
			return false;
	}
	return true;
}

/*
 * The innermost frame with a line last: it is what the code counts for. Those that
 * it was inlined into are rows of no length before it.
 */
static size_t add_rows(struct code_row *rows, size_t nr, uint64_t ip,
		       const struct chain *chain)
{
	uint32_t innermost = 0;

	while (innermost < chain->nr && !chain->frames[innermost].line)
		innermost++;
	if (innermost == chain->nr) {
		if (nr < CODE_MAX_ROWS)
			rows[nr] = row_of(ip, &chain->frames[0]);
		return nr + 1;
	}
	for (uint32_t i = chain->nr; i > innermost; i--) {
		if (!chain->frames[i - 1].line)
			continue;
		if (nr < CODE_MAX_ROWS)
			rows[nr] = row_of(ip, &chain->frames[i - 1]);
		nr++;
	}
	return nr;
}

void function_codes_add(struct answer_writer *answers, const struct image *m,
			const struct line_store *s, const struct function_lines *f)
{
	_cleanup_free_ struct code_row *rows = NULL;
	struct code code = {.address = f->start_ip,
			    .size_bytes = f->end_ip - f->start_ip};
	struct chain last = {0};

	if (!f->nr_rows || code.size_bytes > CODE_MAX_BYTES)
		return;
	rows = calloc(CODE_MAX_ROWS, sizeof(*rows));
	if (!rows)
		return;
	for (uint32_t i = 0; i < f->nr_rows && code.nr_rows <= CODE_MAX_ROWS; i++) {
		const struct line_row *row = &s->rows[f->first_row + i];
		const struct chain chain = {&s->frames[row->first_frame], row->nr_frames};

		if (!chain.nr || is_same_chain(&chain, &last))
			continue;
		code.nr_rows = add_rows(rows, code.nr_rows, row->ip, &chain);
		last = chain;
	}
	if (!code.nr_rows || code.nr_rows > CODE_MAX_ROWS)
		return;
	code.rows = rows;
	code.bytes = bytes_of(m, f);
	answer_add_code(answers, &code);
}
