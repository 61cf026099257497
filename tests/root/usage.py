# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the CPU time of groups in a profile with the kernel's own accounts.

usage: usage.py watch POINTS NAME=FILE...     records counters until SIGTERM
       usage.py agree POINTS JSON MEMBER      JSON: of "report --json --by ..."

FILE is cpu.stat of cgroup v2, cpuacct.usage of v1, or /proc/PID/stat. It is read every 20 ms,
so that the CPU time within the recording is known afterwards. NAME is the beginning of a group's
MEMBER. The CPU time of each NAME in the profile is within 2 % or 3.5 standard deviations of that
number of samples, less its part of the missed ticks, and within 0.2 s: on a busy machine that much
time may pass between the recorded start and the first tick, and at the end. Its share of the CPU
time of all names must agree without the 0.2 s.
The time that a hypervisor took (steal) is not in the kernel's accounts, but in the profile, at an
unknown name: so each name, and all together, may have that much more. The profile must report it.
"""
import json
import math
import os
import signal
import sys
import time

from points import at


STEAL = "/proc/stat"


def seconds(path):
    with open(path, encoding="ascii") as f:
        text = f.read()
    if path == STEAL:
        return int(text.split()[8]) / os.sysconf("SC_CLK_TCK")
    if path.endswith("cpu.stat"):
        return int(text.split()[text.split().index("usage_usec") + 1]) / 1e6
    if path.endswith("cpuacct.usage"):
        return int(text) / 1e9
    return sum(map(int, text.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def watch(points_path, files):
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    points = {name: [] for name in files}
    while not stopped:
        for name, path in files.items():
            before = time.time_ns()
            try:
                points[name].append(((before + time.time_ns()) // 2, seconds(path)))
            except OSError:  # the file does not exist yet, or no longer
                pass
        time.sleep(0.02)
    with open(points_path, "w", encoding="ascii") as f:
        json.dump(points, f)


def spent_at(noted, when):
    """The counter at time @when; 0 before the first point, when its file did not exist."""
    return at(noted, when) if noted and noted[0][0] <= when else 0.0


def agree(points_path, json_path, member):
    with open(points_path, encoding="ascii") as f:
        points = json.load(f)
    with open(json_path, encoding="utf-8") as f:
        d = json.load(f)
    begin, end = d["time_ns"], d["time_ns"] + d["duration_ns"]
    missed = d["samples"]["missed"] / max(d["losses"]["due"], 1)
    spent = {name: spent_at(p, end) - spent_at(p, begin) for name, p in points.items()}
    stolen = spent.pop(STEAL)
    if points[STEAL][0][0] > begin:
        print("the watch began after the recording")
        return True
    said = [f"lost {d['samples']['lost']}, missed {100 * missed:.1f} %, stolen {stolen:.2f} s"]
    # The profile counts steal from before the first tick, so it may have more.
    told = d["losses"]["stolen_ns"] / 1e9
    wrong = d["samples"]["lost"] > 0
    if not stolen / 2 - 0.05 <= told <= 2 * stolen + 0.3:
        wrong = True
        said.append(f"told of {told:.2f} s of it OUTSIDE")
    found, counts = {}, {}
    for name in spent:
        mine = [g for g in d["groups"] if (g[member] or "").startswith(name)]
        found[name] = sum(g["cpu_ns"] for g in mine) / 1e9
        counts[name] = sum(g["samples"] for g in mine)
    for name, truth in spent.items():
        bound = max(0.02, 3.5 / math.sqrt(max(counts[name], 1)))
        share, should = found[name] / (sum(found.values()) or 1), truth / (sum(spent.values()) or 1)
        bad = (not truth * (1 - missed - bound) - 0.2 <= found[name] <= truth * (1 + bound) + 0.2 + stolen
               or truth < 0.2 or not found[name]
               or abs(share - should) > should * bound + 2 * missed * should + stolen / sum(spent.values()))
        wrong |= bad
        said.append(f"{name}: {found[name]:.2f} s, kernel {truth:.2f} s; {100 * share:.1f} % and"
                    f" {100 * should:.1f} %" + (" OUTSIDE" if bad else ""))
    all_found, all_spent = sum(found.values()), sum(spent.values())
    if all_found > all_spent * (1 + max(0.02, 3.5 / math.sqrt(max(sum(counts.values()), 1)))) + 0.2 + stolen:
        wrong = True
        said.append(f"all: {all_found:.2f} s, kernel {all_spent:.2f} s OUTSIDE")
    print("; ".join(said))
    return wrong


if sys.argv[1] == "watch":
    watch(sys.argv[2], dict([word.split("=", 1) for word in sys.argv[3:]] + [(STEAL, STEAL)]))
else:
    sys.exit(agree(*sys.argv[2:5]))
