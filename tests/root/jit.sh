#!/bin/sh
# One address, two functions, one after the other; damaged jitdumps.
. "${TOP:?}/tests/root/lib.sh"

reuse=$(build jit-reuse.c)
member reuse "$reuse" . 0.6
member garbage "$reuse" . 0.4 garbage
member truncated "$reuse" . 0.4 truncated
together jits -F 999 >why 2>&1 || fail jitdumps "$(tail -n 1 why)"
check jitdump-sums profile_has jits.json "sums_close()" "s['lost'] == 0"
check jit-reuse profile_has reuse.json "self_('a.src:10') > 0" "self_('b.src:20') > 0" "functions_of('[') == set()"
"$LB" annotate --leaf --json --pid "$(cat garbage.pid)" garbage.pb.gz >leaf.json
check jitdump-garbage profile_has leaf.json "miss('jit-unknown', 'jit-file-refused') > 50"
check jitdump-truncated profile_has truncated.json "self_('a.src:10') > 0"
