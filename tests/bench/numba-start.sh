#!/bin/sh
# How many stacks of a Numba program are complete, derived, guessed and cut, from its first instruction on.
# START_SECONDS: CPU time of each recording (13). LB_OTHER: another lineburn, measured in turns.
. "${TOP:?}/tests/root/lib.sh"
seconds=${START_SECONDS:-13}
python=$TOP/build/venv/numba-new/bin/python
[ -x "$python" ] || { echo "numba-start: tools/venv.sh makes $python" >&2; exit 1; }
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP

echo "## Whole stacks from the first instruction: Numba"
echo
echo "| program | BLAS threads | rate | samples | complete | derived | guessed | no user stack | no table yet | no mapping known | other |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for threads in 1 ""; do
	for rate in 99 999; do
		for round in 1 2 3; do
			for bin in "$LB" $LB_OTHER; do
				# shellcheck disable=SC2086 # no variable at all if it is empty
				env ${threads:+OPENBLAS_NUM_THREADS=$threads} "$bin" run -F $rate -o start.pb.gz -- \
					"$python" "$WORKLOADS/python/known.py" "$seconds" truth >start.out 2>&1 || exit 1
				"$bin" annotate --json start.pb.gz >start.json
				python3 - "$(basename "$bin") $round" "${threads:-all}" $rate <<'END'
import json
import sys
stacks = json.load(open("start.json", encoding="ascii"))["stacks"]
total = sum(stacks.values())
parts = [stacks[of] for of in ("complete", "derived", "guessed", "no-user", "no-table", "no-mapping")]
parts.append(total - sum(parts))
shares = " | ".join(f"{100 * part / total:.2f} %" for part in parts)
program, threads, rate = sys.argv[1:]
print(f"| {program} | {threads} | {rate} Hz | {total} | {shares} |")
END
			done
		done
	done
done
