#!/bin/sh
# Sets up, builds and passes every test. Prints how long each suite and each of its scripts took.
# Last line: "N passed, N failed, N skipped[, N inconclusive]". Nothing that fails is run again. A
# skip that tests/skips.expected does not have is a failure. Statistics: "make stats".
# FUZZ_RUNS (default 5000) is how many inputs each fuzz target gets, the same ones each time.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh
# What accepts output instead of judging it.
unset LB_GOLDEN_UPDATE CLI_UPDATE

. tools/suites.sh

# Is there a package index, so that what could not be installed from it is a failure? An
# environment that was begun, and has no packages, has pip; if none was, one is made.
has_index() {
	[ -n "$(ls build/venv/*/bin/pip 2>/dev/null)" ] || python3 -m venv "$logs/venv" >/dev/null 2>&1 || return 0
	for pip in build/venv/*/bin/pip "$logs/venv/bin/pip"; do
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
	status=0
	grep -vxE -f "$logs/expected" "$logs/skips" >"$logs/unexpected" || status=$?
	[ $status -le 1 ] || echo "tests/skips.expected: a line of it is no regular expression" >"$logs/unexpected"
	cat "$logs/unexpected"
}

MAKEFLAGS="-s -j$(nproc)"
export MAKEFLAGS
# While packages are fetched, what needs none of these is compiled.
tools/setup.sh build
tools/setup.sh test &
setup=$!
make DEVELOPER=1
make SAN=address,undefined build-address-undefined/liblineburn.a
wait "$setup"
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
# Links in the same folder.
suite replay make SAN=address,undefined replay
# Not beside those: both are built in the sanitizers' folder.
suite fuzz make fuzz FUZZ_RUNS="${FUZZ_RUNS:-5000}" >"$logs/fuzzing" &
fuzzing=$!
suite unit env LB_UNIT_FILTER=worker:memory_is_limited make DEVELOPER=1 unit \
	UNIT_SRCS="tests/unit/worker/sandbox.c tests/unit/worker/worker.c"
suite cli make cli
for lane in "$beside" "$fuzzing"; do
	wait "$lane" || echo "0 1 0" >>"$logs/counts"
done
cat "$logs/beside" "$logs/fuzzing"
# What is sampled has the machine to itself.
suite root make check-root
give_back

unexpected_skips | while read -r skip; do
	echo "not ok $skip: this skip is not in tests/skips.expected"
	echo "0 1 0" >>"$logs/counts"
done >"$logs/skips-unexpected"
suites_end
