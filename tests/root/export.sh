#!/bin/sh
# Exports of real recordings, compared with the recordings; build ids of code without a file.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"

# recorded NAME COMMAND...: writes NAME.pb.gz
recorded() {
	recorded_name=$1
	shift
	"$LB" run -F 499 -o "$recorded_name.pb.gz" -- "$@" >/dev/null 2>"$recorded_name.log" ||
		fail export-recorded "$(tail -n 1 "$recorded_name.log")"
}
# exported NAME: the export of NAME.pb.gz obeys the rules of servers, and has annotate's figures
exported() {
	"$LB" export -f pprof "$1.pb.gz" -o "$1.push.pb.gz" && "$RULES" --push "$1.push.pb.gz" &&
		"$LB" annotate --json "$1.pb.gz" >"$1.json" &&
		python3 -S "$TOP/tests/root/export.py" "$1.pb.gz" "$1.push.pb.gz" "$1.json"
}

cat >calls.py <<'END'
import json
import time
def leaf(n):
    return sum(i * i for i in range(n))
def middle(n):
    leaf(n)
    return json.dumps([n] * 200)
end = time.process_time() + 0.7
while time.process_time() < end:
    middle(2000)
END
cp calls.py other.py
inline=$(build inline.c)
recorded compiled "$inline" "$(rounds "$inline" 0.5)"
recorded python python3 calls.py
figure export-compiled exported compiled
figure export-python exported python
if has_numba new export-numba; then
	recorded numba "$PYTHON" "$WORKLOADS/python/dither.py" slow 0.7
	figure export-numba exported numba
fi
"$LB" record -a -F 199 -d 2 -o machine.pb.gz >/dev/null 2>machine.log || fail export-recorded "$(tail -n 1 machine.log)"
figure export-machine exported machine

# id_of NAME MAPPING: the build id of such code, [python] or [jit], in NAME.pb.gz
id_of() {
	python3 -S - "$TOP/tests/root" "$1.pb.gz" "$2" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import pprof_file
profile = pprof_file.read(sys.argv[2])
strings = pprof_file.string_table(profile)
mappings = [dict(pprof_file.fields(m)) for number, m in pprof_file.fields(profile) if number == 3]
print(*sorted({strings[m.get(6, 0)] for m in mappings if strings[m.get(5, 0)] == sys.argv[3]}))
END
}
# ids_tell_programs MAPPING NAME AGAIN OTHER: two recordings of one program have one id, another program has another
ids_tell_programs() {
	ids_first=$(id_of "$2" "$1") ids_again=$(id_of "$3" "$1") ids_other=$(id_of "$4" "$1")
	echo "$2: $ids_first, $ids_again; $4: $ids_other"
	[ -n "$ids_first" ] && [ "$ids_first" = "$ids_again" ] && [ -n "$ids_other" ] && [ "$ids_first" != "$ids_other" ]
}
recorded again python3 ./calls.py
recorded other python3 other.py
check export-ids ids_tell_programs "[python]" python again other
# Code of a JIT: the second run has more code, and at other addresses.
gdbjit=$(build gdbjit.c)
cp "$gdbjit" other-gdbjit
recorded jit "$gdbjit" 3 0.3
recorded jit-again "$gdbjit" 500 0.3
recorded jit-other ./other-gdbjit 3 0.3
check export-ids-jit ids_tell_programs "[jit]" jit jit-again jit-other
# labels_are_named: --labels adds what servers do not get otherwise
labels_are_named() {
	"$LB" export -f pprof --labels pid,comm python.pb.gz -o pid.pb.gz &&
		! "$RULES" --push pid.pb.gz >why && grep -q "has the label pid" why
}
check export-labels labels_are_named
