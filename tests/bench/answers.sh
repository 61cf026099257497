#!/bin/sh
# Known answers: shares of lines of programs whose lines do work in the ratios 5:3:2 and 3:1.
. "${TOP:?}/tests/root/lib.sh"

echo "## Known answers"
echo
echo "| program | rate | line | expected | measured | samples | lost | missed |"
echo "|---|---|---|---|---|---|---|---|"

# rows SOURCE RATE MEMBER MARKER=PERCENT...
rows() {
	python3 - "$TOP/tests/root/profile.py" "$WORKLOADS" answers.json "$@" <<'END'
import sys
path, workloads, json_path, source, rate, member, *wanted = sys.argv[1:]
sys.argv = [path, workloads, json_path]
ask = {}
exec(compile(open(path, encoding="utf-8").read(), path, "exec"), ask)
s = ask["s"]
for pair in wanted:
    marker, expected = pair.split("=")
    share = ask["percent"](ask["counts"](f"{source} {marker}", member))
    print(f"| {source} | {rate} Hz | {marker} ({member}) | {expected} % | {share:.1f} % | {s['count']} |"
          f" {s['lost']} | {100 * s['missed'] / max(1, ask['losses']['due']):.2f} % |")
END
}

# program SOURCE RATE MEMBER MARKERS -- COMMAND...
program() {
	source=$1
	rate=$2
	member=$3
	markers=$4
	shift 5
	record_json answers -F "$rate" -- "$@"
	# shellcheck disable=SC2086 # a list
	rows "$source" "$rate" "$member" $markers
	rm -f jit-*.dump
}

hot=$(build hot.c)
n=$(rounds "$hot" 6)
three="five=50 three=30 two=20"
for rate in 99 999 9999; do
	program hot.c $rate self "$three" -- "$hot" "$n"
done
inline=$(build inline.c)
program inline.c 999 total "three=75 one=25" -- "$inline" "$(rounds "$inline" 6)"
g++ -O2 -g -fno-omit-frame-pointer -o hotcc "$WORKLOADS/hot.cc" 2>/dev/null &&
	program hot.cc 999 self "$three" -- ./hotcc "$(rounds ./hotcc 6)"
rustc -O -g -C force-frame-pointers=yes -o hotrs "$WORKLOADS/hot.rs" 2>/dev/null &&
	program hot.rs 999 total "$three" -- ./hotrs "$(rounds ./hotrs 6)"
HOME=${HOME:-$WORK} GOTOOLCHAIN=local go build -o hotgo "$WORKLOADS/hot.go" 2>/dev/null &&
	program hot.go 999 self "$three" -- ./hotgo "$(rounds ./hotgo 6)"
node -e 0 2>/dev/null &&
	program hot.js 999 self "$three" -- node --perf-prof "$WORKLOADS/hot.js" 45 hot.js.truth &&
	echo "(hot.js measured itself, in percent: $(cat hot.js.truth))"
true
