# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what a reader of folded stacks shows of functions with report.

usage: same_functions.py REPORT_JSON SHOWN FILE
SHOWN: {function: [self, total]}. All functions of the source file whose path ends in FILE must have the total
of report, in samples, and all self together must be all samples.
"""
import collections
import json
import sys

with open(sys.argv[1], encoding="ascii") as f:
    report = json.load(f)
with open(sys.argv[2], encoding="utf-8") as f:
    shown = json.load(f)

# Folded stacks have names only, and one name may be that of several functions.
names = collections.Counter(function["name"] for function in report["functions"])
wanted = {function["name"]: function["total"] for function in report["functions"]
          if function["file"].endswith(sys.argv[3]) and names[function["name"]] == 1}
wrong = [f"{name}: {shown.get(name, [0, 0])[1]}, not {total}" for name, total in wanted.items()
         if shown.get(name, [0, 0])[1] != total]
if wrong or not wanted:
    sys.exit(f"{len(wrong)} functions of {len(wanted)} differ: {(wrong or ['no function'])[0]}")
whole = sum(self_ for self_, _ in shown.values())
if whole != report["samples"]["count"]:
    sys.exit(f"the sum of self is {whole}, not {report['samples']['count']}")
print(f"{len(wanted)} functions, {whole} samples")
