#!/bin/sh
# Records a program with perf, too: the shares of lines agree within 2 points. Not in the check.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
# -B: perf 6.1 aborts over the build id of newer kernels.
if ! perf record -B -N -e cpu-clock -F 999 -o probe.data -- true >/dev/null 2>perf.err; then
	skip perf-agrees "perf cannot record here: $(tail -n 1 perf.err)"
	exit 0
fi
n=$(rounds "$hot" 5.6)
perf record -B -N -q -e cpu-clock -F 999 -o perf.data -- "$hot" "$n" 2>perf.err
record_json ours -F 999 -- "$hot" "$n" || fail perf-agrees "$(tail -n 1 ours.err)"
agrees() {
	python3 -S "$TOP/tests/root/perf_lines.py" perf.data "$hot" >theirs.json || return 1
	python3 - <<'END'
import json
import sys
d = json.load(open("ours.json", encoding="ascii"))
theirs = json.load(open("theirs.json", encoding="ascii"))
if sum(theirs["lines"].values()) < 4000 or d["samples"]["count"] < 4000:
    sys.exit(f"too few samples: {d['samples']['count']}, perf has {theirs}")
ours = {f"hot.c:{line['line']}": line["self"] for f in d["files"] if f["path"].endswith("/hot.c") for line in f["lines"]}
both = {name for name in ours.keys() | theirs["lines"] if name.startswith("hot.c:")}
if len(both) < 3:
    sys.exit(f"hot.c has three hot lines, found {both}")
for name in both:
    mine = 100 * ours.get(name, 0) / d["samples"]["count"]
    other = 100 * theirs["lines"].get(name, 0) / theirs["samples"]
    if abs(mine - other) > 2:
        sys.exit(f"line {name}: {mine:.1f} %, perf says {other:.1f} %")
END
}
narrow perf-agrees agrees
