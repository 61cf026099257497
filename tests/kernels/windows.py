# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the windows that a guest recorded, as JSON, and lineburn's messages about them."""
import glob
import json
import re
import sys


def windows(name):
    """Windows of NAME, by file name. Exits if a written file is missing or samples were lost."""
    found = []
    for path in sorted(glob.glob(f"{name}.2*.json")):
        with open(path, encoding="ascii") as f:
            found.append(json.load(f))
    with open(f"{name}.err", encoding="ascii") as f:
        said = re.search(r"(\d+) samples in (\d+) files?", f.read())
    if [sum(d["samples"]["count"] for d in found), len(found)] != [int(number) for number in said.groups()]:
        sys.exit(f"{len(found)} files are left of what was written: {said.group()}")
    if any(d["samples"]["lost"] for d in found):
        sys.exit(f"lost: {[d['samples']['lost'] for d in found]}")
    return found


def uptimes(name):
    with open(f"{name}.uptime", encoding="ascii") as f:
        return [float(line) for line in f]
