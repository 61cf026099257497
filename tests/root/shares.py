# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the shares of a program's lines in each of its processes: batches for judge.py.

usage: shares.py FILE.pb.gz COMM SOURCE self|total PERCENT=MARKER...

MARKER is the word after "HOT " in a line of SOURCE; PERCENT is the line's true share of the CPU time of
all these lines. Processes with fewer than 100 samples on these lines are left out.
"""
import collections
import os
import sys

import pprof_file

path, comm, source, how, *words = sys.argv[1:]
truth = {marker: float(percent) for percent, _, marker in (word.partition("=") for word in words)}
base = os.path.basename(source)
lines = {}
with open(source, encoding="utf-8") as f:
    for number, text in enumerate(f, 1):
        marker = text.rstrip(" */\n").rpartition("HOT ")[2]
        if "HOT " in text and marker in truth:
            lines[number] = marker

profile = pprof_file.read(path)
strings = pprof_file.string_table(profile)
places = pprof_file.places(profile)
spent = collections.defaultdict(collections.Counter)
counts = collections.Counter()
for sample, count in pprof_file.samples(profile):
    labels = pprof_file.labels(sample, strings)
    if labels.get("comm") != comm:
        continue
    frames = [frame for at in pprof_file.numbers(sample, 1) for frame in places[at][1]]
    found = [lines[line] for _, file, line in frames if os.path.basename(file) == base and line in lines]
    if how == "self":
        found = found[:1]
    for marker in set(found):
        spent[labels["pid"]][marker] += pprof_file.numbers(sample, 2)[1]
        counts[labels["pid"]] += count
for pid, of in spent.items():
    if counts[pid] >= 100:
        for marker, percent in truth.items():
            print(marker, 100 * of[marker] / sum(of.values()), percent, 0)
