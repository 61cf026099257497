# SPDX-License-Identifier: GPL-2.0-or-later
"""Works at the bottom of a recursion.

usage: recursion.py DEPTH SECONDS
"""
import sys
import time

from clocked import spin


def down(left, end):
    if left:
        return down(left - 1, end) + 1  # HOT down
    while time.process_time() < end:
        spin(100000)  # HOT bottom
    return 0


depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 100)
down(depth, time.process_time() + float(sys.argv[2]))
