#!/bin/sh
# End-to-end tests, as root: sample programs with known answers.
# usage: tests/root/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all)
# Each test prints "ok NAME", "not ok NAME: reason", "skip NAME: reason" or, if it is a statistic
# that the machine is too noisy to judge, "inconclusive NAME: reason".
# SUITE=root (the default) has the scripts of tests/root, SUITE=nightly those of tests/nightly. One
# script per CPU, and one more, run at a time: the longest first (a line "# Takes N s."), those with
# the line "# Runs alone." last and alone. All scripts of SUITE=stats (tests/stats/run.sh) run alone.
# Only in SUITE=stats a test may print "noise NAME: reason" (lib.sh: narrow): its script then runs
# once more, and noise in the second run is a failure.
# SCRIPT_SECONDS=600: a script that takes longer is ended.
# LB_KEEP=FOLDER: files of scripts with a failed test are copied there, each script's in a folder.
# At the end the kernel's log is searched for warnings.
# Last line: "SUITE: N passed, N failed, N skipped[, N inconclusive][, N scripts again]".
here=$(cd "$(dirname "$0")" && pwd)
LB=$(realpath "${1:?usage: run.sh BIN [SCRIPT...]}")
shift
TOP=$(cd "$here/../.." && pwd)
SUITE=${SUITE:-root}
# Number of batches in the first measurement of a statistic.
case $SUITE in
root | nightly) BATCHES=8 ;;
stats) BATCHES=32 ;;
*)
	echo "tests/root/run.sh: no suite $SUITE" >&2
	exit 2
	;;
esac
MOST_STATISTICS=20 # of SUITE=root
WORK=$(mktemp -d /tmp/lineburn-root.XXXXXX)
chmod 755 "$WORK"
mkdir "$WORK/bin"
clean_up() {
	# Scripts that still run undo what they did to the machine.
	: >"$WORK/queue"
	for session in "$WORK"/*.session; do
		[ ! -e "$session" ] || kill "$(cat "$session")"
	done
	wait
	for session in "$WORK"/*.session; do
		[ ! -e "$session" ] || pkill -KILL -s "$(cat "$session")"
	done
	rm -rf "$WORK"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# Use the real python3: pyenv's wrapper takes 0.1 s longer, each time.
PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
export SUITE LB TOP WORK BATCHES PATH PYTHONDONTWRITEBYTECODE=1
# The caller's settings must not change the tests.
unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND DEBUGINFOD_URLS NO_COLOR

if [ "$(id -u)" -ne 0 ]; then
	echo "not ok $SUITE: these tests need root"
	echo "$SUITE: 0 passed, 1 failed, 0 skipped"
	exit 1
fi
if [ $# -eq 0 ]; then
	for script in "$TOP/tests/$SUITE"/*.sh; do
		case $(basename "$script" .sh) in
		run | lib | lib-*) ;;
		*) set -- "$@" "$(basename "$script" .sh)" ;;
		esac
	done
	# Scripts of tests/root that have narrow bounds.
	[ "$SUITE" != stats ] || for script in "$here"/*.sh; do
		case $(basename "$script" .sh) in
		run | lib | lib-*) ;;
		*) ! grep -qE '^[^#]*\<narrow ' "$script" || set -- "$@" "$(basename "$script" .sh)" ;;
		esac
	done
fi

# The Makefile's check-root and stats build it.
RULES=$(dirname "$LB")/tests/root/pprof-rules
[ -x "$RULES" ] || RULES=$TOP/build/tests/root/pprof-rules
export RULES
results=$WORK/results
: >"$results"
: >"$WORK/statistics"

# path_of SCRIPT
path_of() {
	if [ -e "$TOP/tests/$SUITE/$1.sh" ]; then
		echo "$TOP/tests/$SUITE/$1.sh"
	else
		echo "$here/$1.sh"
	fi
}

# sorted SCRIPT...: the longest first
sorted() {
	for name; do
		echo "$(sed -n 's/^# Takes \([0-9]*\) s\.$/\1/p' "$(path_of "$name")" | grep . || echo 0) $name"
	done | sort -rn | cut -d ' ' -f 2
}

# runs_alone SCRIPT
runs_alone() {
	[ "$SUITE" = stats ] || grep -q '^# Runs alone\.$' "$(path_of "$1")"
}

# run SCRIPT: writes the results of its tests to $WORK/SCRIPT.said
run() {
	rm -rf "${WORK:?}/$1"
	mkdir "$WORK/$1"
	CRASHES=$WORK/$1.crashes
	BEGUN=$WORK/$1.begun
	export CRASHES BEGUN
	: >"$CRASHES"
	: >"$BEGUN"
	log=$WORK/$1.log
	said=$WORK/$1.said
	path=$(path_of "$1")
	status=0
	(cd "$WORK/$1" && exec setsid timeout -k 30 "${SCRIPT_SECONDS:-600}" "$path") >"$log" 2>"$log.err" &
	session=$!
	echo $session >"$WORK/$1.session"
	wait $session || status=$?
	# Processes that a failed script has left.
	pkill -KILL -s $session
	rm -f "$WORK/$1.session"
	grep -E '^(ok|not ok|skip|noise|inconclusive) ' "$log" >"$said"
	if [ "$status" -ne 0 ]; then
		echo "not ok $1: the script ended with status $status: $(tail -n 1 "$log.err")" >>"$said"
	elif [ ! -s "$said" ]; then
		echo "not ok $1: the script tested nothing" >>"$said"
	fi
	# Tests without a result, such as background jobs that died.
	: >"$said.missing"
	[ ! -s "$said" ] || awk '
		NR == FNR {
			sub(/^(ok|not ok|skip|noise|inconclusive) /, "")
			results[$0]
			results[substr($0, 1, index($0, ": ") - 1)]
			next
		}
		!($0 in results) { print "not ok " $0 ": it was begun, and has no result" }' \
		"$said" "$BEGUN" >"$said.missing"
	cat "$CRASHES" "$said.missing" >>"$said"
	judge_profiles "$1" >>"$said"
	[ -z "${LB_KEEP:-}" ] || ! grep -q '^not ok ' "$said" || keep "$1"
}

# keep SCRIPT: copies its files, and what it said, to LB_KEEP
keep() {
	mkdir -p "$LB_KEEP/$1"
	cp "$said" "$LB_KEEP/$1"
	find "$WORK/$1" -xdev -maxdepth 1 -type f -size -20M -exec cp -t "$LB_KEEP/$1" {} +
}

# judge_profiles SCRIPT: whether other tools can read each profile that lineburn wrote. Files that
# scripts make or damage themselves are not called *.pb.gz.
judge_profiles() {
	if [ ! -x "$RULES" ] && find "$WORK/$1" -type f -name '*.pb.gz' | grep -q .; then
		echo "not ok $1: there is no $RULES: run make build/tests/root/pprof-rules"
		return
	fi
	rules_status=0
	find "$WORK/$1" -type f -name '*.pb.gz' -print0 | xargs -0 -r "$RULES" >"$WORK/$1.rules" || rules_status=$?
	# It prints what it found; if it failed and printed nothing, it crashed.
	[ "$rules_status" -eq 0 ] || [ -s "$WORK/$1.rules" ] || echo "not ok $1: pprof-rules ended with $rules_status"
	sed "s|^$WORK/\(.*\)|not ok $1: profile that others refuse: \1|" "$WORK/$1.rules" | head -n 3
}

# told NAME SINCE: prints the results of a script, and how long it took
told() {
	{
		sed 's/^noise /not ok /' "$WORK/$1.said"
		echo "   $1: $(($(date +%s) - $2)) s"
	} >"$WORK/$1.told"
	# Under a lock: other scripts print their results, too.
	flock "$WORK/lock" cat "$WORK/$1.told"
	cat "$WORK/$1.told" >>"$results"
	[ -n "${KEEP:-}" ] || rm -rf "${WORK:?}/$1"
}

# is_noise SCRIPT: only narrow bounds failed, and the suite is stats
is_noise() {
	[ "$SUITE" = stats ] && grep -q '^noise ' "$WORK/$1.said" && ! grep -q '^not ok ' "$WORK/$1.said"
}

# nr_tested FILE
nr_tested() {
	grep -cE '^(ok|not ok|noise|inconclusive) ' "$1"
}

# kernel_warnings SINCE: prints the warnings in the kernel's log since then (seconds since boot), and
# crashes of lineburn. Unit tests, which may run at the same time, let workers crash on purpose.
# Ignored: when Linux 6.18 attaches a uprobe to a file whose page is not in memory, it reads the page
# without a lock, and ext4 warns once after each boot (ext4_check_map_extents_env). Attacks of more than two
# minutes hold their own processes, and the kernel's writeback to their file systems, for so long.
kernel_warnings() {
	held='^$'
	[ "${ATTACK_SECONDS:-0}" -lt 120 ] || held='INFO: task (held|kworker/u[0-9:]*):[0-9]+ blocked'
	dmesg 2>/dev/null | awk -F '[][]' -v since="$1" '$2 + 0 >= since' |
		grep -v ' ext4_check_map_extents_env+' | grep -vE "$held" |
		grep -E 'WARNING: |BUG: |Oops|INFO: (task|rcu)|rcu.*(stall|detected)|Kernel panic|refcount_t: |list_(add|del) corruption|lineburn\[[0-9]+\](:| general| trap)|lineburn-worker.* in lineburn\['
}

again=
nr_again=0
run_one() {
	name=$1
	start=$(date +%s)
	run "$name"
	if ! is_noise "$name"; then
		told "$name" "$start"
		return
	fi
	nr_again=$((nr_again + 1))
	again="$again $name"
	cp "$WORK/$name.said" "$WORK/$name.first"
	sed -n 's/^noise /again /p' "$WORK/$name.said"
	echo "   $name: $(($(date +%s) - start)) s"
}

# next: removes the first name from the queue and prints it
next() {
	# shellcheck disable=SC2016 # for the inner shell
	flock "$WORK/lock" sh -c 'head -n 1 "$0/queue" && sed -i 1d "$0/queue"' "$WORK"
}
work() {
	while next=$(next) && [ -n "$next" ]; do
		run_one "$next"
	done
}

booted=$(cut -d ' ' -f 1 /proc/uptime)
: >"$WORK/lock"
: >"$WORK/queue"
alone=
for name in $(sorted "$@"); do
	if runs_alone "$name"; then
		alone="$alone $name"
	else
		echo "$name" >>"$WORK/queue"
	fi
done
for _ in $(seq $(($(nproc) + 1))); do
	work &
done
wait
for name in $alone; do
	run_one "$name"
done
for name; do
	[ -e "$WORK/$name.said" ] || echo "not ok $name: it did not run" | tee -a "$results"
done
for name in $again; do
	start=$(date +%s)
	run "$name"
	[ "$(nr_tested "$WORK/$name.said")" -ge "$(nr_tested "$WORK/$name.first")" ] ||
		echo "not ok $name: less was tested than at first" >>"$WORK/$name.said"
	told "$name" "$start"
done
dmesg >/dev/null 2>&1 || echo "skip kernel-log: it cannot be read here" | tee -a "$results"
! kernel_warnings "$booted" >"$WORK/warnings" ||
	echo "not ok kernel-log: $(head -n 3 "$WORK/warnings" | tr '\n' ';')" | tee -a "$results"
nr_statistics=$(wc -l <"$WORK/statistics")
[ "$SUITE" != root ] || [ "$nr_statistics" -le $MOST_STATISTICS ] ||
	echo "not ok statistics: there are $nr_statistics, of at most $MOST_STATISTICS" | tee -a "$results"
failed=$(grep -c '^not ok ' "$results")
[ "$SUITE" != stats ] || scripts_again=", $nr_again scripts again"
nr_inconclusive=$(grep -c '^inconclusive ' "$results")
[ "$nr_inconclusive" -eq 0 ] || inconclusive=", $nr_inconclusive inconclusive"
echo "$SUITE: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped${inconclusive:-}${scripts_again:-}"
[ "$failed" -eq 0 ]
