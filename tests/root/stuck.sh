#!/bin/sh
# Users whose processes block whoever looks at them, even beyond SIGKILL: a recording begins, goes on,
# and ends while they do, and names other programs. What happens first decides, not how long it takes:
# the processes are released after two minutes only.
# Takes 40 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-containers.sh"

held=$(build held.c -pthread) && hot=$(build hot.c) || exit 1
chmod 755 .

# holds NAME MODE NR USER PROGRAM [FOLDER]: processes of this user are stuck from now on. Sets $holder.
holds() {
	"$held" "$5" 120 "$2" "$3" "$4" ${6:+"$6"} >"$1.held" 2>&1 &
	holder=$!
	wait_until 60 grep -q held "$1.held" || { tail -n 1 "$1.held"; kill $holder; return 1; }
}

# besides NAME MODE NR USER PROGRAM OPTION...: records beside them; TARGETS in place of options: one of them
# and the other program. The recording must begin and end while they are stuck, know the lines of another
# program, and count what it could not look at.
besides() {
	stuck=$1 stuck_mode=$2
	holds "$1" "$2" "$3" "$4" "$5" || return 1
	shift 5
	"$hot" 1000 >/dev/null &
	hot_pid=$!
	[ "$1" != TARGETS ] || set -- -p "$(tr -d ' ' <"/proc/$holder/task/$holder/children")" -p $hot_pid
	"$LB" record -vv -F 999 -o "$stuck.pb.gz" "$@" >"$stuck.out" 2>"$stuck.err" &
	recorder=$!
	why=
	wait_until 60 records $recorder || why="it does not begin"
	[ "$why" ] || {
		sleep 2
		works $hot_pid 500
		[ "$stuck_mode" != exec ] || wait_until 60 grep -q "did not answer in time" "$stuck.err"
	}
	kill -INT $recorder
	wait $recorder || why=${why:-$(tail -n 1 "$stuck.err")}
	kill -0 $holder 2>/dev/null || why="it ended after they were released"
	kill $holder $hot_pid
	wait $holder $hot_pid 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	grep -q "the rings are emptied while it works" "$stuck.err" ||
		{ echo "no ring was emptied during a wait"; return 1; }
	"$LB" annotate --json "$stuck.pb.gz" >"$stuck.json" &&
		profile_has "$stuck.json" "self_('hot.c five') > 0" "sums_close()" "note('late', d['losses']['targets_late']) > 0"
}

# A file that the program's debug info names is where nobody answers.
gone=$PWD/hot-gone
{ echo "#line 1 \"$PWD/held.ovl/gone.c\""; cat "$WORKLOADS/hot.c"; } >gone.c
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -o "$gone" gone.c || exit 1

# SIGINT in the first scan, at the first process that does not answer: the recording ends before sampling begins, which
# --delay keeps from beginning, however slow this script is. No reason is given that is not true.
ended_in_scan() {
	holders=
	for uid in $(seq 30101 30124); do
		"$held" "$hot" 120 exec 2 "$uid" >"scan-$uid.held" 2>&1 &
		holders="$holders $!"
	done
	why=
	for uid in $(seq 30101 30124); do
		wait_until 60 grep -q held "scan-$uid.held" || why="no process is stuck: $(tail -n 1 "scan-$uid.held")"
	done
	"$LB" record -vv -a --delay 120 -o scan.pb.gz >scan.out 2>scan.err &
	recorder=$!
	[ "$why" ] || wait_until 60 grep -q "did not answer in time" scan.err || why="no process was late"
	kill -INT $recorder
	status=0
	wait $recorder || status=$?
	# shellcheck disable=SC2086 # numbers of processes
	{ kill $holders; wait $holders 2>/dev/null; }
	[ -z "$why" ] || { echo "$why"; return 1; }
	[ $status -eq 4 ] || { echo "status $status"; return 1; }
	grep -q "no samples: the recording was ended before sampling began" scan.err || { tail -n 1 scan.err; return 1; }
	"$LB" annotate --json scan.pb.gz >scan.json && profile_has scan.json "d['duration_ns'] == 0"
}

# The command of run, or its loader, is in a file system that does not answer: even SIGKILL does not end it before the
# server does. SIGINT ends the recording, and says why.
served=$(build attacks/served.c) || exit 1
echo 'int main(void) { return 0; }' >loaded.c
gcc -o loaded -Wl,--dynamic-linker="$PWD/served.mnt/prog" loaded.c || exit 1

# command_ended NAME FILE
command_ended() {
	"$served" "$(command -v sleep)" 120 fuse open 30125 >"$1.held" 2>&1 &
	holder=$!
	wait_until 60 grep -q held "$1.held" || { tail -n 1 "$1.held"; kill $holder; return 1; }
	nsenter --mount=/proc/$holder/ns/mnt "$LB" run -o "$PWD/$1.pb.gz" -- "$2" >"$1.out" 2>"$1.err" &
	recorder=$!
	why=
	command=
	wait_until 60 finds_command || why="the command is not stuck"
	wait_until 60 records $recorder || why=${why:-"it does not begin"}
	kill -INT $recorder
	status=0
	wait $recorder || status=$?
	kill -0 $holder 2>/dev/null || why=${why:-"it ended after the command was released"}
	[ "$why" ] || is_stuck "$command" || why="the command was released"
	kill $holder
	wait $holder 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	[ $status -eq 126 ] || { echo "status $status"; return 1; }
	grep -qx "lineburn: cannot run $2: its file system did not answer before a signal ended the wait" "$1.err" ||
		{ tail -n 1 "$1.err"; return 1; }
	wait_until 60 has_ended "$command" || { echo "the command is still there"; return 1; }
}
finds_command() {
	command=$(tr ' ' '\n' <"/proc/$recorder/task/$recorder/children" | while read -r child; do
		! is_stuck "$child" || echo "$child"
	done)
	[ "$command" ]
}
is_stuck() {
	grep -qE 'request_wait_answer|fuse' "/proc/$1/wchan"
}
has_ended() {
	[ ! -e "/proc/$1" ]
}

# So do names of threads, which are looked for when nothing has the name of --comm: before sampling, and after it.
no_name() {
	holds name task 2 65534 "$hot" || return 1
	"$LB" record --comm lineburn-none -o name.pb.gz >name.out 2>name.err &
	recorder=$!
	why=
	wait_until 60 records $recorder || why="it does not begin"
	kill -INT $recorder
	status=0
	wait $recorder || status=$?
	kill -0 $holder 2>/dev/null || why=${why:-"it ended after they were released"}
	kill $holder
	wait $holder 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	[ $status -eq 4 ] && grep -q 'no samples: no thread is called "lineburn-none"; .*; processes that did not answer: [1-9]' name.err && return 0
	echo "status $status: $(tail -n 1 name.err)"
	return 1
}

# records_in_own_proc NAME: records the whole machine with a mount of proc of its own, so that whoever holds it holds
# nobody else. Sets $recorder.
records_in_own_proc() {
	mkdir -p proc.own
	unshare --mount sh -c 'mount -t proc proc proc.own && mount --bind proc.own /proc && exec "$@"' sh \
		"$LB" record -vv -a -F 999 -o "$1.pb.gz" >"$1.out" 2>"$1.err" &
	recorder=$!
	wait_until 60 records $recorder || { echo "it does not begin"; return 1; }
}

# holds_in_own_proc NAME BEFORE MODE USER [FOLDER]: a user holds this folder of that mount, or his own there, from now
# on. BEFORE: "umount /proc" for who finds his own threads in another one, else ":". Sets $holder.
holds_in_own_proc() {
	own_name=$1
	shift
	# shellcheck disable=SC2016 # for that sh
	nsenter --mount="/proc/$recorder/ns/mnt" unshare --mount sh -c '$1 && cd "$2" && shift 2 && exec "$@"' sh \
		"$1" "$PWD" "$held" "$hot" 120 "$2" 1 "$3" ${4:+"$PWD/proc.own/$4"} >"$own_name.held" 2>&1 &
	holder=$!
	wait_until 60 grep -q held "$own_name.held"
}

# A user holds the directories in /proc of lineburn itself and of its helpers. Then a process is stuck, so that the opener
# is looked at, and replaced.
own_held() {
	"$hot" 1000 >/dev/null &
	hot_pid=$!
	why=
	holders=
	records_in_own_proc own || why="it does not begin"
	works $hot_pid 200
	for process in $recorder $(pgrep -P "$recorder,$(pgrep -d , -P $recorder)"); do
		holds_in_own_proc "own-$process" "umount /proc" folder 65534 "$process" || why=${why:-"$process is not held"}
		holders="$holders $holder"
	done
	holds_in_own_proc own : task 65533 || why=${why:-"no process is stuck"}
	holders="$holders $holder"
	wait_until 60 grep -q "task of a target of user 65533 did not answer in time" own.err || why=${why:-"no process was late"}
	"$hot" 5 >/dev/null
	works $hot_pid 500
	kill -INT $recorder
	wait $recorder || why=${why:-$(tail -n 1 own.err)}
	kill -0 "$holder" 2>/dev/null || why=${why:-"it ended after they were released"}
	# shellcheck disable=SC2086 # numbers of processes
	{ kill $holders $hot_pid; wait $holders $hot_pid 2>/dev/null; }
	[ -z "$why" ] || { echo "$why"; return 1; }
	"$LB" annotate --json own.pb.gz >own.json && profile_has own.json "self_('hot.c five') > 0" "sums_close()"
}

# A user holds /proc itself. Then a program begins, which is late, for which nobody pays. No other helper gets to its own
# files there, so there are no names.
proc_held() {
	"$hot" 1000 >/dev/null &
	hot_pid=$!
	why=
	records_in_own_proc proc || why="it does not begin"
	works $hot_pid 200
	holds_in_own_proc proc "umount /proc" folder 65534 . || why=${why:-$(tail -n 1 proc.held)}
	"$hot" 100 >/dev/null &
	new_pid=$!
	wait_until 60 grep -q "of /proc itself, .* did not answer in time" proc.err || why=${why:-"/proc was not late"}
	works $hot_pid 200
	kill -INT $recorder
	wait $recorder || why=${why:-$(tail -n 1 proc.err)}
	kill -0 "$holder" 2>/dev/null || why=${why:-"it ended after it was released"}
	kill "$holder" $hot_pid $new_pid
	wait "$holder" $hot_pid $new_pid 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	"$LB" annotate --json proc.pb.gz >proc.json &&
		profile_has proc.json "s['count'] > 200" "sums_close()" "note('late', d['losses']['targets_late']) > 0" \
			"not any('hidepid' in w for w in d['warnings'])"
}

id=c0de9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8
other_id=0de19d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8
# A user holds a folder of cgroups that is his, where all have to be looked at to find a container by its id.
in_container() {
	container=$(cgroup "$v2" "docker-$id.scope") && folder=$(cgroup "$v2" own) && mkdir "$folder/child" &&
		chown -R 65534:65534 "$folder" && holds folder folder 1 65534 "$hot" "$folder" || return 1
	in_cgroups "$container" "$hot" 1000 >/dev/null
	"$LB" record -vv --container "$id" -F 999 -o folder.pb.gz >folder.out 2>folder.err &
	recorder=$!
	why=
	wait_until 60 records $recorder || why="it does not begin"
	# SIGINT is ignored before it begins.
	if [ "$why" ]; then
		kill -KILL $recorder
	else
		works "$pid" 500
		wait_until 60 grep -q "/own of folders of user 65534 did not answer in time" folder.err || why="nobody asked for it"
	fi
	kill -INT $recorder
	wait $recorder || why=${why:-$(tail -n 1 folder.err)}
	kill -0 "$holder" 2>/dev/null || why=${why:-"it ended after the folder was released"}
	kill "$holder" "$pid"
	wait "$holder" "$pid" 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	"$LB" annotate --json folder.pb.gz >folder.json &&
		profile_has folder.json "self_('hot.c five') > 0" "sums_close()" "note('late', d['losses']['targets_late']) > 0"
}

# not_found NAME FOLDER OPTION...: what is chosen may be in FOLDER, which is held
not_found() {
	name=$1
	mkdir -p "$v2/$containers_top/own/child" "$v2/$containers_top/roots/docker-$other_id.scope" &&
		holds "$1" folder 1 65534 "$hot" "$v2/$containers_top/$2" || return 1
	shift 2
	"$LB" record "$@" -o "$name.pb.gz" >"$name.out" 2>"$name.err" &
	recorder=$!
	why=
	wait_until 60 records $recorder || { why="it does not begin" && kill -KILL $recorder; }
	kill -INT $recorder
	status=0
	wait $recorder || status=$?
	kill -0 "$holder" 2>/dev/null || why=${why:-"it ended after the folder was released"}
	kill "$holder"
	wait "$holder" 2>/dev/null
	[ -z "$why" ] || { echo "$why"; return 1; }
	# On a slow machine it is not reached in that time.
	[ $status -eq 4 ] && grep -qE "was not found in half a second, as (folders of cgroups do not answer|there are very many)" \
		"$name.err" && return 0
	echo "status $status: $(tail -n 1 "$name.err")"
	return 1
}

check stuck-exec-pid besides exec exec 1 65534 "$hot" TARGETS
check stuck-exec-many besides many exec 12 65534 "$hot" -a
check stuck-task-pid besides task-pid task 1 65534 "$hot" TARGETS
check stuck-task-many besides task-many task 3 65534 "$hot" -a
check stuck-task-name no_name
check stuck-own own_held
check stuck-proc proc_held
if [ -n "$v2" ]; then
	check stuck-folder in_container
	check stuck-folder-root not_found roots roots --container "$other_id"
	check stuck-folder-below not_found below own -G "/$containers_top/own/child"
else
	skip stuck-folder "no cgroup2 is mounted"
fi
check stuck-source besides source look 1 65534 "$gone" -a
check stuck-scan-ended ended_in_scan
check stuck-command command_ended command "$PWD/served.mnt/prog"
check stuck-command-loader command_ended loader "$PWD/loaded"
