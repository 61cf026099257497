#!/bin/sh
# CPU of "top -a" beside that of "record -a", on a busy machine, at 99 Hz.
# TOP_ROUNDS: paired runs (3). TOP_SECONDS: of each that are measured (30).
. "${TOP:?}/tests/root/lib.sh"
hot=$(build hot.c) && short=$(build shortlived.c) || exit 1
set --
if has_numba new "the Numba program"; then
	set -- "$PYTHON" "$WORKLOADS/python/dither.py"
fi
python3 "$TOP/tests/bench/top.py" "${TOP_ROUNDS:-3}" "${TOP_SECONDS:-30}" "$LB" "$hot" "$short" "$@"
