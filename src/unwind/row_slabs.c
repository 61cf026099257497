// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/row_slabs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/kmap.h"
#include "unwind/spans.h"

/* Rows per allocated piece: gives fewer, larger gaps. */
#define PIECE_ROWS 16

struct row_slab {
	int fd;
	struct lb_unwind_row *rows; /* LB_SLAB_ROWS of them, mapped */
	struct spans pieces;
};

static uint32_t nr_pieces(uint32_t nr_rows)
{
	return (nr_rows + PIECE_ROWS - 1) / PIECE_ROWS;
}

void row_slabs_init(struct row_slabs *s, int slabs_fd, uint64_t max_bytes)
{
	uint64_t max = max_bytes / ROW_SLAB_BYTES;

	*s = (struct row_slabs){.slabs_fd = slabs_fd, .max = 1};
	if (max > 1)
		s->max = max < LB_MAX_SLABS ? (size_t)max : LB_MAX_SLABS;
}

static void slab_deinit(struct row_slab *slab)
{
	kmap_unmap(slab->rows, ROW_SLAB_BYTES);
	if (slab->fd >= 0)
		close(slab->fd);
	spans_deinit(&slab->pieces);
}

void row_slabs_deinit(struct row_slabs *s)
{
	for (size_t i = 0; i < s->nr; i++)
		slab_deinit(&s->items[i]);
	free(s->items);
	*s = (struct row_slabs){0};
}

int row_slabs_grow(struct row_slabs *s)
{
	struct row_slab slab = {.fd = -1};
	int rc;

	if (s->is_refused || s->nr == s->max ||
	    vec_grow(&s->items, &s->cap, s->nr + 1, sizeof(*s->items), s->max))
		return -ENOSPC;
	slab.fd = kmap_new_slab();
	rc = slab.fd < 0 ? slab.fd : 0;
	if (!rc) {
		slab.rows = kmap_map(slab.fd, ROW_SLAB_BYTES);
		rc = slab.rows ? 0 : -errno;
	}
	if (!rc)
		rc = spans_init(&slab.pieces, LB_SLAB_ROWS / PIECE_ROWS);
	if (!rc)
		rc = kmap_set_slab(s->slabs_fd, (uint32_t)s->nr, slab.fd);
	if (rc) {
		slab_deinit(&slab);
		s->is_refused = true;
		return rc;
	}
	s->items[s->nr++] = slab;
	return 0;
}

static bool add_to(struct row_slabs *s, size_t i, const struct lb_unwind_row *rows,
		   uint32_t nr, uint32_t *ret_first)
{
	struct row_slab *slab = &s->items[i];
	uint32_t at;

	if (slab->pieces.nr_free < nr_pieces(nr))
		return false;
	at = spans_take(&slab->pieces, nr_pieces(nr));
	if (at == SPANS_NONE)
		return false;
	memcpy(slab->rows + (size_t)at * PIECE_ROWS, rows, nr * sizeof(*rows));
	*ret_first = (uint32_t)i * LB_SLAB_ROWS + at * PIECE_ROWS;
	return true;
}

int row_slabs_add(struct row_slabs *s, const struct lb_unwind_row *rows, uint32_t nr,
		  uint32_t *ret_first)
{
	for (size_t i = 0; i < s->nr; i++)
		if (add_to(s, i, rows, nr, ret_first))
			return 0;
	if (row_slabs_grow(s))
		return -ENOSPC;
	return add_to(s, s->nr - 1, rows, nr, ret_first) ? 0 : -ENOSPC;
}

void row_slabs_remove(struct row_slabs *s, uint32_t first, uint32_t nr)
{
	struct row_slab *slab = &s->items[first / LB_SLAB_ROWS];

	spans_rest(&slab->pieces, first % LB_SLAB_ROWS / PIECE_ROWS, nr_pieces(nr));
}

void row_slabs_grace(struct row_slabs *s)
{
	for (size_t i = 0; i < s->nr; i++)
		spans_wake(&s->items[i].pieces);
}

uint64_t row_slabs_nr_free(const struct row_slabs *s)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->items[i].pieces.nr_free;
	return nr * PIECE_ROWS;
}

uint64_t row_slabs_nr_left(const struct row_slabs *s)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->items[i].pieces.nr_resting;
	nr = nr * PIECE_ROWS + row_slabs_nr_free(s);
	return s->is_refused ? nr : nr + (uint64_t)(s->max - s->nr) * LB_SLAB_ROWS;
}
