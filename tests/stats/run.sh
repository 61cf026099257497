#!/bin/sh
# Statistics, as root: shares, rates and sums with the narrow bounds that a busy machine can
# break, which tools/check.sh therefore does not have. Run before an issue is called
# resolved, on a machine that has nothing else to do; a quarter of an hour.
# This folder has what the check has nothing of; the rest is in the scripts of tests/root that have narrow bounds.
# usage: tests/stats/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all of these)
# What is told, and what runs once more: tests/root/run.sh.
[ $# -gt 0 ] || { echo "usage: tests/stats/run.sh BIN [SCRIPT...]" >&2; exit 2; }
SUITE=stats exec "$(dirname "$0")/../root/run.sh" "$@"
