# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed of a Numba process while it is sampled and while it is not, as Markdown.

usage: numba-attached.py LINEBURN PYTHON PROGRAMS SECONDS

One process runs all the time, and "lineburn record -p" samples it in every other window:
so code and memory layout are the same in both halves of the comparison, and the difference
is the cost of sampling. (Other tests compare the code under "run" byte by byte.)
"""
import json
import statistics
import subprocess
import sys
import time

lineburn, python, programs, seconds = sys.argv[1:]
WINDOW_S, SETTLE_S = 2.0, 0.6
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def sampled_windows(pid, hz, until):
    """Samples every other window. Returns {sampled: [(begin, end)...]}."""
    windows = {True: [], False: []}
    while time.monotonic() < until:
        begin = time.monotonic()
        time.sleep(WINDOW_S)
        windows[False].append((begin + SETTLE_S / 2, time.monotonic()))
        recorder = subprocess.Popen([lineburn, "record", "-F", str(hz), "-p", str(pid),
                                     "-o", "attached.pb.gz"], **QUIET)
        begin = time.monotonic()
        time.sleep(WINDOW_S + SETTLE_S)
        windows[True].append((begin + SETTLE_S, time.monotonic()))
        recorder.terminate()
        recorder.wait()
    return windows


def ratio(kernel, hz):
    target = subprocess.Popen([python, f"{programs}/speed.py", kernel, seconds, "attached.json"], **QUIET)
    time.sleep(4)  # imports, compiles
    windows = sampled_windows(target.pid, hz, time.monotonic() + float(seconds) - 8)
    target.wait()
    with open("attached.json", encoding="ascii") as f:
        batches = json.load(f)["batches"]
    us = {on: [call_us for begin, call_us in batches
               if any(low <= begin and begin + 0.05 < high for low, high in windows[on])]
          for on in windows}
    return statistics.median(us[False]) / statistics.median(us[True]), len(us[False]), len(us[True])


print("## Numba: speed of one process while it is sampled, by its speed while it is not\n")
print("| | 99 Hz | 999 Hz |")
print("|---|---|---|")
for kernel, name in {"dither": "dither", "helper": "calls of helpers",
                     "expression": "array expression"}.items():
    cells = []
    for hz in 99, 999:
        value, nr_off, nr_on = ratio(kernel, hz)
        cells.append(f"{value:.3f} ({nr_on} and {nr_off} batches)")
    print(f"| {name} | " + " | ".join(cells) + " |")
