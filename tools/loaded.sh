#!/bin/sh
# Tests on an overloaded machine: tests/unit/collect/sampler.c and tests/root run beside "stress", with
# the time of one and a half CPUs (cgroup cpu.max). Root; a run takes up to 15 minutes.
# usage: tools/loaded.sh [RUNS]   (default 1)
# build/loaded/RUN keeps the files of scripts that failed.
# Last line: "loaded: N passed, N failed" (runs).
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh
runs=${1:-1}
command -v stress >/dev/null || {
	echo "tools/loaded.sh: there is no \"stress\" here: run tools/setup.sh nightly" >&2
	exit 2
}

# A cgroup with the cpu controller: v1 if it is mounted, otherwise v2.
v1=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { print $2; exit }' /proc/mounts)
group=${v1:-/sys/fs/cgroup}/lineburn-loaded
end_load() {
	[ -z "${load:-}" ] || kill -- "-$load"
	# Move the remaining processes to the parent group.
	while read -r pid; do
		echo "$pid" >"$(dirname "$group")/cgroup.procs" || true
	done <"$group/cgroup.procs" 2>/dev/null
	rmdir "$group"
}
mkdir -p "$group"
trap end_load EXIT
trap 'exit 130' INT TERM
# The quota must limit the tests, not their share beside "stress".
if [ -n "$v1" ]; then
	echo 100000 >"$group/cpu.cfs_period_us"
	echo 150000 >"$group/cpu.cfs_quota_us"
	echo 8192 >"$group/cpu.shares"
else
	echo "150000 100000" >"$group/cpu.max"
	echo 800 >"$group/cpu.weight"
fi
setsid stress --quiet --cpu "$(nproc)" --io 1 --vm 1 --vm-bytes 64M --vm-hang 1 &
load=$!

make -s -j"$(nproc)" DEVELOPER=1 all build/tests/root/pprof-rules
rm -rf build/loaded
passed=0
for run in $(seq "$runs"); do
	start=$(date +%s)
	if (
		# Make sure that this shell is in the group, and that "stress" runs.
		sh -c 'echo $PPID' >"$group/cgroup.procs" && grep -q /lineburn-loaded /proc/self/cgroup && kill -0 "$load" &&
			make -s DEVELOPER=1 unit UNIT_SRCS=tests/unit/collect/sampler.c &&
			LB_KEEP=$PWD/build/loaded/$run tests/root/run.sh ./lineburn
	); then
		passed=$((passed + 1))
	fi
	echo "== run $run: $(($(date +%s) - start)) s, $passed of $run passed"
done
give_back
echo "loaded: $passed passed, $((runs - passed)) failed"
[ "$passed" -eq "$runs" ]
