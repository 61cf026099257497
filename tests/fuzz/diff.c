// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles of any bytes are compared in every format. First byte: what figures are divided
 * by, and whether stacks are kept. Then pieces, each a profile: by turns of BEFORE and of
 * AFTER. Without a second one, AFTER is the first one with other figures and texts.
 */
#include <math.h>

#include "analyze/diff_rule.h"
#include "profile/pprof.h"
#include "lib/cost.h"
#include "lib/inlined.h"
#include "lib/pieces.h"
#include "lib/shown.h"

#define MAX_PROFILES 6
#define MAX_RULES    4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each sample and each line of text is in 4 formats; one text may have 524,288 lines. */
const struct cost_bound cost_bound = {.fixed = 30000000, .per_byte = 1500};

static const struct source_path_rule moved = {"/home/me/", "/srv/src"};

struct sides {
	struct profile *items[MAX_PROFILES];
	size_t nr;
	struct strpool *pool;
};

/* ---- the input ---- */

static struct profile *read_piece(const void *piece, size_t bytes, struct strpool *pool)
{
	struct profile *p = NULL;

	if (pprof_read(piece, bytes, "input", pool, &p, NULL) || !inlines_much(p, bytes))
		return p;
	profile_free(p);
	return NULL;
}

/* Other figures, one line of text in four, and one line number in eight. */
static void change(struct profile *p)
{
	for (size_t i = 0; i < p->nr_values; i++)
		if (p->values[i] < INT64_MAX / 8)
			p->values[i] *= (int64_t)((i / p->nr_value_types + 1) % 4);
	for (size_t i = 0; i < p->nr_lines; i += 8)
		p->lines[i].line++;
	for (size_t i = 0; i < p->extra.nr_sources; i++)
		for (size_t k = 0; k < p->extra.sources[i].nr_runs; k++) {
			char *text = (char *)p->extra.sources[i].runs[k].text;
			size_t line = 0;

			for (char *c = text; *c; c++) {
				line += *c == '\n';
				if (*c != '\n' && line % 4 == 3)
					*c = *c == 'x' ? 'y' : 'x';
			}
		}
}

/* Return: is there something to compare? */
static int read_sides(struct sides *s, const uint8_t *data, size_t size)
{
	struct pieces pieces = {data, size};
	struct pieces again = {data, size};
	uint16_t bytes;
	void *piece;

	while (s->nr < MAX_PROFILES && (piece = pieces_take(&pieces, &bytes))) {
		s->items[s->nr] = read_piece(piece, bytes, s->pool);
		free(piece);
		if (!s->items[s->nr])
			return 0;
		s->nr++;
	}
	if (s->nr != 1)
		return s->nr % 2 == 0 && s->nr;
	piece = pieces_take(&again, &bytes);
	s->items[s->nr++] = read_piece(piece, bytes, s->pool);
	free(piece);
	change(s->items[1]);
	return 1;
}

/* ---- what holds ---- */

static void check_change(const struct change *c)
{
	check(c->p >= 0 && c->p <= 1);
	check(!c->is_significant || c->is_compared);
	check(c->low <= c->high);
	check(c->of[DIFF_BEFORE].value >= 0 && c->of[DIFF_AFTER].value >= 0);
}

static int is_at_most(double part, double whole)
{
	return part <= whole * (1 + 1e-6) + 1e-6;
}

/* The parts of a whole are at most that, unless their sums were saturated. */
static void check_sums(const struct profile_diff *d)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		double whole = d->whole.of[s].value, lines = 0, functions = 0;

		for (uint32_t i = 0; i < d->comparison.sides[s].nr_recordings; i++)
			if (d->recordings[s][i].all.samples > 1ULL << 60 ||
			    d->recordings[s][i].all.cpu_ns > 1ULL << 60)
				return;
		for (size_t i = 0; i < d->nr_lines; i++) {
			lines += d->lines[i].self.of[s].value;
			check(is_at_most(d->lines[i].total.of[s].value, whole));
		}
		for (size_t i = 0; i < d->nr_functions; i++) {
			functions += d->functions[i].self.of[s].value;
			check(is_at_most(d->functions[i].total.of[s].value, whole));
		}
		check(is_at_most(lines, whole) && is_at_most(functions, whole));
	}
}

/* A line is the partner of at most one. */
static void check_file(const struct diff_file *f)
{
	size_t nr = f->text[DIFF_AFTER].nr;
	uint8_t *is_taken = calloc(nr + 1, 1);

	for (size_t i = 0; f->partners && i < f->text[DIFF_BEFORE].nr; i++) {
		uint32_t line = f->partners[i].line;

		check(line <= nr && !is_taken[line]);
		check(!line == (f->partners[i].match == LINE_UNMATCHED));
		is_taken[line] = line != 0;
	}
	free(is_taken);
}

static void check_compared(const struct profile_diff *d)
{
	check(d->nr_significant_lines <= d->nr_lines);
	check(d->nr_significant_functions <= d->nr_functions);
	for (size_t i = 0; i < d->nr_lines; i++) {
		check_change(&d->lines[i].self);
		check(d->lines[i].self.is_significant == (i < d->nr_significant_lines));
	}
	for (size_t i = 0; i < d->nr_functions; i++) {
		check_change(&d->functions[i].self);
		check(d->functions[i].self.is_significant ==
		      (i < d->nr_significant_functions));
	}
	for (size_t i = 0; i < d->nr_files; i++)
		check_file(&d->files[i]);
	check_sums(d);
}

/* ---- the comparison ---- */

/* Parses the rules that have a subject. Return: their number. */
static size_t rules_of(const struct profile_diff *d, struct strpool *pool,
		       struct diff_rule rules[MAX_RULES])
{
	const char *texts[MAX_RULES] = {"total +5%", "mean.c:7 +10%", "main +0%",
					"f +0%"};
	size_t nr = 0;

	if (d->nr_functions)
		texts[3] = strpool_print(pool, "%s:%s +1e-3%%", d->functions[0].file,
					 d->functions[0].name);
	for (size_t i = 0; i < MAX_RULES; i++) {
		struct diff_verdicts verdicts = {0};
		struct error err = {0};

		if (diff_rule_parse(texts[i], &rules[nr]))
			continue;
		if (diff_judge(d, &rules[nr], 1, &verdicts, &err)) {
			check(err.text[0]);
			free(rules[nr].subject);
		} else {
			check(verdicts.nr > 0);
			nr++;
		}
		diff_verdicts_deinit(&verdicts);
	}
	return nr;
}

static void judge_and_show(const struct profile_diff *d, struct strpool *pool,
			   const struct render_options *options)
{
	struct diff_rule rules[MAX_RULES] = {0};
	struct diff_verdicts verdicts = {0};
	const struct render_input in = {.diff = d, .verdicts = &verdicts};
	size_t nr = rules_of(d, pool, rules);

	check(!diff_judge(d, rules, nr, &verdicts, NULL));
	for (size_t i = 0; i < verdicts.nr; i++) {
		check_change(&verdicts.items[i].change);
		check(!verdicts.items[i].is_exceeded || verdicts.items[i].growth > 0);
	}
	check_shown(&in, options, "diff", 0);
	diff_verdicts_deinit(&verdicts);
	for (size_t i = 0; i < nr; i++)
		free(rules[i].subject);
}

static int add_all(struct profile_diff *d, struct sides *s, struct error *err)
{
	static const struct attribution_options charge = {0};
	int r = 0;

	for (size_t i = 0; i < s->nr && !r; i++) {
		struct attribution *a = NULL;

		check(!attribution_new(s->items[i], &charge, &a));
		r = diff_add(d, i % 2 ? DIFF_AFTER : DIFF_BEFORE, s->items[i], a, "input",
			     err);
		attribution_free(a);
	}
	return r ? r : diff_compare(d, err);
}

static void compare(struct sides *s, uint8_t flags)
{
	static const double works[] = {2.5};
	const struct diff_side_options side = {(uint32_t)(s->nr / 2), works, 1};
	const struct diff_options options = {
		.per = (enum diff_per)(flags % NR_DIFF_PERS),
		.noise = flags & 8 ? 0 : DIFF_DEFAULT_NOISE,
		.sides = {side, side},
		.moved = &moved,
		.nr_moved = flags & 16 ? 1 : 0,
		.keeps_stacks = true,
	};
	const struct render_options shown = {.width = flags & 32 ? 80 : 0,
					     .utf8 = flags & 64,
					     .limit = flags & 128 ? 2 : 0};
	struct profile_diff *d = NULL;
	struct error err = {0};

	check(!diff_new(&options, s->pool, &d));
	if (add_all(d, s, &err)) {
		check(err.text[0]);
	} else {
		check_compared(d);
		judge_and_show(d, s->pool, &shown);
	}
	diff_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sides s = {.pool = strpool_new(16 << 20)};

	if (size && read_sides(&s, data + 1, size - 1))
		compare(&s, data[0]);
	for (size_t i = 0; i < s.nr; i++)
		profile_free(s.items[i]);
	strpool_free(s.pool);
	return 0;
}
