# SPDX-License-Identifier: GPL-2.0-or-later
"""For programs that measure the CPU time of each of their lines.

timed(f, *arguments) calls f(*arguments) and adds its CPU time to the line that called timed().
write_truth(FILE) writes {"file.py:number": CPU seconds}.
"""
import json
import os
import sys
import time

used = {}


def timed(f, *arguments):
    begin = time.thread_time()
    result = f(*arguments)
    spent = time.thread_time() - begin
    caller = sys._getframe(1)
    line = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
    used[line] = used.get(line, 0.0) + spent
    return result


def spin(n):
    x = 1
    for i in range(n): x = (x * 69069 + i) & 0x7FFFFFFF  # HOT spin
    return x


def write_truth(path):
    with open(path, "w", encoding="ascii") as out:
        json.dump(used, out)
