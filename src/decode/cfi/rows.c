// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/search.h"
#include "base/vec.h"

void cfi_rows_deinit(struct cfi_rows *rows)
{
	free(rows->items);
	*rows = (struct cfi_rows){0};
}

/*
 * cfi_rows_finish(): cfi_read() adds one run of rows per function, ended by
 * {LB_CFA_NONE}. Functions may come in any order and overlap (hostile files can nest
 * all of them), so we sweep them by address; where several cover an address, the one
 * that was read last wins.
 */

struct row_run {
	uint64_t start, end; /* vaddrs */
	size_t first; /* row */
	size_t nr; /* rows, without the one that ends it */
};

struct sweep {
	const struct cfi_rows *in;
	struct row_run *runs; /* in order of start */
	size_t nr_runs, cap_runs;
	struct row_run *heap; /* runs that have begun; the one read last is on top */
	size_t nr_heap;
	struct cfi_row *out;
	size_t nr_out;
};

static void sweep_deinit(struct sweep *s)
{
	free(s->runs);
	free(s->heap);
	free(s->out);
}

/* ---- runs ---- */

static int find_runs(struct sweep *s)
{
	const struct cfi_row *rows = s->in->items;
	size_t first = 0;

	for (size_t i = 0; i < s->in->nr; i++) {
		if (rows[i].rule.cfa != LB_CFA_NONE)
			continue;
		if (i > first) {
			if (vec_grow(&s->runs, &s->cap_runs, s->nr_runs + 1,
				     sizeof(*s->runs), 0))
				return -ENOMEM;
			s->runs[s->nr_runs++] =
				(struct row_run){.start = rows[first].vaddr,
						 .end = rows[i].vaddr,
						 .first = first,
						 .nr = i - first};
		}
		first = i + 1;
	}
	return 0;
}

static int by_start(const void *va, const void *vb)
{
	const struct row_run *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void sort_runs(struct sweep *s)
{
	for (size_t i = 1; i < s->nr_runs; i++)
		if (by_start(&s->runs[i - 1], &s->runs[i]) > 0) {
			qsort(s->runs, s->nr_runs, sizeof(*s->runs), by_start);
			return;
		}
}

/* ---- heap of the runs at an address ---- */

static void heap_push(struct sweep *s, const struct row_run *run)
{
	size_t i = s->nr_heap++;

	for (; i && s->heap[(i - 1) / 2].first < run->first; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = *run;
}

static void heap_pop(struct sweep *s)
{
	struct row_run last = s->heap[--s->nr_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->nr_heap) {
		if (child + 1 < s->nr_heap &&
		    s->heap[child + 1].first > s->heap[child].first)
			child++;
		if (s->heap[child].first < last.first)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
}

/* ---- rows ---- */

/* There is room: at most one row for the start of a run, its end, and before it. */
static void add(struct sweep *s, uint64_t vaddr, const struct lb_unwind_rule *rule)
{
	const struct cfi_row *last = s->nr_out ? &s->out[s->nr_out - 1] : NULL;

	if (!last ? rule->cfa != LB_CFA_NONE : !!memcmp(&last->rule, rule, sizeof(*rule)))
		s->out[s->nr_out++] = (struct cfi_row){.vaddr = vaddr, .rule = *rule};
}

/* Adds the rows of @run in [from, to), which is a part of it. */
static void add_part(struct sweep *s, const struct row_run *run, uint64_t from,
		     uint64_t to)
{
	const struct cfi_row *rows = &s->in->items[run->first];
	size_t low = SEARCH_FIRST(i, run->nr, rows[i].vaddr > from);

	add(s, from, &rows[low - 1].rule);
	for (; low < run->nr && rows[low].vaddr < to; low++)
		add(s, rows[low].vaddr, &rows[low].rule);
}

static void sweep_all(struct sweep *s)
{
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	uint64_t at = 0;
	size_t next = 0;

	while (next < s->nr_runs || s->nr_heap) {
		uint64_t until;

		while (s->nr_heap && s->heap[0].end <= at)
			heap_pop(s);
		if (!s->nr_heap) {
			if (next == s->nr_runs)
				break;
			if (s->runs[next].start > at)
				add(s, at, &none);
			at = s->runs[next].start;
		}
		while (next < s->nr_runs && s->runs[next].start <= at)
			heap_push(s, &s->runs[next++]);
		until = s->heap[0].end;
		if (until <= at)
			continue;
		if (next < s->nr_runs && s->runs[next].start < until)
			until = s->runs[next].start;
		add_part(s, &s->heap[0], at, until);
		at = until;
	}
	add(s, at, &none);
}

int cfi_rows_finish(struct cfi_rows *rows)
{
	_cleanup_(sweep_deinit) struct sweep s = {.in = rows};
	size_t max_out;
	int err = find_runs(&s);

	if (err)
		return err;
	sort_runs(&s);
	s.heap = calloc(s.nr_runs ? s.nr_runs : 1, sizeof(*s.heap));
	max_out = rows->nr + 3 * s.nr_runs + 1;
	s.out = malloc(max_out * sizeof(*s.out));
	if (!s.heap || !s.out)
		return -ENOMEM;
	sweep_all(&s);
	free(rows->items);
	rows->items = take_ptr(s.out);
	rows->nr = s.nr_out;
	rows->cap = max_out;
	return 0;
}

int cfi_rows_add(struct cfi_rows *rows, uint64_t vaddr, const struct lb_unwind_rule *rule,
		 size_t max)
{
	int err = vec_grow(&rows->items, &rows->cap, rows->nr + 1, sizeof(*rows->items),
			   max);

	if (!err)
		rows->items[rows->nr++] = (struct cfi_row){.vaddr = vaddr, .rule = *rule};
	return err;
}

size_t cfi_rows_up_to(const struct cfi_rows *rows, uint64_t vaddr)
{
	return SEARCH_FIRST(i, rows->nr, rows->items[i].vaddr > vaddr);
}

bool cfi_rows_cover(const struct cfi_rows *rows, uint64_t vaddr)
{
	size_t nr = cfi_rows_up_to(rows, vaddr);

	return nr && rows->items[nr - 1].rule.cfa != LB_CFA_NONE;
}

int cfi_rows_add_below(struct cfi_rows *rows, struct cfi_rows *below)
{
	if (!below->nr)
		return 0;
	if (rows->nr && vec_grow(&below->items, &below->cap, below->nr + rows->nr,
				 sizeof(*below->items), 0))
		return -ENOMEM;
	if (rows->nr)
		memcpy(below->items + below->nr, rows->items,
		       rows->nr * sizeof(*rows->items));
	free(rows->items);
	rows->items = take_ptr(below->items);
	rows->nr += below->nr;
	rows->cap = below->cap;
	rows->stats.is_cut |= below->stats.is_cut;
	return cfi_rows_finish(rows);
}

/* cfi_pages_write(): splits rows by page, and replaces their rules by numbers. */

#define PAGE_SHIFT 16
#define PAGE_MASK  0xffffu
#define MAX_RULES  65536 /* numbers have 16 bits */

/* ---- rules ---- */

#define NR_LATEST 256

struct rule_numbers {
	struct lb_unwind_rule *items; /* [0] replaces rules over the maximum */
	size_t nr, cap;
	struct hashmap by_hash;
	/*
	 * Numbers of rules that were found lately. Functions use the same few, and a hash
	 * that no file can attack takes a third of the time of all rows.
	 */
	uint16_t latest[NR_LATEST];
	bool failed; /* out of memory */
};

static void rules_deinit(struct rule_numbers *r)
{
	free(r->items);
	hashmap_deinit(&r->by_hash);
}

static bool is_rule(uint32_t item, const void *key, const void *ctx)
{
	const struct rule_numbers *r = ctx;

	return !memcmp(&r->items[item], key, sizeof(r->items[item]));
}

static size_t latest_of(const struct lb_unwind_rule *rule)
{
	uint64_t bytes;

	memcpy(&bytes, rule, sizeof(bytes));
	return hash_number(bytes) % NR_LATEST;
}

static uint32_t find_number(struct rule_numbers *r, const struct lb_unwind_rule *rule)
{
	uint64_t hash = hash_bytes(0, rule, sizeof(*rule));
	uint32_t number = hashmap_get(&r->by_hash, hash, is_rule, rule, r);

	if (number != HASHMAP_NONE)
		return number;
	if (r->nr == MAX_RULES)
		return 0;
	if (vec_grow(&r->items, &r->cap, r->nr + 1, sizeof(*r->items), MAX_RULES) ||
	    hashmap_add(&r->by_hash, hash, (uint32_t)r->nr)) {
		r->failed = true;
		return 0;
	}
	r->items[r->nr] = *rule;
	return (uint32_t)r->nr++;
}

static uint32_t rule_number(struct rule_numbers *r, const struct lb_unwind_rule *rule)
{
	uint16_t *latest = &r->latest[latest_of(rule)];

	if (*latest >= r->nr || !is_rule(*latest, rule, r))
		*latest = (uint16_t)find_number(r, rule);
	return *latest;
}

static void write_rules(const struct rule_numbers *r, struct wire_writer *w)
{
	wire_put_u32(w, (uint32_t)r->nr);
	for (size_t i = 0; i < r->nr; i++) {
		wire_put_u8(w, r->items[i].cfa);
		wire_put_u8(w, r->items[i].fp);
		wire_put_u32(w, (uint32_t)(int32_t)r->items[i].fp_off);
		wire_put_u32(w, (uint32_t)r->items[i].cfa_off);
	}
}

/* ---- pages ---- */

struct page_part {
	uint64_t number;
	const struct lb_unwind_rule *at_start; /* rule at the start of the page */
	size_t first, nr; /* rows after the start of the page */
};

/* Iterates over the pages that have a row. */
struct page_walk {
	const struct cfi_rows *rows;
	uint64_t bias, hi;
	uint64_t number; /* of the next page */
	size_t row; /* first row at or above its start */
	const struct lb_unwind_rule *rule; /* rule at its start, unless @row is there */
	size_t nr_pages; /* so far */
};

static uint64_t address(const struct page_walk *w, size_t row)
{
	return w->rows->items[row].vaddr - w->bias;
}

static struct page_walk walk_begin(const struct cfi_rows *rows, uint64_t bias,
				   uint64_t lo, uint64_t hi)
{
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	struct page_walk walk = {.rows = rows, .bias = bias, .hi = hi, .rule = &none};
	uint64_t begin;

	if (lo > bias)
		walk.number = ((lo - bias - 1) >> PAGE_SHIFT) + 1;
	if (walk.number > (UINT64_MAX - bias) >> PAGE_SHIFT) { /* there is no such page */
		walk.row = rows->nr;
		return walk;
	}
	/* Rows below @lo get no page, but the last may extend into the first page. */
	begin = bias + (walk.number << PAGE_SHIFT);
	walk.row = begin ? cfi_rows_up_to(rows, begin - 1) : 0;
	if (walk.row)
		walk.rule = &rows->items[walk.row - 1].rule;
	return walk;
}

/* Return: false when there are no more. */
static bool walk_next(struct page_walk *w, struct page_part *ret)
{
	while (w->row < w->rows->nr && w->nr_pages < CFI_MAX_PAGES) {
		bool is_used;

		if (w->rule->cfa == LB_CFA_NONE) /* skip to the page of the next row */
			w->number = address(w, w->row) >> PAGE_SHIFT;
		if (w->bias + (w->number << PAGE_SHIFT) >= w->hi)
			return false;
		if (address(w, w->row) == w->number << PAGE_SHIFT)
			w->rule = &w->rows->items[w->row++].rule;
		*ret = (struct page_part){
			.number = w->number, .at_start = w->rule, .first = w->row};
		is_used = w->rule->cfa != LB_CFA_NONE;
		while (w->row < w->rows->nr &&
		       address(w, w->row) >> PAGE_SHIFT == w->number) {
			w->rule = &w->rows->items[w->row++].rule;
			is_used |= w->rule->cfa != LB_CFA_NONE;
			ret->nr++;
		}
		w->number++;
		if (is_used) {
			w->nr_pages++;
			return true;
		}
	}
	return false;
}

static void number_rules(const struct cfi_rows *rows, const struct page_part *page,
			 struct rule_numbers *rules)
{
	rule_number(rules, page->at_start);
	for (size_t i = page->first; i < page->first + page->nr; i++)
		rule_number(rules, &rows->items[i].rule);
}

static void write_page(const struct page_walk *w, const struct page_part *page,
		       struct rule_numbers *rules, struct wire_writer *out)
{
	wire_put_u64(out, page->number);
	wire_put_u32(out, (uint32_t)page->nr + 1);
	wire_put_u32(out, rule_number(rules, page->at_start) << 16);
	for (size_t i = page->first; i < page->first + page->nr; i++)
		wire_put_u32(out, (uint32_t)(address(w, i) & PAGE_MASK) |
					  rule_number(rules, &w->rows->items[i].rule)
						  << 16);
}

void cfi_pages_write(const struct cfi_rows *rows, uint64_t bias, uint64_t lo, uint64_t hi,
		     struct wire_writer *w)
{
	static const struct lb_unwind_rule unsupported = {.cfa = LB_CFA_UNSUPPORTED};
	_cleanup_(rules_deinit) struct rule_numbers rules = {0};
	struct page_walk walk = walk_begin(rows, bias, lo, hi);
	struct page_part page;

	rule_number(&rules, &unsupported);
	while (walk_next(&walk, &page))
		number_rules(rows, &page, &rules);
	write_rules(&rules, w);
	wire_put_u32(w, (uint32_t)walk.nr_pages);
	walk = walk_begin(rows, bias, lo, hi);
	while (walk_next(&walk, &page))
		write_page(&walk, &page, &rules, w);
	w->failed |= rules.failed;
}
