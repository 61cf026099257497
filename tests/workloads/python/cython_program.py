# SPDX-License-Identifier: GPL-2.0-or-later
"""Python calls Cython, which calls Python.

usage: cython_program.py SECONDS TRUTH.json   (spinning is built from spinning.pyx)
"""
import sys
import time

import spinning
from clocked import spin, timed, write_truth

end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    timed(spinning.work, 20_000_000)  # HOT down
    timed(spinning.call_back, spin, 100_000)  # HOT there and back
write_truth(sys.argv[2])
