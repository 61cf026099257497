# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of function that Numba compiles; measures each with the thread's CPU clock.

usage: kinds.py SECONDS TRUTH.json   (SECONDS: of each kind; the file has each kind's CPU seconds)
"""
import ctypes
import json
import sys
import time

import numpy as np
from numba import cfunc, float64, guvectorize, int64, njit, vectorize
from numba.experimental import jitclass
from numba.extending import overload

VALUES = np.random.default_rng(1).random(100_000)


@njit
def expression(a, b):
    return np.sum(a * b + a * 0.5)


def run_expression():
    expression(VALUES, VALUES)


@njit
def square(x):
    return x * x - 0.75 * x


@njit
def helped(values):
    total = 0.0
    for value in values:
        total += square(value + total * 1e-9)
    return total


def run_helped():
    helped(VALUES)


@njit
def recursive(n):
    if n < 2:
        return n
    return recursive(n - 1) + recursive(n - 2)


def run_recursive():
    recursive(22)


@vectorize([float64(float64)])
def vectorized(x):
    for _ in range(30):
        x = x * x - 0.7
    return x


def run_vectorized():
    vectorized(VALUES[:10_000])


@guvectorize([(float64[:], float64[:])], "(n)->()")
def gu_vectorized(row, result):
    total = 0.0
    for value in row:
        total = total * 0.5 + value
    result[0] = total


def run_gu_vectorized():
    gu_vectorized(VALUES.reshape(100, 1000))


@cfunc(int64(int64, int64))
def called_from_c(x, n):
    for i in range(n):
        x = (x * 69069 + i) & 0x7FFFFFFF
    return x


CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(called_from_c.address)


def run_called_from_c():
    CALL(1, 200_000)


@jitclass([("state", int64)])
class Generator:
    def __init__(self, seed):
        self.state = seed

    def advance(self, n):
        for i in range(n):
            self.state = (self.state * 1103515245 + i) & 0x7FFFFFFF ^ self.state >> 5
        return self.state


GENERATOR = Generator(1)


def run_advance():
    GENERATOR.advance(200_000)


def blend(a, b):
    raise NotImplementedError


@overload(blend)
def blend_overload(a, b):
    if isinstance(a, type(b)):

        def blend_same(a, b):
            return a * 0.75 + b * 0.25

        return blend_same
    return None


@njit
def overloaded(values):
    total = 0.0
    for value in values:
        total = blend(total, value)
    return total


def run_overloaded():
    overloaded(VALUES)


@njit
def raises(n):
    x = 1
    for i in range(n):
        x = (x * 1103515245 + i) & 0x7FFFFFFF
    if x != 42:
        raise ValueError("as it should")
    return x


def run_raises():
    try:
        raises(200_000)
    except ValueError:
        pass


@njit(nogil=True, fastmath=True, boundscheck=True)
def checked(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i] / (1.0 + total * total)
    return total


def run_checked():
    checked(VALUES)


@njit
def outer(n):
    def inner(x, i):
        return (x * 1103515245 + i) & 0x7FFFFFFF

    x = 1
    for i in range(n):
        x = inner(x, i)
    return x


def run_outer():
    outer(200_000)


def exec_with_source():
    """As in a notebook: linecache has the text, under a name that is not a file."""
    import linecache

    text = "def in_cell(x, n):\n    for i in range(n):\n        x = (x * 69069 + i) & 0x7FFFFFFF\n    return x\n"
    name = "<ipython-input-7-0123456789ab>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {}
    exec(compile(text, name, "exec"), names)
    return njit(names["in_cell"])


def exec_without_source():
    text = "def in_string(x, n):\n    for i in range(n):\n        x = (x * 69069 + i) & 0x7FFFFFFF\n    return x\n"
    names = {}
    exec(text, names)
    return njit(names["in_string"])


IN_CELL = exec_with_source()
IN_STRING = exec_without_source()


def run_in_cell():
    IN_CELL(1, 200_000)


def run_in_string():
    IN_STRING(1, 200_000)


KINDS = {
    name[4:]: value for name, value in list(globals().items()) if name.startswith("run_")
}


def main():
    seconds = float(sys.argv[1])
    used = dict.fromkeys(KINDS, 0.0)
    for name, run in KINDS.items():
        run()
        begin = now = time.thread_time()
        while now - begin < seconds:
            run()
            now = time.thread_time()
        used[name] = now - begin
    with open(sys.argv[2], "w", encoding="ascii") as out:
        json.dump(used, out)


if __name__ == "__main__":
    main()
