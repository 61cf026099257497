#!/bin/sh
# PostgreSQL: complete stacks of all server processes while four clients read.
. "${TOP:?}/tests/root/lib.sh"

# as_postgres COMMAND: runs it in a shell of the user that owns the server
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
	whole postgres && profile_has postgres.json "sums_close()" "s['count'] >= 100"
}
pg_bin=
for folder in /usr/lib/postgresql/*/bin; do
	[ ! -x "$folder/initdb" ] || pg_bin=$folder
done
if [ -n "$pg_bin" ] && id postgres >/dev/null 2>&1; then
	check unwind-postgresql postgres
	# Five processes start at once, and none has tables yet.
	narrow unwind-postgresql-promptly promptly_whole postgres
else
	skip unwind-postgresql "no PostgreSQL below /usr/lib/postgresql (package postgresql)"
fi
