# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares an export with the recording.

usage: export.py RECORDING EXPORT ANNOTATE_JSON
As a server does, sums the samples by the line of their innermost frame, and by lines anywhere on the
stack (once a sample). Both must be the self and the total of annotate, to the nanosecond.
"""
import collections
import json
import sys

import pprof_file

recording, export = (pprof_file.read(path) for path in sys.argv[1:3])
with open(sys.argv[3], encoding="ascii") as f:
    listing = json.load(f)


def sums(profile):
    """CPU time and samples of all samples."""
    values = [pprof_file.numbers(sample, 2) for sample, _ in pprof_file.samples(profile)]
    return [sum(value[i] for value in values) for i in (0, 1)]


if sums(export) != sums(recording):
    sys.exit(f"the sums are {sums(export)}, not {sums(recording)}")

places = pprof_file.places(export)
selfs, totals = collections.Counter(), collections.Counter()
for sample, count in pprof_file.samples(export):
    stack = [frame for place in pprof_file.numbers(sample, 1) for frame in places[place][1]]
    nanoseconds = pprof_file.numbers(sample, 2)[1]
    lines = [(file, line) for _, file, line in stack if line]
    if stack[0][2]:
        selfs[stack[0][1:]] += nanoseconds
    totals.update({place: nanoseconds for place in set(lines)})

# Files of several containers can have one path; annotate lists each.
wanted_selfs, wanted_totals = collections.Counter(), collections.Counter()
for file in listing["files"]:
    for line in file["lines"]:
        wanted_selfs[file["path"], line["line"]] += line["self_cpu_ns"]
        wanted_totals[file["path"], line["line"]] += line["total_cpu_ns"]
for what, found, wanted in (("self", selfs, wanted_selfs), ("total", totals, wanted_totals)):
    wrong = [place for place in {**found, **wanted} if found[place] != wanted[place]]
    if wrong or not +wanted:
        place = (wrong or [("no line", 0)])[0]
        sys.exit(f"{what} of {place}: {found[place]}, not {wanted[place]}; {len(wrong)} lines differ")

if any(not name for _, frames in places.values() for name, _, _ in frames):
    sys.exit("a frame has no name")
print(f"{len(+wanted_selfs)} lines; {len(recording)} bytes are {len(export)}")
