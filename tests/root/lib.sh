# shellcheck shell=sh
# Functions for the scripts of tests/root. run.sh starts each script in its own folder.
# LB: the program under test; TOP: the source tree; WORK: a folder that all scripts share.
: "${LB:?started by run.sh}" "${TOP:?}" "${WORK:?}"
WORKLOADS=$TOP/tests/workloads
C_FLAGS="-O2 -g -fno-omit-frame-pointer"
# run.sh ends a script that takes too long with SIGTERM, which may come twice; dash would run no EXIT trap then.
trap 'trap "" INT TERM; exit 130' INT TERM

pass() {
	echo "ok $1"
}

fail() {
	echo "not ok $1: $2"
}

skip() {
	echo "skip $1: $2"
}

# check NAME COMMAND...: passes if the command does; otherwise its last line is the reason
check() {
	check_name=$1
	shift
	echo "$check_name" >>"${BEGUN:-/dev/null}"
	if check_said=$("$@" 2>&1); then
		pass "$check_name"
	else
		fail "$check_name" "$(printf '%s' "$check_said" | tail -n 1 | cut -c1-900)"
	fi
}

# kill_own PID...: kills those that this script, or a program that it started, has started. A number of a
# process that has ended may be that of another script's process by now.
kill_own() {
	kill_own_session=$(ps -o sid= -p $$)
	for kill_own_pid; do
		[ "$(ps -o sid= -p "$kill_own_pid")" != "$kill_own_session" ] || kill -KILL "$kill_own_pid"
	done
}

# figure NAME COMMAND...: as check; also prints the command's last line when it passes
figure() {
	figure_name=$1
	shift
	echo "$figure_name" >>"${BEGUN:-/dev/null}"
	if figure_said=$("$@" 2>&1); then
		pass "$figure_name: $(printf '%s' "$figure_said" | tail -n 1 | cut -c1-900)"
	else
		fail "$figure_name" "$(printf '%s' "$figure_said" | tail -n 1 | cut -c1-900)"
	fi
}

# statistic NAME TOLERANCE COMMAND...: runs COMMAND NUMBER, which measures that many independent batches
# and prints the lines that judge.py reads. If the result is not a pass, measures four times as many
# batches more and judges all. The check has at most 20 statistics (run.sh).
statistic() {
	statistic_name=$1
	statistic_tolerance=$2
	shift 2
	echo "$statistic_name" >>"$WORK/statistics"
	: >"$statistic_name.batches"
	for statistic_batches in "$BATCHES" $((4 * BATCHES)); do
		if ! "$@" "$statistic_batches" >>"$statistic_name.batches" 2>"$statistic_name.errors"; then
			fail "$statistic_name" "$(tail -n 1 "$statistic_name.errors")"
			return
		fi
		statistic_status=0
		statistic_said=$(python3 -S "$TOP/tests/root/judge.py" "$statistic_tolerance" <"$statistic_name.batches" 2>&1) ||
			statistic_status=$?
		[ $statistic_status -ne 0 ] || break
	done
	statistic_said=$(printf '%s' "$statistic_said" | tail -n 1 | cut -c1-900)
	case $statistic_status in
	0) pass "$statistic_name: $statistic_said" ;;
	3) echo "inconclusive $statistic_name: $statistic_said" ;;
	*) fail "$statistic_name" "$statistic_said" ;;
	esac
}

# longer CHECK STATS: prints CHECK, under "make stats" STATS
longer() {
	if [ "$SUITE" = stats ]; then
		echo "$2"
	else
		echo "$1"
	fi
}

# narrow NAME COMMAND...: as figure, for bounds that the machine's noise can break. Does nothing in the
# check. A failure is reported as noise, and the script runs once more (run.sh). Status 2: the
# measurement itself failed, which is not noise.
narrow() {
	[ "$SUITE" != root ] || return 0
	narrow_name=$1
	shift
	narrow_status=0
	narrow_said=$("$@" 2>&1) || narrow_status=$?
	narrow_said=$(printf '%s' "$narrow_said" | tail -n 1 | cut -c1-900)
	if [ $narrow_status -eq 0 ]; then
		pass "$narrow_name${narrow_said:+: $narrow_said}"
	elif [ $narrow_status -eq 1 ]; then
		echo "noise $narrow_name: $narrow_said"
	else
		fail "$narrow_name" "$narrow_said"
	fi
}

# whole NAME [OR]: at least 20 stacks of NAME.json are complete, and half of those that were sampled when the
# tables of their code existed, which is late where lineburn gets no CPU time. The others are in code
# whose tables cannot describe it (stacks.py); of the rest at most one in 200 is incomplete. No sample is
# lost. OR: statuses that count like complete, because much of the program's code has no tables:
# "guessed", or "guessed derived"
whole() {
	profile_has "$1.json" "walked('complete', *'${2-}'.split()) >= max(20, 0.5 * note('of', s['count'] - d['stacks']['no-mapping'] - d['stacks']['no-table']))" \
		"note('ended early', {k for k, n in d['stacks'].items() if n}) <= {'complete', 'no-mapping', 'no-table', 'no-user', 'unsupported', 'fault', 'bad-fp', 'bad-cfa', 'guessed', 'derived', 'replaced'}" \
		"s['lost'] == 0" || return 1
	# If there are more, few_end_early() leaves out those in such code.
	profile_has "$1.json" "sum(d['stacks'][of] for of in ('unsupported', 'fault', 'bad-fp')) <= 0.005 * s['count'] + 1" \
		>/dev/null 2>&1 || stacks_have "$1" "few_end_early()"
}

# late_whole NAME [OR]: as whole, for a recording whose programs have their tables: at most 2 % and five
# samples are in code that has none yet
late_whole() {
	whole "$@" && profile_has "$1.json" "$HAVE_TABLES"
}
HAVE_TABLES="note('without tables', d['stacks']['no-mapping'] + d['stacks']['no-table']) <= 0.02 * s['count'] + 5"

# promptly_whole NAME [OR [SAMPLES]]: as whole, and at most 0.5 % of the samples of NAME.json, plus SAMPLES
# (default 100, a tenth of a second), are from before the tables existed; for make stats
promptly_whole() {
	whole "$1" "${2-}" && profile_has "$1.json" "s['count'] >= 100" "sums_close()" \
		"note('making tables', d['stacks']['no-mapping'] + d['stacks']['no-table']) <= 0.005 * s['count'] + ${3:-100}"
}

# stacks_have NAME EXPRESSION...: see stacks.py; for a member, only the stacks of its process
stacks_have() {
	stacks_name=$1
	shift
	if [ -e "$stacks_name.pid" ]; then
		python3 -S "$TOP/tests/root/stacks.py" --pid "$(cat "$stacks_name.pid")" "$stacks_name.pb.gz" "$@"
	else
		python3 -S "$TOP/tests/root/stacks.py" "$stacks_name.pb.gz" "$@"
	fi
}

# Members are programs that run at once under one recording. MEMBER.pid has the pid, MEMBER.said the
# output, MEMBER.json the member's part of the profile; MEMBER.pb.gz is the recording.
members=

# member NAME COMMAND...: adds a program to the next "together" or "attached"
member() {
	members="$members $1"
	# shellcheck disable=SC2016 # for the inner shell
	printf "sh -c 'echo \$\$ >\"\$0.pid\"; exec \"\$@\"'" >"$1.member"
	for member_word; do
		printf " '%s'" "$(printf %s "$member_word" | sed "s/'/'\\\\''/g")" >>"$1.member"
	done
	echo " >$1.said 2>&1" >>"$1.member"
}

# part_of MEMBER COMMAND...: runs this command of lineburn on the member's part of the recording
part_of() {
	part_member=$1
	shift
	# shellcheck disable=SC2046 # an option and its argument
	"$LB" "$@" $(longer "--pid $(cat "$part_member.pid")" "") "$part_member.pb.gz"
}

# take_part NAME: makes MEMBER.json of each member from NAME.pb.gz
take_part() {
	for take_member in $members; do
		[ "$1" = "$take_member" ] || ln -sf "$1.pb.gz" "$take_member.pb.gz"
		# shellcheck disable=SC2086 # a list of options
		part_of "$take_member" annotate --json $MEMBER_VIEW >"$take_member.json" || return 1
	done
	members=
}
MEMBER_VIEW= # options of "annotate" for MEMBER.json

# at_once HOW NAME OPTION...: records all members as NAME.pb.gz and NAME.json; under "make stats" each
# member alone, one after the other, because they would disturb each other's shares
at_once() {
	once_how=$1
	once_parts=$(longer "$2" "$members")
	echo "$once_parts" >"$2.parts"
	shift 2
	once_status=0
	for once_part in $once_parts; do
		[ "$SUITE" != stats ] || members=$once_part
		$once_how "$once_part" "$@" || once_status=1
	done
	members=
	return $once_status
}

# closes NAME: the sums of the recordings that at_once made add up, and nothing is lost
closes() {
	[ -s "$1.parts" ] || { echo "nothing is recorded as $1"; return 1; }
	# shellcheck disable=SC2013 # words
	for closes_part in $(cat "$1.parts"); do
		profile_has "$closes_part.json" "sums_close()" "s['lost'] == 0" || return 1
	done
}

# together NAME RUN_OPTION...: runs the members, each from its start
together() {
	at_once run_members "$@"
}
run_members() {
	together_name=$1
	shift
	rm -f "$together_name.failed"
	for together_member in $members; do
		echo "(. ./$together_member.member || echo \"$together_member: status \$?\" >>$together_name.failed) &"
	done >"$together_name.members"
	echo wait >>"$together_name.members"
	together_status=0
	FIRST=$BEFORE_OTHERS
	# shellcheck disable=SC2086 # words
	record_json "$together_name" "$@" -- $AFTER_IT sh "./$together_name.members" || together_status=$?
	FIRST=
	[ $together_status -eq 0 ] || { tail -n 1 "$together_name.err"; members=; return 1; }
	take_part "$together_name" || return 1
	[ ! -e "$together_name.failed" ] || { tr '\n' ' ' <"$together_name.failed"; return 1; }
}

# started MEMBER: whether it has used 0.3 s of CPU. If it has a child, the child becomes the member's process.
started() {
	started_child=$(cut -d ' ' -f 1 "/proc/$(cat "$1.pid")/task/$(cat "$1.pid")/children") || return 1
	[ -z "$started_child" ] || echo "$started_child" >"$1.pid"
	awk '{ sub(/.*\) /, ""); exit $12 + $13 < 30 }' "/proc/$(cat "$1.pid")/stat"
}

# attached NAME SAMPLES "SECONDS LONGER..." OPTION...: starts the members, lets them run for a while, and
# records two windows of SECONDS; tables are made in the first, and the second is kept. If a member then
# has fewer than SAMPLES, or $attached_too is not true, or there is no second window, because other programs
# had the CPU, records again with windows of LONGER.
attached_too=True
attached() {
	at_once attach_members "$@"
}
attach_members() {
	attached_name=$1
	attached_samples=$2
	attached_seconds=$3
	shift 3
	for attached_member in $members; do
		# shellcheck disable=SC1090 # what "member" wrote
		. "./$attached_member.member" &
	done
	attached_status=0
	attached_members=$members
	for attached_member in $members; do
		wait_until 60 started "$attached_member" || { echo "$attached_member does not run"; attached_status=77; }
		set -- "$@" -p "$(cat "$attached_member.pid")"
	done
	for attached_s in $attached_seconds; do
		[ $attached_status -eq 0 ] || break
		rm -f "$attached_name".2*
		# With a high priority, so that tables are made in time.
		# shellcheck disable=SC2086 # words
		timeout 300 $BEFORE_OTHERS "$LB" record -o "$attached_name.pb.gz" --window "${attached_s}s" \
			-d "$(awk "BEGIN { print 2 * $attached_s + 0.2 }")" "$@" >"$attached_name.out" 2>"$attached_name.err" ||
			attached_status=$?
		note_crash "$attached_name" $attached_status
		[ $attached_status -eq 0 ] || { tail -n 1 "$attached_name.err"; break; }
		attached_window=$(find . -name "$attached_name.2*" | sort | sed -n 2p)
		[ -n "$attached_window" ] || continue
		ln -sf "$attached_window" "$attached_name.pb.gz"
		members=$attached_members
		# A member without any sample has no part.
		attached_taken=0
		"$LB" annotate --json "$attached_name.pb.gz" >"$attached_name.json" && take_part "$attached_name" ||
			attached_taken=$?
		[ $attached_taken -ne 0 ] || ! have_samples "$attached_samples" "$attached_members" || break
	done
	for attached_member in $attached_members; do
		kill "$(cat "$attached_member.pid")"
	done
	[ $attached_status -eq 0 ] || return $attached_status
	[ -n "$attached_window" ] || { echo "there is no second window"; return 1; }
	return "$attached_taken"
}
have_samples() {
	for have_member in $2; do
		profile_has "$have_member.json" "s['count'] >= $1" "$attached_too" || return 1
	done
}

# steady MEMBER [OR]: starts the member again, as MEMBER-steady, records it later, and checks promptly_whole
steady() {
	steady=$1-steady
	sed "s/ '$1' / '$steady' /; s/ >$1\.said / >$steady.said /" "$1.member" >"$steady.member"
	# shellcheck disable=SC1090 # what "member" wrote
	. "./$steady.member" &
	wait_until 60 started "$steady" || { echo "$1 does not run"; return 2; }
	steady_status=0
	timeout 60 "$LB" record -F 999 --max-frames 512 -d 1.2 -p "$(cat "$steady.pid")" -o "$steady.pb.gz" \
		>"$steady.out" 2>"$steady.err" || steady_status=$?
	kill "$(cat "$steady.pid")"
	note_crash "$steady" $steady_status
	[ $steady_status -eq 0 ] || { tail -n 1 "$steady.err"; return 2; }
	"$LB" annotate --json "$steady.pb.gz" >"$steady.json" && promptly_whole "$steady" "${2-}"
}

# build WORKLOAD.c [FLAGS]: builds the program once and prints its path
build() {
	built=$WORK/bin/$(basename "$1" .c)
	if [ ! -e "$built" ]; then
		# Renamed when complete: another script may build or use it at the same time.
		# shellcheck disable=SC2086 # a list of flags
		gcc $C_FLAGS -o "$built.$$" "$WORKLOADS/$1" ${2:-} -pthread -ldl && mv "$built.$$" "$built" || return 1
	fi
	echo "$built"
}

# build_go WORKLOAD.go: as build, for Go
build_go() {
	built=$WORK/bin/$(basename "$1" .go)-go
	[ -e "$built" ] || HOME=${HOME:-$WORK} GOTOOLCHAIN=local GOCACHE=$(go_cache) go build -o "$built" "$WORKLOADS/$1" || return 1
	echo "$built"
}
go_cache() {
	go env GOCACHE 2>/dev/null || echo "$WORK/gocache"
}

# profile_has JSON EXPRESSION...: see profile.py
profile_has() {
	python3 -S "$TOP/tests/root/profile.py" "$WORKLOADS" "$@"
}

# note_crash NAME STATUS: a hang, a failed assertion or a crash fails the script, even if the test
# passes, and is never run again (run.sh)
note_crash() {
	case $2 in
	124 | 132 | 134 | 135 | 136 | 139) echo "not ok $1: ended with status $2: $(tail -n 1 "$1.err")" >>"$CRASHES" ;;
	esac
}

# record_json NAME RUN_OPTIONS -- CMD...: "lineburn run", which writes NAME.pb.gz, then NAME.json. With
# FIRST=$BEFORE_OTHERS lineburn has a higher priority than the programs; then CMD begins with $AFTER_IT,
# which restores the normal priority. Under "make stats" both are empty: no other programs run.
BEFORE_OTHERS=$(longer "nice -n -15" "")
AFTER_IT=$(longer "nice -n 15" "")
FIRST=
record_json() {
	record_name=$1
	shift
	record_status=0
	# shellcheck disable=SC2086 # words
	timeout 300 $FIRST "$LB" run -o "$record_name.pb.gz" "$@" >"$record_name.txt" 2>"$record_name.err" ||
		record_status=$?
	note_crash "$record_name" $record_status
	"$LB" annotate --json "$record_name.pb.gz" >"$record_name.json" 2>>"$record_name.err"
	return "$record_status"
}

# lineburn ARGUMENT...: used by "enough" and "says"; lib-machine.sh replaces it
lineburn() {
	timeout 60 "$LB" "$@"
}

# enough SAMPLES NAME "SECONDS LONGER" OPTION...: records NAME.pb.gz and NAME.json for SECONDS; if there are
# fewer than SAMPLES or none (status 4), because other programs had the CPU, again for LONGER
enough() {
	enough_samples=$1
	enough_name=$2
	enough_seconds=$3
	shift 3
	for enough_s in $enough_seconds; do
		enough_status=0
		lineburn record -F 999 -d "$enough_s" -o "$enough_name.pb.gz" "$@" \
			>"$enough_name.out" 2>"$enough_name.err" || enough_status=$?
		note_crash "$enough_name" "$enough_status"
		case $enough_status in
		0) ;;
		4) continue ;;
		*) break ;;
		esac
		"$LB" annotate --json "$enough_name.pb.gz" >"$enough_name.json"
		! profile_has "$enough_name.json" "s['count'] >= $enough_samples" >/dev/null || return 0
	done
	[ "$enough_status" -eq 0 ] || tail -n 1 "$enough_name.err"
	return "$enough_status"
}

# chosen NAME EXPRESSION OPTION...: records with the options; EXPRESSION is true for the processes
chosen() {
	chosen_name=$1
	chosen_expression=$2
	shift 2
	enough 20 "$chosen_name" "0.5 5" "$@" || return 1
	profile_has "$chosen_name.json" "sums_close()" "s['lost'] == 0" \
		"note('processes', [(p['pid'], p['comm']) for p in d['processes']]) and $chosen_expression"
}

# says STATUS TEXT OPTION...: record fails with one sentence that contains TEXT, and writes no file
says() {
	says_status=$1
	says_text=$2
	shift 2
	rm -f none.pb.gz
	status=0
	lineburn record -d 0.1 -o none.pb.gz "$@" >out 2>err || status=$?
	[ $status -eq "$says_status" ] || { echo "status $status: $(tail -n 1 err)"; return 1; }
	grep -qF -- "$says_text" err || { echo "it said: $(tail -n 1 err)"; return 1; }
	[ "$says_status" -ne 4 ] || return 0
	[ ! -e none.pb.gz ] || { echo "there is a file"; return 1; }
	one_sentence err
}

# shares_of NAME COMM SOURCE self|total "PERCENT=MARKER..." PROGRAM... BATCHES: for "statistic": runs the
# program BATCHES times, and prints the shares of its lines (shares.py)
shares_of() {
	shares_name=$1 shares_comm=$2 shares_source=$3 shares_how=$4 shares_truth=$5
	shift 5
	# shellcheck disable=SC2016 # for the inner shell
	record_json "$shares_name" -F 999 -- python3 -c '
import subprocess, sys
for _ in range(int(sys.argv[-1])):
    subprocess.run(sys.argv[1:-1], check=True, stdout=sys.stderr)' "$@" || { tail -n 1 "$shares_name.err" >&2; return 1; }
	profile_has "$shares_name.json" "sums_close()" "s['lost'] == 0" >&2 || return 1
	# shellcheck disable=SC2086 # a list of words
	python3 -S "$TOP/tests/root/shares.py" "$shares_name.pb.gz" "$shares_comm" "$WORKLOADS/$shares_source" "$shares_how" $shares_truth
}

# pprof ARGUMENT...: Google's pprof, which is part of Go
pprof() {
	GOCACHE=$(go_cache) HOME=${HOME:-$WORK} go tool pprof "$@"
}

# one_sentence FILE: it has exactly one line, which lineburn printed
one_sentence() {
	if [ "$(wc -l <"$1")" -eq 1 ] && grep -q '^lineburn: .' "$1"; then
		return 0
	fi
	echo "not one sentence: $(head -c 200 "$1" | tr '\n' '|')"
	return 1
}

# wait_until SECONDS COMMAND...: waits until the command passes; fails after SECONDS
wait_until() {
	wait_turns=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		wait_turns=$((wait_turns - 1))
		[ "$wait_turns" -gt 0 ] || return 1
		sleep 0.05
	done
}

# used_ms PID: the CPU time of its first thread, in milliseconds
used_ms() {
	echo $(($(cut -d ' ' -f 1 "/proc/$1/schedstat") / 1000000))
}

# works PID MILLISECONDS: waits until its first thread has used that much more CPU time
works() {
	works_ms=$(($(used_ms "$1") + $2))
	wait_until 60 has_used "$1" $works_ms
}
has_used() {
	[ "$(used_ms "$1")" -ge "$2" ]
}

# leaves TEST NAME OPTION... -- COMMAND...: records the command; NAME.json has the innermost frames
leaves() {
	leaves_test=$1
	shift
	record_json "$@" || fail "$leaves_test-$1" "$(tail -n 1 "$1.err")"
	"$LB" annotate --leaf --json "$1.pb.gz" >"$1.json"
	check "$leaves_test-$1-sums" profile_has "$1.json" "sums_close()" "s['lost'] == 0"
}

# records PID: whether this lineburn has begun to record: then it waits in epoll_wait()
records() {
	grep -qE 'ep_poll|epoll_wait' "/proc/$1/wchan"
}

# family PID: prints the pids of this process and its descendants; a recorder's are its brokers and helpers
family() {
	echo "$1"
	tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null | while read -r family_child; do
		family "$family_child"
	done
}

# also COMMAND...: runs it in the background until "also_done", at most three at a time; not in make stats
also_pids=
also() {
	[ "$SUITE" != stats ] || {
		"$@"
		return
	}
	"$@" &
	also_pids="$also_pids $!"
	# shellcheck disable=SC2086 # a list of numbers
	set -- $also_pids
	[ $# -lt 3 ] || {
		wait "$1"
		shift
		also_pids=$*
	}
}
also_done() {
	# shellcheck disable=SC2086 # a list of numbers
	[ -z "$also_pids" ] || wait $also_pids
	also_pids=
}

# mount_of TYPE [OPTION]: prints where such a cgroup hierarchy is mounted
mount_of() {
	awk -v type="$1" -v option="${2:-}" '$3 == type && (option == "" ||
		index("," $4 ",", "," option ",")) { print $2; exit }' /proc/self/mounts
}

# rounds PROGRAM... SECONDS: prints the last argument with which the program uses that much CPU time here
rounds() {
	python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:-1] + ["3"], check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
print(max(1, round(3 * float(sys.argv[-1]) / max(used, 0.01) + 0.5)))' "$@"
}

# has_numba WHICH NAME: sets PYTHON to the python of tools/venv.sh's environment WHICH (new, old, servers, notebook),
# or skips test NAME. Clears the caller's Python settings, and uses a cache in the script's folder.
has_numba() {
	unset PYTHONPATH PYTHONHOME PYTHONSTARTUP NUMBA_CACHE_DIR NUMBA_DEBUGINFO NUMBA_OPT \
		NUMBA_NUM_THREADS NUMBA_DISABLE_JIT
	export PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME="$PWD/cache"
	export PYTHON="$TOP/build/venv/numba-$1/bin/python"
	[ ! -e "$TOP/build/venv/numba-$1/.whole" ] || return 0
	skip "$2" "no build/venv/numba-$1 here (tools/venv.sh makes it)"
	return 1
}

# of_kinds there|seconds JSON TRUTH: each kind of function in kinds.py has samples on its own lines (truth.py)
of_kinds() {
	python3 -S "$TOP/tests/root/truth.py" "$@" "$WORKLOADS/python/kinds.py" helped=helped,square \
		overloaded=overloaded,blend_overload 'in_cell=<ipython-input-7-0123456789ab>:1:4' in_string=
}
