#!/bin/sh
# The root layers on a machine that has too much to do: tests/unit/collect/sampler.c and tests/root
# with one and a half CPUs' time (cgroup cpu.max), beside "stress". Root; a run takes up to 15 minutes.
# usage: tools/loaded.sh [RUNS]   (default 1)
# Last line: "loaded: N passed, N failed", in runs.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh
runs=${1:-1}
command -v stress >/dev/null || {
	echo "tools/loaded.sh: there is no \"stress\" here: run tools/setup.sh nightly" >&2
	exit 2
}

# A group of the controller "cpu": of version 1 where it is mounted, else of version 2.
v1=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { print $2; exit }' /proc/mounts)
group=${v1:-/sys/fs/cgroup}/lineburn-loaded
end_load() {
	[ -z "${load:-}" ] || kill -- "-$load"
	# Whoever is still there goes back to the group that this shell is in.
	while read -r pid; do
		echo "$pid" >"$(dirname "$group")/cgroup.procs" || true
	done <"$group/cgroup.procs" 2>/dev/null
	rmdir "$group"
}
mkdir -p "$group"
trap end_load EXIT
trap 'exit 130' INT TERM
# The quota is to be what limits it, not its share beside "stress".
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

make -s -j"$(nproc)" DEVELOPER=1
passed=0
for run in $(seq "$runs"); do
	start=$(date +%s)
	if (
		# Else it would not be loaded.
		sh -c 'echo $PPID' >"$group/cgroup.procs" && grep -q /lineburn-loaded /proc/self/cgroup && kill -0 "$load" &&
			make -s DEVELOPER=1 unit UNIT_SRCS=tests/unit/collect/sampler.c && tests/root/run.sh ./lineburn
	); then
		passed=$((passed + 1))
	fi
	echo "== run $run: $(($(date +%s) - start)) s, $passed of $run passed"
done
give_back
echo "loaded: $passed passed, $((runs - passed)) failed"
[ "$passed" -eq "$runs" ]
