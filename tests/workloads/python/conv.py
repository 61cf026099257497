# SPDX-License-Identifier: GPL-2.0-or-later
"""A convolution that calls NumPy in a loop: all of its work is in library code.

usage: conv.py SECONDS
"""
import sys
import time

import numpy as np
from numba import njit


@njit
def conv(image, kernel):
    height, width = kernel.shape
    rows = image.shape[0] - height + 1
    columns = image.shape[1] - width + 1
    result = np.empty((rows, columns))
    for y in range(rows):
        for x in range(columns):
            window = image[y : y + height, x : x + width]
            result[y, x] = np.sum(np.multiply(window, kernel))  # HOT sum
    return result


def main():
    rng = np.random.default_rng(1)
    image = rng.random((200, 200))
    kernel = rng.random((7, 7))
    conv(image, kernel)  # compiles, which takes seconds on a busy machine
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        conv(image, kernel)


if __name__ == "__main__":
    main()
