#!/bin/sh
# A thousand processes a second for half a minute, each gone within a millisecond: nothing is
# lost in silence, memory is bounded, and what can be named is.
. "${TOP:?}/tests/root/lib.sh"

if ! { storm=$(build storm.c) && brief=$(build brief.c -static); }; then
	fail storm "cannot build its programs"
	exit
fi
recording=
trap '[ -z "$recording" ] || kill "$recording" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

"$LB" record -a -F 99 -o storm.pb.gz >out 2>err &
recording=$!
ran=0
"$storm" 1000 30 "$brief" 50 >storm.txt 2>storm.err || ran=1
# As long as they live: the recording and its workers.
for pid in $recording $(cat "/proc/$recording/task/$recording/children"); do
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
done >peak.txt
kill -INT $recording
status=0
wait $recording || status=$?
recording=
if [ $ran -ne 0 ] || [ $status -ne 0 ]; then
	fail storm "$(cat storm.err; tail -n 1 err)"
	exit
fi
"$LB" annotate --json storm.pb.gz >storm.json
"$LB" report storm.pb.gz >storm.out
# Not all of a life can be named: its first part is exec's, before anything is mapped.
figure storm-named python3 "$TOP/tests/root/storm.py" named storm.pb.gz "$brief" 0.9
figure storm-unnamed python3 "$TOP/tests/root/storm.py" told storm.pb.gz "$brief" storm.out
figure storm-losses python3 "$TOP/tests/root/storm.py" losses storm.json storm.out
check storm-sums profile_has storm.json "sums_close()"
storm_memory() {
	awk -v ran="$(cat storm.txt)" '{ sum += $1 } END {
		split(ran, r); printf "%.0f MB, %d processes in %.1f s\n", sum / 1024, r[1], r[2]
		exit sum > 256 * 1024 }' peak.txt
}
figure storm-memory storm_memory
