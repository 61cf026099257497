#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording of many different stacks.

usage: stacks.py FILE STACKS [SEED]

Each stack has 25 frames, which are drawn from 20,000 lines of 2,000 functions in 200 files with
text. Most stacks have few samples. Another SEED draws other counts of the same stacks, as another
run of the same program would.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import recording  # noqa: E402

FILES, FUNCTIONS_A_FILE, LINES_A_FUNCTION, DEPTH = 200, 10, 10, 25


def frame(number):
    function, line = divmod(number, LINES_A_FUNCTION)
    file, nth = divmod(function, FUNCTIONS_A_FILE)
    start = nth * (LINES_A_FUNCTION + 1) + 1
    return f"function_{function}", f"/srv/src/file_{file}.py", start + 1 + line, start


def main():
    path, nr_stacks = sys.argv[1], int(sys.argv[2])
    program, counts = random.Random(1), random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    frames = [frame(n) for n in range(FILES * FUNCTIONS_A_FILE * LINES_A_FUNCTION)]
    r = recording.Recording()
    r.extra += recording.field(2, "program")
    for file in range(FILES):
        text = "".join(
            f"def function_{file * FUNCTIONS_A_FILE + n}():\n"
            + "".join(f"    x = step_{file}_{n}_{line}(x)\n" for line in range(LINES_A_FUNCTION))
            for n in range(FUNCTIONS_A_FILE)
        )
        r.add_source(f"/srv/src/file_{file}.py", text)
    for _ in range(nr_stacks):
        stack = program.choices(frames, k=DEPTH)
        mean = int(program.paretovariate(1.2))
        r.add(max(1, round(counts.gauss(mean, mean**0.5))), stack)
    r.wall_ns = 60 * 10**9
    r.write(path)


if __name__ == "__main__":
    main()
