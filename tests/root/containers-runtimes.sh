#!/bin/sh
# Runtimes in containers with their own pid namespace and /tmp: Python, Numba, Node and the perf
# map of a JIT, all started after the recording has begun.
# Takes 15 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-containers.sh"

if [ -z "$v2" ]; then
	skip runtimes "no cgroup2 is mounted"
	exit 0
fi
chmod 755 .
perfmap=$(build perfmap.c)
nice -n -16 "$LB" record -a -F 999 -o all.pb.gz 2>all.err &
recorder=$!
containers_pids=$recorder
wait_until 60 records $recorder || fail runtimes-record "it does not begin"
waited=

# begin NAME: makes the folders and cgroup ($group) of an LXC container with this name
begin() {
	mkdir -p "$1/app" "$1/tmp"
	group=$(cgroup "$v2" "lxc.payload.$1")
}

# Two containers: the same path with different Python programs.
mkdir -p alpha/app beta/app
weigh "$PWD/alpha/app/hot.py" 5 11 17
weigh "$PWD/beta/app/hot.py" 5 20 9
for name in alpha beta; do
	begin $name
	contain_system "$group" $name "" /usr/bin/python3 /app/hot.py 20
	waited="$waited $pid"
done

numba=
if has_numba new runtimes-numba; then
	numba=yes
	begin numba
	cp "$WORKLOADS/python/known.py" numba/app/
	venv=$(realpath "$(dirname "$PYTHON")/..")
	base=$("$PYTHON" -c 'import sys; print(sys.base_prefix)')
	hook=$("$LB" python-hook --path)
	contain_system "$group" numba "$venv $base $(dirname "$hook")" env HOME=/tmp PYTHONPATH="$hook" \
		"$venv/bin/python" /app/known.py "$(longer 0.8 2.5)" /app/truth
	waited="$waited $pid"
fi
node=
if node -e 0 2>/dev/null; then
	node=yes
	begin node
	cp "$WORKLOADS/hot.js" node/app/
	contain_system "$group" node "$(dirname "$(dirname "$(realpath "$(command -v node)")")")" \
		"$(realpath "$(command -v node)")" --perf-basic-prof /app/hot.js "$(longer 4 8)" /app/truth
	waited="$waited $pid"
fi

# Nested pid namespaces: the innermost pid is neither 1 nor the pid in the outer namespace.
begin nested
cp "$perfmap" nested/app/perfmap
# shellcheck disable=SC2016 # for the inner shell
contain_system "$group" nested "" unshare -p --fork --kill-child sh -c '/bin/true; /bin/true; /app/perfmap 1 good; exit'
waited="$waited $pid"

# Report programs that crashed: without them the checks below would fail for no visible reason.
for pid in $waited; do
	wait "$pid" || fail runtimes-programs "one of $waited ended with status $?: $pid"
done
kill -INT $recorder
wait $recorder || fail runtimes-record "$(tail -n 1 all.err)"
"$LB" annotate --json all.pb.gz >all.json
for name in alpha beta numba nested; do
	"$LB" annotate --json --container $name all.pb.gz >$name.json 2>$name.err
done
"$LB" annotate --leaf --json --container node all.pb.gz >node.json 2>node.err
check runtimes-sums profile_has all.json "sums_close()" "s['lost'] == 0"
check runtimes-python-alpha lines_there alpha.json alpha 5 11 17 only
check runtimes-python-beta lines_there beta.json beta 5 20 9 only
check runtimes-python-both lines_there all.json beta 5 20 9
narrow runtimes-python-alpha-shares lines_are alpha.json alpha 5 11 17
narrow runtimes-python-beta-shares lines_are beta.json beta 5 20 9
narrow runtimes-python-both-shares lines_are all.json beta 5 20 9
[ -z "$numba" ] || check runtimes-numba python3 -S "$TOP/tests/root/truth.py" there numba.json \
	numba/app/truth "$WORKLOADS/python/known.py" two=two,step
[ -z "$numba" ] || narrow runtimes-numba-shares python3 -S "$TOP/tests/root/truth.py" seconds numba.json \
	numba/app/truth "$WORKLOADS/python/known.py" two=two,step

# named JSON TRUTH: the shares of hot.js's functions, which the perf map of the inner pid names, are
# right within 2 points or 3.5 sigma
named() {
	python3 - "$@" <<'PYTHON'
import json
import sys

d, truth = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
of = {name: sum(f["self"] for f in d["functions"] if f["name"] == name) for name in truth}
count = sum(of.values())
if count < 500:
    sys.exit(f"{of} of {d['samples']['count']}: {[f['name'] for f in d['functions'][:5]]}")
for name, n in of.items():
    if abs(100 * n / count - truth[name]) > max(2, 350 * (0.25 / count) ** 0.5):
        sys.exit(f"{name} has {100 * n / count:.1f} %, it took {truth[name]:.1f} %")
PYTHON
}
if [ -n "$node" ]; then
	check runtimes-node profile_has node.json "all(function(name) > 0 for name in ('five', 'three', 'two'))"
	narrow runtimes-node-shares named node.json node/app/truth
else
	skip runtimes-node "no node"
fi
check runtimes-nested profile_has nested.json "hottest_function() == 'jitted_function'" \
	"note('inner pids', {p.get('ns_pid') for p in d['processes'] if p['comm'] == 'perfmap'}) == {4}" \
	"note('comms', {p['comm'] for p in d['processes']}) >= {'perfmap'}"
narrow runtimes-nested-share profile_has nested.json "function('jitted_function') > 90"
