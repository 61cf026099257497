# shellcheck shell=sh
# For the scripts of tests/root, which run.sh starts in a folder of their own.
# LB: the program under test; TOP: the source tree; WORK: for all scripts.
: "${LB:?started by run.sh}" "${TOP:?}" "${WORK:?}"
WORKLOADS=$TOP/tests/workloads
C_FLAGS="-O2 -g -fno-omit-frame-pointer"

pass() {
	echo "ok $1"
}

fail() {
	echo "not ok $1: $2"
}

skip() {
	echo "skip $1: $2"
}

# check NAME COMMAND...: passes if the command does; else its last line is the reason.
check() {
	check_name=$1
	shift
	if check_said=$("$@" 2>&1); then
		pass "$check_name"
	else
		fail "$check_name" "$(printf '%s' "$check_said" | tail -n 1 | cut -c1-900)"
	fi
}

# figure NAME COMMAND...: as check; what the command said last is told when it passes, too.
figure() {
	figure_name=$1
	shift
	if figure_said=$("$@" 2>&1); then
		pass "$figure_name: $(printf '%s' "$figure_said" | tail -n 1 | cut -c1-900)"
	else
		fail "$figure_name" "$(printf '%s' "$figure_said" | tail -n 1 | cut -c1-900)"
	fi
}

# bound WIDE NARROW: prints WIDE in tools/check.sh, which a busy machine must not fail, and
# NARROW under "make stats". The Python programs multiply their bounds by WIDER.
bound() {
	if [ "${WIDER:-1}" -gt 1 ]; then
		echo "$1"
	else
		echo "$2"
	fi
}

# statistic NAME COMMAND...: as figure, of what the noise of the machine can break. Under "make
# stats" a failure is noise: its script runs once more (run.sh). Status 2: it could not be
# measured at all, which is no noise.
statistic() {
	statistic_name=$1
	shift
	statistic_status=0
	statistic_said=$("$@" 2>&1) || statistic_status=$?
	statistic_said=$(printf '%s' "$statistic_said" | tail -n 1 | cut -c1-900)
	if [ $statistic_status -eq 0 ]; then
		pass "$statistic_name${statistic_said:+: $statistic_said}"
	elif [ $statistic_status -eq 1 ] && [ "${WIDER:-1}" -eq 1 ]; then
		echo "noise $statistic_name: $statistic_said"
	else
		fail "$statistic_name" "$statistic_said"
	fi
}

# whole NAME [SAMPLES]: at most 0.5 % of the samples of NAME.json are without their
# outermost frames; and at most so many more (default 300, a third of a second of a machine
# that has much else to do), because unwind tables are made when code is first met. None is
# lost. In the check the machine may have let the tables wait for half of the recording.
whole() {
	profile_has "$1.json" \
		"note('making tables', d['stacks']['no-mapping'] + d['stacks']['no-table']) <= $(bound 0.5 0.005) * s['count'] + ${2:-300}" \
		"note('otherwise incomplete', s['incomplete_stacks'] - d['stacks']['no-mapping'] - d['stacks']['no-table']) <= 0.005 * note('of', s['count']) + 1" \
		"s['count'] >= $(bound 20 100)" "s['lost'] == 0" "sums_close()"
}

# steady NAME PID: as whole, of a process that has been running for a while
steady() {
	steady_status=0
	timeout 60 "$LB" record -F 999 --max-frames 512 -d 1.2 -p "$2" -o "$1.pb.gz" >"$1.out" 2>"$1.err" ||
		steady_status=$?
	note_crash "$1" $steady_status
	[ $steady_status -eq 0 ] || { tail -n 1 "$1.err"; return 2; }
	"$LB" annotate --json "$1.pb.gz" >"$1.json" && whole "$1"
}

# stacks_have NAME EXPRESSION...: see stacks.py
stacks_have() {
	stacks_name=$1
	shift
	PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/stacks.py" "$stacks_name.pb.gz" "$@"
}

# build WORKLOAD.c [FLAGS]: prints the path of the program, which is built once.
build() {
	built=$WORK/bin/$(basename "$1" .c)
	if [ ! -e "$built" ]; then
		# Whole at once: another script may want it now.
		# shellcheck disable=SC2086 # a list of flags
		gcc $C_FLAGS -o "$built.$$" "$WORKLOADS/$1" ${2:-} -pthread -ldl && mv "$built.$$" "$built" || return 1
	fi
	echo "$built"
}

# profile_has JSON EXPRESSION...: see profile.py
profile_has() {
	python3 "$TOP/tests/root/profile.py" "$WORKLOADS" "$@"
}

# note_crash NAME STATUS: a hang, an assertion and a crash fail the script, whatever is said of
# the test, and are never run again (run.sh).
note_crash() {
	case $2 in
	124 | 132 | 134 | 135 | 136 | 139) echo "not ok $1: ended with status $2: $(tail -n 1 "$1.err")" >>"$CRASHES" ;;
	esac
}

# record_json NAME RUN_OPTIONS -- CMD...: "run", then NAME.pb.gz and NAME.json
record_json() {
	record_name=$1
	shift
	record_status=0
	timeout 120 "$LB" run -o "$record_name.pb.gz" "$@" >"$record_name.txt" 2>"$record_name.err" ||
		record_status=$?
	note_crash "$record_name" $record_status
	"$LB" annotate --json "$record_name.pb.gz" >"$record_name.json" 2>>"$record_name.err"
	return "$record_status"
}

# record_enough NAME PROGRAM... : ENOUGH samples of it, whatever else the machine does; the
# last argument of the program is left out, it is the number of rounds.
ENOUGH=$(bound 1500 5000)
record_enough() {
	enough_name=$1
	shift
	enough_rounds=$(rounds "$@" "$(bound 2 5.4)")
	record_json "$enough_name" -F 999 -- "$@" "$enough_rounds" || return 1
	enough_count=$(python3 -c '
import json, sys
print(json.load(open(sys.argv[1], encoding="ascii"))["samples"]["count"])' "$enough_name.json")
	if [ "$enough_count" -lt "$ENOUGH" ]; then
		record_json "$enough_name" -F 999 -- "$@" $((enough_rounds * ENOUGH * 7 / 5 / (enough_count + 1)))
	fi
}

# pprof ARGUMENT...: Google's, as Go brings it; built once where Go has no cache.
pprof() {
	GOCACHE=$(go env GOCACHE 2>/dev/null || echo "$WORK/gocache") HOME=${HOME:-$WORK} go tool pprof "$@"
}

# one_sentence FILE: it holds one line of ours, and no more.
one_sentence() {
	if [ "$(wc -l <"$1")" -eq 1 ] && grep -q '^lineburn: .' "$1"; then
		return 0
	fi
	echo "not one sentence: $(head -c 200 "$1" | tr '\n' '|')"
	return 1
}

# wait_until SECONDS COMMAND...: until it passes
wait_until() {
	wait_turns=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		wait_turns=$((wait_turns - 1))
		[ "$wait_turns" -gt 0 ] || return 1
		sleep 0.1
	done
}

# records PID: has that lineburn begun? Then it waits for what happens (epoll_wait).
records() {
	grep -qE 'ep_poll|epoll_wait' "/proc/$1/wchan"
}

# mount_of TYPE [OPTION]: where such a hierarchy of cgroups is mounted
mount_of() {
	awk -v type="$1" -v option="${2:-}" '$3 == type && (option == "" ||
		index("," $4 ",", "," option ",")) { print $2; exit }' /proc/self/mounts
}

# rounds PROGRAM... SECONDS: the last argument with which the program takes that much CPU here.
rounds() {
	python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:-1] + ["3"], check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
print(max(1, round(3 * float(sys.argv[-1]) / max(used, 0.01) + 0.5)))' "$@"
}

# has_numba WHICH NAME: PYTHON is the python of tools/venv.sh's environment WHICH (new, old, servers);
# else test NAME is skipped. Nothing of the caller's Python is in the way, and
# the cache is this script's own.
has_numba() {
	unset PYTHONPATH PYTHONHOME PYTHONSTARTUP NUMBA_CACHE_DIR NUMBA_DEBUGINFO NUMBA_OPT \
		NUMBA_NUM_THREADS NUMBA_DISABLE_JIT
	export PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME="$PWD/cache"
	export PYTHON="$TOP/build/venv/numba-$1/bin/python"
	[ ! -e "$TOP/build/venv/numba-$1/.whole" ] || return 0
	skip "$2" "no build/venv/numba-$1 here (tools/venv.sh makes it)"
	return 1
}
