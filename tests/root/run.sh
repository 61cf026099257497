#!/bin/sh
# End to end, as root: samples programs with known answers.
# usage: tests/root/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all)
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason".
# Last line: "root: N passed, N failed, N skipped".
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
	echo "root: 0 passed, 1 failed, 0 skipped"
	exit 1
fi
if [ $# -eq 0 ]; then
	for script in "$here"/*.sh; do
		case $(basename "$script" .sh) in
		run | lib) ;;
		*) set -- "$@" "$(basename "$script" .sh)" ;;
		esac
	done
fi

results=$WORK/results
: >"$results"
for name in "$@"; do
	mkdir "$WORK/$name"
	log=$WORK/$name.log
	status=0
	(cd "$WORK/$name" && timeout -k 5 300 "$here/$name.sh") >"$log" 2>"$log.err" || status=$?
	grep -E '^(ok|not ok|skip) ' "$log" | tee -a "$results"
	if [ "$status" -ne 0 ]; then
		echo "not ok $name: the script ended with status $status: $(tail -n 1 "$log.err")" | tee -a "$results"
	elif ! grep -qE '^(ok|not ok|skip) ' "$log"; then
		echo "not ok $name: the script tested nothing" | tee -a "$results"
	fi
	[ -n "${KEEP:-}" ] || rm -rf "${WORK:?}/$name"
done
failed=$(grep -c '^not ok ' "$results")
echo "root: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped"
[ "$failed" -eq 0 ]
