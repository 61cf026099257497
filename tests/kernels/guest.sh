#!/bin/busybox sh
# shellcheck shell=sh
# Init of the guest that run.sh boots: runs lineburn, and sends the results to the host through
# the second serial line, as a compressed tar.
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

# told NAME COMMAND...: writes its output to NAME.txt and NAME.err, its status to NAME.status
told() {
	told_name=$1
	shift
	told_status=0
	timeout 300 "$@" >"$told_name.txt" 2>"$told_name.err" </dev/null || told_status=$?
	echo "$told_status" >"$told_name.status"
	echo "guest: $told_name ended with $told_status after $(cut -d ' ' -f 1 /proc/uptime) s"
	return "$told_status"
}

# profiled NAME LINEBURN_ARGUMENT...: records NAME.pb.gz and makes NAME.json. If that fails,
# runs it again with -vv, which prints the verifier's log.
profiled() {
	profiled_name=$1
	profiled_command=$2
	shift 2
	if told "$profiled_name" lineburn "$profiled_command" -o "$profiled_name.pb.gz" "$@"; then
		lineburn annotate --json "$profiled_name.pb.gz" >"$profiled_name.json" \
			2>"$profiled_name.json.err"
		lineburn annotate --json --time 5- "$profiled_name.pb.gz" >"$profiled_name.later.json" \
			2>"$profiled_name.later.err"
	else
		told "$profiled_name.verbose" lineburn "$profiled_command" -vv -o again.pb.gz "$@"
	fi
}

# part NAME: whether to run this part: all are run, unless the kernel's command line lists some
part() {
	case $(cat /proc/cmdline) in
	*lineburn.only=*) grep -q "lineburn.only=[a-z,]*\b$1\b" /proc/cmdline ;;
	esac
}

stacks() {
	told unwind /unit/unwind
	told jit_probe /unit/jit_probe
	told map_sizes /unit/map_sizes
	# Not its tests of two CPUs, which are emulated here.
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	told sampler env LB_UNIT_FILTER='sampler:a_first*' /unit/sampler
	umount /sys/fs/cgroup
	profiled deep run -F 199 -- /test/stacks deep 6000
	profiled signal run -F 199 -- /test/stacks signal 6000
	profiled python run -F 199 --max-frames 512 -- /bin/python3 -S -E /test/recursion.py 30 10
}

# Records the whole machine: short processes, and one that runs when the recording begins.
machine() {
	/test/stacks deep 100000 &
	there=$!
	while :; do
		sh -c '/bin/busybox true; /bin/busybox cat /proc/self/maps >/dev/null'
	done &
	churn=$!
	profiled machine record -a -F 199 -d 30
	kill "$churn" "$there"
}

# in_cgroup CGROUP NAME COMMAND...: starts a loop called NAME in CGROUP; its pid goes to NAME.pid
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

# Each option that chooses one of two busy processes: "inside" runs deep in a cgroup, "outside"
# as another user.
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

# windows_end NAME RECORDER BUSY...: ends these processes and makes JSON of each window
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

uptime_to() {
	cut -d ' ' -f 1 /proc/uptime >>"$1.uptime"
}

# asleep SECONDS: suspends to RAM, which takes the second CPU offline and brings it back
asleep() {
	echo 0 >/sys/class/rtc/rtc0/wakealarm
	echo "+$1" >/sys/class/rtc/rtc0/wakealarm
	echo mem >/sys/power/state
}

# recording NAME OPTION...: records the machine in windows from now on. Sets $recorder.
recording() {
	recording_name=$1
	shift
	mkfifo "$recording_name.ready"
	lineburn record -a -F 199 --ready-fd 3 "$@" -o "$recording_name.pb.gz" \
		>"$recording_name.txt" 2>"$recording_name.err" 3>"$recording_name.ready" &
	recorder=$!
	read -r _ <"$recording_name.ready"
	rm "$recording_name.ready"
}

# Suspends twice within one recording of windows; uptime, which includes sleep, measures the sleeps.
suspend() {
	grep -qw mem /sys/power/state && [ -e /sys/class/rtc/rtc0/wakealarm ] || return
	/test/stacks deep 1000000 &
	suspend_busy=$!
	/test/stacks deep 1000000 &
	suspend_busy="$suspend_busy $!"
	recording suspend --window 4s
	sleep 8
	for _ in 1 2; do
		uptime_to suspend
		asleep 6 2>>suspend.err
		uptime_to suspend
		sleep 6
	done
	# shellcheck disable=SC2086 # a list of numbers
	windows_end suspend $recorder $suspend_busy
}

# Sets the clock back, into the time of an earlier window, and then forward by an hour.
clock() {
	/test/stacks deep 1000000 &
	clock_busy=$!
	uptime_to clock
	recording clock --window 2s
	uptime_to clock
	sleep 9
	date -s "@$(($(date +%s) - 60))" >>clock.txt
	sleep 15
	date -s "@$(($(date +%s) + 3600))" >>clock.txt
	sleep 5
	uptime_to clock
	windows_end clock $recorder $clock_busy
	uptime_to clock
}

# Loads all programs of the sampler, with the verifier's log of those it refuses.
loading() {
	told loading lineburn record --dry-run -vv -a
}

# What doctor says of callers, and what a recording of theirs does, for each value of the setting with
# which kernels of Debian ask for CAP_SYS_ADMIN: "VALUE CAPABILITIES DOCTOR RECORD", the status of each.
rights() {
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	# shellcheck disable=SC3045 # busybox has it
	ulimit -l unlimited # counts before Linux 5.11
	for value in 2 3 4; do
		echo $value >/proc/sys/kernel/perf_event_paranoid
		for caps in bpf bpf,perfmon bpf,perfmon,sys_admin sys_admin; do
			set=-all,+$(echo $caps | sed 's/,/,+/g')
			as="/test/setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=$set --ambient-caps=$set --bounding-set=$set"
			# shellcheck disable=SC2086 # words
			told "rights.$value.$caps.doctor" $as lineburn doctor
			# shellcheck disable=SC2086
			told "rights.$value.$caps.record" $as lineburn record -vv -a -d 0.5 -o /dev/null
			echo "$value $caps $(cat "rights.$value.$caps.doctor.status") $(cat "rights.$value.$caps.record.status")" >>rights.txt
		done
	done
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
}

told doctor lineburn doctor
for part in loading rights stacks machine choices suspend clock; do
	if part $part; then $part; fi
done

dmesg >kernel.log
stty -F /dev/ttyS1 raw
tar -c . | gzip >/dev/ttyS1
echo "guest: all told after $(cut -d ' ' -f 1 /proc/uptime) s"
reboot -f # after a suspend the machine does not power off
