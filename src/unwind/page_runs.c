// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/page_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/kmap.h"

#define PAGES_BYTES (LB_UNWIND_MAX_PAGES * sizeof(struct lb_unwind_page))

int page_runs_init(struct page_runs *r, int fd)
{
	*r = (struct page_runs){.pages = kmap_map(fd, PAGES_BYTES)};
	if (!r->pages)
		return -errno;
	r->run_pages = calloc(LB_UNWIND_MAX_PAGES, sizeof(*r->run_pages));
	r->idle = calloc(LB_UNWIND_MAX_PAGES, sizeof(*r->idle));
	if (!r->run_pages || !r->idle)
		return -ENOMEM;
	return spans_init(&r->spans, LB_UNWIND_MAX_PAGES);
}

void page_runs_deinit(struct page_runs *r)
{
	kmap_unmap(r->pages, PAGES_BYTES);
	spans_deinit(&r->spans);
	free(r->run_pages);
	free(r->idle);
	*r = (struct page_runs){0};
}

uint32_t page_runs_add(struct page_runs *r, uint64_t nr)
{
	uint32_t run = nr && nr <= LB_UNWIND_MAX_PAGES
			       ? spans_take(&r->spans, (uint32_t)nr)
			       : SPANS_NONE;

	if (run == SPANS_NONE)
		return SPANS_NONE;
	r->run_pages[run] = (uint32_t)nr;
	r->nr_runs++;
	r->nr_pages += nr;
	if (r->top < run + nr)
		r->top = run + (uint32_t)nr;
	return run;
}

void page_runs_remove(struct page_runs *r, uint32_t run)
{
	uint32_t nr = r->run_pages[run];

	for (uint32_t page = run; page < run + nr; page++)
		if (!page_is_absent(r, page)) /* an empty page */
			page_runs_clear(r, page, &(uint32_t){0});
	r->run_pages[run] = 0;
	r->nr_runs--;
	r->nr_pages -= nr;
	spans_rest(&r->spans, run, nr);
}

void page_runs_grace(struct page_runs *r)
{
	spans_wake(&r->spans);
}

/* Stores a page as one word, which the walk reads atomically. */
static void store(struct page_runs *r, uint32_t page, const struct lb_unwind_page *value)
{
	union {
		struct lb_unwind_page page;
		uint64_t word;
	} u = {.page = *value};

	__atomic_store_n((uint64_t *)&r->pages[page], u.word, __ATOMIC_RELEASE);
}

void page_runs_set(struct page_runs *r, uint32_t page, uint32_t first_row,
		   uint32_t nr_rows)
{
	struct lb_unwind_page value = {.first_row = first_row,
				       .last_row = (uint16_t)(nr_rows - 1),
				       .state = LB_PAGE_ROWS,
				       .used = 1};

	r->idle[page] = 0;
	r->nr_rows += nr_rows;
	store(r, page, &value);
}

void page_runs_set_empty(struct page_runs *r, uint32_t page)
{
	struct lb_unwind_page value = {.state = LB_PAGE_EMPTY};

	store(r, page, &value);
}

uint32_t page_runs_clear(struct page_runs *r, uint32_t page, uint32_t *ret_first)
{
	struct lb_unwind_page old = r->pages[page], absent = {.state = LB_PAGE_ABSENT};
	uint32_t nr_rows = old.state == LB_PAGE_ROWS ? old.last_row + 1u : 0;

	store(r, page, &absent);
	r->nr_rows -= nr_rows;
	*ret_first = old.first_row;
	return nr_rows;
}

/* ---- which to evict ---- */

void page_runs_age(struct page_runs *r)
{
	for (uint32_t page = 0; page < r->top; page++) {
		struct lb_unwind_page *p = &r->pages[page];

		if (p->state != LB_PAGE_ROWS)
			continue;
		if (p->used) {
			__atomic_store_n(&p->used, 0, __ATOMIC_RELAXED);
			r->idle[page] = 0;
		} else if (r->idle[page] < UINT8_MAX) {
			r->idle[page]++;
		}
	}
}

/* Returns the idle age at which all pages at least as idle have @nr_rows together. */
static uint8_t idle_for(const struct page_runs *r, uint64_t nr_rows)
{
	uint64_t rows[UINT8_MAX + 1] = {0}, sum = 0;
	unsigned int idle = UINT8_MAX;

	for (uint32_t page = 0; page < r->top; page++)
		if (r->pages[page].state == LB_PAGE_ROWS)
			rows[r->idle[page]] += r->pages[page].last_row + 1u;
	for (;; idle--) {
		sum += rows[idle];
		if (sum >= nr_rows || !idle)
			return (uint8_t)idle;
	}
}

uint32_t page_runs_idlest(struct page_runs *r, uint64_t nr_rows,
			  struct page_cursor *cursor)
{
	if (!cursor->begun) {
		cursor->begun = true;
		cursor->idle = idle_for(r, nr_rows);
	}
	while (cursor->nr_seen < r->top) {
		uint32_t page = r->hand < r->top ? r->hand : 0;

		r->hand = page + 1;
		cursor->nr_seen++;
		if (r->pages[page].state == LB_PAGE_ROWS && r->idle[page] >= cursor->idle)
			return page;
	}
	return SPANS_NONE;
}
