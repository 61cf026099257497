#!/bin/sh
# CPU time of the profile is CPU time of the kernel: of processes, short ones, the machine.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-accounting.sh"

# Eight times as far off as tests/stats/accounting.sh allows.
figure accounting accounting 1 60

# Without /proc/stat nobody knows how long CPUs were idle: that is said, and nothing is missed.
no_stat() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c 'mount -t proc -o subset=pid proc /proc && [ ! -e /proc/stat ] &&
		exec "$0" record -a -F 499 -d 1.2 -o no-stat.pb.gz' "$LB" >no-stat.out 2>no-stat.err ||
		{ tail -n 1 no-stat.err; return 1; }
	"$LB" annotate --json no-stat.pb.gz >no-stat.json
	profile_has no-stat.json "s['missed'] == 0 == losses['stolen_ns']" "any('/proc/stat cannot be read' in w for w in d['warnings'])" \
		"sums_close()"
}
if unshare -m mount -t proc -o subset=pid proc /proc 2>/dev/null; then
	check no-proc-stat no_stat
else
	skip no-proc-stat "this kernel mounts no procfs with subset=pid (5.8)"
fi
