#!/bin/sh
# Clock events on all CPUs against events on the tasks of one command, which its threads and children
# inherit: how many samples they give of those due, from which part of a program, and how much they slow
# the program down. No lineburn runs; task-events.c opens the events and counts. busy-quarters.c must not run
# elsewhere meanwhile: it is counted by its name.
# TASK_SECONDS: CPU time of one run (2); 64 threads take 1.6 s. TASK_ROUNDS: runs of each kind (5).
# TASK_ONLY: only programs whose name has this text.
. "${TOP:?}/tests/root/lib.sh"
make -s -C "$TOP" build/tests/bench/task-events build/tests/bench/busy-quarters >&2 || exit 1
clang=$(command -v clang-14 || command -v clang)
"$clang" -g -O2 -target bpf -I/usr/include/"$(gcc -print-multiarch)" -c -o task-events.bpf.o "$TOP/tests/bench/task-events.bpf.c" || exit 1

echo "## Events on all CPUs, or on tasks"
echo
PYTHONDONTWRITEBYTECODE=1 python3 -S - "${TASK_SECONDS:-2}" "${TASK_ROUNDS:-5}" <<'END'
import os
import statistics
import subprocess
import sys

SECONDS, ROUNDS = float(sys.argv[1]), int(sys.argv[2])
BUILT = os.path.join(os.environ["TOP"], "build/tests/bench")
BUSY = os.path.join(BUILT, "busy-quarters")
RATES, KINDS = (99, 999), ("cpus", "task")


def said(*command):
    return [int(word) for word in subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split()]


def run(kind, rate, load):
    """CPU seconds, samples of each quarter"""
    cpu_ns, *quarters = said(os.path.join(BUILT, "task-events"), "task-events.bpf.o", kind, str(rate), BUSY, *load)
    return cpu_ns / 1e9, quarters


thousands_a_ms = max(said(BUSY, "measure")[0] for _ in range(3)) / 1000  # of turns


def amount(ms):
    """thousands of turns"""
    return str(max(4, round(thousands_a_ms * ms)))


def loads():
    """(name, arguments); the rounds of a pipe are those that take SECONDS"""
    yield "one thread", ["loop", amount(1000 * SECONDS)]
    for ms in (2, 5, 15, 20):
        yield f"processes of {ms} ms", ["storm", amount(ms), str(round(1000 * SECONDS / ms))]
    for nr_cpus, where in ((1, "one CPU"), (2, "two CPUs")):
        rounds = 5000 * SECONDS / run("none", 1, ["pipe", "5000", str(nr_cpus)])[0]
        yield f"two threads and pipes, {where}", ["pipe", str(round(rounds)), str(nr_cpus)]
    yield "64 threads of 25 ms, two CPUs", ["threads", amount(25), "64"]


def slower(pairs):
    ratios = [100 * (with_ / without - 1) for without, with_ in pairs]
    return f"{statistics.median(ratios):+.1f} ({min(ratios):+.1f} to {max(ratios):+.1f})"


print("| program | rate | events on | samples | due | | of its quarters | CPU time |")
print("|---|---|---|---|---|---|---|---|")
for name, load in loads():
    if os.environ.get("TASK_ONLY", "") not in name:
        continue
    cpu_s, samples, pairs = {}, {}, {}
    for _ in range(ROUNDS):
        bare_s = run("none", 1, load)[0]
        for rate in RATES:
            for kind in KINDS:
                spent_s, quarters = run(kind, rate, load)
                cpu_s.setdefault((rate, kind), []).append(spent_s)
                samples.setdefault((rate, kind), []).append(quarters)
                pairs.setdefault((rate, kind), []).append((bare_s, spent_s))
    for rate in RATES:
        for kind in KINDS:
            quarters = [sum(column) for column in zip(*samples[rate, kind])]
            due = rate * sum(cpu_s[rate, kind])
            shares = ", ".join(f"{100 * n / max(1, sum(quarters)):.0f}" for n in quarters)
            print(f"| {name} | {rate} Hz | {'all CPUs' if kind == 'cpus' else 'tasks'} | {sum(quarters)} | {due:.0f} |"
                  f" {100 * sum(quarters) / due:.1f} % | {shares} % | {slower(pairs[rate, kind])} % |", flush=True)
END
