#!/bin/sh
# Lines that the compiler left without machine code, and those that it did not.
# Runs beside others.
. "${TOP:?}/tests/root/lib.sh"

record_enough bare "$(build bare.c)" || fail bare "$(tail -n 1 bare.err)"
for line in unused dead merged store never; do
	check "no-code-$line" profile_has bare.json "no_code('bare.c $line') is True"
done
for line in helper same call macro write; do
	check "has-code-$line" profile_has bare.json "no_code('bare.c $line') is not True"
done
# Neither have code nor could have: not listed at all.
for line in definition comment bracket; do
	check "no-wonder-$line" profile_has bare.json "no_code('bare.c $line') is None"
done
statistic no-code-sums profile_has bare.json "sums_close()" "s['count'] >= $ENOUGH" \
	"self_('bare.c helper') + self_('bare.c call') + self_('bare.c macro') + self_('bare.c write') >= $(bound 75 90)"

# listed LOCALE SIGN: a line is marked with the sign, which is explained once.
listed() {
	LC_ALL=$1 "$LB" annotate bare.pb.gz >listing.txt 2>&1 || return 1
	grep -q "^ *$2  *[0-9]*  *sum += 1000;" listing.txt &&
		[ "$(grep -c "^$2 .*no machine code of its own" listing.txt)" -eq 1 ] && return 0
	grep "sum += 1000\\|machine code" listing.txt | tr '\n' '|'
	return 1
}
check listed-utf8 listed C.UTF-8 '·'
check listed-ascii listed C '\.'
