# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares CPU time in the profile with the kernel's own clocks, as a table.

usage: accounting.py LINEBURN BIN SECONDS NR_SHORT

Records the whole machine at 999 Hz while programs of BIN use SECONDS of CPU each and
NR_SHORT processes live for some 8 ms. Fails if a bound is exceeded:
- each long process, and the machine: 2 % or 3 sigma, whichever is more;
- all short processes together: 3 % or 3 sigma; at least 99 % of their samples are in a
  named binary, and 95 % have a line.
Sigma is the standard deviation of that number of independent samples. The kernel's clocks
leave out the time that a hypervisor took (steal), so the profile may have that much more.
"""
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time

import points
import pprof_file

LINEBURN, BIN, SECONDS, NR_SHORT = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
PROFILE = "accounting.pb.gz"
failed = False


def start(*argv):
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(argv[0], argv, os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    os.close(null)
    return pid


def finish(pid):
    """CPU seconds (user and system) of a process and its children."""
    usage = os.wait4(pid, 0)[2]
    return usage.ru_utime + usage.ru_stime


def program(name):
    return os.path.join(BIN, name)


def calibrate(argv, unit):
    """Returns the command with the last argument for which it uses SECONDS of CPU."""
    used = finish(start(*argv, str(unit)))
    return *argv, str(max(1, math.ceil(SECONDS * unit / used)))


class Busy(threading.Thread):
    """Records busy and stolen seconds of all CPUs (/proc/stat) over time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.points = []

    def run(self):
        tick = os.sysconf("SC_CLK_TCK")
        while True:
            with open("/proc/stat", encoding="ascii") as f:
                user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
            self.points.append((time.time_ns(), (user + nice + system + irq + softirq) / tick, steal / tick))
            time.sleep(0.05)

    def busy(self, begin, end):
        return points.between(self.points, begin, end)

    def stolen(self, begin, end):
        return points.between(self.points, begin, end, 2)


def row(what, seconds, found, samples, percent, stolen):
    global failed
    bound = max(percent, 300 / math.sqrt(max(samples, 1)))
    off = 100 * (found / seconds - 1)
    bad = not -bound <= off <= bound + 100 * stolen / seconds
    failed |= bad
    print(f"| {what} | {seconds:.2f} s | {stolen:.2f} s | {found:.2f} s | {samples} | {off:+.2f} % | {bound:.1f} % |"
          + (" OUTSIDE" if bad else ""))


def share(what, part, all_, least):
    global failed
    bad = 100 * part < least * all_
    failed |= bad
    print(f"| {what} | | | | {part} of {all_} | {100 * part / max(all_, 1):.2f} % | {least} % |"
          + (" OUTSIDE" if bad else ""))


def short_samples(pids):
    """Numbers of samples of the processes: all, with a named binary, with a line."""
    profile = pprof_file.read(PROFILE)
    strings = pprof_file.string_table(profile)
    pid_key = strings.index("pid")
    named, lined = set(), set()
    files = {}
    for number, message in pprof_file.fields(profile):
        if number == 3:
            words = dict(pprof_file.fields(message))
            files[words.get(1)] = strings[words.get(5, 0)]
    for number, message in pprof_file.fields(profile):
        if number == 4:
            words = dict(pprof_file.fields(message))
            if files.get(words.get(2), "").startswith(("/", "[kernel", "[vdso")):
                named.add(words[1])
            if any(dict(pprof_file.fields(line)).get(2) for part, line in pprof_file.fields(message) if part == 4):
                lined.add(words[1])
    sums = [0, 0, 0]
    for sample, count in pprof_file.samples(profile):
        labels = [dict(pprof_file.fields(label)) for part, label in pprof_file.fields(sample) if part == 3]
        if not any(label.get(1) == pid_key and label.get(3, 0) in pids for label in labels):
            continue
        locations = pprof_file.numbers(sample, 1)
        sums[0] += count
        # The innermost frame decides.
        sums[1] += count if locations and locations[0] in named else 0
        sums[2] += count if lined.intersection(locations) else 0
    return sums


loads = [
    ("one thread", calibrate((program("hot"),), 5)),
    ("two threads", calibrate((program("threads"),), 100)),
    ("system calls", calibrate((program("syscalls"),), 1)),
    ("in step with 100 Hz", (program("periodic"), "10000", "30", str(2 * SECONDS))),
]
busy = Busy()
busy.start()
with subprocess.Popen([LINEBURN, "record", "-a", "-F", "999", "-o", PROFILE], stderr=subprocess.DEVNULL) as recording:
    time.sleep(1.5)
    begin = time.time_ns()
    running = [(what, start(*argv)) for what, argv in loads]
    rows = [(what, pid, finish(pid), time.time_ns()) for what, pid in running]
    short_pids, short_seconds, short_begin = set(), 0.0, time.time_ns()
    for _ in range(NR_SHORT):
        one = start(program("shortlived"))
        short_pids.add(one)
        short_seconds += finish(one)
    short_end = time.time_ns()
    time.sleep(0.3)
    recording.send_signal(signal.SIGINT)
time.sleep(0.2)
report = subprocess.run([LINEBURN, "report", "--json", PROFILE], stdout=subprocess.PIPE, check=True)
d = json.loads(report.stdout)
of = {p["pid"]: p for p in d["processes"]}
nothing = {"samples": 0, "samples_cpu_ns": 0}
print("| | by the kernel | stolen meanwhile | by the profile | samples | off | bound |")
print("|---|---|---|---|---|---|---|")
for what, pid, seconds, end in rows:
    p = of.get(pid, nothing)
    row(what, seconds, p["samples_cpu_ns"] / 1e9, p["samples"], 2, busy.stolen(begin, end))
short = [of.get(pid, nothing) for pid in short_pids]
row(f"{NR_SHORT} processes of {1000 * short_seconds / NR_SHORT:.1f} ms", short_seconds,
    sum(p["samples_cpu_ns"] for p in short) / 1e9, sum(p["samples"] for p in short), 3,
    busy.stolen(short_begin, short_end))
nr, nr_named, nr_lined = short_samples(short_pids)
share("... in a named binary", nr_named, nr, 99)
share("... with a line", nr_lined, nr, 95)
begin, end = d["time_ns"], d["time_ns"] + d["duration_ns"]
row("the machine", busy.busy(begin, end), d["samples"]["cpu_ns"] / 1e9, d["samples"]["count"], 2,
    busy.stolen(begin, end))
print(f"| lost, missed | | | | {d['samples']['lost']}, {d['samples']['missed']} | "
      f"{100 * d['samples']['missed'] / max(d['losses']['due'], 1):.2f} % of the ticks due | |")
sys.exit(failed)
