# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and compile time of Numba code, bare and under "lineburn run", as Markdown.

usage: numba-speed.py LINEBURN PYTHON PROGRAMS ROUNDS SECONDS

Each round measures each way once, one after the other, so that a change of the machine's
load affects all of them. The figures are medians of the ratios to the bare run of the same
round. The memory layout gives one program two speeds, some percent apart (the array
expression here), so the ratio of the fastest runs is printed too. The floor is the sampler
on a target that does not run: it takes every interrupt and drops every sample, as an empty
BPF program would.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

lineburn, python, programs, rounds, seconds = sys.argv[1:]
rounds = int(rounds)
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Floor:
    """A sampler at a rate, all of whose samples are dropped."""

    def __init__(self, hz):
        self.hz = str(hz)

    def __enter__(self):
        self.sleeper = subprocess.Popen(["sleep", "1000"])
        self.sampler = subprocess.Popen(
            [lineburn, "record", "-F", self.hz, "-p", str(self.sleeper.pid), "-o", "floor.pb.gz"], **QUIET)
        time.sleep(0.5)

    def __exit__(self, *_):
        self.sampler.send_signal(signal.SIGTERM)
        self.sampler.wait()
        self.sleeper.kill()
        self.sleeper.wait()


def run(command, prefix=(), **environment):
    subprocess.run([*prefix, python, *command], check=True, env={**os.environ, **environment}, **QUIET)


def measure(kernel, prefix=(), **environment):
    run([f"{programs}/speed.py", kernel, seconds, "speed.json"], prefix, **environment)
    with open("speed.json", encoding="ascii") as f:
        return json.load(f)


def sampled(hz, *options):
    return [lineburn, "run", "-F", str(hz), *options, "-o", "speed.pb.gz", "--"]


def on_floor(hz):
    def way(kernel):
        with Floor(hz):
            return measure(kernel)
    return way


WAYS = {
    "lineburn run, 99 Hz": lambda kernel: measure(kernel, sampled(99)),
    "empty sampler, 99 Hz": on_floor(99),
    "lineburn run, 999 Hz": lambda kernel: measure(kernel, sampled(999)),
    "empty sampler, 999 Hz": on_floor(999),
    "NUMBA_DEBUGINFO=1, no profiler": lambda kernel: measure(kernel, NUMBA_DEBUGINFO="1"),
    "bare, again": measure,
}
KERNELS = {"dither": "dither", "helper": "calls of helpers", "expression": "array expression"}


def median(values):
    return statistics.median(values)


def spread(values, digits=3):
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


speed = {way: {kernel: [] for kernel in KERNELS} for way in WAYS}
calls = {way: {kernel: [] for kernel in KERNELS} for way in [*WAYS, "bare"]}
compiling = {way: [] for way in WAYS}
for _ in range(rounds):
    compiled = dict.fromkeys([*WAYS, "bare"], 0.0)
    for kernel in KERNELS:
        bare = measure(kernel)
        compiled["bare"] += bare["compile_s"]
        calls["bare"][kernel].append(bare["call_us"])
        for way, measure_it in WAYS.items():
            result = measure_it(kernel)
            speed[way][kernel].append(bare["call_us"] / result["call_us"])
            calls[way][kernel].append(result["call_us"])
            compiled[way] += result["compile_s"]
    for way in WAYS:
        compiling[way].append(compiled[way] / compiled["bare"])

print(f"## Numba: speed of the program, bare = 1 (median of {rounds} paired rounds, lowest-highest; fastest runs)\n")
print("| | " + " | ".join(KERNELS.values()) + " | compile time |")
print("|---|" + "---|" * (len(KERNELS) + 1))
for way in WAYS:
    print(f"| {way} | " + " | ".join(
        f"{spread(speed[way][kernel])}; {min(calls['bare'][kernel]) / min(calls[way][kernel]):.3f}"
        for kernel in KERNELS) + f" | {spread(compiling[way], 2)} |")


def compile_many(prefix=()):
    run([f"{programs}/many.py", "100", "many.txt"], prefix)
    with open("many.txt", encoding="ascii") as f:
        return float(f.read())


def compile_on_floor():
    with Floor(99):
        return compile_many()


REGISTERING = {
    "the probe alone (1 Hz, --no-python-hook)": lambda: compile_many(sampled(1, "--no-python-hook")),
    "lineburn run, 99 Hz": lambda: compile_many(sampled(99)),
    "empty sampler, 99 Hz": compile_on_floor,
    "bare, again": compile_many,
}
registering = {way: [] for way in REGISTERING}
compile_many()  # fills the page cache
for i in range(rounds):
    bare = compile_many()
    # Alternate the order, against a slow change of the machine's load.
    for way in list(REGISTERING) if i % 2 else reversed(REGISTERING):
        registering[way].append(REGISTERING[way]() / bare)
print("\n## Numba: a program that compiles 100 functions, its CPU time, bare = 1"
      f" (median of {rounds})\n")
print("| | |")
print("|---|---|")
for way, values in registering.items():
    print(f"| {way} | {spread(values)} |")
