#!/bin/sh
# "record": which processes are sampled, how a recording ends, exit statuses and messages.
# Takes 45 s.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)

# -p PID: the process and all its children are sampled, and no other process.
"$(build nap.c)" 100000 &
other=$!
"$(build forks.c)" 400 40 &
parent=$!
wait_until 60 grep -q . "/proc/$parent/task/$parent/children"
attach() {
	enough 50 attach "$(longer "0.6 6" 2)" -p $parent || return 1
	[ ! -s attach.out ] || { echo "stdout: $(head -n 1 attach.out)"; return 1; }
	profile_has attach.json "hottest() == is_at('forks.c burn')" "s['count'] >= 50" "sums_close()" \
		"len(d['processes']) >= 2" "all(p['pid'] != $other for p in d['processes'])"
}
check record-attach attach
narrow record-attach-share profile_has attach.json "self_('forks.c burn') >= 97" "s['count'] >= 100"

machine() {
	"$LB" record -a -F 999 -o all.pb.gz >out 2>err &
	pid=$!
	wait_until 60 records $pid || { echo "it does not begin"; kill $pid; return 1; }
	works $other 100
	kill $pid
	wait $pid || { tail -n 1 err; return 1; }
	[ "$(stat -c %a:%u all.pb.gz)" = 600:0 ] || { echo "mode and owner: $(stat -c %a:%u all.pb.gz)"; return 1; }
	"$LB" annotate --json all.pb.gz >all.json
	profile_has all.json "any(p['pid'] == $other for p in d['processes'])" "sums_close()" \
		"file_self('nap.c') > 0" "all(p['pid'] != 0 for p in d['processes'])"
}
check record-machine machine

two_pids() {
	timeout 60 "$LB" record -F 999 -d 2 -p $parent -p $other -o two.pb.gz 2>two.err || { tail -n 1 two.err; return 1; }
	"$LB" annotate --json two.pb.gz >two.json
	profile_has two.json "file_self('nap.c') > 0" "self_('forks.c burn') > 0" \
		"sum(d['timeline']['samples']) == s['count']" "d['timeline']['bucket_ns'] == 100000000" \
		"len(d['timeline']['samples']) <= d['duration_ns'] / 1e8 + 2"
}
check record-two-pids two_pids

# Two parts of the time, each of which has samples, have all samples together.
halves() {
	cut=$(python3 -S -c 'import json
nr = json.load(open("two.json"))["timeline"]["samples"]
some = [bucket for bucket, samples in enumerate(nr) if samples]
print((some[0] + some[-1] + 1) // 2 / 10)') || return 1
	"$LB" annotate --json --time "-$cut" two.pb.gz >first.json && "$LB" annotate --json --time "$cut-" two.pb.gz >second.json &&
		python3 -S -c 'import json
whole, *halves = (json.load(open(f"{name}.json"))["samples"]["count"] for name in ("two", "first", "second"))
assert 0 < min(halves) and sum(halves) == whole, (whole, halves)'
}
check record-time halves

# A target that starts the recording of itself: its other children are sampled, lineburn is not.
own_parent() {
	# shellcheck disable=SC2016 # for the inner shell
	timeout 60 sh -c '"$0" 100000 & "$LB" record -F 999 -d 2 -p $$ -o own.pb.gz; status=$?; kill $!; exit $status' \
		"$(build nap.c)" 2>own.err || { tail -n 1 own.err; return 1; }
	"$LB" annotate --json own.pb.gz >own.json
	profile_has own.json "file_self('nap.c') > 0" "all(p['comm'] != 'lineburn' for p in d['processes'])"
}
check record-own-parent own_parent

# ends_by SIGNAL: after the signal lineburn writes the profile and exits with 0
ends_by() {
	rm -f end.pb.gz
	"$LB" record -a -F 999 -o end.pb.gz >out 2>err &
	pid=$!
	wait_until 60 records $pid || { echo "it does not begin"; kill $pid; return 1; }
	works $other 50
	kill -s "$1" $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 0 ] || { echo "status $status: $(tail -n 1 err)"; return 1; }
	"$LB" annotate --json end.pb.gz >end.json && profile_has end.json "s['count'] > 10" "sums_close()"
}
# A background job of sh ignores SIGINT, so python starts lineburn with the default handler.
interrupts() {
	rm -f int.pb.gz
	PYTHONPATH=$TOP/tests/root python3 - "$LB" $other <<'END'
import signal
import subprocess
import sys
from records import wait_until_it_records, wait_until_it_worked

p = subprocess.Popen([sys.argv[1], "record", "-a", "-F", "999", "-o", "int.pb.gz"], stderr=subprocess.PIPE,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
wait_until_it_records(p.pid)
wait_until_it_worked(int(sys.argv[2]), 20)
p.send_signal(signal.SIGINT)
_, said = p.communicate(timeout=60)
if p.returncode:
    sys.exit(f"status {p.returncode}: {said}")
END
	interrupts_status=$?
	[ $interrupts_status -eq 0 ] && [ -s int.pb.gz ]
}
check ends-by-INT interrupts
check ends-by-TERM ends_by TERM

# A second Ctrl-C loses no sample, at whatever moment it comes: the file is complete. It takes a third to end lineburn
# without the file, or with a complete one, and the second says so.
repeated_ints() {
	rm -rf ints && mkdir ints
	PYTHONPATH=$TOP/tests/root python3 - "$LB" $other <<'END'
import os
import signal
import subprocess
import sys
import time
from records import wait_until_it_records, wait_until_it_worked


def may_be_killed(pid):
    """Whether it has taken the second signal: the next one is not blocked any more."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        blocked = next(line.split()[1] for line in status if line.startswith("SigBlk:"))
    return not int(blocked, 16) >> signal.SIGINT - 1 & 1


def recording():
    p = subprocess.Popen([sys.argv[1], "record", "-a", "-F", "999", "-o", "ints/p.pb.gz"], stderr=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_until_it_records(p.pid)
    wait_until_it_worked(int(sys.argv[2]), 20)  # without any sample, the status would be 4
    p.send_signal(signal.SIGINT)
    return p


def ended(p, pause):
    """The files that it left, which are complete, and what it said."""
    said = p.communicate(timeout=60)[1].decode()
    if p.returncode not in (0, -2):
        sys.exit(f"status {p.returncode} after {pause} s: {said}")
    left = os.listdir("ints")
    if left not in ([], ["p.pb.gz"]):
        sys.exit(f"left behind: {left}")
    for name in left:
        subprocess.run([sys.argv[1], "report", "ints/" + name], check=True, stdout=subprocess.DEVNULL)
        os.unlink("ints/" + name)
    return left, said


for pause in 0.0, 0.01, 0.03, 0.1, 0.2, 0.3:
    p = recording()
    time.sleep(pause)
    p.send_signal(signal.SIGINT)
    if not ended(p, pause)[0]:
        sys.exit(f"no file after {pause} s, status {p.returncode}")
# A second one that comes while it ends may be too early to be one. The third comes as soon as it may kill: most
# recordings have not written their file by then.
for _ in range(40):
    p = recording()
    while p.poll() is None and not may_be_killed(p.pid):
        p.send_signal(signal.SIGINT)
        time.sleep(0.001)
    p.send_signal(signal.SIGINT)
    left, said = ended(p, None)
    if not left and "one more signal discards them" not in said:
        sys.exit(f"it did not say what it would lose: {said}")
    if not left:
        break
else:
    sys.exit("it never died by the third signal")
END
}
check repeated-INT repeated_ints

# closed STREAMS STATUS: records beside closed standard streams, such as "0<&- 2>&-". None of them becomes a file or
# a socket of lineburn. A command finds them closed, and its status is STATUS.
closed() {
	rm -f closed.pb.gz closed.json
	# Longer if nothing ran for that time.
	for s in 0.3 3 30; do
		status=0
		eval 'timeout -k 5 60 "$LB" record -a -F 999 -d '"$s"' -o closed.pb.gz '"$1" || status=$?
		[ $status -ne 4 ] || continue
		[ $status -eq 0 ] || { echo "record: status $status"; return 1; }
		"$LB" annotate --json closed.pb.gz >closed.json || return 1
		! profile_has closed.json "s['count'] > 10" || break
	done
	profile_has closed.json "s['count'] > 10" "sums_close()" || return 1
	rm -f closed.pb.gz
	status=0
	# shellcheck disable=SC2016 # for the inner shell
	eval 'timeout -k 5 60 "$LB" run -F 999 -o closed.pb.gz -- sh -c '\''
		for fd in $1; do
			[ ! -e "/proc/$$/fd/$fd" ] || exit 9
		done
		"$0" 3 >/dev/null
		exit 7'\'' "$hot" "$(echo "$1" | tr -dc "012 ")" '"$1" || status=$?
	[ "$status" -eq "$2" ] || { echo "run: status $status, not $2"; return 1; }
	"$LB" annotate --json closed.pb.gz >closed.json && profile_has closed.json "s['count'] > 50" "sums_close()"
}
check closed-stdin closed "0<&-" 7
check closed-stderr closed "2>&-" 7
check closed-stdin-stderr closed "0<&- 2>&-" 7
# The listing cannot be printed.
check closed-stdout closed "1>&-" 125
check closed-streams closed "0<&- 1>&- 2>&-" 125

# What nobody reads on stderr does not end a recording: the file begun by SIGHUP is written, too.
unread() {
	rm -rf unread && mkdir unread
	PYTHONPATH=$TOP/tests/root python3 - "$LB" $other <<'END'
import os
import signal
import subprocess
import sys
import time
from records import wait_until_it_records, wait_until_it_worked

read, write = os.pipe()
p = subprocess.Popen([sys.argv[1], "record", "-a", "-F", "999", "-o", "unread/p.pb.gz"], stderr=write)
os.close(write)
wait_until_it_records(p.pid)
wait_until_it_worked(int(sys.argv[2]), 20)
os.close(read)
p.send_signal(signal.SIGHUP)
for _ in range(6000):
    if p.poll() is not None or os.listdir("unread"):
        break
    time.sleep(0.01)
p.send_signal(signal.SIGTERM)
status = p.wait(timeout=60)
left = os.listdir("unread")
if status or len(left) != 2:
    sys.exit(f"status {status}, files {left}")
END
}
check unread-stderr unread

kill $parent $other 2>/dev/null
wait 2>/dev/null

# exits STATUS COMMAND...: it exits with that status, one sentence, and nothing on stdout
exits() {
	expected=$1
	shift
	status=0
	timeout 60 "$@" >out 2>err || status=$?
	[ "$status" -eq "$expected" ] || { echo "status $status, not $expected: $(tail -n 1 err)"; return 1; }
	[ ! -s out ] || { echo "stdout: $(head -n 1 out)"; return 1; }
	one_sentence err
}
sh -c 'exit 0' &
dead=$!
wait $dead
check dead-pid exits 1 "$LB" record -d 1 -p $dead

"$(build sleep.c)" 20 &
sleeper=$!
sleeping() {
	status=0
	# Wait until it sleeps: its start uses CPU.
	wait_until 30 grep -q nanosleep "/proc/$sleeper/wchan" || { echo "it does not sleep"; return 1; }
	timeout 60 "$LB" record -d 1 -p $sleeper >out 2>err || status=$?
	[ "$status" -eq 4 ] && grep -q 'no samples' err && return 0
	echo "status $status: $(tail -n 1 err)"
	return 1
}
check no-samples sleeping
kill $sleeper
wait 2>/dev/null

ends_with_target() {
	"$hot" 100000 &
	short=$!
	begin=$(date +%s)
	"$LB" record -p $short -d 150 -o with.pb.gz 2>err &
	recorder=$!
	wait_until 60 records $recorder || { echo "it does not begin"; kill $short; return 1; }
	works $short 50 || { echo "it gets no CPU"; kill $short; return 1; }
	kill $short
	wait $recorder || { tail -n 1 err; return 1; }
	[ $(($(date +%s) - begin)) -lt 100 ] || { echo "it went on without its target"; return 1; }
}
check ends-with-target ends_with_target

# A limit of files' sizes is the command's, and not that of what lineburn keeps in memory.
file_limit() {
	# shellcheck disable=SC2016,SC3045 # for the inner shell; dash has ulimit -S
	(ulimit -S -f 2 && exec "$LB" run -F 999 -o limited.pb.gz -- sh -c '
		ulimit -S -f >limit.said
		head -c 4096 /dev/zero >limit.file
		[ "$(kill -l $?)" = XFSZ ] || exit 1
		exec "$0" 3' "$hot" >limit.out 2>limit.err) || { echo "status $?: $(tail -n 1 limit.err)"; return 1; }
	[ "$(cat limit.said)" -eq 2 ] || { echo "the command has $(cat limit.said)"; return 1; }
	[ "$(stat -c %s limited.pb.gz)" -gt 2048 ] || { echo "the profile is too small to tell"; return 1; }
	"$LB" annotate --json limited.pb.gz >limited.json && profile_has limited.json "s['count'] > 50" "sums_close()"
}
check file-limit file_limit
if command -v setpriv >/dev/null; then
	# shellcheck disable=SC2016 # for the inner shell
	check file-limit-too-low exits 3 setpriv --bounding-set -sys_resource --inh-caps -sys_resource \
		sh -c 'ulimit -f 2 && exec "$0" record -a -d 1 -o too-low.pb.gz' "$LB"
else
	skip file-limit-too-low "no setpriv"
fi

chmod 755 .
cp "$LB" ./lineburn-for-all
chmod 755 ./lineburn-for-all
mkdir -m 777 open
if command -v setpriv >/dev/null; then
	as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	# shellcheck disable=SC2086 # a command and its arguments
	not_allowed() {
		exits 3 $as_nobody ./lineburn-for-all record -d 1 -a -o open/p.pb.gz
	}
	check not-allowed-record not_allowed
	# shellcheck disable=SC2086 # a command and its arguments
	check not-allowed-run exits 3 $as_nobody ./lineburn-for-all run -o open/p.pb.gz -- true
	# shellcheck disable=SC2086 # a command and its arguments
	not_mine() {
		exits 1 $as_nobody ./lineburn-for-all annotate "$PWD/all.pb.gz" && grep -q -i 'belongs to' err
	}
	check annotate-file-of-root not_mine
else
	skip not-allowed "no setpriv"
fi
