// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/hit_functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "decode/numba/lines.h"
#include "decode/numba/name.h"
#include "decode/numba/prange_parents.h"

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
	size_t low = 0, high = h->nr;

	while (low < high) { /* the first one that begins behind @ip */
		size_t mid = low + (high - low) / 2;
		const struct hit_function *f = &h->items[mid];

		if (f->object < object ||
		    (f->object == object && f->lines.start_ip <= ip))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || h->items[low - 1].object != object ||
	    h->items[low - 1].lines.end_ip <= ip)
		return NULL;
	return &h->items[low - 1];
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
