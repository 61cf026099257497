#!/bin/sh
# A JIT runs again long after it has ended, from a copy of its file with the same path and build id but
# another inode, as in the next container of an image. The copy is probed, too.
# Takes 25 s.
. "${TOP:?}/tests/root/lib.sh"

jit=$(build gdbjit.c -rdynamic)
# One of the newest windows has the names of the second one. On a machine that stalls for seconds, so
# does lineburn: the program runs until then.
second_has_names() {
	for file in $(find . -name 'again.2*' | sort | tail -n 3); do
		"$LB" annotate --leaf --json "$file" >again.json &&
			profile_has again.json "s['count'] > 50" "hottest_function() == 'spin_50'" "sums_close()" && return 0
	done
	return 1
}

again() {
	known=no
	cp "$jit" ./again && cp "$jit" ./copy
	# shellcheck disable=SC2016 # for the inner shell
	timeout 150 sh -c 'while [ ! -e go ]; do sleep 0.1; done
		./again 100 0.5; sleep 16; mv copy again; ./again 100 60 & echo $! >second.pid; wait; sleep 1' &
	pid=$!
	"$LB" record -p $pid -F 999 --window 1s -o again.pb.gz >out 2>err &
	recorder=$!
	wait_until 60 sh -c 'ls again.2*' || { echo "it does not begin"; kill $pid $recorder; return 1; }
	touch go
	wait_until 60 [ -s second.pid ]
	! wait_until 60 second_has_names || known=yes
	kill "$(cat second.pid)"
	wait $recorder || { tail -n 1 err; return 1; }
	[ $known = yes ] || { echo "the second one has no names"; return 1; }
}
check gdbjit-again again
