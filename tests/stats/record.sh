#!/bin/sh
# "record -p": a process with children that come and go, and what share of its samples is theirs.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)

# A running process with children: all of them, and no other.
"$hot" 300 &
other=$!
"$(build forks.c)" 400 40 &
parent=$!
sleep 0.5
attach() {
	timeout 60 "$LB" record -F 999 -d 2 -p $parent -o attach.pb.gz >out 2>err || { tail -n 1 err; return 1; }
	[ ! -s out ] || { echo "stdout: $(head -n 1 out)"; return 1; }
	"$LB" annotate --json attach.pb.gz >attach.json
	profile_has attach.json "self_('forks.c burn') >= 97" "s['count'] >= 100" "sums_close()" \
		"len(d['processes']) >= 2" "all(p['pid'] != $other for p in d['processes'])"
}
narrow record-attach attach

kill $parent $other 2>/dev/null
wait 2>/dev/null
