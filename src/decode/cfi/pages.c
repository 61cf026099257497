// SPDX-License-Identifier: GPL-2.0-or-later
/* cfi_pages_write(): rows cut into pages, in which a row names its rule by a number. */
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "decode/cfi/cfi.h"

#define PAGE_SHIFT 16
#define PAGE_MASK  0xffffu
#define MAX_RULES  65536 /* what the number of a rule can say */

/* ---- rules ---- */

struct rules {
	struct lb_unwind_rule *items; /* [0]: what those over the maximum become */
	size_t nr, cap;
	struct hashmap by_hash;
	bool failed; /* out of memory */
};

static void rules_deinit(struct rules *r)
{
	free(r->items);
	hashmap_deinit(&r->by_hash);
}

static uint64_t hash_rule(const struct lb_unwind_rule *rule)
{
	return hash_bytes(0, rule, sizeof(*rule));
}

static bool is_rule(uint32_t item, const void *key, const void *ctx)
{
	const struct rules *r = ctx;

	return !memcmp(&r->items[item], key, sizeof(r->items[item]));
}

static uint32_t rule_number(struct rules *r, const struct lb_unwind_rule *rule)
{
	uint64_t hash = hash_rule(rule);
	uint32_t number = hashmap_find(&r->by_hash, hash, is_rule, rule, r);

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

static void write_rules(const struct rules *r, struct wire_writer *w)
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

struct page {
	uint64_t number;
	const struct lb_unwind_rule *at_start; /* what holds where it begins */
	size_t first, nr; /* rows behind its beginning */
};

/* Goes over the pages that have a row. */
struct walk {
	const struct cfi_rows *rows;
	uint64_t bias, hi;
	uint64_t number; /* of the page that is looked at next */
	size_t row; /* the first one that is not below its beginning */
	const struct lb_unwind_rule *rule; /* that holds there unless that row is */
	size_t nr_pages; /* so far */
};

static uint64_t address(const struct walk *w, size_t row)
{
	return w->rows->items[row].vaddr - w->bias;
}

static struct walk walk_begin(const struct cfi_rows *rows, uint64_t bias, uint64_t lo,
			      uint64_t hi)
{
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	struct walk walk = {.rows = rows, .bias = bias, .hi = hi, .rule = &none};
	uint64_t begin;

	if (lo > bias)
		walk.number = ((lo - bias - 1) >> PAGE_SHIFT) + 1;
	if (walk.number > (UINT64_MAX - bias) >> PAGE_SHIFT) { /* there is no such page */
		walk.row = rows->nr;
		return walk;
	}
	/* What lies below takes no page, but may reach into one. */
	begin = bias + (walk.number << PAGE_SHIFT);
	walk.row = begin ? cfi_rows_up_to(rows, begin - 1) : 0;
	if (walk.row)
		walk.rule = &rows->items[walk.row - 1].rule;
	return walk;
}

/* Return: false when there are no more. */
static bool walk_next(struct walk *w, struct page *ret)
{
	while (w->row < w->rows->nr && w->nr_pages < CFI_MAX_PAGES) {
		bool is_used;

		if (w->rule->cfa == LB_CFA_NONE) /* nothing before the next row */
			w->number = address(w, w->row) >> PAGE_SHIFT;
		if (w->bias + (w->number << PAGE_SHIFT) >= w->hi)
			return false;
		if (address(w, w->row) == w->number << PAGE_SHIFT)
			w->rule = &w->rows->items[w->row++].rule;
		*ret = (struct page){
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

static void number_rules(const struct cfi_rows *rows, const struct page *page,
			 struct rules *rules)
{
	rule_number(rules, page->at_start);
	for (size_t i = page->first; i < page->first + page->nr; i++)
		rule_number(rules, &rows->items[i].rule);
}

static void write_page(const struct walk *w, const struct page *page, struct rules *rules,
		       struct wire_writer *out)
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
	_cleanup_(rules_deinit) struct rules rules = {0};
	struct walk walk = walk_begin(rows, bias, lo, hi);
	struct page page;

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
