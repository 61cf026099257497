# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls four libraries, each from a line of its own: BLAS, zlib, json, Numba.

usage: mixed.py SECONDS TRUTH.json
"""
import json
import sys
import time
import zlib

import numpy as np
from numba import njit

from clocked import timed, write_truth


@njit
def collatz(n):
    longest = 0
    for i in range(1, n):
        x, steps = i, 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        longest = max(longest, steps)
    return longest


def main():
    a = np.random.default_rng(1).random((400, 400))
    text = bytes(range(256)) * 1000
    table = [{"name": f"row {i}", "values": [i, i / 3, None, True]} for i in range(3000)]
    collatz(10)
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        timed(np.dot, a, a)  # HOT blas
        timed(zlib.compress, text, 9)  # HOT zlib
        timed(json.dumps, table)  # HOT json
        timed(collatz, 20000)  # HOT numba


main()
write_truth(sys.argv[2])
