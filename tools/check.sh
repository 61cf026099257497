#!/bin/sh
# Sets up, builds and passes every test. Prints how long each suite and each of its scripts took.
# Last line: "N passed, N failed, N skipped". Nothing that fails is run again. A skip that
# tests/skips.expected does not have is a failure. Statistics: "make stats".
# FUZZ_RUNS (default 5000) is how many inputs each fuzz target gets, the same ones each time.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh
# What accepts output instead of judging it.
unset LB_GOLDEN_UPDATE CLI_UPDATE

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
: >"$logs/times"

# Runs one suite; its last line is "NAME: N passed, N failed[, N skipped]". Counts go to a
# file: suites may run in a subshell. A line "   SCRIPT: N s" says how long a script took.
suite() {
	name=$1
	shift
	start=$(date +%s)
	echo "== $name"
	status=0
	"$@" >"$logs/$name" 2>&1 </dev/null || status=$?
	seconds=$(($(date +%s) - start))
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
		grep -E '^skip ' "$logs/$name" || true
	fi
	sed -n "s/^skip /$name /p" "$logs/$name" >"$logs/$name.skips"
	echo "$seconds $name" >>"$logs/times"
	sed -n "s/^   \([^ ]*\): \([0-9]*\) s\$/\2 $name\/\1/p" "$logs/$name" >>"$logs/times"
	echo "${p:-0} ${f:-0} ${s:-0}" >>"$logs/counts"
	echo "   ${last:-no result} (exit status $status, $seconds s)"
}

# Is there a package index, so that what could not be installed from it is a failure? An
# environment that was begun, and has no packages, has pip.
has_index() {
	for pip in build/venv/*/bin/pip; do
		[ ! -x "$pip" ] || "$pip" download -q --disable-pip-version-check --no-deps -d "$logs/index" pip \
			>/dev/null 2>&1 </dev/null || continue
		[ ! -d "$logs/index" ] || return 0
	done
	return 1
}

# Skips that are not expected on any machine of this kind: "SUITE NAME: reason"
unexpected_skips() {
	cat "$logs"/*.skips >"$logs/skips"
	sed -n '/^#/d; /^no-index: /d; /./p' tests/skips.expected >"$logs/expected"
	if grep -q build/venv/ "$logs/skips" && ! has_index; then
		sed -n 's/^no-index: //p' tests/skips.expected >>"$logs/expected"
	fi
	grep -vxE -f "$logs/expected" "$logs/skips" || true
}

started=$(date +%s)
tools/setup.sh test
MAKEFLAGS="-s -j$(nproc)"
export MAKEFLAGS
make DEVELOPER=1
echo "$(($(date +%s) - started)) setup-and-build" >>"$logs/times"

# Two at a time: most of them keep one CPU busy.
{
	suite lint make lint
	suite tools tests/tools/run.sh
	suite python make check-python
} >"$logs/beside" &
beside=$!
# The sanitizer's build runs all of them; two say more without its shadow memory.
suite unit-sanitized make SAN=address,undefined unit
suite fuzz make fuzz FUZZ_RUNS="${FUZZ_RUNS:-5000}"
suite unit make DEVELOPER=1 unit UNIT_SRCS="tests/unit/worker/sandbox.c tests/unit/worker/worker.c"
suite replay make SAN=address,undefined replay
suite cli make cli
wait "$beside" || echo "0 1 0" >>"$logs/counts"
cat "$logs/beside"
# What is sampled has the machine to itself.
suite root make check-root
give_back

echo "== seconds of suites, and of scripts in them"
echo "$(($(date +%s) - started)) all" >>"$logs/times"
sort -rn "$logs/times" | awk '{ printf "%6d  %s\n", $1, $2 }'
unexpected_skips | while read -r skip; do
	echo "not ok $skip: this skip is not in tests/skips.expected"
	echo "0 1 0" >>"$logs/counts"
done >"$logs/skips-unexpected"
# Again, next to the sum: what was said above is far away by now.
grep -hE '^(not ok |FAILED|\[  FAILED  \])' "$logs"/* | sort -u || true
awk '{ p += $1; f += $2; s += $3 }
	END { print p " passed, " f " failed, " s " skipped"; exit (f > 0) }' "$logs/counts"
