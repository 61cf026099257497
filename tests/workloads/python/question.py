# SPDX-License-Identifier: GPL-2.0-or-later
"""Which costs more to call: an empty function of Numba or one of Python?

usage: question.py CALLS TRUTH.json
"""
import sys

from numba import njit

from clocked import timed, write_truth


@njit
def empty_numba():
    pass


def empty_normal():
    pass


def call_numba(n):
    for _ in range(n):
        empty_numba()


def call_normal(n):
    for _ in range(n):
        empty_normal()


empty_numba()
for _ in range(20):
    timed(call_numba, int(sys.argv[1]) // 20)  # HOT numba
    timed(call_normal, int(sys.argv[1]) // 20)  # HOT normal
write_truth(sys.argv[2])
