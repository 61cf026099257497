#!/bin/sh
# Lines of Numba code under "run": hottest line, known answers, every kind of function.
# Takes 45 s.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python

# saving NAME PROGRAM...: adds a member; in the check it also saves the objects that Numba compiles
saving() {
	saving_name=$1
	shift
	# shellcheck disable=SC2046 # words
	member "$saving_name" "$PYTHON" $(longer "$programs/saved.py objects-$saving_name" "") "$@"
}
# programs_of WHICH: adds the members of this Numba
programs_of() {
	if has_numba "$1" "numba-$1"; then
		saving "dither-$1" "$programs/dither.py" slow "$(longer 0.7 3)"
		saving "known-$1" "$programs/known.py" "$(longer 0.7 5.6)" "known-$1.truth"
		saving "prange-$1" "$programs/parallel.py" here "$(longer 0.7 2.5)"
		# The check leaves out kinds with the older Numba; tests/nightly has them.
		[ "$SUITE-$1" = root-old ] || member "kinds-$1" "$PYTHON" "$programs/kinds.py" "$(longer 0.1 0.3)" "kinds-$1.truth"
	fi
}
programs_of new
if [ -n "$members" ]; then
	member conv "$PYTHON" "$programs/conv.py" "$(longer 1 2)"
	member fast-new "$PYTHON" "$programs/dither.py" fast 0.3
fi
programs_of old
[ -n "$members" ] || exit 0
together programs -F 999 --tid >why 2>&1 || fail numba-programs "$(tail -n 1 why)"
check numba-sums closes programs

# within NAME [FEW]: all samples in JIT code are on lines of .py files, except Numba's own runtime
# functions, each with at most FEW samples, and code that libffi makes for callbacks: one, or 1 %
within() {
	python3 - "$1.json" "${2:-inf}" <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
jit = {f["name"]: (f["file"], f["self"]) for f in d["functions"] if f["object"] == "[jit]" and f["self"]}
few = max(1, sum(n for _, n in jit.values()) / 100)
wrong = {name: file for name, (file, n) in jit.items() if not (file or "").endswith(".py") and not (
    name.startswith("code of a JIT, not described") and n <= few or
    n <= float(sys.argv[2]) and (name.lower().startswith("nrt_") or name.endswith("(call from Python)")))}
if not jit or wrong:
    sys.exit(f"functions that are in no .py file: {wrong or 'none at all'}")
END
}
# known there|shares NAME: each function of known.py has its samples on its lines (truth.py)
known() {
	python3 -S "$TOP/tests/root/truth.py" "$1" "$2.json" "$2.truth" "$programs/known.py" two=two,step
}
for which in new old; do
	[ -e "dither-$which.json" ] || continue
	check numba-$which-dither profile_has dither-$which.json "in_order('dither.py', 'np.round')" \
		"[f['language'] for f in d['files'] if f['path'].endswith('/dither.py')] == ['numba']" \
		"any(name.endswith('dither_slow') for name in jit_functions())"
	narrow numba-$which-dither-share profile_has dither-$which.json "hottest() == is_at('dither.py =np.round')" \
		"near(self_('dither.py =np.round'), 0.53 * file_self('dither.py'), 0.08 * file_self('dither.py'))"
	check numba-$which-lines-are-of-python within dither-$which
	check numba-$which-known known there known-$which
	narrow numba-$which-known-answers known shares known-$which
	check numba-$which-prange profile_has prange-$which.json \
		"self_('parallel.py grow') > 0" "self_('parallel.py square') > 0" \
		"any('prange in psum' in name for name in jit_functions())"
	narrow numba-$which-prange-share profile_has prange-$which.json \
		"self_('parallel.py grow') + self_('parallel.py square') > 0.8 * file_self('parallel.py') > 25"
	[ -e kinds-$which.json ] || continue
	# A function compiled from a string has a name, but no lines: there is no source file.
	check numba-$which-text-unknown profile_has kinds-$which.json "function('in_string') > 0"
	narrow numba-$which-text-unknown-share profile_has kinds-$which.json "function('in_string') > 2"
	# Leave out compilation, which is charged to the line of the decorator.
	part_of kinds-$which annotate --json --charge=mine --skip-compile >kinds-$which.json
	check numba-$which-kinds of_kinds there kinds-$which.json kinds-$which.truth
	narrow numba-$which-kinds-seconds of_kinds seconds kinds-$which.json kinds-$which.truth
done
if [ -e fast-new.json ]; then
	check numba-fast profile_has fast-new.json "file_self('dither.py') > 0" \
		"any(name.endswith('dither_fast') for name in jit_functions())"
	narrow numba-lines-are-of-python-but-few within dither-new 5
fi
# shellcheck disable=SC2046 # words
figure numba-defs python3 -S "$TOP/tests/root/defs.py" $(sed 's/[^ ]\{1,\}/&.pb.gz/g' programs.parts) -- "$programs"/*.py
# threads SAMPLES: at least two threads have that many samples
threads() {
	part_of prange-new report --json --by thread >threads.json
	python3 -c '
import json, sys
groups = [g["samples"] for g in json.load(open("threads.json", encoding="ascii"))["groups"]]
sys.exit(f"samples of threads: {groups}" if sum(n >= int(sys.argv[1]) for n in groups) < 2 else 0)' "$1"
}
if [ ! -e prange-new.json ]; then
	:
elif [ "$(nproc)" -ge 2 ]; then
	check numba-prange-threads threads 10
	narrow numba-prange-threads-share threads 301
else
	skip numba-prange-threads "one CPU"
fi
# All the work is in NumPy calls: samples are on the calling line, and on lines of the library.
if [ -e conv.json ]; then
	check numba-conv profile_has conv.json "total('conv.py sum') >= self_('conv.py sum') > 0" "file_self('arraymath.py') > 0"
	narrow numba-conv-share profile_has conv.json "total('conv.py sum') > 15" \
		"self_('conv.py sum') + file_self('arraymath.py') > 20" "miss('jit-no-lines') < 3"
	part_of conv annotate --json --charge=mine --skip-compile >conv-mine.json
	check numba-conv-mine profile_has conv-mine.json "in_order('conv.py', 'HOT sum')" "self_('conv.py sum') > 0"
fi

# Each sampled address has the line that addr2line finds.
[ -e dither-new.pid ] && [ "$SUITE" = root ] || exit 0
for name in dither-new known-new prange-new; do
	figure numba-addresses-${name%-new} python3 -S "$TOP/tests/root/addresses.py" $name.pb.gz objects-$name "$(cat $name.pid)"
done
