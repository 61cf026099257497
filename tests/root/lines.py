# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the totals of lines with the CPU time that the program measured for them.

usage: lines.py JSON TRUTH [POINTS]

TRUTH: {"file.py:number": CPU seconds}. The total of each line is within POINTS percentage
points (default 2.5) of its seconds, or 3.5 standard deviations of that number of samples. It
may be lower by the line's part of the missed ticks, and higher by the time that a hypervisor
took (steal), which the program's own clock leaves out.
"""
import json
import os
import sys

with open(sys.argv[1], encoding="ascii") as f:
    d = json.load(f)
with open(sys.argv[2], encoding="ascii") as f:
    truth = json.load(f)
points = (float(sys.argv[3]) if len(sys.argv) > 3 else 2.5)
count, cpu_s = d["samples"]["count"], d["samples"]["cpu_ns"] / 1e9
due_s = cpu_s + d["samples"]["missed"] * cpu_s / max(count, 1)  # missed ticks belong to no line
stolen = d["losses"]["stolen_ns"] / 1e9
totals = {f"{os.path.basename(file['path'])}:{line['line']}": line["total_cpu_ns"] / 1e9
          for file in d["files"] for line in file["lines"]}
said, wrong = [], False
if not truth or d["samples"]["lost"] or count < 500:
    sys.exit(f"{count} samples, {d['samples']['lost']} lost, {len(truth)} lines")
for name, seconds in sorted(truth.items()):
    is_ = 100 * totals.get(name, 0) / cpu_s
    said.append(f"{name} {is_:.1f} %, took {100 * seconds / cpu_s:.1f} %")
    part = min(seconds / cpu_s, 1)
    bound = max(points, 350 * (part * (1 - part) / count) ** 0.5)
    wrong |= not 100 * seconds / due_s - bound <= is_ <= 100 * (seconds + stolen) / cpu_s + bound
print("; ".join(said) + f"; {stolen:.2f} s of {cpu_s:.2f} s stolen")
sys.exit(wrong)
