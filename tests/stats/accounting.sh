#!/bin/sh
# CPU time of the profile is CPU time of the kernel: of processes, short ones, the machine.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-accounting.sh"

statistic accounting accounting 2 150
