#!/bin/sh
# Lines of Numba code as "run" shows them: what is hot, that each line is right, every kind of function.
# Takes 35 s.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python

# programs_of WHICH: its members
programs_of() {
	if has_numba "$1" "numba-$1"; then
		member "dither-$1" "$PYTHON" "$programs/dither.py" slow 0.7
		member "known-$1" "$PYTHON" "$programs/known.py" 0.7 "known-$1.truth"
		member "prange-$1" "$PYTHON" "$programs/parallel.py" here 0.7
	fi
}
programs_of new
# Each kind with the older Numba, too: tests/nightly.
if [ -n "$members" ]; then
	member conv "$PYTHON" "$programs/conv.py" 2.5
	member fast-new "$PYTHON" "$programs/dither.py" fast 0.3
	member kinds-new "$PYTHON" "$programs/kinds.py" 0.1 kinds-new.truth
fi
programs_of old
[ -n "$members" ] || exit 0
together programs -F 999 --tid >why 2>&1 || fail numba-programs "$(tail -n 1 why)"
check numba-sums profile_has programs.json "sums_close()" "s['lost'] == 0"

# Nothing that ran in the JIT's code is anywhere but on lines of the program's text: but for what Numba
# itself brings, which has none.
within() {
	python3 - "$1.json" <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
jit = {f["name"]: f["file"] for f in d["functions"] if f["object"] == "[jit]" and f["self"]}
wrong = {name: file for name, file in jit.items() if not (file or "").endswith(".py")
         and not name.lower().startswith("nrt_") and not name.endswith("(call from Python)")}
if not jit or wrong:
    sys.exit(f"functions that are in no .py file: {wrong or 'none at all'}")
END
}
# kinds NAME SOURCE LEAST KIND=FUNCTION,...: each kind of work has samples on its own lines (truth.py)
kinds() {
	kinds_name=$1
	shift
	python3 "$TOP/tests/root/truth.py" there "$kinds_name.json" "${kinds_name}.truth" "$@"
}
for which in new old; do
	[ -e "dither-$which.json" ] || continue
	check numba-$which-dither profile_has dither-$which.json "in_order('dither.py', 'np.round')" \
		"[f['language'] for f in d['files'] if f['path'].endswith('/dither.py')] == ['numba']" \
		"any(name.endswith('dither_slow') for name in jit_functions())"
	check numba-$which-lines-are-of-python within dither-$which
	check numba-$which-known kinds known-$which "$programs/known.py" two=two,step
	check numba-$which-prange profile_has prange-$which.json \
		"self_('parallel.py grow') > 0" "self_('parallel.py square') > 0" \
		"any('prange in psum' in name for name in jit_functions())"
done
if [ -e kinds-new.json ]; then
	check numba-fast profile_has fast-new.json "file_self('dither.py') > 0" \
		"any(name.endswith('dither_fast') for name in jit_functions())"
	# Nobody has the text of a string, so it has no lines either; but its name.
	check numba-text-unknown profile_has kinds-new.json "function('in_string') > 0"
	# Compilation belongs to the line of the decorator.
	"$LB" annotate --json --charge=mine --skip-compile --pid "$(cat kinds-new.pid)" programs.pb.gz >kinds-new.json
	check numba-kinds kinds kinds-new "$programs/kinds.py" helped=helped,square \
		overloaded=overloaded,blend_overload 'in_cell=<ipython-input-7-0123456789ab>:1:4' in_string=
fi
# On two CPUs two threads have a part of it.
threads() {
	"$LB" report --json --by thread --pid "$(cat prange-new.pid)" programs.pb.gz >threads.json
	python3 -c '
import json, sys
groups = [g["samples"] for g in json.load(open("threads.json", encoding="ascii"))["groups"]]
sys.exit(f"samples of threads: {groups}" if sum(n >= 10 for n in groups) < 2 else 0)'
}
if [ ! -e prange-new.json ]; then
	:
elif [ "$(nproc)" -ge 2 ]; then
	check numba-prange-threads threads
else
	skip numba-prange-threads "one CPU"
fi
# All the work is in NumPy calls: the table says at which line, and which library line.
if [ -e conv.json ]; then
	check numba-conv profile_has conv.json "total('conv.py sum') >= self_('conv.py sum') > 0" "file_self('arraymath.py') > 0"
	"$LB" annotate --json --charge=mine --pid "$(cat conv.pid)" programs.pb.gz >conv-mine.json
	check numba-conv-mine profile_has conv-mine.json "in_order('conv.py', 'HOT sum')" "self_('conv.py sum') > 0"
fi

# The line of each sampled address is what addr2line has for it.
has_numba new numba-addresses || exit 0
member at-dither "$PYTHON" "$programs/saved.py" objects-dither "$programs/dither.py" slow 0.8
member at-known "$PYTHON" "$programs/saved.py" objects-known "$programs/known.py" 0.8 addresses.truth
member at-prange "$PYTHON" "$programs/saved.py" objects-prange "$programs/parallel.py" here 0.8
together addresses -F 999 >why 2>&1 || fail numba-addresses "$(tail -n 1 why)"
for name in dither known prange; do
	figure numba-addresses-$name python3 "$TOP/tests/root/addresses.py" addresses.pb.gz objects-$name "$(cat at-$name.pid)"
done
