# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks conditions about the window files of a recording.

usage: window_files.py PREFIX EXPRESSION...

Each expression must be true. `w` are the files PREFIX.*.pb.gz, sorted by name: each has path,
count (samples), losses (a dict), begin_s and end_s (wall clock).
cpu_between(LOG, A, B): CPU seconds of the program whose LOG --watch wrote.
usage: window_files.py --watch PID LOG: writes "wall-clock CPU-seconds stolen-seconds" lines until
PID ends. Stolen: the time that a hypervisor took from all CPUs; CPU-seconds do not include it.
"""
import glob
import json
import math
import os
import subprocess
import sys
import time

import points
import pprof_file

TICKS = os.sysconf("SC_CLK_TCK")


def watch(pid, log):
    with open(log, "w", encoding="ascii") as f:
        while True:
            try:
                # schedstat has nanoseconds; stat has only clock ticks.
                with open(f"/proc/{pid}/schedstat", encoding="ascii") as stat, \
                        open("/proc/stat", encoding="ascii") as times:
                    f.write(f"{time.time()} {int(stat.read().split()[0]) / 1e9}"
                            f" {int(times.readline().split()[8]) / TICKS}\n")
            except OSError:
                return
            f.flush()
            time.sleep(0.01)


def between(log, begin, end, column):
    with open(log, encoding="ascii") as f:
        rows = [tuple(map(float, line.split())) for line in f if line.endswith("\n")]
    return points.between(rows, begin, end, column)


def cpu_between(log, begin, end):
    return between(log, begin, end, 1)


class Window:
    def __init__(self, path):
        self.path = path
        profile = pprof_file.read(path)
        numbers = dict((n, v) for n, v in pprof_file.fields(profile) if n in (9, 10))
        self.begin_s = numbers[9] / 1e9
        self.end_s = self.begin_s + numbers[10] / 1e9
        self.count = sum(count for _, count in pprof_file.samples(profile))
        text = subprocess.run([os.environ["LB"], "report", "--json", path], check=True,
                              capture_output=True).stdout
        self.json = json.loads(text)
        self.losses = self.json["samples"]


def accounted(w, log, hz, cpus=1):
    """All samples / hz equal the program's CPU time by the kernel's own clock."""
    cpu = cpu_between(log, w[0].begin_s, w[-1].end_s) / cpus
    got, want = sum(x.count + x.losses["lost"] for x in w), cpu * hz
    # The clocks are read up to 20 ms apart, at either end. Missed ticks may be the program's or others'.
    missed = sum(x.losses["missed"] for x in w)
    allowed = max(0.02 * want, 3.5 * math.sqrt(want)) + 0.04 * hz + missed
    # All stolen time may have been taken from the program. Each window must report its part.
    stolen = between(log, w[0].begin_s, w[-1].end_s, 2)
    told = sum(x.json["losses"]["stolen_ns"] for x in w) / 1e9
    print(f"{got} samples, {want:.0f} by the kernel's clock, {allowed:.0f} allowed; {stolen:.2f} s stolen, told {told:.2f}")
    return want - allowed <= got <= want + allowed + stolen * hz and told <= 2 * stolen + 0.3


def adjacent(w):
    gaps = [b.begin_s - a.end_s for a, b in zip(w, w[1:])]
    print("gaps in ms:", " ".join(f"{1000 * g:.3f}" for g in gaps))
    return all(abs(gap) < 0.002 for gap in gaps)


def main():
    if sys.argv[1] == "--watch":
        watch(int(sys.argv[2]), sys.argv[3])
        return
    w = [Window(path) for path in sorted(glob.glob(sys.argv[1] + ".*Z*.pb.gz"))]
    names = {"w": w, "cpu_between": cpu_between, "accounted": accounted, "adjacent": adjacent}
    for expression in sys.argv[2:]:
        if not eval(expression, names):
            sys.exit(f"not true: {expression}; counts {[x.count for x in w]}")


main()
