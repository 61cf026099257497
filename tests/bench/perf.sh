#!/bin/sh
# Records one program with perf record and with lineburn, and compares the shares of its lines.
. "${TOP:?}/tests/root/lib.sh"

echo "## Beside perf record"
echo
hot=$(build hot.c)
n=$(rounds "$hot" 6)
if ! perf record -B -N -q -e cpu-clock -F 999 -o perf.data -- "$hot" "$n" 2>perf.err; then
	echo "perf cannot record here: $(tail -n 1 perf.err)"
	exit 0
fi
python3 "$TOP/tests/root/perf_lines.py" perf.data "$hot" >theirs.json
record_json ours -F 999 -- "$hot" "$n"
python3 - <<'END'
import json
d = json.load(open("ours.json", encoding="ascii"))
theirs = json.load(open("theirs.json", encoding="ascii"))
print("| line | lineburn | perf record | difference |")
print("|---|---|---|---|")
for f in d["files"]:
    for line in f["lines"] if f["path"].endswith("/hot.c") else ():
        mine = 100 * line["self"] / d["samples"]["count"]
        other = 100 * theirs["lines"].get(f"hot.c:{line['line']}", 0) / theirs["samples"]
        if mine >= 1 or other >= 1:
            print(f"| hot.c:{line['line']} | {mine:.1f} % | {other:.1f} % | {mine - other:+.1f} |")
print(f"| samples | {d['samples']['count']} | {theirs['samples']} | |")
END
