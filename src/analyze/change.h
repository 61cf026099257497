/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a figure changed between two sides, and how sure that is. Pure functions of
 * numbers.
 *
 * With one recording on each side, only the noise of counting is known: a figure of k
 * samples is as good as a Poisson variable of k (a share: a binomial one). That is an
 * upper bound, since the clock is periodic. What runs of one program differ by anyway,
 * by the speed of the clock or by neighbours, cannot be seen in one run: it is assumed,
 * relative to the figure (comparison.noise). The two intervals are joined to that of
 * the difference by the method of Zou and Donner (2008), of which Newcombe's interval
 * of two proportions (1998) is a case. It needs no correction for few samples or none.
 *
 * With several recordings on a side, their spread has both kinds of noise: Welch's
 * t-test. The spread counts as at least that of counting, because two recordings may be
 * equal by chance. A side of one recording is taken to have the relative spread of the
 * other.
 */
#ifndef LB_ANALYZE_CHANGE_H
#define LB_ANALYZE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

enum diff_side {
	DIFF_BEFORE,
	DIFF_AFTER,
	NR_DIFF_SIDES,
};

/* A figure of one side. */
struct estimate {
	double value; /* mean of the recordings; any unit */
	double samples; /* in all recordings together */
	double variance; /* of the value between recordings; 0 if there is one */
};

struct change {
	struct estimate of[NR_DIFF_SIDES];
	double difference; /* after - before */
	double low, high; /* interval of the difference */
	double p; /* chance that equal sides differ at least that much */
	bool is_compared; /* false: too few samples; p is then 1 */
	bool is_significant; /* corrected for all comparisons */
};

/* What all figures of two sides have in common. */
struct comparison {
	bool are_shares; /* of the samples of a side; else amounts */
	double noise; /* assumed standard deviation between runs, relative to the value */
	struct compared_side {
		uint32_t nr_recordings; /* > 0 */
		double samples; /* all of them, > 0 */
		double unit; /* value of a sample on average, > 0 */
	} sides[NR_DIFF_SIDES];
};

/** Sets difference and p from the two estimates. */
void change_judge(const struct comparison *c, struct change *change);

/** Sets low and high, which exclude 0 if and only if p, judged before, < @level. */
void change_bound(const struct comparison *c, struct change *change, double level);

/**
 * Returns the part of all samples that a figure with equal values would have on the
 * side where that part is smaller: at most 0.5.
 */
double comparison_smaller_part(const struct comparison *c);

/**
 * Returns the relative growth that a figure needs to be significant at @level, if it is
 * @share of the samples of BEFORE. With several recordings: 0, since that depends on
 * their spread. Growth of 10 times and more: 10.
 */
double comparison_visible_growth(const struct comparison *c, double share, double level);

#endif
