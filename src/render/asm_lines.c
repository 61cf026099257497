// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/asm_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

const char *asm_place_file(const struct profile *p, struct profile_line place)
{
	return place.function == PROFILE_NONE ? ""
					      : p->functions[place.function].filename;
}

static struct profile_line place_of(const struct instruction *in)
{
	return in->own.line ? in->own : in->innermost;
}

struct profile_line asm_place_at(const struct machine_piece *piece, uint64_t address)
{
	size_t at = SEARCH_FIRST(i, piece->nr, piece->instructions[i].address >= address);

	if (at < piece->nr && piece->instructions[at].address == address)
		return place_of(&piece->instructions[at]);
	return (struct profile_line){.function = PROFILE_NONE};
}

/* Lines of the function's own file come first, code without a line last. */
static int compare_places(const struct asm_lines *l, struct profile_line a,
			  struct profile_line b)
{
	const struct profile *p = l->p;
	const char *file_a = asm_place_file(p, a), *file_b = asm_place_file(p, b);
	const char *own =
		asm_place_file(p, (struct profile_line){.function = l->piece->function});
	int order;

	if (!a.line || !b.line)
		return !a.line - !b.line;
	order = !!strcmp(file_a, own) - !!strcmp(file_b, own);
	if (!order)
		order = strcmp(file_a, file_b);
	return order ? order : (a.line > b.line) - (a.line < b.line);
}

static int compare_instructions(const void *va, const void *vb, void *ctx)
{
	const struct asm_lines *l = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	int order = compare_places(l, place_of(&l->piece->instructions[a]),
				   place_of(&l->piece->instructions[b]));

	return order ? order : (a > b) - (a < b);
}

/* Sums stick at the top: a hostile file may overflow them. */
static void add_weight(struct weight *sum, struct weight w)
{
	if (__builtin_add_overflow(sum->samples, w.samples, &sum->samples))
		sum->samples = UINT64_MAX;
	if (__builtin_add_overflow(sum->cpu_ns, w.cpu_ns, &sum->cpu_ns))
		sum->cpu_ns = UINT64_MAX;
}

int asm_lines_init(struct asm_lines *lines, const struct profile *p,
		   const struct machine_piece *piece)
{
	size_t nr = piece->nr;

	*lines = (struct asm_lines){.p = p, .piece = piece};
	lines->order = calloc(nr + 1, sizeof(*lines->order));
	lines->items = calloc(nr + 1, sizeof(*lines->items));
	if (!lines->order || !lines->items) {
		asm_lines_deinit(lines);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++)
		lines->order[i] = (uint32_t)i;
	qsort_r(lines->order, nr, sizeof(*lines->order), compare_instructions, lines);
	for (size_t i = 0; i < nr; i++) {
		const struct instruction *in = &piece->instructions[lines->order[i]];
		struct asm_line *line = lines->nr ? &lines->items[lines->nr - 1] : NULL;

		if (!line || compare_places(lines, line->place, place_of(in))) {
			line = &lines->items[lines->nr++];
			*line = (struct asm_line){.place = place_of(in), .first = i};
		}
		line->nr++;
		add_weight(&line->self, in->self);
		add_weight(&line->below, in->below);
	}
	return 0;
}

void asm_lines_deinit(struct asm_lines *lines)
{
	free(lines->order);
	free(lines->items);
}

static const struct instruction *member(const struct asm_rows *rows, size_t i)
{
	const struct asm_lines *l = rows->lines;

	return &l->piece->instructions[l->order[rows->line->first + i]];
}

/* Is member @i right behind member @i - 1 in memory? */
static bool is_contiguous(const struct asm_rows *rows, size_t i)
{
	const struct asm_lines *l = rows->lines;
	const uint32_t *order = l->order + rows->line->first;

	return order[i] == order[i - 1] + 1;
}

/* Has samples, or is within the context of one that has and in the same block. */
static bool is_shown(const struct asm_rows *rows, size_t i)
{
	if (instruction_has_samples(member(rows, i)))
		return true;
	for (size_t k = i; k && i - k < rows->context && is_contiguous(rows, k); k--)
		if (instruction_has_samples(member(rows, k - 1)))
			return true;
	for (size_t k = i + 1;
	     k < rows->line->nr && k - i <= rows->context && is_contiguous(rows, k); k++)
		if (instruction_has_samples(member(rows, k)))
			return true;
	return false;
}

bool asm_rows_next(struct asm_rows *rows, struct asm_row *ret)
{
	size_t i = rows->next;

	if (i >= rows->line->nr)
		return false;
	while (i < rows->line->nr && !is_shown(rows, i))
		i++;
	/* To say that one is left out would take as much room. */
	if (i - rows->next > 1) {
		*ret = (struct asm_row){.nr_skipped = i - rows->next};
		rows->next = i;
		return true;
	}
	*ret = (struct asm_row){.instruction = member(rows, rows->next)};
	rows->next++;
	return true;
}
