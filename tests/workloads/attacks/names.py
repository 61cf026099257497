# SPDX-License-Identifier: GPL-2.0-or-later
"""A Python program with many code objects, whose names and files collided under a hash function without a
secret: lineburn's had none once (tests/unit/base/hash.c).

usage: names.py colliding|plain SECONDS
"""

import sys
import time

NR_CODES = 8000
DEPTH = 50
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


def names(collide):
    """Names of 16 bytes: all with the same old hash, or plain. Lineburn keeps the bytes of surrogates and absolute
    paths as they are, and texts without a NUL."""
    number = 0
    while True:
        number += 1
        first = (number * 0x9E3779B97F4A7C15 % WORD & ~0xFF) | ord("/")
        second = mix(mix(0, 16), first) ^ unmix(0x1234567) if collide else 0x0707070707070707
        text = first.to_bytes(8, "little") + second.to_bytes(8, "little")
        if 0 not in text:
            yield text.decode("ascii", "surrogateescape")


def work(others):
    for i in range(300):
        i * i
    if others:
        others[0](others[1:])


code = work.__code__
functions = []
texts = names(sys.argv[1] == "colliding")
for n in range(NR_CODES):
    name = next(texts)
    changed = {"co_filename": next(texts), "co_name": name, "co_qualname": name}
    functions.append(type(work)(code.replace(**{k: v for k, v in changed.items() if hasattr(code, k)}), {"range": range}))
print("begun", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    # Deep, so that a sample has many names.
    for first in range(0, NR_CODES, DEPTH):
        functions[first](functions[first + 1 : first + DEPTH])
