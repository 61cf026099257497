#!/bin/sh
# Soak test: records many windows of 1 s while programs come and go: storms of short processes,
# programs in new files that are then removed, Python (and Numba, if build/venv has it), Node
# with a perf map, cgroups. Prints memory and descriptors of the recorder and its workers over
# time, by kind, and the losses.
# usage: tests/bench/windows.sh BIN [WINDOWS]   (default 600)
# Fails if the peak of the last fifth exceeds that of the second fifth by more than 10 % + 8 MB
# of memory, or 10 % + 40 descriptors.
set -eu
LB=$(realpath "${1:?usage: windows.sh BIN [WINDOWS]}")
windows=${2:-600}
top=$(cd "$(dirname "$0")/../.." && pwd)
numba=$top/build/venv/numba-new/bin/python
cgroups=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
work=$(mktemp -d /tmp/lineburn-soak.XXXXXX)
cd "$work"

storm() {
	while [ -e running ]; do sh -c "sleep 0.005; :"; done
}

# Runs new files, processes and cgroups for about a second; $1: number of the turn.
turn() {
	for k in 1 2 3 4 5; do
		cp hot "hot.$1.$k" && "./hot.$1.$k" 3 >out
		rm -f "hot.$1.$k"
	done
	python3 -S -c 'sum(i * i for i in range(200000))'
	[ $(($1 % 5)) -ne 0 ] || [ ! -x "$numba" ] || "$numba" -c '
import numba
f = numba.njit(lambda n: sum([i * i for i in range(n)]))
f(100000)' >out 2>&1 || :
	if command -v node >out; then
		node --perf-basic-prof -e 'let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7' &
		wait $! || :
		rm -f /tmp/perf-$!.map
	fi
	if [ -n "$cgroups" ] && mkdir "$cgroups/lineburn-soak.$$" 2>out; then
		sh -c 'echo $$ >"$1/cgroup.procs" && exec ./hot 3' sh "$cgroups/lineburn-soak.$$" >out || :
		rmdir "$cgroups/lineburn-soak.$$" 2>out || :
	fi
}

change() {
	n=0
	while [ -e running ]; do
		n=$((n + 1))
		turn $n
		sleep 0.2
	done
}

# Sum over the recorder and its workers: a count of descriptors, or kilobytes of a field.
all() {
	for pid in $(family "$recorder"); do
		case $1 in
		fds) find "/proc/$pid/fd" -mindepth 1 2>out | wc -l ;;
		maps) find "/proc/$pid/fd" -mindepth 1 -lname 'anon_inode:bpf-map' 2>out | wc -l ;;
		files) find "/proc/$pid/fd" -mindepth 1 -lname '/*' 2>out | wc -l ;;
		Pss) awk '$1 == "Pss:" {print $2}' "/proc/$pid/smaps_rollup" 2>out || : ;;
		*) awk -v field="$1:" '$1 == field {print $2}' "/proc/$pid/status" 2>out || : ;;
		esac
	done | awk '{sum += $1} END {print sum + 0}'
}

# Kernel memory of the recorder's maps.
map_kilobytes() {
	for info in /proc/"$recorder"/fdinfo/*; do
		awk '$1 == "memlock:" {print $2}' "$info" 2>out || :
	done | awk '{sum += $1} END {printf "%d\n", sum / 1024}'
}

gcc -O2 -g -o hot "$top/tests/workloads/hot.c" -pthread -ldl
: >running
storm &
change >load.out 2>&1 &
"$LB" record -a -F 99 --window 1s --keep 10 -o soak.pb.gz 2>err &
recorder=$!
trap 'rm -f running; kill $recorder 2>/dev/null || :; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
begin=$(date +%s)
echo "window  VmRSS kB  RssAnon kB  Pss kB  kernel maps kB  descriptors  of them bpf maps  files"
window=0
while [ "$window" -lt "$windows" ]; do
	step=$((windows / 30 > 0 ? windows / 30 : 1))
	[ "$window" -gt 0 ] || step=10
	sleep "$step"
	window=$(($(date +%s) - begin)) # reading these files takes time, too
	printf '%6d %9d %11d %7d %15d %12d %16d %6d\n' "$window" "$(all VmRSS)" "$(all RssAnon)" "$(all Pss)" \
		"$(map_kilobytes)" "$(all fds)" "$(all maps)" "$(all files)" | tee -a table
done
kill "$recorder"
wait "$recorder"
cat err
"$LB" report --json "$(find . -name 'soak.2*' | sort | tail -n 1)" | python3 -c '
import json, sys
print({k: v for k, v in json.load(sys.stdin)["samples"].items() if k in ("count", "lost", "missed")})'
awk '
	{ at[NR] = $1; anon[NR] = $3; maps[NR] = $5; fds[NR] = $6 }
	function most(of, first, last,   i, m) { for (i = first; i <= last; i++) m = of[i] > m ? of[i] : m; return m }
	# Slope of the regression line, per 100 windows.
	function slope(of, first, last,   i, n, x, y, xy, xx) {
		for (i = first; i <= last; i++) { n++; x += at[i]; y += of[i]; xy += at[i] * of[i]; xx += at[i] * at[i] }
		return n * xx == x * x ? 0 : 100 * (n * xy - x * y) / (n * xx - x * x)
	}
	END {
		fifth = int(NR / 5); half = int(NR / 2); if (!fifth) exit 1
		a = most(anon, fifth + 1, 2 * fifth); b = most(anon, NR - fifth + 1, NR)
		c = most(fds, fifth + 1, 2 * fifth); d = most(fds, NR - fifth + 1, NR)
		printf "most of the second fifth: %d kB, %d descriptors; of the last: %d kB, %d\n", a, c, b, d
		printf "slope of the second half, of 100 windows: %.0f kB, %.0f kB of kernel maps, %.1f descriptors\n", \
			slope(anon, half, NR), slope(maps, half, NR), slope(fds, half, NR)
		exit b > a * 1.1 + 8192 || d > c * 1.1 + 40
	}' table
