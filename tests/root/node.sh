#!/bin/sh
# V8's own words: lines by jitdump, functions by perf map.
. "${TOP:?}/tests/root/lib.sh"

if ! node -e 0 2>/dev/null; then
	skip node "no node"
	exit 0
fi
n=$(rounds node "$WORKLOADS/hot.js" 0.8)
member lines node --perf-prof "$WORKLOADS/hot.js" "$n" lines.truth
member functions node --perf-basic-prof "$WORKLOADS/hot.js" "$n" functions.truth
together nodes -F 999 >why 2>&1 || fail node "$(tail -n 1 why)"
rm -f jit-*.dump "/tmp/perf-$(cat functions.pid).map" "/tmp/perf-$(cat lines.pid).map"
check node-sums profile_has nodes.json "s['lost'] == 0" "sums_close()"
check node-lines profile_has lines.json "all(self_('hot.js ' + kind) > 0 for kind in ('five', 'three', 'two'))" \
	"file_self('hot.js') > 50"
check node-language profile_has lines.json \
	"[f['language'] for f in d['files'] if f['path'].endswith('hot.js')] == ['javascript']"
"$LB" annotate --leaf --json --pid "$(cat functions.pid)" nodes.pb.gz >leaf.json
check node-functions profile_has leaf.json "all(function(name) > 0 for name in ('five', 'three', 'two'))"
check node-perf-map-has-no-lines profile_has leaf.json "miss('jit-no-lines') > 50"
