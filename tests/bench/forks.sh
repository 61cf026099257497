#!/bin/sh
# The longest fork() of an innocent program while another user holds a lock that a uprobe would need, for 8 s
# (attacks 1 and 2 of docs/security.md): while "record -a" meets the file, and while it ends.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-held.sh"

cp "$(build gdbjit.c -rdynamic)" nobodys || exit 1
chown 65534:65534 nobodys
chmod 755 . nobodys

# ended_meanwhile: like frozen(), but the recording ends while the lock is held
ended_meanwhile() {
	rm -f stop
	"$LB" record -a -d 60 -o meanwhile.pb.gz >meanwhile.out 2>&1 &
	recorder=$!
	wait_until 30 records $recorder || return 1
	setpriv --reuid 65534 --regid 65534 --clear-groups ./nobodys 100 20 &
	program=$!
	sleep 2
	"$held" ./nobodys 8 >held.out 2>&1 &
	holder=$!
	wait_until 60 grep -q held held.out || return 1
	forks stop >longest &
	forker=$!
	wait_until 30 grep -q begun longest
	kill -INT $recorder
	wait $recorder $holder 2>/dev/null
	touch stop
	kill $program
	wait $forker
	tail -n 1 longest
}

echo "## The longest fork() beside a held lock"
echo
echo "| | seconds |"
echo "|---|---|"
echo "| no recording | $(forks stop >longest & sleep 8; touch stop; wait; tail -n 1 longest) |"
echo "| \`record -a\` meets the file | $(frozen ./nobodys) |"
echo "| \`record -a\` ends | $(ended_meanwhile) |"
