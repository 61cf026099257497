#!/bin/sh
# Compares uprobes on JITs with walks of their lists: how much of Numba's code gets lines while
# the whole machine is recorded, and how long one user's process can delay another's fork().
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-held.sh"
programs=$WORKLOADS/python
has_numba new lists || exit 0
jit=$(build gdbjit.c -rdynamic)

# The Numba programs of tests/root, with the hook in the environment.
programs_of_tests() {
	PYTHONPATH=$("$LB" python-hook --path)
	export PYTHONPATH
	"$PYTHON" "$programs/dither.py" slow 2
	"$PYTHON" "$programs/dither.py" fast 0.5
	"$PYTHON" "$programs/known.py" 3 truth
	"$PYTHON" "$programs/kinds.py" 0.3 truth
	"$PYTHON" "$programs/conv.py" 1
	"$PYTHON" "$programs/parallel.py" here 1.5
	"$PYTHON" "$programs/many.py" 40
	"$PYTHON" "$programs/cached.py" 0.5
	"$PYTHON" "$programs/cached.py" 0.5
	unset PYTHONPATH
}

# row WORDS OPTION...
row() {
	words=$1
	shift
	rm -rf cache
	"$LB" record -a "$@" -o lists.pb.gz >lists.out 2>lists.err &
	recorder=$!
	wait_until 30 records $recorder
	programs_of_tests >/dev/null
	kill -INT $recorder
	wait $recorder
	"$LB" annotate --leaf --json --comm 'python*' lists.pb.gz >lists.json
	python3 - "$words" lists.json <<'END'
import json
import sys
d = json.load(open(sys.argv[2], encoding="ascii"))
known = sum(f["self"] for f in d["files"] if f["language"] == "numba")
unknown = sum(m["samples"] for m in d["misses"]
              if m["reason"].startswith("jit-") or m["reason"] == "ambiguous-time")
print(f"| {sys.argv[1]} | {known + unknown} | {100 * known / (known + unknown):.2f} % "
      f"| {d['cost']['collector_cpu_ns'] / 1e9:.2f} s |")
END
}

echo "## Uprobes and lists"
echo
echo "The table has the samples of Numba's code that have a line, with \`record -a\` while the Numba programs of the tests run."
echo
echo "| | samples | with a line | CPU of the collector |"
echo "|---|---|---|---|"
row "\`--uprobe\`, 99 Hz" --uprobe -F 99
row "lists, 99 Hz" -F 99
row "\`--uprobe\`, 999 Hz" --uprobe -F 999
row "lists, 999 Hz" -F 999
echo
cp "$jit" nobodys && chown 65534:65534 nobodys && chmod 755 . nobodys
echo "Longest \`fork()\` of another program while another user's process holds the lock of its mappings of such a file for 8 s:"
echo "$(frozen ./nobodys --uprobe) s with \`--uprobe\`, $(frozen ./nobodys) s without."
