#!/bin/sh
# A thousand processes a second, each gone within a millisecond: nothing is lost in silence,
# memory is bounded, and what can be named is (half of it at least; tests/stats/storm.sh asks
# for more, and blows longer).
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-storm.sh"

storm 4 || exit 0
figure storm-named storm_named 0.5
storm_checks
