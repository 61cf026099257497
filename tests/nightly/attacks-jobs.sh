#!/bin/sh
# Attacks 8, 9 and 10 of docs/security.md with a thousand tries each: tests/root/jobs.sh has a hundred.
# Takes 60 s.
LB_JOBS=1000
. "${TOP:?}/tests/root/jobs.sh"
