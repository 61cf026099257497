#!/bin/busybox sh
# shellcheck shell=sh
# Init of the guest that run.sh boots: runs lineburn, and hands what came of it to the host
# through the second serial line, as a compressed tar.
export PATH=/bin LC_ALL=C HOME=/tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs tracing /sys/kernel/tracing 2>/dev/null
mount -t tmpfs tmp /tmp
mkdir /tmp/out
cd /tmp/out || exit 1
uname -r >release
echo "guest: $(uname -r) after $(cut -d ' ' -f 1 /proc/uptime) s"

# told NAME COMMAND...: its output is NAME.txt and NAME.err, its status NAME.status
told() {
	told_name=$1
	shift
	told_status=0
	timeout 300 "$@" >"$told_name.txt" 2>"$told_name.err" </dev/null || told_status=$?
	echo "$told_status" >"$told_name.status"
	echo "guest: $told_name ended with $told_status after $(cut -d ' ' -f 1 /proc/uptime) s"
	return "$told_status"
}

# profiled NAME LINEBURN_ARGUMENT...: NAME.pb.gz, and NAME.json of it; or what it says about
# each step, with the verifier's log.
profiled() {
	profiled_name=$1
	profiled_command=$2
	shift 2
	if told "$profiled_name" lineburn "$profiled_command" -o "$profiled_name.pb.gz" "$@"; then
		lineburn annotate --json "$profiled_name.pb.gz" >"$profiled_name.json" \
			2>"$profiled_name.json.err"
	else
		told "$profiled_name.verbose" lineburn "$profiled_command" -vv -o again.pb.gz "$@"
	fi
}

# part NAME: is it to be tried? All are, unless the kernel was told of some.
part() {
	case $(cat /proc/cmdline) in
	*lineburn.only=*) grep -q "lineburn.only=[a-z,]*\b$1\b" /proc/cmdline ;;
	esac
}

stacks() {
	told unwind /unit/unwind
	told jit_probe /unit/jit_probe
	profiled deep run -F 199 -- /test/stacks deep 2000
	profiled signal run -F 199 -- /test/stacks signal 2000
	profiled python run -F 199 --max-frames 512 -- /bin/python3 -S -E /test/recursion.py 30 10
}

# All of the machine: processes that come and go, and one that has been there.
machine() {
	/test/stacks deep 100000 &
	there=$!
	while :; do
		sh -c '/bin/busybox true; /bin/busybox cat /proc/self/maps >/dev/null'
	done &
	churn=$!
	profiled machine record -a -F 199 -d 10
	kill "$churn" "$there"
}

# in_cgroup CGROUP NAME COMMAND...: a loop called NAME there, whose pid NAME.pid tells
in_cgroup() {
	in_cgroup_path=/sys/fs/cgroup/$1
	in_cgroup_name=$2
	shift 2
	mkdir -p "$in_cgroup_path"
	cp /test/stacks "/test/$in_cgroup_name"
	(
		echo 0 >"$in_cgroup_path/cgroup.procs"
		exec "$@" "/test/$in_cgroup_name" deep 1000000
	) &
	echo $! >"$in_cgroup_name.pid"
}

# Of two that are busy, one, in each way to say so: far down in a cgroup, and another user's.
choices() {
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || return
	id=5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5f0c0ffee5
	in_cgroup "outer/docker-$id.scope/1/2/3/4" inside env
	in_cgroup system.slice/other.service outside /bin/python3 -S -E -c '
import os, sys
os.setuid(54321)
os.execv(sys.argv[1], sys.argv[1:])'
	sleep 2
	profiled cgroup record -F 199 -d 3 -G /outer
	profiled not-cgroup record -F 199 -d 3 -G '!outer'
	profiled container record -F 199 -d 3 --container 5f0c0ffee
	profiled unit record -F 199 -d 3 --unit other
	profiled comm record -F 499 -d 4 --comm 'i[m-o]s*e'
	profiled not-comm record -F 199 -d 3 --comm '!inside'
	profiled user record -F 199 -d 3 --user 54321
	profiled thread record -F 199 -d 3 -t "$(cat inside.pid)"
	sh -c 'while :; do /test/stacks deep 20; done' &
	echo $! >parent.pid
	profiled children record -F 199 -d 3 -p "$(cat parent.pid)"
	profiled not-children record -F 199 -d 3 -p "!$(cat parent.pid)" --comm '[iso]*'
	kill "$(cat inside.pid)" "$(cat outside.pid)" "$(cat parent.pid)"
}

# windows_end NAME RECORDER BUSY...: ends them; of each window there is JSON then
windows_end() {
	windows_name=$1
	windows_recorder=$2
	shift 2
	kill -INT "$windows_recorder"
	wait "$windows_recorder"
	echo $? >"$windows_name.status"
	kill "$@"
	for windows_file in "$windows_name".2*.pb.gz; do
		lineburn annotate --json "$windows_file" >"$windows_file.json" 2>>"$windows_name.err"
	done
}

# asleep SECONDS: suspended to RAM, the second CPU taken away and brought back
asleep() {
	echo 0 >/sys/class/rtc/rtc0/wakealarm
	echo "+$1" >/sys/class/rtc/rtc0/wakealarm
	echo mem >/sys/power/state
}

# Two sleeps within one recording of windows; by uptime, which goes on, they are told.
suspend() {
	grep -qw mem /sys/power/state && [ -e /sys/class/rtc/rtc0/wakealarm ] || return
	/test/stacks deep 1000000 &
	suspend_busy=$!
	/test/stacks deep 1000000 &
	suspend_busy="$suspend_busy $!"
	lineburn record -a -F 199 --window 4s -o suspend.pb.gz >suspend.txt 2>suspend.err &
	suspend_recorder=$!
	sleep 8
	for _ in 1 2; do
		cut -d ' ' -f 1 /proc/uptime >>suspend.uptime
		asleep 6 2>>suspend.err
		cut -d ' ' -f 1 /proc/uptime >>suspend.uptime
		sleep 6
	done
	# shellcheck disable=SC2086 # a list of numbers
	windows_end suspend $suspend_recorder $suspend_busy
}

# The clock is set back, to a time that has windows already, and on by an hour.
clock() {
	/test/stacks deep 1000000 &
	clock_busy=$!
	cut -d ' ' -f 1 /proc/uptime >clock.uptime
	lineburn record -a -F 199 --window 2s -o clock.pb.gz >clock.txt 2>clock.err &
	clock_recorder=$!
	sleep 9
	date -s "@$(($(date +%s) - 4))" >>clock.txt
	sleep 5
	date -s "@$(($(date +%s) + 3600))" >>clock.txt
	sleep 5
	cut -d ' ' -f 1 /proc/uptime >>clock.uptime
	windows_end clock $clock_recorder $clock_busy
}

# What the verifier has to say to all that the sampler has, with the log of what it refuses.
loading() {
	told loading lineburn record --dry-run -vv -a
}

told doctor lineburn doctor
for part in loading stacks machine choices suspend clock; do
	if part $part; then $part; fi
done

dmesg >kernel.log
stty -F /dev/ttyS1 raw
tar -c . | gzip >/dev/ttyS1
echo "guest: all told after $(cut -d ' ' -f 1 /proc/uptime) s"
reboot -f # after a sleep the machine would not power off
