/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How sure a difference is: intervals of counts, Student's t, and the correction for
 * many comparisons. Pure functions of numbers.
 *
 * "p" is the chance that equal things differ at least that much, in either direction.
 */
#ifndef LB_ANALYZE_SIGNIFICANCE_H
#define LB_ANALYZE_SIGNIFICANCE_H

#include <stddef.h>

/** Returns the chance that a standard normal variable is beyond +-@z. @z  >= 0 */
double normal_p(double z);

/** Returns the z of which that is the chance. @p  0 to 1 */
double normal_z(double p);

/** The same for Student's t. @df  degrees of freedom, > 0 */
double student_p(double t, double df);
double student_t(double p, double df);

/**
 * The chance that of @all samples at least @count, or at most @count, whichever is
 * rarer, fall on one side, in either direction: twice the smaller tail of the binomial
 * distribution.
 *
 * @part  of equal things on that side, 0 to 1
 */
double binomial_p(double count, double all, double part);

/* Distances from a figure to the ends of its interval. */
struct margins {
	double below, above;
};

/**
 * Returns the score interval of the mean of a Poisson count: all means from which
 * @count is within @z standard deviations. Valid from 0 on.
 */
struct margins poisson_margins(double count, double z);

/**
 * Wilson's score interval of @count out of @all, as counts (E. B. Wilson, 1927). Valid
 * near 0 and @all, where the normal approximation leaves the range.
 *
 * @all  >= @count, > 0
 */
struct margins wilson_margins(double count, double all, double z);

/* ---- many comparisons at once ---- */

/**
 * Tarone's rule: a comparison of @counts[i] samples that could not be significant
 * however they fell is none, and does not cost the others any power.
 *
 * @counts   samples of both sides together
 * @smaller  the part of all samples that equal things would have on the side with the
 *           smaller part, > 0 to 0.5
 * @alpha    the chance of any false alarm that is allowed
 * @ret_nr   receives by how many comparisons to correct: at least 1
 * Return: the samples that a comparison needs.
 */
double samples_needed(const double *counts, size_t nr, double smaller, double alpha,
		      size_t *ret_nr);

/**
 * Holm's method. Returns how many of @p, ascending, are significant when corrected for
 * @nr_compared comparisons.
 */
size_t holm_significant(const double *p, size_t nr, size_t nr_compared, double alpha);

/** Returns the level at which the comparison number @rank (from 0) is judged. */
double holm_level(size_t rank, size_t nr_compared, double alpha);

#endif
