// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/segments.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "process/process.h"
#include "unwind/files.h"
#include "unwind/texts.h"

/* A smaller gap between two texts is padding without code. */
#define MIN_GAP_BYTES 64

void segment_list_deinit(struct segment_list *l)
{
	free(l->items);
	*l = (struct segment_list){0};
}

static int add(struct segment_list *l, const struct lb_unwind_segment *segment)
{
	struct lb_unwind_segment *last = l->nr ? &l->items[l->nr - 1] : NULL;

	if (last && last->flags == segment->flags &&
	    segment->flags & LB_SEGMENT_NO_ROWS && last->end == segment->start) {
		last->end = segment->end;
		return 0;
	}
	if (vec_grow(&l->items, &l->cap, l->nr + 1, sizeof(*l->items), SEGMENTS_OF_IMAGE))
		return -ENOSPC;
	l->items[l->nr++] = *segment;
	return 0;
}

/*
 * Adds [start, end) of @m, which has no text.
 *
 * @is_listed  only walks of its JIT's list tell of code there
 */
static int add_part(struct segment_list *l, const struct mapping *m, bool is_listed,
		    struct unwind_files *files, uint64_t start, uint64_t end)
{
	struct lb_unwind_segment segment = {.flags = LB_SEGMENT_NO_ROWS};

	if (m->kind == MAPPING_FILE || m->kind == MAPPING_MEMFD ||
	    m->kind == MAPPING_VDSO)
		unwind_files_segment(files, m, &segment);
	if (is_listed && mapping_may_be_jit(m) && segment.flags & LB_SEGMENT_NO_ROWS)
		segment.flags |= LB_SEGMENT_LISTED;
	segment.start = start;
	segment.end = end;
	return add(l, &segment);
}

/* @next index of the first text in or after @m; advanced */
static int add_mapping(struct segment_list *l, const struct mapping *m, bool is_listed,
		       struct unwind_files *files, const struct text_set *texts,
		       size_t *next)
{
	uint64_t at = m->start;
	int rc = 0;

	while (*next < texts->nr && texts->items[*next].start < m->start)
		++*next;
	for (; !rc && *next < texts->nr && texts->items[*next].end <= m->end; ++*next) {
		const struct unwind_text *text = &texts->items[*next];
		struct lb_unwind_segment segment = {.start = text->start,
						    .end = text->end,
						    .bias = text->start,
						    .first_page = text->object};

		if (text->start - at >= MIN_GAP_BYTES)
			rc = add_part(l, m, is_listed, files, at, text->start);
		if (!rc)
			rc = add(l, &segment);
		at = text->end;
	}
	if (!rc && (at == m->start || m->end - at >= MIN_GAP_BYTES))
		rc = add_part(l, m, is_listed, files, at, m->end);
	return rc;
}

/* Selects mappings: all larger ones, and a number of equal size. */
struct size_limit {
	uint64_t bytes;
	size_t nr_equal;
};

static bool is_chosen(const struct mapping *m, struct size_limit *c)
{
	uint64_t bytes = m->end - m->start;

	if (m->kind == MAPPING_VSYSCALL || bytes < c->bytes)
		return false;
	if (bytes > c->bytes)
		return true;
	return c->nr_equal && c->nr_equal--;
}

static int make(struct segment_list *l, const struct process *p,
		struct unwind_files *files, const struct text_set *texts,
		struct size_limit choice)
{
	static const struct text_set none;
	size_t next = 0;
	int rc = 0;

	l->nr = 0;
	for (size_t i = 0; !rc && i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];

		if (is_chosen(m, &choice))
			rc = add_mapping(l, m, p->jit_code.is_unprobed, files,
					 mapping_may_be_jit(m) ? texts : &none, &next);
	}
	return rc;
}

static int largest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* Chooses the largest ones that fit: libraries rather than single pages of code. */
static struct size_limit choose(const struct maps *maps)
{
	_cleanup_free_ uint64_t *bytes = calloc(maps->nr_live + 1, sizeof(*bytes));
	struct size_limit c = {.nr_equal = SEGMENTS_OF_IMAGE};
	size_t nr = 0;

	if (!bytes || maps->nr_live <= SEGMENTS_OF_IMAGE)
		return c;
	for (; nr < maps->nr_live; nr++) {
		const struct mapping *m = &maps->items[maps->live[nr]];

		bytes[nr] = m->end - m->start;
	}
	qsort(bytes, nr, sizeof(*bytes), largest_first);
	c.bytes = bytes[SEGMENTS_OF_IMAGE - 1];
	for (size_t i = 0; i < SEGMENTS_OF_IMAGE && bytes[i] > c.bytes; i++)
		c.nr_equal--;
	return c;
}

int segment_list_make(struct segment_list *l, const struct process *p,
		      struct unwind_files *files, const struct text_set *texts)
{
	static const struct text_set none;
	const struct size_limit all = {0};

	if (!make(l, p, files, texts, all))
		return 0;
	if (!texts->nr || make(l, p, files, &none, all))
		make(l, p, files, &none, choose(&p->maps));
	return -ENOSPC;
}
