# SPDX-License-Identifier: GPL-2.0-or-later
"""A short process.

usage: short.py SECONDS
"""
import sys
import time

end = time.process_time() + float(sys.argv[1])


def short():
    x = 1
    for i in range(20000): x = (x * 69069 + i) & 0x7FFFFFFF  # HOT short
    return x


while time.process_time() < end:
    short()  # HOT call
