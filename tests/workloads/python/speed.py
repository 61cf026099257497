# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the speed of Numba code.

usage: speed.py dither|helper|expression SECONDS [RESULT.json]
Prints, or writes to RESULT.json, the time of one call (microseconds; the median of batches of
50 ms), the time to compile (seconds, until the end of the first call), and for each batch its
start (CLOCK_MONOTONIC, seconds) and the time of one call.
"""
import json
import statistics
import sys
import time

import numpy as np
from numba import njit

from dither import dither_slow


@njit
def square(x):
    return x * x


@njit
def mandelbrot(size):
    turns = 0
    for row in range(size):
        for column in range(size):
            cr = -2 + 3 * column / size
            ci = -1.5 + 3 * row / size
            x = y = 0.0
            for _ in range(50):
                x2 = square(x)
                y2 = square(y)
                if x2 + y2 > 4:
                    break
                y = 2 * x * y + ci
                x = x2 - y2 + cr
                turns += 1
    return turns


@njit
def expression(a, b):
    return (a * b + a).sum()


def main():
    rng = np.random.default_rng(1)
    function, arguments = {
        "dither": (dither_slow, (rng.integers(0, 255, (300, 300)).astype(np.uint8),)),
        "helper": (mandelbrot, (100,)),
        "expression": (expression, (rng.random(100_000), rng.random(100_000))),
    }[sys.argv[1]]
    clock = time.perf_counter
    begin = clock()
    function(*arguments)
    compiled = clock() - begin
    batches = []
    end = clock() + float(sys.argv[2])
    while (now := clock()) < end:
        calls = 0
        while clock() - now < 0.05:
            function(*arguments)
            calls += 1
        batches.append((now, 1e6 * (clock() - now) / calls))
    result = {"call_us": statistics.median(us for _, us in batches), "compile_s": compiled,
              "batches": batches}
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w", encoding="ascii") as out:
            json.dump(result, out)
    else:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
