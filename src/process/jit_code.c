// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/jit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/vec.h"

#define MAX_BODIES (1u << 20)
/*
 * With more ended objects than this in one image, all samples should be named to free
 * them.
 */
#define MANY_GONE (JIT_CODE_MAX_OBJECTS / 4)

/*
 * The file grows at its end and has holes. Long before it exceeds what a decoder maps
 * (64 GB), the remaining objects are moved to its beginning.
 */
#define SPREAD 64 /* times the maximum of bytes */

/* ---- the bytes ---- */

int jit_store_new(uint64_t max_bytes, struct jit_store **ret)
{
	_cleanup_(jit_store_freep) struct jit_store *s = calloc(1, sizeof(*s));
	char path[64];

	if (!s)
		return -ENOMEM;
	s->read_fd = -1;
	s->max_bytes = max_bytes;
	s->clean_above = s->max_bytes / 2;
	s->clean_registrations_above = JIT_STORE_MAX_REGISTRATIONS / 2;
	s->fd = -1;
	s->fd = memfd_create("lineburn-jit", MFD_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	s->read_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->read_fd < 0)
		return -errno;
	*ret = take_ptr(s);
	return 0;
}

void jit_store_free(struct jit_store *s)
{
	if (!s)
		return;
	cleanup_closep(&s->fd);
	cleanup_closep(&s->read_fd);
	quota_deinit(&s->quota);
	quota_deinit(&s->registration_quota);
	free(s->bodies);
	free(s->free_bodies);
	free(s);
}

bool jit_store_is_filling(const struct jit_store *s)
{
	return s->stats.nr_bytes > s->clean_above || s->has_many_gone ||
	       s->stats.nr_registrations > s->clean_registrations_above;
}

/* Objects take whole pages, so that the pages of one can be freed alone. */
static uint64_t room_of(uint64_t size_bytes)
{
	return (size_bytes + 4095) & ~4095ULL;
}

static uint64_t hash_body(const void *bytes, uint64_t size_bytes)
{
	return hash_bytes(size_bytes, bytes, size_bytes);
}

static int take_body(struct jit_store *s, uint32_t *ret)
{
	if (s->nr_free) {
		*ret = s->free_bodies[--s->nr_free];
		return 0;
	}
	/* Reserve room in the free list now, so that freeing cannot fail. */
	if (vec_grow(&s->free_bodies, &s->cap_free, s->nr_bodies + 1,
		     sizeof(*s->free_bodies), MAX_BODIES) ||
	    vec_grow(&s->bodies, &s->cap_bodies, s->nr_bodies + 1, sizeof(*s->bodies),
		     MAX_BODIES))
		return -ENOSPC;
	*ret = (uint32_t)s->nr_bodies++;
	return 0;
}

/* ---- cleaning ---- */

static void punch(struct jit_store *s, uint64_t offset, uint64_t size_bytes)
{
	fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		  (off_t)room_of(size_bytes));
}

static bool copy_bytes(struct jit_store *s, uint64_t from, uint64_t to,
		       uint64_t size_bytes)
{
	off_t in = (off_t)from, out = (off_t)to;

	while (size_bytes) {
		ssize_t n = copy_file_range(s->fd, &in, s->fd, &out, size_bytes, 0);

		if (n <= 0)
			return false;
		size_bytes -= (uint64_t)n;
	}
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const struct kept_object *x = *(struct kept_object *const *)a,
				 *y = *(struct kept_object *const *)b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Moves the objects to the beginning. Out of memory: tries again the next time. */
static void compact(struct jit_store *s)
{
	_cleanup_free_ struct kept_object **live =
		calloc(s->nr_bodies + 1, sizeof(*live));
	uint64_t end = 0;
	size_t nr = 0;

	if (!live)
		return;
	for (size_t i = 0; i < s->nr_bodies; i++)
		if (s->bodies[i].nr_refs)
			live[nr++] = &s->bodies[i];
	qsort(live, nr, sizeof(struct kept_object *), by_offset);
	for (size_t i = 0; i < nr; i++) {
		struct kept_object *b = live[i];

		/* Never overlapping: a failed copy must leave the original intact. */
		if (end + room_of(b->size_bytes) <= b->offset) {
			if (!copy_bytes(s, b->offset, end, b->size_bytes)) {
				punch(s, end, b->size_bytes);
				return;
			}
			punch(s, b->offset, b->size_bytes);
			b->offset = end;
		}
		end = b->offset + room_of(b->size_bytes);
	}
	if (!ftruncate(s->fd, (off_t)end))
		s->end_bytes = end;
}

void jit_store_was_cleaned(struct jit_store *s)
{
	if (s->end_bytes / SPREAD > s->max_bytes)
		compact(s);
	s->has_many_gone = false;
	s->clean_registrations_above =
		s->stats.nr_registrations +
		(JIT_STORE_MAX_REGISTRATIONS - s->stats.nr_registrations) / 2;
	s->clean_above = s->stats.nr_bytes + (s->max_bytes - s->stats.nr_bytes) / 2;
}

uint64_t jit_store_ends(const struct jit_store *s, const struct jit_object *o)
{
	const struct kept_object *b = &s->bodies[o->body];
	size_t len = hash_end_len(b->size_bytes);
	char first[HASH_END_BYTES], last[HASH_END_BYTES];

	if (pread(s->fd, first, len, (off_t)b->offset) != (ssize_t)len ||
	    pread(s->fd, last, len, (off_t)(b->offset + b->size_bytes - len)) !=
		    (ssize_t)len)
		return 0;
	return hash_ends(first, last, b->size_bytes);
}

void jit_store_share(struct jit_store *s)
{
	s->quota = (struct quota){.what = "bytes of code of JITs",
				  .loss = "some of its generated code has no names",
				  .max = s->max_bytes};
	s->registration_quota =
		(struct quota){.what = "objects of JITs",
			       .loss = "some of its generated code has no names",
			       .max = JIT_STORE_MAX_REGISTRATIONS};
}

/* ---- bodies ---- */

static int add_body(struct jit_store *s, const void *bytes, uint64_t size_bytes,
		    uint32_t *ret)
{
	uint32_t number;
	int err;

	if (size_bytes > s->max_bytes ||
	    room_of(size_bytes) > s->max_bytes - s->stats.nr_bytes ||
	    !quota_take(&s->quota, s->tenant, room_of(size_bytes)))
		return -ENOSPC;
	err = take_body(s, &number);
	if (err) {
		quota_give(&s->quota, s->tenant, room_of(size_bytes));
		return err;
	}
	err = lseek(s->fd, (off_t)s->end_bytes, SEEK_SET) < 0
		      ? -errno
		      : io_write_all(s->fd, bytes, size_bytes);
	if (err) {
		s->free_bodies[s->nr_free++] = number;
		quota_give(&s->quota, s->tenant, room_of(size_bytes));
		return err;
	}
	s->bodies[number] = (struct kept_object){.offset = s->end_bytes,
						 .size_bytes = size_bytes,
						 .hash = hash_body(bytes, size_bytes),
						 .serial = ++s->last_serial,
						 .tenant = s->tenant,
						 .nr_refs = 1};
	s->end_bytes += room_of(size_bytes);
	s->stats.nr_objects++;
	s->stats.nr_bytes += room_of(size_bytes);
	*ret = number;
	return 0;
}

static void put_body(struct jit_store *s, uint32_t number)
{
	struct kept_object *b = &s->bodies[number];

	if (--b->nr_refs)
		return;
	punch(s, b->offset, b->size_bytes);
	s->stats.nr_objects--;
	s->stats.nr_bytes -= room_of(b->size_bytes);
	quota_give(&s->quota, b->tenant, room_of(b->size_bytes));
	s->free_bodies[s->nr_free++] = number;
}

/* ---- registrations ---- */

static void put_object(struct jit_store *s, const struct jit_object *o)
{
	if (o->size_bytes)
		put_body(s, o->body);
}

void jit_code_drop(struct jit_code *c, struct jit_store *s)
{
	if (!c->nr_sharers || !--*c->nr_sharers) {
		for (size_t i = 0; i < c->nr; i++)
			put_object(s, &c->items[i]);
		s->stats.nr_registrations -= c->nr;
		quota_give(&s->registration_quota, c->payer, c->nr);
		hashmap_deinit(&c->live);
		free(c->items);
		free(c->nr_sharers);
	}
	c->nr_sharers = NULL;
	c->items = NULL;
	c->nr = c->cap = 0;
	c->live = (struct hashmap){0};
}

void jit_code_deinit(struct jit_code *c, struct jit_store *s)
{
	jit_code_drop(c, s);
	*c = (struct jit_code){0};
}

/* Its registrations are its own. */
static void change_payer(struct jit_code *c, struct jit_store *s)
{
	quota_give(&s->registration_quota, c->payer, c->nr);
	quota_add(&s->registration_quota, c->next_payer, c->nr);
	c->payer = c->next_payer;
}

void jit_code_charge(struct jit_code *c, struct jit_store *s, struct tenant who)
{
	c->next_payer = who;
	if (!tenant_is_same(c->payer, who) && (!c->nr_sharers || *c->nr_sharers == 1))
		change_payer(c, s);
}

static uint64_t hash_entry(uint64_t entry_addr)
{
	return hash_u64(0, entry_addr);
}

static bool entry_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct jit_code *c = ctx;

	return c->items[item].entry_addr == *(const uint64_t *)key;
}

static struct jit_object *find_live(const struct jit_code *c, uint64_t entry_addr)
{
	uint32_t i =
		hashmap_get(&c->live, hash_entry(entry_addr), entry_eq, &entry_addr, c);

	return i == HASHMAP_NONE ? NULL : &c->items[i];
}

static void end_object(struct jit_code *c, struct jit_object *o, uint64_t time_ns)
{
	hashmap_remove(&c->live, hash_entry(o->entry_addr), (uint32_t)(o - c->items));
	o->until_ns = time_ns;
	/*
	 * The first walk of a forked child may miss objects that only the parent had;
	 * that is not an unload.
	 */
	c->is_unloading |= c->is_unprobed && c->was_walked;
}

/* The caller has reserved room for one more. */
static int append(struct jit_code *c, struct jit_store *s, const struct jit_object *o)
{
	if (s->stats.nr_registrations >= JIT_STORE_MAX_REGISTRATIONS ||
	    !quota_take(&s->registration_quota, c->payer, 1))
		return -ENOSPC;
	if (o->until_ns == UINT64_MAX &&
	    hashmap_add(&c->live, hash_entry(o->entry_addr), (uint32_t)c->nr)) {
		quota_give(&s->registration_quota, c->payer, 1);
		return -ENOMEM;
	}
	c->items[c->nr++] = *o;
	s->stats.nr_registrations++;
	return 0;
}

/* Appends an object of another image. The caller has reserved room for it. */
static int append_copy(struct jit_code *c, struct jit_store *s,
		       const struct jit_object *o)
{
	int rc = append(c, s, o);

	if (!rc && o->size_bytes)
		s->bodies[o->body].nr_refs++;
	return rc;
}

/*
 * Is there room for a copy of the table? Who has none must not have it copied in vain at
 * each change.
 */
static bool has_room(const struct jit_code *c, struct jit_store *s)
{
	if (c->nr > JIT_STORE_MAX_REGISTRATIONS - s->stats.nr_registrations)
		return false;
	if (quota_has_room(&s->registration_quota, c->next_payer, c->nr))
		return true;
	quota_refuse(&s->registration_quota, c->next_payer, 1);
	return false;
}

/* Call before a change: copies a shared table. Return: 0, -ENOMEM or -ENOSPC. */
static int unshare(struct jit_code *c, struct jit_store *s)
{
	struct jit_code own = {.payer = c->next_payer};
	int rc;

	if (!c->nr_sharers)
		return 0;
	if (*c->nr_sharers == 1) {
		free(take_ptr(c->nr_sharers));
		change_payer(c, s);
		return 0;
	}
	if (!has_room(c, s))
		return -ENOSPC;
	rc = vec_grow(&own.items, &own.cap, c->nr, sizeof(*own.items), 0);
	for (size_t i = 0; !rc && i < c->nr; i++)
		rc = append_copy(&own, s, &c->items[i]);
	if (rc) {
		jit_code_drop(&own, s);
		return rc;
	}
	--*c->nr_sharers;
	c->nr_sharers = NULL;
	c->payer = own.payer;
	c->items = own.items;
	c->nr = own.nr;
	c->cap = own.cap;
	c->live = own.live;
	return 0;
}

static int share(struct jit_code *dst, struct jit_code *src)
{
	if (!src->nr)
		return 0;
	if (!src->nr_sharers) {
		src->nr_sharers = malloc(sizeof(*src->nr_sharers));
		if (!src->nr_sharers)
			return -ENOMEM;
		*src->nr_sharers = 1;
	}
	++*src->nr_sharers;
	dst->nr_sharers = src->nr_sharers;
	dst->items = src->items;
	dst->nr = src->nr;
	dst->cap = src->cap;
	dst->live = src->live;
	return 0;
}

static int copy_as_of(struct jit_code *dst, const struct jit_code *src,
		      struct jit_store *s, uint64_t time_ns)
{
	int rc = vec_grow(&dst->items, &dst->cap, src->nr, sizeof(*dst->items), 0);

	for (size_t i = 0; !rc && i < src->nr; i++) {
		struct jit_object o = src->items[i];

		if (o.from_ns > time_ns || o.until_ns <= time_ns)
			continue;
		o.until_ns = UINT64_MAX;
		rc = append_copy(dst, s, &o);
	}
	return rc;
}

int jit_code_copy(struct jit_code *dst, struct jit_code *src, struct jit_store *s,
		  uint64_t time_ns)
{
	int rc;

	dst->payer = src->payer;
	dst->next_payer = src->next_payer;
	rc = src->changed_ns <= time_ns ? share(dst, src)
					: copy_as_of(dst, src, s, time_ns);
	dst->changed_ns = src->changed_ns < time_ns ? src->changed_ns : time_ns;
	dst->is_lossy = rc || src->nr_lost || src->is_lossy;
	dst->walks.is_banned = src->walks.is_banned;
	memcpy(dst->descriptor_ips, src->descriptor_ips, sizeof(dst->descriptor_ips));
	memcpy(dst->probes, src->probes, sizeof(dst->probes));
	dst->is_unprobed = src->is_unprobed;
	dst->is_unloading = src->is_unloading;
	dst->walked_ns = src->walked_ns < time_ns ? src->walked_ns : time_ns;
	dst->nr_descriptors = src->nr_descriptors;
	dst->walks.nr_maps_checked = src->walks.nr_maps_checked;
	dst->walks.search_ns = src->walks.search_ns;
	dst->walk_wanted = src->walk_wanted;
	return rc;
}

static bool is_same(const struct jit_store *s, const struct jit_object *o,
		    const struct jit_registration *r)
{
	const struct kept_object *b;

	if (o->symfile_addr != r->symfile_addr)
		return false;
	if (!r->object) /* seen again by a walk that did not read the bytes again */
		return !o->size_bytes || o->size_bytes == r->size_bytes;
	if (!o->size_bytes)
		return false;
	b = &s->bodies[o->body];
	return b->size_bytes == r->size_bytes &&
	       b->hash == hash_body(r->object, r->size_bytes);
}

static int refuse(struct jit_code *c, struct jit_store *s)
{
	c->nr_lost++;
	c->is_refused = true;
	s->stats.nr_refused++;
	return -ENOSPC;
}

/* Adds the bytes, read by a walk, of an object that the probe could not copy. */
static int complete(struct jit_code *c, struct jit_store *s,
		    const struct jit_registration *r)
{
	struct jit_object *o = find_live(c, r->entry_addr);

	if (add_body(s, r->object, r->size_bytes, &o->body)) {
		s->stats.nr_refused++;
		return -ENOSPC;
	}
	o->size_bytes = r->size_bytes;
	/*
	 * An earlier walk that could not read the bytes may have seen another object
	 * here.
	 */
	if (o->seen_ns)
		o->seen_ns = r->seen_ns;
	if (c->nr_lost) /* a fork's missing object is counted in its parent */
		c->nr_lost--;
	return 0;
}

static void note_change(struct jit_code *c, struct jit_store *s, uint64_t time_ns)
{
	if (c->changed_ns < time_ns)
		c->changed_ns = time_ns;
	c->nr_changes++;
	s->stats.nr_changes++;
	s->has_many_gone |= c->nr - c->live.nr_items > MANY_GONE;
}

/*
 * Adds a new registration. The caller has ended the one with the same entry. Return: 0
 * or -ENOSPC.
 */
static int add_new(struct jit_code *c, struct jit_store *s,
		   const struct jit_registration *r)
{
	struct jit_object o = {.entry_addr = r->entry_addr,
			       .symfile_addr = r->symfile_addr,
			       .from_ns = r->time_ns,
			       .seen_ns = r->seen_ns,
			       .until_ns = UINT64_MAX};
	bool has_bytes = r->object && r->size_bytes;

	if (vec_grow(&c->items, &c->cap, c->nr + 1, sizeof(*c->items),
		     JIT_CODE_MAX_OBJECTS) ||
	    (has_bytes && add_body(s, r->object, r->size_bytes, &o.body)))
		return refuse(c, s);
	if (has_bytes)
		o.size_bytes = r->size_bytes;
	if (append(c, s, &o)) {
		put_object(s, &o);
		return refuse(c, s);
	}
	c->nr_lost += !has_bytes;
	return 0;
}

int jit_code_register(struct jit_code *c, struct jit_store *s,
		      const struct jit_registration *r)
{
	struct jit_object *known = find_live(c, r->entry_addr);
	bool is_completed;

	if (known && is_same(s, known, r))
		return 0;
	jit_code_charge(c, s, s->tenant);
	if (unshare(c, s))
		return refuse(c, s);
	known = find_live(c, r->entry_addr);
	is_completed = known && !known->size_bytes && r->object &&
		       known->symfile_addr == r->symfile_addr;
	note_change(c, s, r->time_ns);
	if (known && !is_completed) {
		uint64_t until_ns = r->seen_ns > r->time_ns && !c->is_unprobed
					    ? r->seen_ns
					    : r->time_ns;

		end_object(c, known, until_ns);
		note_change(c, s, until_ns);
	}
	return is_completed ? complete(c, s, r) : add_new(c, s, r);
}

void jit_code_unregister(struct jit_code *c, struct jit_store *s, uint64_t entry_addr,
			 uint64_t time_ns)
{
	if (!find_live(c, entry_addr))
		return;
	/*
	 * Out of memory: it stays registered. A newer object at its address takes
	 * precedence.
	 */
	if (unshare(c, s)) {
		c->is_lossy = true;
		return;
	}
	end_object(c, find_live(c, entry_addr), time_ns);
	note_change(c, s, time_ns);
}

static size_t count_gone(const struct jit_code *c, uint64_t before_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr && c->live.nr_items < c->nr; i++)
		nr += c->items[i].until_ns <= before_ns;
	return nr;
}

void jit_code_forget(struct jit_code *c, struct jit_store *s, uint64_t before_ns)
{
	size_t gone = count_gone(c, before_ns), kept = 0;

	/* Copying a shared table must free more than it costs. */
	if (!gone || (c->nr_sharers && *c->nr_sharers > 1 && gone <= c->nr / 2) ||
	    unshare(c, s))
		return;
	for (size_t i = 0; i < c->nr; i++) {
		struct jit_object *o = &c->items[i];

		if (o->until_ns <= before_ns) {
			put_object(s, o);
			continue;
		}
		if (kept != i && o->until_ns == UINT64_MAX) {
			uint64_t hash = hash_entry(o->entry_addr);

			hashmap_remove(&c->live, hash, (uint32_t)i);
			hashmap_add(&c->live, hash, (uint32_t)kept); /* has room */
		}
		c->items[kept++] = *o;
	}
	s->stats.nr_registrations -= c->nr - kept;
	quota_give(&s->registration_quota, c->payer, c->nr - kept);
	c->nr = kept;
	/* Refused objects may still be on the list, and now there is room for them. */
	c->walk_wanted |= c->is_refused;
	if (c->is_refused)
		c->walks.walk_after_ns = 0;
	c->is_refused = false;
}
