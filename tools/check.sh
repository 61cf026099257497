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

suites_judge_skips check
suites_end
