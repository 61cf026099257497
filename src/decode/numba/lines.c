// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of a real prange body (par.py; psum() begins at line 28, its loop is line 30),
 * as numba 0.68 generates them, in order of address:
 *
 *   <string>:2     generated: gets the thread's number
 *   <string>:3     generated: the thread's part of a reduction
 *   <string>:4     generated: for i in range(...)
 *   <string>:31    value = ((7 * ts[i]) + 1) / 9
 *   <string>:33      value = value * 1.0001 + 0.1
 *   <string>:0       ...
 *   <string>:4     generated: the loop again
 *   <string>:6     generated: passes the result of the reduction on
 *
 * psum() itself has rows for lines 28, 30 and 36.
 */
#include "decode/numba/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/search.h"
#include "decode/numba/name.h"

/* Maximum number of lines without code (comments, unused code) within one function. */
#define MAX_GAP 50

/** Is @path compiled text, "<string>" or "<dynamic>", in any directory? */
static bool numba_lines_is_text(const char *path)
{
	const char *name = path_basename(path);

	return !strcmp(name, "<string>") || !strcmp(name, "<dynamic>");
}

static struct function_row *row_at(const struct line_store *s,
				   const struct function_lines *f, uint32_t i)
{
	return &s->rows[f->first_row + i];
}

/* Returns the outermost frame, that of the function itself; NULL: none. */
static struct frame *outer_of(const struct line_store *s, const struct function_row *row)
{
	return row->nr_frames ? &s->frames[row->first_frame + row->nr_frames - 1] : NULL;
}

static struct frame *inner_of(const struct line_store *s, const struct function_row *row)
{
	return row->nr_frames ? &s->frames[row->first_frame] : NULL;
}

/*
 * Returns the file of the function: where something was inlined, the caller's file is
 * certain; if nothing was, the file of the first row with a line.
 */
static const char *file_of(const struct line_store *s, const struct function_lines *f)
{
	const char *first = "";

	for (uint32_t i = 0; i < f->nr_rows; i++) {
		const struct function_row *row = row_at(s, f, i);
		const struct frame *outer = outer_of(s, row);

		if (row->nr_frames > 1 && *outer->file)
			return outer->file;
		if (row->nr_frames == 1 && !row->unlined && !*first)
			first = outer->file;
	}
	return first;
}

/* ---- Rule 1: code with line 0 ---- */

/*
 * Is the line of the row one of another function? For code with line 0 the reader gives
 * the line of the row before, which may be of another function, or the line of the call
 * at which it was inlined, which is right. Also, the last bytes of inlined code may lie
 * outside of its range.
 */
static bool is_borrowed(const struct function_row *row, const struct frame *outer,
			const struct frame *before, const char *file, bool numba)
{
	if (row->nr_frames != 1)
		return false;
	if (numba && *file && outer->file != file)
		return true;
	return row->unlined && (!outer->line || (before && before->line == outer->line &&
						 before->file == outer->file));
}

void numba_lines_settle(struct line_store *s, const struct function_lines *f, bool numba)
{
	const char *file = file_of(s, f);
	const struct frame *before = NULL; /* innermost, of the last own line */
	uint32_t line = 0; /* last line of the function itself */

	for (uint32_t i = 0; i < f->nr_rows; i++) {
		struct function_row *row = row_at(s, f, i);
		struct frame *outer = outer_of(s, row);
		bool borrowed;

		if (!outer)
			continue;
		borrowed = is_borrowed(row, outer, before, file, numba);
		if (!row->unlined && !borrowed)
			before = inner_of(s, row);
		if (borrowed) {
			outer->file = file;
			outer->line = line;
			row->miss = line ? MISS_NONE : MISS_NO_LINE;
		} else if (outer->line) {
			line = outer->line;
		}
	}
}

/* ---- Rule 3: bodies of prange ---- */

struct prange {
	const struct numba_parent *parent;
	uint32_t start; /* of the parent: decl_line, or its lowest line with code */
	uint32_t last; /* last line that may belong to the parent */
	uint32_t header; /* line of the prange; 0: not certain */
	uint32_t own_last; /* last line that the generated loop may have */
};

static int compare_lines(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts and deduplicates. Returns the number left. */
static size_t sort_lines(uint32_t *lines, size_t nr)
{
	size_t kept = 0;

	qsort(lines, nr, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < nr; i++)
		if (!kept || lines[kept - 1] != lines[i])
			lines[kept++] = lines[i];
	return kept;
}

/* Collects the function's own lines in @file. @ret has room for one per row. */
static size_t lines_of(const struct line_store *s, const struct function_lines *f,
		       const char *file, uint32_t *ret)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < f->nr_rows; i++) {
		const struct frame *outer = outer_of(s, row_at(s, f, i));

		if (outer && outer->line && outer->file == file)
			ret[nr++] = outer->line;
	}
	return sort_lines(ret, nr);
}

/* Is it a frame of a prange body? That may be inlined into the loop that calls it. */
static bool is_body(const struct frame *f)
{
	return numba_name_parfor(f->function) ||
	       (!*f->function && numba_lines_is_text(f->file));
}

/* Like lines_of(), for a prange body and whatever file its lines have. */
static size_t lines_of_body(const struct line_store *s, const struct function_lines *f,
			    uint32_t *ret)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < f->nr_rows; i++) {
		const struct function_row *row = row_at(s, f, i);

		for (uint32_t k = 0; k < row->nr_frames; k++) {
			const struct frame *frame = &s->frames[row->first_frame + k];

			if (is_body(frame)) {
				ret[nr++] = frame->line;
				break;
			}
		}
	}
	return sort_lines(ret, nr);
}

static uint32_t decl_line_of(const struct line_store *s, const struct function_lines *f)
{
	for (uint32_t i = 0; i < f->nr_rows; i++) {
		const struct frame *outer = outer_of(s, row_at(s, f, i));

		if (outer && outer->start_line)
			return outer->start_line;
	}
	return 0;
}

int numba_parent_read(struct numba_parent *p, const struct line_store *s,
		      const struct function_lines *f)
{
	uint32_t *lines = calloc(f->nr_rows + 1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	p->file = file_of(s, f);
	p->decl_line = decl_line_of(s, f);
	p->lines = lines;
	p->nr = lines_of(s, f, p->file, lines);
	return 0;
}

void numba_parent_deinit(struct numba_parent *p)
{
	free(p->lines);
	*p = (struct numba_parent){0};
}

/*
 * Finds the line of the prange.
 * @at_body  lines of the body, ascending
 *
 * The parent calls the body in that line, so the line has code in the parent. It is
 * certain only if it is the body's first line or the line before: otherwise a statement
 * between them that left no code could be the loop as well.
 */
static void find_header(struct prange *p, const uint32_t *at_body, size_t nr_body)
{
	const uint32_t *at_parent = p->parent->lines;
	uint32_t first = 0, header;
	size_t above;

	for (size_t i = 0; i < nr_body && !first; i++)
		if (at_body[i] > p->start && at_body[i] > p->own_last &&
		    at_body[i] <= p->last)
			first = at_body[i];
	above = SEARCH_FIRST(i, p->parent->nr, at_parent[i] > first);
	header = above ? at_parent[above - 1] : 0;
	if (header > p->start && header + 1 >= first)
		p->header = header;
}

static void find_last(struct prange *p, const uint32_t *at_body, size_t nr_body)
{
	p->last = p->parent->lines[p->parent->nr - 1];
	for (size_t i = 0; i < nr_body && at_body[i] <= p->last + MAX_GAP; i++)
		if (at_body[i] > p->last)
			p->last = at_body[i];
}

/* Return: false if the parent has no lines in the user's file. */
static bool find_prange(struct prange *p, const uint32_t *at_body, size_t nr_body,
			int nr_args)
{
	const struct numba_parent *parent = p->parent;

	if (!parent->nr || numba_lines_is_text(parent->file))
		return false;
	/* Without debug info: the lowest line is mostly the def, and never above it. */
	p->start = parent->decl_line ? parent->decl_line : parent->lines[0];
	/*
	 * The generated text is the def, one line for each tuple made of arguments,
	 * with reductions one line for the thread's number and one for each reduction,
	 * then the loop, rarely of more than one dimension. The first argument is the
	 * range.
	 */
	p->own_last = nr_args < 0 ? MAX_GAP : (uint32_t)nr_args + 3;
	find_last(p, at_body, nr_body);
	find_header(p, at_body, nr_body);
	return true;
}

/*
 * @before  the user's line of the row before; 0: none
 * Return: the user's line, 0: not certain
 */
static uint32_t users_line(const struct prange *p, uint32_t line, uint32_t before)
{
	if (!line)
		return 0;
	if (line <= p->start)
		return p->header; /* the loop around the body */
	if (line > p->last) /* of Numba's files: part of the line before */
		return before ? before : p->header;
	if (line <= p->own_last && line > p->header)
		return 0; /* the user's line, or one of the generated text */
	return line;
}

static void rewrite_row(struct line_store *s, struct function_row *row,
			const struct prange *p, const char *function, uint32_t *before)
{
	for (uint32_t k = 0; k < row->nr_frames; k++) {
		struct frame *f = &s->frames[row->first_frame + k];
		bool text = numba_lines_is_text(f->file);

		if (!is_body(f))
			continue;
		f->function = function;
		f->start_line = p->parent->decl_line;
		if (!text) /* it already has the user's file */
			continue;
		f->line = users_line(p, f->line, *before);
		f->file = p->parent->file;
		if (f->line)
			*before = f->line;
	}
}

int numba_lines_prange(struct line_store *s, const struct function_lines *body,
		       const struct numba_parent *parent, const char *symbol,
		       const char *name)
{
	_cleanup_free_ uint32_t *at_body = calloc(body->nr_rows + 1, sizeof(uint32_t));
	struct prange p = {.parent = parent};
	uint32_t before = 0;

	if (!at_body)
		return -ENOMEM;
	if (!find_prange(&p, at_body, lines_of_body(s, body, at_body),
			 numba_name_nr_args(symbol)))
		return 0;
	for (uint32_t i = 0; i < body->nr_rows; i++)
		rewrite_row(s, row_at(s, body, i), &p, name, &before);
	return 0;
}

/* ---- Rule 2: generated functions ---- */

/*
 * Lines of code that Numba generated have no user source line. Numba's own debug info
 * gives the body of a prange no file, and an array expression line 1 of the user's
 * file; a line of the user comes from lineburn's hook.
 */
static bool is_generated_line(const struct frame *f, const char *name)
{
	if (numba_lines_is_text(f->file))
		return true;
	return f->line <= 1 && numba_name_is_generated(name);
}

static void drop_in_row(struct line_store *s, struct function_row *row,
			const char *symbol)
{
	struct frame *frames = inner_of(s, row);
	uint32_t nr = 0;

	for (uint32_t k = 0; k < row->nr_frames; k++) {
		bool outermost = k + 1 == row->nr_frames;
		struct frame frame = frames[k];
		const char *name = outermost && !*frame.function ? symbol
								 : frame.function;

		if (is_generated_line(&frame, name)) {
			frame.line = 0;
			frame.file = "";
		}
		/* Drop frames without a line unless something was inlined into them. */
		if (frame.line || outermost || (nr && *frame.file))
			frames[nr++] = frame;
	}
	row->nr_frames = nr;
	frames[nr - 1].inlined = false;
	if (frames[0].line)
		row->miss = MISS_NONE;
	else if (row->miss == MISS_NONE)
		row->miss = MISS_NO_LINE;
}

void numba_lines_drop_generated(struct line_store *s, const struct function_lines *f,
				const char *symbol)
{
	for (uint32_t i = 0; i < f->nr_rows; i++)
		if (row_at(s, f, i)->nr_frames)
			drop_in_row(s, row_at(s, f, i), symbol);
}
