/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of all objects in the kernel's array: each object has a run of pages. Tracks when
 * the kernel last used a page, so that the least recently used ones can be evicted.
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
	uint32_t *run_pages; /* length of the run that begins here; 0: none; heap */
	uint8_t *idle; /* ages since a page was used; heap */
	uint32_t hand; /* where the last eviction ended */
	uint32_t top; /* pages from here on were never used */
	uint64_t nr_runs, nr_pages; /* held */
	uint64_t nr_rows; /* held by pages */
};

/** @fd  the kernel's array; borrowed. Return: 0 or -errno. */
int page_runs_init(struct page_runs *r, int fd);
void page_runs_deinit(struct page_runs *r);

/** Allocates @nr pages, all absent. Return: the first one; SPANS_NONE: no room. */
uint32_t page_runs_add(struct page_runs *r, uint64_t nr);
/** Frees a run, whose pages hold no rows any more, for reuse after the grace period. */
void page_runs_remove(struct page_runs *r, uint32_t run);
void page_runs_grace(struct page_runs *r);

static inline bool page_is_absent(const struct page_runs *r, uint32_t page)
{
	return r->pages[page].state == LB_PAGE_ABSENT;
}

/** Sets the rows of the absent @page. */
void page_runs_set(struct page_runs *r, uint32_t page, uint32_t first_row,
		   uint32_t nr_rows);
/** Marks the absent @page as empty. */
void page_runs_set_empty(struct page_runs *r, uint32_t page);

/** Makes @page absent. Return: the number of its rows, with the first in @ret_first. */
uint32_t page_runs_clear(struct page_runs *r, uint32_t page, uint32_t *ret_first);

/** Ages all pages: a page not used since the last call becomes idler. */
void page_runs_age(struct page_runs *r);
/**
 * Chooses a page to evict, in order to free @nr_rows in all: never one used more recently
 * than a page that stays. Zero *@cursor first; clear each returned page.
 * Return: SPANS_NONE when none is left.
 */
struct page_cursor {
	bool begun;
	uint8_t idle; /* evict pages at least this idle */
	uint32_t nr_seen;
};
uint32_t page_runs_idlest(struct page_runs *r, uint64_t nr_rows,
			  struct page_cursor *cursor);

#endif
