# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares sampled stacks with those that the program recorded itself, line by line.

usage: oracle.py FILE.pb.gz RECORD SOURCE [PID]   (PID: only this process, and without the shares)

workloads/python/oracle.py writes RECORD. The lines of each sample's Python frames of SOURCE, from
the innermost to the outermost, must equal one of its stacks. Without PID, the shares of the
stacks must also be within 2 points of the shares of the measured seconds.
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
    # The innermost line of each stack in RECORD. Samples elsewhere are the program's own overhead.
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
