"""Prints results of cached functions, and how many of them were loaded from the cache.

usage: cached.py [one]   (one function only, which compiles faster)
"""

import sys

from numba import float64, guvectorize, njit, vectorize


@njit(cache=True)
def plain(x):
    return x * 3 + 1


if sys.argv[1:] != ["one"]:
    import numpy as np

    @njit(cache=True, parallel=True)
    def parallel(a):
        return (a * 2.0 + 1.0).sum()

    @vectorize([float64(float64)], cache=True)
    def ufunc(a):
        return a * a + 1.0

    @guvectorize([(float64[:], float64[:])], "(n)->(n)", cache=True)
    def gufunc(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + 1.0


if __name__ == "__main__":
    if sys.argv[1:] == ["one"]:
        print(plain(2))
        print("hits", sum(plain.stats.cache_hits.values()))
    else:
        a = np.arange(10.0)
        print(plain(2), parallel(a), ufunc(a).sum(), gufunc(a).sum())
        print("hits", sum(plain.stats.cache_hits.values()), sum(parallel.stats.cache_hits.values()))
