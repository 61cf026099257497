#!/bin/sh
# How much slower a program is while it is sampled: paired, 7 rounds, medians.
. "${TOP:?}/tests/root/lib.sh"

echo "## Slowdown of the program"
echo
hot=$(build hot.c)
python3 - "$LB" "$hot" "$(rounds "$hot" 3)" <<'END'
import statistics
import subprocess
import sys

lb, hot, n = sys.argv[1:]
timer = ("import subprocess, sys, time; t = time.monotonic(); subprocess.run(sys.argv[2:], check=True); "
         "open(sys.argv[1], 'w').write(str(time.monotonic() - t))")


def seconds(prefix):
    subprocess.run(prefix + [sys.executable, "-c", timer, "seconds", hot, n], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return float(open("seconds", encoding="ascii").read())


rates = (99, 999)
ratios = {rate: [] for rate in rates}
noise = []
for _ in range(7):
    bare = seconds([])
    for rate in rates:
        ratios[rate].append(seconds([lb, "run", "-F", str(rate), "-o", "slow.pb.gz", "--"]) / bare)
    noise.append(seconds([]) / bare)
print("| | median of 7 | lowest | highest |")
print("|---|---|---|---|")
for name, row in [(f"{rate} Hz", ratios[rate]) for rate in rates] + [("not sampled, again", noise)]:
    print(f"| {name} | {100 * (statistics.median(row) - 1):+.2f} % | {100 * (min(row) - 1):+.2f} % |"
          f" {100 * (max(row) - 1):+.2f} % |")
END
