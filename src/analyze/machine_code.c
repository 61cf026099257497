// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/machine_code.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/machine_code_work.h"
#include "analyze/tally.h"

const struct profile_code_row *machine_code_row(const struct profile_code *code,
						uint64_t address)
{
	size_t low = 0, high = code->nr_rows;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (code->rows[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &code->rows[low - 1] : NULL;
}

/* ---- choosing ---- */

static int compare_chosen(const void *va, const void *vb, void *ctx)
{
	const struct code_samples *s = ctx;
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct code_tally *a = &s->codes[ia], *b = &s->codes[ib];
	int order = weight_compare(a->at_line, b->at_line);

	if (!order)
		order = weight_compare(a->self, b->self);
	return order ? order : (ia > ib) - (ia < ib);
}

static bool has_samples(const struct code_tally *code)
{
	return code->self.samples || code->self.cpu_ns;
}

static void add_piece(struct machine_code *m, const struct code_samples *s, uint32_t code)
{
	const struct code_tally *tally = &s->codes[code];

	if (m->nr == MACHINE_CODE_MAX_PIECES) {
		m->nr_left_out++;
		weight_add(&m->left_out, tally->self);
		return;
	}
	m->pieces[m->nr++] = (struct machine_piece){
		.code = &s->p->extra.codes[code],
		.function = tally->function,
		.self = tally->self,
		.kernel = tally->kernel,
		.hits = s->hits + tally->first_hit,
		.nr_hits = tally->nr_hits,
		.note = "",
	};
}

/* The hottest first; those without samples only where there are no others. */
static int take_chosen(struct machine_code *m, struct code_samples *s)
{
	_cleanup_free_ uint32_t *chosen =
		calloc(s->p->extra.nr_codes + 1, sizeof(*chosen));
	size_t nr = 0;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < s->p->extra.nr_codes; i++)
		if (s->codes[i].is_chosen)
			chosen[nr++] = (uint32_t)i;
	qsort_r(chosen, nr, sizeof(*chosen), compare_chosen, s);
	for (size_t i = 0; i < nr; i++)
		if (!m->nr || has_samples(&s->codes[chosen[i]]))
			add_piece(m, s, chosen[i]);
	m->hits = take_ptr(s->hits);
	return 0;
}

int machine_code_new(const struct profile *p, const char *what, struct machine_code **ret,
		     struct error *err)
{
	_cleanup_(machine_code_freep) struct machine_code *m = calloc(1, sizeof(*m));
	_cleanup_(code_samples_deinit) struct code_samples s = {0};
	int rc = m ? code_samples_init(&s, p) : -ENOMEM;

	if (!rc)
		rc = machine_code_choose(&s, what, err);
	if (!rc)
		rc = take_chosen(m, &s);
	if (rc == -ENOMEM)
		return error_set(err, rc, "out of memory");
	if (!rc)
		*ret = take_ptr(m);
	return rc;
}

void machine_code_free(struct machine_code *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr; i++) {
		free(m->pieces[i].instructions);
		free(m->pieces[i].bytes);
		free(m->pieces[i].texts);
	}
	free(m->hits);
	free(m);
}

/* ---- placing ---- */

static struct instruction *find_instruction(const struct machine_piece *piece,
					    uint64_t address)
{
	size_t low = 0, high = piece->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (piece->instructions[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &piece->instructions[low - 1] : NULL;
}

static bool is_own(const struct profile *p, const struct machine_piece *piece,
		   uint32_t function)
{
	return function != PROFILE_NONE && piece->function != PROFILE_NONE &&
	       p->functions[function].name == p->functions[piece->function].name;
}

/* The line of the piece's own function in the chain of frames at a location. */
static struct profile_line own_line(const struct profile *p,
				    const struct machine_piece *piece, uint32_t location)
{
	const struct profile_location *at = &p->locations[location];

	for (uint32_t i = at->nr_lines; i; i--) {
		struct profile_line line = p->lines[at->first_line + i - 1];

		if (line.line && is_own(p, piece, line.function))
			return line;
	}
	return (struct profile_line){.function = PROFILE_NONE};
}

static void place_rows(const struct profile *p, struct machine_piece *piece)
{
	for (size_t i = 0; i < piece->nr; i++) {
		struct instruction *in = &piece->instructions[i];
		const struct profile_code_row *row =
			machine_code_row(piece->code, in->address);

		in->innermost = in->own = (struct profile_line){.function = PROFILE_NONE};
		if (!row)
			continue;
		in->innermost = (struct profile_line){row->function, row->line};
		if (row->line && is_own(p, piece, row->function))
			in->own = in->innermost;
	}
}

static void place_hits(const struct profile *p, struct machine_piece *piece)
{
	for (size_t i = 0; i < piece->nr_hits; i++) {
		const struct machine_hit *hit = &piece->hits[i];
		uint64_t address = p->locations[hit->location].address;
		bool is_leaf = hit->self.samples || hit->self.cpu_ns;
		struct instruction *in = find_instruction(piece, address);
		/* Where a call returns to is the instruction behind it. */
		struct instruction *call = find_instruction(piece, address - 1);

		if (in && is_leaf) {
			weight_add(&in->self, hit->self);
			weight_add(&in->kernel, hit->kernel);
			if (!in->own.line)
				in->own = own_line(p, piece, hit->location);
		}
		if (call && call->flow == INSTRUCTION_CALL &&
		    address != piece->code->address) {
			weight_add(&call->below, hit->below);
			if (!is_leaf && !call->own.line)
				call->own = own_line(p, piece, hit->location);
		}
	}
}

/*
 * Rows name the innermost frame only. Which call an inlined instruction belongs to
 * is known where there are samples; the rest of its row is taken to be the same, and
 * then code of the same inlined line, unless samples have seen it at two calls.
 */
static void spread_own_lines(struct machine_piece *piece, bool backwards)
{
	const struct profile_code_row *last_row = NULL;
	struct profile_line last = {.function = PROFILE_NONE};

	for (size_t k = 0; k < piece->nr; k++) {
		struct instruction *in =
			&piece->instructions[backwards ? piece->nr - 1 - k : k];
		const struct profile_code_row *row =
			machine_code_row(piece->code, in->address);

		if (row != last_row)
			last = (struct profile_line){.function = PROFILE_NONE};
		last_row = row;
		if (in->own.line)
			last = in->own;
		else if (row)
			in->own = last;
	}
}

/*
 * Debug info may tell: a row of no length in the piece's own function, where inlined
 * code begins, is the line of the call. It holds until the function's own code goes on.
 */
static void take_call_rows(const struct profile *p, struct machine_piece *piece)
{
	const struct profile_code *code = piece->code;
	struct profile_line call = {.function = PROFILE_NONE};
	size_t row = 0;

	for (size_t i = 0; i < piece->nr; i++) {
		struct instruction *in = &piece->instructions[i];

		for (; row < code->nr_rows && code->rows[row].address <= in->address;
		     row++)
			if (is_own(p, piece, code->rows[row].function))
				call = (struct profile_line){code->rows[row].function,
							     code->rows[row].line};
		if (is_own(p, piece, in->innermost.function))
			call = (struct profile_line){.function = PROFILE_NONE};
		else if (!in->own.line && call.line)
			in->own = call;
	}
}

#define TWO_CALLS UINT32_MAX

static bool is_same_line(struct profile_line a, struct profile_line b)
{
	return a.function == b.function && a.line == b.line;
}

/* Notes with each inlined line the instruction, + 1, that knows where it is called. */
static int note_callers(struct tally *callers, const struct machine_piece *piece)
{
	for (size_t i = 0; i < piece->nr && i < TWO_CALLS - 1; i++) {
		const struct instruction *in = &piece->instructions[i];
		struct tally_item *item;
		uint32_t number;

		if (!in->own.line || is_same_line(in->own, in->innermost))
			continue;
		number =
			tally_number(callers, in->innermost.function, in->innermost.line);
		if (number == PROFILE_NONE)
			return -ENOMEM;
		item = &callers->items[number];
		if (!item->tag)
			item->tag = (uint32_t)i + 1;
		else if (item->tag != TWO_CALLS &&
			 !is_same_line(piece->instructions[item->tag - 1].own, in->own))
			item->tag = TWO_CALLS;
	}
	return 0;
}

static int share_own_lines(struct machine_piece *piece)
{
	struct tally callers = {0};
	int err = note_callers(&callers, piece);

	for (size_t i = 0; i < piece->nr && !err; i++) {
		struct instruction *in = &piece->instructions[i];
		uint32_t number;

		if (in->own.line || !in->innermost.line)
			continue;
		number = tally_number(&callers, in->innermost.function,
				      in->innermost.line);
		if (number == PROFILE_NONE)
			err = -ENOMEM;
		else if (callers.items[number].tag &&
			 callers.items[number].tag != TWO_CALLS)
			in->own = piece->instructions[callers.items[number].tag - 1].own;
	}
	tally_deinit(&callers);
	return err;
}

int machine_code_place(struct machine_code *m, const struct profile *p)
{
	int err = 0;

	for (size_t i = 0; i < m->nr && !err; i++) {
		place_rows(p, &m->pieces[i]);
		place_hits(p, &m->pieces[i]);
		spread_own_lines(&m->pieces[i], false);
		spread_own_lines(&m->pieces[i], true);
		take_call_rows(p, &m->pieces[i]);
		err = share_own_lines(&m->pieces[i]);
	}
	return err;
}
