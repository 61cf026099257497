#!/bin/sh
# Lines of Numba code as "run" shows them: what is hot, how true it is, every kind of function.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python

# listing WHICH: the dither's
listing() {
	has_numba "$1" "numba-$1-dither" || return 0
	record_json "dither-$1" -F 999 -- "$PYTHON" "$programs/dither.py" slow 3 ||
		fail "numba-$1-dither" "$(tail -n 1 "dither-$1.err")"
	narrow "numba-$1-dither" profile_has "dither-$1.json" "hottest() == is_at('dither.py =np.round')" \
		"near(self_('dither.py =np.round'), 0.53 * file_self('dither.py'), 0.08 * file_self('dither.py'))" \
		"s['lost'] == 0" "sums_close()"
	:
	record_json "fast-$1" -F 999 -- "$PYTHON" "$programs/dither.py" fast 1 ||
		fail "numba-$1-fast" "$(tail -n 1 "fast-$1.err")"
	:
}
listing new
listing old

# Nothing that ran in the JIT's code is anywhere but on lines of the program's text.
within() {
	python3 - dither-new.json <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
jit = {f["name"]: f["file"] for f in d["functions"] if f["object"] == "[jit]" and f["self"]}
wrong = {name: file for name, file in jit.items()
         if not (file or "").endswith(".py") and sum(f["self"] for f in d["functions"] if f["name"] == name) > 5}
if not jit or wrong:
    sys.exit(f"functions that are in no .py file: {wrong or 'none at all'}")
END
}
[ ! -e dither-new.json ] || check numba-lines-are-of-python within

# Three functions, each clocked by itself.
answers() {
	has_numba "$1" "numba-$1-known-answers" || return 0
	record_json "known-$1" -F 999 -- "$PYTHON" "$programs/known.py" 5.6 "known-$1.truth" ||
		fail "numba-$1-known-answers" "$(tail -n 1 "known-$1.err")"
	narrow "numba-$1-known-answers" python3 "$TOP/tests/root/truth.py" shares "known-$1.json" \
		"known-$1.truth" "$programs/known.py" two=two,step
	:
}
answers new
answers old

# addresses NAME PROGRAM...: the line of each sampled address is what addr2line has for it
addresses() {
	addresses_name=$1
	shift
	record_json "addresses-$addresses_name" -F 999 -- "$PYTHON" "$programs/saved.py" \
		"objects-$addresses_name" "$@" || { tail -n 1 "addresses-$addresses_name.err"; return 1; }
	python3 "$TOP/tests/root/addresses.py" "addresses-$addresses_name.pb.gz" "objects-$addresses_name"
}
if has_numba new numba-addresses; then
	:
fi

# Every kind of function: its samples, on its own lines.
kinds() {
	has_numba "$1" "numba-$1-kinds" || return 0
	record_json "kinds-$1" -F 999 -- "$PYTHON" "$programs/kinds.py" 0.3 "kinds-$1.truth" ||
		fail "numba-$1-kinds" "$(tail -n 1 "kinds-$1.err")"
	# Compilation belongs to the line of the decorator.
	"$LB" annotate --json --charge=mine --skip-compile "kinds-$1.pb.gz" >"kinds-$1.json"
	"$LB" annotate --json --leaf "kinds-$1.pb.gz" >"kinds-leaf-$1.json"
	narrow "numba-$1-kinds" python3 "$TOP/tests/root/truth.py" seconds "kinds-$1.json" \
		"kinds-$1.truth" "$programs/kinds.py" helped=helped,square \
		overloaded=overloaded,blend_overload 'in_cell=<ipython-input-7-0123456789ab>:1:4' in_string=
	# Nobody has its text, so it has no lines either; but its name.
	"$LB" annotate --json "kinds-$1.pb.gz" >"lines-$1.json"
	narrow "numba-$1-text-unknown" profile_has "lines-$1.json" "function('in_string') > 2"
	:
}
kinds new
kinds old

# All the work is in NumPy calls: the table says at which line, and which library line.
has_numba new numba-conv || exit 0
record_json conv -F 999 -- "$PYTHON" "$programs/conv.py" 3 || fail numba-conv "$(tail -n 1 conv.err)"
narrow numba-conv profile_has conv.json "total('conv.py sum') > 15" \
	"self_('conv.py sum') + file_self('arraymath.py') > 20" "miss('jit-no-lines') < 3" "sums_close()"
"$LB" annotate --json --charge=mine conv.pb.gz >conv-mine.json

# prange: all threads, on the lines of the loop's body.
prange() {
	has_numba "$1" "numba-$1-prange" || return 0
	record_json "prange-$1" -F 999 --tid -- "$PYTHON" "$programs/parallel.py" here 2.5 ||
		fail "numba-$1-prange" "$(tail -n 1 "prange-$1.err")"
	narrow "numba-$1-prange" profile_has "prange-$1.json" \
		"self_('parallel.py grow') + self_('parallel.py square') > 0.8 * file_self('parallel.py') > 25" \
		"any('prange in psum' in name for name in jit_functions())" "sums_close()"
}
prange new
prange old
# On two CPUs at least two threads have a good part of it.
threads() {
	python3 "$TOP/tests/root/labels.py" prange-new.pb.gz tid >tids || return 1
	[ "$(awk '$2 > 300' tids | wc -l)" -ge 2 ] && return 0
	echo "samples of threads: $(tr '\n' ' ' <tids)"
	return 1
}
if [ "$(nproc)" -ge 2 ]; then
	narrow numba-prange-threads threads
else
	skip numba-prange-threads "one CPU"
fi
