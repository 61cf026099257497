#!/bin/sh
# Compares Numba's code with and without line tables: see hook.py.
set -- "$TOP"/build/venv/numba-new/bin/python "$TOP"/build/venv/numba-old/bin/python
for python in "$@"; do
	shift
	[ ! -x "$python" ] || set -- "$@" "$python"
done
[ $# -gt 0 ] || { echo "no build/venv/numba-new (tools/venv.sh makes it)" >&2; exit 1; }
exec python3 -B "$TOP/tests/bench/hook.py" "$@"
