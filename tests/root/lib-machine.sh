# shellcheck shell=sh
# shellcheck disable=SC2034 # for the scripts
# For bad-input-*.sh: starts two busy programs, and runs lineburn in a mount namespace that
# imitates an unusual machine. Includes lib.sh.
. "${TOP:?}/tests/root/lib.sh"

cp "$(build nap.c)" ./inside
cp inside ./outside
chmod 755 . inside outside
group=lineburn-bad-$$
# A container id that only this script has: 64 digits, of which the first 12 are unique.
id=$(printf '%08x' $$)fee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0fee5
id=$(echo "${id}00000000" | cut -c 1-60)fee5
id12=$(echo "$id" | cut -c 1-12)
made=
: >started
# ends PID: kills the process when this script ends. A file, because "check" runs commands in a subshell.
ends() {
	echo "$1" >>started
}
cleanup() {
	# shellcheck disable=SC2046 # a list
	kill_own $(cat started)
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

v2=$(mount_of cgroup2)
memory=$(mount_of cgroup memory)

# start PROGRAM [COMMAND...]: starts it through COMMAND; sets $pid; it is killed at the end
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

# MACHINE: shell commands that prepare the namespace; also for "enough", "chosen" and "says".
MACHINE=
# shellcheck disable=SC2016 # for the inner shell
lineburn() {
	timeout 60 unshare -m --propagation private sh -c "$MACHINE"'
		exec "$@"' sh "$LB" "$@"
}

# recording PID: prints the pid of the lineburn that PID, or a descendant, has executed
recording() {
	recording_pid=$1
	while ! is_called "$recording_pid" "$(basename "$LB" | cut -c 1-15)"; do
		recording_pid=$(children "$recording_pid" | cut -d ' ' -f 1)
		[ -n "$recording_pid" ] || return 1
	done
	echo "$recording_pid"
}
# children PID: prints its children; fails if it has none
children() {
	grep . "/proc/$1/task/$1/children" 2>/dev/null
}
# is_sampling PID: whether its lineburn has looked at all processes, and waits for samples
is_sampling() {
	records "$(recording "$1")"
}

pids="{p['pid'] for p in d['processes']}"
only_inside="$pids == {$inside} and s['count'] >= 3"
both="{$inside, $outside} <= $pids"
