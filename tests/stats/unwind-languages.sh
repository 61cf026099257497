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

# PostgreSQL: four clients that read, all processes of the server.
# as_postgres COMMAND: in a shell of the user that owns the server
as_postgres() {
	setpriv --reuid=postgres --regid=postgres --clear-groups sh -c "$1"
}
postgres() {
	mkdir pg && chown postgres pg && chmod 711 .
	as_postgres "'$pg_bin/initdb' -D pg/data -A trust -N" >initdb.out 2>&1 || { tail -n 1 initdb.out; return 1; }
	as_postgres "'$pg_bin/pg_ctl' -D pg/data -w -s -l pg/log -o \"-k '$PWD/pg' -c listen_addresses= -c fsync=off\" start" ||
		{ tail -n 1 pg/log; return 1; }
	as_postgres "'$pg_bin/pgbench' -h '$PWD/pg' -i -q -s 5 postgres" >pgbench.out 2>&1
	as_postgres "'$pg_bin/pgbench' -h '$PWD/pg' -c 4 -T 10 -S postgres" >>pgbench.out 2>&1 &
	clients=$!
	sleep 0.5
	postgres_status=0
	timeout 30 "$LB" record -F 999 --max-frames 512 -d 4 -p "$(head -n 1 pg/data/postmaster.pid)" -o postgres.pb.gz \
		>postgres.out 2>postgres.err || postgres_status=1
	as_postgres "'$pg_bin/pg_ctl' -D pg/data -s -m immediate stop"
	wait $clients 2>/dev/null
	[ $postgres_status -eq 0 ] || { tail -n 1 postgres.err; return 1; }
	"$LB" annotate --json postgres.pb.gz >postgres.json
	# Five processes at once, none of which has tables yet.
	promptly_whole postgres
}
pg_bin=
for folder in /usr/lib/postgresql/*/bin; do
	[ ! -x "$folder/initdb" ] || pg_bin=$folder
done
if [ -n "$pg_bin" ] && id postgres >/dev/null 2>&1; then
	narrow unwind-postgresql postgres
else
	skip unwind-postgresql "no PostgreSQL below /usr/lib/postgresql (package postgresql)"
fi
