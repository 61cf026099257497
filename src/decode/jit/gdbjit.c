// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Serves DECODER_GDBJIT: addresses in objects that a JIT registered by the GDB JIT
 * interface -> chains of source frames.
 *
 *   owner of an address at a time         owners.h
 *   contents of an object                 image.h
 *   lines of the functions that were hit  function_lines.h, numba/lines.h
 *   names of the functions                function_lines.h, numba/name.h
 *
 * Of all objects the section headers are read; the rest is read, once, of those that
 * own an address.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/io.h"
#include "base/search.h"
#include "base/strpool.h"
#include "base/vec.h"
#include "decode/answer.h"
#include "decode/jit/function_lines.h"
#include "decode/jit/image.h"
#include "decode/jit/name.h"
#include "decode/jit/owners.h"
#include "decode/numba/lines.h"
#include "decode/numba/name.h"
#include "decode/requests.h"

/*
 * ---- the functions that a request hits ----
 *
 * Finds them by their symbols, adds the functions they depend on (the one that contains
 * a prange, perhaps of another object), reads each once and names it.
 */

/* One registration. */
struct hit_object {
	struct jit_image image; /* valid if good */
	bool good; /* an ELF file that can be read */
	bool symbols_read, numba;
	bool has_pranges; /* some of its symbols belong to a prange */
	bool home_searched;
	struct image_symbols symbols; /* valid if symbols_read */
	const struct image_symbol *home; /* valid if home_searched: home_of() */
};

#define HIT_NONE UINT32_MAX

struct hit_function {
	uint32_t object;
	uint32_t parent_object; /* of a prange body: its parent's object; HIT_NONE */
	uint64_t parent_ip; /* same */
	const char *name; /* of its symbol, into the image; "": none covers the address */
	const char *symbol; /* the same, cut and interned */
	const char *prange; /* interned; NULL: no prange body, or unknown */
	struct function_lines lines;
	struct numba_parent parent; /* of its lines, once a body needs it */
	int error; /* why it has no rows: -errno of function_lines_read(), or 0 */
};

struct hit_functions {
	struct hit_object *objects; /* borrowed */
	size_t nr_objects;
	struct strpool *pool; /* borrowed */
	struct hit_function *items; /* by object, then address, once read */
	size_t nr, cap;
	struct line_store store;
	struct function_names names;
};

/* An address that has an owner. */
struct hit {
	uint32_t object;
	uint64_t ip;
};

static void hit_functions_init(struct hit_functions *h, struct hit_object *objects,
			       size_t nr_objects, struct strpool *pool)
{
	*h = (struct hit_functions){.objects = objects,
				    .nr_objects = nr_objects,
				    .pool = pool,
				    .store = {.pool = pool},
				    .names = {.pool = pool}};
}

/* Also frees the symbols of the objects. */
static void hit_functions_deinit(struct hit_functions *h)
{
	for (size_t i = 0; i < h->nr_objects; i++)
		image_symbols_deinit(&h->objects[i].symbols);
	for (size_t i = 0; i < h->nr; i++)
		numba_parent_deinit(&h->items[i].parent);
	function_names_deinit(&h->names);
	line_store_deinit(&h->store);
	free(h->items);
	*h = (struct hit_functions){0};
}

/* ---- finding functions ---- */

#define MAX_SHARED 4 /* symbols that have a byte in their names, on average */

/*
 * Out of memory leaves the object without symbols. A string table may have one name in the
 * end of another, but not the same long name for all: then the last ones have no name.
 */
static void read_symbols(struct hit_object *o)
{
	size_t left = MAX_SHARED * o->image.len;

	if (o->symbols_read)
		return;
	o->symbols_read = true;
	image_symbols_read(&o->image, &o->symbols);
	for (size_t i = 0; i < o->symbols.nr; i++) {
		struct image_symbol *s = &o->symbols.items[i];
		size_t len = strnlen(s->name, left);

		if (len == left)
			s->name = "";
		left -= len;
		o->numba = o->numba || function_names_is_numba(s->name);
		o->has_pranges = o->has_pranges || numba_name_parfor(s->name);
	}
}

/* Returns the function symbol at @ip, or NULL. Reads the symbols on first use. */
static const struct image_symbol *hit_functions_symbol(struct hit_functions *h,
						       uint32_t object, uint64_t ip)
{
	struct hit_object *o = &h->objects[object];

	if (!o->good)
		return NULL;
	read_symbols(o);
	return image_symbols_at(&o->symbols, ip);
}

/*
 * Adds the function at @ip; an address without a symbol is a function of one byte.
 * Return: 0 or -ENOMEM.
 */
static int hit_functions_add(struct hit_functions *h, uint32_t object, uint64_t ip)
{
	const struct image_symbol *symbol = hit_functions_symbol(h, object, ip);
	struct hit_function f = {.object = object,
				 .parent_object = HIT_NONE,
				 .name = symbol ? symbol->name : ""};
	int r;

	f.lines.start_ip = symbol ? symbol->start_ip : ip;
	f.lines.end_ip = symbol ? symbol->end_ip : ip + 1;
	/* Addresses are sorted: mostly the function has just been added. */
	if (h->nr && h->items[h->nr - 1].object == object &&
	    h->items[h->nr - 1].lines.start_ip == f.lines.start_ip)
		return 0;
	r = vec_grow(&h->items, &h->cap, h->nr + 1, sizeof(*h->items), HIT_NONE - 1);
	if (r)
		return -ENOMEM;
	f.symbol = strpool_add_n(h->pool, f.name, JIT_NAME_MAX_BYTES);
	h->items[h->nr++] = f;
	return 0;
}

static int by_function(const void *a, const void *b)
{
	const struct hit_function *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->lines.start_ip < y->lines.start_ip
		       ? -1
		       : x->lines.start_ip > y->lines.start_ip;
}

/* Returns the function that holds @ip, once lines are read. NULL: none was added. */
static struct hit_function *hit_functions_find(const struct hit_functions *h,
					       uint32_t object, uint64_t ip)
{
	struct hit_function *items = h->items;
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
		qsort(h->items, h->nr, sizeof(*h->items), by_function);
	for (size_t i = 0; i < h->nr; i++)
		if (!nr || by_function(&h->items[nr - 1], &h->items[i]))
			h->items[nr++] = h->items[i];
	h->nr = nr;
}

/* ---- parents: the functions that contain pranges ---- */

#define MAX_NAME (64u << 10) /* of a body; longer ones are not searched */

/* A prange body whose parent is searched. */
struct orphan {
	const char *name; /* numba_name_parfor() of its symbol */
	size_t len;
	uint32_t function; /* in hit_functions.items */
	uint32_t parent_object; /* HIT_NONE: not found */
	uint64_t parent_ip;
	uint32_t next; /* of the same name; HIT_NONE: none */
};

struct parent_search {
	struct hit_functions *h;
	struct orphan *orphans;
	size_t nr;
	size_t nr_left;
	struct hashmap index; /* first orphans by name */
};

static const struct image_symbol *search_home(const struct image_symbols *symbols)
{
	const struct image_symbol *home = NULL;
	struct numba_name name;

	for (size_t i = 0; i < symbols->nr; i++) {
		const struct image_symbol *s = &symbols->items[i];

		if (s->weak || numba_name_parfor(s->name) ||
		    !numba_name_parse(s->name, &name) || !name.certain ||
		    name.role != NUMBA_FUNCTION)
			continue;
		if (home) /* ambiguous */
			return NULL;
		home = s;
	}
	return home;
}

/*
 * Returns the object's only function that is no copy or wrapper. NULL: none, several.
 */
static const struct image_symbol *home_of(struct hit_functions *h, uint32_t object)
{
	struct hit_object *o = &h->objects[object];

	if (!o->home_searched) {
		o->home_searched = true;
		read_symbols(o);
		o->home = search_home(&o->symbols);
	}
	return o->home;
}

static bool orphan_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct orphan *have = &((const struct parent_search *)ctx)->orphans[item];
	const struct orphan *want = key;

	return have->len == want->len && !memcmp(have->name, want->name, have->len);
}

/* Returns the first orphan of that name, or HIT_NONE. */
static uint32_t first_orphan(const struct parent_search *s, const char *name, size_t len)
{
	const struct orphan key = {.name = name, .len = len};

	return hashmap_get(&s->index, hash_bytes(0, name, len), orphan_eq, &key, s);
}

/* Makes @object's home function, if any, the parent of all orphans of that name. */
static void adopt(struct parent_search *s, const char *name, size_t len, uint32_t object)
{
	uint32_t i = first_orphan(s, name, len);
	const struct image_symbol *home;

	if (i == HIT_NONE || s->orphans[i].parent_object != HIT_NONE)
		return;
	home = home_of(s->h, object);
	for (; home && i != HIT_NONE; i = s->orphans[i].next) {
		s->orphans[i].parent_object = object;
		s->orphans[i].parent_ip = home->start_ip;
		s->nr_left--;
	}
}

/* Searches an object's bytes for names of bodies: faster than sorting its symbols. */
static void search_object(struct parent_search *s, uint32_t object)
{
	const struct jit_image *m = &s->h->objects[object].image;
	const char *at = (const char *)m->bytes, *end = at + m->len;

	while (s->nr_left && (at = memmem(at, (size_t)(end - at), NUMBA_PARFOR,
					  strlen(NUMBA_PARFOR)))) {
		size_t room = (size_t)(end - at);
		size_t len = strnlen(at, room < MAX_NAME ? room : MAX_NAME);

		adopt(s, at, len, object);
		at += len;
	}
}

static int collect(struct parent_search *s)
{
	struct hit_functions *h = s->h;

	for (size_t i = 0; i < h->nr; i++) {
		const char *name = numba_name_parfor(h->items[i].name);
		struct orphan *o = &s->orphans[s->nr];
		uint32_t first;

		if (!name || strnlen(name, MAX_NAME) == MAX_NAME)
			continue;
		*o = (struct orphan){.name = name,
				     .len = strlen(name),
				     .function = (uint32_t)i,
				     .parent_object = HIT_NONE,
				     .next = HIT_NONE};
		first = first_orphan(s, name, o->len);
		if (first != HIT_NONE) {
			o->next = s->orphans[first].next;
			s->orphans[first].next = (uint32_t)s->nr;
		} else if (hashmap_add(&s->index, hash_bytes(0, name, o->len),
				       (uint32_t)s->nr)) {
			return -ENOMEM;
		}
		s->nr++;
	}
	s->nr_left = s->nr;
	return 0;
}

/* Searches the body's own object first: the parent is nearly always there. */
static void search_all(struct parent_search *s)
{
	for (size_t i = 0; i < s->nr && s->nr_left; i++)
		if (s->orphans[i].parent_object == HIT_NONE)
			adopt(s, s->orphans[i].name, s->orphans[i].len,
			      s->h->items[s->orphans[i].function].object);
	for (size_t i = s->h->nr_objects; i && s->nr_left; i--)
		if (s->h->objects[i - 1].good)
			search_object(s, (uint32_t)(i - 1));
}

/* Adds the parents to the functions to be read. */
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
 * Appends the parents of all bodies in @h, and sets parent_object and parent_ip of the
 * bodies. Return: 0 or -ENOMEM.
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

/* ---- lines of the functions ---- */

/* Reads all functions of the object of h->items[first]. Return: their number. */
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
	struct hit_function *parent =
		hit_functions_find(h, body->parent_object, body->parent_ip);
	char name[NUMBA_NAME_MAX], prange[NUMBA_NAME_MAX + 16];

	if (!parent)
		return 0;
	function_names_last_part(parent->symbol, name, sizeof(name));
	snprintf(prange, sizeof(prange), "prange in %s", name);
	body->prange = strpool_add(h->pool, prange);
	if (!body->lines.nr_rows || !parent->lines.nr_rows)
		return 0;
	if (!parent->parent.lines &&
	    numba_parent_read(&parent->parent, &h->store, &parent->lines))
		return -ENOMEM;
	return numba_lines_prange(&h->store, &body->lines, &parent->parent, body->name,
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
		r = function_names_learn(&h->names, &h->store, &h->items[i].lines, &name);
	}
	for (size_t i = 0; i < h->nr && !r; i++) {
		struct function_name name = name_of(h, &h->items[i]);

		function_names_apply(&h->names, &h->store, &h->items[i].lines, &name);
	}
	return r;
}

/*
 * Reads the lines of all functions added, by the rules of numba/lines.h.
 * @hits  all addresses, by object, then address
 * Return: 0 or -ENOMEM. If an object cannot be read, its functions get an error.
 */
static int hit_functions_read(struct hit_functions *h, const struct hit *hits, size_t nr)
{
	int r;

	sort_functions(h);
	r = prange_parents_find(h);
	sort_functions(h); /* parents were appended */
	if (!r)
		r = read_lines(h, hits, nr);
	return r ? r : attribute(h);
}

/* Returns the frame of a function without lines; its name is "" if unknown. */
static struct frame hit_functions_bare(struct hit_functions *h,
				       const struct hit_function *f)
{
	struct function_name name = name_of(h, f);

	return function_names_bare(&h->names, &name);
}

/* ---- machine code of the functions, with lines ---- */

#define MAX_PRANGE_LINES 4096 /* of one function; a longer one is left out */

/* The code of the last object that was asked for. */
struct object_code {
	uint32_t object; /* HIT_NONE: none yet */
	struct image_code items[IMAGE_MAX_CODE];
	size_t nr;
};

/* The bytes of the function in its image; NULL: not in the image. */
static const uint8_t *bytes_of(const struct hit_functions *h,
			       const struct hit_function *f, struct object_code *code)
{
	if (code->object != f->object) {
		code->object = f->object;
		code->nr = image_code(&h->objects[f->object].image, code->items);
	}
	for (size_t i = 0; i < code->nr; i++) {
		const struct image_code *c = &code->items[i];

		if (c->bytes && c->start_ip <= f->lines.start_ip &&
		    f->lines.end_ip <= c->end_ip)
			return c->bytes + (f->lines.start_ip - c->start_ip);
	}
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
 * Writes the code rows of one row: first those, of length 0, of the calls at which it
 * was inlined, then its own. Return: their number; @ret has room for one per frame, at
 * least 1.
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

/* Maximum number of rows that rows_at() writes for all of @f. */
static size_t max_rows(const struct line_store *s, const struct function_lines *f)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < f->nr_rows; i++)
		nr += s->rows[f->first_row + i].nr_frames + 1U;
	return nr;
}

/* Returns the function's own frame at its @i-th row; NULL: it has no line there. */
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
 * Marks all lines between the function's first and last as having code: the lines of a
 * prange have theirs in another function, which may not have been hit.
 *
 * @ret_nr  number of rows of length 0 that were added to @ret
 * Return: false when no line is known, or there is no room.
 */
static bool claim_all_lines(const struct line_store *s, const struct function_lines *f,
			    struct code_row *ret, size_t room, size_t *ret_nr)
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
		return false;
	for (uint32_t line = low; line < high; line++) {
		ret[nr] = (struct code_row){f->end_ip, *first};
		ret[nr++].frame.line = line;
	}
	*ret_nr = nr;
	return true;
}

/*
 * Adds the code of @f, if it has lines. Its bytes are those of the image: references to
 * other code and data (calls, constants) are not relocated, unlike in the target's
 * memory.
 *
 * In a function that contains a prange, all lines count as having code, see
 * claim_all_lines().
 * Return: 0 or -ENOMEM.
 */
static int hit_functions_add_code(struct answer_writer *answers,
				  const struct hit_functions *h,
				  const struct hit_function *f,
				  struct object_code *object_code)
{
	bool has_prange = h->objects[f->object].has_pranges &&
			  !numba_name_parfor(f->name);
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
		size_t nr;

		if (!claim_all_lines(&h->store, &f->lines, &rows[code.nr_rows],
				     MAX_PRANGE_LINES, &nr))
			return 0;
		code.nr_rows += nr;
	}
	code.rows = rows;
	code.bytes = bytes_of(h, f, object_code);
	answer_add_code(answers, &code);
	return 0;
}

/* ---- the request ---- */

#define MAX_FILE_BYTES    (1ull << 36)
#define MAX_POOL_BYTES    (64u << 20)
#define WIRE_OBJECT_BYTES 40

struct registration {
	uint64_t offset, size_bytes; /* in the file */
	struct owner_time time;
};

struct gdbjit_job {
	struct registration *registrations;
	struct hit_object *objects; /* same order */
	size_t nr_objects;
	struct queries queries;
	struct owners owners;
	struct answer_writer *answers;
	struct strpool *pool;
	struct hit_functions functions;
	struct hit *hits; /* in order of queries */
	uint32_t *hit_query; /* query of each hit */
	size_t nr_hits;
	/* The file; NULL: empty. The collector's own: it does not shrink meanwhile. */
	void *bytes;
	uint64_t len;
	uint64_t nr_bad;
};

static void job_deinit(struct gdbjit_job *job)
{
	hit_functions_deinit(&job->functions);
	owners_deinit(&job->owners);
	queries_deinit(&job->queries);
	answer_writer_free(job->answers);
	strpool_free(job->pool);
	free(job->registrations);
	free(job->objects);
	free(job->hits);
	free(job->hit_query);
	if (job->bytes)
		munmap(job->bytes, job->len);
}

/* An owners_same_fn. */
static bool same_code(void *ctx, uint32_t a, uint32_t b, uint64_t ip)
{
	struct gdbjit_job *job = ctx;
	const struct image_symbol *x, *y;

	if (job->registrations[a].offset == job->registrations[b].offset &&
	    job->registrations[a].size_bytes == job->registrations[b].size_bytes)
		return true;
	x = hit_functions_symbol(&job->functions, a, ip);
	y = hit_functions_symbol(&job->functions, b, ip);
	return x && y && x->start_ip == y->start_ip && x->end_ip == y->end_ip &&
	       *x->name && !strncmp(x->name, y->name, JIT_NAME_MAX_BYTES);
}

static int read_request(struct gdbjit_job *job, struct wire_reader *r)
{
	bool is_walked = false;
	size_t nr = wire_get_u32(r);
	int rc;

	if (r->failed || nr > (r->len - r->pos) / WIRE_OBJECT_BYTES)
		return -EBADMSG;
	job->registrations = calloc(nr + 1, sizeof(*job->registrations));
	job->objects = calloc(nr + 1, sizeof(*job->objects));
	if (!job->registrations || !job->objects)
		return -ENOMEM;
	job->nr_objects = nr;
	for (size_t i = 0; i < nr; i++) {
		struct registration *reg = &job->registrations[i];

		reg->offset = wire_get_u64(r);
		reg->size_bytes = wire_get_u64(r);
		reg->time.from_ns = wire_get_u64(r);
		reg->time.until_ns = wire_get_u64(r);
		reg->time.seen_ns = wire_get_u64(r);
		is_walked |= reg->time.seen_ns != 0;
	}
	rc = queries_read(r, &job->queries);
	if (rc)
		return rc;
	job->hits = calloc(job->queries.nr + 1, sizeof(*job->hits));
	job->hit_query = calloc(job->queries.nr + 1, sizeof(*job->hit_query));
	job->answers = answer_writer_new(job->queries.nr);
	job->pool = strpool_new(MAX_POOL_BYTES);
	if (!job->hits || !job->hit_query || !job->answers || !job->pool)
		return -ENOMEM;
	hit_functions_init(&job->functions, job->objects, nr, job->pool);
	rc = owners_init(&job->owners, &job->queries);
	if (!rc && is_walked) {
		job->owners.same = same_code;
		job->owners.ctx = job;
	}
	return rc;
}

static bool open_object(const struct gdbjit_job *job, size_t i)
{
	const struct registration *reg = &job->registrations[i];

	return job->bytes && reg->offset <= job->len &&
	       reg->size_bytes <= job->len - reg->offset &&
	       image_open((const uint8_t *)job->bytes + reg->offset, reg->size_bytes,
			  &job->objects[i].image);
}

/* Return: 0, or -E2BIG if too many objects overlap. */
static int claim_all(struct gdbjit_job *job)
{
	struct image_code code[IMAGE_MAX_CODE];
	int rc = 0;

	for (size_t i = 0; i < job->nr_objects && !rc; i++) {
		const struct registration *reg = &job->registrations[i];
		size_t nr;

		job->objects[i].good = open_object(job, i);
		/* Objects without bytes were registered, but could not be read. */
		job->nr_bad += !job->objects[i].good && reg->size_bytes;
		if (!job->objects[i].good)
			continue;
		nr = image_code(&job->objects[i].image, code);
		for (size_t k = 0; k < nr && !rc; k++)
			rc = owners_claim(&job->owners, (uint32_t)i, code[k].start_ip,
					  code[k].end_ip, &reg->time);
	}
	return rc;
}

static void answer_miss(struct gdbjit_job *job, size_t query, enum miss miss)
{
	answer_set(job->answers, job->queries.items[query].index, 0, miss, NULL, 0);
}

/* Answers addresses without a certain owner, and collects the others as hits. */
static void decide(struct gdbjit_job *job)
{
	for (size_t i = 0; i < job->queries.nr; i++) {
		uint64_t ip = job->queries.items[i].ip;
		uint32_t object = OWNERS_NONE, next = OWNERS_NONE;
		enum ownership whose = owners_of(&job->owners, i, &object, &next);

		if (whose == OWNERSHIP_NONE) {
			answer_miss(job, i, MISS_JIT_UNKNOWN);
		} else if (whose == OWNERSHIP_MANY ||
			   (whose == OWNERSHIP_TWO &&
			    !same_code(job, object, next, ip))) {
			answer_miss(job, i, MISS_AMBIGUOUS_TIME);
		} else {
			job->hits[job->nr_hits] =
				(struct hit){.object = object, .ip = ip};
			job->hit_query[job->nr_hits++] = (uint32_t)i;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Why a function has no lines at all. */
static enum miss why_none(const struct hit_function *f)
{
	if (!*f->symbol && (!f->error || f->error == -ENODATA))
		return MISS_NO_SYMBOLS;
	switch (f->error) {
	case 0: /* the object has lines, but not for this: a wrapper */
		return MISS_NO_LINE;
	case -ENODATA:
		return MISS_JIT_NO_LINES;
	case -ENOSPC:
		return MISS_LIMIT;
	default:
		return MISS_BAD_DEBUG_INFO;
	}
}

static void answer_hit(struct gdbjit_job *job, size_t query, const struct hit *hit)
{
	struct hit_functions *h = &job->functions;
	const struct hit_function *f = hit_functions_find(h, hit->object, hit->ip);
	const struct function_row *row = NULL;
	size_t index = job->queries.items[query].index;
	struct frame bare;

	if (!f) {
		answer_miss(job, query, MISS_NO_SYMBOLS);
		return;
	}
	row = function_lines_at(&h->store, &f->lines, hit->ip);
	if (row && row->nr_frames) {
		answer_set(job->answers, index, 0, row->miss,
			   &h->store.frames[row->first_frame], row->nr_frames);
		return;
	}
	bare = hit_functions_bare(h, f);
	answer_set(job->answers, index, 0, why_none(f), &bare, *bare.function ? 1 : 0);
}

static int resolve(struct gdbjit_job *job)
{
	struct object_code code = {.object = HIT_NONE};
	_cleanup_free_ struct hit *sorted = NULL;
	int rc = claim_all(job);

	if (rc)
		return rc;
	decide(job);
	sorted = calloc(job->nr_hits + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, job->hits, job->nr_hits * sizeof(*sorted));
	qsort(sorted, job->nr_hits, sizeof(*sorted), by_place);
	for (size_t i = 0; i < job->nr_hits && !rc; i++)
		rc = hit_functions_add(&job->functions, sorted[i].object, sorted[i].ip);
	if (!rc)
		rc = hit_functions_read(&job->functions, sorted, job->nr_hits);
	for (size_t i = 0; i < job->nr_hits && !rc; i++)
		answer_hit(job, job->hit_query[i], &job->hits[i]);
	for (size_t i = 0; i < job->functions.nr && !rc; i++)
		rc = hit_functions_add_code(job->answers, &job->functions,
					    &job->functions.items[i], &code);
	return rc;
}

int gdbjit_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		 size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(job_deinit) struct gdbjit_job job = {0};
	enum miss object_miss = MISS_NONE;
	int rc;

	(void)call;
	if (nr_fds < 1)
		return -EINVAL;
	rc = read_request(&job, request);
	if (!rc)
		rc = io_map_file(fds[0], MAX_FILE_BYTES, &job.bytes, &job.len);
	if (rc)
		return rc;
	rc = resolve(&job);
	if (rc == -E2BIG) {
		object_miss = MISS_LIMIT;
		for (size_t i = 0; i < job.queries.nr; i++)
			answer_miss(&job, i, object_miss);
	} else if (rc) {
		return rc;
	}
	wire_put_u32(reply, object_miss);
	wire_put_u64(reply, job.nr_bad);
	answer_write(job.answers, reply);
	return reply->failed ? -ENOMEM : 0;
}
