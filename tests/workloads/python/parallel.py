# SPDX-License-Identifier: GPL-2.0-or-later
"""prange on all threads, in this process or in child processes.

usage: parallel.py HOW SECONDS   (HOW: here, fork, spawn, joblib)
"""
import multiprocessing
import os
import sys
import time

import numpy as np
from numba import config, njit, prange


@njit(parallel=True)
def psum(values):
    total = 0.0
    for i in prange(len(values)):
        value = (7 * values[i] + 1) / 9  # HOT scale
        for _ in range(300):
            value = value * 1.0001 + 0.1  # HOT grow
            value = value * value - 0.5  # HOT square
        total += value
    return total


def spin(seconds):
    values = np.random.default_rng(1).random(20_000)
    psum(values)
    end = time.process_time() + seconds
    calls = 0
    while time.process_time() < end:
        psum(values)
        calls += 1
    return os.getpid(), calls


def main():
    how, seconds = sys.argv[1], float(sys.argv[2])
    if how == "here":
        print(*spin(seconds))
        return
    if how == "joblib":
        from joblib import Parallel, delayed

        for pid, calls in Parallel(n_jobs=2)(delayed(spin)(seconds) for _ in range(2)):
            print(pid, calls)
        return
    # Of Numba's threading layers only this one works after a fork.
    config.THREADING_LAYER = "workqueue"
    # Children inherit the code that was compiled before the fork.
    psum(np.ones(4))
    with multiprocessing.get_context(how).Pool(2) as pool:
        for pid, calls in pool.map(spin, [seconds] * 2, chunksize=1):
            print(pid, calls)


if __name__ == "__main__":
    main()
