#!/bin/sh
# Lines for which the compiler made no machine code, and lines for which it did.
. "${TOP:?}/tests/root/lib.sh"

bare=$(build bare.c)
record_json bare -F 999 -- "$bare" "$(rounds "$bare" 1)" || fail bare "$(tail -n 1 bare.err)"
all_are() {
	are=$1
	shift
	for line; do
		profile_has bare.json "no_code('bare.c $line') $are" || return 1
	done
}
check no-code all_are "is True" unused dead merged store never
check has-code all_are "is not True" helper same call macro write
# Lines that cannot have code are not marked.
check no-wonder all_are "is None" definition comment bracket
check no-code-sums profile_has bare.json "sums_close()" \
	"all(self_('bare.c ' + line) > 0 for line in ('helper', 'call', 'macro', 'write'))"

# listed LOCALE SIGN: a line without code is marked with the sign, which is explained once
listed() {
	LC_ALL=$1 "$LB" annotate bare.pb.gz >listing.txt 2>&1 || return 1
	grep -q "^ *$2  *[0-9]*  *sum += 1000;" listing.txt &&
		[ "$(grep -c "^$2 .*no machine code of its own" listing.txt)" -eq 1 ] && return 0
	grep "sum += 1000\\|machine code" listing.txt | tr '\n' '|'
	return 1
}
check listed-utf8 listed C.UTF-8 '·'
check listed-ascii listed C '\.'
