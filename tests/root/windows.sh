#!/bin/sh
# "record --window": adjacent files without lost or repeated samples; signals; --keep; memory and
# descriptors that do not grow. The tests run at once, each in its own folder.
# Takes 30 s.
. "${TOP:?}/tests/root/lib.sh"

# The program is always busy only in make stats, which compares its CPU time.
hot=$(build "$(longer nap.c hot.c)")
"$hot" 100000000 &
hot_pid=$!
# Recordings to end, also of failed tests. clean_up checks that a pid still runs lineburn.
started=$PWD/started
watch=$PWD/watch.log
: >"$started"
clean_up() {
	while read -r pid; do
		[ "$(readlink "/proc/$pid/exe")" != "$LB" ] || kill -9 "$pid"
	done <"$started"
	kill $hot_pid
	! mountpoint -q slow/disk || { fsfreeze -u slow/disk; umount -l slow/disk; }
	! mountpoint -q full/disk || umount -l full/disk
}
trap 'clean_up 2>/dev/null' EXIT
[ "$SUITE" != stats ] || PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/window_files.py" --watch $hot_pid "$watch" &

# windows NAME EXPRESSION...: see window_files.py
nothing_lost="all(x.losses['lost'] == 0 for x in w)"
windows() {
	windows_name=$1
	shift
	PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/window_files.py" "$windows_name" "$@"
}

no_temporary() {
	[ -z "$(find . -name '.lineburn-*' -print)" ] || { echo "left: $(ls -A)"; return 1; }
}

# recording PID: sets $recorder; the recording is killed at the end
recording() {
	recorder=$1
	echo "$1" >>"$started"
}

# start NAME OPTIONS: starts a recording of the program; sets $recorder
start() {
	start_name=$1
	shift
	"$LB" record -p $hot_pid -F 499 -o "$start_name.pb.gz" "$@" >"$start_name.out" 2>"$start_name.err" &
	recording $!
}

# samples PID: waits until that recording has begun and has samples
samples() {
	wait_until 60 records "$1" || { echo "does not start"; return 1; }
	works $hot_pid 100
}

# stop SIGNAL: ends the recording, whose exit status must be 0
stop() {
	kill -s "$1" "$recorder"
	stop_status=0
	wait "$recorder" || stop_status=$?
	[ "$stop_status" -eq 0 ] || { echo "status $stop_status: $(cat ./*.err)"; return 1; }
}

# of PID FIELD: prints a figure of /proc/PID/status, kB
of() {
	awk -v field="$2:" '$1 == field {print $2}' "/proc/$1/status"
}

count_fds() {
	find "/proc/$1/fd" -mindepth 1 | wc -l
}

# Ten windows, and one that SIGTERM ends early.
ten() {
	start ten --window 0.4s
	# shellcheck disable=SC2016 # for the inner shell
	wait_until 100 sh -c '[ "$(ls ten.2* | wc -l)" -ge 10 ]' || { echo "ten are not reached"; return 1; }
	sleep 0.2
	stop TERM || return 1
	no_temporary || return 1
	windows ten "len(w) >= 10" "adjacent(w)" "$nothing_lost" \
		"all(x.losses['count'] == x.count for x in w)" \
		"all(x.json['cost']['bpf_runs'] == x.count for x in w)" || return 1
	grep -q "samples in [0-9]* files*, the last is ten.2" ten.err || { cat ten.err; return 1; }
}

# SIGUSR1 writes a snapshot, whose samples are also in the window's file; SIGHUP ends the window.
signals() {
	start signals --window 1h
	samples "$recorder" || return 1
	kill -s USR1 "$recorder"
	wait_until 60 sh -c 'ls signals.2*Z.pb.gz' || { echo "no snapshot"; return 1; }
	cp signals.2*Z.pb.gz snapshot.20000101T000000Z.pb.gz
	windows snapshot "w[0].count > 0" "w[0].losses['lost'] == 0" || return 1
	works $hot_pid 100
	kill -s HUP "$recorder"
	wait_until 60 sh -c 'find . -name "signals.2*" -newer snapshot.20000101T000000Z.pb.gz | grep .' ||
		{ echo "the window did not end"; return 1; }
	works $hot_pid 100
	stop TERM || return 1
	no_temporary || return 1
	cp "$(find . -name 'signals.2*' | sort | head -n 1)" snapshot.20000101T000001Z.pb.gz
	windows snapshot "w[0].begin_s == w[1].begin_s" "w[1].count > w[0].count" || return 1
	windows signals "len(w) == 2" "adjacent(w)" "$nothing_lost"
}

# Without --window: SIGUSR1 writes the file so far, SIGHUP begins a new one.
plain() {
	start plain
	samples "$recorder" || return 1
	kill -s USR1 "$recorder"
	wait_until 60 test -s plain.pb.gz || { echo "no snapshot"; return 1; }
	kill -s HUP "$recorder"
	wait_until 60 sh -c 'ls plain.2*' || { echo "no new file"; return 1; }
	works $hot_pid 100
	stop TERM || return 1
	mv plain.pb.gz plain.99991231T000000Z.pb.gz
	windows plain "len(w) == 2" "adjacent(w)" "$nothing_lost" || return 1
	grep -q 'a new file begins$' plain.err || { cat plain.err; return 1; }
}

keep() {
	start keep --window 0.3 --keep 3
	wait_until 60 sh -c 'ls keep.2*' || { echo "no window"; return 1; }
	keep_first=$(find . -name 'keep.2*' | sort | head -n 1)
	wait_until 60 test ! -e "$keep_first" || { echo "nothing is removed"; return 1; }
	stop INT || stop TERM || return 1
	[ "$(find . -name 'keep.2*' | wc -l)" -eq 3 ] || { ls; return 1; }
	# A second run in the same folder: --max-size counts the files that are there.
	start keep --window 0.3 --max-size 1K
	# shellcheck disable=SC2016 # for the inner shell
	wait_until 60 sh -c '[ "$(ls keep.2* | wc -l)" -eq 1 ]' || { ls; return 1; }
	stop TERM || return 1
	[ "$(find . -name 'keep.2*' | wc -l)" -eq 1 ] || { ls; return 1; }
	no_temporary
}

failed_twice() {
	[ "$(grep -c 'kept for the next file' full.err)" -ge 2 ]
}

# A full disk: one sentence per window, the samples go to the next file, and the recording goes on.
full() {
	mkdir -p disk
	mount -t tmpfs -o size=64k none disk || { echo "no tmpfs"; return 1; }
	head -c 65536 /dev/zero >disk/filler 2>/dev/null
	"$LB" record -p $hot_pid -F 499 --window 1s -o disk/full.pb.gz >full.out 2>full.err &
	recording $!
	full_status=0
	# Two windows that cannot be written.
	wait_until 60 failed_twice || full_status=1
	rm disk/filler
	wait_until 60 sh -c 'ls disk/full.2*' || full_status=1
	works $hot_pid 100
	stop TERM || full_status=1
	windows disk/full "len(w) >= 2" "adjacent(w)" "w[0].end_s - w[0].begin_s > 1.9" \
		"w[0].count > 0" "$nothing_lost" || full_status=1
	cp disk/full.2* .
	ls -A disk >left
	umount disk
	[ $full_status -eq 0 ] || return 1
	! grep -q tmp left || { cat left; return 1; }
	grep -q 'No space left on device.*samples are kept for the next file$' full.err ||
		{ cat full.err; return 1; }
}

# A disk that blocks for 12 s: the drains go on meanwhile, nothing is lost.
slow() {
	mkdir -p disk
	truncate -s 32M slow.img
	mkfs.ext4 -q slow.img || return 1
	mount -o loop slow.img disk || { echo "no loop device"; return 1; }
	"$LB" record -vv -p $hot_pid -F 499 --window 1s -o disk/slow.pb.gz >slow.out 2>slow.err &
	recording $!
	wait_until 60 sh -c 'ls disk/slow.2*' || { echo "no window"; return 1; }
	slow_status=0
	fsfreeze -f disk && { sleep 12; fsfreeze -u disk; } || slow_status=1
	sleep 2
	stop TERM || slow_status=1
	windows disk/slow "len(w) >= 3" "adjacent(w)" "$nothing_lost" \
		"max(x.end_s - x.begin_s for x in w) > 6" || slow_status=1
	cp disk/slow.2* .
	umount disk
	[ $slow_status -eq 0 ] || return 1
	# A drain that waited for the disk would take at least 11 of the 12 s: a window ends each second.
	held_below 10000 slow.err
}
held_below() {
	held=$(sed -n 's/.*longest time between two drains: \([0-9]*\) ms$/\1/p' "$2" | sort -n | tail -n 1)
	echo "longest time between two drains, of 12 s: $held ms"
	[ "${held:-12000}" -lt "$1" ]
}

# newest PID: prints the newest window file of this recording, which keeps it open
newest() {
	# By inode, because the kernel shows no name of a file that got its name after it was opened.
	for newest_pid in $(family "$1"); do
		for newest_fd in "/proc/$newest_pid/fd"/*; do
			find logs -name 's.2*Z*.pb.gz' -inum "$(stat -L -c %i "$newest_fd" || echo 0)"
		done
	done 2>/dev/null
}
# has_newest PID [BUT]: sets $has_newest to it; fails if there is none, or if it is BUT
has_newest() {
	has_newest=$(newest "$1")
	[ -n "$has_newest" ] && [ "$has_newest" != "${2:-}" ]
}

# Two recordings to the same name, and a folder that is renamed during the recording.
shared() {
	mkdir -p logs other
	"$LB" record -p $hot_pid -F 499 --window 0.5s --keep 2 -o logs/s.pb.gz >a.out 2>a.err &
	recording $!
	recorder_a=$recorder
	wait_until 60 sh -c 'ls logs/s.2*' || { echo "no window"; return 1; }
	"$LB" record -p $hot_pid -F 499 --window 0.5s --keep 2 -o logs/s.pb.gz >b.out 2>b.err &
	recording $!
	wait_until 60 grep -q 'another recording' b.err || { echo "not seen: $(cat b.err)"; return 1; }
	# Wait until the second recording has written two files, too.
	wait_until 60 has_newest "$recorder" || { echo "no file"; return 1; }
	wait_until 60 has_newest "$recorder" "$has_newest" || { echo "no second file"; return 1; }
	stop TERM || return 1
	# The first recording goes on; it has one file more until it removes its oldest.
	# shellcheck disable=SC2016 # for the inner shell
	wait_until 60 sh -c '[ "$(find logs -name "s.2*" | wc -l)" -eq 4 ]' || { echo "of two: $(ls logs)"; return 1; }
	mv logs moved && ln -s other logs
	: >moved_at
	sleep 0.1
	wait_until 60 sh -c 'find moved -name "s.2*" -newer moved_at | grep .' || { echo "nothing is written any more"; return 1; }
	[ -z "$(ls -A other)" ] || { echo "diverted: $(ls other)"; return 1; }
	# Log rotation: after SIGHUP, files go to the folder that has the name now.
	kill -s HUP "$recorder_a"
	wait_until 60 sh -c 'ls other/s.2*' || { echo "not followed"; return 1; }
	recorder=$recorder_a
	stop TERM
}

refused() {
	status=0
	"$LB" record -a --window 1s -o - 2>err || status=$?
	[ "$status" -eq 2 ] || { echo "status $status"; return 1; }
	one_sentence err || return 1
	status=0
	"$LB" record -a --window 1s -o nowhere/x.pb.gz 2>err || status=$?
	[ "$status" -eq 1 ] || { echo "status $status"; return 1; }
	one_sentence err
}

# memory_until COMMAND...: sets $least and $most to the lowest and highest anonymous memory, in kB, until
# the command passes, and $least_fds to the lowest number of descriptors. Both go up and down within a
# window, so single values mean little.
memory_until() {
	least=$(of "$recorder" RssAnon) most=$least least_fds=$(count_fds "$recorder")
	turns=1200
	while ! "$@"; do
		now=$(of "$recorder" RssAnon)
		[ "$now" -ge "$least" ] || least=$now
		[ "$now" -le "$most" ] || most=$now
		now=$(count_fds "$recorder")
		[ "$now" -ge "$least_fds" ] || least_fds=$now
		turns=$((turns - 1))
		[ $turns -gt 0 ] || { echo "no windows of so many processes"; return 1; }
		sleep 0.05
	done
}
# five_of NUMBER FILE...: NUMBER processes have run, and there are five window files, none of these FILEs
five_of() {
	[ "$(wc -l <ran)" -ge "$1" ] || return 1
	shift
	for path; do
		[ ! -e "$path" ] || return 1
	done
	set -- flat.2*
	[ $# -ge 5 ]
}

# Windows of 0.5 s with short processes, with the smallest --memory: memory does not grow with the
# number of processes. (tests/bench/windows.sh is the soak test.) Descriptors go up and down, because
# directories of running processes stay open between drains. Between the two measurements 500
# processes run and 5 windows end, however long that takes.
flat() {
	timeout 300 sh -c 'while :; do sh -c "sleep 0.005; :"; echo; done' >ran &
	storm=$!
	"$LB" record -p $storm -v -F 999 --window 0.5s --keep 5 --memory 64 -o flat.pb.gz >flat.out 2>flat.err &
	recording $!
	# Memory is lower at first, so skip the first windows.
	memory_until five_of 300 || return 1
	memory_until five_of 500 flat.2* || return 1
	early=$least early_fds=$least_fds early_ran=$(wc -l <ran)
	memory_until five_of $((early_ran + 500)) flat.2* || return 1
	kill $storm
	stop TERM || return 1
	echo "least anonymous memory $early kB in 5 windows, $least kB in later ones, at most $most kB; at least $early_fds descriptors, then $least_fds"
	[ "$most" -le 65536 ] && [ "$least" -le $((early * 115 / 100 + 8192)) ] &&
		[ "$least_fds" -le $((early_fds + 100)) ]
}

# in_folder NAME COMMAND...: runs it in a new folder, in the background
in_folder() {
	mkdir "$1"
	(cd "$1" && shift && "$@") &
	folders="$folders $!"
}
folders=
in_folder ten check windows-ten ten
in_folder signals check windows-signals signals
in_folder plain check windows-without-option plain
in_folder keep check windows-keep keep
in_folder full check windows-full-disk full
in_folder shared check windows-shared-folder shared
in_folder refused check windows-refused refused
in_folder flat figure windows-flat flat
if command -v fsfreeze >/dev/null && command -v mkfs.ext4 >/dev/null && [ -e /dev/loop-control ]; then
	in_folder slow figure windows-slow-disk slow
else
	skip windows-slow-disk "needs fsfreeze, mkfs.ext4 and loop devices"
fi
# shellcheck disable=SC2086 # a list of numbers
wait $folders

# The samples of all windows equal the program's CPU time by the kernel's own clock.
accounted() {
	(cd "$1" && windows "${2:-$1}" "accounted(w${3:-}, '$watch', 499)")
}
narrow windows-ten-time accounted ten
narrow windows-ten-lengths windows ten/ten "sum(abs(x.end_s - x.begin_s - 0.4) < 0.3 for x in w[:-1]) >= 8"
narrow windows-signals-time accounted signals
narrow windows-snapshot-time accounted signals snapshot '[1:]'
narrow windows-without-option-time accounted plain
narrow windows-full-disk-time accounted full
[ ! -e slow ] || narrow windows-slow-disk-time accounted slow
[ ! -e slow ] || narrow windows-slow-disk-held held_below 2000 slow/slow.err
