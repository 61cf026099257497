#!/bin/sh
# A runtime that lineburn does not ship: its folder and its table row are enough for frames and lines.
# Takes 15 s.
. "${TOP:?}/tests/root/lib.sh"
toy=$TOP/tests/toy-runtime

# This needs a second build. To save time it is not optimised, and takes the objects of the first build
# that do not include the table of runtimes.
toy_build=build-debug-toy-runtime
take_objects() {
	find build/src -name '*.d' | while read -r rules; do
		if ! grep -q 'decode/runtimes\.h' "$rules"; then
			mkdir -p "$toy_build/$(dirname "${rules#build/}")"
			cp -p "${rules%.d}.o" "$toy_build/$(dirname "${rules#build/}")" &&
				sed "s,^build/,$toy_build/," "$rules" >"$toy_build/${rules#build/}" || return 1
		fi
	done
}
built() {
	(cd "$TOP" && { [ -e $toy_build ] || [ ! -e build/src/main.d ] || take_objects; } &&
		make -s -j2 DEBUG=1 RUNTIMES=tests/toy-runtime) >build.out 2>&1 || { tail -n 1 build.out; return 1; }
	gcc -O2 -rdynamic -o toy-program "$toy/program/toy-program.c"
}
check toy-builds built
shipped=$LB
LB=$TOP/$toy_build/lineburn

# The program has no debug info, so that no line of C code gets the samples.
record_json toy -F 999 -- ./toy-program 1500 || fail toy-records "$(tail -n 1 toy.err)"
check toy-order stacks_have toy "in_order('five', 'outer', 'outer', 'start') >= 99" \
	"in_order('two', 'outer', 'outer', 'start') >= 99" \
	"times({'start': 1, 'outer': 2}, 'five') >= 99"
# Each function of the toy program has the C function that evaluates it beside it.
check toy-places stacks_have toy \
	"share('beside evaluate', lambda stack: names(stack).count('evaluate') == sum(names(stack).count(f) for f in ('start', 'outer', 'five', 'two')), has('five')) >= 99"
# The lines have what was sampled since lineburn knew the interpreter.
lines="(self_('program.toy:21') + self_('program.toy:31'))"
check toy-lines profile_has toy.json "$lines > 20" "near(100 * self_('program.toy:21') / $lines, 5 / 7 * 100, 15)" \
	"total('program.toy:12') >= self_('program.toy:21')" "total('program.toy:2') >= $lines - 0.001" \
	"self_('program.toy:12') <= 2" "s['lost'] == 0" "sums_close()"
narrow toy-lines-share profile_has toy.json "near(self_('program.toy:21'), 5 / 7 * 100, 15)" \
	"near(self_('program.toy:31'), 2 / 7 * 100, 15)" "total('program.toy:2') >= 95"
# reports WORDS OPTION...: the output contains WORDS
reports() {
	words=$1
	shift
	"$LB" "$@" toy.pb.gz >toy.txt || return 1
	grep -q "$words" toy.txt && return 0
	echo "no $words: $(head -n 20 toy.txt)"
	return 1
}
check toy-report reports 'five  *\[toy\]  */toy/program\.toy:20$' report
check toy-annotate reports '/toy/program\.toy' annotate
check toy-callers reports 'outer' report --callers=five

# The shipped lineburn does not know this runtime.
LB=$shipped
record_json unknown -F 499 -- ./toy-program 500 || fail toy-unknown "$(tail -n 1 unknown.err)"
check toy-is-not-shipped profile_has unknown.json "total('program.toy:21') == 0" "s['count'] >= 20"
