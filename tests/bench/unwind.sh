#!/bin/sh
# Complete stacks: their share and their cost, compared with perf record by frame pointers
# and by copies of the stack (DWARF). 999 Hz; a program does the same work in each run.
. "${TOP:?}/tests/root/lib.sh"
RATE=999
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$WORKLOADS/python"

echo "## Whole stacks"
echo
echo "| program | lineburn | frames | ns a sample | ns a frame | written | slower | perf fp | written | slower | perf dwarf | written | slower |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"

gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -o stacks "$WORKLOADS/unwind/stacks.c" -pthread
g++ -O2 -g -fomit-frame-pointer -fno-inline -Wl,--build-id -o stackscc "$WORKLOADS/unwind/stacks.cc"
HOME=${HOME:-$WORK} GOTOOLCHAIN=local go build -o hotgo "$WORKLOADS/hot.go" 2>go.err
rustc -O -g -o hotrs "$WORKLOADS/hot.rs" 2>rust.err
gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -o hotc "$WORKLOADS/hot.c"
cat >deep.sh <<'END'
down() {
	if [ "$1" -gt 0 ]; then down $(($1 - 1)); return; fi
	i=0
	while [ $i -lt 2000 ]; do i=$((i + 1)); done
}
n=$1
while [ "$n" -gt 0 ]; do down 8; n=$((n - 1)); done
END

# A script that writes the CPU seconds of a command to the file "seconds".
cat >within <<'END'
"$@" >/dev/null 2>&1
times >times # not in a pipe: a subshell does not have our children
awk -F '[ms ]+' 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }' times >seconds
END

# by_perf HOW COMMAND...: "whole | written | slower" columns; $plain: seconds without a profiler
by_perf() {
	by=$1
	shift
	if ! perf record -B -N -q --synth=task --no-bpf-event -e cpu-clock -F $RATE --call-graph "$by" -o "$by.data" -- sh within "$@" >/dev/null 2>perf.err; then
		printf ' – | – | – |'
		return
	fi
	printf ' %s | %s | %s |' "$(timeout 120 python3 "$TOP/tests/bench/perf_whole.py" "$by.data" 2>/dev/null || echo "perf aborts")" \
		"$(megabytes "$by.data")" "$(slower)"
	rm -f "$by.data"
}

megabytes() {
	python3 -c 'import os, sys; print(f"{os.path.getsize(sys.argv[1]) / 1e6:.2f} MB")' "$1"
}

slower() {
	python3 -c 'import sys; print(f"{100 * float(sys.argv[1]) / float(sys.argv[2]) - 100:+.1f} %")' "$(cat seconds)" "$plain"
}

# row NAME COMMAND...
row() {
	row_name=$1
	shift
	sh within "$@"
	plain=$(cat seconds)
	"$LB" run -F $RATE --max-frames 512 -o row.pb.gz -- sh within "$@" >row.txt 2>row.err || { tail -n 1 row.err >&2; return; }
	"$LB" annotate --json row.pb.gz >row.json
	printf '| %s | %s | %s | %s |' "$row_name" "$(python3 - <<'END'
import json, sys
sys.path.insert(0, f"{__import__('os').environ['TOP']}/tests/root")
import pprof_file
d = json.load(open("row.json", encoding="ascii"))
count, stacks = d["samples"]["count"], d["stacks"]
frames = sum(len(stack) * n for stack, n, _ in pprof_file.stacks("row.pb.gz")) / count
ns = d["cost"]["bpf_ns_per_sample"]
print(f"{100 * stacks['complete'] / count:.1f} % | {frames:.0f} | {ns} | {ns / frames:.0f}")
END
)" "$(megabytes row.pb.gz)" "$(slower)"
	by_perf fp "$@"
	by_perf dwarf "$@"
	echo
}

row "C, 80 deep" ./stacks deep 1500
row "C++, 60 deep" ./stackscc deep 1500
row "C, 2 deep" ./hotc 25
for version in 3.9 3.10 3.11 3.12 3.13; do
	for python in /usr/bin/python$version "${PYENV_ROOT:-${HOME:-/root}/.pyenv}/versions/$version".*/bin/python3; do
		[ ! -x "$python" ] || row "CPython $("$python" -c 'import platform; print(platform.python_version())')" "$python" -c '
from clocked import spin, timed
for _ in range(900): timed(spin, 100000)'
	done
done
if has_numba new numba >/dev/null; then
	row "Numba" "$PYTHON" "$WORKLOADS/python/dither.py" slow 12
	export PYTHONPATH="$WORKLOADS/python"
fi
row bash bash deep.sh 500
row "dash" dash deep.sh 1500
! node -e 0 2>/dev/null || row Node node "$WORKLOADS/hot.js" 100
[ ! -x hotgo ] || row Go ./hotgo 25
[ ! -x hotrs ] || row Rust ./hotrs 25
echo
echo "lineburn, perf: share of samples whose outermost frame is the start of the thread. slower: CPU time of the program, compared"
echo "with its time without a profiler. written: size of the file. perf has only frames of machine code."
