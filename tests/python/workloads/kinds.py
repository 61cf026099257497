"""Each way in which Numba compiles a function. A comment "line KIND" marks a line that the test expects."""

import ctypes
import warnings

import numba
import numpy as np
from numba import cfunc, float64, guvectorize, int64, njit, prange, vectorize
from numba.experimental import jitclass
from numba.extending import overload

warnings.simplefilter("error", getattr(numba.core.errors, "NumbaDebugInfoWarning"))


@njit(parallel=True)
def parallel_sum(a):
    total = 0.0
    for i in prange(a.shape[0]):
        value = a[i] * 2.0
        for _ in range(30):
            value = value * 1.0001 + 0.1  # line prange
        total += value
    return total


@vectorize([float64(float64, float64)])
def ufunc(a, b):
    c = a * b  # line vectorize
    if c > 0.5:
        c = c * c - a
    return c + b


@vectorize([float64(float64)], target="parallel")
def parallel_ufunc(a):
    return a * a + 1.0  # line vectorize-parallel


@guvectorize([(float64[:], float64, float64[:])], "(n),()->(n)")
def gufunc(x, k, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * k + 1.0  # line guvectorize


@cfunc(float64(float64))
def callback(x):
    return x * 2.0 + 1.0  # line cfunc


@jitclass([("n", int64), ("values", float64[:])])
class Box:
    def __init__(self, n):
        self.n = n
        self.values = np.zeros(n)

    def fill(self, k):
        for i in range(self.n):
            self.values[i] = i * k  # line jitclass
        return self.values.sum()


def triple(x):
    raise NotImplementedError


@overload(triple)
def _triple(x):
    def impl(x):
        y = x + x
        return y + x  # line overload

    return impl


@njit
def use_overload(x):
    return triple(x) * 2


@njit
def generator(n):
    for i in range(n):
        yield i * 2  # line generator


@njit
def use_generator(n):
    total = 0
    for x in generator(n):
        total += x
    return total


@njit(debug=False)
def explicitly_without(x):
    return x * 3 + 1  # line debug-false


def make_closure(k):
    @njit
    def closure(x):
        return x * k + k  # line closure

    return closure


namespace = {"njit": njit}
exec(compile("@njit\ndef execed(x):\n    return x * 3 + 5\n", "<cell>", "exec"), namespace)


@njit
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)  # line recursion


@njit
def raises(x):
    if x > 2:
        raise ValueError("too big")  # line exception
    return x


@numba.jit(forceobj=True)
def object_mode(x):
    return len(str(x))  # line object-mode


@numba.stencil
def neighbours(a):
    return a[-1] + a[0] * 3.0 + a[1]  # line stencil


@njit
def use_stencil(a):
    return neighbours(a).sum()


@njit
def array_expression(a, b):
    factor = 1.5
    return (a * b + a - factor * b).sum()  # line array-expression


@njit(inline="always")
def inlined(x):
    return x * x + 3  # line inline-always


@njit
def use_inlined(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += inlined(a[i])
    return total


@njit(
    nogil=True,
)
def decorated(
    a,
    b,
):
    """The first line of this function is neither the decorator's nor this one."""
    return a + b  # line decorated


A = np.arange(1000.0)
B = A[::-1].copy()
results = [
    parallel_sum(A), ufunc(A, B).sum(), parallel_ufunc(A).sum(), gufunc(A, 2.0).sum(),
    ctypes.cast(callback.address, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double))(3.0),
    Box(10).fill(2.0), use_overload(4), use_generator(10), list(generator(3)),
    explicitly_without(2), make_closure(4)(5), namespace["execed"](1), factorial(6),
    object_mode(1234), use_stencil(A), array_expression(A, B), use_inlined(A), decorated(1, 2),
]
try:
    raises(3)
except ValueError as e:
    results.append(str(e))
print([float(r) if isinstance(r, np.floating) else r for r in results])
