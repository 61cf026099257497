// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Order of writes: the walk reads while we write. Rows come before the page that refers
 * to them, segments before their stamp, the stamp before the process. Removal has the
 * opposite order, and freed space rests until a grace period ends.
 */
#include "unwind/tables.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/search.h"
#include "base/vec.h"
#include "collect/kmap.h"
#include "lineburn_unwind.h"
#include "unwind/page_runs.h"
#include "unwind/row_slabs.h"
#include "unwind/segment_runs.h"

/* ---- rules ---- */

/* The array of distinct rules in the kernel. Rules are never removed. */
struct rules {
	struct lb_unwind_rule *items; /* LB_UNWIND_MAX_RULES of them, mapped */
	uint32_t nr;
	struct hashmap index;
	uint64_t nr_refused; /* over the maximum, or no memory */
};

#define RULES_BYTES (LB_UNWIND_MAX_RULES * sizeof(struct lb_unwind_rule))

enum {
	RULE_NONE,
	RULE_UNSUPPORTED
};

static uint64_t hash_of(const struct lb_unwind_rule *rule)
{
	return hash_bytes(0, rule, sizeof(*rule));
}

static bool rule_eq(uint32_t item, const void *key, const void *ctx)
{
	return !memcmp(&((const struct rules *)ctx)->items[item], key,
		       sizeof(struct lb_unwind_rule));
}

/**
 * Finds or adds @rule. Return: its number; {LB_CFA_UNSUPPORTED}'s (counted) without room.
 */
static uint16_t rules_add(struct rules *r, const struct lb_unwind_rule *rule)
{
	uint64_t hash = hash_of(rule);
	uint32_t known = hashmap_find(&r->index, hash, rule_eq, rule, r);

	if (known != HASHMAP_NONE)
		return (uint16_t)known;
	if (r->nr == LB_UNWIND_MAX_RULES || hashmap_add(&r->index, hash, r->nr)) {
		r->nr_refused++;
		return RULE_UNSUPPORTED;
	}
	r->items[r->nr] = *rule;
	return (uint16_t)r->nr++;
}

/** @fd  the kernel's array; borrowed. Return: 0 or -errno. */
static int rules_init(struct rules *r, int fd)
{
	struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	struct lb_unwind_rule unsupported = {.cfa = LB_CFA_UNSUPPORTED};

	*r = (struct rules){.items = kmap_map(fd, RULES_BYTES)};
	if (!r->items)
		return -errno;
	if (rules_add(r, &none) != RULE_NONE ||
	    rules_add(r, &unsupported) != RULE_UNSUPPORTED || r->nr != 2)
		return -ENOMEM;
	return 0;
}

static void rules_deinit(struct rules *r)
{
	kmap_unmap(r->items, RULES_BYTES);
	hashmap_deinit(&r->index);
	*r = (struct rules){0};
}

#define DEFAULT_ROW_BYTES (64ull << 20)
/* Part kept free by evicting ahead: evicted room is reusable one grace period later. */
#define RESERVE_PART 16
/* Pages age only from this fill level on; below it, no eviction is near. */
#define AGE_PART 2

struct known_process {
	struct lb_image image;
	uint32_t run; /* of segments */
	uint32_t interp;
	int32_t interp_tls_off;
	uint64_t interp_bias;
};

struct unwind_tables {
	struct unwind_kmaps maps;
	struct row_slabs slabs;
	struct page_runs pages;
	struct rules rules;
	struct segment_runs runs;
	uint64_t max_rows;
	bool is_object_removed; /* since the last grace */

	struct known_process
		*processes; /* heap; entries of free_processes are not in use */
	size_t nr_processes, cap_processes;
	uint32_t *free_processes; /* heap */
	size_t nr_free, cap_free;
	struct hashmap by_image;

	struct lb_interp interps[LB_MAX_INTERPS];
	uint32_t nr_interps;

	uint64_t nr_evicted, nr_refused_pages, nr_refused_processes;
};

int unwind_tables_new(const struct unwind_tables_config *config,
		      const struct unwind_kmaps *maps, struct unwind_tables **ret,
		      struct error *err)
{
	_cleanup_(unwind_tables_freep) struct unwind_tables *t = calloc(1, sizeof(*t));
	uint64_t max_bytes = config->max_row_bytes ? config->max_row_bytes
						   : DEFAULT_ROW_BYTES;
	int rc;

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->maps = *maps;
	row_slabs_init(&t->slabs, maps->slabs_fd, max_bytes);
	t->max_rows = (uint64_t)t->slabs.max * LB_SLAB_ROWS;
	rc = page_runs_init(&t->pages, maps->pages_fd);
	if (!rc)
		rc = rules_init(&t->rules, maps->rules_fd);
	if (!rc)
		rc = segment_runs_init(&t->runs, maps->segments_fd);
	/* Create the first slab now: that waits for running programs. */
	if (!rc)
		rc = row_slabs_grow(&t->slabs);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot make the unwind tables: %m");
	}
	*ret = take_ptr(t);
	return 0;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	row_slabs_deinit(&t->slabs);
	page_runs_deinit(&t->pages);
	rules_deinit(&t->rules);
	segment_runs_deinit(&t->runs);
	hashmap_deinit(&t->by_image);
	free(t->processes);
	free(t->free_processes);
	free(t);
}

/* ---- objects ---- */

uint32_t unwind_object_add(struct unwind_tables *t, uint64_t nr_pages)
{
	uint32_t object = page_runs_add(&t->pages, nr_pages);

	if (object == SPANS_NONE) {
		t->nr_refused_pages += nr_pages;
		return UNWIND_NO_OBJECT;
	}
	return object;
}

/* Return: rows that will be free after the next grace. */
static uint32_t clear_page(struct unwind_tables *t, uint32_t page)
{
	uint32_t first, nr_rows = page_runs_clear(&t->pages, page, &first);

	if (nr_rows)
		row_slabs_remove(&t->slabs, first, nr_rows);
	return nr_rows;
}

void unwind_object_remove(struct unwind_tables *t, uint32_t object)
{
	for (uint32_t i = 0; i < t->pages.run_pages[object]; i++)
		clear_page(t, object + i);
	page_runs_remove(&t->pages, object);
	t->is_object_removed = true;
}

static void evict(struct unwind_tables *t, uint64_t nr_rows)
{
	struct page_cursor cursor = {0};
	uint64_t freed = 0;

	while (freed < nr_rows) {
		uint32_t page = page_runs_idlest(&t->pages, nr_rows, &cursor);

		if (page == SPANS_NONE)
			return;
		freed += clear_page(t, page);
		t->nr_evicted++;
	}
}

/* Maps the reply's rule numbers to ours. Return: heap; NULL: out of memory. */
static uint16_t *translate_rules(struct unwind_tables *t, const struct row_pages *pages)
{
	uint16_t *numbers = calloc(pages->nr_rules + 1, sizeof(*numbers));

	for (size_t i = 0; numbers && i < pages->nr_rules; i++)
		numbers[i] = rules_add(&t->rules, &pages->rules[i]);
	return numbers;
}

/* @rows  room for LB_SLAB_ROWS */
static int fill_page(struct unwind_tables *t, uint32_t page, const struct row_page *p,
		     const uint16_t *rules, struct lb_unwind_row *rows)
{
	uint32_t first;

	for (uint32_t i = 0; i < p->nr_rows; i++)
		rows[i] =
			(struct lb_unwind_row){p->rows[i].pc_low, rules[p->rows[i].rule]};
	if (row_slabs_add(&t->slabs, rows, p->nr_rows, &first)) {
		t->nr_refused_pages++;
		return -ENOSPC;
	}
	page_runs_set(&t->pages, page, first, p->nr_rows);
	return 0;
}

static const struct row_page *find_page(const struct row_pages *pages, uint64_t page)
{
	size_t lo = SEARCH_FIRST(i, pages->nr_pages, pages->pages[i].page >= page);

	return lo < pages->nr_pages && pages->pages[lo].page == page ? &pages->pages[lo]
								     : NULL;
}

int unwind_object_fill(struct unwind_tables *t, uint32_t object,
		       const struct row_pages *pages, const uint64_t *asked,
		       size_t nr_asked)
{
	uint32_t nr = t->pages.run_pages[object];
	_cleanup_free_ uint16_t *rules = translate_rules(t, pages);
	_cleanup_free_ struct lb_unwind_row *rows = malloc(ROW_SLAB_BYTES);
	uint64_t nr_wanting = 0;

	if (!rules || !rows)
		return -ENOSPC;
	for (size_t i = 0; i < pages->nr_pages; i++) {
		const struct row_page *p = &pages->pages[i];

		if (p->page < nr &&
		    page_is_absent(&t->pages, object + (uint32_t)p->page) &&
		    fill_page(t, object + (uint32_t)p->page, p, rules, rows))
			nr_wanting += p->nr_rows;
	}
	for (uint32_t i = 0; pages->whole && i < nr; i++)
		if (page_is_absent(&t->pages, object + i) && !find_page(pages, i))
			page_runs_set_empty(&t->pages, object + i);
	for (size_t i = 0; !pages->whole && i < nr_asked; i++)
		if (asked[i] < nr &&
		    page_is_absent(&t->pages, object + (uint32_t)asked[i]) &&
		    !find_page(pages, asked[i]))
			page_runs_set_empty(&t->pages, object + (uint32_t)asked[i]);
	if (nr_wanting)
		evict(t, nr_wanting);
	return nr_wanting ? -ENOSPC : 0;
}

bool unwind_page_is_absent(const struct unwind_tables *t, uint32_t object, uint64_t page)
{
	return page < t->pages.run_pages[object] &&
	       page_is_absent(&t->pages, object + (uint32_t)page);
}

/* ---- processes ---- */

static uint64_t hash_image(const struct lb_image *image)
{
	return hash_bytes(0, image, sizeof(*image));
}

static bool image_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct unwind_tables *t = ctx;

	return !memcmp(&t->processes[item].image, key, sizeof(struct lb_image));
}

static struct known_process *find_process(const struct unwind_tables *t,
					  const struct lb_image *image)
{
	uint32_t i = hashmap_find(&t->by_image, hash_image(image), image_eq, image, t);

	return i == HASHMAP_NONE ? NULL : &t->processes[i];
}

static struct known_process *add_process(struct unwind_tables *t,
					 const struct lb_image *image)
{
	uint32_t i = (uint32_t)t->nr_processes;

	if (t->nr_free)
		i = t->free_processes[t->nr_free - 1];
	else if (vec_grow(&t->free_processes, &t->cap_free, t->nr_processes + 1,
			  sizeof(*t->free_processes), LB_UNWIND_MAX_PROCESSES) ||
		 vec_grow(&t->processes, &t->cap_processes, t->nr_processes + 1,
			  sizeof(*t->processes), LB_UNWIND_MAX_PROCESSES))
		return NULL;
	if (hashmap_add(&t->by_image, hash_image(image), i))
		return NULL;
	if (t->nr_free)
		t->nr_free--;
	else
		t->nr_processes++;
	t->processes[i] = (struct known_process){.image = *image};
	return &t->processes[i];
}

static void forget_process(struct unwind_tables *t, const struct known_process *p)
{
	uint32_t i = (uint32_t)(p - t->processes);

	hashmap_remove(&t->by_image, hash_image(&p->image), i);
	t->free_processes[t->nr_free++] = i;
}

static int tell_kernel(struct unwind_tables *t, const struct known_process *p)
{
	const struct segment_run *run = &t->runs.items[p->run];
	struct lb_unwind_process value = {.generation = run->generation,
					  .stamp = run->stamp,
					  .nr_segments = run->nr,
					  .interp = p->interp,
					  .interp_tls_off = p->interp_tls_off,
					  .interp_bias = p->interp_bias};

	return kmap_update(t->maps.processes_fd, &p->image, &value);
}

int unwind_process_set(struct unwind_tables *t, const struct lb_image *image,
		       const struct lb_unwind_segment *segments, size_t nr,
		       uint32_t interp, int32_t interp_tls_off, uint64_t interp_bias)
{
	struct known_process *known = find_process(t, image);
	struct known_process next = {.image = *image,
				     .interp = interp,
				     .interp_tls_off = interp_tls_off,
				     .interp_bias = interp_bias};
	uint32_t replaced = HASHMAP_NONE;
	int rc = segment_runs_get(&t->runs, segments, nr, &next.run);

	if (rc) {
		t->nr_refused_processes++;
		return rc;
	}
	if (!known)
		known = add_process(t, image);
	else
		replaced = known->run;
	rc = known ? tell_kernel(t, &next) : -ENOSPC;
	if (rc) {
		segment_runs_put(&t->runs, next.run);
		if (known && replaced == HASHMAP_NONE)
			forget_process(t, known);
		t->nr_refused_processes++;
		return rc == -E2BIG ? -ENOSPC : rc;
	}
	*known = next;
	if (replaced != HASHMAP_NONE)
		segment_runs_put(&t->runs, replaced);
	return 0;
}

void unwind_process_remove(struct unwind_tables *t, const struct lb_image *image)
{
	const struct known_process *known = find_process(t, image);

	kmap_delete(t->maps.processes_fd, image);
	if (!known)
		return;
	segment_runs_put(&t->runs, known->run);
	forget_process(t, known);
}

uint32_t unwind_interp_add(struct unwind_tables *t, const struct lb_interp *interp)
{
	uint32_t i = 0;

	while (i < t->nr_interps && memcmp(&t->interps[i], interp, sizeof(*interp)) != 0)
		i++;
	if (i == LB_MAX_INTERPS)
		return 0;
	if (i == t->nr_interps) {
		if (kmap_update(t->maps.interps_fd, &i, interp))
			return 0;
		t->interps[t->nr_interps++] = *interp;
	}
	return i + 1;
}

/* ---- upkeep ---- */

/* Evicts ahead, so that the next page does not wait for a slab or an eviction. */
static void keep_reserve(struct unwind_tables *t)
{
	uint64_t left = row_slabs_nr_left(&t->slabs), max = t->max_rows;
	uint64_t reserve = max / RESERVE_PART;

	if (t->slabs.is_refused)
		max = (uint64_t)t->slabs.nr * LB_SLAB_ROWS;
	if (row_slabs_nr_free(&t->slabs) < LB_SLAB_ROWS / 2)
		row_slabs_grow(&t->slabs);
	if (left < max - max / AGE_PART)
		page_runs_age(&t->pages);
	if (left < reserve)
		evict(t, reserve - left);
}

void unwind_tables_grace(struct unwind_tables *t)
{
	/* The walk's cache of removed objects must not be used for new ones. */
	if (t->is_object_removed)
		++*t->maps.pages_generation;
	t->is_object_removed = false;
	row_slabs_grace(&t->slabs);
	page_runs_grace(&t->pages);
	segment_runs_grace(&t->runs);
	keep_reserve(t);
}

void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *ret)
{
	*ret = (struct unwind_tables_stats){
		.nr_objects = t->pages.nr_runs,
		.nr_pages = t->pages.nr_pages,
		.nr_rows = t->pages.nr_rows,
		.nr_rules = t->rules.nr,
		.nr_processes = t->nr_processes - t->nr_free,
		.nr_segments = t->runs.nr_segments,
		.nr_evicted = t->nr_evicted,
		.nr_refused_rules = t->rules.nr_refused,
		.nr_refused_pages = t->nr_refused_pages,
		.nr_refused_processes = t->nr_refused_processes,
		.row_bytes = t->slabs.nr * ROW_SLAB_BYTES,
	};
}
