# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints each value of a label in a pprof file, and its samples, the most frequent first.

usage: labels.py FILE LABEL
"""
import collections
import sys

import pprof_file

profile = pprof_file.read(sys.argv[1])
strings = pprof_file.string_table(profile)
key = strings.index(sys.argv[2])
counts = collections.Counter()
for sample, count in pprof_file.samples(profile):
    for part, label in pprof_file.fields(sample):
        if part == 3:
            words = dict(pprof_file.fields(label))
            if words.get(1) == key:
                counts[strings[words[2]] if words.get(2) else words.get(3, 0)] += count
for value, count in counts.most_common():
    print(value, count)
