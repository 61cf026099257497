# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares a profile with the CPU times that the program measured itself.

usage: truth.py shares|seconds|there JSON TRUTH SOURCE.py [KIND=FUNCTION,...]...

TRUTH has the CPU seconds of each kind of work. The samples of a kind are those on the lines of
the function of that name in SOURCE.py, or of the FUNCTIONs given for it.
there    each kind has samples; all together have at most twice their seconds
shares   each kind's share of the samples is within 2 points of its share of the seconds; all
         together have at least 95 % of their seconds (the rest: the loop that calls them and reads
         the clock), less the missed ticks; at least 5,000 samples, none lost
seconds  each kind has 80 to 115 % of its seconds

The time that a hypervisor took (steal) is not in the seconds, but may be in the profile: in
all kinds together once, in one kind at most half its seconds. Shares are compared without it.
"""
import ast
import json
import os
import sys

how, json_path, truth_path, source = sys.argv[1:5]
functions_of = dict(word.split("=") for word in sys.argv[5:])
with open(json_path, encoding="ascii") as f:
    d = json.load(f)
with open(truth_path, encoding="ascii") as f:
    truth = json.load(f)
with open(source, encoding="utf-8") as f:
    spans = {node.name: (os.path.basename(source), node.lineno, node.end_lineno)
             for node in ast.walk(ast.parse(f.read())) if isinstance(node, ast.FunctionDef)}


def seconds_of(function):
    """CPU seconds on the lines of a function, or of "file:first:last"."""
    if ":" in function:
        base, first, last = function.rsplit(":", 2)
        span = base, int(first), int(last)
    else:
        span = spans[function]
    return sum(line["self_cpu_ns"] / 1e9 for file in d["files"] if os.path.basename(file["path"]) == span[0]
               for line in file["lines"] if span[1] <= line["line"] <= span[2])


found = {kind: sum(map(seconds_of, functions_of.get(kind, kind).split(",")))
         for kind in truth if functions_of.get(kind, kind)}
count, lost = d["samples"]["count"], d["samples"]["lost"]
stolen = d["losses"]["stolen_ns"] / 1e9
missed = d["samples"]["missed"] * d["samples"]["cpu_ns"] / max(count, 1) / 1e9
if how == "there":
    said = {kind: round(n, 3) for kind, n in found.items()}
    if not found or not all(found.values()) or sum(found.values()) > 2 * sum(truth.values()) + stolen:
        sys.exit(f"seconds of kinds: {said}, they took {truth}")
elif how == "shares":
    if count < 5000 or lost:
        sys.exit(f"{count} samples, {lost} lost")
    all_found, all_seconds = sum(found.values()), sum(truth.values())
    # Leave out the start of the program, which depends on the machine and its load.
    if not 0.95 * all_seconds - missed <= all_found <= 1.02 * all_seconds + stolen:
        sys.exit(f"{all_found:.2f} s are of {list(truth)}, which took {all_seconds:.2f} s;"
                 f" {missed:.2f} s of all were missed, {stolen:.2f} s were stolen")
    for kind, n in found.items():
        is_, should = 100 * n / all_found, 100 * truth[kind] / all_seconds
        if abs(is_ - should) > 2:
            sys.exit(f"{kind} has {is_:.1f} %, it took {should:.1f} %")
        print(f"{kind}: {is_:.1f} %, it took {should:.1f} %")
else:
    wrong = []
    low, high = 0.8, 1.15
    for kind in found:
        most = high * truth[kind] + min(stolen, truth[kind] / 2)
        if not low * truth[kind] <= found[kind] <= most:
            wrong.append(f"{kind} has {found[kind]:.3f} of {truth[kind]:.3f} s, {stolen:.2f} s were stolen")
    all_found, all_seconds = sum(found.values()), sum(truth[kind] for kind in found)
    if all_found > high * all_seconds + stolen:
        wrong.append(f"all have {all_found:.3f} of {all_seconds:.3f} s")
    if wrong:
        sys.exit("; ".join(wrong))
