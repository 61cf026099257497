# SPDX-License-Identifier: GPL-2.0-or-later
"""A Python program with many code objects, whose names and files collided under a hash function without a
secret: lineburn's had none once (tests/unit/base/hash.c).

usage: names.py colliding|plain SECONDS
"""

import sys
import time

NR_CODES = 4000
WORD = 1 << 64
FIRST, SECOND = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53


def mix(hashed, value):
    """The old function."""
    hashed ^= value
    hashed ^= hashed >> 33
    hashed = hashed * FIRST % WORD
    hashed ^= hashed >> 33
    hashed = hashed * SECOND % WORD
    return hashed ^ hashed >> 33


def unmix(hashed):
    """Its inverse."""
    hashed ^= hashed >> 33
    hashed = hashed * pow(SECOND, -1, WORD) % WORD
    hashed ^= hashed >> 33
    hashed = hashed * pow(FIRST, -1, WORD) % WORD
    return hashed ^ hashed >> 33


def name(number, collides):
    """A name of 16 bytes: with the same old hash for each number, or plain."""
    first = number * 0x9E3779B97F4A7C15 % WORD | 1
    second = mix(mix(0, 16), first) ^ unmix(0x1234567) if collides else 7
    return (first.to_bytes(8, "little") + second.to_bytes(8, "little")).decode("latin-1")


def work():
    for i in range(2000):
        i * i


code = work.__code__
functions = []
for n in range(NR_CODES):
    one = name(2 * n + 1, sys.argv[1] == "colliding")
    two = name(2 * n + 2, sys.argv[1] == "colliding")
    functions.append(type(work)(code.replace(co_filename=one, co_name=two), {"range": range}))
print("begun", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for function in functions:
        function()
