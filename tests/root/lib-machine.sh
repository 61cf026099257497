# shellcheck shell=sh
# shellcheck disable=SC2034 # for the scripts
# For bad-input-*.sh: two programs that are busy, lineburn on a machine that is prepared in
# a mount namespace of its own, and what it is to say. Beside lib.sh, whose caller it is.
. "${TOP:?}/tests/root/lib.sh"

cp "$(build nap.c)" ./inside
cp inside ./outside
chmod 755 . inside outside
group=lineburn-bad-$$
# A container of this script alone: 64 digits, told by the first 12.
id=$(printf '%08x' $$)fee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0fee5
id=$(echo "${id}00000000" | cut -c 1-60)fee5
id12=$(echo "$id" | cut -c 1-12)
made=
: >started
# ends PID: with this script. Also of a subshell, as those of "check" are.
ends() {
	echo "$1" >>started
}
cleanup() {
	# shellcheck disable=SC2046 # a list
	kill -9 $(cat started) 2>/dev/null
	wait 2>/dev/null
	for dir in $made; do
		wait_until 20 removed "$dir"
	done
}
removed() {
	find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -e "$1" ]
}
trap cleanup EXIT
trap 'exit 130' INT TERM

v2=$(mount_of cgroup2)
memory=$(mount_of cgroup memory)

# start PROGRAM [COMMAND...]: begins it by the command; pid in $pid, killed in the end
start() {
	start_program=$1
	shift
	"$@" "./$start_program" 100000 >/dev/null 2>&1 &
	pid=$!
	ends "$pid"
	wait_until 20 is_called "$pid" "$start_program"
}
is_called() {
	[ "$(cat "/proc/$1/comm")" = "$2" ]
}
start inside
inside=$pid
start outside
outside=$pid

# In MACHINE, what the other functions run, also "enough" and "chosen", is prepared by these commands.
MACHINE=
# shellcheck disable=SC2016 # for the inner shell
lineburn() {
	timeout 60 unshare -m --propagation private sh -c "$MACHINE"'
		exec "$@"' sh "$LB" "$@"
}

# recording PID: the pid of lineburn that descends from it, once it is that
recording() {
	recording_pid=$1
	while ! is_called "$recording_pid" "$(basename "$LB" | cut -c 1-15)"; do
		recording_pid=$(children "$recording_pid" | cut -d ' ' -f 1)
		[ -n "$recording_pid" ] || return 1
	done
	echo "$recording_pid"
}
# children PID: and it has any
children() {
	grep . "/proc/$1/task/$1/children" 2>/dev/null
}
# is_sampling PID: its events are open
is_sampling() {
	find "/proc/$(recording "$1")/fd" -lname '*perf_event*' | grep -q .
}

pids="{p['pid'] for p in d['processes']}"
only_inside="$pids == {$inside} and s['count'] >= 3"
both="{$inside, $outside} <= $pids"
