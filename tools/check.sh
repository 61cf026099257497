#!/bin/sh
# Sets up, builds and runs every test. Prints how long each suite and each of its scripts took.
# Last line: "N passed, N failed, N skipped[, N inconclusive]". A failed test is not run again. A
# skip that tests/skips.expected does not list is a failure. Statistics: "make stats".
# FUZZ_RUNS (default 1000): number of inputs for each fuzz target, the same ones each time.
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh
# These would accept output instead of comparing it.
unset LB_GOLDEN_UPDATE CLI_UPDATE

. tools/suites.sh

MAKEFLAGS="-s -j$(nproc)"
export MAKEFLAGS
# Compile the code that needs no test packages while these are downloaded.
tools/setup.sh build
tools/setup.sh test &
setup=$!
make DEVELOPER=1
make SAN=address,undefined build-address-undefined/liblineburn.a
wait "$setup"
echo "$(($(date +%s) - started)) setup-and-build" >>"$logs/times"

# Two at a time: most suites keep one CPU busy.
{
	suite lint make lint
	suite tools tests/tools/run.sh
	suite python make check-python
	suite cli-static make cli-static
} >"$logs/beside" &
beside=$!
# All unit tests run with sanitizers. Two of them test more without their shadow memory.
suite unit-sanitized make SAN=address,undefined unit
# Not at the same time: both link in the same folder.
suite replay make SAN=address,undefined replay
# After those, for the same reason.
suite fuzz make fuzz FUZZ_RUNS="${FUZZ_RUNS:-1000}" >"$logs/fuzzing" &
fuzzing=$!
suite unit env LB_UNIT_FILTER=worker:memory_is_limited make DEVELOPER=1 unit \
	UNIT_SRCS="tests/unit/worker/sandbox.c tests/unit/worker/worker.c"
suite cli make cli
for lane in "$beside" "$fuzzing"; do
	wait "$lane" || echo "0 1 0" >>"$logs/counts"
done
cat "$logs/beside" "$logs/fuzzing"
# Tests that sample run while no other suite does.
suite root make check-root
give_back

suites_judge_skips check
suites_end
