#!/bin/sh
# Attacks 1 and 2 of docs/security.md: how long an innocent program's fork() takes at most while another user
# holds a lock that a uprobe would need.
# Takes 40 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-held.sh"

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
