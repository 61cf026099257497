#!/bin/sh
# End to end, as root: samples programs with known answers.
# usage: tests/root/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all)
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason".
# After each script: how long it took.
# A script with the line "# Runs beside others." runs at the same time as those that say nothing;
# one with "# Runs alone." behind both. All of SUITE=stats run alone.
# SUITE=stats (tests/stats/run.sh): with narrow bounds. Only there a test may print "noise NAME:
# reason", which the machine may have caused: the script then runs once more, after all others,
# and what is noise again has failed. All that fails otherwise has failed at once.
# Last line: "SUITE: N passed, N failed, N skipped[, N scripts again]".
here=$(cd "$(dirname "$0")" && pwd)
LB=$(realpath "${1:?usage: run.sh BIN [SCRIPT...]}")
shift
TOP=$(cd "$here/../.." && pwd)
SUITE=${SUITE:-root}
case $SUITE in
root) WIDER=8 ;;
stats) WIDER=1 ;;
*)
	echo "tests/root/run.sh: no suite $SUITE" >&2
	exit 2
	;;
esac
WORK=$(mktemp -d /tmp/lineburn-root.XXXXXX)
chmod 755 "$WORK"
mkdir "$WORK/bin"
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
export LB TOP WORK WIDER
# What the caller has set must not change what is tested.
unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND DEBUGINFOD_URLS NO_COLOR

if [ "$(id -u)" -ne 0 ]; then
	echo "not ok $SUITE: these tests need root"
	echo "$SUITE: 0 passed, 1 failed, 0 skipped"
	exit 1
fi
if [ $# -eq 0 ]; then
	for script in "$here"/*.sh; do
		case $(basename "$script" .sh) in
		run | lib | lib-*) ;;
		*) set -- "$@" "$(basename "$script" .sh)" ;;
		esac
	done
fi

results=$WORK/results
: >"$results"

# path_of SCRIPT
path_of() {
	if [ -e "$TOP/tests/$SUITE/$1.sh" ]; then
		echo "$TOP/tests/$SUITE/$1.sh"
	else
		echo "$here/$1.sh"
	fi
}

# that_run HOW SCRIPT...: those that say so; HOW "": those that say nothing
that_run() {
	how=$1
	shift
	for name; do
		said_how=$(sed -n 's/^# Runs \(.*\)\.$/\1/p' "$(path_of "$name")")
		[ "$said_how" != "$how" ] || echo "$name"
	done
}

# run SCRIPT: what it said of its tests is in $WORK/SCRIPT.said.
run() {
	rm -rf "${WORK:?}/$1"
	mkdir "$WORK/$1"
	CRASHES=$WORK/$1.crashes
	export CRASHES
	: >"$CRASHES"
	log=$WORK/$1.log
	said=$WORK/$1.said
	path=$(path_of "$1")
	status=0
	(cd "$WORK/$1" && timeout -k 5 600 "$path") >"$log" 2>"$log.err" || status=$?
	grep -E '^(ok|not ok|skip|noise) ' "$log" >"$said"
	if [ "$status" -ne 0 ]; then
		echo "not ok $1: the script ended with status $status: $(tail -n 1 "$log.err")" >>"$said"
	elif [ ! -s "$said" ]; then
		echo "not ok $1: the script tested nothing" >>"$said"
	fi
	cat "$CRASHES" >>"$said"
}

# told NAME SINCE: what came of it
told() {
	sed 's/^noise /not ok /' "$WORK/$1.said" | tee -a "$results"
	echo "   $1: $(($(date +%s) - $2)) s"
	[ -n "${KEEP:-}" ] || rm -rf "${WORK:?}/$1"
}

# is_noise SCRIPT: nothing but noise failed, and this is the suite for it
is_noise() {
	[ "$SUITE" = stats ] && grep -q '^noise ' "$WORK/$1.said" && ! grep -q '^not ok ' "$WORK/$1.said"
}

# nr_tested FILE
nr_tested() {
	grep -cE '^(ok|not ok|noise) ' "$1"
}

again=
nr_again=0
# run_all SCRIPT...: one after the other
run_all() {
	for name; do
		run_one "$name"
	done
}
run_one() {
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
if [ "$SUITE" = root ]; then
	# shellcheck disable=SC2046 # lists of names
	run_all $(that_run "beside others" "$@") &
	# shellcheck disable=SC2046
	run_all $(that_run "" "$@")
	wait
	# shellcheck disable=SC2046
	run_all $(that_run alone "$@")
else
	run_all "$@"
fi
for name in $again; do
	start=$(date +%s)
	run "$name"
	[ "$(nr_tested "$WORK/$name.said")" -ge "$(nr_tested "$WORK/$name.first")" ] ||
		echo "not ok $name: less was tested than at first" >>"$WORK/$name.said"
	told "$name" "$start"
done
failed=$(grep -c '^not ok ' "$results")
[ "$SUITE" = root ] || scripts_again=", $nr_again scripts again"
echo "$SUITE: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped${scripts_again:-}"
[ "$failed" -eq 0 ]
