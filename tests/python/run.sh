#!/bin/sh
# The hook in Pythons, with and without Numba; needs no root.
# usage: tests/python/run.sh BIN [SCRIPT...]   (test_*.py; default: all)
# LB_NUMBA_NEW, LB_NUMBA_OLD: Pythons that have a Numba (default: build/venv/numba-new, -old).
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason".
# After each script: how long it took.
# Last line: "python: N passed, N failed, N skipped".
here=$(cd "$(dirname "$0")" && pwd)
LB=$(realpath "${1:?usage: run.sh BIN [SCRIPT...]}")
shift
[ $# -gt 0 ] || set -- "$here"/test_*.py
TMPDIR=$(mktemp -d)
export LB TMPDIR
unset PYTHONPATH PYTHONHOME LINEBURN_PYTHON_HOOK LINEBURN_NUMBA_CACHE_DIR NUMBA_CACHE_DIR
[ -n "${KEEP:-}" ] || trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM

results=$TMPDIR/results
: >"$results"
for script in "$@"; do
	start=$(date +%s)
	timeout 900 python3 -B "$script" >"$TMPDIR/out" 2>"$TMPDIR/err" || {
		echo "not ok $(basename "$script"): ended with status $?: $(tail -n 1 "$TMPDIR/err")" >>"$TMPDIR/out"
	}
	grep -E '^(ok|not ok|skip) ' "$TMPDIR/out" | tee -a "$results"
	echo "   $(basename "$script" .py): $(($(date +%s) - start)) s"
done
failed=$(grep -c '^not ok ' "$results")
echo "python: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped"
[ "$failed" -eq 0 ]
