#!/bin/sh
# Sets up, builds and passes every test. Last line: "N passed, N failed, N skipped".
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh

passed=0
failed=0
skipped=0
jobs=$(nproc)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs one suite; its last line is "NAME: N passed, N failed[, N skipped]".
suite() {
	name=$1
	shift
	start=$(date +%s)
	echo "== $name"
	status=0
	"$@" >"$logs/$name" 2>&1 || status=$?
	last=$(grep -E '^[a-z-]+: [0-9]+ passed, [0-9]+ failed' "$logs/$name" | tail -n 1)
	p=$(echo "$last" | sed -n 's/.*: \([0-9]*\) passed.*/\1/p')
	f=$(echo "$last" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')
	s=$(echo "$last" | sed -n 's/.* \([0-9]*\) skipped.*/\1/p')
	# A suite that says nothing, or fails without saying what, has failed.
	if [ -z "$last" ] || { [ "$status" -ne 0 ] && [ "${f:-0}" -eq 0 ]; }; then
		f=$((${f:-0} + 1))
	fi
	if [ "$status" -ne 0 ] || [ "${f:-0}" -ne 0 ]; then
		cat "$logs/$name"
	else
		grep -E '^(skip|SKIP)' "$logs/$name" || true
	fi
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-0}))
	skipped=$((skipped + ${s:-0}))
	echo "   ${last:-no result} ($(($(date +%s) - start)) s)"
}

tools/setup.sh test
make -s -j"$jobs" DEVELOPER=1

suite lint make -s lint
suite unit make -s -j"$jobs" DEVELOPER=1 unit
suite unit-sanitized make -s -j"$jobs" SAN=address,undefined unit
suite cli make -s cli
suite root make -s check-root
suite fuzz make -s -j"$jobs" fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-5}"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
