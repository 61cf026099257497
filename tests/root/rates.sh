#!/bin/sh
# 9,999 samples a second: sums still close, nothing is lost.
. "${TOP:?}/tests/root/lib.sh"

record_json fast -F 9999 -- "$(build hot.c)" 12 || fail rate-9999 "$(tail -n 1 fast.err)"
check rate-9999 profile_has fast.json "s['count'] >= 5000" "s['lost'] == 0" "sums_close()" \
	"near(self_('hot.c five'), 50, 2.5)" "near(self_('hot.c three'), 30, 2.5)" \
	"near(self_('hot.c two'), 20, 2.5)"
record_json slow -F 1 -- "$(build hot.c)" 25 || fail rate-1 "$(tail -n 1 slow.err)"
check rate-1 profile_has slow.json "1 <= s['count'] <= 20" "sums_close()"
