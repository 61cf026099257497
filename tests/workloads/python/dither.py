# SPDX-License-Identifier: GPL-2.0-or-later
"""Floyd-Steinberg dithering of an image in Numba: a straightforward and a faster version.

usage: dither.py [slow|fast] [SECONDS]
"""
import sys
import time

import numpy as np
from numba import njit


@njit
def dither_slow(image):
    height, width = image.shape
    result = image.astype(np.int16)
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
            error = old - new
            if x + 1 < width:
                result[y, x + 1] += error * 7 // 16
            if y + 1 < height:
                if x > 0:
                    result[y + 1, x - 1] += error * 3 // 16
                result[y + 1, x] += error * 5 // 16
                if x + 1 < width:
                    result[y + 1, x + 1] += error // 16
    return result.astype(np.uint8)


@njit
def dither_fast(image):
    height, width = image.shape
    result = np.empty((height, width), np.uint8)
    # The errors that a row passes to the next, with a spare column on each side.
    here = np.zeros(width + 2, np.int16)
    below = np.zeros(width + 2, np.int16)
    for y in range(height):
        right = 0
        for x in range(width):
            old = image[y, x] + here[x + 1] + right
            new = 255 if old > 127 else 0
            result[y, x] = new
            error = old - new
            right = (error * 7) >> 4
            below[x] += (error * 3) >> 4
            below[x + 1] += (error * 5) >> 4
            below[x + 2] += error >> 4
        here, below = below, here
        below[:] = 0
    return result


def main():
    dither = {"slow": dither_slow, "fast": dither_fast}[sys.argv[1] if len(sys.argv) > 1 else "slow"]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    # Every grey there is, in no order.
    image = np.random.default_rng(1).integers(0, 256, (600, 600)).astype(np.uint8)
    dither(image)
    calls = 0
    end = time.process_time() + seconds
    while time.process_time() < end:
        dither(image)
        calls += 1
    print(f"{dither.__name__}: {calls} images in {seconds:g} s of CPU")


if __name__ == "__main__":
    main()
