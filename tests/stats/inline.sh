#!/bin/sh
# A callee that was inlined into two lines, which do work of 3:1 in it.
. "${TOP:?}/tests/root/lib.sh"

record_enough inline "$(build inline.c)" || fail inline "$(tail -n 1 inline.err)"
narrow inline-lines profile_has inline.json "s['count'] >= $ENOUGH" "self_('inline.c spin') >= 98" \
	"near(total('inline.c three'), 75, 2)" "near(total('inline.c one'), 25, 2)" \
	"sums_close()" "s['lost'] == 0"
narrow inline-names profile_has inline.json "function('spin') >= 98" \
	"function('both', 'total') >= 98"

if command -v go >/dev/null; then
	inlined_frames() {
		pprof -raw inline.pb.gz >raw.txt 2>&1 || return 1
		# One location with two lines: the callee, then who called it.
		awk '/^ *[0-9]+: 0x.* spin / { getline; if ($0 ~ /^ +both /) found = 1 }
		     END { exit !found }' raw.txt && return 0
		grep -A1 spin raw.txt | head -n 2 | tr '\n' '|'
		return 1
	}
	:
else
	skip pprof-inlines "no go"
fi
