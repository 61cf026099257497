#!/bin/sh
# Numba under "run": speed, compile time, known answers, and a comparison with Profila.
# NUMBA_ROUNDS (7): paired rounds; NUMBA_SECONDS (2): of each measurement.
. "${TOP:?}/tests/root/lib.sh"

has_numba new "the Numba section" || exit 0
"$PYTHON" "$TOP/tests/bench/numba-speed.py" "$LB" "$PYTHON" "$WORKLOADS/python" \
	"${NUMBA_ROUNDS:-7}" "${NUMBA_SECONDS:-2}" || exit 1
echo
"$PYTHON" "$TOP/tests/bench/numba-attached.py" "$LB" "$PYTHON" "$WORKLOADS/python" 40 || exit 1

echo
echo "## Numba: known answers at 999 Hz"
echo
echo "| Numba | function: samples, by its own clock |"
echo "|---|---|"
for which in new old; do
	has_numba $which "known answers" >/dev/null || continue
	record_json known -F 999 -- "$PYTHON" "$WORKLOADS/python/known.py" 12 known.truth || exit 1
	said=$(python3 "$TOP/tests/root/truth.py" shares known.json known.truth \
		"$WORKLOADS/python/known.py" two=two,step 2>&1)
	echo "| $("$PYTHON" -c 'import numba; print(numba.__version__)') | $(echo "$said" | paste -sd ';') |"
done

echo
"$TOP/tests/bench/numba-profila.sh"
