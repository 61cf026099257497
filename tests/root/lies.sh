#!/bin/sh
# Targets whose registers, unwind tables or interpreters lie, end to end: each page fault is a
# sample, so each stack is known exactly.
# Takes 10 s.
. "${TOP:?}/tests/root/lib.sh"

[ "$(uname -m)" = x86_64 ] || {
	skip lies "the lies are those of x86-64"
	exit 0
}
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -o lies "$WORKLOADS/lies.c" "$WORKLOADS/lies.S" -pthread || exit 1
# shellcheck disable=SC2086
gcc $C_FLAGS -rdynamic -o python3.13 "$WORKLOADS/lying-python.c" "$WORKLOADS/not-python.c" -pthread || exit 1
PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/lies.py" "$LB" "$PWD/lies" "$PWD/python3.13"
