// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define MAX_RULES         65536 /* most rules in a reply */
#define MAX_ROWS_PER_PAGE 65536
#define MAX_TEXTS         4096 /* of one object; LLVM makes one or two */

#define RULE_BYTES        10 /* in a reply */
#define PAGE_BYTES        12
#define ROW_BYTES         4

#define PAGE_SHIFT        16
#define HIGHEST_PAGE      (UINT64_MAX >> PAGE_SHIFT)
#define HIGHEST_CFA_KIND  (LB_CFA_REG + 15)

void row_pages_deinit(struct row_pages *p)
{
	free(p->rules);
	free(p->pages);
	free(p->rows);
	free(p->left_out);
	*p = (struct row_pages){0};
}

bool page_is_left_out(const struct row_pages *p, uint64_t page)
{
	for (size_t i = 0; i < p->nr_left_out; i++)
		if (p->left_out[i] == page)
			return true;
	return false;
}

/* NULL: @page is none of @pages. */
static const struct asked_page *find_asked(const struct asked_page *pages, size_t nr,
					   uint64_t page)
{
	for (size_t i = 0; i < nr; i++)
		if (pages[i].page == page)
			return &pages[i];
	return NULL;
}

bool page_is_asked(const struct asked_page *pages, size_t nr, uint64_t page)
{
	return find_asked(pages, nr, page);
}

/* ---- replies ---- */

/* Can @nr items of @size bytes each follow? Checks an untrusted count before use. */
static bool can_follow(const struct wire_reader *r, uint64_t nr, size_t size)
{
	return !r->failed && nr <= (r->len - r->pos) / size;
}

static int read_rules(struct wire_reader *r, struct row_pages *p)
{
	size_t nr = wire_get_u32(r);

	if (!can_follow(r, nr, RULE_BYTES) || nr > MAX_RULES)
		return -EBADMSG;
	p->rules = calloc(nr + 1, sizeof(*p->rules));
	if (!p->rules)
		return -ENOMEM;
	for (; p->nr_rules < nr; p->nr_rules++) {
		struct lb_unwind_rule *rule = &p->rules[p->nr_rules];
		int32_t fp_off;

		rule->cfa = wire_get_u8(r);
		rule->fp = wire_get_u8(r);
		fp_off = (int32_t)wire_get_u32(r);
		rule->fp_off = (int16_t)fp_off;
		rule->cfa_off = (int32_t)wire_get_u32(r);
		if (rule->cfa > HIGHEST_CFA_KIND ||
		    (rule->fp & LB_FP_KIND) > LB_FP_UNSUPPORTED || rule->fp_off != fp_off)
			return -EBADMSG;
	}
	return 0;
}

/* Reads a page; the caller has allocated room for its rows. */
static int read_page(struct wire_reader *r, struct row_pages *p)
{
	struct row_page *page = &p->pages[p->nr_pages];
	uint32_t nr;

	page->page = wire_get_u64(r);
	nr = wire_get_u32(r);
	if (!can_follow(r, nr, ROW_BYTES) || !nr || nr > MAX_ROWS_PER_PAGE ||
	    page->page > HIGHEST_PAGE || (p->nr_pages && page[-1].page >= page->page))
		return -EBADMSG;
	page->nr_rows = nr;
	page->rows = &p->rows[p->nr_rows];
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t word = wire_get_u32(r);
		struct lb_unwind_row row = {.pc_low = (uint16_t)word,
					    .rule = (uint16_t)(word >> 16)};

		if (row.rule >= p->nr_rules || (!i && row.pc_low) ||
		    (i && row.pc_low <= page->rows[i - 1].pc_low))
			return -EBADMSG;
		p->rows[p->nr_rows++] = row;
	}
	p->nr_pages++;
	return 0;
}

/* Return: 0, -EBADMSG, -ENOMEM; @ret is set only on success. */
static int read_pages(struct wire_reader *r, struct row_pages *ret)
{
	_cleanup_(row_pages_deinit) struct row_pages p = {0};
	int err = read_rules(r, &p);
	size_t nr, most_rows;

	if (err)
		return err;
	nr = wire_get_u32(r);
	if (!can_follow(r, nr, PAGE_BYTES) || nr > LB_UNWIND_MAX_PAGES)
		return -EBADMSG;
	/*
	 * Pages point to their rows, so the array must not move: it gets the maximum
	 * size. It is not zeroed, because a reply has many texts, and each could have
	 * all rows that follow.
	 */
	most_rows = (r->len - r->pos) / ROW_BYTES;
	p.pages = calloc(nr + 1, sizeof(*p.pages));
	p.rows = malloc((most_rows + 1) * sizeof(*p.rows));
	if (!p.pages || !p.rows)
		return -ENOMEM;
	while (!err && p.nr_pages < nr)
		err = read_page(r, &p);
	if (err)
		return err;
	*ret = p;
	p = (struct row_pages){0};
	return 0;
}

static enum worker_answer answer_of(int err)
{
	if (!err)
		return WORKER_OK;
	return err == -ENOMEM ? WORKER_FAILED : WORKER_BAD_REPLY;
}

/* ---- files ---- */

/* Reads which of the asked pages were left out; they are none of the needed ones. */
static int read_left_out(struct wire_reader *r, const struct asked_page *asked,
			 size_t nr_asked, struct row_pages *p)
{
	uint32_t nr = wire_get_u32(r);

	if (!can_follow(r, nr, sizeof(uint64_t)) || nr > nr_asked)
		return -EBADMSG;
	p->left_out = calloc((size_t)nr + 1, sizeof(*p->left_out));
	if (!p->left_out)
		return -ENOMEM;
	for (; p->nr_left_out < nr; p->nr_left_out++) {
		uint64_t page = wire_get_u64(r);
		const struct asked_page *known = find_asked(asked, nr_asked, page);

		if (!known || known->is_needed)
			return -EBADMSG;
		p->left_out[p->nr_left_out] = page;
	}
	return 0;
}

static int read_file_reply(struct wire_reader *r, const struct asked_page *asked,
			   size_t nr_asked, struct row_pages *ret)
{
	_cleanup_(row_pages_deinit) struct row_pages p = {0};
	uint32_t whole = wire_get_u32(r);
	int err = whole <= 1 ? read_pages(r, &p) : -EBADMSG;

	if (!err)
		err = read_left_out(r, asked, nr_asked, &p);
	if (err)
		return err;
	if (r->pos != r->len)
		return -EBADMSG;
	p.whole = whole;
	for (size_t i = 0; i < p.nr_pages && !whole; i++)
		if (!page_is_asked(asked, nr_asked, p.pages[i].page))
			return -EBADMSG;
	*ret = p;
	p = (struct row_pages){0};
	return 0;
}

void rows_of_file_put(struct wire_writer *request, const struct asked_page *pages,
		      size_t nr_pages)
{
	wire_put_u32(request, (uint32_t)nr_pages);
	for (size_t i = 0; i < nr_pages; i++) {
		wire_put_u64(request, pages[i].page);
		wire_put_u8(request, pages[i].is_needed);
	}
}

enum worker_answer rows_of_file_take(enum worker_answer answer, struct wire_reader *reply,
				     const struct asked_page *pages, size_t nr_pages,
				     struct row_pages *ret)
{
	if (answer != WORKER_OK)
		return answer;
	return answer_of(read_file_reply(reply, pages, nr_pages, ret));
}

/* ---- objects of a JIT ---- */

static int read_text(struct wire_reader *r, struct jit_text *ret)
{
	struct jit_text text = {0};
	int err;

	text.start = wire_get_u64(r);
	text.end = wire_get_u64(r);
	if (r->failed || text.end <= text.start)
		return -EBADMSG;
	err = read_pages(r, &text.pages);
	if (err)
		return err;
	text.pages.whole = true;
	*ret = text;
	if (text.pages.nr_pages && text.pages.pages[text.pages.nr_pages - 1].page >
					   (text.end - text.start - 1) >> PAGE_SHIFT) {
		row_pages_deinit(&ret->pages);
		return -EBADMSG;
	}
	return 0;
}

static int read_jit_reply(struct wire_reader *r, size_t nr_pieces,
			  void (*fn)(void *ctx, size_t piece, struct jit_text *text),
			  void *ctx)
{
	for (size_t piece = 0; piece < nr_pieces; piece++) {
		uint32_t nr = wire_get_u32(r);

		if (r->failed || nr > MAX_TEXTS)
			return -EBADMSG;
		for (uint32_t i = 0; i < nr; i++) {
			struct jit_text text;
			int err = read_text(r, &text);

			if (err)
				return err;
			fn(ctx, piece, &text);
			row_pages_deinit(&text.pages);
		}
	}
	return r->pos == r->len ? 0 : -EBADMSG;
}

void rows_of_jit_put(struct wire_writer *request, const struct jit_piece *pieces,
		     size_t nr)
{
	wire_put_u32(request, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		wire_put_u64(request, pieces[i].offset);
		wire_put_u64(request, pieces[i].size_bytes);
	}
}

enum worker_answer rows_of_jit_take(
	enum worker_answer answer, struct wire_reader *reply, size_t nr,
	void (*fn)(void *ctx, size_t piece, struct jit_text *text), void *ctx)
{
	if (answer != WORKER_OK)
		return answer;
	return answer_of(read_jit_reply(reply, nr, fn, ctx));
}
