# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks a recording of a storm of short processes.

usage: storm.py named FILE STORM PROGRAM SHARE   at least SHARE of its samples have the program's name
       storm.py told FILE STORM PROGRAM TEXT     the report TEXT counts the processes without a name
       storm.py losses JSON TEXT                 each loss is in the report TEXT
"""
import collections
import json
import os
import re
import sys

import pprof_file


def labels_of(sample, strings):
    for part, label in pprof_file.fields(sample):
        if part == 3:
            words = dict(pprof_file.fields(label))
            yield strings[words[1]], strings[words[2]] if words.get(2) else words.get(3, 0)


def count_named(path, storm, program):
    """Samples and processes of the program with its own path as label, with another, and with none.

    During an exec the comm is already the new one, but the path may still be the storm's.
    """
    profile = pprof_file.read(path)
    strings = pprof_file.string_table(profile)
    comm = os.path.basename(program)
    count = collections.Counter()
    pids = collections.defaultdict(set)
    for sample, nr in pprof_file.samples(profile):
        labels = dict(labels_of(sample, strings))
        if labels.get("comm") != comm:
            continue
        exe = labels.get("exe")
        kind = "nothing" if not exe else "it" if exe == program else "another"
        if kind == "another" and exe != storm:
            sys.exit(f"a process of the storm is said to be {exe}")
        count[kind] += nr
        pids[kind].add(labels["pid"])
    return count, pids


def named(path, storm, program, share):
    count, pids = count_named(path, storm, program)
    total = sum(count.values())
    print(f"{count['it']} of {total} samples, of {len(set().union(*pids.values()))} processes; "
          f"another name {count['another']}, none {count['nothing']}")
    # So many that the share means something; allow three standard deviations less.
    return total >= 100 * float(share) and count["it"] > 0 and count["it"] >= total * float(share) - 3 * (total * 0.09) ** 0.5


def told(path, storm, program, text_path):
    with open(text_path, encoding="utf-8") as f:
        found = re.search(r"(\d+) process(es)? lived too briefly to be named", f.read())
    nr_told, nr = int(found.group(1)) if found else 0, len(count_named(path, storm, program)[1]["nothing"])
    print(f"{nr_told} are told of, {nr} of the storm have no name")
    return nr_told >= nr


def losses(json_path, text_path):
    with open(json_path, encoding="ascii") as f:
        d = json.load(f)
    with open(text_path, encoding="utf-8") as f:
        text = f.read()
    lost, events = d["samples"]["lost"], d["losses"]["lost_events"]
    print(f"{lost} samples and {events} events lost")
    return re.search(rf"(?<!\d){lost} samples? lost", text) is not None and (
        not events or re.search(rf"(?<!\d){events} process event", text) is not None)


if not {"named": named, "told": told, "losses": losses}[sys.argv[1]](*sys.argv[2:]):
    sys.exit(1)
