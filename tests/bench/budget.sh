#!/bin/sh
# Does sampling keep to --budget? All CPUs walk deep stacks at the highest rate.
# BUDGET_SECONDS: length of each run (30).
. "${TOP:?}/tests/root/lib.sh"

echo "## Keeping to --budget, -F 9999"
echo
deep=$(build unwind/stacks.c "-O2 -fomit-frame-pointer -fno-builtin") || exit 1
stats=/proc/sys/kernel/bpf_stats_enabled
before=$(cat $stats)
trap 'echo "$before" >$stats' EXIT
echo 1 >$stats
python3 - "$LB" "$deep" "${BUDGET_SECONDS:-30}" <<'END'
import json
import os
import statistics
import subprocess
import sys
import time

lb, deep, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
cpus = os.cpu_count()
busy = [subprocess.Popen([deep, "deep", "100000000"], stdout=subprocess.DEVNULL) for _ in range(cpus)]


def run_ns(pid):
    """(run time in ns, number of runs) of the sampling program, by the kernel's statistics."""
    for entry in os.scandir(f"/proc/{pid}/fdinfo"):
        try:
            with open(entry.path, encoding="ascii") as f:
                fields = dict(line.split(":", 1) for line in f if ":" in line)
        except OSError:
            continue
        if fields.get("prog_type", "").strip() == "7":  # BPF_PROG_TYPE_PERF_EVENT
            return int(fields["run_time_ns"]), int(fields["run_cnt"])
    raise SystemExit("no program that samples")


def measured(options):
    recording = subprocess.Popen([lb, "record", "-a", "-F", "9999", *options, "-d", str(seconds + 6),
                                  "-o", "budget.pb.gz"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    took, ends = [], [(time.monotonic(), *run_ns(recording.pid))]
    for _ in range(seconds):
        time.sleep(1)
        ends.append((time.monotonic(), *run_ns(recording.pid)))
    recording.wait()
    with subprocess.Popen([lb, "report", "--json", "budget.pb.gz"], stdout=subprocess.PIPE) as p:
        d = json.load(p.stdout)
    tick = d["budget"]["tick_ns"] if "budget" in d else 0
    for (t0, ns0, n0), (t1, ns1, n1) in zip(ends, ends[1:]):
        took.append(100 * (ns1 - ns0 + (n1 - n0) * tick) / 1e9 / (t1 - t0) / cpus)
    rate = (ends[-1][2] - ends[0][2]) / (ends[-1][0] - ends[0][0]) / cpus
    return took, rate, tick, d


print("| budget | cost, mean | highest second after the third | ticks a second and CPU | of an interrupt |")
print("|---|---|---|---|---|")
try:
    for budget in ("0.1%", "0.5%", "1%", "2%", "5%"):
        took, rate, tick, d = measured(["--budget", budget])
        print(f"| {budget} | {statistics.mean(took):.2f} % | {max(took[3:]):.2f} % | {rate:.0f} | {tick / 1000:.1f} us |",
              flush=True)
    took, rate, tick, d = measured([])
    print(f"| none | {statistics.mean(took):.2f} % in the program alone | {max(took[3:]):.2f} % | {rate:.0f} | |")
finally:
    for process in busy:
        process.kill()
END
