#!/bin/sh
# Time and memory that a perf map of a million lines costs the collector.
. "${TOP:?}/tests/root/lib.sh"

echo "## A perf map of a million lines"
echo
perfmap=$(build perfmap.c)
python3 - "$LB" "$perfmap" <<'END'
import json
import resource
import subprocess
import sys

lb, perfmap = sys.argv[1:]
print("| map | CPU of the collector | peak memory of the collector or a worker | named |")
print("|---|---|---|---|")
for how, seconds in (("good", 4), ("million", 4)):
    subprocess.run([lb, "run", "-F", "99", "-o", f"{how}.pb.gz", "--", perfmap, str(seconds), how],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    out = subprocess.run([lb, "annotate", "--leaf", "--json", f"{how}.pb.gz"], capture_output=True, check=True)
    d = json.loads(out.stdout)
    named = sum(f["self"] for f in d["functions"] if f["name"] == "jitted_function")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"| {how} | {d['cost']['collector_cpu_ns'] / 1e9:.2f} s | {peak / 1e3:.0f} MB |"
          f" {named} of {d['samples']['count']} |")
END
