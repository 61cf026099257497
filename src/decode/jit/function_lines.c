// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/function_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "decode/dwarf/dwarf.h"

/* A place whose frames are asked for. */
struct point {
	uint64_t ip;
	uint32_t order; /* as they came: of several rows at one address the last counts */
	bool is_row; /* of the line table; else only asked for */
	bool unlined;
};

struct line_reading {
	struct line_store *store;
	const struct function_lines *functions;
	size_t nr_functions;
	struct point *points;
	size_t nr_points, cap_points;
	size_t first_row; /* of the store: row of points[0] */
	int error;
};

void line_store_deinit(struct line_store *s)
{
	free(s->rows);
	free(s->frames);
	*s = (struct line_store){0};
}

static bool in_function(const struct line_reading *rd, uint64_t ip)
{
	size_t low = 0, high = rd->nr_functions;

	while (low < high) { /* the first one that begins above @ip */
		size_t mid = low + (high - low) / 2;

		if (rd->functions[mid].start_ip <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low && rd->functions[low - 1].end_ip > ip;
}

static void add_point(struct line_reading *rd, uint64_t ip, bool is_row, bool unlined)
{
	int r;

	if (rd->error || !in_function(rd, ip))
		return;
	r = vec_grow(&rd->points, &rd->cap_points, rd->nr_points + 1, sizeof(*rd->points),
		     LINE_STORE_MAX_ROWS);
	if (r) {
		rd->error = r;
		return;
	}
	rd->points[rd->nr_points] = (struct point){.ip = ip,
						   .order = (uint32_t)rd->nr_points,
						   .is_row = is_row,
						   .unlined = unlined};
	rd->nr_points++;
}

static void add_row(void *ctx, uint64_t vaddr, uint32_t line)
{
	add_point(ctx, vaddr, true, !line);
}

/* Ascending; of one address the rows of the table first, the last of them first. */
static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	if (x->is_row != y->is_row)
		return x->is_row ? -1 : 1;
	return x->order > y->order ? -1 : x->order < y->order;
}

/* One point for each address; one that is no row is like the row that covers it. */
static void merge_points(struct line_reading *rd)
{
	size_t nr = 0;

	if (rd->nr_points)
		qsort(rd->points, rd->nr_points, sizeof(*rd->points), compare_points);
	for (size_t i = 0; i < rd->nr_points; i++) {
		if (nr && rd->points[nr - 1].ip == rd->points[i].ip)
			continue;
		rd->points[nr] = rd->points[i];
		if (nr && !rd->points[nr].is_row)
			rd->points[nr].unlined = rd->points[nr - 1].unlined;
		nr++;
	}
	rd->nr_points = nr;
}

static void found(void *ctx, size_t i, enum miss miss, const struct frame *frames,
		  size_t nr)
{
	struct line_reading *rd = ctx;
	struct line_store *s = rd->store;
	struct function_row *row = &s->rows[rd->first_row + i];
	int r = vec_grow(&s->frames, &s->cap_frames, s->nr_frames + nr,
			 sizeof(*s->frames), LINE_STORE_MAX_FRAMES);

	if (r || rd->error) {
		rd->error = rd->error ? rd->error : r;
		return;
	}
	row->miss = miss;
	row->first_frame = (uint32_t)s->nr_frames;
	row->nr_frames = (uint32_t)nr;
	for (size_t k = 0; k < nr; k++) {
		struct frame *f = &s->frames[s->nr_frames++];

		*f = frames[k];
		f->function = strpool_add(s->pool, f->function);
		f->system_name = strpool_add(s->pool, f->system_name);
		f->file = strpool_add(s->pool, f->file);
	}
}

static int resolve_points(struct line_reading *rd, struct dwarf_source *dwarf)
{
	struct line_store *s = rd->store;
	_cleanup_free_ uint64_t *ips = calloc(rd->nr_points + 1, sizeof(*ips));
	int r = vec_grow(&s->rows, &s->cap_rows, s->nr_rows + rd->nr_points,
			 sizeof(*s->rows), LINE_STORE_MAX_ROWS);

	if (r || !ips)
		return r ? r : -ENOMEM;
	rd->first_row = s->nr_rows;
	for (size_t i = 0; i < rd->nr_points; i++) {
		ips[i] = rd->points[i].ip;
		s->rows[s->nr_rows++] =
			(struct function_row){.ip = rd->points[i].ip,
					      .miss = MISS_NO_LINE,
					      .unlined = rd->points[i].unlined};
	}
	r = dwarf_source_resolve(dwarf, ips, rd->nr_points, found, rd);
	return r ? r : rd->error;
}

/* Points are ascending, as the functions are. */
static void assign_rows(const struct line_reading *rd, struct function_lines *functions)
{
	size_t i = 0;

	for (size_t k = 0; k < rd->nr_functions; k++) {
		struct function_lines *f = &functions[k];
		size_t first;

		while (i < rd->nr_points && rd->points[i].ip < f->start_ip)
			i++;
		first = i;
		while (i < rd->nr_points && rd->points[i].ip < f->end_ip)
			i++;
		f->first_row = (uint32_t)(rd->first_row + first);
		f->nr_rows = (uint32_t)(i - first);
	}
}

static int read_dwarf(struct line_reading *rd, struct dwarf_source *dwarf,
		      const uint64_t *ips, size_t nr_ips)
{
	int r;

	for (size_t i = 0; i < rd->nr_functions; i++)
		add_point(rd, rd->functions[i].start_ip, false, false);
	for (size_t i = 0; i < nr_ips; i++)
		add_point(rd, ips[i], false, false);
	r = dwarf_source_rows(dwarf, add_row, rd);
	if (r || rd->error)
		return r ? r : rd->error;
	merge_points(rd);
	return resolve_points(rd, dwarf);
}

int function_lines_read(struct line_store *s, const struct jit_image *m,
			struct function_lines *functions, size_t nr_functions,
			const uint64_t *ips, size_t nr_ips)
{
	_cleanup_free_ uint8_t *copy = NULL; /* outlives its reader */
	_cleanup_(dwarf_source_freep) struct dwarf_source *dwarf = NULL;
	struct line_reading rd = {
		.store = s, .functions = functions, .nr_functions = nr_functions};
	int r = image_linked_copy(m, &copy);

	for (size_t i = 0; i < nr_functions; i++)
		functions[i].nr_rows = 0;
	if (!r)
		r = dwarf_source_open_memory(copy, m->len, &dwarf);
	if (!r)
		r = read_dwarf(&rd, dwarf, ips, nr_ips);
	if (!r)
		assign_rows(&rd, functions);
	free(rd.points);
	return r;
}

struct function_row *function_lines_at(const struct line_store *s,
				       const struct function_lines *f, uint64_t ip)
{
	size_t low = 0, high = f->nr_rows;

	while (low < high) { /* the first one above @ip */
		size_t mid = low + (high - low) / 2;

		if (s->rows[f->first_row + mid].ip <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low && ip < f->end_ip ? &s->rows[f->first_row + low - 1] : NULL;
}
