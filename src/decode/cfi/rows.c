// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cfi_rows_finish(): what cfi_read() added is one run of rows a function, each ended by
 * {LB_CFA_NONE}. Functions may come in any order and lie over each other (hostile files
 * can nest all of them), so they are swept from the lowest address to the highest; of
 * those that cover a place the one that was read last is taken.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "decode/cfi/cfi.h"

struct run {
	uint64_t start, end; /* vaddrs */
	size_t first; /* row */
	size_t nr; /* rows, without the one that ends it */
};

struct sweep {
	const struct cfi_rows *in;
	struct run *runs; /* in order of start */
	size_t nr_runs, cap_runs;
	struct run *heap; /* those that began: the one that was read last on top */
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
			s->runs[s->nr_runs++] = (struct run){.start = rows[first].vaddr,
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
	const struct run *a = va, *b = vb;

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

/* ---- those that cover a place ---- */

static void heap_push(struct sweep *s, const struct run *run)
{
	size_t i = s->nr_heap++;

	for (; i && s->heap[(i - 1) / 2].first < run->first; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = *run;
}

static void heap_pop(struct sweep *s)
{
	struct run last = s->heap[--s->nr_heap];
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

/* Room for it was made: where a run begins or ends, and before it, is a row at most. */
static void add(struct sweep *s, uint64_t vaddr, const struct lb_unwind_rule *rule)
{
	const struct cfi_row *last = s->nr_out ? &s->out[s->nr_out - 1] : NULL;

	if (!last ? rule->cfa != LB_CFA_NONE : !!memcmp(&last->rule, rule, sizeof(*rule)))
		s->out[s->nr_out++] = (struct cfi_row){.vaddr = vaddr, .rule = *rule};
}

/* Those of @run that hold in [from, to), which is a part of it. */
static void add_part(struct sweep *s, const struct run *run, uint64_t from, uint64_t to)
{
	const struct cfi_row *rows = &s->in->items[run->first];
	size_t low = 0, high = run->nr;

	while (low < high) { /* the first one above @from */
		size_t mid = low + (high - low) / 2;

		if (rows[mid].vaddr <= from)
			low = mid + 1;
		else
			high = mid;
	}
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
	size_t low = 0, high = rows->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows->items[mid].vaddr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
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
	rows->stats.nr_unsupported += below->stats.nr_unsupported;
	rows->stats.is_cut |= below->stats.is_cut;
	return cfi_rows_finish(rows);
}
