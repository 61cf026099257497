#!/bin/sh
# Code of V8 (Node): lines by jitdump, functions by perf map.
. "${TOP:?}/tests/root/lib.sh"

if ! node -e 0 2>/dev/null; then
	skip node "no node"
	exit 0
fi
n=$(rounds node "$WORKLOADS/hot.js" "$(longer 0.8 6)")
member lines node --perf-prof "$WORKLOADS/hot.js" "$n" lines.truth
member functions node --perf-basic-prof "$WORKLOADS/hot.js" "$n" functions.truth
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
