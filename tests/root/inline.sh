#!/bin/sh
# A callee that is inlined into two lines, which use it in the ratio 3:1.
. "${TOP:?}/tests/root/lib.sh"

# Equal loops take equal time only at equal places in a cache line: some CPUs need 9 % more for one across two.
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -falign-loops=64 -o inline "$WORKLOADS/inline.c" || exit 1
inline=$PWD/inline
statistic inline-lines 1 shares_of inline inline inline.c total "75=three 25=one" "$inline" "$(rounds "$inline" 0.3)"
check inline-names profile_has inline.json "hottest() == is_at('inline.c spin')" "hottest_function() == 'spin'" \
	"function('both', 'total') >= function('spin')"
# Only the program itself, without the process that starts it.
"$LB" annotate --json --comm inline inline.pb.gz >own.json
narrow inline-shares profile_has own.json "s['count'] >= 5000" "self_('inline.c spin') >= 98" \
	"near(total('inline.c three'), 75, 2)" "near(total('inline.c one'), 25, 2)" \
	"function('spin') >= 98" "function('both', 'total') >= 98"

if command -v go >/dev/null; then
	# inlined_frames NAME: one location with two lines: the callee, then its caller
	inlined_frames() {
		pprof -raw "$1.pb.gz" >raw.txt 2>&1 || return 1
		awk '/^ *[0-9]+: 0x.* spin / { getline; if ($0 ~ /^ +both /) found = 1 }
		     END { exit !found }' raw.txt && return 0
		grep -A1 spin raw.txt | head -n 2 | tr '\n' '|'
		return 1
	}
	# inlined_call NAME: what called it, and that it was inlined
	inlined_call() {
		pprof -peek '^spin$' "$1.pb.gz" >peek.txt 2>&1 && grep -q ' both (inline)$' peek.txt && return 0
		tail -n 6 peek.txt | tr '\n' '|'
		return 1
	}
	"$LB" export -f pprof inline.pb.gz -o push.pb.gz && "$LB" export -f pprof-full inline.pb.gz -o full.pb.gz
	for form in inline push full; do
		check "pprof-inlines-$form" inlined_frames $form
		check "pprof-peek-inlines-$form" inlined_call $form
	done
else
	skip pprof-inlines "no go"
fi
