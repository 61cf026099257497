// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/hit_codes.h"

#include <errno.h>

#include "decode/numba/name.h"

#define MAX_PRANGE_LINES 4096 /* of one function; a longer one is left out */

/* The bytes of [start, end) in the image; NULL: it has none. */
static const uint8_t *bytes_of(const struct jit_image *m, uint64_t start_ip,
			       uint64_t end_ip)
{
	struct image_code code[IMAGE_MAX_CODE];
	size_t nr = image_code(m, code);

	for (size_t i = 0; i < nr; i++)
		if (code[i].bytes && code[i].start_ip <= start_ip &&
		    end_ip <= code[i].end_ip)
			return code[i].bytes + (start_ip - code[i].start_ip);
	return NULL;
}

static struct code_row make_row(uint64_t address, const struct frame *f)
{
	return (struct code_row){.address = address,
				 .function = f->function,
				 .system_name = f->system_name,
				 .file = f->file,
				 .line = f->line,
				 .start_line = f->start_line};
}

static bool same_frames(const struct line_store *s, const struct function_row *a,
			const struct function_row *b)
{
	const struct frame *x, *y;

	if (a->nr_frames != b->nr_frames || !a->nr_frames)
		return a->nr_frames == b->nr_frames;
	x = &s->frames[a->first_frame];
	y = &s->frames[b->first_frame];
	for (uint32_t i = 0; i < a->nr_frames; i++)
		if (x[i].line != y[i].line || x[i].file != y[i].file ||
		    x[i].function != y[i].function)
			return false;
	return true;
}

/*
 * Rows of one place: first those of the calls that it was inlined by, of no length,
 * then its own. Return: how many; @ret has room for one a frame, or for one.
 */
static size_t rows_at(const struct line_store *s, const struct function_row *row,
		      struct code_row *ret)
{
	static const struct frame none = {.function = "", .system_name = "", .file = ""};
	const struct frame *frames = row->nr_frames ? &s->frames[row->first_frame]
						    : &none;
	size_t nr = 0;

	for (uint32_t k = row->nr_frames; k > 1; k--)
		if (frames[k - 1].line)
			ret[nr++] = make_row(row->ip, &frames[k - 1]);
	ret[nr++] = make_row(row->ip, &frames[0]);
	return nr;
}

/* Room that rows_at() may need for all of @f. */
static size_t max_rows(const struct line_store *s, const struct function_lines *f)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < f->nr_rows; i++)
		nr += s->rows[f->first_row + i].nr_frames + 1U;
	return nr;
}

/* The frame of the function itself at its @i-th row; NULL: it has no line there. */
static const struct frame *own_frame(const struct line_store *s,
				     const struct function_lines *f, uint32_t i)
{
	const struct function_row *row = &s->rows[f->first_row + i];
	const struct frame *frame;

	if (!row->nr_frames)
		return NULL;
	frame = &s->frames[row->first_frame + row->nr_frames - 1];
	return frame->line ? frame : NULL;
}

/*
 * The lines of a prange have their code in another function, which need not have been
 * hit. So of no line between the function's first and last is it said that it has none.
 * Return: how many rows of no length were added at the end; none if there is no room.
 */
static size_t claim_all_lines(const struct line_store *s, const struct function_lines *f,
			      struct code_row *ret, size_t room)
{
	const struct frame *first = NULL;
	uint32_t low = UINT32_MAX, high = 0;
	size_t nr = 0;

	for (uint32_t i = 0; i < f->nr_rows; i++) {
		const struct frame *own = own_frame(s, f, i);

		if (!own || (first && own->file != first->file))
			continue;
		first = first ? first : own;
		low = own->line < low ? own->line : low;
		high = own->line > high ? own->line : high;
	}
	if (low > high || high - low > room)
		return 0;
	for (uint32_t line = low; line < high; line++) {
		ret[nr] = make_row(f->end_ip, first);
		ret[nr++].line = line;
	}
	return nr;
}

int hit_codes_add(struct answer_writer *answers, const struct hit_functions *h,
		  const struct hit_function *f)
{
	bool has_prange = h->objects[f->object].has_pranges &&
			  !numba_name_parfor(f->symbol);
	size_t room = max_rows(&h->store, &f->lines);
	_cleanup_free_ struct code_row *rows = NULL;
	struct code code = {.address = f->lines.start_ip,
			    .size_bytes = f->lines.end_ip - f->lines.start_ip};
	const struct function_row *before = NULL;
	bool any = false;

	if (!f->lines.nr_rows || code.size_bytes > CODE_MAX_BYTES || !*f->symbol)
		return 0;
	rows = calloc(room + (has_prange ? MAX_PRANGE_LINES : 0), sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->lines.nr_rows; i++) {
		const struct function_row *row = &h->store.rows[f->lines.first_row + i];

		if (before && same_frames(&h->store, before, row))
			continue;
		code.nr_rows += rows_at(&h->store, row, &rows[code.nr_rows]);
		any |= row->miss == MISS_NONE;
		before = row;
	}
	if (!any)
		return 0;
	if (has_prange) {
		size_t nr = claim_all_lines(&h->store, &f->lines, &rows[code.nr_rows],
					    MAX_PRANGE_LINES);

		if (!nr)
			return 0;
		code.nr_rows += nr;
	}
	code.rows = rows;
	code.bytes = bytes_of(&h->objects[f->object].image, f->lines.start_ip,
			      f->lines.end_ip);
	answer_add_code(answers, &code);
	return 0;
}
