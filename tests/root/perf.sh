#!/bin/sh
# The same program recorded by perf: shares of lines agree within 2 points.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
if ! perf record -e cpu-clock -F 999 -o probe.data -- true >/dev/null 2>perf.err; then
	skip perf-agrees "perf cannot record here: $(tail -n 1 perf.err)"
	exit 0
fi
n=$(rounds "$hot" 5.6)
perf record -q -e cpu-clock -F 999 -o perf.data -- "$hot" "$n" 2>perf.err
perf script -i perf.data -F ip,sym,srcline 2>/dev/null >script.txt
record_json ours -F 999 -- "$hot" "$n" || fail perf-agrees "$(tail -n 1 ours.err)"
agrees() {
	python3 - <<'END'
import json
import re
import sys
lines = re.findall(r"hot\.c:(\d+)", open("script.txt", encoding="utf-8").read())
theirs_count = sum(1 for t in open("perf-count", encoding="utf-8") if t.strip())
d = json.load(open("ours.json", encoding="ascii"))
if len(lines) < 3000:
    sys.exit(f"perf has {len(lines)} samples with lines only")
for f in d["files"]:
    for line in f["lines"] if f["path"].endswith("/hot.c") else ():
        mine = 100 * line["self"] / d["samples"]["count"]
        theirs = 100 * lines.count(str(line["line"])) / theirs_count
        if abs(mine - theirs) > 2:
            sys.exit(f"line {line['line']}: {mine:.1f} %, perf says {theirs:.1f} %")
END
}
perf script -i perf.data -F ip 2>/dev/null >perf-count
check perf-agrees agrees
