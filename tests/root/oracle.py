# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares stacks with those that the program wrote of itself, line by line.

usage: oracle.py FILE.pb.gz RECORD SOURCE [PID]   (of that process; else the shares, too: make stats)

RECORD is what workloads/python/oracle.py writes. A sample with Python frames of SOURCE has
all lines of a stack that was written, from the innermost to the outermost, or else it is
wrong. The shares of the stacks are within 2 points of those of the seconds that were measured.
"""
import collections
import os
import sys

import pprof_file
import stacks

profile_path, record_path, source = sys.argv[1:4]
only_pid = int(sys.argv[4]) if len(sys.argv) > 4 else None
base = os.path.basename(source)
with open(source, encoding="ascii") as f:
    # Innermost on a stack that was written: everything else is the recording's own.
    work = next(n for n, text in enumerate(f, 1) if "sys._getframe(); lines" in text)
seconds, seen = collections.Counter(), collections.Counter()
with open(record_path, encoding="ascii") as f:
    for line in f:
        spent, _, lines = line.partition(" ")
        seconds[tuple(map(int, lines.split()))] += float(spent)
for stack, count, _ in pprof_file.stacks(profile_path, only_pid):
    lines = tuple(stacks.lines_of(base, stack))
    if lines and lines[0] == work:
        seen[lines] += count
samples, known = sum(seen.values()), sum(n for lines, n in seen.items() if lines in seconds)
if samples < (50 if only_pid else 1000) or len(seconds) < 20:
    sys.exit(f"{samples} samples of {len(seconds)} stacks")
unknown = [(n, lines) for lines, n in seen.items() if lines not in seconds]
if unknown:
    sys.exit(f"{samples - known} of {samples} samples are of no stack that was written, as {max(unknown)}")
everything, worst = sum(seconds.values()), 0.0
for lines, spent in seconds.items():
    worst = max(worst, abs(100 * seen[lines] / samples - 100 * spent / everything))
print(f"{samples} samples of {len(seconds)} stacks, all as written; shares within {worst:.1f} points")
sys.exit(worst > 2 and not only_pid)
