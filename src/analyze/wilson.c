// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "analyze/attribution.h"

/*
 * The interval of shares that would give @k of @n with a score within 1.96
 * standard deviations (E. B. Wilson, 1927). Holds near 0 and 1, where the
 * normal approximation gives shares below 0.
 */
void wilson_ci95(uint64_t k, uint64_t n, double *low, double *high)
{
	const double z = 1.959963984540054;
	double share, centre, half, scale;

	*low = 0;
	*high = 1;
	if (!n)
		return;
	if (k > n)
		k = n;
	share = (double)k / (double)n;
	scale = 1 + z * z / (double)n;
	centre = (share + z * z / (2 * (double)n)) / scale;
	half = z / scale *
	       sqrt(share * (1 - share) / (double)n +
		    z * z / (4 * (double)n * (double)n));
	if (k > 0)
		*low = fmax(0, centre - half);
	if (k < n)
		*high = fmin(1, centre + half);
}
