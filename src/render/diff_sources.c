// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/diff_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "render/page_data.h"
#include "render/page_json.h"

#define MAX_CONTEXT 15 /* lines of text around one with a figure */
#define WHOLE_BYTES (24u << 10) /* files up to this size are whole */

/* ---- rows ---- */

struct rows {
	const struct diff_file *file;
	struct diff_row *items;
	size_t nr, cap;
	uint32_t *back; /* by line of AFTER - 1: its partner; 0: none */
	bool failed;
};

static const char *text_of(const struct diff_file *f, enum diff_side s, size_t line)
{
	return line && line <= f->text[s].nr ? f->text[s].lines[line - 1] : NULL;
}

static void add_row(struct rows *r, struct diff_row row)
{
	if (vec_grow(&r->items, &r->cap, r->nr + 1, sizeof(row), 0))
		r->failed = true;
	else
		r->items[r->nr++] = row;
}

/* Adds a line that has no place beside one of the other side. */
static void add_single(struct rows *r, enum diff_side s, uint32_t line, uint32_t partner)
{
	struct diff_row row = {.other = partner};

	if (!text_of(r->file, s, line))
		return;
	row.line[s] = line;
	row.kind = partner             ? DIFF_ROW_MOVED
		   : r->file->is_whole ? DIFF_ROW_ALONE
				       : DIFF_ROW_UNKNOWN;
	add_row(r, row);
}

/* Adds the lines of AFTER from @line up to @end, which follows them. */
static void add_after(struct rows *r, uint32_t line, size_t end)
{
	for (; line < end; line++)
		add_single(r, DIFF_AFTER, line, r->back ? r->back[line - 1] : 0);
}

static void align(struct rows *r)
{
	const struct diff_file *f = r->file;
	uint32_t next = 1; /* line of AFTER */

	for (uint32_t line = 1; line <= f->text[DIFF_BEFORE].nr; line++) {
		struct line_partner partner = {0};

		if (f->partners)
			partner = f->partners[line - 1];
		if ((partner.match != LINE_SAME && partner.match != LINE_CHANGED) ||
		    partner.line < next) {
			add_single(r, DIFF_BEFORE, line, partner.line);
			continue;
		}
		add_after(r, next, partner.line);
		next = partner.line + 1;
		add_row(r, (struct diff_row){.line = {line, partner.line},
					     .kind = partner.match == LINE_SAME
							     ? DIFF_ROW_SAME
							     : DIFF_ROW_CHANGED});
	}
	add_after(r, next, f->text[DIFF_AFTER].nr + 1);
}

int diff_rows_of(const struct diff_file *f, struct diff_row **ret, size_t *ret_nr)
{
	_cleanup_free_ uint32_t *back = calloc(f->text[DIFF_AFTER].nr + 1, sizeof(*back));
	struct rows r = {.file = f, .back = back};

	if (!back)
		return -ENOMEM;
	for (uint32_t i = 0; f->partners && i < f->text[DIFF_BEFORE].nr; i++)
		if (f->partners[i].line)
			back[f->partners[i].line - 1] = i + 1;
	align(&r);
	if (r.failed) {
		free(r.items);
		return -ENOMEM;
	}
	*ret = r.items;
	*ret_nr = r.nr;
	return 0;
}

/* ---- which rows a page has ---- */

/* The lines with figures of one file, as a list. */
struct figured {
	uint32_t *first; /* by file: index of a line + 1 */
	uint32_t *next; /* by line: same */
};

static int list_figured(const struct profile_diff *d, size_t nr_lines,
			struct figured *ret)
{
	_cleanup_(tally_deinit) struct tally numbers = {0};

	ret->first = calloc(d->nr_files + 1, sizeof(*ret->first));
	ret->next = calloc(nr_lines + 1, sizeof(*ret->next));
	if (!ret->first || !ret->next)
		return -ENOMEM;
	for (size_t i = 0; i < d->nr_files; i++)
		if (tally_number(&numbers, tally_key(d->files[i].path), 0) ==
		    PROFILE_NONE)
			return -ENOMEM;
	for (uint32_t i = 0; i < nr_lines; i++) {
		uint32_t file = tally_find(&numbers, tally_key(d->lines[i].path), 0);

		if (file == PROFILE_NONE)
			continue;
		ret->next[i] = ret->first[file];
		ret->first[file] = i + 1;
	}
	return 0;
}

/* The rows of a file, and which of them the page has. */
struct chosen_rows {
	const struct diff_file *file;
	struct diff_row *rows;
	size_t nr;
	uint8_t *has_figure, *is_wanted; /* by row */
	size_t bytes; /* of the wanted texts */
};

static size_t row_bytes(const struct diff_file *f, const struct diff_row *row)
{
	size_t bytes = 16; /* of its numbers */

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		if (row->line[s] && (s == DIFF_AFTER || row->kind != DIFF_ROW_SAME))
			bytes += page_text_bytes(
				text_of(f, (enum diff_side)s, row->line[s]));
	return bytes;
}

/* Marks the rows of lines with figures. Return: 0 or -ENOMEM. */
static int mark_figures(struct chosen_rows *c, const struct profile_diff *d,
			const struct figured *figured, uint32_t first)
{
	const struct diff_file *f = c->file;
	_cleanup_free_ uint8_t *before = calloc(f->text[DIFF_BEFORE].nr + 1, 1);
	_cleanup_free_ uint8_t *after = calloc(f->text[DIFF_AFTER].nr + 1, 1);
	uint8_t *marks[NR_DIFF_SIDES] = {before, after};

	if (!before || !after)
		return -ENOMEM;
	for (uint32_t i = first; i; i = figured->next[i - 1])
		for (int s = 0; s < NR_DIFF_SIDES; s++)
			if (d->lines[i - 1].line[s] <= f->text[s].nr)
				marks[s][d->lines[i - 1].line[s]] = true;
	for (size_t i = 0; i < c->nr; i++)
		for (int s = 0; s < NR_DIFF_SIDES; s++)
			c->has_figure[i] |= c->rows[i].line[s] &&
					    marks[s][c->rows[i].line[s]];
	return 0;
}

/* Wants the rows up to @context away from one with a figure. */
static void want(struct chosen_rows *c, size_t context)
{
	size_t end = 0; /* of the rows that are wanted so far */

	memset(c->is_wanted, 0, c->nr);
	c->bytes = 0;
	for (size_t i = 0; i < c->nr; i++) {
		size_t from = i > context ? i - context : 0;

		if (!c->has_figure[i])
			continue;
		for (size_t k = from > end ? from : end; k <= i + context && k < c->nr;
		     k++) {
			c->is_wanted[k] = true;
			c->bytes += row_bytes(c->file, &c->rows[k]);
			end = k + 1;
		}
	}
}

/* @left  bytes that still fit. Return: false: the rows do not. */
static bool choose(struct chosen_rows *c, size_t left)
{
	size_t all = 0;

	for (size_t i = 0; i < c->nr && all <= WHOLE_BYTES; i++)
		all += row_bytes(c->file, &c->rows[i]);
	want(c, all <= WHOLE_BYTES ? c->nr : MAX_CONTEXT);
	if (c->bytes > left)
		want(c, 1);
	return c->bytes <= left;
}

/* ---- values ---- */

static json_t *row_value(struct json_builder *b, const struct diff_file *f,
			 const struct diff_row *row)
{
	json_t *value = json_array();
	enum diff_side s = row->line[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER;

	json_add(b, value, json_integer(row->line[DIFF_BEFORE]));
	json_add(b, value, json_integer(row->line[DIFF_AFTER]));
	json_add(b, value, json_integer(row->kind));
	json_add(b, value,
		 json_visible(text_of(f, s, row->line[s]), PAGE_MAX_NAME_BYTES));
	if (row->kind == DIFF_ROW_CHANGED)
		json_add(b, value,
			 json_visible(text_of(f, DIFF_AFTER, row->line[DIFF_AFTER]),
				      PAGE_MAX_NAME_BYTES));
	if (row->kind == DIFF_ROW_MOVED)
		json_add(b, value, json_integer(row->other));
	return value;
}

/* @left  bytes of text that still fit; updated */
static json_t *rows_value(struct json_builder *b, const struct profile_diff *d,
			  const struct diff_file *f, const struct figured *figured,
			  size_t *left, bool *ret_left_out)
{
	struct chosen_rows c = {.file = f};
	_cleanup_free_ uint8_t *marks = NULL;
	json_t *rows = json_array();

	if (diff_rows_of(f, &c.rows, &c.nr)) {
		b->failed = true;
		return rows;
	}
	marks = calloc(2 * c.nr + 1, 1);
	c.has_figure = marks;
	c.is_wanted = marks ? marks + c.nr : NULL;
	if (!marks || mark_figures(&c, d, figured, figured->first[f - d->files]))
		b->failed = true;
	else if (!choose(&c, *left))
		*ret_left_out = true;
	else
		*left -= c.bytes;
	for (size_t i = 0; i < c.nr && !*ret_left_out && !b->failed; i++)
		if (c.is_wanted[i])
			json_add(b, rows, row_value(b, f, &c.rows[i]));
	free(c.rows);
	return rows;
}

static json_t *file_value(struct json_builder *b, const struct profile_diff *d,
			  const struct diff_file *f, const struct figured *figured,
			  struct page_texts *paths, size_t *left)
{
	json_t *value = json_object(), *self = json_array();
	bool is_left_out = false;
	bool has_rows = figured->first[f - d->files] &&
			(f->text[DIFF_BEFORE].nr || f->text[DIFF_AFTER].nr);

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		json_add(b, self, json_real(f->self[s]));
	json_set(b, value, "path", page_text_number(b, paths, f->path));
	json_set(b, value, "self", self);
	json_set(b, value, "significant", json_count(f->nr_significant));
	json_set(b, value, "isMixed", json_boolean(f->is_mixed));
	json_set(b, value, "rows",
		 has_rows ? rows_value(b, d, f, figured, left, &is_left_out)
			  : json_array());
	json_set(b, value, "leftOut", json_boolean(is_left_out));
	return value;
}

json_t *diff_sources_value(struct json_builder *b, const struct profile_diff *d,
			   size_t nr_lines, struct page_texts *paths, size_t max)
{
	struct figured figured = {0};
	json_t *files = json_array();
	size_t left = PAGE_MAX_SOURCE_BYTES;

	if (list_figured(d, nr_lines, &figured))
		b->failed = true;
	for (size_t i = 0; i < d->nr_files && i < max && !b->failed; i++)
		json_add(b, files,
			 file_value(b, d, &d->files[i], &figured, paths, &left));
	free(figured.first);
	free(figured.next);
	return files;
}
