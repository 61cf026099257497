// SPDX-License-Identifier: GPL-2.0-or-later
/* Serves DECODER_CFI: unwind rows of an ELF file, by pages of its file offsets. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/cfi/cfi.h"
#include "decode/cfi/file.h"
#include "decode/cfi/functions.h"
#include "decode/requests.h"

#define PAGE_SHIFT 16
#define PAGE_BYTES (sizeof(uint64_t) + sizeof(uint8_t)) /* in a request */

/* Smaller sections are read whole: 1 MiB makes some 60,000 rows in 6 ms. */
#define WHOLE_MAX_BYTES (1u << 20)
/* Same without an index: the whole section would be read for each page. */
#define WHOLE_MAX_BYTES_UNSORTED (8u << 20)

/*
 * A shorter gap between two functions is padding, because compilers and assemblers align
 * functions to this. Callers of a function in it are guessed.
 */
#define MIN_FUNCTION_BYTES 16

/* Budget of one request, some 0.5 s. Reading all of libLLVM takes 5 M. */
#define MAX_STEPS (32u << 20)

struct requested_page {
	uint64_t page;
	bool is_needed, is_left_out;
};

struct cfi_job {
	struct requested_page *pages; /* ascending, deduplicated */
	size_t nr_pages;
	struct cfi_file file;
	bool whole;
	struct cfi_piece *pieces; /* to be sent; disjoint, by file_off */
	size_t nr_pieces, cap_pieces;
	struct cfi_rows by_vaddr;
	struct cfi_rows by_offset; /* its vaddrs are file offsets */
};

static void job_deinit(struct cfi_job *job)
{
	cfi_rows_deinit(&job->by_offset);
	cfi_rows_deinit(&job->by_vaddr);
	free(job->pieces);
	cfi_file_deinit(&job->file);
	free(job->pages);
}

/* ---- request ---- */

/* Needed ones first. */
static int by_page(const void *va, const void *vb)
{
	const struct requested_page *a = va, *b = vb;

	if (a->page != b->page)
		return a->page < b->page ? -1 : 1;
	return b->is_needed - a->is_needed;
}

static int read_request(struct cfi_job *job, struct wire_reader *r)
{
	size_t nr = wire_get_u32(r), distinct = 0;

	if (r->failed || nr > CFI_MAX_PAGES || nr > (r->len - r->pos) / PAGE_BYTES)
		return -EBADMSG;
	job->pages = calloc(nr ? nr : 1, sizeof(*job->pages));
	if (!job->pages)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		job->pages[i].page = wire_get_u64(r);
		job->pages[i].is_needed = wire_get_u8(r);
	}
	qsort(job->pages, nr, sizeof(*job->pages), by_page);
	for (size_t i = 0; i < nr; i++)
		if (!distinct || job->pages[distinct - 1].page != job->pages[i].page)
			job->pages[distinct++] = job->pages[i];
	job->nr_pages = distinct;
	return r->failed ? -EBADMSG : 0;
}

/* ---- pieces to be sent ---- */

/* Adds [from, to) of @segment, file offsets. */
static int add_piece(struct cfi_job *job, const struct cfi_segment *segment,
		     uint64_t from, uint64_t to, bool is_needed)
{
	if (vec_grow(&job->pieces, &job->cap_pieces, job->nr_pieces + 1,
		     sizeof(*job->pieces), 0))
		return -ENOMEM;
	job->pieces[job->nr_pieces++] =
		(struct cfi_piece){.file_off = from,
				   .vaddr = segment->vaddr + (from - segment->file_off),
				   .size_bytes = to - from,
				   .is_needed = is_needed};
	return 0;
}

static int add_pages_of(struct cfi_job *job, const struct cfi_segment *segment)
{
	uint64_t end = segment->file_off + segment->size_bytes;

	for (size_t i = 0; i < job->nr_pages; i++) {
		const struct requested_page *page = &job->pages[i];
		uint64_t from = page->page << PAGE_SHIFT;
		uint64_t to = from + (1u << PAGE_SHIFT);
		int err;

		if (page->page > (end - 1) >> PAGE_SHIFT)
			return 0;
		from = from < segment->file_off ? segment->file_off : from;
		to = to > end ? end : to;
		err = from < to ? add_piece(job, segment, from, to, page->is_needed) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int find_pieces(struct cfi_job *job)
{
	const struct cfi_file *f = &job->file;

	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct cfi_segment *s = &f->segments[i];
		int err = job->whole ? add_piece(job, s, s->file_off,
						 s->file_off + s->size_bytes, true)
				     : add_pages_of(job, s);

		if (err)
			return err;
	}
	return 0;
}

/* ---- rows ---- */

static uint64_t lowest_vaddr(const struct cfi_job *job)
{
	uint64_t lo = UINT64_MAX;

	for (size_t i = 0; i < job->nr_pieces; i++)
		lo = job->pieces[i].vaddr < lo ? job->pieces[i].vaddr : lo;
	return lo;
}

static uint64_t highest_vaddr(const struct cfi_job *job)
{
	uint64_t hi = 0, end;

	for (size_t i = 0; i < job->nr_pieces; i++) {
		end = job->pieces[i].vaddr + job->pieces[i].size_bytes;
		hi = end > hi ? end : hi;
	}
	return hi;
}

static int by_vaddr(const void *va, const void *vb)
{
	const struct cfi_piece *a = va, *b = vb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int by_file_off(const void *va, const void *vb)
{
	const struct cfi_piece *a = va, *b = vb;

	return (a->file_off > b->file_off) - (a->file_off < b->file_off);
}

/* Can there be a function without rows in @p? */
static bool has_gap(const struct cfi_rows *rows, const struct cfi_piece *p)
{
	uint64_t at = p->vaddr, end = at + p->size_bytes;

	for (size_t i = cfi_rows_up_to(rows, at); at < end; i++) {
		uint64_t next = i < rows->nr && rows->items[i].vaddr < end
					? rows->items[i].vaddr
					: end;

		if (next - at >= MIN_FUNCTION_BYTES &&
		    (!i || rows->items[i - 1].rule.cfa == LB_CFA_NONE))
			return true;
		at = next;
	}
	return false;
}

/*
 * Reads functions in the pieces only: code between them has no rows yet, but may have
 * call frame information. The symbols of a large file are not read without need: that
 * takes 1 ms of a file with 175,000.
 */
static int read_functions(struct cfi_job *job, uint64_t *steps_left)
{
	bool is_needed = job->whole && job->nr_pieces;
	int err;

	for (size_t i = 0; i < job->nr_pieces && !is_needed; i++)
		is_needed = has_gap(&job->by_vaddr, &job->pieces[i]);
	if (!is_needed)
		return 0;
	qsort(job->pieces, job->nr_pieces, sizeof(*job->pieces), by_vaddr);
	err = cfi_functions_read(&job->file, job->pieces, job->nr_pieces, steps_left,
				 &job->by_vaddr);
	qsort(job->pieces, job->nr_pieces, sizeof(*job->pieces), by_file_off);
	return err;
}

static int read_rows(struct cfi_job *job)
{
	const struct cfi_section *section = &job->file.section;
	const struct cfi_index *index = &job->file.index;
	uint64_t steps_left = MAX_STEPS;
	int err = 0;

	/* A whole section is read fastest from front to back. */
	if (job->whole || !index->nr)
		err = cfi_read(section, lowest_vaddr(job), highest_vaddr(job),
			       &steps_left, &job->by_vaddr);
	else
		for (size_t i = 0; i < job->nr_pieces && !err; i++) {
			const struct cfi_piece *p = &job->pieces[i];

			err = cfi_read_indexed(section, index, p->vaddr,
					       p->vaddr + p->size_bytes, &steps_left,
					       &job->by_vaddr);
		}
	if (!err && job->file.is_go)
		err = cfi_go_add_starts(&job->file, &steps_left, &job->by_vaddr);
	if (!err)
		err = cfi_rows_finish(&job->by_vaddr);
	if (!err && job->file.is_go)
		cfi_go_keep(&job->by_vaddr);
	else if (!err)
		err = read_functions(job, &steps_left);
	return err;
}

/* Adds the rows of a piece, by file offset, and the row that ends it. */
static int move_piece(struct cfi_job *job, const struct cfi_piece *p)
{
	static const struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	const struct cfi_rows *in = &job->by_vaddr;
	size_t i = cfi_rows_up_to(in, p->vaddr);
	int err = cfi_rows_add(&job->by_offset, p->file_off,
			       i ? &in->items[i - 1].rule : &none, 0);

	for (; !err && i < in->nr && in->items[i].vaddr - p->vaddr < p->size_bytes; i++)
		err = cfi_rows_add(&job->by_offset,
				   in->items[i].vaddr - p->vaddr + p->file_off,
				   &in->items[i].rule, 0);
	return err ? err
		   : cfi_rows_add(&job->by_offset, p->file_off + p->size_bytes, &none, 0);
}

/* Drops the row that ends a piece where the next piece begins. */
static void drop_repeated(struct cfi_rows *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++)
		if (i + 1 == rows->nr || rows->items[i + 1].vaddr != rows->items[i].vaddr)
			rows->items[nr++] = rows->items[i];
	rows->nr = nr;
}

static struct requested_page *page_of(const struct cfi_job *job,
				      const struct cfi_piece *piece)
{
	uint64_t page = piece->file_off >> PAGE_SHIFT;

	return &job->pages[SEARCH_FIRST(i, job->nr_pages, job->pages[i].page >= page)];
}

/* A page is left out if one of its pieces is. */
static void leave_pages_out(struct cfi_job *job)
{
	for (size_t i = 0; i < job->nr_pieces; i++)
		if (job->pieces[i].is_left_out)
			page_of(job, &job->pieces[i])->is_left_out = true;
}

static int answer(struct cfi_job *job)
{
	int err = find_pieces(job);

	if (!err)
		err = read_rows(job);
	leave_pages_out(job);
	for (size_t i = 0; i < job->nr_pieces && !err; i++)
		if (job->whole || !page_of(job, &job->pieces[i])->is_left_out)
			err = move_piece(job, &job->pieces[i]);
	drop_repeated(&job->by_offset);
	return err;
}

static void write_left_out(const struct cfi_job *job, struct wire_writer *reply)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < job->nr_pages; i++)
		nr += job->pages[i].is_left_out;
	wire_put_u32(reply, nr);
	for (size_t i = 0; i < job->nr_pages; i++)
		if (job->pages[i].is_left_out)
			wire_put_u64(reply, job->pages[i].page);
}

int cfi_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
	      size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(job_deinit) struct cfi_job job = {0};
	int err;

	(void)call;
	if (nr_fds != 1)
		return -EBADMSG;
	err = read_request(&job, request);
	if (err)
		return err;
	job.whole =
		!cfi_file_open(fds[0], &job.file) ||
		job.file.section.len <=
			(job.file.index.nr ? WHOLE_MAX_BYTES : WHOLE_MAX_BYTES_UNSORTED);
	if (job.file.section.len)
		err = answer(&job);
	if (err)
		return err;
	wire_put_u32(reply, job.whole);
	cfi_pages_write(&job.by_offset, 0, 0, UINT64_MAX, reply);
	write_left_out(&job, reply);
	return reply->failed ? -ENOMEM : 0;
}
