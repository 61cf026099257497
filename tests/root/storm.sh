#!/bin/sh
# A thousand processes a second, each of which lives for less than a millisecond: each loss is
# counted, memory is bounded, and at least half of the samples have a name (nine of ten in the
# longer storm of make stats), unless the machine stood still and the storm caught up in a burst.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"

recording=
trap 'kill_own $recording' EXIT

if ! { storm=$(build storm.c) && brief=$(build brief.c -static); }; then
	fail storm "cannot build its programs"
	exit 0
fi
"$LB" record -a -F 99 -o storm.pb.gz >out 2>err &
recording=$!
storm_ran=0
"$storm" 1000 "$(longer 4 30)" "$brief" 50 >storm.txt 2>storm.err || storm_ran=1
# Peak memory of the recorder and its workers, while they run.
for pid in $recording $(cat "/proc/$recording/task/$recording/children"); do
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
done >peak.txt
kill -INT $recording
storm_status=0
wait $recording || storm_status=$?
recording=
if [ $storm_ran -ne 0 ] || [ $storm_status -ne 0 ]; then
	fail storm "$(cat storm.err; tail -n 1 err)"
	exit 0
fi
"$LB" annotate --json storm.pb.gz >storm.json
"$LB" report storm.pb.gz >storm.out

# of_storm HOW ARGUMENT...: see storm.py. Samples from the exec, before the program is mapped, have no name.
of_storm() {
	python3 -S "$TOP/tests/root/storm.py" "$@"
}
if awk '{ exit !($1 / $2 > 900) }' storm.txt && profile_has storm.json "losses['stolen_ns'] < 1e8" >/dev/null 2>&1; then
	figure storm-named of_storm named storm.pb.gz "$storm" "$brief" 0.5
else
	echo "inconclusive storm-named: the machine was late"
	check storm-some-named of_storm named storm.pb.gz "$storm" "$brief" 0.01
fi
narrow storm-named-most of_storm named storm.pb.gz "$storm" "$brief" 0.9
figure storm-unnamed of_storm told storm.pb.gz "$storm" "$brief" storm.out
# Also without losses: the report then has the number 0.
figure storm-losses of_storm losses storm.json storm.out
check storm-sums profile_has storm.json "sums_close()"
storm_memory() {
	awk -v ran="$(cat storm.txt)" '{ sum += $1 } END {
		split(ran, r); printf "%.0f MB, %d processes in %.1f s\n", sum / 1024, r[1], r[2]
		exit NR < 2 || sum < 1024 || sum > 256 * 1024 }' peak.txt
}
figure storm-memory storm_memory
