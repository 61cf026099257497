#!/bin/sh
# Loops that work in the ratio 5:3:2, in each compiled language; sums; Google's pprof.
# Takes 25 s.
. "${TOP:?}/tests/root/lib.sh"

# language NAME COMM SOURCE self|total PROGRAM
language() {
	statistic "known-answers-$1" 1 shares_of "$1" "$2" "$3" "$4" "50=five 30=three 20=two" "$5" 3
	narrow "known-answers-$1-shares" answers "$1" "$2" "$3" "$4"
}
# answers NAME COMM SOURCE self|total: the shares of all batches together are within 2 points
answers() {
	case $4 in
	self) answers_of=self_ ;;
	total) answers_of=total ;;
	esac
	"$LB" annotate --json --comm "$2" "$1.pb.gz" >"$1-own.json" &&
		profile_has "$1-own.json" "s['count'] >= 5000" "near($answers_of('$3 five'), 50, 2)" \
			"near($answers_of('$3 three'), 30, 2)" "near($answers_of('$3 two'), 20, 2)"
}
# Equal loops take equal time only at equal places in a cache line: some CPUs need 9 % more for one across two.
aligned="$C_FLAGS -falign-loops=64"
# shellcheck disable=SC2086 # a list of flags
gcc $aligned -o hot "$WORKLOADS/hot.c" || exit 1
language c hot hot.c self ./hot
# shellcheck disable=SC2086 # a list of flags
if g++ $aligned -o hotcc "$WORKLOADS/hot.cc" 2>gxx.err; then
	language c++ hotcc hot.cc self ./hotcc
	check demangled-c++ profile_has c++.json "hottest_function() == 'Five::spin'"
	narrow demangled-c++-share profile_has c++-own.json "function('Five::spin') > 45"
else
	skip known-answers-c++ "g++ does not work here"
fi
if rustc -O -g -C force-frame-pointers=yes -o hotrs "$WORKLOADS/hot.rs" 2>rustc.err; then
	# The multiplication is an inlined library function, so the line has it in its total.
	language rust hotrs hot.rs total ./hotrs
	check demangled-rust profile_has rust.json "function('hot::five', 'total') > function('hot::three', 'total') > 0"
	narrow demangled-rust-share profile_has rust-own.json "function('hot::five', 'total') > 45"
else
	skip known-answers-rust "rustc does not work here"
fi
if go=$(build_go hot.go 2>go.err); then
	language go hot-go hot.go self "$go"
else
	skip known-answers-go "go does not work here"
fi

# Google's pprof reads the file, and what export makes of it.
if command -v go >/dev/null; then
	# pprof_reads NAME: its hottest line comes first
	pprof_reads() {
		pprof -raw "$1.pb.gz" >raw.txt 2>&1 || { tail -n 1 raw.txt; return 1; }
		grep -q 'samples/count cpu/nanoseconds' raw.txt || { head -n 5 raw.txt | tail -n 1; return 1; }
		pprof -top -lines "$1.pb.gz" >"$1.top" 2>&1 || { tail -n 1 "$1.top"; return 1; }
		awk 'BEGIN { status = 1 } /flat%/ { getline; status = !/five .*hot\.c:15$/; exit } END { exit status }' "$1.top" && return 0
		head -n 8 "$1.top" | tr '\n' '|'
		return 1
	}
	# pprof_lists NAME: the source of a function, and its callers
	pprof_lists() {
		pprof -list '^five$' "$1.pb.gz" >list.txt 2>&1 && pprof -peek '^five$' "$1.pb.gz" >peek.txt 2>&1 &&
			grep -Eq '^ +[0-9.]+m?s +[0-9.]+m?s +15:.*HOT five' list.txt &&
			grep -Eq '[0-9.]+% +\| +main$' peek.txt && return 0
		cat list.txt peek.txt | tail -n 12 | tr '\n' '|'
		return 1
	}
	"$LB" export -f pprof c.pb.gz -o push.pb.gz && "$LB" export -f pprof-full c.pb.gz -o full.pb.gz
	for form in c push full; do
		check "pprof-reads-$form" pprof_reads $form
		check "pprof-lists-$form" pprof_lists $form
	done
	check pprof-full-is-whole diff c.top full.top
	pprof_share() {
		share=$(awk '$NF ~ /hot\.c:15$/ || $0 ~ /five .*hot\.c:/ { sub("%", "", $2); print int($2); exit }' c.top)
		echo "pprof says ${share:-0} % for five"
		[ "${share:-0}" -ge 48 ] && [ "$share" -le 52 ]
	}
	narrow pprof-share pprof_share
else
	skip pprof-reads "no go"
fi
