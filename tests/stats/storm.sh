#!/bin/sh
# A thousand processes a second for half a minute: nine of ten samples are named.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-storm.sh"

storm 30 || exit 0
statistic storm-named storm_named 0.9
storm_checks
