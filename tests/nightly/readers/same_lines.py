# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what a reader shows at lines with annotate.

usage: same_lines.py ANNOTATE_JSON SHOWN TOLERANCE_NS [editor]
SHOWN: {file: {line: [self in ns, total in ns, text or null]}}; the text may be left out. Self and total of
each line must be the same within the tolerance, and so must the text. A profile has no text of a
library's lines with less than 0.1 % self and 0.5 % total, where annotate reads the disk. "editor": the reader shows files with an absolute path
only, and counts a recursive line several times, so its total may be higher.
"""
import collections
import json
import sys

with open(sys.argv[1], encoding="ascii") as f:
    listing = json.load(f)
with open(sys.argv[2], encoding="utf-8") as f:
    shown = json.load(f)
tolerance_ns, editor = int(sys.argv[3]), sys.argv[4:] == ["editor"]

all_ns = listing["samples"]["cpu_ns"]
# Files of several containers can have one path; annotate lists each.
wanted = collections.defaultdict(lambda: [0, 0])
texts = {}
for file in listing["files"]:
    if editor and not file["path"].startswith("/"):
        continue
    for line in file["lines"]:
        place = file["path"], line["line"]
        wanted[place][0] += line["self_cpu_ns"]
        wanted[place][1] += line["total_cpu_ns"]
        texts[place] = line["text"]
found = {(file, int(line)): figures for file, lines in shown.items() for line, figures in lines.items()}

wrong, higher, same_texts = [], 0, 0
for place in {*wanted, *found}:
    self_ns, total_ns = wanted.get(place, [0, 0])
    figures = found.get(place, [0, 0])
    over = figures[1] - total_ns
    if abs(figures[0] - self_ns) > tolerance_ns or abs(over) > tolerance_ns:
        if editor and over > 0 and abs(figures[0] - self_ns) <= tolerance_ns:
            higher += 1
        else:
            wrong.append(f"{place}: {figures[:2]}, not {[self_ns, total_ns]}")
    elif figures[2:] and figures[2] is not None and texts.get(place) is not None:
        same_texts += figures[2] == texts[place]
        is_cold = self_ns * 1000 < all_ns and total_ns * 200 < all_ns
        if figures[2] != texts[place] and (figures[2] or not is_cold):
            wrong.append(f"{place}: {figures[2]!r}, not {texts[place]!r}")
if wrong or not any(self_ns for self_ns, _ in wanted.values()):
    sys.exit(f"{len(wrong)} lines of {len(wanted)} differ: {(wrong or ['no line'])[0]}")
print(f"{len(wanted)} lines" + (f", {same_texts} with the same text" if same_texts else "")
      + (f"; recursion counted in {higher}" if higher else ""))
