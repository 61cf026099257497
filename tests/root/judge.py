# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges a statistic by its own noise.

usage: judge.py TOLERANCE <BATCHES

Each line of BATCHES is "WHAT MEASURED TRUE STOLEN": the measured and the true value of a batch,
and the part of its time that a hypervisor took (0 to 1). The batches of a WHAT are independent,
so the spread of their errors gives the noise (six standard errors).
Exit status:
0  the mean error of each WHAT is within TOLERANCE
1  a mean error is larger than both TOLERANCE and the noise
2  too few batches
3  inconclusive: the error is larger than TOLERANCE but within the noise, or the noise is more than
   four times TOLERANCE, or more than 3 % of the time was stolen
"""
import collections
import math
import statistics
import sys

LEAST_BATCHES, MOST_STOLEN = 4, 0.03


def judge(batches, tolerance):
    """The verdict on one WHAT, as an exit status, and the figures."""
    errors = [measured - true for measured, true, _ in batches]
    if len(errors) < LEAST_BATCHES:
        return 2, f"{len(errors)} batches"
    mean = statistics.fmean(errors)
    noise = 6 * statistics.stdev(errors) / math.sqrt(len(errors))
    stolen = statistics.fmean(part for _, _, part in batches)
    said = (f"{statistics.fmean(m for m, _, _ in batches):.4g} of {statistics.fmean(t for _, t, _ in batches):.4g},"
            f" good to {max(noise, tolerance):.2g}, {len(errors)} batches")
    if abs(mean) > max(noise, tolerance) and stolen <= MOST_STOLEN:
        return 1, said
    if noise > 4 * tolerance or abs(mean) > tolerance or stolen > MOST_STOLEN:
        return 3, said + f", {100 * stolen:.0f} % stolen"
    return 0, said


def main():
    batches = collections.defaultdict(list)
    for line in sys.stdin:
        what, *numbers = line.split()
        batches[what].append(tuple(map(float, numbers)))
    verdicts = {what: judge(rows, float(sys.argv[1])) for what, rows in batches.items()}
    print("; ".join(f"{what} {said}" for what, (_, said) in verdicts.items()) or "no batches")
    statuses = {status for status, _ in verdicts.values()} or {2}
    sys.exit(next(status for status in (2, 1, 3, 0) if status in statuses))


main()
