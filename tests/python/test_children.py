"""Processes that a Python with the hook starts have the hook too."""

import os

from suite import WORKLOADS, pythons, report, run, skip, unlike

for label, interpreter in pythons():
    if not interpreter:
        skip("children-" + label, "no Python in LB_NUMBA_%s (tools/venv.sh makes one)" % label.upper())
        continue
    status, out, err = run(interpreter, os.path.join(WORKLOADS, "children.py"))
    report(label + "-children-quiet", unlike((status, err), (0, "")))
    said = dict(line.split() for line in out.splitlines())
    for kind, expected in (("fork", "lines"), ("spawn", "lines"), ("forkserver", "lines"),
                           ("subprocess", "lines"), ("isolated", "none")):
        report("%s-child-%s" % (label, kind), unlike(said.get(kind), expected))
