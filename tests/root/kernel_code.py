# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the names of code that the kernel generates.

usage: kernel_code.py FILE TEXT   FILE: recording of tests/workloads/kernel-code.c; TEXT: its output
"""
import collections
import re
import sys

import pprof_file

with open(sys.argv[2], encoding="utf-8") as f:
    symbols = dict(line.split() for line in f if line.startswith(("first ", "second ")))
# What may run below each function of the program, and must. A socket filter has no symbol.
NAMES = {"in_first": symbols["first"], "in_second": symbols["second"], "in_filter": ""}
found = collections.defaultdict(collections.Counter)
for stack, count, status in pprof_file.stacks(sys.argv[1]):
    functions = [function for function, _, _ in stack]
    phase = next((function for function in functions if function in NAMES), None)
    if phase and functions[0] != phase:
        for function in functions[:functions.index(phase)]:
            # Programs of other recordings, such as those of other tests, run below any function.
            if re.match(r"\[|bpf_prog_[0-9a-f]{16}_(?!lb_)", function):
                found[phase]["" if function.startswith("[") else function] += count
print({phase: dict(counts) for phase, counts in found.items()})
# A program may have no name in a sample from about the time when it came or went.
for phase, name in NAMES.items():
    if not found[phase][name] or set(found[phase]) - {name, ""}:
        sys.exit(1)
