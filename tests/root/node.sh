#!/bin/sh
# Code of V8 (Node): lines by jitdump, functions by perf map, a row of its own without flags.
. "${TOP:?}/tests/root/lib.sh"

if ! node -e 0 2>/dev/null; then
	skip node "no node"
	exit 0
fi
n=$(rounds node "$WORKLOADS/hot.js" "$(longer 0.8 6)")
member lines node --perf-prof "$WORKLOADS/hot.js" "$n" lines.truth
member functions node --perf-basic-prof "$WORKLOADS/hot.js" "$n" functions.truth
member plain node "$WORKLOADS/hot.js" "$n"
together nodes -F 999 >why 2>&1 || fail node "$(tail -n 1 why)"
rm -f jit-*.dump "/tmp/perf-$(cat functions.pid).map" "/tmp/perf-$(cat lines.pid).map"
# agrees JSON TRUTH BY: the shares of the three functions are within 2 points of the program's own
# measurement, because V8 does not compile them equally well each time
agrees() {
	python3 - "$@" <<'END'
import json
import sys
path, truth_path, by = sys.argv[1:]
d = json.load(open(path, encoding="ascii"))
truth = json.load(open(truth_path, encoding="ascii"))
self_of = dict.fromkeys(truth, 0)
if by == "line":
    for f in d["files"]:
        for line in f["lines"] if f["path"].endswith("/hot.js") else ():
            word = (line["text"] or "").rpartition("HOT ")[2]
            if word in self_of:
                self_of[word] += line["self"]
else:
    for f in d["functions"]:
        if f["name"] in self_of:
            self_of[f["name"]] += f["self"]
count, all_three = d["samples"]["count"], sum(self_of.values())
# The rest is the start of node.
if all_three < 0.8 * count:
    sys.exit(f"{all_three} of {count} samples are of the three: {[f['name'] for f in d['functions'][:5]]}")
for name, n in self_of.items():
    if abs(100 * n / all_three - truth[name]) > 2:
        sys.exit(f"{name} has {100 * n / all_three:.1f} %, it took {truth[name]:.1f} %")
END
}
check node-sums closes nodes
check node-lines profile_has lines.json "all(self_('hot.js ' + kind) > 0 for kind in ('five', 'three', 'two'))" \
	"file_self('hot.js') > 50"
narrow node-lines-shares agrees lines.json lines.truth line
check node-language profile_has lines.json \
	"[f['language'] for f in d['files'] if f['path'].endswith('hot.js')] == ['javascript']"
part_of functions annotate --leaf --json >leaf.json
check node-functions profile_has leaf.json "all(function(name) > 0 for name in ('five', 'three', 'two'))"
check node-perf-map-has-no-lines profile_has leaf.json "miss('jit-no-lines') > 50"
narrow node-functions-shares agrees leaf.json functions.truth function
narrow node-perf-map-has-no-lines-share profile_has leaf.json "miss('jit-no-lines') > 75"
# Without flags nothing describes V8's code. It is the hottest row, has each sample in such code, and no
# function that calls it (of V8: Builtins_InterpreterEntryTrampoline) has one of these.
cat >undescribed.py <<'END'
import array, collections, json, sys
import pprof_file
with open("plain-report.json", encoding="ascii") as f:
    rows = json.load(f)["functions"]
frames, files, samples = pprof_file.decoded_once("plain.pb.gz")
in_user_code = collections.Counter()
in_jit = 0
for pid, locations, count, _ in samples:
    at = [n for n in array.array("Q", locations) if files[n] in ("[jit]", "[vdso]") or files[n][0] != "["]
    if pid == int(sys.argv[1]) and at:
        in_user_code[frames[at[0]][0][0]] += count
        in_jit += count if files[at[0]] == "[jit]" else 0
hottest = max(rows, key=lambda row: row["self"])
if (hottest["name"], hottest["object"]) != ("code of a JIT, not described (node)", "[jit]"):
    sys.exit(f"the hottest row is {hottest}")
in_rows = sum(row["self"] for row in rows if row["object"] == "[jit]")
if in_rows < in_jit:
    sys.exit(f"{in_rows} samples in rows of [jit], {in_jit} are in such code")
builtins = [row for row in rows if row["name"].startswith("Builtins_")]
wrong = [row for row in builtins if row["self"] > in_user_code[row["name"]]]
if wrong or "Builtins_InterpreterEntryTrampoline" not in [row["name"] for row in builtins]:
    sys.exit(f"the self of {(wrong or ['no trampoline'])[0]} is that of another")
print(f"{in_jit} samples in code that is not described")
END
undescribed() {
	part_of plain report --json >plain-report.json &&
		PYTHONPATH=$TOP/tests/root PYTHONDONTWRITEBYTECODE=1 python3 undescribed.py "$(cat plain.pid)"
}
figure node-undescribed undescribed
