// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/change.h"

#include <math.h>

#include "analyze/significance.h"

#define MAX_Z       38.0
#define FEW_SAMPLES 200
#define SMALL_SHARE 0.1
#define SEARCH      40 /* halves; z is then exact to 1e-10 */
#define MAX_GROWTH  10.0

static bool has_several(const struct comparison *c)
{
	return c->sides[DIFF_BEFORE].nr_recordings > 1 ||
	       c->sides[DIFF_AFTER].nr_recordings > 1;
}

/* Returns what one sample is worth in this figure. */
static double unit_of(const struct compared_side *side, const struct estimate *e)
{
	return e->samples > 0 && e->value > 0 ? e->value / e->samples : side->unit;
}

/* ---- one recording on each side ---- */

static struct margins margins_of(const struct comparison *c, enum diff_side s,
				 const struct estimate *e, double z)
{
	const struct compared_side *side = &c->sides[s];
	double unit = unit_of(side, e), noise = z * c->noise * e->value;
	struct margins m = c->are_shares ? wilson_margins(fmin(e->samples, side->samples),
							  side->samples, z)
					 : poisson_margins(e->samples, z);

	return (struct margins){.below = hypot(m.below * unit, noise),
				.above = hypot(m.above * unit, noise)};
}

static void bound_by_counts(const struct comparison *c, struct change *change, double z)
{
	struct margins b = margins_of(c, DIFF_BEFORE, &change->of[DIFF_BEFORE], z);
	struct margins a = margins_of(c, DIFF_AFTER, &change->of[DIFF_AFTER], z);

	change->low = change->difference - hypot(a.below, b.above);
	change->high = change->difference + hypot(a.above, b.below);
}

static bool excludes_zero(const struct change *change)
{
	return change->low > 0 || change->high < 0;
}

/*
 * Where the smaller side would have few samples, the score intervals are too narrow if
 * the sides have very different numbers of them. There the exact test of two Poisson
 * variables decides: the samples of AFTER are a binomial part of all. It would be too
 * strict for large shares.
 */
static double exact_p(const struct comparison *c, const struct change *change)
{
	double after = change->of[DIFF_AFTER].samples;
	double all = after + change->of[DIFF_BEFORE].samples;
	double unit_before = c->sides[DIFF_BEFORE].unit;
	double unit_after = c->sides[DIFF_AFTER].unit;

	double whole = c->sides[DIFF_BEFORE].samples + c->sides[DIFF_AFTER].samples;

	if (all * comparison_smaller_part(c) > FEW_SAMPLES ||
	    (c->are_shares && all > SMALL_SHARE * whole))
		return 0;
	return binomial_p(after, all, unit_before / (unit_before + unit_after));
}

/* The p of the widest interval without 0; at least the exact one. */
static double p_by_counts(const struct comparison *c, const struct change *change)
{
	struct change tried = *change;
	double low = 0, high = MAX_Z;

	for (int i = 0; i < SEARCH; i++) {
		double z = (low + high) / 2;

		bound_by_counts(c, &tried, z);
		if (excludes_zero(&tried))
			low = z;
		else
			high = z;
	}
	return fmax(normal_p(low), exact_p(c, change));
}

/* ---- several recordings ---- */

/* The error of a side's mean. */
struct mean_error {
	double variance;
	double df; /* degrees of freedom */
};

static double counting_variance(const struct comparison *c, enum diff_side s,
				const struct estimate *e)
{
	const struct compared_side *side = &c->sides[s];
	double unit = unit_of(side, e), samples = fmax(e->samples, 1);

	if (c->are_shares)
		samples *= fmax(0, 1 - samples / side->samples);
	return unit * unit * samples;
}

static struct mean_error mean_error_of(const struct comparison *c,
				       const struct change *change, enum diff_side s)
{
	enum diff_side other = s == DIFF_BEFORE ? DIFF_AFTER : DIFF_BEFORE;
	const struct estimate *e = &change->of[s], *o = &change->of[other];
	uint32_t nr = c->sides[s].nr_recordings;
	double variance = e->variance;

	if (nr == 1) {
		double scale = o->value > 0 ? e->value / o->value : 1;

		variance = o->variance * scale * scale;
	}
	return (struct mean_error){
		.variance = fmax(variance / nr, counting_variance(c, s, e)),
		.df = (nr == 1 ? c->sides[other].nr_recordings : nr) - 1,
	};
}

/*
 * Returns the error of the difference, with the degrees of freedom of B. L. Welch
 * (1947).
 */
static struct mean_error difference_error(const struct comparison *c,
					  const struct change *change)
{
	struct mean_error b = mean_error_of(c, change, DIFF_BEFORE);
	struct mean_error a = mean_error_of(c, change, DIFF_AFTER);
	double sum = a.variance + b.variance;
	double parts = a.variance * a.variance / a.df + b.variance * b.variance / b.df;

	return (struct mean_error){sum, parts > 0 ? sum * sum / parts : a.df + b.df};
}

/* ---- both ---- */

void change_judge(const struct comparison *c, struct change *change)
{
	struct mean_error error;

	change->difference = change->of[DIFF_AFTER].value - change->of[DIFF_BEFORE].value;
	change->p = 1;
	if (change->difference == 0)
		return;
	if (!has_several(c)) {
		change->p = p_by_counts(c, change);
		return;
	}
	error = difference_error(c, change);
	if (error.variance > 0)
		change->p =
			student_p(change->difference / sqrt(error.variance), error.df);
}

void change_bound(const struct comparison *c, struct change *change, double level)
{
	struct mean_error error;
	double half;

	if (!has_several(c)) {
		bound_by_counts(c, change, normal_z(level));
		if (change->p >= level) { /* as the exact test says */
			change->low = fmin(change->low, 0);
			change->high = fmax(change->high, 0);
		}
		return;
	}
	error = difference_error(c, change);
	half = student_t(level, error.df) * sqrt(error.variance);
	change->low = change->difference - half;
	change->high = change->difference + half;
}

double comparison_smaller_part(const struct comparison *c)
{
	double before = 1 / c->sides[DIFF_BEFORE].unit;
	double after = 1 / c->sides[DIFF_AFTER].unit;

	return fmin(before, after) / (before + after);
}

double comparison_visible_growth(const struct comparison *c, double share, double level)
{
	const struct compared_side *sides = c->sides;
	struct change change = {0};
	double growth = 0.001, value;

	if (has_several(c))
		return 0;
	value = share * sides[DIFF_BEFORE].samples * sides[DIFF_BEFORE].unit;
	for (; growth < MAX_GROWTH; growth *= 1.02) {
		change.of[DIFF_BEFORE] =
			(struct estimate){value, value / sides[DIFF_BEFORE].unit, 0};
		change.of[DIFF_AFTER] = (struct estimate){
			value * (1 + growth),
			value * (1 + growth) / sides[DIFF_AFTER].unit, 0};
		change.difference = value * growth;
		bound_by_counts(c, &change, normal_z(level));
		if (excludes_zero(&change))
			break;
	}
	return fmin(growth, MAX_GROWTH);
}
