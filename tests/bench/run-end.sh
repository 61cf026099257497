#!/bin/sh
# Time from the end of run's command to its listing, and the size of the file: a Numba and a C program of 5 s at 999 Hz.
# END_ROUNDS: paired runs of each (5). LB_OTHER: another lineburn, measured in turns.
. "${TOP:?}/tests/root/lib.sh"
hot=$(build hot.c) || exit 1
set -- "C (hot)" "$hot" 50
if has_numba new "the Numba program"; then
	set -- "Numba (dither)" "$PYTHON" "$WORKLOADS/python/dither.py" slow 5 -- "$@"
fi
python3 "$TOP/tests/bench/run-end.py" "${END_ROUNDS:-5}" "$LB${LB_OTHER:+,$LB_OTHER}" "$@"
