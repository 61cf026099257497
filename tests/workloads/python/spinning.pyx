# cython: language_level=3
# SPDX-License-Identifier: GPL-2.0-or-later
# Between Python frames: cython_program.py calls it, and it calls back.


cdef unsigned long turn(unsigned long n) noexcept:
    cdef unsigned long x = 1, i
    for i in range(n):
        x = x * 6364136223846793005ULL + i  # HOT turn
    return x


def work(unsigned long n):
    return turn(n) & 1  # HOT work


def call_back(f, n):
    return f(n)  # HOT call back
