// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What --asm=WHAT means. At each step of comparing a name, functions that have code
 * of their own go before those that are only inlined somewhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code_query.h"
#include "analyze/machine_code_work.h"
#include "analyze/tally.h"

#define MAX_NAMES_SAID 6 /* of an ambiguous one */

static const char *function_name(const struct profile *p, uint32_t function)
{
	return function == PROFILE_NONE ? "" : p->functions[function].name;
}

/* ---- no name ---- */

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
		functions.items[number].tag = (uint32_t)i; /* one of its pieces */
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

/* Names that matched; the same string is one. */
struct names {
	const char *items[MAX_NAMES_SAID];
	size_t nr; /* items has as many as fit */
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
		uint32_t function = code->rows[i].function;

		if (i && function == code->rows[i - 1].function)
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
	size_t used = 0;

	for (size_t i = 0; i < names->nr && i < MAX_NAMES_SAID; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.80s",
					 i ? ", " : "", names->items[i]);
	if (names->nr > MAX_NAMES_SAID)
		snprintf(list + used, sizeof(list) - used, ", ...");
	return error_set(
		err, -EINVAL,
		"\"%.80s\" is in the names of several functions: %s; say more of "
		"the name",
		what, list);
}

static int say_no_function(const struct profile *p, const char *what, struct error *err)
{
	for (size_t i = 0; i < p->nr_functions; i++)
		if (function_matches(p, (uint32_t)i, what, NAME_ANY_PART))
			return error_set(
				err, -ENOENT,
				"there is no machine code of \"%.200s\" in this profile: "
				"it "
				"has that of hot functions whose debug info has lines",
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
		  uint32_t function, uint32_t line)
{
	return line == place->line && function != PROFILE_NONE &&
	       code_place_is_in(place, p->functions[function].filename);
}

/* A line that only calls inlined functions has no row; the frames of samples tell. */
static void weigh_place(struct code_samples *s, const struct code_place *place)
{
	const struct profile *p = s->p;

	for (size_t i = 0; i < s->nr_hits; i++) {
		const struct machine_hit *hit = &s->hits[i];
		const struct profile_location *at = &p->locations[hit->location];
		bool found = false;

		for (uint32_t k = 0; k < at->nr_lines && !found; k++)
			found = is_at(p, place, p->lines[at->first_line + k].function,
				      p->lines[at->first_line + k].line);
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
			uint32_t function = code->rows[k].function;

			s->codes[i].is_chosen |=
				is_at(p, place, function, code->rows[k].line);
			has_file |=
				function != PROFILE_NONE &&
				code_place_is_in(place, p->functions[function].filename);
		}
		found |= s->codes[i].is_chosen;
	}
	if (found)
		return 0;
	if (has_file)
		return error_set(err, -ENOENT,
				 "line %u of %.*s has no machine code in the hot "
				 "functions: it was optimised away, merged into another "
				 "line, or never ran",
				 place->line, (int)place->file_len, place->file);
	return error_set(err, -ENOENT,
			 "no hot function with machine code in this profile is from a "
			 "file that ends in \"%.*s\"",
			 (int)place->file_len, place->file);
}

int machine_code_choose(struct code_samples *s, const char *what, struct error *err)
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
	if (!what || !*what)
		return choose_hottest(s);
	if (code_place_parse(what, &place))
		return choose_place(s, &place, err);
	return choose_function(s, what, err);
}
