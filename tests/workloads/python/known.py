# SPDX-License-Identifier: GPL-2.0-or-later
"""Three functions that work 5 : 3 : 2; measures each with the thread's CPU clock.

usage: known.py SECONDS TRUTH.json   (SECONDS: of all; the file has each function's CPU seconds)

The loops are in different functions, because LLVM moves work between loops of one function.
"""
import json
import sys
import time

from numba import njit


@njit
def five(x, n):
    for i in range(n):
        x = (x * 1103515245 + i) & 0x7FFFFFFF  # HOT five
    return x


@njit
def three(x, n):
    for i in range(n):
        x = (x * 1103515245 + (i ^ 3)) & 0x7FFFFFFF
        x ^= x >> 7
    return x


@njit
def step(x, i):
    return (x * 69069 + i) & 0x7FFFFFFF


@njit
def two(x, n):
    for i in range(n):
        x = step(x, i ^ 5)
    return x


def main():
    seconds = float(sys.argv[1])
    used = {f.__name__: 0.0 for f in (five, three, two)}
    x = 1
    for f in (five, three, two):
        f(x, 1)
    while sum(used.values()) < seconds:
        # Batches of some 25, 15 and 10 ms: not in step with any sampling rate.
        for f, batch_seconds in ((five, 0.0253), (three, 0.0151), (two, 0.0101)):
            begin = now = time.thread_time()
            while now - begin < batch_seconds:
                x = f(x, 200_000)
                now = time.thread_time()
            used[f.__name__] += now - begin
    with open(sys.argv[2], "w", encoding="ascii") as out:
        json.dump(used, out)
    sys.exit(x == 42)


if __name__ == "__main__":
    main()
