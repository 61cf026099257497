#!/bin/sh
# Runs Profila (https://github.com/pythonspeed/profila) on the same programs. Profila comes
# from PyPI, its debugger from the distribution. Called by numba.sh.
. "${TOP:?}/tests/root/lib.sh"

echo "## Beside Profila"
echo
has_numba new "beside Profila" || exit 0
if ! command -v gdb >/dev/null; then
	echo "(gdb is not here: not measured)"
	exit 0
fi
if ! "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps --target "$WORK/profila" \
	profila pygdbmi >pip.log 2>&1; then
	echo "(Profila could not be had: $(tail -n 1 pip.log))"
	exit 0
fi
# Profila looks here for its debugger, and would download it otherwise.
mkdir -p home/.profila-gdb/bin
ln -sf "$(command -v gdb)" home/.profila-gdb/bin/gdb
exec "$PYTHON" "$TOP/tests/bench/numba-profila.py" "$LB" "$PYTHON" "$WORKLOADS/python" \
	"$WORK/profila" "${NUMBA_SECONDS:-2}"
