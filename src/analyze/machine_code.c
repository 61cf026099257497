// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/machine_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/search.h"
#include "analyze/code_query.h"
#include "analyze/tally.h"
#include "profile/mapping_kind.h"

/* The samples of one of profile.extra.codes. */
struct code_tally {
	uint32_t function; /* that owns the code; PROFILE_NONE */
	struct weight self, kernel;
	struct weight heaviest; /* of the hit that determined the function */
	size_t first_hit, nr_hits;
	struct weight at_line; /* of the requested line */
	bool is_chosen;
};

struct code_samples {
	const struct profile *p;
	struct code_tally *codes; /* parallel to profile.extra.codes */
	struct machine_hit *hits; /* by code, then address */
	size_t nr_hits;
	/* Look-up tables: */
	uint32_t *order; /* codes by mapping, then address */
	enum code_kind *kinds; /* of mappings */
	uint32_t *hit_of; /* per location; PROFILE_NONE */
};

/*
 * Resolves --asm=WHAT. At each step of comparing a name, functions with code of their
 * own take precedence over functions that are only inlined.
 */

#define MAX_NAMES_SAID 6 /* names shown if ambiguous */

const char machine_code_of_all[] = "[all functions]";

static const char *function_name(const struct profile *p, uint32_t function)
{
	return function == PROFILE_NONE ? "" : p->functions[function].name;
}

/* ---- no WHAT ---- */

static int choose_hottest(struct code_samples *s)
{
	const struct profile *p = s->p;
	struct tally functions = {0};
	uint32_t best = 0;
	int err = 0;

	for (size_t i = 0; i < p->extra.nr_codes && !err; i++) {
		uint32_t function = s->codes[i].function, number;
		const char *file =
			function == PROFILE_NONE ? "" : p->functions[function].filename;

		number = tally_number(&functions, tally_key(function_name(p, function)),
				      tally_key(file));
		if (number == PROFILE_NONE) {
			err = -ENOMEM;
			break;
		}
		weight_add(&functions.items[number].self, s->codes[i].self);
		if (weight_compare(functions.items[number].self,
				   functions.items[best].self) < 0)
			best = number;
		functions.items[number].tag = (uint32_t)i; /* any of its pieces */
	}
	for (size_t i = 0; i < p->extra.nr_codes && !err; i++) {
		uint32_t one = s->codes[functions.items[best].tag].function;
		uint32_t function = s->codes[i].function;

		s->codes[i].is_chosen =
			function == one ||
			(function != PROFILE_NONE && one != PROFILE_NONE &&
			 p->functions[function].name == p->functions[one].name &&
			 p->functions[function].filename == p->functions[one].filename);
	}
	tally_deinit(&functions);
	return err;
}

static int choose_all(struct code_samples *s)
{
	for (size_t i = 0; i < s->p->extra.nr_codes; i++)
		s->codes[i].is_chosen = true;
	return 0;
}

/* ---- FUNC ---- */

static bool function_matches(const struct profile *p, uint32_t function, const char *what,
			     enum name_step step)
{
	if (function == PROFILE_NONE || !*what)
		return false;
	if (name_matches(p->functions[function].name, what, step))
		return true;
	return step == NAME_WHOLE && !strcmp(p->functions[function].system_name, what);
}

/* Names that matched, deduplicated. */
struct names {
	const char *items[MAX_NAMES_SAID];
	size_t nr; /* total; items has only those that fit */
};

static void names_add(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->nr && i < MAX_NAMES_SAID; i++)
		if (names->items[i] == name)
			return;
	if (names->nr < MAX_NAMES_SAID)
		names->items[names->nr] = name;
	names->nr++;
}

static bool match_code(struct code_samples *s, size_t index, const char *what,
		       enum name_step step, bool inlined, struct names *names)
{
	const struct profile_code *code = &s->p->extra.codes[index];
	bool found = false;

	if (!inlined) {
		found = function_matches(s->p, s->codes[index].function, what, step);
		if (found)
			names_add(names, function_name(s->p, s->codes[index].function));
		return found;
	}
	for (size_t i = 0; i < code->nr_rows; i++) {
		uint32_t function = code->rows[i].at.function;

		if (i && function == code->rows[i - 1].at.function)
			continue;
		if (!function_matches(s->p, function, what, step))
			continue;
		names_add(names, function_name(s->p, function));
		found = true;
	}
	return found;
}

static int say_ambiguous(const struct names *names, const char *what, struct error *err)
{
	char list[600] = "";

	for (size_t i = 0; i < names->nr && i < MAX_NAMES_SAID; i++)
		text_append(list, sizeof(list), "%s%.80s", i ? ", " : "",
			    names->items[i]);
	if (names->nr > MAX_NAMES_SAID)
		text_append(list, sizeof(list), ", ...");
	return error_set(err, -EINVAL,
			 "\"%.80s\" is in the names of several functions: %s; give more "
			 "of the name",
			 what, list);
}

static int say_no_function(const struct profile *p, const char *what, struct error *err)
{
	for (size_t i = 0; i < p->nr_functions; i++)
		if (function_matches(p, (uint32_t)i, what, NAME_ANY_PART))
			return error_set(
				err, -ENOENT,
				"this profile has no machine code of \"%.200s\": it has "
				"the code of hot functions whose debug info has lines",
				p->functions[i].name);
	return error_set(err, -ENOENT,
			 "no function of this profile has \"%.200s\" in its name; "
			 "\"lineburn report\" lists them",
			 what);
}

static int choose_function(struct code_samples *s, const char *what, struct error *err)
{
	for (int step = 0; step < 2 * NR_NAME_STEPS; step++) {
		struct names names = {0};

		for (size_t i = 0; i < s->p->extra.nr_codes; i++)
			s->codes[i].is_chosen = match_code(
				s, i, what, (enum name_step)(step / 2), step % 2, &names);
		if (names.nr > 1)
			return say_ambiguous(&names, what, err);
		if (names.nr)
			return 0;
	}
	return say_no_function(s->p, what, err);
}

/* ---- FILE:LINE ---- */

static bool is_at(const struct profile *p, const struct code_place *place,
		  struct profile_line at)
{
	return at.line == place->line && at.function != PROFILE_NONE &&
	       code_place_is_in(place, p->functions[at.function].filename);
}

/*
 * Weighs the samples at a place by their frames, because a line that only calls inlined
 * functions has no row.
 */
static void weigh_place(struct code_samples *s, const struct code_place *place)
{
	const struct profile *p = s->p;

	for (size_t i = 0; i < s->nr_hits; i++) {
		const struct machine_hit *hit = &s->hits[i];
		const struct profile_location *at = &p->locations[hit->location];
		bool found = false;

		for (uint32_t k = 0; k < at->nr_lines && !found; k++)
			found = is_at(p, place, p->lines[at->first_line + k]);
		if (found) {
			weight_add(&s->codes[hit->code].at_line, hit->self);
			s->codes[hit->code].is_chosen = true;
		}
	}
}

static int choose_place(struct code_samples *s, const struct code_place *place,
			struct error *err)
{
	const struct profile *p = s->p;
	bool has_file = false, found = false;

	weigh_place(s, place);
	for (size_t i = 0; i < p->extra.nr_codes; i++) {
		const struct profile_code *code = &p->extra.codes[i];

		for (size_t k = 0; k < code->nr_rows; k++) {
			struct profile_line at = code->rows[k].at;

			s->codes[i].is_chosen |= is_at(p, place, at);
			has_file |= at.function != PROFILE_NONE &&
				    code_place_is_in(place,
						     p->functions[at.function].filename);
		}
		found |= s->codes[i].is_chosen;
	}
	if (found)
		return 0;
	if (has_file)
		return error_set(err, -ENOENT,
				 "line %u of %.*s has no machine code in the hot "
				 "functions: it was optimised away, merged into another "
				 "line, or never ran; \"lineburn annotate --file %.*s\" "
				 "shows the lines that have",
				 place->line, (int)place->file_len, place->file,
				 (int)place->file_len, place->file);
	return error_set(err, -ENOENT,
			 "no hot function with machine code in this profile is from a "
			 "file that ends in \"%.*s\"",
			 (int)place->file_len, place->file);
}

/** Sets is_chosen (and at_line) by @what. Return: as machine_code_new(). */
static int machine_code_choose(struct code_samples *s, const char *what,
			       struct error *err)
{
	struct code_place place;

	if (!s->p->extra.nr_codes && !s->p->extra.present)
		return error_set(err, -ENOENT,
				 "this profile has no machine code: another tool wrote "
				 "it; record with lineburn");
	if (!s->p->extra.nr_codes)
		return error_set(
			err, -ENOENT,
			"this profile has no machine code: an older lineburn recorded "
			"it, or no hot function had lines in its debug info; compile "
			"with -g, start Python with \"lineburn run\", and record again");
	if (what == machine_code_of_all)
		return choose_all(s);
	if (!what || !*what)
		return choose_hottest(s);
	if (code_place_parse(what, &place))
		return choose_place(s, &place, err);
	return choose_function(s, what, err);
}

/*
 * Finds the piece of code of each location, and the location's weight.
 *
 * A sample counts at the innermost location outside the kernel, so that a page fault is
 * shown at the load that caused it. Its callers count as "below" at their calls.
 */

/* Most pieces checked at one address; pieces of several processes may overlap. */
#define MAX_OVERLAPS 64

static int compare_codes(const void *va, const void *vb, void *ctx)
{
	const struct profile *p = ctx;
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct profile_code *a = &p->extra.codes[ia], *b = &p->extra.codes[ib];

	if (a->mapping != b->mapping)
		return a->mapping > b->mapping ? 1 : -1;
	if (a->address != b->address)
		return a->address > b->address ? 1 : -1;
	return (ia > ib) - (ia < ib);
}

static int order_codes(struct code_samples *s)
{
	const struct profile *p = s->p;
	size_t nr = p->extra.nr_codes;

	s->order = calloc(nr + 1, sizeof(*s->order));
	s->kinds = calloc(p->nr_mappings + 1, sizeof(*s->kinds));
	if (!s->order || !s->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		s->order[i] = (uint32_t)i;
	qsort_r(s->order, nr, sizeof(*s->order), compare_codes, (void *)p);
	for (size_t i = 0; i < p->nr_mappings; i++)
		s->kinds[i] = mapping_kind(p, i);
	return 0;
}

/* Returns the number of codes in @order that begin at or before @address of @mapping. */
static size_t upper_bound(const struct code_samples *s, uint32_t mapping,
			  uint64_t address)
{
	const struct profile_code *codes = s->p->extra.codes;

	return SEARCH_FIRST(i, s->p->extra.nr_codes,
			    codes[s->order[i]].mapping > mapping ||
				    (codes[s->order[i]].mapping == mapping &&
				     codes[s->order[i]].address > address));
}

/*
 * Do code and location match? JIT code of all processes is one mapping, so an address
 * may be in another process's function. Then the code's function is in none of the
 * frames.
 */
static bool agrees(const struct code_samples *s, const struct profile_code *code,
		   const struct profile_location *location)
{
	const struct profile *p = s->p;
	uint32_t own;

	if (s->kinds[location->mapping] != CODE_JIT)
		return true;
	own = machine_code_row(code, location->address)->at.function;
	if (own == PROFILE_NONE)
		return true;
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		uint32_t function = p->lines[location->first_line + i].function;

		if (function != PROFILE_NONE &&
		    p->functions[function].name == p->functions[own].name)
			return true;
	}
	return false;
}

static uint32_t find_code(const struct code_samples *s,
			  const struct profile_location *location)
{
	uint32_t found = PROFILE_NONE;
	size_t at;

	if (location->mapping >= s->p->nr_mappings)
		return PROFILE_NONE;
	at = upper_bound(s, location->mapping, location->address);
	for (size_t i = 0; i < MAX_OVERLAPS && at; i++) {
		uint32_t index = s->order[--at];
		const struct profile_code *code = &s->p->extra.codes[index];

		if (code->mapping != location->mapping)
			break;
		if (location->address - code->address < code->size_bytes &&
		    index < found && agrees(s, code, location))
			found = index;
	}
	return found;
}

/* Adds a hit without weight for each location inside a piece of code. */
static int find_hits(struct code_samples *s)
{
	const struct profile *p = s->p;
	size_t nr = 0;

	s->hit_of = calloc(p->nr_locations + 1, sizeof(*s->hit_of));
	if (!s->hit_of)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_locations; i++) {
		s->hit_of[i] = find_code(s, &p->locations[i]);
		nr += s->hit_of[i] != PROFILE_NONE;
	}
	s->hits = calloc(nr + 1, sizeof(*s->hits));
	if (!s->hits)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_locations; i++) {
		uint32_t code = s->hit_of[i];

		if (code == PROFILE_NONE)
			continue;
		s->hit_of[i] = (uint32_t)s->nr_hits;
		s->hits[s->nr_hits++] =
			(struct machine_hit){.location = (uint32_t)i, .code = code};
	}
	return 0;
}

static bool is_kernel(const struct code_samples *s, uint32_t location)
{
	uint32_t mapping = s->p->locations[location].mapping;

	return mapping < s->p->nr_mappings && s->kinds[mapping] == CODE_KERNEL;
}

static void weigh_stack(struct code_samples *s, uint32_t sample, struct weight w)
{
	const struct profile_sample *stack = &s->p->samples[sample];
	const uint32_t *locations;
	uint32_t leaf = 0;

	if (!stack->nr_locations) /* there may be no locations at all */
		return;
	locations = &s->p->sample_locations[stack->first_location];
	while (leaf < stack->nr_locations && is_kernel(s, locations[leaf]))
		leaf++;
	for (uint32_t i = leaf; i < stack->nr_locations; i++) {
		uint32_t index = s->hit_of[locations[i]];
		struct machine_hit *hit;

		if (index == PROFILE_NONE)
			continue;
		hit = &s->hits[index];
		if (i == leaf) {
			weight_add(&hit->self, w);
			if (leaf)
				weight_add(&hit->kernel, w);
		} else if (hit->seen != sample + 1) {
			hit->seen = sample + 1;
			weight_add(&hit->below, w);
		}
	}
}

static void weigh(struct code_samples *s)
{
	struct weigher weigher = weigher_of(s->p);

	for (size_t i = 0; i < s->p->nr_samples; i++) {
		struct weight w = weigher_weigh(&weigher, &s->p->samples[i]);

		if (!weight_is_zero(&w))
			weigh_stack(s, (uint32_t)i, w);
	}
}

static int compare_hits(const void *va, const void *vb, void *ctx)
{
	const struct profile *p = ctx;
	const struct machine_hit *a = va, *b = vb;
	uint64_t at = p->locations[a->location].address,
		 bt = p->locations[b->location].address;

	if (a->code != b->code)
		return a->code > b->code ? 1 : -1;
	if (at != bt)
		return at > bt ? 1 : -1;
	return (a->location > b->location) - (a->location < b->location);
}

/* Returns the outermost frame's function, for which the code was compiled. */
static uint32_t outermost(const struct profile *p, uint32_t location)
{
	const struct profile_location *at = &p->locations[location];

	for (uint32_t i = at->nr_lines; i; i--)
		if (p->lines[at->first_line + i - 1].function != PROFILE_NONE)
			return p->lines[at->first_line + i - 1].function;
	return PROFILE_NONE;
}

static void tally_code(const struct code_samples *s, size_t index)
{
	const struct machine_hit *hit = &s->hits[index];
	struct code_tally *code = &s->codes[hit->code];
	struct weight w = hit->self;
	uint32_t function = outermost(s->p, hit->location);

	if (!code->nr_hits++)
		code->first_hit = index;
	weight_add(&code->self, hit->self);
	weight_add(&code->kernel, hit->kernel);
	weight_add(&w, hit->below);
	if (function == PROFILE_NONE ||
	    (code->function != PROFILE_NONE && weight_compare(w, code->heaviest) >= 0))
		return;
	code->function = function;
	code->heaviest = w;
}

/* For code without samples: returns the first function in its rows. */
static uint32_t first_function(const struct profile_code *code)
{
	for (size_t i = 0; i < code->nr_rows; i++)
		if (code->rows[i].at.function != PROFILE_NONE)
			return code->rows[i].at.function;
	return PROFILE_NONE;
}

/** Assigns the samples to codes. Return: 0 or -ENOMEM. */
static int code_samples_init(struct code_samples *s, const struct profile *p)
{
	s->p = p;
	s->codes = calloc(p->extra.nr_codes + 1, sizeof(*s->codes));
	if (!s->codes || order_codes(s) || find_hits(s))
		return -ENOMEM;
	weigh(s);
	qsort_r(s->hits, s->nr_hits, sizeof(*s->hits), compare_hits, (void *)p);
	for (size_t i = 0; i < p->extra.nr_codes; i++)
		s->codes[i].function = PROFILE_NONE;
	for (size_t i = 0; i < s->nr_hits; i++)
		tally_code(s, i);
	for (size_t i = 0; i < p->extra.nr_codes; i++)
		if (s->codes[i].function == PROFILE_NONE)
			s->codes[i].function = first_function(&p->extra.codes[i]);
	return 0;
}

static void code_samples_deinit(struct code_samples *s)
{
	free(s->codes);
	free(s->hits);
	free(s->order);
	free(s->kinds);
	free(s->hit_of);
}

const struct profile_code_row *machine_code_row(const struct profile_code *code,
						uint64_t address)
{
	static const struct profile_code_row none = {.at = {.function = PROFILE_NONE}};
	size_t above = SEARCH_FIRST(i, code->nr_rows, code->rows[i].address > address);

	return above ? &code->rows[above - 1] : &none;
}

/* ---- choosing pieces ---- */

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

/*
 * Takes the hottest ones first. Takes pieces without samples only if there are no
 * others.
 */
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
		if (!m->nr || !weight_is_zero(&s->codes[chosen[i]].self))
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
		free(m->pieces[i].placed);
		free(m->pieces[i].bytes);
		free(m->pieces[i].texts);
	}
	free(m->hits);
	free(m);
}

/* ---- placing instructions ---- */

static struct placed_instruction *find_instruction(const struct machine_piece *piece,
						   uint64_t address)
{
	size_t above =
		SEARCH_FIRST(i, piece->nr, piece->instructions[i].address > address);

	return above ? &piece->placed[above - 1] : NULL;
}

static bool is_own(const struct profile *p, const struct machine_piece *piece,
		   uint32_t function)
{
	return function != PROFILE_NONE && piece->function != PROFILE_NONE &&
	       p->functions[function].name == p->functions[piece->function].name;
}

/* Returns the frame of the piece's own function at a location. */
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

static int place_rows(const struct profile *p, struct machine_piece *piece)
{
	piece->placed = calloc(piece->nr + 1, sizeof(*piece->placed));
	if (!piece->placed)
		return -ENOMEM;
	for (size_t i = 0; i < piece->nr; i++) {
		struct placed_instruction *placed = &piece->placed[i];

		placed->decoded = &piece->instructions[i];
		placed->row = machine_code_row(piece->code, placed->decoded->address);
		placed->own = (struct profile_line){.function = PROFILE_NONE};
		if (placed->row->at.line && is_own(p, piece, placed->row->at.function))
			placed->own = placed->row->at;
	}
	return 0;
}

static void place_hits(const struct profile *p, struct machine_piece *piece)
{
	for (size_t i = 0; i < piece->nr_hits; i++) {
		const struct machine_hit *hit = &piece->hits[i];
		uint64_t address = p->locations[hit->location].address;
		bool is_leaf = !weight_is_zero(&hit->self);
		struct placed_instruction *in = find_instruction(piece, address);
		struct placed_instruction *call =
			find_instruction(piece, frame_lookup(address, FRAME_RETURN));

		if (in && is_leaf) {
			weight_add(&in->self, hit->self);
			weight_add(&in->kernel, hit->kernel);
			if (!in->own.line)
				in->own = own_line(p, piece, hit->location);
		}
		if (call && call->decoded->flow == INSTRUCTION_CALL &&
		    address != piece->code->address) {
			weight_add(&call->below, hit->below);
			if (!is_leaf && !call->own.line)
				call->own = own_line(p, piece, hit->location);
		}
	}
}

/*
 * Rows have only the innermost frame. For an inlined instruction with samples, the call
 * in the piece's own function is known. The rest of its row is assumed to have the same
 * call, and so is other code of the same inlined line, unless samples show two calls.
 */
static void spread_own_lines(struct machine_piece *piece, bool backwards)
{
	const struct profile_code_row *last_row = NULL;
	struct profile_line last = {.function = PROFILE_NONE};

	for (size_t k = 0; k < piece->nr; k++) {
		struct placed_instruction *in =
			&piece->placed[backwards ? piece->nr - 1 - k : k];

		if (in->row != last_row)
			last = (struct profile_line){.function = PROFILE_NONE};
		last_row = in->row;
		if (in->own.line)
			last = in->own;
		else if (in->decoded->address >= piece->code->rows[0].address)
			in->own = last;
	}
}

/*
 * Takes calls from debug info: where inlined code begins, an empty row of the piece's
 * own function has the line of the call. It applies until the function's own code
 * continues.
 */
static void take_call_rows(const struct profile *p, struct machine_piece *piece)
{
	const struct profile_code *code = piece->code;
	struct profile_line call = {.function = PROFILE_NONE};
	size_t row = 0;

	for (size_t i = 0; i < piece->nr; i++) {
		struct placed_instruction *in = &piece->placed[i];

		for (; row < code->nr_rows &&
		       code->rows[row].address <= in->decoded->address;
		     row++)
			if (is_own(p, piece, code->rows[row].at.function))
				call = code->rows[row].at;
		if (is_own(p, piece, in->row->at.function))
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

/* Records for each inlined line the instruction, + 1, whose call is known. */
static int note_callers(struct tally *callers, const struct machine_piece *piece)
{
	for (size_t i = 0; i < piece->nr && i < TWO_CALLS - 1; i++) {
		const struct placed_instruction *in = &piece->placed[i];
		const struct profile_line *at = &in->row->at;
		struct tally_item *item;
		uint32_t number;

		if (!in->own.line || is_same_line(in->own, *at))
			continue;
		number = tally_number(callers, at->function, at->line);
		if (number == PROFILE_NONE)
			return -ENOMEM;
		item = &callers->items[number];
		if (!item->tag)
			item->tag = (uint32_t)i + 1;
		else if (item->tag != TWO_CALLS &&
			 !is_same_line(piece->placed[item->tag - 1].own, in->own))
			item->tag = TWO_CALLS;
	}
	return 0;
}

static int share_own_lines(struct machine_piece *piece)
{
	struct tally callers = {0};
	int err = note_callers(&callers, piece);

	for (size_t i = 0; i < piece->nr && !err; i++) {
		struct placed_instruction *in = &piece->placed[i];
		const struct profile_line *at = &in->row->at;
		uint32_t number;

		if (in->own.line || !at->line)
			continue;
		number = tally_number(&callers, at->function, at->line);
		if (number == PROFILE_NONE)
			err = -ENOMEM;
		else if (callers.items[number].tag &&
			 callers.items[number].tag != TWO_CALLS)
			in->own = piece->placed[callers.items[number].tag - 1].own;
	}
	tally_deinit(&callers);
	return err;
}

int machine_code_place(struct machine_code *m, const struct profile *p)
{
	int err = 0;

	for (size_t i = 0; i < m->nr && !err; i++) {
		err = place_rows(p, &m->pieces[i]);
		if (err)
			break;
		place_hits(p, &m->pieces[i]);
		spread_own_lines(&m->pieces[i], false);
		spread_own_lines(&m->pieces[i], true);
		take_call_rows(p, &m->pieces[i]);
		err = share_own_lines(&m->pieces[i]);
	}
	return err;
}
