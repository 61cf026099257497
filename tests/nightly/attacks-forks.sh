#!/bin/sh
# Attacks 1 and 2 of docs/security.md: how long an innocent program's fork() takes at most while another user
# holds a lock that a uprobe would need. And attack 28: a user's children that sleep.
# Takes 60 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-held.sh"
. "$TOP/tests/root/lib-attacks.sh"

# ---- 28: more of a user's children sleep than the kernel side has places for processes ----

cat >victim.py <<'END'
import signal
import sys


def spin():
    while True:
        sum(i * i for i in range(20000))


signal.alarm(int(sys.argv[1]))
spin()
END
# A program of another user begins when they are there.
victim_begins_late() {
	sleep 2
	# shellcheck disable=SC2086 # a number
	kill -USR1 $attackers
	wait_until 60 grep -q forked sleepers.said || tail -n 1 sleepers.said
	as 30028 /usr/bin/python3 -S -E victim.py $ATTACK_S &
	victim=$!
	attackers="$attackers $victim"
	sleep "$1"
}
sleepers() {
	attack sleepers spins as 30027 "$sleepers" $ATTACK_S 20000 || return 1
	during=victim_begins_late
	sleepers_status=0
	beside sleepers 5 -a || sleepers_status=1
	during="sleep"
	[ $sleepers_status -eq 0 ] && grep -q forked sleepers.said || return 1
	"$LB" annotate --json --pid "$victim" sleepers.pb.gz >sleepers.victim.json || return 1
	profile_has sleepers.victim.json "s['count'] >= 20" \
		"note('with a line', s['with_line']) >= 0.95 * s['count']"
}
sleepers=$(build attacks/sleepers.c) || exit 1
figure attack-28-sleepers sleepers

# ---- 1 and 2 ----

[ -c /dev/fuse ] || { skip attacks-forks "no /dev/fuse"; exit 0; }
cp "$(build gdbjit.c -rdynamic)" nobodys || exit 1
chown 65534:65534 nobodys
chmod 755 . nobodys

# within_50_ms FUNCTION: which prints the seconds of the longest fork()
within_50_ms() {
	longest=$("$1" ./nobodys) || { echo "$longest"; return 1; }
	echo "longest fork: $longest s"
	[ "$(echo "$longest" | awk '{ print ($1 < 0.05) }')" = 1 ]
}
figure attack-1-fork within_50_ms frozen
figure attack-2-fork within_50_ms ended_meanwhile
