#!/bin/sh
# A storm of processes shares one CPU with a steady program, while all other CPUs are busy. Not in the check.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-containers.sh"

if [ -z "$v2" ]; then
	skip storm-shares "no cgroup2 is mounted"
	exit 0
fi
hot=$(build hot.c)

# Ticks wake lineburn, mostly those of the storm's processes. The other programs keep lineburn's
# own work from running in step with these ticks.
cpus='import os; cpus = sorted(os.sched_getaffinity(0))'
cpu=$(python3 -c "$cpus; print(cpus[-1])")
others=$(python3 -c "$cpus; print(*cpus[:-1], sep=',')")
if [ -z "$others" ]; then
	skip storm-shares "one CPU"
	exit 0
fi
steady=$(cgroup "$v2" steady)
storm=$(cgroup "$v2" storm)
busy=$(cgroup "$v2" busy)
for _ in $(seq $((3 * ($(nproc) - 1)))); do
	in_cgroups "$busy" nice -n -10 taskset -c "$others" "$hot" 100000
done
in_cgroups "$steady" nice -n -10 taskset -c "$cpu" "$hot" 100000
in_cgroups "$storm" nice -n -10 taskset -c "$cpu" sh -c 'while :; do /bin/true; done'
watched storm.points "steady=$steady/cpu.stat" "storm=$storm/cpu.stat" -- \
	timeout 60 nice -n -16 "$LB" record -a -F 999 -d 12 -o storm.pb.gz 2>storm.err ||
	{ fail storm-shares "$(tail -n 1 storm.err)"; exit 0; }
# shellcheck disable=SC2086 # a list of numbers
kill -9 $containers_pids 2>/dev/null
"$LB" report --json --by cgroup storm.pb.gz >storm-by.json
keys_behind / storm-by.json
narrow storm-shares usage_agrees storm.points storm-by.json key
