#!/bin/sh
# End to end, as root: samples programs with known answers.
# usage: tests/root/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all)
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason".
# After each script: how long it took.
# What is sampled here shares its machine with strangers: a script with a failure runs once
# more, after all others, in a new folder, and what fails then has failed. What failed first is
# told: "again NAME: reason".
# Last line: "root: N passed, N failed, N skipped, N scripts again".
here=$(cd "$(dirname "$0")" && pwd)
LB=$(realpath "${1:?usage: run.sh BIN [SCRIPT...]}")
shift
TOP=$(cd "$here/../.." && pwd)
WORK=$(mktemp -d /tmp/lineburn-root.XXXXXX)
chmod 755 "$WORK"
mkdir "$WORK/bin"
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
export LB TOP WORK
# What the caller has set must not change what is tested.
unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND DEBUGINFOD_URLS NO_COLOR

if [ "$(id -u)" -ne 0 ]; then
	echo "not ok root: these tests need root"
	echo "root: 0 passed, 1 failed, 0 skipped, 0 scripts again"
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

# run SCRIPT: what it said of its tests is in $WORK/SCRIPT.said. Return: did nothing fail?
run() {
	rm -rf "${WORK:?}/$1"
	mkdir "$WORK/$1"
	log=$WORK/$1.log
	said=$WORK/$1.said
	status=0
	(cd "$WORK/$1" && timeout -k 5 300 "$here/$1.sh") >"$log" 2>"$log.err" || status=$?
	grep -E '^(ok|not ok|skip) ' "$log" >"$said"
	if [ "$status" -ne 0 ]; then
		echo "not ok $1: the script ended with status $status: $(tail -n 1 "$log.err")" >>"$said"
	elif [ ! -s "$said" ]; then
		echo "not ok $1: the script tested nothing" >>"$said"
	fi
	! grep -q '^not ok ' "$said"
}

# told NAME SINCE: what came of it
told() {
	tee -a "$results" <"$WORK/$1.said"
	echo "   $1: $(($(date +%s) - $2)) s"
	[ -n "${KEEP:-}" ] || rm -rf "${WORK:?}/$1"
}

# nr_tested FILE
nr_tested() {
	grep -cE '^(ok|not ok) ' "$1"
}

# has_skipped SCRIPT: is skipped now what failed at first, or was less tested?
has_skipped() {
	[ "$(nr_tested "$WORK/$1.said")" -ge "$(nr_tested "$WORK/$1.first")" ] || return 0
	sed -n 's/^not ok \([^: ]*\).*/\1/p' "$WORK/$1.first" | while read -r failure; do
		grep "^skip $failure\(:\|$\)" "$WORK/$1.said"
	done | grep -q .
}

# More than so many scripts that fail are no chance.
MAX_AGAIN=5
nr_again=0
again=
for name in "$@"; do
	start=$(date +%s)
	if run "$name" || [ $nr_again -eq $MAX_AGAIN ]; then
		told "$name" "$start"
		continue
	fi
	nr_again=$((nr_again + 1))
	again="$again $name"
	cp "$WORK/$name.said" "$WORK/$name.first"
	sed -n 's/^not ok /again /p' "$WORK/$name.said"
	echo "   $name: $(($(date +%s) - start)) s"
done
for name in $again; do
	start=$(date +%s)
	run "$name"
	! has_skipped "$name" || echo "not ok $name: what failed at first is skipped now" >>"$WORK/$name.said"
	told "$name" "$start"
done
failed=$(grep -c '^not ok ' "$results")
echo "root: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped, $nr_again scripts again"
[ "$failed" -eq 0 ]
