#!/bin/sh
# The cost of unwind tables for many programs: 200 processes that work and sleep in turn.
. "${TOP:?}/tests/root/lib.sh"

echo "## Unwind tables of 200 processes"
echo

cat >turns.py <<'END'
import time
while True:
    sum(range(20000))
    time.sleep(0.1)
END
cat >turns.js <<'END'
setInterval(() => { let x = 0; for (let i = 0; i < 1e5; i++) x += i; return x; }, 100);
END
cat >turns.sh <<'END'
while :; do
	i=0
	while [ $i -lt 200 ]; do i=$((i + 1)); done
	read -t 0.1 line <>fifo
done
END
mkfifo fifo
pids=
trap 'kill $pids 2>/dev/null' EXIT
for _ in $(seq 100); do python3 turns.py & pids="$pids $!"; done
for _ in $(seq 80); do bash turns.sh & pids="$pids $!"; done
for _ in $(seq 20); do
	if node -e 0 2>/dev/null; then node turns.js & else python3 turns.py & fi
	pids="$pids $!"
done
sleep 10
"$LB" record -a -F 99 -d 20 -vv -o tables.pb.gz 2>tables.err
"$LB" annotate --json tables.pb.gz >tables.json
python3 - <<'END'
import json
import re

d = json.load(open("tables.json", encoding="ascii"))
held = next(re.search(r"unwind tables: (.*)", line)[1] for line in open("tables.err", encoding="utf-8", errors="replace")
            if "unwind tables: " in line)
rows = int(re.search(r"(\d+) rows", held)[1])
cost, samples = d["cost"], d["samples"]
print(f"- {held}")
print(f"- rows: {4 * rows / 1e6:.2f} MB; all kernel memory {cost['map_bytes'] / 1e6:.0f} MB,"
      f" the collector {cost['collector_peak_rss_bytes'] / 1e6:.0f} MB")
print(f"- the collector and its workers: {100 * cost['collector_cpu_ns'] / d['duration_ns']:.2f} % of one CPU over"
      f" {d['duration_ns'] / 1e9:.0f} s, naming included")
shares = ", ".join(f"{100 * d['stacks'][of] / samples['count']:.2f} % {of}" for of in ("complete", "guessed", "derived", "no-user"))
print(f"- {samples['count']} samples of {len(d['processes'])} processes; stacks: {shares}")
END
