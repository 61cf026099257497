// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/hit_functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/numba/lines.h"
#include "decode/numba/name.h"

#define MAX_NAME (64u << 10) /* of a body; longer ones are not looked for */

/* A body whose parent is still looked for. */
struct orphan {
	const char *name; /* numba_name_parfor() of its symbol */
	size_t len;
	uint32_t function; /* in hit_functions.items */
	uint32_t parent_object; /* HIT_NONE: not found */
	uint64_t parent_ip;
};

struct parent_search {
	struct hit_functions *h;
	struct orphan *orphans;
	size_t nr;
	size_t nr_left;
	struct hashmap index; /* orphans by name; several may have the same */
};

/* The one function of the object that is no copy and no wrapper. NULL: there is none. */
static const struct image_symbol *home_of(struct hit_functions *h, uint32_t object)
{
	const struct image_symbols *symbols = &h->objects[object].symbols;
	const struct image_symbol *home = NULL;
	struct numba_name name;

	/* Reads them, if that has not been done. */
	hit_functions_symbol(h, object, 0);
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct image_symbol *s = &symbols->items[i];

		if (s->weak || numba_name_parfor(s->name) ||
		    !numba_name_parse(s->name, &name) || !name.certain ||
		    name.role != NUMBA_FUNCTION)
			continue;
		if (home) /* which of them cannot be told */
			return NULL;
		home = s;
	}
	return home;
}

static bool orphan_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct orphan *have = &((const struct parent_search *)ctx)->orphans[item];
	const struct orphan *want = key;

	return have->parent_object == HIT_NONE && have->len == want->len &&
	       !memcmp(have->name, want->name, have->len);
}

/* All orphans of that name have their parent in @object, if it has a home function. */
static void adopt(struct parent_search *s, const struct orphan *key, uint32_t object)
{
	uint64_t hash = hash_bytes(0, key->name, key->len);
	const struct image_symbol *home = NULL;
	uint32_t item;

	while ((item = hashmap_find(&s->index, hash, orphan_eq, key, s)) !=
	       HASHMAP_NONE) {
		if (!home)
			home = home_of(s->h, object);
		if (!home)
			return;
		s->orphans[item].parent_object = object;
		s->orphans[item].parent_ip = home->start_ip;
		s->nr_left--;
	}
}

/* Looks for names of bodies in all bytes of one object: symbols need not be sorted. */
static void search_object(struct parent_search *s, uint32_t object)
{
	const struct jit_image *m = &s->h->objects[object].image;
	const char *at = (const char *)m->bytes, *end = at + m->len;

	while (s->nr_left && (at = memmem(at, (size_t)(end - at), NUMBA_PARFOR,
					  strlen(NUMBA_PARFOR)))) {
		struct orphan key = {.name = at};

		key.len = strnlen(at, (size_t)(end - at) < MAX_NAME ? (size_t)(end - at)
								    : MAX_NAME);
		adopt(s, &key, object);
		at += key.len;
	}
}

static int collect(struct parent_search *s)
{
	struct hit_functions *h = s->h;

	for (size_t i = 0; i < h->nr; i++) {
		const char *name = numba_name_parfor(h->items[i].symbol);
		struct orphan *o = &s->orphans[s->nr];

		if (!name || strnlen(name, MAX_NAME) == MAX_NAME)
			continue;
		*o = (struct orphan){.name = name,
				     .len = strlen(name),
				     .function = (uint32_t)i,
				     .parent_object = HIT_NONE};
		if (hashmap_add(&s->index, hash_bytes(0, name, o->len), (uint32_t)s->nr))
			return -ENOMEM;
		s->nr++;
	}
	s->nr_left = s->nr;
	return 0;
}

/* First where the bodies are themselves: there it is nearly always. */
static void search_all(struct parent_search *s)
{
	for (size_t i = 0; i < s->nr && s->nr_left; i++)
		if (s->orphans[i].parent_object == HIT_NONE)
			adopt(s, &s->orphans[i],
			      s->h->items[s->orphans[i].function].object);
	for (size_t i = s->h->nr_objects; i && s->nr_left; i--)
		if (s->h->objects[i - 1].good)
			search_object(s, (uint32_t)(i - 1));
}

/* Parents are functions like others. */
static int add_parents(struct parent_search *s)
{
	struct hit_functions *h = s->h;
	int r = 0;

	for (size_t i = 0; i < s->nr && !r; i++) {
		const struct orphan *o = &s->orphans[i];

		if (o->parent_object == HIT_NONE)
			continue;
		h->items[o->function].parent_object = o->parent_object;
		h->items[o->function].parent_ip = o->parent_ip;
		r = hit_functions_add(h, o->parent_object, o->parent_ip);
	}
	return r;
}

/**
 * Adds the parents of all bodies in @h, behind what is there, and sets parent_object
 * and parent_ip of the bodies. Return: 0 or -ENOMEM.
 */
static int prange_parents_find(struct hit_functions *h)
{
	struct parent_search s = {.h = h,
				  .orphans = calloc(h->nr + 1, sizeof(*s.orphans))};
	int r = s.orphans ? collect(&s) : -ENOMEM;

	if (!r && s.nr) {
		search_all(&s);
		r = add_parents(&s);
	}
	hashmap_deinit(&s.index);
	free(s.orphans);
	return r;
}

int hit_functions_init(struct hit_functions *h, struct hit_object *objects,
		       size_t nr_objects, struct strpool *pool)
{
	*h = (struct hit_functions){.objects = objects,
				    .nr_objects = nr_objects,
				    .pool = pool,
				    .store = {.pool = pool},
				    .names = function_names_new(pool)};
	return h->names ? 0 : -ENOMEM;
}

void hit_functions_deinit(struct hit_functions *h)
{
	for (size_t i = 0; i < h->nr_objects; i++)
		image_symbols_deinit(&h->objects[i].symbols);
	function_names_free(h->names);
	line_store_deinit(&h->store);
	free(h->items);
	*h = (struct hit_functions){0};
}

/* ---- which functions ---- */

/* When memory is out it has no symbols. */
static void read_symbols(struct hit_object *o)
{
	if (o->symbols_read)
		return;
	o->symbols_read = true;
	image_symbols_read(&o->image, &o->symbols);
	for (size_t i = 0; i < o->symbols.nr; i++) {
		const char *name = o->symbols.items[i].name;

		o->numba = o->numba || function_names_is_numba(name);
		o->has_pranges = o->has_pranges || numba_name_parfor(name);
	}
}

const struct image_symbol *hit_functions_symbol(struct hit_functions *h, uint32_t object,
						uint64_t ip)
{
	struct hit_object *o = &h->objects[object];

	if (!o->good)
		return NULL;
	read_symbols(o);
	return image_symbols_at(&o->symbols, ip);
}

int hit_functions_add(struct hit_functions *h, uint32_t object, uint64_t ip)
{
	const struct image_symbol *symbol = hit_functions_symbol(h, object, ip);
	struct hit_function f = {.object = object,
				 .parent_object = HIT_NONE,
				 .symbol = symbol ? symbol->name : ""};
	int r;

	f.lines.start_ip = symbol ? symbol->start_ip : ip;
	f.lines.end_ip = symbol ? symbol->end_ip : ip + 1;
	/* Addresses come sorted: mostly it is the one before. */
	if (h->nr && h->items[h->nr - 1].object == object &&
	    h->items[h->nr - 1].lines.start_ip == f.lines.start_ip)
		return 0;
	r = vec_grow(&h->items, &h->cap, h->nr + 1, sizeof(*h->items), HIT_NONE - 1);
	if (r)
		return -ENOMEM;
	h->items[h->nr++] = f;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct hit_function *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->lines.start_ip < y->lines.start_ip
		       ? -1
		       : x->lines.start_ip > y->lines.start_ip;
}

const struct hit_function *hit_functions_find(const struct hit_functions *h,
					      uint32_t object, uint64_t ip)
{
	const struct hit_function *items = h->items;
	size_t above = SEARCH_FIRST(
		i, h->nr,
		items[i].object > object ||
			(items[i].object == object && items[i].lines.start_ip > ip));

	if (!above || items[above - 1].object != object ||
	    items[above - 1].lines.end_ip <= ip)
		return NULL;
	return &items[above - 1];
}

static void sort_functions(struct hit_functions *h)
{
	size_t nr = 0;

	if (h->nr)
		qsort(h->items, h->nr, sizeof(*h->items), by_place);
	for (size_t i = 0; i < h->nr; i++)
		if (!nr || by_place(&h->items[nr - 1], &h->items[i]))
			h->items[nr++] = h->items[i];
	h->nr = nr;
}

/* ---- their lines ---- */

/* Reads the object that h->items[first] is of. Return: how many functions it has. */
static size_t read_object(struct hit_functions *h, size_t first, const struct hit *hits,
			  size_t nr_hits, int *ret_error)
{
	uint32_t object = h->items[first].object;
	_cleanup_free_ struct function_lines *lines = NULL;
	_cleanup_free_ uint64_t *ips = calloc(nr_hits + 1, sizeof(*ips));
	size_t nr = 0;
	int r = -ENOMEM;

	while (first + nr < h->nr && h->items[first + nr].object == object)
		nr++;
	lines = calloc(nr, sizeof(*lines));
	for (size_t i = 0; i < nr && lines; i++)
		lines[i] = h->items[first + i].lines;
	for (size_t i = 0; i < nr_hits && ips; i++)
		ips[i] = hits[i].ip;
	if (lines && ips)
		r = function_lines_read(&h->store, &h->objects[object].image, lines, nr,
					ips, nr_hits);
	for (size_t i = 0; i < nr; i++) {
		h->items[first + i].error = r;
		if (!r)
			h->items[first + i].lines = lines[i];
	}
	*ret_error = r == -ENOMEM ? r : 0;
	return nr;
}

static int read_lines(struct hit_functions *h, const struct hit *hits, size_t nr)
{
	size_t hit = 0;
	int r = 0;

	for (size_t i = 0; i < h->nr && !r;) {
		uint32_t object = h->items[i].object;
		size_t first;

		while (hit < nr && hits[hit].object < object)
			hit++;
		first = hit;
		while (hit < nr && hits[hit].object == object)
			hit++;
		i += read_object(h, i, &hits[first], hit - first, &r);
	}
	return r;
}

static struct function_name name_of(const struct hit_functions *h,
				    const struct hit_function *f)
{
	return (struct function_name){.symbol = f->symbol,
				      .numba = h->objects[f->object].numba,
				      .prange = f->prange};
}

static int resolve_prange(struct hit_functions *h, struct hit_function *body)
{
	const struct hit_function *parent =
		hit_functions_find(h, body->parent_object, body->parent_ip);
	char name[NUMBA_NAME_MAX], prange[NUMBA_NAME_MAX + 16];

	if (!parent)
		return 0;
	function_names_last_part(parent->symbol, name, sizeof(name));
	snprintf(prange, sizeof(prange), "prange in %s", name);
	body->prange = strpool_add(h->pool, prange);
	if (!body->lines.nr_rows || !parent->lines.nr_rows)
		return 0;
	return numba_lines_prange(&h->store, &body->lines, &parent->lines, body->symbol,
				  body->prange);
}

static int attribute(struct hit_functions *h)
{
	int r = 0;

	for (size_t i = 0; i < h->nr; i++)
		numba_lines_settle(&h->store, &h->items[i].lines,
				   h->objects[h->items[i].object].numba);
	for (size_t i = 0; i < h->nr && !r; i++)
		if (h->items[i].parent_object != HIT_NONE)
			r = resolve_prange(h, &h->items[i]);
	for (size_t i = 0; i < h->nr && !r; i++) {
		struct function_name name = name_of(h, &h->items[i]);

		numba_lines_drop_generated(&h->store, &h->items[i].lines,
					   h->items[i].symbol);
		r = function_names_learn(h->names, &h->store, &h->items[i].lines, &name);
	}
	for (size_t i = 0; i < h->nr && !r; i++) {
		struct function_name name = name_of(h, &h->items[i]);

		function_names_apply(h->names, &h->store, &h->items[i].lines, &name);
	}
	return r;
}

int hit_functions_read(struct hit_functions *h, const struct hit *hits, size_t nr)
{
	int r;

	sort_functions(h);
	r = prange_parents_find(h);
	sort_functions(h); /* parents are at the end */
	if (!r)
		r = read_lines(h, hits, nr);
	return r ? r : attribute(h);
}

struct frame hit_functions_bare(const struct hit_functions *h,
				const struct hit_function *f)
{
	struct function_name name = name_of(h, f);

	return function_names_bare(h->names, &name);
}

/* ---- their machine code, and which line each part is ---- */

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
			ret[nr++] = (struct code_row){row->ip, frames[k - 1]};
	ret[nr++] = (struct code_row){row->ip, frames[0]};
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
		ret[nr] = (struct code_row){f->end_ip, *first};
		ret[nr++].frame.line = line;
	}
	return nr;
}

int hit_functions_add_code(struct answer_writer *answers, const struct hit_functions *h,
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
