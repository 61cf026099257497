// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwind tables that all users share, with small limits: what their files, their JITs'
 * code and their processes put there, in any order. Each step has six bytes (struct
 * step); three bytes come before them. A model has what was put there last. The kernel's
 * walk finds just that, or nothing; the counts and quotas are the model's; evicted are
 * those who have too much, and what is not used; what was removed is left alone until a
 * grace period; and in the end all was given back.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/small_tables.h"

#include "base/job.h"
#include "unwind/tables.h"
#include "lib/cost.h"
#include "lib/fake_kernel.h"

#define MAX_STEPS     200
#define HEADER_BYTES  3
#define NR_OBJECTS    10
#define NR_PAGES      8 /* of an object that can get rows */
#define LARGE_PAGES   509 /* of a large one: a tenant may have two, and some pages */
#define NR_IMAGES     10
#define NR_ENTRIES    7 /* of the kernel's map of processes, and of that of files */
#define NR_SEGMENTS   5
#define MANY_SEGMENTS 341 /* a tenant may have two such runs */
#define MANY_RULES    24 /* of a page; a tenant may have two such pages */
#define NR_LAYOUTS    40
#define NR_FILES      9
#define NR_TENANTS    4
#define PAGE_ROWS     256 /* at most: a quarter of a slab */
#define PAGE_BYTES    65536
#define SLAB_BYTES    (sizeof(struct lb_unwind_row) * LB_SLAB_ROWS)
/* An input may have so many, so that the arrays do not get full of what rests. */
#define MAX_LARGE_OBJECTS 3
#define MAX_MANY_SEGMENTS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A step may fill pages, or look twice at all for some to evict. */
const struct cost_bound cost_bound = {.fixed = 300000, .per_byte = 12000};

struct step {
	uint8_t kind, which, who, size, seed, more;
};

enum step_kind {
	STEP_ADD,
	STEP_FILL,
	STEP_FILL_MANY, /* rules */
	STEP_CLEAR,
	STEP_REMOVE,
	STEP_SHARE,
	STEP_USE,
	STEP_SET,
	STEP_SET_MANY,
	STEP_END,
	STEP_FORK,
	STEP_INTERP_GET,
	STEP_INTERP_PUT,
	STEP_FILE_SHARE,
	STEP_FILE_UNSHARE,
	STEP_GRACE,
	STEP_SERVE,
	STEP_SERVE_ANY,
	STEP_REFUSED,
	NR_STEPS,
};

/* What is probed when all was given back. */
enum probe {
	PROBE_PAGES,
	PROBE_INTERPS,
	PROBE_FILES,
	PROBE_ROWS,
	PROBE_RULES,
	PROBE_SEGMENTS,
	PROBE_PROCESSES,
	NR_PROBES,
};

static const struct tenant tenants[NR_TENANTS] = {
	{0}, {.uid = 1000}, {.uid = 1001}, {.container = 7, .uid = 1000}};

/* ---- base/job.h: without threads, so that an input is the same at each run ---- */

struct job {
	bool is_started;
	int result;
};

int job_new(struct job **ret, struct error *err)
{
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void job_free(struct job *j)
{
	free(j);
}

void job_start(struct job *j, int (*work)(void *ctx), void *ctx)
{
	j->is_started = true;
	j->result = work(ctx);
}

bool job_is_started(const struct job *j)
{
	return j->is_started;
}

bool job_wait(const struct job *j, int timeout_ms)
{
	(void)j;
	(void)timeout_ms;
	return true;
}

int job_finish(struct job *j)
{
	j->is_started = false;
	return j->result;
}

/* ---- the model ---- */

/* Rows of a page: made of this, so that they need not be kept. */
struct page_rows {
	uint32_t nr; /* 0: none */
	uint32_t mark; /* of the object, or of all that have the same seed */
	uint8_t seed;
	bool has_many; /* rules */
	bool is_cut; /* some rules were refused */
};

struct object {
	bool is_live;
	uint32_t start, nr, number; /* number: of objects so far */
	size_t payer;
	struct payers payers;
	struct page_rows pages[NR_PAGES];
	bool is_empty[NR_PAGES];
	bool is_rest_empty;
};

/* Segments of a process: these, or @nr of a JIT. */
struct wanted {
	uint32_t nr, seed;
	struct lb_unwind_segment items[NR_SEGMENTS];
};

struct run {
	uint32_t nr_refs;
	size_t payer;
	struct wanted wanted;
};

struct image {
	struct unwind_entry entry;
	int run; /* -1: none */
	struct wanted copied; /* of a parent, by the kernel; nr 0: none */
	bool is_copy;
	uint32_t interp, version;
};

struct layout {
	uint32_t number; /* 0: none */
	uint32_t nr_refs, nr_own; /* nr_own: not of images */
	size_t payer;
};

struct file {
	bool is_shared;
	size_t object, payer;
};

/* What a walk that runs still reads. */
struct old_page {
	struct lb_unwind_page page;
	struct page_rows rows;
};
struct old_run {
	uint32_t stamp;
	struct wanted wanted;
};
#define MAX_OLD 64

static struct model {
	struct object objects[NR_OBJECTS];
	struct image images[NR_IMAGES];
	struct run runs[NR_IMAGES + 1];
	struct layout layouts[NR_LAYOUTS];
	struct file files[NR_FILES];
	struct old_page old_pages[MAX_OLD];
	struct old_run old_runs[MAX_OLD];
	size_t nr_old_pages, nr_old_runs;
	uint64_t resting_layouts; /* bits: places that walks may still read */
	bool is_shared;
	size_t tenant;
	struct payers payers;
	uint32_t nr_objects, nr_large, nr_many; /* so far */
	uint32_t nr_slabs;
	struct unwind_totals totals; /* at the last look */
} m;

static struct unwind_tables *t;

/* The object and the generation whose rules a CPU has, by page. */
static struct cached {
	uint32_t run, object, generation;
} cache[LB_UNWIND_MAX_PAGES];
static uint32_t nr_inputs;

static size_t tenant_nr(struct tenant who)
{
	size_t i = 0;

	while (!tenant_is_same(tenants[i], who))
		assert(++i < NR_TENANTS);
	return i;
}

static struct payers payers_of(uint8_t who)
{
	struct payers p = payers_of_one(tenants[who % NR_TENANTS]);

	for (size_t i = 1; i < NR_TENANTS; i++)
		if (who >> (i + 2) & 1)
			payers_add(&p, tenants[i]);
	return p;
}

/* May a tenant that has @nr of a table's @max places have @more? */
static bool has_room(size_t tenant, uint64_t nr, uint64_t more, uint64_t max)
{
	return !tenant || !m.is_shared || nr + more <= max / 4;
}

static struct unwind_totals totals_now(void)
{
	struct unwind_totals totals = {0};

	unwind_tables_totals(t, &totals);
	return totals;
}

/* ---- rows and rules ---- */

static uint32_t nr_rules_of(const struct page_rows *p)
{
	uint32_t max = p->has_many ? MANY_RULES : 3;

	return p->nr < max ? p->nr : max;
}

static struct lb_unwind_rule rule_nr(const struct page_rows *p, uint32_t i)
{
	return (struct lb_unwind_rule){.cfa = LB_CFA_SP,
				       .fp = p->has_many,
				       .fp_off = p->seed,
				       .cfa_off = (int32_t)(p->mark << 8 | i)};
}

static uint32_t stride_of(const struct page_rows *p)
{
	return PAGE_BYTES / p->nr;
}

/* Writes the rows, whose rules begin at @first. */
static void make_rows(const struct page_rows *p, uint32_t first,
		      struct lb_unwind_row *rows)
{
	uint32_t nr_rules = nr_rules_of(p), stride = stride_of(p);

	for (uint32_t i = 0; i < p->nr; i++)
		rows[i] = (struct lb_unwind_row){(uint16_t)(i * stride),
						 (uint16_t)(first + i % nr_rules)};
}

static void check_rule(const struct page_rows *p, uint32_t row, struct lb_unwind_rule got)
{
	struct lb_unwind_rule rule = rule_nr(p, row % nr_rules_of(p));
	static const struct lb_unwind_rule cut = {.cfa = LB_CFA_UNSUPPORTED};

	assert(!memcmp(&rule, &got, sizeof(rule)) ||
	       (p->is_cut && !memcmp(&cut, &got, sizeof(cut))));
}

/* The rows that a walk looks at. */
static uint32_t some_row(const struct page_rows *p, uint32_t i)
{
	return i ? (uint32_t)((uint64_t)(p->nr - 1) * i / 4) : 0;
}
#define SOME_ROWS 5

static void check_old_page(const struct old_page *old)
{
	const struct lb_unwind_row *rows =
		kernel.slabs[old->page.first_row / LB_SLAB_ROWS] +
		old->page.first_row % LB_SLAB_ROWS;

	for (uint32_t i = 0; i < SOME_ROWS; i++) {
		uint32_t row = some_row(&old->rows, i);

		assert(rows[row].pc_low == (uint16_t)(row * stride_of(&old->rows)));
		check_rule(&old->rows, row, kernel.rules[rows[row].rule]);
	}
}

static void check_page(const struct object *o, uint32_t page)
{
	const struct page_rows *p = &o->pages[page];
	struct cached *c = &cache[o->start + page];
	const struct cached now = {nr_inputs, o->number, kernel.pages_generation};

	assert(c->run != now.run || c->generation != now.generation ||
	       c->object == now.object);
	*c = now;
	for (uint32_t i = 0; i < SOME_ROWS; i++) {
		uint32_t row = some_row(p, i), end = (row + 1) * stride_of(p) - 1;
		int state;

		if (row == p->nr - 1)
			end = PAGE_BYTES - 1;
		check_rule(p, row,
			   walk_rule(o->start, page << 16 | row * stride_of(p), &state));
		assert(state == LB_PAGE_ROWS);
		check_rule(p, row, walk_rule(o->start, page << 16 | end, &state));
	}
}

/* ---- objects ---- */

static uint32_t nr_modelled(const struct object *o)
{
	return !o->is_live ? 0 : o->nr < NR_PAGES ? o->nr : NR_PAGES;
}

static int state_of(const struct object *o, uint32_t page)
{
	return kernel.pages[o->start + page].state;
}

static void forget_rows(struct object *o, uint32_t page, struct lb_unwind_page was)
{
	if (o->pages[page].nr && m.nr_old_pages < MAX_OLD)
		m.old_pages[m.nr_old_pages++] = (struct old_page){was, o->pages[page]};
	o->pages[page].nr = 0;
}

/* Pages as the kernel had them before a step. */
static struct lb_unwind_page before[NR_OBJECTS][NR_PAGES];

static void keep_pages(void)
{
	for (size_t i = 0; i < NR_OBJECTS; i++)
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			before[i][j] = kernel.pages[m.objects[i].start + j];
}

static void count_rows(uint64_t ret[NR_TENANTS])
{
	memset(ret, 0, NR_TENANTS * sizeof(*ret));
	for (size_t i = 0; i < NR_OBJECTS; i++)
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			ret[m.objects[i].payer] += m.objects[i].pages[j].nr;
}

static bool are_over(const struct object *o, const uint64_t nr_rows[NR_TENANTS])
{
	for (size_t i = 0; i < o->payers.nr; i++)
		if (nr_rows[tenant_nr(o->payers.items[i])] <=
		    (uint64_t)m.nr_slabs * LB_SLAB_ROWS / 4)
			return false;
	return m.is_shared && o->payers.nr;
}

/* Has anyone too many rows, and pages that have them? @of: whose; NR_TENANTS: all. */
static bool has_any_over(const uint64_t nr_rows[NR_TENANTS], size_t of)
{
	for (size_t i = 0; i < NR_OBJECTS; i++)
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			if (m.objects[i].pages[j].nr &&
			    are_over(&m.objects[i], nr_rows) &&
			    (of == NR_TENANTS || m.objects[i].payer == of))
				return true;
	return false;
}

/* Pages that were evicted. */
struct evicted {
	uint64_t nr_pages, nr_rows;
	uint32_t most; /* rows of one */
	bool is_any_innocent; /* of those who had not too many */
	bool is_any_others; /* not of the one for whom it was done */
	bool is_any_used;
};

static void take_evicted(size_t at, size_t who, const uint64_t nr_rows[NR_TENANTS],
			 struct evicted *e)
{
	struct object *o = &m.objects[at];

	for (uint32_t j = 0; j < nr_modelled(o); j++) {
		uint32_t nr = o->pages[j].nr;

		if (!nr || state_of(o, j) != LB_PAGE_ABSENT)
			continue;
		e->is_any_innocent |= !are_over(o, nr_rows);
		e->is_any_others |= o->payer != who;
		e->is_any_used |= before[at][j].used;
		e->nr_pages++;
		e->nr_rows += nr;
		e->most = nr > e->most ? nr : e->most;
		forget_rows(o, j, before[at][j]);
	}
}

/* Is there a page that had rows and was not used? */
static bool has_any_unused(void)
{
	for (size_t i = 0; i < NR_OBJECTS; i++)
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			if (m.objects[i].pages[j].nr && !before[i][j].used &&
			    before[i][j].state == LB_PAGE_ROWS)
				return true;
	return false;
}

/*
 * Takes the pages that were evicted out of the model: no more than @nr_wanted rows need;
 * of those who have not too many only when nobody has; @who's before others'; used ones
 * last. @nr_new: evicted pages that were filled just before: their rows are not known.
 */
static void see_evicted(uint64_t nr_wanted, uint64_t nr_new, size_t who)
{
	uint64_t with[NR_TENANTS], without[NR_TENANTS];
	struct unwind_totals now = totals_now();
	struct evicted e = {0};
	bool is_by_use;

	count_rows(with);
	is_by_use = !has_any_over(with, NR_TENANTS);
	for (size_t i = 0; i < NR_OBJECTS; i++)
		take_evicted(i, who, with, &e);
	count_rows(without);
	assert(e.nr_pages + nr_new == now.nr_pages_evicted - m.totals.nr_pages_evicted);
	m.totals.nr_pages_evicted = now.nr_pages_evicted;
	if (nr_new)
		return;
	assert(!e.nr_pages || e.nr_rows - e.most < nr_wanted);
	assert(e.nr_rows >= nr_wanted || !now.nr_rows);
	assert(!e.is_any_innocent || !has_any_over(without, NR_TENANTS));
	assert(!e.is_any_others || !has_any_over(without, who));
	assert(!is_by_use || !e.is_any_used || !has_any_unused());
}

static void add_object(const struct step *s)
{
	struct object *o = &m.objects[s->which % NR_OBJECTS];
	bool is_large = s->size >= 250;
	uint32_t nr = is_large ? LARGE_PAGES : 1 + s->size % NR_PAGES;
	size_t payer = m.payers.nr ? tenant_nr(m.payers.items[0]) : 0;
	uint64_t held[NR_TENANTS] = {0};

	if (o->is_live || (is_large && m.nr_large == MAX_LARGE_OBJECTS))
		return;
	m.nr_large += is_large;
	for (size_t i = 0; i < NR_OBJECTS; i++)
		if (m.objects[i].is_live)
			held[m.objects[i].payer] += m.objects[i].nr;
	for (size_t i = m.payers.nr; i--;)
		if (has_room(tenant_nr(m.payers.items[i]),
			     held[tenant_nr(m.payers.items[i])], nr, LB_UNWIND_MAX_PAGES))
			payer = tenant_nr(m.payers.items[i]);
	*o = (struct object){.start = unwind_object_add(t, nr),
			     .nr = nr,
			     .number = ++m.nr_objects,
			     .payer = payer,
			     .payers = m.payers};
	o->is_live = o->start != UNWIND_NO_OBJECT;
	assert(o->is_live == has_room(payer, held[payer], nr, LB_UNWIND_MAX_PAGES));
	for (size_t i = 0; o->is_live && i < NR_OBJECTS; i++)
		assert(&m.objects[i] == o || !m.objects[i].is_live ||
		       m.objects[i].start + m.objects[i].nr <= o->start ||
		       o->start + nr <= m.objects[i].start);
	for (uint32_t i = 0; i < nr_modelled(o); i++)
		assert(state_of(o, i) == LB_PAGE_ABSENT);
}

/* A reply of the decoder: rows for some pages of an object, and for one that it lacks. */
struct reply {
	struct row_pages pages;
	struct row_page items[NR_PAGES + 1];
	struct page_rows made[NR_PAGES + 1];
	struct lb_unwind_rule rules[(NR_PAGES + 1) * MANY_RULES];
	struct lb_unwind_row rows[(NR_PAGES + 1) * PAGE_ROWS];
	bool is_in[NR_PAGES];
};

static uint32_t rows_of_step(const struct step *s, uint32_t page)
{
	static const uint32_t sizes[] = {1, 16, 17, 30, 59, 117, 234, PAGE_ROWS};
	uint32_t nr = sizes[(s->size >> 1) % ARRAY_SIZE(sizes)] - s->more % 2 * page;

	return nr && nr <= PAGE_ROWS ? nr : 1;
}

static void make_reply(const struct step *s, bool has_many, const struct object *o,
		       struct reply *r)
{
	uint32_t nr_rows = 0, nr_rules = 0;

	memset(r->is_in, 0, sizeof(r->is_in));
	r->pages = (struct row_pages){.rules = r->rules,
				      .pages = r->items,
				      .rows = r->rows,
				      .whole = s->size & 1};
	for (uint32_t i = 0; i <= NR_PAGES; i++) {
		size_t at = r->pages.nr_pages;
		struct page_rows *p = &r->made[at];

		if (i < NR_PAGES ? !(s->who >> i & 1) : s->more % 8 != 7)
			continue;
		*p = (struct page_rows){.nr = rows_of_step(s, i),
					.mark = s->seed & 1 ? o->number : 0,
					.seed = (uint8_t)(s->seed + i),
					.has_many = has_many};
		for (uint32_t j = 0; j < nr_rules_of(p); j++)
			r->rules[nr_rules + j] = rule_nr(p, j);
		make_rows(p, nr_rules, r->rows + nr_rows);
		r->items[at] = (struct row_page){i < NR_PAGES ? i : UINT64_MAX - 1,
						 r->rows + nr_rows, p->nr};
		nr_rows += p->nr;
		nr_rules += nr_rules_of(p);
		r->pages.nr_pages++;
		if (i < NR_PAGES)
			r->is_in[i] = true;
	}
	r->pages.nr_rows = nr_rows;
	r->pages.nr_rules = nr_rules;
}

/*
 * Puts the pages of a reply into the model. @ret_wanting: rows of pages that did not get
 * any. Return: their number.
 */
static uint64_t see_filled(struct object *o, const struct reply *r, bool is_cut,
			   uint64_t *ret_wanting)
{
	uint64_t nr = 0;

	*ret_wanting = 0;
	for (size_t i = 0; i < r->pages.nr_pages; i++) {
		uint64_t page = r->items[i].page;

		if (page >= nr_modelled(o) || o->pages[page].nr || o->is_empty[page])
			continue;
		if (state_of(o, (uint32_t)page) == LB_PAGE_ROWS) {
			o->pages[page] = r->made[i];
			o->pages[page].is_cut = is_cut;
		} else {
			*ret_wanting += r->made[i].nr;
			nr++;
		}
	}
	return nr;
}

static void fill_object(const struct step *s, bool has_many)
{
	static struct reply reply;
	struct object *o = &m.objects[s->which % NR_OBJECTS];
	uint64_t asked[NR_PAGES], nr_wanting, nr_absent, nr_refused;
	struct unwind_totals now;
	size_t nr_asked = 0;
	bool is_cut;
	int rc;

	if (!o->is_live)
		return;
	make_reply(s, has_many, o, &reply);
	for (uint32_t i = 0; i < NR_PAGES; i++)
		if (s->more >> i & 1)
			asked[nr_asked++] = i;
	rc = unwind_object_fill(t, o->start, &reply.pages, asked, nr_asked);
	now = totals_now();
	is_cut = now.nr_rules_refused > m.totals.nr_rules_refused;
	assert(!is_cut || now.nr_rules >= LB_UNWIND_MAX_RULES / 4);
	m.totals.nr_rules_refused = now.nr_rules_refused;
	for (uint32_t i = 0; i < nr_modelled(o); i++)
		if (!o->pages[i].nr && !reply.is_in[i] &&
		    (reply.pages.whole || s->more >> i & 1))
			o->is_empty[i] = true;
	o->is_rest_empty |= reply.pages.whole;
	nr_refused = now.nr_pages_refused - m.totals.nr_pages_refused;
	m.totals.nr_pages_refused = now.nr_pages_refused;
	nr_absent = see_filled(o, &reply, is_cut, &nr_wanting);
	assert(rc == (nr_refused ? -ENOSPC : 0));
	assert(nr_refused ? nr_absent >= nr_refused : !nr_absent);
	see_evicted(nr_wanting, nr_absent - nr_refused, o->payer);
}

static void clear_object(struct object *o, size_t at)
{
	for (uint32_t i = 0; i < nr_modelled(o); i++) {
		forget_rows(o, i, before[at][i]);
		o->is_empty[i] = false;
	}
	o->is_rest_empty = false;
}

static void end_image(size_t image);

/* Nobody may refer to it any more. */
static void remove_object(size_t at)
{
	struct object *o = &m.objects[at];

	if (!o->is_live)
		return;
	for (size_t i = 0; i < NR_IMAGES; i++)
		for (size_t j = 0; m.images[i].run >= 0 && j < NR_SEGMENTS; j++)
			if (m.runs[m.images[i].run].wanted.items[j].first_page ==
				    o->start &&
			    m.runs[m.images[i].run].wanted.items[j].end)
				end_image(i);
	for (size_t i = 0; i < NR_FILES; i++)
		if (m.files[i].is_shared && m.files[i].object == at) {
			unwind_file_unshare(t,
					    &(struct lb_unwind_file_key){.inode = i + 1},
					    tenants[m.files[i].payer]);
			m.files[i].is_shared = false;
		}
	unwind_object_remove(t, o->start);
	clear_object(o, at);
	for (uint32_t i = 0; i < nr_modelled(o); i++)
		assert(state_of(o, i) == LB_PAGE_ABSENT);
	o->is_live = false;
}

static void check_objects(bool in_full)
{
	for (size_t i = 0; i < NR_OBJECTS; i++) {
		const struct object *o = &m.objects[i];

		for (uint32_t j = 0; j < nr_modelled(o); j++) {
			int state = o->pages[j].nr   ? LB_PAGE_ROWS
				    : o->is_empty[j] ? LB_PAGE_EMPTY
						     : LB_PAGE_ABSENT;

			assert(state_of(o, j) == state);
			assert(unwind_page_is_absent(t, o->start, j) ==
			       (state == LB_PAGE_ABSENT));
			if (o->pages[j].nr && in_full)
				check_page(o, j);
		}
		if (o->is_live && o->nr > NR_PAGES)
			assert(state_of(o, o->nr - 1) ==
			       (o->is_rest_empty ? LB_PAGE_EMPTY : LB_PAGE_ABSENT));
	}
}

/* ---- segments ---- */

static bool is_same(const struct wanted *a, const struct wanted *b)
{
	return a->nr == b->nr && a->seed == b->seed &&
	       !memcmp(a->items, b->items, sizeof(a->items));
}

static struct lb_unwind_segment segment_nr(const struct wanted *w, uint32_t i)
{
	if (w->nr <= NR_SEGMENTS)
		return w->items[i];
	return (struct lb_unwind_segment){.start = i * 32,
					  .end = i * 32 + 16,
					  .bias = w->seed,
					  .flags = LB_SEGMENT_NO_ROWS};
}

static struct wanted wanted_of(const struct step *s, bool is_many)
{
	struct wanted w = {.nr = is_many ? MANY_SEGMENTS - s->seed % 3u
					 : s->size % (NR_SEGMENTS + 1u)};

	if (is_many) {
		w.seed = s->seed;
		return w;
	}
	for (uint32_t i = 0; i < w.nr; i++) {
		const struct object *o = &m.objects[(s->seed + i) % NR_OBJECTS];
		uint64_t start = (1 + s->seed / NR_OBJECTS % 4 + 16 * i) << 16;

		w.items[i] = (struct lb_unwind_segment){
			.start = start, .end = start + 0x10000, .bias = start};
		if (o->is_live)
			w.items[i].first_page = o->start;
		else
			w.items[i].flags = LB_SEGMENT_NO_ROWS;
	}
	return w;
}

static struct lb_image image_nr(size_t i)
{
	return (struct lb_image){.start_boottime_ns = 77, .tgid = (uint32_t)i + 1};
}

static void put_run(int nr, uint32_t stamp)
{
	if (nr < 0 || --m.runs[nr].nr_refs)
		return;
	if (m.nr_old_runs < MAX_OLD)
		m.old_runs[m.nr_old_runs++] = (struct old_run){stamp, m.runs[nr].wanted};
}

static struct lb_unwind_process entry_in_kernel(size_t image)
{
	struct lb_unwind_process entry = {0};
	struct lb_image id = image_nr(image);

	lookup(kernel.maps.processes_fd, &id, &entry);
	return entry;
}

/*
 * @old  the run that is replaced, which does not count if nobody else has it; -1: none
 * Return: the run that equals @w, perhaps a new one; -1: over the quota.
 */
static int get_run(const struct wanted *w, int old)
{
	uint64_t held = 0;
	int nr = -1;

	for (int i = 0; i <= NR_IMAGES; i++) {
		if (m.runs[i].nr_refs && is_same(&m.runs[i].wanted, w))
			return i;
		if (!m.runs[i].nr_refs)
			nr = i;
		else if (m.runs[i].payer == m.tenant &&
			 (i != old || m.runs[i].nr_refs > 1))
			held += m.runs[i].wanted.nr + 1;
	}
	assert(nr >= 0);
	if (!has_room(m.tenant, held, w->nr + 1, LB_UNWIND_MAX_SEGMENTS + 4))
		return -1;
	m.runs[nr] = (struct run){.payer = m.tenant, .wanted = *w};
	return nr;
}

static void put_layout(uint32_t number);

static void set_image(const struct step *s, bool is_many)
{
	static struct lb_unwind_segment segments[MANY_SEGMENTS];
	struct image *image = &m.images[s->which % NR_IMAGES];
	const struct layout *layout = &m.layouts[s->more % NR_LAYOUTS];
	struct wanted w = wanted_of(s, is_many);
	struct lb_image id = image_nr(s->which % NR_IMAGES);
	uint32_t stamp = entry_in_kernel(s->which % NR_IMAGES).stamp;
	bool has_place = find_entry(kernel.entries, &id);
	int run, rc;

	if (is_many && m.nr_many == MAX_MANY_SEGMENTS)
		return;
	m.nr_many += is_many;
	for (int i = 0; i < kernel.max_entries; i++)
		has_place |= !kernel.entries[i].used;
	for (uint32_t i = 0; i < w.nr; i++)
		segments[i] = segment_nr(&w, i);
	run = get_run(&w, image->run);
	rc = unwind_process_set(t, &id, &image->entry, segments, w.nr, layout->number,
				s->seed, s->which);
	assert(rc == (run >= 0 && has_place ? 0 : -ENOSPC));
	if (rc) {
		m.totals.nr_processes_refused++;
		return;
	}
	m.runs[run].nr_refs++;
	put_run(image->run, stamp);
	image->run = run;
	image->is_copy = false;
	unwind_interp_ref(t, layout->number);
	m.layouts[s->more % NR_LAYOUTS].nr_refs += layout->number > 0;
	put_layout(image->interp);
	image->interp = layout->number;
}

static void end_image(size_t at)
{
	struct image *image = &m.images[at];
	struct lb_image id = image_nr(at);
	uint32_t stamp = entry_in_kernel(at).stamp;

	unwind_process_remove(t, &id, &image->entry);
	assert(!image->entry.run);
	put_run(image->run, stamp);
	image->run = -1;
	put_layout(image->interp);
	image->interp = 0;
}

/* The kernel copies the entry of a parent, and user space does not know of it yet. */
static void fork_image(size_t parent, size_t child)
{
	struct lb_image from = image_nr(parent), to = image_nr(child);
	struct lb_unwind_process entry;

	if (m.images[child].run >= 0 || m.images[parent].run < 0 ||
	    lookup(kernel.maps.processes_fd, &from, &entry) ||
	    kmap_update(kernel.maps.inherited_fd, &to, &entry))
		return;
	kernel.image_changes[to.tgid]++;
	m.images[child].is_copy = true;
	m.images[child].copied = m.runs[m.images[parent].run].wanted;
}

static void check_segments(const struct wanted *w, const struct lb_unwind_segment *got)
{
	for (uint32_t i = 0; i<w->nr; i += w->nr> NR_SEGMENTS ? w->nr / 4 : 1) {
		struct lb_unwind_segment s = segment_nr(w, i);

		assert(!memcmp(&s, got + i, sizeof(s)));
	}
}

static void check_images(void)
{
	for (size_t i = 0; i < NR_IMAGES; i++) {
		const struct image *image = &m.images[i];
		struct lb_image id = image_nr(i);
		struct lb_unwind_process p;
		const struct lb_unwind_segment *s = walk_segments(&id, &p);

		if (image->run >= 0) {
			assert(s && p.nr_segments == m.runs[image->run].wanted.nr);
			assert(p.interp == image->interp);
			check_segments(&m.runs[image->run].wanted, s);
		} else if (image->is_copy && s) {
			assert(p.nr_segments == image->copied.nr);
			check_segments(&image->copied, s);
		} else {
			assert(!s);
		}
	}
}

/* ---- layouts ---- */

static struct lb_interp layout_nr(size_t i)
{
	return (struct lb_interp){.version = 0x300 + (uint32_t)i};
}

static void get_layout(size_t i)
{
	struct layout *l = &m.layouts[i];
	struct lb_interp wanted = layout_nr(i);
	uint32_t nr_held = (uint32_t)__builtin_popcountll(m.resting_layouts), nr_paid = 0,
		 number;

	for (size_t j = 0; j < NR_LAYOUTS; j++) {
		nr_held += m.layouts[j].number > 0;
		nr_paid += m.layouts[j].number && m.layouts[j].payer == m.tenant;
	}
	number = unwind_interp_get(t, &wanted);
	if (l->number) {
		assert(number == l->number);
	} else {
		assert(!number == (nr_held >= LB_MAX_INTERPS ||
				   !has_room(m.tenant, nr_paid, 1, LB_MAX_INTERPS)));
		assert(!number || !(m.resting_layouts >> LB_INTERP_INDEX(number) & 1));
		*l = (struct layout){.number = number, .payer = m.tenant};
	}
	l->nr_refs += number > 0;
	l->nr_own += number > 0;
}

static void put_layout(uint32_t number)
{
	struct layout *l = m.layouts;

	if (!number)
		return;
	while (l->number != number)
		l++;
	unwind_interp_put(t, number);
	if (--l->nr_refs)
		return;
	assert(kernel.interps[LB_INTERP_INDEX(number)].use != LB_INTERP_USE(number));
	m.resting_layouts |= UINT64_C(1) << LB_INTERP_INDEX(number);
	l->number = 0;
}

static void put_own_layout(struct layout *l)
{
	if (!l->nr_own)
		return;
	l->nr_own--;
	put_layout(l->number);
}

static void check_layouts(void)
{
	for (size_t i = 0; i < NR_LAYOUTS; i++) {
		uint32_t number = m.layouts[i].number;
		struct lb_interp wanted = layout_nr(i);

		if (!number)
			continue;
		wanted.use = LB_INTERP_USE(number);
		assert(!memcmp(&kernel.interps[LB_INTERP_INDEX(number)], &wanted,
			       sizeof(wanted)));
		assert(!memcmp(unwind_interp_at(t, number), &wanted, sizeof(wanted)));
	}
}

/* ---- files ---- */

static void share_file(const struct step *s)
{
	size_t i = s->which % NR_FILES, nr_shared = 0;
	struct lb_unwind_file_key key = {.inode = i + 1};
	const struct object *o = &m.objects[s->seed % NR_OBJECTS];
	struct lb_unwind_file file = {.first_page = o->start, .nr_pages = o->nr};
	struct tenant payer;
	int rc;

	if (m.files[i].is_shared || !o->is_live)
		return;
	for (size_t j = 0; j < NR_FILES; j++)
		nr_shared += m.files[j].is_shared;
	rc = unwind_file_share(t, &key, &file, &payer);
	assert(rc == (nr_shared == NR_ENTRIES ? -E2BIG : 0));
	if (!rc)
		m.files[i] = (struct file){true, s->seed % NR_OBJECTS, tenant_nr(payer)};
	assert(rc ||
	       m.files[i].payer == (m.payers.nr ? tenant_nr(m.payers.items[0]) : 0));
}

static void unshare_file(size_t i)
{
	struct lb_unwind_file_key key = {.inode = i + 1};

	if (!m.files[i].is_shared)
		return;
	unwind_file_unshare(t, &key, tenants[m.files[i].payer]);
	m.files[i].is_shared = false;
}

static void check_files(void)
{
	for (size_t i = 0; i < NR_FILES; i++) {
		struct lb_unwind_file_key key = {.inode = i + 1};
		int at = file_of(&key);

		assert((at >= 0) == m.files[i].is_shared);
		assert(at < 0 || kernel.files[at].file.first_page ==
					 m.objects[m.files[i].object].start);
	}
}

/* ---- all of it ---- */

static void check_totals(void)
{
	struct unwind_totals now = totals_now(), sum = {0};

	for (size_t i = 0; i < NR_OBJECTS; i++) {
		sum.nr_objects += m.objects[i].is_live;
		sum.nr_pages += m.objects[i].is_live ? m.objects[i].nr : 0;
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			sum.nr_rows += m.objects[i].pages[j].nr;
	}
	for (size_t i = 0; i < NR_IMAGES; i++)
		sum.nr_processes += m.images[i].run >= 0;
	for (size_t i = 0; i <= NR_IMAGES; i++)
		sum.nr_segments += m.runs[i].nr_refs ? m.runs[i].wanted.nr + 1 : 0;
	assert(now.nr_objects == sum.nr_objects && now.nr_pages == sum.nr_pages);
	assert(now.nr_rows == sum.nr_rows && now.nr_processes == sum.nr_processes);
	assert(now.nr_segments == sum.nr_segments);
	assert(now.nr_processes_refused == m.totals.nr_processes_refused);
	m.totals = now;
}

static void check_all(void)
{
	check_objects(true);
	check_images();
	check_layouts();
	check_files();
	for (size_t i = 0; i < m.nr_old_pages; i++)
		check_old_page(&m.old_pages[i]);
	for (size_t i = 0; i < m.nr_old_runs; i++)
		check_segments(&m.old_runs[i].wanted,
			       kernel.segments + m.old_runs[i].stamp + 1);
}

static bool has_same_rules(const struct page_rows *a, const struct page_rows *b)
{
	return a->mark == b->mark && a->seed == b->seed && a->has_many == b->has_many;
}

/* Rules of all pages; each counts once. */
static uint64_t count_rules(void)
{
	struct page_rows *all[NR_OBJECTS * NR_PAGES];
	size_t nr = 0;
	uint64_t nr_rules = 2; /* which always stay */

	for (size_t i = 0; i < NR_OBJECTS; i++)
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			if (m.objects[i].pages[j].nr)
				all[nr++] = &m.objects[i].pages[j];
	for (size_t i = 0; i < nr; i++) {
		uint32_t more = nr_rules_of(all[i]);

		for (size_t j = 0; j < nr; j++)
			if (j != i && has_same_rules(all[i], all[j]) &&
			    (nr_rules_of(all[j]) > nr_rules_of(all[i]) ||
			     (nr_rules_of(all[j]) == nr_rules_of(all[i]) && j < i)))
				more = 0;
		nr_rules += more;
	}
	return nr_rules;
}

/* What rests becomes free, and rows are evicted if few are free. */
static void grace(void)
{
	uint64_t reserve = (uint64_t)m.nr_slabs * LB_SLAB_ROWS / 16,
		 nr_free = 16 * reserve;
	uint64_t nr_rules = count_rules();
	struct unwind_totals now;

	check_all();
	for (size_t i = 0; i < NR_OBJECTS; i++)
		for (uint32_t j = 0; j < nr_modelled(&m.objects[i]); j++)
			nr_free -= (m.objects[i].pages[j].nr + 15) / 16 * 16;
	m.nr_old_pages = m.nr_old_runs = 0;
	m.resting_layouts = 0;
	unwind_tables_grace(t);
	now = totals_now();
	assert(now.nr_rules == nr_rules || now.nr_rules_refused);
	see_evicted(nr_free < reserve ? reserve - nr_free : 0, 0, 0);
}

/* Places of the table of @what that a tenant has. */
static uint64_t places_of(size_t tenant, const char *what)
{
	uint64_t nr = 0;

	if (!strcmp(what, "unwind pages"))
		for (size_t i = 0; i < NR_OBJECTS; i++)
			if (m.objects[i].is_live && m.objects[i].payer == tenant)
				nr += m.objects[i].nr;
	if (!strcmp(what, "unwind segments"))
		for (size_t i = 0; i <= NR_IMAGES; i++)
			if (m.runs[i].nr_refs && m.runs[i].payer == tenant)
				nr += m.runs[i].wanted.nr + 1;
	if (!strcmp(what, "layouts of interpreters"))
		for (size_t i = 0; i < NR_LAYOUTS; i++)
			nr += m.layouts[i].number && m.layouts[i].payer == tenant;
	return nr;
}

static void check_quota(void *ctx, const struct quota *q, struct tenant who,
			uint64_t nr_refused)
{
	(void)ctx;
	assert(m.is_shared && tenant_nr(who) && nr_refused);
	for (size_t i = 0; i < q->nr_accounts; i++) {
		assert(q->accounts[i].nr <= q->max / 4);
		assert(!strcmp(q->what, "unwind rules") ||
		       q->accounts[i].nr ==
			       places_of(tenant_nr(q->accounts[i].tenant), q->what));
	}
}

static void refuse_none(void *ctx, const struct quota *q, struct tenant who,
			uint64_t nr_refused)
{
	(void)ctx;
	(void)q;
	(void)who;
	assert(!nr_refused); /* it was told already */
}

static void serve(size_t tenant)
{
	m.tenant = tenant;
	m.payers = payers_of_one(tenants[tenant]);
	unwind_tables_serve(t, tenants[tenant]);
}

static void do_step(const struct step *s)
{
	struct object *o = &m.objects[s->which % NR_OBJECTS];

	switch ((enum step_kind)(s->kind % NR_STEPS)) {
	case STEP_ADD:
		add_object(s);
		break;
	case STEP_FILL:
	case STEP_FILL_MANY:
		fill_object(s, s->kind % NR_STEPS == STEP_FILL_MANY);
		break;
	case STEP_CLEAR:
		if (o->is_live) {
			unwind_object_clear(t, o->start);
			o->number = ++m.nr_objects; /* CPUs keep no rule of it */
		}
		clear_object(o, s->which % NR_OBJECTS);
		break;
	case STEP_REMOVE:
		remove_object(s->which % NR_OBJECTS);
		break;
	case STEP_SHARE:
		o->payers = payers_of(s->who);
		if (o->is_live)
			unwind_object_share(t, o->start, &o->payers);
		break;
	case STEP_USE: /* by the walk */
		for (uint32_t i = 0; i < nr_modelled(o); i++)
			kernel.pages[o->start + i].used = s->seed >> i & 1;
		break;
	case STEP_SET:
	case STEP_SET_MANY:
		set_image(s, s->kind % NR_STEPS == STEP_SET_MANY);
		break;
	case STEP_END:
		end_image(s->which % NR_IMAGES);
		break;
	case STEP_FORK:
		fork_image(s->which % NR_IMAGES, s->who % NR_IMAGES);
		break;
	case STEP_INTERP_GET:
		get_layout(s->seed % NR_LAYOUTS);
		break;
	case STEP_INTERP_PUT:
		put_own_layout(&m.layouts[s->seed % NR_LAYOUTS]);
		break;
	case STEP_FILE_SHARE:
		share_file(s);
		break;
	case STEP_FILE_UNSHARE:
		unshare_file(s->which % NR_FILES);
		break;
	case STEP_GRACE:
		grace();
		break;
	case STEP_SERVE:
		serve(s->who % NR_TENANTS);
		break;
	case STEP_SERVE_ANY:
		m.payers = payers_of(s->who);
		unwind_tables_serve_any(t, &m.payers);
		break;
	case STEP_REFUSED:
		unwind_tables_each_refused(t, check_quota, NULL);
		unwind_tables_each_refused(t, refuse_none, NULL);
		break;
	case NR_STEPS:
		break;
	}
}

/* ---- the end: all was given back ---- */

static void end_all(void)
{
	struct unwind_totals now;

	for (size_t i = 0; i < NR_IMAGES; i++) {
		struct lb_image id = image_nr(i);

		end_image(i);
		kmap_delete(kernel.maps.inherited_fd, &id);
		m.images[i].is_copy = false;
	}
	for (size_t i = 0; i < NR_LAYOUTS; i++)
		while (m.layouts[i].nr_own)
			put_own_layout(&m.layouts[i]);
	for (size_t i = 0; i < NR_FILES; i++)
		unshare_file(i);
	for (size_t i = 0; i < NR_OBJECTS; i++)
		remove_object(i);
	check_totals();
	unwind_tables_grace(t);
	now = totals_now();
	assert(!now.nr_objects && !now.nr_pages && !now.nr_rows);
	assert(!now.nr_processes && !now.nr_segments && now.nr_rules == 2);
	unwind_tables_each_refused(t, check_quota, NULL);
}

/* Whoever is served may have a quarter of the rules, and no more. */
static void probe_rules(void)
{
	enum {
		NR = LB_UNWIND_MAX_RULES / 4
	};
	static struct lb_unwind_rule rules[NR + 1];
	struct lb_unwind_row row = {0};
	struct row_page page = {0, &row, 1};
	struct row_pages pages = {.rules = rules,
				  .nr_rules = ARRAY_SIZE(rules),
				  .pages = &page,
				  .nr_pages = 1,
				  .rows = &row,
				  .nr_rows = 1};
	uint64_t nr_refused = totals_now().nr_rules_refused;

	for (int32_t i = 0; i <= NR; i++)
		rules[i] = (struct lb_unwind_rule){.cfa = LB_CFA_FP, .cfa_off = i};
	assert(!unwind_object_fill(t, unwind_object_add(t, 1), &pages, NULL, 0));
	assert(totals_now().nr_rules_refused == nr_refused + m.is_shared);
}

/* A slab has room for four full pages again. */
static void probe_rows(void)
{
	static struct lb_unwind_row rows[PAGE_ROWS];
	struct lb_unwind_rule rule = {.cfa = LB_CFA_END};
	struct row_page page = {0, rows, PAGE_ROWS};
	struct row_pages pages = {.rules = &rule,
				  .nr_rules = 1,
				  .pages = &page,
				  .nr_pages = 1,
				  .rows = rows,
				  .nr_rows = PAGE_ROWS};
	uint32_t object = unwind_object_add(t, 5);

	for (uint32_t i = 0; i < PAGE_ROWS; i++)
		rows[i].pc_low = (uint16_t)i;
	for (; page.page < 5; page.page++)
		assert(unwind_object_fill(t, object, &pages, NULL, 0) ==
		       (page.page == 4 && m.nr_slabs == 1 ? -ENOSPC : 0));
}

static void probe_segments(void)
{
	static struct lb_unwind_segment segments[LB_UNWIND_MAX_SEGMENTS / 4];
	struct unwind_entry entries[2] = {{0}};
	struct lb_image id = image_nr(0);

	assert(!unwind_process_set(t, &id, &entries[0], segments, ARRAY_SIZE(segments), 0,
				   0, 0));
	assert(unwind_process_set(t, &id, &entries[1], segments, 0, 0, 0, 0) ==
	       (m.is_shared ? -ENOSPC : 0));
}

static void probe_processes(void)
{
	struct lb_image id = image_nr(0);

	for (int i = 0; i <= LB_UNWIND_MAX_PROCESSES / 4; i++) {
		struct unwind_entry entry = {0};

		assert(unwind_process_set(t, &id, &entry, NULL, 0, 0, 0, 0) ==
		       (i == LB_UNWIND_MAX_PROCESSES / 4 && m.is_shared ? -ENOSPC : 0));
	}
}

static void probe(enum probe what)
{
	struct lb_unwind_file_key key = {.inode = 1};
	struct lb_unwind_file file = {.nr_pages = 1};
	struct tenant payer;

	switch (what) {
	case PROBE_PAGES:
		assert(unwind_object_add(t, LB_UNWIND_MAX_PAGES / 4) != UNWIND_NO_OBJECT);
		assert((unwind_object_add(t, 1) == UNWIND_NO_OBJECT) == m.is_shared);
		break;
	case PROBE_ROWS:
		probe_rows();
		break;
	case PROBE_RULES:
		probe_rules();
		break;
	case PROBE_SEGMENTS:
		probe_segments();
		break;
	case PROBE_PROCESSES:
		probe_processes();
		break;
	case PROBE_INTERPS:
		for (size_t i = 0; i <= LB_MAX_INTERPS / 4; i++) {
			struct lb_interp layout = layout_nr(i);

			assert(!unwind_interp_get(t, &layout) ==
			       (i == LB_MAX_INTERPS / 4 && m.is_shared));
		}
		break;
	case PROBE_FILES:
		for (int i = 0; i <= LB_UNWIND_MAX_FILES / 4; i++)
			assert(unwind_file_share(t, &key, &file, &payer) ==
			       (i == LB_UNWIND_MAX_FILES / 4 && m.is_shared ? -ENOSPC
									    : 0));
		break;
	case NR_PROBES:
		break;
	}
}

/* ---- an input ---- */

static void begin(uint8_t flags)
{
	nr_inputs++;
	m = (struct model){.is_shared = flags & 1, .nr_slabs = 1 + (flags >> 1 & 1)};
	for (size_t i = 0; i < NR_IMAGES; i++)
		m.images[i].run = -1;
	kernel_boot();
	kernel.max_entries = NR_ENTRIES;
	assert(!unwind_tables_new(m.nr_slabs * SLAB_BYTES, &kernel.maps, &t, NULL));
	if (m.is_shared)
		unwind_tables_share(t);
	m.totals = totals_now();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t nr;

	if (size < HEADER_BYTES)
		return 0;
	nr = (size - HEADER_BYTES) / sizeof(struct step);
	begin(data[0]);
	for (size_t i = 0; i < nr && i < MAX_STEPS; i++) {
		struct step s;

		memcpy(&s, data + HEADER_BYTES + i * sizeof(s), sizeof(s));
		keep_pages();
		do_step(&s);
		check_objects(false);
		check_totals();
	}
	check_all();
	end_all();
	kernel.max_entries = 0;
	serve(1 + data[1] % (NR_TENANTS - 1));
	probe(data[2] % NR_PROBES);
	unwind_tables_free(t);
	kernel_end();
	return 0;
}
