# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes two recordings whose names, paths and source texts are markup and scripts.

usage: hostile-diff.py BEFORE AFTER
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lib")]
import recording  # noqa: E402
from hostile import EVIL  # noqa: E402


def write(path, is_after):
    names = [evil.replace("\0", "") for evil in EVIL]
    lines = [name.replace("\u2028", " ") for name in names]
    r = recording.Recording()
    r.wall_ns = 10**10
    r.extra += recording.field(2, names[0]) + recording.field(2, names[1])
    if is_after:
        lines = lines[5:] + ["new = '%s'" % lines[2]] + [line + ";" for line in lines[:5]]
    for name in names:
        r.add_source("/tmp/%s.py" % name, "\n".join(lines) + "\n")
    for i, name in enumerate(names):
        line = (i + 3 * is_after) % len(names) + 1
        outer = names[(i + 5) % len(names)]
        r.add((200 + 90 * i) * (2 if is_after and i % 3 == 0 else 1),
              [(name, "/tmp/%s.py" % name, line, 1), (outer, "/tmp/%s.py" % outer, line, 1)])
        r.add(50 + i, [(name + "!", "", 0, 0)])
    r.write(path)


write(sys.argv[1], False)
write(sys.argv[2], True)
