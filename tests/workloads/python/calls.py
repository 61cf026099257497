# SPDX-License-Identifier: GPL-2.0-or-later
"""Work of 5 : 3 : 2 in three functions, called from three lines. Runs on CPython 3.3 and later.

usage: calls.py SECONDS TRUTH.json
"""
import sys
import time

from clocked import timed, write_truth


def five(n):
    x = 1
    for i in range(n): x = (x * 69069 + i) & 0x7FFFFFFF  # HOT loop five
    return x


def three(n):
    x = 1
    for i in range(n): x = (x * 69069 + i) & 0x7FFFFFFF  # HOT loop three
    return x


def two(n):
    x = 1
    for i in range(n): x = (x * 69069 + i) & 0x7FFFFFFF  # HOT loop two
    return x


def main():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        timed(five, 50000)  # HOT call five
        timed(
            three,  # a call that spans several lines has the line of its start
            30000)
        x = [timed(two, n) for n in (20000,)]  # HOT call two
    write_truth(sys.argv[2])
    sys.exit(x == [42])


main()
