# shellcheck shell=sh
# For the scripts that record a storm of processes, each gone within a millisecond. Beside
# lib.sh, whose caller it is.

recording=
trap '[ -z "$recording" ] || kill "$recording" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

# storm SECONDS: of a thousand processes a second. $brief is their program; storm.pb.gz,
# storm.json and storm.out are what was recorded, storm.txt what ran, peak.txt the memory.
storm() {
	if ! { storm=$(build storm.c) && brief=$(build brief.c -static); }; then
		fail storm "cannot build its programs"
		return 1
	fi
	"$LB" record -a -F 99 -o storm.pb.gz >out 2>err &
	recording=$!
	storm_ran=0
	"$storm" 1000 "$1" "$brief" 50 >storm.txt 2>storm.err || storm_ran=1
	# As long as they live: the recording and its workers.
	for pid in $recording $(cat "/proc/$recording/task/$recording/children"); do
		sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
	done >peak.txt
	kill -INT $recording
	storm_status=0
	wait $recording || storm_status=$?
	recording=
	if [ $storm_ran -ne 0 ] || [ $storm_status -ne 0 ]; then
		fail storm "$(cat storm.err; tail -n 1 err)"
		return 1
	fi
	"$LB" annotate --json storm.pb.gz >storm.json
	"$LB" report storm.pb.gz >storm.out
}

# Not all of a life can be named: its first part is exec's, before anything is mapped.
# storm_named SHARE
storm_named() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/storm.py" named storm.pb.gz "$brief" "$1"
}

# What is exact, however long it blew. Nothing can be told of losses where there were none: their
# sum is.
storm_checks() {
	figure storm-unnamed env PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/storm.py" told storm.pb.gz "$brief" storm.out
	figure storm-losses env PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/storm.py" losses storm.json storm.out
	check storm-sums profile_has storm.json "sums_close()"
	figure storm-memory storm_memory
}
storm_memory() {
	awk -v ran="$(cat storm.txt)" '{ sum += $1 } END {
		split(ran, r); printf "%.0f MB, %d processes in %.1f s\n", sum / 1024, r[1], r[2]
		exit sum > 256 * 1024 }' peak.txt
}
