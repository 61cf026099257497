#!/bin/sh
# Numba in joblib's workers; each kind of function in a recording of the whole machine, without
# uprobes, and with an older Numba.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
has_numba new numba-kinds || exit 0

joblib() {
	record_json joblib -F 999 -- "$PYTHON" "$programs/parallel.py" joblib 1 || { tail -n 1 joblib.err; return 1; }
	sed -n 's/^\([0-9][0-9]*\) [0-9][0-9]*$/\1/p' joblib.txt | head -n 2 >workers
	[ "$(wc -l <workers)" -eq 2 ] || { echo "workers: $(tr '\n' ' ' <workers)"; return 1; }
	while read -r worker; do
		"$LB" annotate --json --pid "$worker" joblib.pb.gz >worker.json
		profile_has worker.json "self_('parallel.py grow') > 0" "self_('parallel.py square') > 0" || return 1
	done <workers
}
check numba-joblib joblib

everybodys() {
	"$LB" record -a -F 999 -o everybodys.pb.gz >everybodys.out 2>everybodys.err &
	recorder=$!
	wait_until 30 records $recorder || { echo "it does not begin"; return 1; }
	PYTHONPATH=$("$LB" python-hook --path) "$PYTHON" "$programs/kinds.py" 0.3 kinds.truth &
	kinds=$!
	wait $kinds
	kill -INT $recorder
	wait $recorder || { tail -n 1 everybodys.err; return 1; }
	"$LB" annotate --leaf --json --pid $kinds everybodys.pb.gz >kinds.json
	of_kinds there kinds.json kinds.truth
}
check numba-whole-machine-kinds everybodys

has_numba old numba-old-kinds || exit 0
old() {
	record_json old -F 999 -- "$PYTHON" "$programs/kinds.py" 0.3 old.truth || { tail -n 1 old.err; return 1; }
	profile_has old.json "function('in_string') > 0" "sums_close()" "s['lost'] == 0" || return 1
	"$LB" annotate --json --charge=mine --skip-compile old.pb.gz >old.json
	of_kinds there old.json old.truth
}
check numba-old-kinds old
