#!/bin/sh
# V8's own words: lines by jitdump, functions by perf map. The program measures what each
# function took, as V8 does not compile the three equally well each time.
. "${TOP:?}/tests/root/lib.sh"

if ! node -e 0 2>/dev/null; then
	skip node "no node"
	exit 0
fi

# agrees JSON TRUTH BY: shares of the three are within 2 points (the check: 16) of what they were
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
# The rest is what node does to start.
if all_three < 0.8 * count:
    sys.exit(f"{all_three} of {count} samples are of the three: {[f['name'] for f in d['functions'][:5]]}")
for name, n in self_of.items():
    if abs(100 * n / all_three - truth[name]) > 2:
        sys.exit(f"{name} has {100 * n / all_three:.1f} %, it took {truth[name]:.1f} %")
END
}

n=$(rounds node "$WORKLOADS/hot.js" 6)
record_json lines -F 999 -- node --perf-prof "$WORKLOADS/hot.js" "$n" lines.truth ||
	fail node-lines "$(tail -n 1 lines.err)"
narrow node-lines agrees lines.json lines.truth line
rm -f jit-*.dump

record_json functions -F 999 -- node --perf-basic-prof "$WORKLOADS/hot.js" $((n / 2 + 1)) functions.truth ||
	fail node-functions "$(tail -n 1 functions.err)"
"$LB" annotate --leaf --json functions.pb.gz >leaf.json
python3 -c 'import json; print(*[p["pid"] for p in json.load(open("leaf.json"))["processes"]], sep="\n")' |
	sed 's|.*|/tmp/perf-&.map|' | xargs rm -f
narrow node-functions agrees leaf.json functions.truth function
narrow node-perf-map-has-no-lines profile_has leaf.json "miss('jit-no-lines') > 75" "sums_close()"
