// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/line.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "decode/frame.h"

void line_rows_deinit(struct line_rows *r)
{
	for (size_t i = 0; i < r->nr_seen; i++)
		free(r->seen[i].bits);
	free(r->seen);
	free(r->items);
	free(r->pieces);
	*r = (struct line_rows){0};
}

int line_rows_add_piece(struct line_rows *r, uint64_t start, uint64_t end, uint32_t scope)
{
	int err = vec_grow(&r->pieces, &r->cap_pieces, r->nr_pieces + 1,
			   sizeof(*r->pieces), 0);

	if (err)
		return err;
	r->pieces[r->nr_pieces++] =
		(struct line_piece){.start = start, .end = end, .scope = scope};
	return 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct line_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->scope > y->scope) - (x->scope < y->scope);
}

void line_rows_start(struct line_rows *r)
{
	size_t nr = 0;

	if (r->nr_pieces) /* qsort() must not get NULL */
		qsort(r->pieces, r->nr_pieces, sizeof(*r->pieces), compare_pieces);
	for (size_t i = 0; i < r->nr_pieces; i++)
		if (!nr || r->pieces[nr - 1].end <= r->pieces[i].start)
			r->pieces[nr++] = r->pieces[i];
	r->nr_pieces = nr;
}

/* Pays for the bits: a row of a few bytes can have any file and line. */
static bool see(struct line_rows *r, struct debug_file *payer, uint32_t file,
		uint32_t line)
{
	struct line_seen *seen;
	size_t cap = r->cap_seen;

	if (file >= r->nr_seen) {
		if (vec_grow(&r->seen, &r->cap_seen, (size_t)file + 1, sizeof(*r->seen),
			     0) ||
		    !debug_spend(payer, (r->cap_seen - cap) * sizeof(*r->seen)))
			return false;
		r->nr_seen = (size_t)file + 1;
	}
	seen = &r->seen[file];
	cap = seen->cap;
	if (line / 64 >= cap) {
		if (r->seen_bytes + line / 8 > LINE_SEEN_BYTES)
			return true;
		if (vec_grow(&seen->bits, &seen->cap, line / 64 + 1, sizeof(*seen->bits),
			     0))
			return false;
		cap = (seen->cap - cap) * sizeof(*seen->bits);
		r->seen_bytes += cap;
		if (!debug_spend(payer, cap))
			return false;
	}
	seen->bits[line / 64] |= 1ULL << line % 64;
	return true;
}

uint32_t line_rows_next_seen(const struct line_rows *r, uint32_t file, uint32_t line,
			     uint32_t end)
{
	const struct line_seen *seen = file < r->nr_seen ? &r->seen[file] : NULL;

	while (seen && line < end && line / 64 < seen->cap) {
		uint64_t rest = seen->bits[line / 64] >> line % 64;

		if (rest) {
			line += (uint32_t)__builtin_ctzll(rest);
			return line < end ? line : end;
		}
		line = (line / 64 + 1) * 64;
	}
	return end;
}

static void keep(struct line_rows *r, struct address_hit row, size_t i)
{
	struct line_piece *piece = &r->pieces[i];

	if (piece->too_many)
		return;
	if (piece->nr_rows >= CODE_MAX_ROWS || r->nr >= LINE_ROWS_MAX) {
		piece->too_many = true;
		return;
	}
	if (vec_grow(&r->items, &r->cap, r->nr + 1, sizeof(*r->items), 0)) {
		r->failed = true;
		return;
	}
	if (row.vaddr < piece->start)
		row.vaddr = piece->start;
	row.piece = (uint32_t)i;
	row.order = (uint32_t)r->nr;
	r->items[r->nr++] = row;
	piece->nr_rows++;
}

/** Adds a row that covers [row->vaddr, end) to its pieces; sets its piece and order. */
static void line_rows_add(struct line_rows *r, struct debug_file *payer,
			  const struct address_hit *row, uint64_t end)
{
	size_t i = r->next;

	if (end <= row->vaddr || r->failed)
		return;
	if (row->line && row->line < LINE_SEEN_MAX_LINE &&
	    row->file < LINE_SEEN_MAX_FILE && !see(r, payer, row->file, row->line))
		r->failed = true;
	/* Rows are mostly ascending, and in the same piece as the row before. */
	if ((i && r->pieces[i - 1].end > row->vaddr) ||
	    (i < r->nr_pieces && r->pieces[i].end <= row->vaddr))
		i = r->next =
			SEARCH_FIRST(k, r->nr_pieces, r->pieces[k].end > row->vaddr);
	for (; i < r->nr_pieces && r->pieces[i].start < end; i++)
		keep(r, *row, i);
}

static int compare_rows(const void *a, const void *b)
{
	const struct address_hit *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece > y->piece ? 1 : -1;
	if (x->vaddr != y->vaddr)
		return x->vaddr > y->vaddr ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

void line_rows_finish(struct line_rows *r)
{
	size_t at = 0;

	if (r->nr)
		qsort(r->items, r->nr, sizeof(*r->items), compare_rows);
	for (size_t i = 0; i < r->nr_pieces; i++) {
		r->pieces[i].first_row = at;
		at += r->pieces[i].nr_rows;
	}
}

struct line_file {
	struct form_value name; /* strings are looked up when needed */
	uint64_t dir;
	char *path; /* joined on first use */
};

struct line_table {
	const struct unit *unit;
	struct unit strings; /* the unit, with this table's width of offsets */
	uint8_t version, addr_size, min_inst_len, max_ops;
	int8_t line_base;
	uint8_t line_range, opcode_base;
	const uint8_t *opcode_lengths; /* of opcodes 1 .. opcode_base - 1 */
	struct cursor program;
	struct form_value *dirs;
	size_t nr_dirs, cap_dirs;
	struct line_file *files; /* numbered from 1 before DWARF 5: [0] is empty */
	size_t nr_files, cap_files;
};

#define WORK_PER_NAME 16 /* of a directory or a file */

static int add_dir(struct line_table *t, const struct form_value *dir)
{
	int r = vec_grow(&t->dirs, &t->cap_dirs, t->nr_dirs + 1, sizeof(*t->dirs),
			 LINE_MAX_FILES);

	if (r == 0 && !debug_spend(t->unit->file, WORK_PER_NAME))
		r = -EBADMSG;
	if (r < 0)
		return r == -ENOSPC ? -EBADMSG : r;
	t->dirs[t->nr_dirs++] = *dir;
	return 0;
}

static int add_file(struct line_table *t, const struct form_value *name, uint64_t dir)
{
	int r = vec_grow(&t->files, &t->cap_files, t->nr_files + 1, sizeof(*t->files),
			 LINE_MAX_FILES);

	if (r == 0 && !debug_spend(t->unit->file, WORK_PER_NAME))
		r = -EBADMSG;
	if (r < 0)
		return r == -ENOSPC ? -EBADMSG : r;
	t->files[t->nr_files++] = (struct line_file){.name = *name, .dir = dir};
	return 0;
}

/* Reads a string in the table itself. Return: false when it is empty. */
static bool read_text(struct cursor *c, struct form_value *ret)
{
	struct bytes text = cursor_str(c);

	*ret = (struct form_value){
		.form = DW_FORM_string, .block = text.data, .u = text.len};
	return text.len;
}

/* Reads directories and files of DWARF 2 to 4: strings, ended by an empty one. */
static int read_names_2(struct line_table *t, struct cursor *c)
{
	struct form_value name = {0};
	uint64_t dir;
	int r = add_dir(t, &name); /* number 0 is the compilation directory */

	while (r == 0 && read_text(c, &name))
		r = add_dir(t, &name);
	if (r == 0)
		r = add_file(t, &(struct form_value){0}, 0);
	while (r == 0 && read_text(c, &name)) {
		dir = cursor_uleb(c);
		cursor_uleb(c); /* time of modification */
		cursor_uleb(c); /* length */
		r = add_file(t, &name, dir);
	}
	return r;
}

/* Reads one list of DWARF 5: description of the entries, their number, the entries. */
static int read_list_5(struct line_table *t, struct cursor *c, bool is_files)
{
	struct abbrev_attr formats[UINT8_MAX];
	uint8_t nr_formats = cursor_u8(c);
	uint64_t count;
	int r = 0;

	for (uint8_t i = 0; i < nr_formats; i++) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);

		formats[i] = (struct abbrev_attr){
			.name = name > UINT16_MAX ? 0 : (uint16_t)name,
			.form = form > UINT16_MAX ? 0 : (uint16_t)form,
		};
		formats[i].size = form_fixed_size(formats[i].form, t->strings.widths);
	}
	count = cursor_uleb(c);
	if (c->failed || count > cursor_left(c)) /* an entry has at least one byte */
		return -EBADMSG;
	for (uint64_t n = 0; n < count && r == 0 && !c->failed; n++) {
		struct form_value path = {0}, v;
		uint64_t dir = 0;

		if (!debug_spend(t->unit->file, nr_formats))
			return -EBADMSG;
		for (uint8_t i = 0; i < nr_formats; i++) {
			form_read(c, &formats[i], t->strings.widths, &v);
			if (formats[i].name == DW_LNCT_path)
				path = v;
			else if (formats[i].name == DW_LNCT_directory_index)
				dir = form_number(&v);
		}
		r = is_files ? add_file(t, &path, dir) : add_dir(t, &path);
	}
	return r;
}

static int read_header(struct line_table *t, struct cursor *c)
{
	uint64_t len = cursor_initial_length(c, &t->strings.widths.offset_size);
	struct cursor names;
	int r;

	c->end = c->p + len;
	t->version = cursor_version(c);
	t->addr_size = t->unit->widths.addr_size;
	if (t->version < 2 || t->version > 5)
		return -EBADMSG;
	if (t->version == 5) {
		t->addr_size = cursor_u8(c);
		cursor_u8(c); /* size of segment selectors */
	}
	len = cursor_uint(c, t->strings.widths.offset_size);
	if (c->failed || len > cursor_left(c))
		return -EBADMSG;
	t->program = (struct cursor){.p = c->p + len, .end = c->end};
	names = (struct cursor){.p = c->p, .end = c->p + len};
	t->min_inst_len = cursor_u8(&names);
	t->max_ops = t->version >= 4 ? cursor_u8(&names) : 1;
	cursor_u8(&names); /* default_is_stmt */
	t->line_base = (int8_t)cursor_u8(&names);
	t->line_range = cursor_u8(&names);
	t->opcode_base = cursor_u8(&names);
	t->opcode_lengths = names.p;
	cursor_skip(&names, t->opcode_base ? t->opcode_base - 1U : 0);
	if (names.failed || !t->line_range || !t->opcode_base)
		return -EBADMSG;
	/* Before it is read: any number of units can have one table, valid or not. */
	if (!debug_spend(t->unit->file, len + cursor_left(&t->program)))
		return -EBADMSG;
	if (t->version < 5)
		return read_names_2(t, &names);
	r = read_list_5(t, &names, false);
	return r ? r : read_list_5(t, &names, true);
}

int line_table_open(const struct unit *unit, struct line_table **ret)
{
	_cleanup_(line_table_freep) struct line_table *t = NULL;
	struct cursor c;
	int r;

	if (!unit->has_stmt_list)
		return -ENODATA;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->unit = unit;
	t->strings = *unit;
	c = cursor_at(debug_file_section(unit->file, DEBUG_LINE), unit->stmt_list);
	r = c.failed ? -EBADMSG : read_header(t, &c);
	if (r < 0)
		return r;
	*ret = take_ptr(t);
	return 0;
}

void line_table_free(struct line_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_files; i++)
		free(t->files[i].path);
	free(t->files);
	free(t->dirs);
	free(t);
}

/* The registers of the state machine that are needed. */
struct line_state {
	uint64_t vaddr;
	uint64_t file;
	uint32_t op_index;
	uint32_t line;
	bool end_sequence;
};

/* Progress of the current sequence through the hits. */
struct line_walk {
	struct address_hit *hits;
	size_t nr, next; /* hits[next]: the first at or above the last row */
	struct line_state last; /* the last row */
	uint32_t near_file, near_line;
	bool in_sequence, is_code;
	struct line_rows *rows; /* NULL: only the hits are wanted */
	dwarf_row_fn row; /* NULL: not called */
	void *row_ctx;
};

static size_t first_at(const struct line_walk *w, uint64_t vaddr)
{
	return SEARCH_FIRST(i, w->nr, w->hits[i].vaddr >= vaddr);
}

static uint32_t small_file(const struct line_state *s)
{
	return s->file > UINT32_MAX ? 0 : (uint32_t)s->file;
}

/*
 * Gives the last row to @hit. If two sequences cover an address (of folded or dropped
 * code), the nearest row is taken.
 */
static void take_row(const struct line_walk *w, struct address_hit *hit)
{
	if (hit->has_row && hit->row_vaddr >= w->last.vaddr)
		return;
	hit->has_row = true;
	hit->row_vaddr = w->last.vaddr;
	hit->file = small_file(&w->last);
	hit->line = w->last.line;
	hit->near_file = w->near_file;
	hit->near_line = w->near_line;
}

/* Collects the last row, which covers the code up to @end. */
static void gather_row(const struct line_walk *w, struct debug_file *payer, uint64_t end)
{
	struct address_hit row = {.vaddr = w->last.vaddr};

	take_row(w, &row);
	if (w->is_code)
		line_rows_add(w->rows, payer, &row, end);
}

static void emit_row(const struct line_table *t, struct line_walk *w,
		     const struct line_state *s)
{
	bool first = !w->in_sequence;

	if (first) {
		w->in_sequence = true;
		w->is_code = debug_file_is_code(t->unit->file, s->vaddr);
		w->near_line = 0;
		w->next = first_at(w, s->vaddr);
	} else if (s->vaddr < w->last.vaddr) {
		w->next = first_at(w, s->vaddr);
	}
	for (; w->next < w->nr && w->hits[w->next].vaddr < s->vaddr; w->next++)
		if (w->is_code)
			take_row(w, &w->hits[w->next]);
	if (w->rows && !first)
		gather_row(w, t->unit->file, s->vaddr);
	w->last = *s;
	if (w->row && w->is_code && !s->end_sequence)
		w->row(w->row_ctx, s->vaddr, s->line);
	if (s->line) {
		w->near_line = s->line;
		w->near_file = small_file(s);
	}
}

static const struct line_state first_state = {.file = 1, .line = 1};

static void advance(const struct line_table *t, struct line_state *s, uint64_t ops)
{
	if (t->max_ops <= 1) {
		s->vaddr += t->min_inst_len * ops;
		return;
	}
	ops += s->op_index;
	s->vaddr += t->min_inst_len * (ops / t->max_ops);
	s->op_index = (uint32_t)(ops % t->max_ops);
}

static int extended_opcode(struct line_table *t, struct line_walk *w,
			   struct line_state *s, struct cursor *c)
{
	uint64_t len = cursor_uleb(c);
	struct cursor args;
	struct form_value name;

	args = cursor_block(c, len);
	if (c->failed || !len)
		return -EBADMSG;
	switch (cursor_u8(&args)) {
	case DW_LNE_end_sequence:
		s->end_sequence = true;
		emit_row(t, w, s);
		w->in_sequence = false;
		*s = first_state;
		break;
	case DW_LNE_set_address:
		if (len - 1 > 8)
			return -EBADMSG;
		s->vaddr = cursor_uint(&args, (unsigned int)(len - 1));
		s->op_index = 0;
		break;
	case DW_LNE_define_file:
		read_text(&args, &name);
		return add_file(t, &name, cursor_uleb(&args));
	}
	return 0;
}

static void standard_opcode(const struct line_table *t, struct line_walk *w,
			    struct line_state *s, uint8_t opcode, struct cursor *c)
{
	switch (opcode) {
	case DW_LNS_copy:
		emit_row(t, w, s);
		break;
	case DW_LNS_advance_pc:
		advance(t, s, cursor_uleb(c));
		break;
	case DW_LNS_advance_line:
		s->line += (uint32_t)cursor_sleb(c);
		break;
	case DW_LNS_set_file:
		s->file = cursor_uleb(c);
		break;
	case DW_LNS_const_add_pc:
		advance(t, s, (255 - t->opcode_base) / t->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		s->vaddr += cursor_u16(c);
		s->op_index = 0;
		break;
	default: /* column, statement, block, prologue, epilogue, isa; unknown ones */
		for (uint8_t i = 0; i < t->opcode_lengths[opcode - 1]; i++)
			cursor_uleb(c);
	}
}

static int run(struct line_table *t, struct line_walk *walk)
{
	struct line_state s = first_state;
	struct cursor c = t->program;
	int r;

	while (c.p < c.end) {
		uint8_t opcode = cursor_u8(&c);

		if (opcode >= t->opcode_base) {
			opcode -= t->opcode_base;
			advance(t, &s, opcode / t->line_range);
			s.line += (uint32_t)(t->line_base + opcode % t->line_range);
			emit_row(t, walk, &s);
		} else if (opcode) {
			standard_opcode(t, walk, &s, opcode, &c);
		} else {
			r = extended_opcode(t, walk, &s, &c);
			if (r < 0)
				return r;
		}
	}
	return c.failed ? -EBADMSG : 0;
}

int line_table_run(struct line_table *t, struct address_hit *hits, size_t nr,
		   struct line_rows *rows)
{
	return run(t, &(struct line_walk){.hits = hits, .nr = nr, .rows = rows});
}

int line_table_rows(struct line_table *t, dwarf_row_fn row, void *ctx)
{
	return run(t, &(struct line_walk){.row = row, .row_ctx = ctx});
}

/* Joins parts that are not empty by '/'; an absolute part replaces those before it. */
static char *join(const struct bytes *parts, size_t nr)
{
	size_t first = 0, len = 1;
	char *path, *end;

	for (size_t i = 0; i < nr; i++) {
		if (parts[i].len && parts[i].data[0] == '/')
			first = i;
		len += parts[i].len + 1;
	}
	path = malloc(len);
	if (!path)
		return NULL;
	end = path;
	for (size_t i = first; i < nr; i++) {
		if (end > path && end[-1] != '/' && parts[i].len)
			*end++ = '/';
		if (parts[i].len)
			end = mempcpy(end, parts[i].data, parts[i].len);
	}
	*end = '\0';
	return path;
}

/* "" if it has no name, or one that no file can have. NULL: no memory. */
static char *read_path(const struct line_table *t, const struct line_file *f)
{
	const struct unit *strings = &t->strings;
	struct bytes parts[4] = {0};

	parts[3] = form_string(strings, &f->name, PATH_MAX);
	if (!parts[3].len)
		return join(parts, 0);
	parts[0] = form_string(t->unit, &t->unit->comp_dir, PATH_MAX);
	/*
	 * The compilation directory again (DWARF 5, 6.2.4). Both are relative if the
	 * build replaced prefixes of paths, as Debian's does.
	 */
	if (t->version >= 5 && t->nr_dirs)
		parts[1] = form_string(strings, &t->dirs[0], PATH_MAX);
	if (parts[0].len && parts[0].len == parts[1].len &&
	    !memcmp(parts[0].data, parts[1].data, parts[0].len))
		parts[0].len = 0;
	if (f->dir && f->dir < t->nr_dirs)
		parts[2] = form_string(strings, &t->dirs[f->dir], PATH_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!debug_spend(strings->file, parts[i].len) || parts[i].len == PATH_MAX)
			return join(parts, 0);
	return join(parts, ARRAY_SIZE(parts));
}

const char *line_table_path(struct line_table *t, uint64_t number)
{
	struct line_file *f;

	if (number >= t->nr_files)
		return "";
	f = &t->files[number];
	if (!f->path)
		f->path = read_path(t, f);
	return f->path ? f->path : "";
}
