#!/bin/sh
# What "run" leaves alone: streams, exit status, signals.
. "${TOP:?}/tests/root/lib.sh"

# status_is EXPECTED COMMAND...
status_is() {
	expected=$1
	shift
	status=0
	timeout 60 "$@" >out 2>err || status=$?
	[ "$status" -eq "$expected" ] && return 0
	echo "status $status, not $expected: $(tail -n 1 err)"
	return 1
}

check exit-status status_is 7 "$LB" run -- sh -c 'exit 7'
check exit-not-found status_is 127 "$LB" run -- ./no-such-command
touch not-executable
check exit-not-executable status_is 126 "$LB" run -- ./not-executable
check exit-zero-without-samples status_is 0 "$LB" run -- true
# A command that a signal kills: the same wait status, as nothing was between.
wait_status() {
	python3 - "$LB" <<'END'
import subprocess
import sys
p = subprocess.run([sys.argv[1], "run", "--", "sh", "-c", "kill -TERM $$"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30, check=False)
if p.returncode != -15:
    sys.exit(f"wait status {p.returncode}, not killed by 15")
END
}
check wait-status-of-signal wait_status

streams() {
	printf 'one\ntwo\n' | "$LB" run -- sh -c 'cat; echo error >&2' >out 2>err || return 1
	[ "$(head -n 2 out | tr '\n' ' ')" = "one two " ] || { echo "stdout: $(head -n 2 out)"; return 1; }
	head -n 1 err | grep -qx error || { echo "stderr: $(head -n 1 err)"; return 1; }
}
check streams streams

# shellcheck disable=SC2016 # for the inner shell
closed_stdout() {
	# Nobody reads what is printed; when that shows, the profile is written.
	python3 - "$LB" run -F 999 -o piped.pb.gz -- sh -c '"$0" 5 >/dev/null' "$(build hot.c)" 2>err <<'END' || return 1
import os
import subprocess
import sys
read, write = os.pipe()
os.close(read)
p = subprocess.run(sys.argv[1:], stdout=write, timeout=60, check=False)
if p.returncode != -13:
    print(f"status {p.returncode}, not ended by SIGPIPE")
    sys.exit(1)
END
	! grep -v '^lineburn: ' err || return 1
	"$LB" annotate --json piped.pb.gz >piped.json && profile_has piped.json "s['count'] > 50" "sums_close()"
}
check closed-pipe closed_stdout

# shellcheck disable=SC2016 # for the inner shell
forwards() {
	rm -f got ready
	"$LB" run -- sh -c 'trap "echo $1 >got; exit 9" "$1"; : >ready; while :; do sleep 0.1; done' sh "$1" >/dev/null 2>err &
	pid=$!
	wait_until 60 test -e ready || { kill -KILL $pid; echo "never started"; return 1; }
	kill -s "$1" $pid
	status=0
	wait $pid || status=$?
	[ "$(cat got 2>/dev/null)" = "$1" ] && [ "$status" -eq 9 ] && return 0
	echo "the command got $(cat got 2>/dev/null || echo nothing), status $status"
	return 1
}
check forwards-TERM forwards TERM
check forwards-HUP forwards HUP
check forwards-USR1 forwards USR1

# The first second is not sampled, and the rest is: the profile begins a second after the
# start at least, and before the command ends.
delay() {
	date +%s.%N >before
	# shellcheck disable=SC2016 # for the inner shell
	"$LB" run --delay 1 -F 99 -- sh -c 'date +%s.%N >begin; "$0" 20; date +%s.%N >end' "$(build hot.c)" >out 2>err ||
		return 1
	"$LB" annotate --json >delay.json || return 1
	profile_has delay.json "0.2e9 < d['duration_ns']" "20 <= s['count']" "sums_close()" || return 1
	python3 -c '
import json
before, begin, end = (float(open(name, encoding="ascii").read()) for name in ("before", "begin", "end"))
d = json.load(open("delay.json", encoding="ascii"))
if not before + 1 <= d["time_ns"] / 1e9 < end: raise SystemExit("it begins %.3f s after the start" % (d["time_ns"] / 1e9 - before))'
}
check delay delay

dry_run() {
	rm -f lineburn.pb.gz started
	"$LB" run --dry-run -- touch started >out 2>err || { tail -n 1 err; return 1; }
	"$LB" record --dry-run -a >>out 2>>err || { tail -n 1 err; return 1; }
	[ ! -e started ] || { echo "the command was started"; return 1; }
	[ ! -e lineburn.pb.gz ] || { echo "a file was written"; return 1; }
	[ ! -s out ] || { echo "stdout: $(head -n 1 out)"; return 1; }
}
check dry-run dry_run
