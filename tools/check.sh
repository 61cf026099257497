#!/bin/sh
# Sets up, builds and passes every test. Last line: "N passed, N failed, N skipped".
# FUZZ_SECONDS (default 3) is how long each fuzz target runs beyond its corpus.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs one suite; its last line is "NAME: N passed, N failed[, N skipped]". Counts go to a
# file: suites may run in a subshell.
suite() {
	name=$1
	shift
	start=$(date +%s)
	echo "== $name"
	status=0
	"$@" >"$logs/$name" 2>&1 </dev/null || status=$?
	last=$(grep -E '^[a-z-]+: [0-9]+ passed, [0-9]+ failed' "$logs/$name" | tail -n 1)
	p=$(echo "$last" | sed -n 's/.*: \([0-9]*\) passed.*/\1/p')
	f=$(echo "$last" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')
	s=$(echo "$last" | sed -n 's/.* \([0-9]*\) skipped.*/\1/p')
	# A suite that says nothing, tests nothing, or fails without saying what, has failed.
	if [ "${f:-0}" -eq 0 ] && { [ "$status" -ne 0 ] || [ "${p:-0}" -eq 0 ]; }; then
		f=1
	fi
	if [ "${f:-0}" -ne 0 ]; then
		tail -n 300 "$logs/$name"
	else
		grep -iE '^(skip|again) ' "$logs/$name" || true
	fi
	echo "${p:-0} ${f:-0} ${s:-0}" >>"$logs/counts"
	echo "   ${last:-no result} (exit status $status, $(($(date +%s) - start)) s)"
}

tools/setup.sh test
MAKEFLAGS="-s -j$(nproc)"
export MAKEFLAGS
make DEVELOPER=1

# Two at a time: most of them keep one CPU busy.
{
	suite lint make lint
	suite tools tests/tools/run.sh
	suite cli make cli
	suite python make check-python
	suite fuzz make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-3}"
} >"$logs/beside" &
beside=$!
suite unit make DEVELOPER=1 unit
suite unit-sanitized make SAN=address,undefined unit
wait "$beside" || echo "0 1 0" >>"$logs/counts"
cat "$logs/beside"
# What is sampled has the machine to itself.
suite root make check-root
give_back

# Again, next to the sum: what was said above is far away by now.
grep -hE '^(not ok |again |FAILED|\[  FAILED  \])' "$logs"/* | sort -u || true
awk '{ p += $1; f += $2; s += $3 }
	END { print p " passed, " f " failed, " s " skipped"; exit (f > 0) }' "$logs/counts"
