#!/bin/sh
# V8's own words: lines by jitdump, functions by perf map.
. "${TOP:?}/tests/root/lib.sh"

if ! node -e 0 2>/dev/null; then
	skip node "no node"
	exit 0
fi
record_enough lines node --perf-prof "$WORKLOADS/hot.js" ||
	fail node-lines "$(tail -n 1 lines.err)"
check node-lines profile_has lines.json "s['count'] >= 5000" "s['lost'] == 0" \
	"near(self_('hot.js five'), 50, 2)" "near(self_('hot.js three'), 30, 2)" \
	"near(self_('hot.js two'), 20, 2)" "sums_close()"
check node-language profile_has lines.json \
	"[f['language'] for f in d['files'] if f['path'].endswith('hot.js')] == ['javascript']"
rm -f jit-*.dump

record_json functions -F 999 -- node --perf-basic-prof "$WORKLOADS/hot.js" 15 ||
	fail node-functions "$(tail -n 1 functions.err)"
"$LB" annotate --leaf --json functions.pb.gz >leaf.json
python3 -c 'import json; print(*[p["pid"] for p in json.load(open("leaf.json"))["processes"]], sep="\n")' |
	sed 's|.*|/tmp/perf-&.map|' | xargs rm -f
by_name() {
	python3 - leaf.json <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
self_of = dict.fromkeys(("five", "three", "two"), 0)
for f in d["functions"]:
    for name in self_of:
        if name in f["name"].replace("*", " ").replace("~", " ").replace("^", " ").replace(":", " ").split():
            self_of[name] += f["self"]
all_three = sum(self_of.values())
# The rest is what node does to start.
if all_three < 0.75 * d["samples"]["count"]:
    sys.exit(f"{all_three} of {d['samples']['count']} samples: {[f['name'] for f in d['functions'][:5]]}")
for name, expected in (("five", 50), ("three", 30), ("two", 20)):
    share = 100 * self_of[name] / all_three
    if abs(share - expected) > 4:
        sys.exit(f"{name} has {share:.1f} %, not {expected}")
END
}
check node-functions by_name
check node-perf-map-has-no-lines profile_has leaf.json "miss('jit-no-lines') > 75" "sums_close()"
