#!/bin/sh
# One address, two functions, one after the other; damaged jitdumps.
. "${TOP:?}/tests/root/lib.sh"

reuse=$(build jit-reuse.c)
record_json reuse -F 999 -- "$reuse" . 1.5 || fail jit-reuse "$(tail -n 1 reuse.err)"
narrow jit-reuse profile_has reuse.json "near(self_('a.src:10'), 50, 5)" \
	"near(self_('b.src:20'), 50, 5)" "miss('ambiguous-time') < 12" "sums_close()"

record_json garbage -F 999 -- "$reuse" . 1 garbage || fail jitdump-garbage "$(tail -n 1 garbage.err)"
"$LB" annotate --leaf --json garbage.pb.gz >leaf.json
narrow jitdump-garbage profile_has leaf.json \
	"miss('jit-unknown', 'jit-file-refused') >= 95" "sums_close()"

record_json truncated -F 999 -- "$reuse" . 1 truncated ||
	fail jitdump-truncated "$(tail -n 1 truncated.err)"
narrow jitdump-truncated profile_has truncated.json "self_('a.src:10') >= 40" "sums_close()"
