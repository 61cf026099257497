# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that functions of Numba begin at their def.

usage: defs.py PROFILE... -- FILE...
Each function of compiled Python code of the source files has as start_line the line of a def of its
name. Functions that Numba makes for a def ("prange in f", "f (ufunc loop)") begin there, too.
"""
import ast
import os
import re
import sys

import pprof_file

split = sys.argv.index("--")
defs = {}  # (file, name) -> lines
for path in sys.argv[split + 1:]:
    with open(path, encoding="utf-8") as f:
        for node in ast.walk(ast.parse(f.read())):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                name = getattr(node, "name", "<lambda>")
                defs.setdefault((os.path.basename(path), name), set()).add(node.lineno)


def check(profile):
    """Exits unless each function of Numba begins at a def of its name. Returns how many there are."""
    strings = pprof_file.string_table(profile)
    mappings, functions, used = {}, {}, set()
    for number, message in pprof_file.fields(profile):
        words = dict(pprof_file.fields(message)) if number in (3, 5) else {}
        if number == 3:
            mappings[words[1]] = strings[words.get(5, 0)]
        elif number == 5:
            functions[words[1]] = strings[words.get(2, 0)], strings[words.get(4, 0)], words.get(5, 0)
    for number, message in pprof_file.fields(profile):
        if number == 4 and mappings.get(dict(pprof_file.fields(message)).get(2)) == "[jit]":
            used |= {dict(pprof_file.fields(line)).get(1) for part, line in pprof_file.fields(message) if part == 4}

    checked = 0
    for name, path, line in (functions[number] for number in used if number in functions):
        short = re.sub(r" \(.*\)$", "", name).rpartition(" in ")[2].rpartition(".")[2]
        lines = defs.get((os.path.basename(path), short))
        if lines is None:
            continue
        checked += 1
        if line not in lines:
            sys.exit(f"{name} begins at line {line}, not {sorted(lines)}")
    return checked


nr = sum(check(pprof_file.read(path)) for path in sys.argv[1:split])
if not nr:
    sys.exit("no function of Numba is there")
print(f"{nr} functions")
