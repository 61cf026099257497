#!/bin/sh
# How often diff raises an alarm for two recordings of one program, and how often it finds a line that was made 10 % slower.
# PAIRS: of equal programs (100). SLOWER_PAIRS: of the slower one (20). ROUNDS: of each recording, 0.1 s each (20).
. "${TOP:?}/tests/root/lib.sh"
hot=$(build hot.c) || exit 1
mkdir slower && sed 's/three(x, 30000000)/three(x, 33000000)/' "$WORKLOADS/hot.c" >slower/hot.c &&
	gcc -O2 -g -o slower/hot slower/hot.c || exit 1
python3 "$TOP/tests/bench/diff-pairs.py" "${PAIRS:-100}" "${SLOWER_PAIRS:-20}" "${ROUNDS:-20}" "$LB" "$hot" "$PWD/slower/hot" \
	"$(dirname "$(realpath "$WORKLOADS/hot.c")")=$PWD/slower"
