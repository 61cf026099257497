#!/bin/sh
# The profile's CPU time agrees with the kernel's; and the warning if /proc/stat cannot be read.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
# spent BATCHES: runs that many processes; compares each one's CPU time with the kernel's count
spent() {
	"$LB" record -a -F 999 -o spent.pb.gz 2>spent.err &
	recorder=$!
	wait_until 60 records $recorder || return 1
	python3 -c '
import os, sys
for _ in range(int(sys.argv[2])):
    pid = os.posix_spawn(sys.argv[1], [sys.argv[1], "3"], os.environ)
    usage = os.wait4(pid, 0)[2]
    print(pid, usage.ru_utime + usage.ru_stime)' "$hot" "$1" >spent.used
	kill -INT $recorder
	wait $recorder || return 1
	"$LB" annotate --json spent.pb.gz >spent.json
	profile_has spent.json "sums_close()" "s['lost'] == 0" >&2 || return 1
	python3 - <<'END'
import json
with open("spent.json", encoding="ascii") as f:
    d = json.load(f)
found = {p["pid"]: p["samples_cpu_ns"] / 1e9 for p in d["processes"]}
stolen = d["losses"]["stolen_ns"] / d["duration_ns"] + min(0.02, d["samples"]["missed"] / max(1, d["losses"]["due"]))
with open("spent.used", encoding="ascii") as f:
    for pid, used in map(str.split, f):
        print("share-of-cpu-time", 100 * found.get(int(pid), 0) / float(used), 100, stolen)
END
}
statistic accounting 2 spent
# Long and short processes, threads, system calls, and the whole machine (accounting.py).
accounting() {
	for name in hot threads syscalls periodic shortlived; do
		build $name.c >/dev/null || return 2
	done
	timeout 300 python3 -S "$TOP/tests/root/accounting.py" "$LB" "$WORK/bin" 2 150 >accounting.txt 2>&1 && return 0
	grep -e OUTSIDE -e Error accounting.txt | tr '\n' ';'
	return 1
}
narrow accounting-of-all accounting

# Without /proc/stat idle time is unknown: lineburn warns, and counts no missed ticks.
no_stat() {
	lineburn() {
		# shellcheck disable=SC2016 # for the inner shell
		timeout 60 unshare -m sh -c 'mount -t proc -o subset=pid proc /proc && [ ! -e /proc/stat ] &&
			exec "$0" "$@"' "$LB" "$@"
	}
	"$hot" 1000 >/dev/null &
	no_stat_hot=$!
	no_stat_status=0
	enough 1 no-stat "0.5 5 50" -a || no_stat_status=$?
	kill_own $no_stat_hot
	[ $no_stat_status -eq 0 ] || return 1
	profile_has no-stat.json "s['missed'] == 0 == losses['stolen_ns']" "any('/proc/stat cannot be read' in w for w in d['warnings'])" \
		"sums_close()"
}
if unshare -m mount -t proc -o subset=pid proc /proc 2>/dev/null; then
	check no-proc-stat no_stat
else
	skip no-proc-stat "this kernel mounts no procfs with subset=pid (5.8)"
fi
