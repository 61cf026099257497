/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of all objects in the kernel's array: each object has a run of them. Knows how
 * long ago the kernel last looked at a page, so that the idlest ones can be evicted.
 */
#ifndef LB_UNWIND_PAGE_RUNS_H
#define LB_UNWIND_PAGE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lineburn_unwind.h"
#include "unwind/spans.h"

struct page_runs {
	struct lb_unwind_page *pages; /* LB_UNWIND_MAX_PAGES of them, mapped */
	struct spans spans;
	uint32_t *run_pages; /* of the run that begins here; 0: none does; heap */
	uint8_t *idle; /* ages since a page was used; heap */
	uint32_t hand; /* where the last eviction ended */
	uint32_t top; /* no page from here on was ever used */
	uint64_t nr_runs, nr_pages; /* held */
	uint64_t nr_rows; /* held by pages */
};

/** @fd  the kernel's array; borrowed. Return: 0 or -errno. */
int page_runs_init(struct page_runs *r, int fd);
void page_runs_deinit(struct page_runs *r);

/** Return: first of @nr pages, all absent; SPANS_NONE: no room. */
uint32_t page_runs_add(struct page_runs *r, uint64_t nr);
/** Its pages hold no rows any more. They may be used again after the grace. */
void page_runs_remove(struct page_runs *r, uint32_t run);
void page_runs_grace(struct page_runs *r);

static inline bool page_is_absent(const struct page_runs *r, uint32_t page)
{
	return r->pages[page].state == LB_PAGE_ABSENT;
}

/** The absent @page has these rows. */
void page_runs_set(struct page_runs *r, uint32_t page, uint32_t first_row,
		   uint32_t nr_rows);
/** The absent @page has none. */
void page_runs_set_empty(struct page_runs *r, uint32_t page);

/** @page becomes absent. Return: how many rows it had, with the first in @ret_first. */
uint32_t page_runs_clear(struct page_runs *r, uint32_t page, uint32_t *ret_first);

/** An age goes by for all pages: what was not used since the last one idles on. */
void page_runs_age(struct page_runs *r);
/**
 * Chooses a page to evict when @nr_rows are to be freed in all: never one that is used
 * more than those that are left. Begin with *@cursor all zeroes, and clear the page.
 * Return: SPANS_NONE when none is left.
 */
struct page_cursor {
	bool begun;
	uint8_t idle; /* this idle or longer */
	uint32_t nr_seen;
};
uint32_t page_runs_idlest(struct page_runs *r, uint64_t nr_rows,
			  struct page_cursor *cursor);

#endif
