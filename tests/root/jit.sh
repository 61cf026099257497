#!/bin/sh
# Two functions at one address, one after the other; damaged jitdumps.
. "${TOP:?}/tests/root/lib.sh"

reuse=$(build jit-reuse.c)
member reuse "$reuse" . "$(longer 0.6 1.5)"
member garbage "$reuse" . "$(longer 0.4 1)" garbage
member truncated "$reuse" . "$(longer 0.4 1)" truncated
together jits -F 999 >why 2>&1 || fail jitdumps "$(tail -n 1 why)"
check jitdump-sums closes jits
check jit-reuse profile_has reuse.json "self_('a.src:10') > 0" "self_('b.src:20') > 0" "functions_of('[') == set()"
narrow jit-reuse-shares profile_has reuse.json "near(self_('a.src:10'), 50, 5)" "near(self_('b.src:20'), 50, 5)" \
	"miss('ambiguous-time') < 12"
part_of garbage annotate --leaf --json >leaf.json
check jitdump-garbage profile_has leaf.json "miss('jit-unknown', 'jit-file-refused') > 50"
narrow jitdump-garbage-share profile_has leaf.json "miss('jit-unknown', 'jit-file-refused') >= 95"
check jitdump-truncated profile_has truncated.json "self_('a.src:10') > 0"
narrow jitdump-truncated-share profile_has truncated.json "self_('a.src:10') >= 40"
