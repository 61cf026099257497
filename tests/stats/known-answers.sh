#!/bin/sh
# Loops of 5:3:2 work, in each compiled language; sums; the tools beside us.
. "${TOP:?}/tests/root/lib.sh"

# Lines within 2 points at 5,000 samples and more (the check: 15 points at 1,500). The rounds are of 0.1 s, so that
# no round is in step with the sampling.
answers() {
	profile_has "$1.json" "s['count'] >= $ENOUGH" "s['lost'] == 0" \
		"near($3('$2 five'), 50, 2)" "near($3('$2 three'), 30, 2)" \
		"near($3('$2 two'), 20, 2)" "$3('$2 five') > $3('$2 three') > $3('$2 two') > 0"
}

# language NAME SOURCE PROGRAM
language() {
	record_enough "$1" "$3" || fail "known-answers-$1" "$(tail -n 1 "$1.err")"
	narrow "known-answers-$1" answers "$1" "$2" "${4:-self_}"
	:
}

language c hot.c "$(build hot.c)"

if g++ -O2 -g -fno-omit-frame-pointer -o hotcc "$WORKLOADS/hot.cc" 2>gxx.err; then
	language c++ hot.cc ./hotcc
	narrow demangled-c++ profile_has c++.json "function('Five::spin') > 45"
else
	skip known-answers-c++ "g++ does not work here"
fi

if rustc -O -g -C force-frame-pointers=yes -o hotrs "$WORKLOADS/hot.rs" 2>rustc.err; then
	# The line's own multiplication is a function of the library, inlined.
	language rust hot.rs ./hotrs total
	narrow demangled-rust profile_has rust.json "function('hot::five', 'total') > 45"
else
	skip known-answers-rust "rustc does not work here"
fi

if HOME=${HOME:-$WORK} GOTOOLCHAIN=local go build -o hotgo "$WORKLOADS/hot.go" 2>go.err; then
	language go hot.go ./hotgo
else
	skip known-answers-go "go does not work here"
fi

# Google's pprof reads the file.
if command -v go >/dev/null; then
	pprof_reads() {
		pprof -raw c.pb.gz >raw.txt 2>&1 || return 1
		grep -q 'samples/count cpu/nanoseconds' raw.txt || { head -n 5 raw.txt | tail -n 1; return 1; }
		pprof -top -lines c.pb.gz >top.txt 2>&1
		share=$(awk '$NF ~ /hot\.c:15$/ || $0 ~ /five .*hot\.c:/ { sub("%", "", $2); print int($2); exit }' top.txt)
		[ "${share:-0}" -ge 48 ] && [ "$share" -le 52 ] && return 0
		echo "pprof says $share % for five"
		return 1
	}
	narrow pprof-reads pprof_reads
else
	skip pprof-reads "no go"
fi
