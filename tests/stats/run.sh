#!/bin/sh
# Statistics, as root: shares, rates and sums with narrow bounds. A busy machine can break these, so
# tools/check.sh leaves them out. Run it on a quiet machine before an issue is resolved; a quarter of
# an hour.
# Runs the scripts of this folder, and those of tests/root that have narrow bounds.
# usage: tests/stats/run.sh BIN [SCRIPT...]   (names of scripts without .sh; default: all of these)
# tests/root/run.sh describes the output, and which scripts run once more.
[ $# -gt 0 ] || { echo "usage: tests/stats/run.sh BIN [SCRIPT...]" >&2; exit 2; }
SUITE=stats exec "$(dirname "$0")/../root/run.sh" "$@"
