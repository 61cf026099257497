// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Order of writes, because the kernel's walk reads the tables meanwhile: rows before
 * the page that refers to them, segments before their stamp, the stamp before the
 * process. Removal has the opposite order, and freed space is not reused before a grace
 * period ends.
 */
#include "unwind/tables.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/quota.h"
#include "base/job.h"
#include "base/search.h"
#include "base/vec.h"
#include "collect/kmap.h"
#include "lineburn_unwind.h"

/* ---- parts of an array ---- */

struct span {
	uint32_t start, nr;
};

/*
 * Allocates parts of an array. Freed parts rest until no reader of them can still run,
 * and are reused then.
 */
struct spans {
	struct span *free; /* in order of start, none touches another; heap */
	struct span *resting; /* freed, not yet reusable; heap */
	size_t nr_free_spans, cap_free;
	size_t nr_resting_spans, cap_resting;
	size_t nr_taken; /* spans, including resting ones */
	uint64_t nr_free; /* items */
};

#define SPANS_NONE UINT32_MAX

/* Makes all of [0, @nr) free. Return: 0 or -ENOMEM. */
static int spans_init(struct spans *s, uint32_t nr)
{
	if (vec_grow(&s->free, &s->cap_free, 1, sizeof(*s->free), 0))
		return -ENOMEM;
	s->free[0] = (struct span){0, nr};
	s->nr_free_spans = nr > 0;
	s->nr_free = nr;
	return 0;
}

static void spans_deinit(struct spans *s)
{
	free(s->free);
	free(s->resting);
}

static void remove_free(struct spans *s, size_t at)
{
	s->nr_free_spans--;
	memmove(s->free + at, s->free + at + 1,
		(s->nr_free_spans - at) * sizeof(*s->free));
}

/*
 * Allocates @nr (1 or more) consecutive items, first fit. Return: their start;
 * SPANS_NONE: no room.
 */
static uint32_t spans_take(struct spans *s, uint32_t nr)
{
	uint32_t start;
	size_t at = 0;

	while (at < s->nr_free_spans && s->free[at].nr < nr)
		at++;
	/*
	 * n allocated spans have at most n + 1 free ones between them: reserve room, so
	 * that freeing cannot fail.
	 */
	if (at == s->nr_free_spans ||
	    vec_grow(&s->free, &s->cap_free, s->nr_taken + 2, sizeof(*s->free), 0) ||
	    vec_grow(&s->resting, &s->cap_resting, s->nr_taken + 1, sizeof(*s->resting),
		     0))
		return SPANS_NONE;
	start = s->free[at].start;
	s->free[at].start += nr;
	s->free[at].nr -= nr;
	if (!s->free[at].nr)
		remove_free(s, at);
	s->nr_taken++;
	s->nr_free -= nr;
	return start;
}

/* Frees all items of a spans_take(@nr) after a rest; cannot fail. */
static void spans_rest(struct spans *s, uint32_t start, uint32_t nr)
{
	s->resting[s->nr_resting_spans++] = (struct span){start, nr};
}

static void add_free_span(struct spans *s, const struct span *span)
{
	/* Index of the first free span above. */
	size_t at = SEARCH_FIRST(i, s->nr_free_spans, s->free[i].start > span->start);
	struct span *below = at ? &s->free[at - 1] : NULL;
	struct span *above = at < s->nr_free_spans ? &s->free[at] : NULL;

	s->nr_free += span->nr;
	s->nr_taken--;
	if (below && below->start + below->nr == span->start) {
		below->nr += span->nr;
		if (above && below->start + below->nr == above->start) {
			below->nr += above->nr;
			remove_free(s, at);
		}
		return;
	}
	if (above && span->start + span->nr == above->start) {
		above->start = span->start;
		above->nr += span->nr;
		return;
	}
	memmove(s->free + at + 1, s->free + at,
		(s->nr_free_spans - at) * sizeof(*s->free));
	s->free[at] = *span;
	s->nr_free_spans++;
}

/* Makes resting items free. Call it after a grace period. */
static void spans_wake(struct spans *s)
{
	for (size_t i = 0; i < s->nr_resting_spans; i++)
		add_free_span(s, &s->resting[i]);
	s->nr_resting_spans = 0;
}

/* ---- rules ---- */

/*
 * The array of distinct rules in the kernel. Like a span, a rule that no row uses any more
 * rests until no reader can still run; then its place is free.
 */
struct rules {
	struct lb_unwind_rule *items; /* LB_UNWIND_MAX_RULES of them, mapped */
	struct rule_use {
		uint32_t nr_refs; /* rows, and fills that have begun */
		struct tenant tenant; /* for whom it was added */
		bool is_resting; /* it is in resting */
	} * uses; /* as many; heap */
	uint16_t *free, *resting; /* numbers; same */
	size_t nr_free, nr_resting;
	uint32_t top; /* places from here on were never used */
	struct hashmap index;
	struct quota quota;
	uint64_t nr_refused; /* over a maximum, or no memory */
};

#define RULES_BYTES (LB_UNWIND_MAX_RULES * sizeof(struct lb_unwind_rule))

enum {
	RULE_NONE,
	RULE_UNSUPPORTED
};

static bool rule_eq(uint32_t item, const void *key, const void *ctx)
{
	return !memcmp(&((const struct rules *)ctx)->items[item], key,
		       sizeof(struct lb_unwind_rule));
}

static uint64_t rule_hash(const struct lb_unwind_rule *rule)
{
	return hash_bytes(0, rule, sizeof(*rule));
}

static uint32_t nr_rules(const struct rules *r)
{
	return r->top - (uint32_t)r->nr_free;
}

/* Return: its number, or HASHMAP_NONE: no room. */
static uint32_t add_rule(struct rules *r, const struct payers *payers, uint64_t hash,
			 const struct lb_unwind_rule *rule)
{
	uint32_t number = r->nr_free ? r->free[r->nr_free - 1] : r->top;
	struct tenant who;

	if (number == LB_UNWIND_MAX_RULES || !quota_take_any(&r->quota, payers, 1, &who))
		return HASHMAP_NONE;
	if (hashmap_add(&r->index, hash, number)) {
		quota_give(&r->quota, who, 1);
		return HASHMAP_NONE;
	}
	if (r->nr_free)
		r->nr_free--;
	else
		r->top++;
	r->items[number] = *rule;
	r->uses[number] = (struct rule_use){.tenant = who};
	return number;
}

/*
 * Takes a reference to @rule, which is added if needed. Return: its number; without room
 * that of {LB_CFA_UNSUPPORTED} (counted).
 */
static uint16_t rules_get(struct rules *r, const struct payers *payers,
			  const struct lb_unwind_rule *rule)
{
	uint64_t hash = rule_hash(rule);
	uint32_t number = hashmap_get(&r->index, hash, rule_eq, rule, r);

	if (number == HASHMAP_NONE)
		number = add_rule(r, payers, hash, rule);
	if (number == HASHMAP_NONE) {
		r->nr_refused++;
		number = RULE_UNSUPPORTED;
	}
	r->uses[number].nr_refs++;
	return (uint16_t)number;
}

static void rules_put(struct rules *r, uint16_t number)
{
	struct rule_use *use = &r->uses[number];

	if (--use->nr_refs || use->is_resting)
		return;
	use->is_resting = true;
	r->resting[r->nr_resting++] = number;
}

/* Frees the rules that still have no reference. Call it after a grace period. */
static void rules_wake(struct rules *r)
{
	for (size_t i = 0; i < r->nr_resting; i++) {
		uint16_t number = r->resting[i];
		struct rule_use *use = &r->uses[number];

		use->is_resting = false;
		if (use->nr_refs)
			continue;
		hashmap_remove(&r->index, rule_hash(&r->items[number]), number);
		quota_give(&r->quota, use->tenant, 1);
		r->free[r->nr_free++] = number;
	}
	r->nr_resting = 0;
}

/* @fd  the kernel's array; borrowed. Return: 0 or -errno. */
static int rules_init(struct rules *r, int fd)
{
	static const struct payers nobody;
	struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	struct lb_unwind_rule unsupported = {.cfa = LB_CFA_UNSUPPORTED};

	r->items = kmap_map(fd, RULES_BYTES);
	if (!r->items)
		return -errno;
	r->uses = calloc(LB_UNWIND_MAX_RULES, sizeof(*r->uses));
	r->free = calloc(LB_UNWIND_MAX_RULES, sizeof(*r->free));
	r->resting = calloc(LB_UNWIND_MAX_RULES, sizeof(*r->resting));
	/* These two keep a reference for ever. */
	if (!r->uses || !r->free || !r->resting ||
	    rules_get(r, &nobody, &none) != RULE_NONE ||
	    rules_get(r, &nobody, &unsupported) != RULE_UNSUPPORTED || r->top != 2)
		return -ENOMEM;
	return 0;
}

static void rules_deinit(struct rules *r)
{
	kmap_unmap(r->items, RULES_BYTES);
	free(r->uses);
	free(r->free);
	free(r->resting);
	hashmap_deinit(&r->index);
	quota_deinit(&r->quota);
}

/* ---- rows ---- */

#define SLAB_BYTES ((uint64_t)LB_SLAB_ROWS * sizeof(struct lb_unwind_row))
/* Rows per allocated piece; larger pieces cause less fragmentation. */
#define PIECE_ROWS 16

struct row_slab {
	int fd;
	struct lb_unwind_row *rows; /* LB_SLAB_ROWS of them, mapped */
	struct spans pieces;
};

/*
 * The update that tells the kernel of a slab. It waits for an RCU grace period, some 15
 * ms, which is for an entry that is replaced. Here none is: the walk knows a new slab at
 * once. So a thread waits.
 */
struct slab_update {
	struct job *job;
	int slabs_fd, slab_fd;
	uint32_t index;
};

/*
 * The kernel's memory for rows: slabs of 1 MiB, created on demand and written through a
 * mapping. A run of rows never crosses a slab.
 */
struct row_slabs {
	int slabs_fd; /* the kernel's array of slabs; borrowed */
	struct row_slab *items; /* heap */
	size_t nr, cap, max;
	bool is_refused; /* the kernel refused another slab: no more are created */
	struct slab_update update;
};

static uint32_t nr_pieces(uint32_t nr_rows)
{
	return (nr_rows + PIECE_ROWS - 1) / PIECE_ROWS;
}

static void slab_deinit(struct row_slab *slab)
{
	kmap_unmap(slab->rows, SLAB_BYTES);
	cleanup_closep(&slab->fd);
	spans_deinit(&slab->pieces);
}

static void slabs_deinit(struct row_slabs *s)
{
	job_free(s->update.job); /* first: it uses a slab's descriptor */
	for (size_t i = 0; i < s->nr; i++)
		slab_deinit(&s->items[i]);
	free(s->items);
}

static int slab_init(struct row_slab *slab)
{
	slab->fd = kmap_new_slab();
	if (slab->fd < 0)
		return slab->fd;
	slab->rows = kmap_map(slab->fd, SLAB_BYTES);
	if (!slab->rows)
		return -errno;
	return spans_init(&slab->pieces, LB_SLAB_ROWS / PIECE_ROWS);
}

static int update_slab(void *ctx)
{
	const struct slab_update *u = ctx;

	return kmap_update(u->slabs_fd, &u->index, &u->slab_fd);
}

/* Tells the kernel of the slab after the last one. Return: 0 or -errno. */
static int tell_of_slab(struct row_slabs *s, const struct row_slab *slab)
{
	static const struct timespec pause = {.tv_nsec = 50000};
	struct slab_update *u = &s->update;

	if (job_is_started(u->job))
		job_finish(u->job);
	u->slabs_fd = s->slabs_fd;
	u->slab_fd = slab->fd;
	u->index = (uint32_t)s->nr;
	job_start(u->job, update_slab, u);
	while (!kmap_has(s->slabs_fd, u->index)) {
		if (job_wait(u->job, 0))
			return job_finish(u->job);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Creates another slab. Return: 0, -ENOSPC or -errno. */
static int slabs_grow(struct row_slabs *s)
{
	struct row_slab *slab;
	int rc;

	if (s->is_refused || s->nr == s->max ||
	    vec_grow(&s->items, &s->cap, s->nr + 1, sizeof(*s->items), s->max))
		return -ENOSPC;
	slab = &s->items[s->nr];
	*slab = (struct row_slab){.fd = -1};
	rc = slab_init(slab);
	if (!rc)
		rc = tell_of_slab(s, slab);
	if (rc) {
		s->is_refused = true;
		slab_deinit(slab);
		return rc;
	}
	s->nr++;
	return 0;
}

/*
 * Copies @nr rows (1..LB_SLAB_ROWS). @ret_first: as in struct lb_unwind_page.
 * Return: 0, or -ENOSPC.
 */
static int add_rows(struct row_slabs *s, const struct lb_unwind_row *rows, uint32_t nr,
		    uint32_t *ret_first)
{
	for (size_t i = 0; i < s->nr || !slabs_grow(s); i++) {
		struct row_slab *slab = &s->items[i];
		uint32_t at = SPANS_NONE;

		if (slab->pieces.nr_free >= nr_pieces(nr))
			at = spans_take(&slab->pieces, nr_pieces(nr));
		if (at == SPANS_NONE)
			continue;
		memcpy(slab->rows + (size_t)at * PIECE_ROWS, rows, nr * sizeof(*rows));
		*ret_first = (uint32_t)i * LB_SLAB_ROWS + at * PIECE_ROWS;
		return 0;
	}
	return -ENOSPC;
}

/* ---- pages ---- */

#define PAGES_BYTES (LB_UNWIND_MAX_PAGES * sizeof(struct lb_unwind_page))

/* Pages of all objects in the kernel's array: each object has a run of pages. */
struct page_runs {
	struct lb_unwind_page *pages; /* LB_UNWIND_MAX_PAGES of them, mapped */
	struct spans spans;
	/* length of the run that begins at this page; 0: none; heap */
	uint32_t *run_pages;
	uint32_t *run_of; /* first page of the run that this page is in; heap */
	struct tenant *tenants; /* who paid for the run that begins at this page; heap */
	struct payers *payers; /* who share it; heap */
	struct quota quota, row_quota; /* of pages, of their rows */
	uint32_t hand; /* of the clock algorithm: where the last eviction ended */
	uint32_t top; /* pages from here on were never used */
	uint64_t nr_runs, nr_pages; /* held */
	uint64_t nr_rows; /* held by pages */
};

/* @fd  the kernel's array; borrowed. Return: 0 or -errno. */
static int pages_init(struct page_runs *r, int fd)
{
	r->pages = kmap_map(fd, PAGES_BYTES);
	if (!r->pages)
		return -errno;
	r->run_pages = calloc(LB_UNWIND_MAX_PAGES, sizeof(*r->run_pages));
	r->run_of = calloc(LB_UNWIND_MAX_PAGES, sizeof(*r->run_of));
	r->tenants = calloc(LB_UNWIND_MAX_PAGES, sizeof(*r->tenants));
	r->payers = calloc(LB_UNWIND_MAX_PAGES, sizeof(*r->payers));
	if (!r->run_pages || !r->run_of || !r->tenants || !r->payers)
		return -ENOMEM;
	return spans_init(&r->spans, LB_UNWIND_MAX_PAGES);
}

static void pages_deinit(struct page_runs *r)
{
	kmap_unmap(r->pages, PAGES_BYTES);
	spans_deinit(&r->spans);
	free(r->run_pages);
	free(r->run_of);
	free(r->tenants);
	free(r->payers);
	quota_deinit(&r->quota);
	quota_deinit(&r->row_quota);
}

static struct tenant tenant_of_page(const struct page_runs *r, uint32_t page)
{
	return r->tenants[r->run_of[page]];
}

static bool page_is_absent(const struct page_runs *r, uint32_t page)
{
	return r->pages[page].state == LB_PAGE_ABSENT;
}

/* Stores a page as one word, which the walk reads atomically. */
static void set_page(struct page_runs *r, uint32_t page, struct lb_unwind_page value)
{
	union {
		struct lb_unwind_page page;
		uint64_t word;
	} u = {.page = value};

	__atomic_store_n((uint64_t *)&r->pages[page], u.word, __ATOMIC_RELEASE);
}

static void set_empty(struct page_runs *r, uint32_t page)
{
	set_page(r, page, (struct lb_unwind_page){.state = LB_PAGE_EMPTY});
}

/* ---- segments ---- */

#define SEGMENTS_BYTES (LB_UNWIND_MAX_SEGMENTS * sizeof(struct lb_unwind_segment))

struct segment_run {
	uint64_t hash;
	uint64_t generation; /* never 0, never reused */
	uint32_t stamp; /* its index; the segments follow */
	uint32_t nr;
	uint32_t nr_refs; /* 0: this entry is free */
	struct tenant tenant; /* for whom it was made */
	bool is_lent; /* its places do not count */
	uint32_t next_free; /* of a free entry: another one, or 0 */
};

/*
 * Runs of segments in the kernel's array (lineburn_unwind.h), deduplicated: processes
 * forked by one server share a run.
 */
struct segment_runs {
	struct lb_unwind_segment *segments; /* LB_UNWIND_MAX_SEGMENTS of them, mapped */
	struct spans spans;
	struct segment_run *items; /* heap; [0] is unused */
	size_t nr, cap;
	uint32_t first_free; /* entry; 0: none */
	struct hashmap index;
	uint64_t last_generation;
	uint64_t nr_segments; /* held, stamps included */
	struct quota quota; /* of these */
};

/* @fd  the kernel's array; borrowed. Return: 0 or -errno. */
static int runs_init(struct segment_runs *r, int fd)
{
	r->segments = kmap_map(fd, SEGMENTS_BYTES);
	if (!r->segments)
		return -errno;
	r->nr = 1;
	if (vec_grow(&r->items, &r->cap, r->nr, sizeof(*r->items), 0))
		return -ENOMEM;
	return spans_init(&r->spans, LB_UNWIND_MAX_SEGMENTS);
}

static void runs_deinit(struct segment_runs *r)
{
	kmap_unmap(r->segments, SEGMENTS_BYTES);
	spans_deinit(&r->spans);
	hashmap_deinit(&r->index);
	quota_deinit(&r->quota);
	free(r->items);
}

struct wanted_run {
	const struct lb_unwind_segment *segments;
	size_t nr;
};

static bool run_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct segment_runs *r = ctx;
	const struct segment_run *run = &r->items[item];
	const struct wanted_run *wanted = key;

	return run->nr == wanted->nr &&
	       (!run->nr || !memcmp(r->segments + run->stamp + 1, wanted->segments,
				    run->nr * sizeof(*r->segments)));
}

static void free_entry(struct segment_runs *r, uint32_t number)
{
	r->items[number] = (struct segment_run){.next_free = r->first_free};
	r->first_free = number;
}

/* Allocates a run of @nr segments in the kernel's array. Return: 0 or -ENOSPC. */
static int add_run(struct segment_runs *r, struct tenant who, uint64_t hash, size_t nr,
		   uint32_t *ret)
{
	uint32_t number = r->first_free ? r->first_free : (uint32_t)r->nr, at;

	if (nr >= LB_UNWIND_MAX_SEGMENTS ||
	    vec_grow(&r->items, &r->cap, number + 1, sizeof(*r->items), 0))
		return -ENOSPC;
	if (!quota_take(&r->quota, who, nr + 1))
		return -ENOSPC;
	at = spans_take(&r->spans, (uint32_t)nr + 1);
	if (at == SPANS_NONE || hashmap_add(&r->index, hash, number)) {
		quota_give(&r->quota, who, nr + 1);
		if (at != SPANS_NONE)
			spans_rest(&r->spans, at, (uint32_t)nr + 1);
		return -ENOSPC;
	}
	if (number == r->nr)
		r->nr++;
	else
		r->first_free = r->items[number].next_free;
	r->items[number] = (struct segment_run){.hash = hash,
						.generation = ++r->last_generation,
						.stamp = at,
						.tenant = who,
						.nr = (uint32_t)nr};
	r->nr_segments += nr + 1;
	*ret = number;
	return 0;
}

/*
 * Writes the stamp last: the kernel must not use a partly written run for a forked
 * process that still refers to the previous run.
 */
static void write_run(struct segment_runs *r, const struct segment_run *run,
		      const struct lb_unwind_segment *segments)
{
	struct lb_unwind_segment *stamp = r->segments + run->stamp;

	__atomic_store_n(&stamp->start, 0, __ATOMIC_RELEASE);
	stamp->end = stamp->bias = 0;
	stamp->first_page = stamp->flags = 0;
	if (run->nr)
		memcpy(stamp + 1, segments, run->nr * sizeof(*segments));
	__atomic_store_n(&stamp->start, run->generation, __ATOMIC_RELEASE);
}

/*
 * Takes a reference to the run equal to @segments; creates it if needed.
 * Return: 0 with its number in @ret, or -ENOSPC.
 */
static int get_run(struct segment_runs *r, struct tenant who,
		   const struct lb_unwind_segment *segments, size_t nr, uint32_t *ret)
{
	struct wanted_run wanted = {segments, nr};
	uint64_t hash = hash_bytes(0, segments, nr * sizeof(*segments));

	*ret = hashmap_get(&r->index, hash, run_eq, &wanted, r);
	if (*ret == HASHMAP_NONE) {
		if (add_run(r, who, hash, nr, ret))
			return -ENOSPC;
		write_run(r, &r->items[*ret], segments);
	}
	r->items[*ret].nr_refs++;
	return 0;
}

/* Drops a reference. @number  0: none */
static void put_run(struct segment_runs *r, uint32_t number)
{
	struct segment_run *run = &r->items[number];

	if (!number || --run->nr_refs)
		return;
	/* Invalidate entries of forked processes that the kernel copied. */
	__atomic_store_n(&r->segments[run->stamp].start, 0, __ATOMIC_RELEASE);
	hashmap_remove(&r->index, run->hash, number);
	spans_rest(&r->spans, run->stamp, run->nr + 1);
	r->nr_segments -= run->nr + 1;
	if (!run->is_lent)
		quota_give(&r->quota, run->tenant, run->nr + 1);
	free_entry(r, number);
}

/*
 * While the run of an image is replaced, the old one does not count if nobody else has it:
 * a tenant's part holds the largest run, but not two.
 */
static void lend_run(struct segment_runs *r, uint32_t number)
{
	struct segment_run *run = &r->items[number];

	if (!number || run->nr_refs != 1)
		return;
	quota_give(&r->quota, run->tenant, run->nr + 1);
	run->is_lent = true;
}

/* Counts it again, if there still is one. */
static void take_back_run(struct segment_runs *r, uint32_t number)
{
	struct segment_run *run = &r->items[number];

	if (!run->is_lent)
		return;
	quota_add(&r->quota, run->tenant, run->nr + 1);
	run->is_lent = false;
}

/* ---- layouts of interpreters ---- */

/*
 * A fork copies the number of its parent's layout. So a layout that is given back first
 * gets another number; its place is free when no walk that has read the old one still runs.
 */
struct interps {
	struct interp_place {
		struct lb_interp layout;
		uint32_t nr_refs;
		struct tenant tenant; /* for whom it was added */
		enum {
			INTERP_FREE,
			INTERP_HELD,
			INTERP_RESTS
		} state;
	} at[LB_MAX_INTERPS];
	struct quota quota;
};

/* Return: its index; LB_MAX_INTERPS: there is none. */
static uint32_t interp_find(const struct interps *all, const struct lb_interp *layout)
{
	struct lb_interp wanted = *layout;
	uint32_t i = 0;

	for (; i < LB_MAX_INTERPS; i++) {
		wanted.use = all->at[i].layout.use;
		if (all->at[i].state == INTERP_HELD &&
		    !memcmp(&all->at[i].layout, &wanted, sizeof(wanted)))
			break;
	}
	return i;
}

/* Return: its index; LB_MAX_INTERPS: no room. */
static uint32_t interp_add(struct interps *all, int fd, struct tenant who,
			   const struct lb_interp *layout)
{
	struct lb_interp new = *layout;
	uint32_t i = 0;

	while (i < LB_MAX_INTERPS && all->at[i].state != INTERP_FREE)
		i++;
	if (i == LB_MAX_INTERPS || !quota_take(&all->quota, who, 1))
		return LB_MAX_INTERPS;
	new.use = all->at[i].layout.use;
	if (kmap_update(fd, &i, &new)) {
		quota_give(&all->quota, who, 1);
		return LB_MAX_INTERPS;
	}
	all->at[i] =
		(struct interp_place){.layout = new, .tenant = who, .state = INTERP_HELD};
	return i;
}

static void interp_end(struct interps *all, int fd, uint32_t i)
{
	struct interp_place *place = &all->at[i];

	place->layout.use = (place->layout.use + 1) % LB_INTERP_USES;
	kmap_update(fd, &i, &place->layout);
	quota_give(&all->quota, place->tenant, 1);
	place->state = INTERP_RESTS;
}

/* Call it after a grace period. */
static void interps_wake(struct interps *all)
{
	for (uint32_t i = 0; i < LB_MAX_INTERPS; i++)
		if (all->at[i].state == INTERP_RESTS)
			all->at[i].state = INTERP_FREE;
}

/* ---- the tables ---- */

#define DEFAULT_ROW_BYTES (64ull << 20)
/*
 * Fraction of rows kept free by evicting early, because evicted room is reusable only
 * after a grace period.
 */
#define RESERVE_PART 16

struct unwind_tables {
	struct unwind_kmaps maps;
	struct row_slabs slabs;
	struct page_runs pages;
	struct rules rules;
	struct tenant tenant; /* of the target that is served */
	struct payers payers; /* of objects, their rows and files that are added */
	struct interps interps;
	struct segment_runs runs;
	struct quota process_quota, file_quota;
	bool is_object_removed; /* since the last grace period */
	uint64_t nr_processes; /* held */
	uint64_t nr_evicted, nr_refused_pages, nr_refused_processes;
};

int unwind_tables_new(uint64_t max_row_bytes, const struct unwind_kmaps *maps,
		      struct unwind_tables **ret, struct error *err)
{
	_cleanup_(unwind_tables_freep) struct unwind_tables *t = calloc(1, sizeof(*t));
	uint64_t max_slabs = (max_row_bytes ? max_row_bytes : DEFAULT_ROW_BYTES) /
			     SLAB_BYTES;
	int rc;

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->maps = *maps;
	t->slabs.slabs_fd = maps->slabs_fd;
	t->slabs.max = max_slabs > LB_MAX_SLABS ? LB_MAX_SLABS
		       : max_slabs              ? max_slabs
						: 1;
	rc = pages_init(&t->pages, maps->pages_fd);
	if (!rc)
		rc = rules_init(&t->rules, maps->rules_fd);
	if (!rc)
		rc = runs_init(&t->runs, maps->segments_fd);
	if (!rc)
		rc = job_new(&t->slabs.update.job, err);
	if (!rc)
		rc = slabs_grow(&t->slabs);
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
	slabs_deinit(&t->slabs);
	pages_deinit(&t->pages);
	rules_deinit(&t->rules);
	quota_deinit(&t->interps.quota);
	quota_deinit(&t->process_quota);
	quota_deinit(&t->file_quota);
	runs_deinit(&t->runs);
	free(t);
}

/* ---- objects ---- */

uint32_t unwind_object_add(struct unwind_tables *t, uint64_t nr_pages)
{
	struct page_runs *r = &t->pages;
	uint32_t object = UNWIND_NO_OBJECT;
	struct tenant payer;

	if (nr_pages && nr_pages <= LB_UNWIND_MAX_PAGES &&
	    quota_take_any(&r->quota, &t->payers, nr_pages, &payer)) {
		object = spans_take(&r->spans, (uint32_t)nr_pages);
		if (object == UNWIND_NO_OBJECT)
			quota_give(&r->quota, payer, nr_pages);
	}
	if (object == UNWIND_NO_OBJECT) {
		t->nr_refused_pages += nr_pages;
		return object;
	}
	r->run_pages[object] = (uint32_t)nr_pages;
	r->tenants[object] = payer;
	r->payers[object] = t->payers;
	for (uint32_t i = 0; i < nr_pages; i++)
		r->run_of[object + i] = object;
	r->nr_runs++;
	r->nr_pages += nr_pages;
	if (r->top < object + nr_pages)
		r->top = object + (uint32_t)nr_pages;
	return object;
}

/*
 * Makes @page absent. Return: number of its rows, which are free after the next grace
 * period.
 */
static uint32_t clear_page(struct unwind_tables *t, uint32_t page)
{
	struct lb_unwind_page old = t->pages.pages[page];
	uint32_t nr_rows = old.last_row + 1u, at = old.first_row % LB_SLAB_ROWS;
	struct row_slab *slab;

	set_page(&t->pages, page, (struct lb_unwind_page){.state = LB_PAGE_ABSENT});
	if (old.state != LB_PAGE_ROWS)
		return 0;
	slab = &t->slabs.items[old.first_row / LB_SLAB_ROWS];
	for (uint32_t i = 0; i < nr_rows; i++)
		rules_put(&t->rules, slab->rows[at + i].rule);
	t->pages.nr_rows -= nr_rows;
	quota_give(&t->pages.row_quota, tenant_of_page(&t->pages, page), nr_rows);
	spans_rest(&slab->pieces, at / PIECE_ROWS, nr_pieces(nr_rows));
	return nr_rows;
}

static void clear_pages(struct unwind_tables *t, uint32_t object)
{
	for (uint32_t i = 0; i < t->pages.run_pages[object]; i++)
		clear_page(t, object + i);
}

void unwind_object_clear(struct unwind_tables *t, uint32_t object)
{
	clear_pages(t, object);
	/* The walk caches rules: it must find those that come next. */
	++*t->maps.pages_generation;
}

void unwind_object_clear_empty(struct unwind_tables *t, uint32_t object)
{
	for (uint32_t i = 0; i < t->pages.run_pages[object]; i++)
		if (t->pages.pages[object + i].state == LB_PAGE_EMPTY)
			clear_page(t, object + i);
	++*t->maps.pages_generation;
}

void unwind_object_share(struct unwind_tables *t, uint32_t object,
			 const struct payers *payers)
{
	t->pages.payers[object] = *payers;
}

void unwind_object_remove(struct unwind_tables *t, uint32_t object)
{
	struct page_runs *r = &t->pages;
	uint32_t nr = r->run_pages[object];

	clear_pages(t, object);
	quota_give(&r->quota, r->tenants[object], nr);
	r->run_pages[object] = 0;
	r->nr_runs--;
	r->nr_pages -= nr;
	spans_rest(&r->spans, object, nr);
	t->is_object_removed = true;
}

/* Whose pages are evicted. */
struct evicted {
	enum {
		EVICT_OF_ONE,
		EVICT_OF_ALL_OVER, /* of those who have more than their part of the rows */
		EVICT_OF_ALL
	} whose;
	struct tenant one;
};

static bool may_evict(const struct page_runs *r, uint32_t page, struct evicted from)
{
	if (r->pages[page].state != LB_PAGE_ROWS)
		return false;
	return from.whose == EVICT_OF_ALL ||
	       (quota_are_over(&r->row_quota, &r->payers[r->run_of[page]]) &&
		(from.whose == EVICT_OF_ALL_OVER ||
		 tenant_is_same(tenant_of_page(r, page), from.one)));
}

/*
 * Frees @nr_rows by the clock algorithm: a page that was used since the hand last
 * passed it is kept. Return: how many were freed.
 */
static uint64_t evict_some(struct unwind_tables *t, uint64_t nr_rows, struct evicted from)
{
	struct page_runs *r = &t->pages;
	uint64_t freed = 0;
	bool is_any_spared = false;

	for (uint32_t nr_seen = 0; freed < nr_rows && nr_seen < 2 * r->top; nr_seen++) {
		uint32_t page = r->hand < r->top ? r->hand : 0;

		r->hand = page + 1;
		if (!may_evict(r, page, from))
			continue;
		if (r->pages[page].used) {
			__atomic_store_n(&r->pages[page].used, 0, __ATOMIC_RELAXED);
			is_any_spared = true;
			continue;
		}
		freed += clear_page(t, page);
		t->nr_evicted++;
	}
	/* The walk marks a page as used only when it reads it, not if its cache hits. */
	if (is_any_spared)
		++*t->maps.pages_generation;
	return freed;
}

/* Frees @nr_rows for @who: first from those who have more than their part, @who before all. */
static void evict(struct unwind_tables *t, uint64_t nr_rows, struct tenant who)
{
	const struct quota *q = &t->pages.row_quota;
	uint64_t freed = 0;

	if (quota_is_over(q, who))
		freed = evict_some(t, nr_rows, (struct evicted){EVICT_OF_ONE, who});
	if (freed < nr_rows && quota_is_any_over(q))
		freed += evict_some(t, nr_rows - freed,
				    (struct evicted){EVICT_OF_ALL_OVER, who});
	if (freed < nr_rows)
		evict_some(t, nr_rows - freed, (struct evicted){EVICT_OF_ALL, who});
}

/*
 * Maps the reply's rule numbers to ours, with a reference to each.
 * Return: heap; NULL: out of memory.
 */
static uint16_t *translate_rules(struct unwind_tables *t, const struct row_pages *pages)
{
	uint16_t *numbers = calloc(pages->nr_rules + 1, sizeof(*numbers));

	for (size_t i = 0; numbers && i < pages->nr_rules; i++)
		numbers[i] = rules_get(&t->rules, &t->payers, &pages->rules[i]);
	return numbers;
}

/* @rows  buffer for LB_SLAB_ROWS */
static int fill_page(struct unwind_tables *t, uint32_t page, const struct row_page *p,
		     const uint16_t *rules, struct lb_unwind_row *rows)
{
	uint32_t first;

	for (uint32_t i = 0; i < p->nr_rows; i++)
		rows[i] =
			(struct lb_unwind_row){p->rows[i].pc_low, rules[p->rows[i].rule]};
	if (add_rows(&t->slabs, rows, p->nr_rows, &first)) {
		t->nr_refused_pages++;
		return -ENOSPC;
	}
	for (uint32_t i = 0; i < p->nr_rows; i++)
		t->rules.uses[rows[i].rule].nr_refs++;
	t->pages.nr_rows += p->nr_rows;
	quota_add(&t->pages.row_quota, tenant_of_page(&t->pages, page), p->nr_rows);
	set_page(&t->pages, page,
		 (struct lb_unwind_page){.first_row = first,
					 .last_row = (uint16_t)(p->nr_rows - 1),
					 .state = LB_PAGE_ROWS,
					 .used = 1});
	return 0;
}

static const struct row_page *find_page(const struct row_pages *pages, uint64_t page)
{
	size_t lo = SEARCH_FIRST(i, pages->nr_pages, pages->pages[i].page >= page);

	return lo < pages->nr_pages && pages->pages[lo].page == page ? &pages->pages[lo]
								     : NULL;
}

void unwind_tables_share(struct unwind_tables *t)
{
	t->rules.quota = (struct quota){.what = "unwind rules",
					.loss = "its stacks may be cut",
					.max = LB_UNWIND_MAX_RULES};
	t->interps.quota = (struct quota){.what = "layouts of interpreters",
					  .loss = "its stacks may lack frames of Python",
					  .max = LB_MAX_INTERPS};
	/* A quarter holds the largest run of one image, and its stamp. */
	t->runs.quota = (struct quota){.what = "unwind segments",
				       .loss = "its stacks may be cut",
				       .max = LB_UNWIND_MAX_SEGMENTS + 4};
	t->pages.quota = (struct quota){.what = "unwind pages",
					.loss = "its stacks may be cut",
					.max = LB_UNWIND_MAX_PAGES};
	t->pages.row_quota = (struct quota){.max = t->slabs.max * LB_SLAB_ROWS};
	t->process_quota = (struct quota){.what = "processes with unwind tables",
					  .loss = "its stacks may be cut",
					  .max = LB_UNWIND_MAX_PROCESSES};
	t->file_quota = (struct quota){.what = "files for new processes",
				       .loss = "its stacks may be cut",
				       .max = LB_UNWIND_MAX_FILES};
}

void unwind_tables_serve(struct unwind_tables *t, struct tenant who)
{
	t->tenant = who;
	t->payers = payers_of_one(who);
}

void unwind_tables_serve_any(struct unwind_tables *t, const struct payers *payers)
{
	t->payers = *payers;
}

void unwind_tables_serve_own(struct unwind_tables *t)
{
	t->payers = payers_of_one(t->tenant);
}

void unwind_tables_each_refused(struct unwind_tables *t, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&t->rules.quota, fn, ctx);
	quota_each_refused(&t->interps.quota, fn, ctx);
	quota_each_refused(&t->runs.quota, fn, ctx);
	quota_each_refused(&t->pages.quota, fn, ctx);
	quota_each_refused(&t->process_quota, fn, ctx);
	quota_each_refused(&t->file_quota, fn, ctx);
}

/* Fills the pages of @object that have rows. @ret_wanting  rows without room */
static int fill_pages(struct unwind_tables *t, uint32_t object,
		      const struct row_pages *pages, uint64_t *ret_wanting)
{
	uint32_t nr = t->pages.run_pages[object];
	_cleanup_free_ struct lb_unwind_row *rows = malloc(SLAB_BYTES);
	_cleanup_free_ uint16_t *rules = rows ? translate_rules(t, pages) : NULL;

	if (!rules)
		return -ENOSPC;
	for (size_t i = 0; i < pages->nr_pages; i++) {
		const struct row_page *p = &pages->pages[i];

		if (p->page < nr &&
		    page_is_absent(&t->pages, object + (uint32_t)p->page) &&
		    fill_page(t, object + (uint32_t)p->page, p, rules, rows))
			*ret_wanting += p->nr_rows;
	}
	for (size_t i = 0; i < pages->nr_rules; i++)
		rules_put(&t->rules, rules[i]);
	return 0;
}

int unwind_object_fill(struct unwind_tables *t, uint32_t object,
		       const struct row_pages *pages, const uint64_t *asked,
		       size_t nr_asked)
{
	uint32_t nr = t->pages.run_pages[object];
	uint64_t nr_wanting = 0;

	if (fill_pages(t, object, pages, &nr_wanting))
		return -ENOSPC;
	for (uint32_t i = 0; pages->whole && i < nr; i++)
		if (page_is_absent(&t->pages, object + i) && !find_page(pages, i))
			set_empty(&t->pages, object + i);
	for (size_t i = 0; !pages->whole && i < nr_asked; i++)
		if (asked[i] < nr &&
		    page_is_absent(&t->pages, object + (uint32_t)asked[i]) &&
		    !find_page(pages, asked[i]))
			set_empty(&t->pages, object + (uint32_t)asked[i]);
	if (nr_wanting)
		evict(t, nr_wanting, t->pages.tenants[object]);
	return nr_wanting ? -ENOSPC : 0;
}

bool unwind_page_is_absent(const struct unwind_tables *t, uint32_t object, uint64_t page)
{
	return page < t->pages.run_pages[object] &&
	       page_is_absent(&t->pages, object + (uint32_t)page);
}

/* ---- processes ---- */

/* CPUs keep copies of its entry (struct lb_recent_image of bpf/walk.h). */
static void tell_change(struct unwind_tables *t, const struct lb_image *image)
{
	__atomic_fetch_add(&t->maps.image_changes[image->tgid % LB_IMAGE_CHANGES], 1,
			   __ATOMIC_RELEASE);
}

int unwind_process_set(struct unwind_tables *t, const struct lb_image *image,
		       struct unwind_entry *entry,
		       const struct lb_unwind_segment *segments, size_t nr,
		       uint32_t interp, int32_t interp_tls_off, uint64_t interp_bias)
{
	bool is_new = !entry->run;
	uint32_t next;
	int rc = is_new && !quota_take(&t->process_quota, t->tenant, 1) ? -ENOSPC : 0;
	bool has_place = is_new && !rc;

	lend_run(&t->runs, entry->run);
	if (!rc)
		rc = get_run(&t->runs, t->tenant, segments, nr, &next);
	if (!rc) {
		const struct segment_run *r = &t->runs.items[next];
		struct lb_unwind_process value = {.generation = r->generation,
						  .stamp = r->stamp,
						  .nr_segments = r->nr,
						  .interp = interp,
						  .interp_tls_off = interp_tls_off,
						  .interp_bias = interp_bias};

		rc = kmap_update(t->maps.processes_fd, image, &value);
		if (rc)
			put_run(&t->runs, next);
		else
			tell_change(t, image);
	}
	if (rc) {
		take_back_run(&t->runs, entry->run);
		if (has_place)
			quota_give(&t->process_quota, t->tenant, 1);
		t->nr_refused_processes++;
		return rc == -E2BIG ? -ENOSPC : rc;
	}
	if (is_new) {
		t->nr_processes++;
		entry->payer = t->tenant;
	}
	put_run(&t->runs, entry->run);
	take_back_run(&t->runs, entry->run);
	entry->run = next;
	return 0;
}

void unwind_process_remove(struct unwind_tables *t, const struct lb_image *image,
			   struct unwind_entry *entry)
{
	if (!entry->run)
		return;
	/* First: without the entry, a copy that is out of date would count. */
	kmap_delete(t->maps.inherited_fd, image);
	kmap_delete(t->maps.processes_fd, image);
	tell_change(t, image);
	put_run(&t->runs, entry->run);
	quota_give(&t->process_quota, entry->payer, 1);
	*entry = (struct unwind_entry){0};
	t->nr_processes--;
}

uint32_t unwind_interp_get(struct unwind_tables *t, const struct lb_interp *interp)
{
	uint32_t i = interp_find(&t->interps, interp);

	if (i == LB_MAX_INTERPS)
		i = interp_add(&t->interps, t->maps.interps_fd, t->tenant, interp);
	return i == LB_MAX_INTERPS
		       ? 0
		       : unwind_interp_ref(
				 t, LB_INTERP_NUMBER(i, t->interps.at[i].layout.use));
}

uint32_t unwind_interp_ref(struct unwind_tables *t, uint32_t number)
{
	if (number)
		t->interps.at[LB_INTERP_INDEX(number)].nr_refs++;
	return number;
}

void unwind_interp_put(struct unwind_tables *t, uint32_t number)
{
	uint32_t i = LB_INTERP_INDEX(number);

	if (number && !--t->interps.at[i].nr_refs)
		interp_end(&t->interps, t->maps.interps_fd, i);
}

const struct lb_interp *unwind_interp_at(const struct unwind_tables *t, uint32_t number)
{
	return &t->interps.at[LB_INTERP_INDEX(number)].layout;
}

/* ---- files ---- */

int unwind_file_share(struct unwind_tables *t, const struct lb_unwind_file_key *key,
		      const struct lb_unwind_file *file, struct tenant *ret_payer)
{
	int rc;

	if (!quota_take_any(&t->file_quota, &t->payers, 1, ret_payer))
		return -ENOSPC;
	rc = kmap_update(t->maps.files_fd, key, file);
	if (rc)
		quota_give(&t->file_quota, *ret_payer, 1);
	return rc;
}

void unwind_file_unshare(struct unwind_tables *t, const struct lb_unwind_file_key *key,
			 struct tenant payer)
{
	kmap_delete(t->maps.files_fd, key);
	quota_give(&t->file_quota, payer, 1);
}

/* ---- maintenance ---- */

static uint64_t nr_free_rows(const struct row_slabs *s)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->items[i].pieces.nr_free * PIECE_ROWS;
	return nr;
}

/* Evicts early, so that the next page does not wait for a slab or an eviction. */
static void keep_reserve(struct unwind_tables *t)
{
	const struct row_slabs *s = &t->slabs;
	uint64_t reserve = (uint64_t)s->max * LB_SLAB_ROWS / RESERVE_PART;
	/* Called just after a grace period: no rows rest. */
	uint64_t nr_free = nr_free_rows(s), left;

	left = nr_free + (s->is_refused ? 0 : (s->max - s->nr) * LB_SLAB_ROWS);
	/* An update that still waits would have to be waited for. */
	if (nr_free < LB_SLAB_ROWS / 2 &&
	    (!job_is_started(s->update.job) || job_wait(s->update.job, 0)))
		slabs_grow(&t->slabs);
	if (left < reserve)
		evict(t, reserve - left, (struct tenant){0});
}

void unwind_tables_grace(struct unwind_tables *t)
{
	/*
	 * The walk caches rules: it must not use those of removed objects for new ones.
	 */
	if (t->is_object_removed)
		++*t->maps.pages_generation;
	t->is_object_removed = false;
	for (size_t i = 0; i < t->slabs.nr; i++)
		spans_wake(&t->slabs.items[i].pieces);
	spans_wake(&t->pages.spans);
	spans_wake(&t->runs.spans);
	rules_wake(&t->rules);
	interps_wake(&t->interps);
	keep_reserve(t);
}

void unwind_tables_totals(const struct unwind_tables *t, struct unwind_totals *ret)
{
	ret->nr_objects = t->pages.nr_runs;
	ret->nr_pages = t->pages.nr_pages;
	ret->nr_rows = t->pages.nr_rows;
	ret->nr_rules = nr_rules(&t->rules);
	ret->nr_processes = t->nr_processes;
	ret->nr_segments = t->runs.nr_segments;
	ret->nr_pages_evicted = t->nr_evicted;
	ret->nr_rules_refused = t->rules.nr_refused;
	ret->nr_pages_refused = t->nr_refused_pages;
	ret->nr_processes_refused = t->nr_refused_processes;
	ret->row_bytes = t->slabs.nr * SLAB_BYTES;
}
