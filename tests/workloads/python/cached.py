# SPDX-License-Identifier: GPL-2.0-or-later
"""A function whose code Numba caches on disk.

usage: cached.py SECONDS   (prints whether it was compiled or loaded)
"""
import sys
import time

from numba import njit


@njit(cache=True)
def kept(x, n):
    for i in range(n):
        x = (x * 1103515245 + i) & 0x7FFFFFFF
    return x


def main():
    x = kept(1, 1)
    print("loaded" if sum(kept.stats.cache_hits.values()) else "compiled", flush=True)
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        x = kept(x, 1_000_000)
    sys.exit(x == 42)


if __name__ == "__main__":
    main()
