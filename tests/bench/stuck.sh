#!/bin/sh
# Beside processes that block whoever looks at them (tests/workloads/held.c): how long a recording takes to
# begin, and to end after SIGINT.
# STUCK_ROUNDS: recordings of each row (5); the table has their median and the longest.
. "${TOP:?}/tests/root/lib.sh"
held=$(build held.c -pthread) && idle=$(build idle.c) || exit 1
chmod 755 .

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# measure: one recording. Prints milliseconds until it samples, and from SIGINT to its end.
measure() {
	begun=$(now_ms)
	"$LB" record -a -F 99 -o stuck.pb.gz >stuck.out 2>&1 &
	recorder=$!
	until records $recorder; do sleep 0.01; done
	ready=$(now_ms)
	sleep 2
	ended=$(now_ms)
	kill -INT $recorder
	wait $recorder
	echo "$((ready - begun)) $(($(now_ms) - ended))"
}

# row NAME: the table's row of what is there now
row() {
	: >times
	for _ in $(seq "${STUCK_ROUNDS:-5}"); do
		measure >>times
	done
	for column in 1 2; do
		cut -d' ' -f$column times | sort -n | awk '{ t[NR] = $1 } END { printf "%d, %d\n", t[int((NR + 1) / 2)], t[NR] }'
	done | paste -sd'|' | sed 's/|/ | /' | sed "s/^/| $1 | /; s/\$/ |/"
}

echo "## Beside processes that block their readers"
echo
echo "| stuck processes | ms until it samples: median, longest | ms from SIGINT to the end |"
echo "|---|---|---|"
row none
for nr in 1 2 12; do
	"$held" "$idle" 300 exec $nr 65534 >held.out 2>&1 &
	holder=$!
	wait_until 60 grep -q held held.out || { cat held.out >&2; exit 1; }
	row "$nr of one user"
	kill $holder
	wait $holder 2>/dev/null
done
holders=
for user in $(seq 30001 30012); do
	mkdir -p "user-$user" && cd "user-$user" || exit 1
	"$held" "$idle" 300 exec 1 "$user" >held.out 2>&1 &
	holders="$holders $!"
	cd ..
	wait_until 60 grep -q held "user-$user/held.out" || { cat "user-$user/held.out" >&2; exit 1; }
done
row "one of each of 12 users"
# shellcheck disable=SC2086 # a list of numbers
kill $holders
wait
