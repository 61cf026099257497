#!/bin/sh
# The longest fork() of an innocent program while another user holds a lock that a uprobe would need, for 8 s
# (attacks 1 and 2 of docs/security.md): while "record -a" meets the file, and while it ends.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-held.sh"

cp "$(build gdbjit.c -rdynamic)" nobodys || exit 1
chown 65534:65534 nobodys
chmod 755 . nobodys

echo "## The longest fork() beside a held lock"
echo
echo "| | seconds |"
echo "|---|---|"
echo "| no recording | $(forks stop >longest & sleep 8; touch stop; wait; tail -n 1 longest) |"
echo "| \`record -a\` meets the file | $(frozen ./nobodys) |"
echo "| \`record -a\` ends | $(ended_meanwhile ./nobodys) |"
