# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs Profila and "lineburn run -F 999" on the same programs; prints Markdown.

usage: numba-profila.py LINEBURN PYTHON PROGRAMS PROFILA SECONDS

Usable samples are those on a line of the program. Memory is the highest sum of the
proportional set sizes of the profiler's processes, without the program.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

lineburn, python, programs, profila, seconds = sys.argv[1:]
ROUNDS = 3
KERNELS = {"dither": "dither", "helper": "calls of helpers", "expression": "array expression"}
ENVIRONMENT = {**os.environ, "HOME": os.path.abspath("home"), "PYTHONPATH": profila}


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            for child in map(int, f.read().split()):
                found += [child, *children(child)]
    return found


def memory_bytes(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        if b"speed.py" in f.read().split(b"\0")[1:2][0]:
            return 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return 1024 * int(re.search(r"^Pss: *(\d+)", f.read(), re.M).group(1))


def watched(command, environment=None):
    """Runs a command. Returns its output and its peak memory."""
    peak = 0
    with open("watched.txt", "w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        while process.poll() is None:
            total = 0
            try:
                for pid in [process.pid, *children(process.pid)]:
                    total += memory_bytes(pid)
            except (OSError, IndexError, AttributeError):
                pass  # one of them has just begun or ended
            peak = max(peak, total)
            time.sleep(0.1)
        out.seek(0)
        return out.read(), peak


def call_us():
    with open("speed.json", encoding="ascii") as f:
        return json.load(f)["call_us"]


def program(kernel):
    return [f"{programs}/speed.py", kernel, seconds, "speed.json"]


def bare(kernel):
    subprocess.run([python, *program(kernel)], check=True)
    return call_us()


def by_profila(kernel):
    said, peak = watched([python, "-m", "profila", "annotate", "--", *program(kernel)], ENVIRONMENT)
    total = re.search(r"Total samples:\*\* (\d+) \(([\d.]+)% non-Numba samples, ([\d.]+)% bad", said)
    if not total:
        sys.exit("Profila said: " + said[-300:])
    usable = int(total.group(1)) * (1 - (float(total.group(2)) + float(total.group(3))) / 100)
    return usable, float(total.group(3)), peak


def by_lineburn(kernel):
    _, peak = watched([lineburn, "run", "-F", "999", "-o", "beside.pb.gz", "--", python, *program(kernel)])
    d = json.loads(subprocess.run([lineburn, "annotate", "--json", "--charge=mine", "beside.pb.gz"],
                                  check=True, capture_output=True).stdout)
    usable = sum(line["self"] for f in d["files"] for line in f["lines"] if f["path"].startswith(programs))
    return usable, 0.0, peak + d["cost"]["map_bytes"]


print("| program | profiler | usable samples a second | bad samples | speed, bare = 1 | memory |")
print("|---|---|---|---|---|---|")
for kernel, name in KERNELS.items():
    rows = {"Profila": [], "lineburn": []}
    for _ in range(ROUNDS):
        bare_us = bare(kernel)
        for who, measure in (("Profila", by_profila), ("lineburn", by_lineburn)):
            usable, bad, peak = measure(kernel)
            rows[who].append((usable / float(seconds), bad, bare_us / call_us(), peak / 1e6))
    for who, row in rows.items():
        rate, bad, ratio, memory = (statistics.median(column) for column in zip(*row))
        print(f"| {name} | {who} | {rate:.0f} | {bad:.0f} % | {ratio:.2f} | {memory:.0f} MB |")
