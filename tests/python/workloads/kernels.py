"""Seven kernels whose machine code and lines the tests compare."""

import numpy as np
from numba import njit


@njit
def dither(img):
    result = img.astype(np.int16)
    height, width = img.shape
    for y in range(height):
        for x in range(width):
            old = result[y, x]
            if old < 0:
                new = 0
            elif old > 255:
                new = 255
            else:
                new = np.uint8(np.round(old / 255.0)) * 255
            result[y, x] = new
            error = np.int16(old) - new
            if x < width - 1:
                result[y, x + 1] += error * 7 // 16
            if y < height - 1 and x > 0:
                result[y + 1, x - 1] += error * 3 // 16
            if y < height - 1:
                result[y + 1, x] += error * 5 // 16
            if y < height - 1 and x < width - 1:
                result[y + 1, x + 1] += error // 16
    return result.astype(np.uint8)


@njit
def moving_average(series):
    result = np.empty(series.shape, dtype=np.float64)
    for i in range(len(series)):
        total = 0.0
        for j in range(max(i - 6, 0), i + 1):
            total += series[j]
        result[i] = total / 7
    return result


@njit
def square(x):
    return x * x


@njit
def mandel(n):
    inside = 0
    for a in range(n):
        for b in range(n):
            cr = -2 + 3 * a / n
            ci = -1.5 + 3 * b / n
            x = y = 0.0
            for _ in range(50):
                xx = square(x)
                yy = square(y)
                if xx + yy > 4:
                    break
                y = 2 * x * y + ci
                x = xx - yy + cr
                inside += 1
    return inside


@njit
def triad(a, b, c):
    for i in range(a.shape[0]):
        a[i] = b[i] * 3.0 + c[i]


@njit(fastmath=True)
def dot(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit
def rows(matrix):
    total = 0.0
    for i in range(matrix.shape[0]):
        row = matrix[i]
        for j in range(row.shape[0]):
            total += row[j]
    return total


@njit
def array_expression(a, b):
    return (a * b + a).sum()


def cases():
    random = np.random.RandomState(0)
    image = random.randint(0, 255, (300, 300)).astype(np.uint8)
    v, w, out = random.rand(100000), random.rand(100000), np.empty(100000)
    return {
        dither: (image,),
        moving_average: (v,),
        mandel: (100,),
        triad: (out, v, w),
        dot: (v, w),
        rows: (random.rand(20000, 4),),
        array_expression: (v, w),
    }


if __name__ == "__main__":
    for function, arguments in cases().items():
        function(*arguments)
    print("done")
