// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/numba/prange_parents.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
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

struct search {
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
	const struct orphan *have = &((const struct search *)ctx)->orphans[item];
	const struct orphan *want = key;

	return have->parent_object == HIT_NONE && have->len == want->len &&
	       !memcmp(have->name, want->name, have->len);
}

/* All orphans of that name have their parent in @object, if it has a home function. */
static void adopt(struct search *s, const struct orphan *key, uint32_t object)
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
static void search_object(struct search *s, uint32_t object)
{
	const struct image *m = &s->h->objects[object].image;
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

static int collect(struct search *s)
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
static void search_all(struct search *s)
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
static int add_parents(struct search *s)
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

int prange_parents_find(struct hit_functions *h)
{
	struct search s = {.h = h, .orphans = calloc(h->nr + 1, sizeof(*s.orphans))};
	int r = s.orphans ? collect(&s) : -ENOMEM;

	if (!r && s.nr) {
		search_all(&s);
		r = add_parents(&s);
	}
	hashmap_deinit(&s.index);
	free(s.orphans);
	return r;
}
