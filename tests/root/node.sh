#!/bin/sh
# V8's own words: lines by jitdump, functions by perf map.
. "${TOP:?}/tests/root/lib.sh"

if ! node -e 0 2>/dev/null; then
	skip node "no node"
	exit 0
fi
cat >spin <<END
#!/bin/sh
exec node --perf-prof --interpreted-frames-native-stack "$WORKLOADS/hot.js" "\$1"
END
chmod +x spin
n=$(rounds ./spin 6)
rm -f jit-*.dump

record_json lines -F 999 -- node --perf-prof "$WORKLOADS/hot.js" "$n" ||
	fail node-lines "$(tail -n 1 lines.err)"
check node-lines profile_has lines.json "s['count'] >= 5000" "s['lost'] == 0" \
	"near(self_('hot.js five'), 50, 2)" "near(self_('hot.js three'), 30, 2)" \
	"near(self_('hot.js two'), 20, 2)" "sums_close()"
check node-language profile_has lines.json \
	"[f['language'] for f in d['files'] if f['path'].endswith('hot.js')] == ['javascript']"
rm -f jit-*.dump

record_json functions -F 999 -- node --perf-basic-prof "$WORKLOADS/hot.js" $((n / 3 + 1)) ||
	fail node-functions "$(tail -n 1 functions.err)"
"$LB" annotate --leaf --json functions.pb.gz >leaf.json
by_name() {
	python3 - leaf.json <<'END'
import json
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
count = d["samples"]["count"]
for name, expected in (("five", 50), ("three", 30), ("two", 20)):
    share = 100 * sum(f["self"] for f in d["functions"] if f" {name} " in f" {f['name']} ".replace("*", " ").replace("~", " ").replace("^", " ").replace(":", " ")) / count
    if abs(share - expected) > 4:
        sys.exit(f"{name} has {share:.1f} %, not {expected}: {[(f['name'], f['self']) for f in d['functions'][:5]]}")
END
}
check node-functions by_name
check node-perf-map-has-no-lines profile_has leaf.json "miss('jit-no-lines') > 90" "sums_close()"
