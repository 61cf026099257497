#!/bin/sh
# Tests the hook in Pythons with and without Numba; needs no root.
# usage: tests/python/run.sh BIN [SCRIPT...]   (test_*.py; default: all)
# LB_NUMBA_NEW: a Python with Numba (default: build/venv/numba-new). LB_NUMBA_OLD: a second one,
# with an older Numba. SWAP_SECONDS: how long the installer's race is tested (default 1).
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason"; each script its time.
# One script per CPU runs at a time.
# Last line: "python: N passed, N failed, N skipped".
here=$(cd "$(dirname "$0")" && pwd)
LB=$(realpath "${1:?usage: run.sh BIN [SCRIPT...]}")
shift
[ $# -gt 0 ] || set -- "$here"/test_*.py
TMPDIR=$(mktemp -d)
chmod 755 "$TMPDIR"
export LB TMPDIR
unset PYTHONPATH PYTHONHOME LINEBURN_PYTHON_HOOK LINEBURN_NUMBA_CACHE_DIR NUMBA_CACHE_DIR
[ -n "${KEEP:-}" ] || trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM

results=$TMPDIR/results
: >"$results"
# shellcheck disable=SC2016 # another shell expands it
printf '%s\n' "$@" | xargs -P "$(nproc)" -I SCRIPT sh -c '
	name=$(basename "$1" .py)
	start=$(date +%s)
	timeout 900 python3 -B "$1" >"$TMPDIR/$name.out" 2>"$TMPDIR/$name.err" ||
		echo "not ok $name.py: ended with status $?: $(tail -n 1 "$TMPDIR/$name.err")" >>"$TMPDIR/$name.out"
	grep -qE "^(ok|not ok|skip) " "$TMPDIR/$name.out" ||
		echo "not ok $name.py: it has no result" >>"$TMPDIR/$name.out"
	echo "   $name: $(($(date +%s) - start)) s" >>"$TMPDIR/$name.out"
' sh SCRIPT
for script in "$@"; do
	name=$(basename "$script" .py)
	grep -E '^(ok|not ok|skip) ' "$TMPDIR/$name.out" | tee -a "$results"
	tail -n 1 "$TMPDIR/$name.out"
done
failed=$(grep -c '^not ok ' "$results")
echo "python: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped"
[ "$failed" -eq 0 ]
