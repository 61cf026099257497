#!/bin/sh
# Whole stacks of other languages and libraries, of programs that run already: each with
# at least 99.5 % of its samples, after the tenth of a second in which its tables are made.
. "${TOP:?}/tests/root/lib.sh"

# running NAME SECONDS COMMAND...: starts it, and records it after so many seconds
running() {
	running_name=$1
	running_after=$2
	shift 2
	"$@" >"$running_name.said" 2>&1 &
	pid=$!
	sleep "$running_after"
	running_status=0
	steady "$running_name" $pid || running_status=1
	kill $pid
	wait $pid 2>/dev/null
	return $running_status
}

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
while :; do
	down 8
done
END
# from_start NAME PROGRAM...: its tables were made before its first instruction, however
# many they are. When its libraries are mapped somebody else may have the CPU.
from_start() {
	start_name=$1
	shift
	record_json "$start_name" -F 999 -- "$@" || { tail -n 1 "$start_name.err"; return 1; }
	promptly_whole "$start_name" 100 || return 1
	profile_has "$start_name.json" "s['count'] >= 1000" \
		"d['stacks']['complete'] + d['stacks']['no-mapping'] >= 0.995 * s['count']" \
		"note('complete', percent(d['stacks']['complete']))"
}

for shell in bash dash; do
	if command -v $shell >/dev/null; then
		narrow unwind-$shell running $shell 0.3 $shell deep.sh
	else
		skip unwind-$shell "no $shell"
	fi
done

if node -e 0 2>/dev/null; then
	narrow unwind-node running node 1.5 node "$WORKLOADS/hot.js" 1000
	narrow unwind-node-start from_start node-start node "$WORKLOADS/hot.js" 40
else
	skip unwind-node "no node"
fi
if HOME=${HOME:-$WORK} GOTOOLCHAIN=local go build -o hotgo "$WORKLOADS/hot.go" 2>go.err; then
	narrow unwind-go running go 0.3 ./hotgo 1000
	narrow unwind-go-callers stacks_have go "in_order('main.five', 'main.main') >= 99"
	narrow unwind-go-start from_start go-start ./hotgo 50
	# Nobody called what its threads begin with.
	narrow unwind-go-threads stacks_have go-start "share('outermost',
		lambda stack: names(stack)[-1] in ('runtime.clone', 'runtime.rt0_go'),
		lambda stack: {'runtime.clone', 'runtime.rt0_go'} & set(names(stack)) and has('runtime.mstart')(stack)) == 100"
else
	skip unwind-go "no go: $(tail -n 1 go.err)"
fi
if rustc -O -g -C force-frame-pointers=no -o hotrs "$WORKLOADS/hot.rs" 2>rust.err; then
	narrow unwind-rust running rust 0.3 ./hotrs 1000
	narrow unwind-rust-callers stacks_have rust \
		"share('main', lambda stack: any('main' in name for name in names(stack))) >= 99"
else
	skip unwind-rust "no rustc: $(tail -n 1 rust.err)"
fi

# Whoever wants callers of Java asks Java for frame pointers.
if javac -d . "$WORKLOADS/Hot.java" 2>javac.err; then
	narrow unwind-java running java 1.5 java -XX:+PreserveFramePointer -XX:+UseSerialGC Hot 60
else
	skip unwind-java "no javac: $(tail -n 1 javac.err)"
fi

# Another C library, which has no tables of its own.
if musl-gcc -O2 -g -fomit-frame-pointer -fno-builtin -o musl-stacks "$WORKLOADS/unwind/stacks.c" -pthread 2>musl.err; then
	narrow unwind-musl running musl 0.3 ./musl-stacks deep 100000
	narrow unwind-musl-frames stacks_have musl \
		"times({'plain': 20, 'with_array': 20, 'realigned': 20, 'below': 20, 'main': 1}, 'burn') >= 99.5"
	narrow unwind-musl-fork running musl-fork 0.5 ./musl-stacks fork 100000
else
	skip unwind-musl "no musl-gcc: $(tail -n 1 musl.err)"
fi
