# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks which program the samples of unusual processes are charged to.

usage: lives.py again FILE JSON TEXT ONE TWO   both programs have the pid and the CPU times in TEXT
       lives.py both FILE TEXT ONE TWO         both programs have samples under the pid in TEXT
       lives.py exec FILE BEFORE AFTER         both programs have samples under the same pid

JSON is the report of FILE; it has the time that a hypervisor took, which TEXT leaves out.
"""
import collections
import json
import sys

import pprof_file


def seconds(path):
    """CPU seconds by (pid, program)."""
    profile = pprof_file.read(path)
    strings = pprof_file.string_table(profile)
    found = collections.Counter()
    for number, sample in pprof_file.fields(profile):
        if number != 2:
            continue
        labels = {}
        for part, label in pprof_file.fields(sample):
            if part == 3:
                words = dict(pprof_file.fields(label))
                labels[strings[words[1]]] = strings[words[2]] if words.get(2) else words.get(3, 0)
        found[labels.get("pid"), labels.get("exe")] += pprof_file.numbers(sample, 2)[1] / 1e9
    return found


def is_near(found, should, stolen, period=1 / 999):
    """Within 5 % or 3.5 standard deviations, and 20 ms; more by the stolen time."""
    bound = max(0.05 * should, 3.5 * (should * period) ** 0.5) + 0.02
    return should - bound <= found <= should + bound + stolen


def again(path, report, text, one, two):
    with open(report, encoding="ascii") as f:
        stolen = json.load(f)["losses"]["stolen_ns"] / 1e9
    with open(text, encoding="utf-8") as f:
        pid, *used = next(words for words in map(str.split, f) if len(words) == 3)
    found = seconds(path)
    is_ = [found[int(pid), program] for program in (one, two)]
    should = [float(word) for word in used]
    print(f"{pid}: {is_[0]:.2f} s of the first, it took {should[0]:.2f}; {is_[1]:.2f} s of the second, it took {should[1]:.2f};"
          f" {stolen:.2f} s stolen")
    return all(is_near(*pair, stolen) for pair in zip(is_, should))


def both(path, text, one, two):
    with open(text, encoding="utf-8") as f:
        pid = int(next(words for words in map(str.split, f) if len(words) == 3)[0])
    found = seconds(path)
    print(pid, found)
    return all(found[pid, program] > 0.02 for program in (one, two))


def executed(path, before, after):
    found = seconds(path)
    pids = {pid for pid, program in found if program in (before, after)}
    print(found)
    return len(pids) == 1 and all(found[next(iter(pids)), program] > 0 for program in (before, after))


if not {"again": again, "both": both, "exec": executed}[sys.argv[1]](*sys.argv[2:]):
    sys.exit(1)
