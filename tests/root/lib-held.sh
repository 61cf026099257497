# shellcheck shell=sh
# A user's process holds the lock of its mappings of a file: how long does that delay other processes?
: "${TOP:?started by run.sh}"

held=$(build held.c)

# forks FILE: forks until FILE exists, and prints the seconds of the longest fork(). Prints "begun"
# first.
forks() {
	python3 - "$1" <<'END'
import os
import sys
import time
print("begun", flush=True)
longest = 0
while not os.path.exists(sys.argv[1]):
    begin = time.monotonic()
    pid = os.fork()
    if not pid:
        os._exit(0)
    longest = max(longest, time.monotonic() - begin)
    os.waitpid(pid, 0)
    time.sleep(0.01)
print(f"{longest:.3f}")
END
}

# frozen FILE OPTION...: records the whole machine while the user nobody (65534), who owns FILE, holds
# that lock for 8 s and runs FILE. Prints the seconds of the longest fork() of another program.
frozen() {
	file=$1
	shift
	rm -f stop
	"$LB" record -vv -a -d 60 "$@" -o frozen.pb.gz >frozen.out 2>frozen.err &
	recorder=$!
	wait_until 30 records $recorder || { echo "it does not begin"; return 1; }
	"$held" "$file" 8 >held.out 2>held.err &
	holder=$!
	wait_until 60 grep -q held held.out || { cat held.err; kill $holder $recorder; return 1; }
	forks stop >longest &
	forker=$!
	wait_until 30 grep -q begun longest
	setpriv --reuid 65534 --regid 65534 --clear-groups "$file" 100 3 &
	wait $! $holder 2>/dev/null
	touch stop
	kill -INT $recorder
	wait $forker
	wait $recorder || { tail -n 1 frozen.err; return 1; }
	grep -q "$(basename "$file") has the GDB JIT interface, " frozen.err || { echo "the file was not looked at"; return 1; }
	tail -n 1 longest
}

# ended_meanwhile FILE: like frozen(), but the recording ends while the lock is held, for two minutes if
# nobody ends that
ended_meanwhile() {
	rm -f stop
	"$LB" record -a -d 60 -o meanwhile.pb.gz >meanwhile.out 2>&1 &
	recorder=$!
	wait_until 30 records $recorder || return 1
	setpriv --reuid 65534 --regid 65534 --clear-groups "$1" 100 20 &
	program=$!
	sleep 2
	"$held" "$1" 120 >held.out 2>&1 &
	holder=$!
	wait_until 60 grep -q held held.out || { tail -n 1 held.out; kill $holder $recorder $program; return 1; }
	forks stop >longest &
	forker=$!
	wait_until 30 grep -q begun longest
	kill -INT $recorder
	why=
	wait $recorder || why=$(tail -n 1 meanwhile.out)
	kill -0 $holder 2>/dev/null || why=${why:-"it ended after the lock was released"}
	touch stop
	wait $forker
	kill $program $holder
	wait $program $holder 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	tail -n 1 longest
}
