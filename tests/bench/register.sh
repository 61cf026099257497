#!/bin/sh
# The cost of a registration of JIT code for the program, with and without the probe.
set -eu
: "${TOP:?}"
make -s -C "$TOP" build/tests/bench/register >&2
echo "## Registering code that a JIT made"
echo
echo "The program registers objects of 5 KB; rounds take turns. Times are of one call in µs: the medians of the rounds' medians and 99th percentiles."
echo
echo "| registrations | the program is | median | 99 % | in the probe, mean | lost |"
echo "|---|---|---|---|---|---|"
"$TOP/build/tests/bench/register" 850 7 850
"$TOP/build/tests/bench/register" 0 7 20000
