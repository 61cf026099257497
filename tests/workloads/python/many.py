# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles many functions and runs none of them for long.

usage: many.py FUNCTIONS [RESULT]   (prints the CPU seconds used, or writes them to RESULT)
"""
import sys
import time

from numba import njit

TEXT = """
def f{k}(x):
    for i in range({k}):
        x = x * {k} + i
    return x
"""


def main():
    count = int(sys.argv[1])
    begin = time.process_time()
    x = 1
    for k in range(count):
        names = {}
        exec(compile(TEXT.format(k=k), f"many-{k}.py", "exec"), names)
        x = njit("int64(int64)")(names[f"f{k}"])(x)
    said = f"{time.process_time() - begin:.3f}"
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="ascii") as out:
            out.write(said)
    else:
        print(said)
    sys.exit(x == 42)


if __name__ == "__main__":
    main()
