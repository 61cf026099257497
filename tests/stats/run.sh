#!/bin/sh
# Statistics, as root: shares, rates and sums with the narrow bounds that a busy machine can
# break, which tools/check.sh therefore has wide or not at all. Run before an issue is called
# resolved, on a machine that has nothing else to do; a quarter of an hour.
# usage: tests/stats/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all)
# Scripts are those of this folder, and those of tests/root that have bounds of two widths.
# What is told, and what runs once more: tests/root/run.sh.
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { echo "usage: tests/stats/run.sh BIN [SCRIPT...]" >&2; exit 2; }
if [ $# -eq 1 ]; then
	for script in $(grep -lw statistic "$here"/../root/*.sh) "$here"/*.sh; do
		name=$(basename "$script" .sh)
		case $name in
		run | lib | lib-*) ;;
		*) set -- "$@" "$name" ;;
		esac
	done
fi
SUITE=stats exec "$here/../root/run.sh" "$@"
