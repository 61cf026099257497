#!/bin/sh
# Complete stacks of other languages and libraries: of programs that run already, once their
# tables exist, and of programs from their start.
# Takes 45 s.
. "${TOP:?}/tests/root/lib.sh"

cat >deep.sh <<'END'
down() {
	if [ "$1" -gt 0 ]; then
		down $(($1 - 1))
		return
	fi
	i=0
	while [ $i -lt 2000 ]; do
		i=$((i + 1))
	done
}
ulimit -t 600
while :; do
	down 8
done
END
for shell in bash dash; do
	if command -v $shell >/dev/null; then
		member $shell $shell deep.sh
	else
		skip unwind-$shell "no $shell"
	fi
done
if node -e 0 2>/dev/null; then
	member node node "$WORKLOADS/hot.js" 1000
else
	skip unwind-node "no node"
fi
if go=$(build_go hot.go 2>go.err); then
	member go "$go" 1000
else
	skip unwind-go "no go: $(tail -n 1 go.err)"
fi
if rustc -O -g -C force-frame-pointers=no -o hotrs "$WORKLOADS/hot.rs" 2>rust.err; then
	member rust ./hotrs 1000
else
	skip unwind-rust "no rustc: $(tail -n 1 rust.err)"
fi
# Java code needs frame pointers to be walked.
if javac -d . "$WORKLOADS/Hot.java" 2>javac.err; then
	member java java -XX:+PreserveFramePointer -XX:+UseSerialGC Hot 200
else
	skip unwind-java "no javac: $(tail -n 1 javac.err)"
fi
# musl, a C library without unwind tables. Linked statically, so that lineburn has the symbols of all its
# functions, which it uses instead; Debian 13's shared musl has neither for the caller of main.
if musl-gcc -static -O2 -g -fomit-frame-pointer -fno-builtin -o musl-stacks "$WORKLOADS/unwind/stacks.c" -pthread 2>musl.err; then
	member musl ./musl-stacks deep 100000
	member musl-fork ./musl-stacks fork 100000
	member musl-signal ./musl-stacks signal 100000
else
	skip unwind-musl "no musl-gcc: $(tail -n 1 musl.err)"
fi
running=$members
attached_too=$HAVE_TABLES
attached running 150 "1.5 8 30" -F 999 --max-frames 512 >why 2>&1 || fail unwind-running "$(tail -n 1 why)"
for name in $running; do
	# Go's code, that of the JITs, and musl have no unwind tables.
	case $name in
	go | node | java) or=guessed ;;
	musl*) or=derived ;;
	*) or= ;;
	esac
	check "unwind-$name" late_whole "$name" $or
	# 99.5 % of the samples have a whole stack, after the tenth of a second in which tables are made.
	narrow "unwind-$name-promptly" steady "$name" $or
done
[ ! -e go.json ] || check unwind-go-callers stacks_have go "in_order('main.five', 'main.main') == 100"
[ ! -e rust.json ] || check unwind-rust-callers stacks_have rust \
	"share('main', lambda stack: any('main' in name for name in names(stack)), lambda stack: any('five' in name for name in names(stack))) == 100"
[ ! -e rust.json ] || narrow unwind-rust-main stacks_have rust-steady \
	"share('main', lambda stack: any('main' in name for name in names(stack))) >= 99"
[ ! -e musl.json ] || check unwind-musl-frames stacks_have musl \
	"times({'plain': 20, 'with_array': 20, 'realigned': 20, 'below': 20, 'main': 1}, 'burn') == 100"
# The code that the handler returns to has no rule in the file: it is known by what it does.
[ ! -e musl-signal.json ] || check unwind-musl-signal-frames stacks_have musl-signal \
	"times({'plain': 20, 'with_array': 20, 'realigned': 20, 'handler': 1, 'main': 1}, 'burn') == 100" \
	"in_order('burn', 'realigned', 'handler', 'raise', 'realigned', 'main') == 100"

# from_start NAME PROGRAM...: tables of the program were made before its first instruction; its own code has
# none, so its callers are guessed. For its libraries they may come later, if another process has the CPU
# when they are mapped.
from_start() {
	start_name=$1
	shift
	record_json "$start_name" -F 999 --max-frames 512 -- "$@" || fail "unwind-$start_name" "$(tail -n 1 "$start_name.err")"
	check "unwind-$start_name-whole" whole "$start_name" guessed
	check "unwind-$start_name" profile_has "$start_name.json" "note('no-table', d['stacks']['no-table']) <= 0.1 * s['count']"
	narrow "unwind-$start_name-promptly" promptly_whole "$start_name" guessed
	narrow "unwind-$start_name-complete" profile_has "$start_name.json" "s['count'] >= 1000" \
		"walked('complete', 'guessed', 'derived', 'no-mapping') >= 0.995 * s['count']" \
		"note('each', [percent(walked(of)) for of in ('complete', 'guessed', 'derived')])"
}
[ ! -e node.json ] || from_start node-start node "$WORKLOADS/hot.js" "$(longer 10 40)"
[ ! -e go.json ] || from_start go-start "$go" "$(longer 8 50)"
# The first function of a Go thread has no caller. A short program may have no sample of the scheduler.
begin="{'runtime.clone', 'runtime.rt0_go'}"
[ ! -e go-start.json ] || check unwind-go-threads stacks_have go-start "note('goes on', [names(stack) for stack, n in all_stacks
	if $begin & set(names(stack)[:-1]) and has('runtime.mstart')(stack)]) == []"
[ ! -e go-start.json ] || narrow unwind-go-threads-there stacks_have go-start \
	"any($begin & set(names(stack)) and has('runtime.mstart')(stack) for stack, n in all_stacks)"
