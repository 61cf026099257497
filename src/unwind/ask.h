/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes requests for unwind rows, and validates the answers, which are untrusted. */
#ifndef LB_UNWIND_ASK_H
#define LB_UNWIND_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lineburn_unwind.h"
#include "worker/worker.h"

/*
 * Rows of one page, in ascending order; the first pc_low is 0, rules are below nr_rules.
 */
struct row_page {
	uint64_t page; /* address in the object >> 16 */
	const struct lb_unwind_row *rows; /* into row_pages.rows */
	uint32_t nr_rows; /* 1..65536 */
};

struct row_pages {
	struct lb_unwind_rule *rules;
	size_t nr_rules;
	struct row_page *pages; /* in order of page */
	size_t nr_pages;
	struct lb_unwind_row *rows; /* rule: index in rules */
	size_t nr_rows;
	bool whole; /* the object's other pages are empty */
	uint64_t *left_out; /* pages that were asked, but not needed */
	size_t nr_left_out;
};
void row_pages_deinit(struct row_pages *p);

#define ROWS_DEADLINE_MS 2000

struct asked_page {
	uint64_t page;
	/*
	 * Otherwise it is asked because others are, and is left out if its rows take long
	 * to make.
	 */
	bool is_needed;
};

/** Writes the content of DECODER_CFI: a request for rows of the pages @pages of a file. */
void rows_of_file_put(struct wire_writer *request, const struct asked_page *pages,
		      size_t nr_pages);

/**
 * Takes its answer. Return: WORKER_OK with @ret set, or the failure (then do not request
 * this file again; after WORKER_DEADLINE, not soon).
 */
enum worker_answer rows_of_file_take(enum worker_answer answer, struct wire_reader *reply,
				     const struct asked_page *pages, size_t nr_pages,
				     struct row_pages *ret);

/** Was @page left out of the reply? */
bool page_is_left_out(const struct row_pages *p, uint64_t page);

/** Is @page one of @pages? */
bool page_is_asked(const struct asked_page *pages, size_t nr, uint64_t page);

/* One text section of a JIT's object. */
struct jit_text {
	uint64_t start, end; /* run-time addresses */
	struct row_pages pages; /* addresses: distance from start; always whole */
};

/* Where an object lies in the store's file. */
struct jit_piece {
	uint64_t offset, size_bytes;
};

/** Writes the content of DECODER_CFI_JIT: a request for rows of @nr objects in a file. */
void rows_of_jit_put(struct wire_writer *request, const struct jit_piece *pieces,
		     size_t nr);

/**
 * Takes its answer: calls @fn for each text section of the objects, in order; @fn may take
 * text->pages and leave it empty. Return: as above; -ENOMEM counts as WORKER_FAILED.
 */
enum worker_answer rows_of_jit_take(
	enum worker_answer answer, struct wire_reader *reply, size_t nr,
	void (*fn)(void *ctx, size_t piece, struct jit_text *text), void *ctx);

#endif
