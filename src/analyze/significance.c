// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/significance.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define MAX_Z 38.0 /* beyond it, the chance is no double any more */
#define STEPS 200 /* of a search by halves; more than a double has bits */
#define TERMS 40 /* of a continued fraction */

double normal_p(double z)
{
	return erfc(z / M_SQRT2);
}

/* Returns the t with student_p() = @p; with @df 0 the z with normal_p() = @p. */
static double find_quantile(double p, double df)
{
	double low = 0, high = 1;

	while (high < 1e12 && (df > 0 ? student_p(high, df) : normal_p(high)) > p)
		high *= 2;
	for (int i = 0; i < STEPS && high - low > 1e-10 * high; i++) {
		double middle = (low + high) / 2;

		if ((df > 0 ? student_p(middle, df) : normal_p(middle)) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double normal_z(double p)
{
	if (p >= 1)
		return 0;
	return p <= normal_p(MAX_Z) ? MAX_Z : find_quantile(p, 0);
}

double student_t(double p, double df)
{
	return p >= 1 ? 0 : find_quantile(p, df);
}

/*
 * The regularised incomplete beta function is x^a (1-x)^b / (a B(a,b)) times the
 * continued fraction 1/(1 + d1/(1 + d2/(1 + ...))) (DLMF 8.17.22). This computes the
 * fraction from its last term inwards; left of the mean it converges fast unless both a
 * and b are large.
 */
static double beta_fraction(double x, double a, double b)
{
	double rest = 0;

	for (int i = TERMS; i >= 1; i--) {
		int m = i / 2;
		double at = a + i;
		double d = i % 2 ? -(a + m) * (a + b + m) * x / ((at - 1) * at)
				 : m * (b - m) * x / ((at - 1) * at);

		rest = d / (1 + rest);
	}
	return 1 / (1 + rest);
}

/* Returns the regularised incomplete beta function I_x(a, b). */
static double beta_part(double x, double a, double b)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* The fraction converges fast on this side of the mean. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_p(double t, double df)
{
	return beta_part(df / (df + t * t), df / 2, 0.5);
}

double binomial_p(double count, double all, double part)
{
	double at_least = count > 0 ? beta_part(part, count, all - count + 1) : 1;
	double at_most = count < all ? beta_part(1 - part, all - count, count + 1) : 1;

	return fmin(1, 2 * fmin(at_least, at_most));
}

struct margins poisson_margins(double count, double z)
{
	double half = z * sqrt(count + z * z / 4);

	return (struct margins){.below = half - z * z / 2, .above = half + z * z / 2};
}

struct margins wilson_margins(double count, double all, double z)
{
	double scale = 1 + z * z / all;
	double centre = (count + z * z / 2) / scale;
	double half = z / scale * sqrt(count * (1 - count / all) + z * z / 4);

	return (struct margins){.below = fmax(0, count - (centre - half)),
				.above = fmax(0, centre + half - count)};
}

/* ---- many comparisons at once ---- */

static int descending(const void *va, const void *vb)
{
	const double *a = va, *b = vb;

	return (*a < *b) - (*a > *b);
}

/*
 * The smallest p that @n samples can have: all of them are on the side on which equal
 * things have fewer, in either direction 2 * smaller^n.
 */
static double needed_at(double level, double smaller)
{
	return ceil(log(level / 2) / log(smaller));
}

double samples_needed(const double *counts, size_t nr, double smaller, double alpha,
		      size_t *ret_nr)
{
	_cleanup_free_ double *sorted = malloc((nr + 1) * sizeof(*sorted));
	size_t able = nr, compared;

	*ret_nr = nr ? nr : 1;
	if (!sorted) /* correct, with less power */
		return 0;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = counts[i];
	qsort(sorted, nr, sizeof(*sorted), descending);
	/*
	 * The smallest number for which no more comparisons than that are able to pass.
	 */
	for (compared = 1; compared <= nr; compared++) {
		double need = needed_at(alpha / (double)compared, smaller);

		while (able && sorted[able - 1] < need)
			able--;
		if (able <= compared)
			break;
	}
	*ret_nr = compared <= nr ? compared : *ret_nr;
	return needed_at(alpha / (double)*ret_nr, smaller);
}

double holm_level(size_t rank, size_t nr_compared, double alpha)
{
	return alpha / (double)(nr_compared > rank ? nr_compared - rank : 1);
}

size_t holm_significant(const double *p, size_t nr, size_t nr_compared, double alpha)
{
	size_t rank = 0;

	while (rank < nr && p[rank] < holm_level(rank, nr_compared, alpha))
		rank++;
	return rank;
}
