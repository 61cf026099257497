#!/bin/sh
# shellcheck disable=SC2317 # functions that "names" calls by their names
# Attacks of docs/security.md with files and processes that block whoever looks at them: 4 to 7, 29.
# Takes 130 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

[ -c /dev/fuse ] || { skip attacks-files "no /dev/fuse"; exit 0; }
served=$(build attacks/served.c) || exit 1

# counted NAME: what could not be looked at is counted
counted() {
	profile_has "$1.json" "note('late', losses['targets_late']) + note('refused', losses['targets_refused']) > 0"
}

# ---- 4: an overlay over a file system in user space ----

# There, nobody answers for a name that begins with "g" (held.c). Each function makes a program that leads to one.
program_dwo() {
	mkdir -p dwo && cp "$WORKLOADS/hot.c" dwo || return 1
	(cd dwo && gcc -O2 -g -gsplit-dwarf "-fdebug-prefix-map=$PWD=${PWD%/dwo}/held.ovl" -c -o gone.o hot.c &&
		gcc -o ../program-dwo gone.o)
}
program_debuglink() {
	cp "$hot" linked && objcopy --only-keep-debug linked gone.debug && objcopy --strip-debug \
		--remove-section=.note.gnu.build-id --add-gnu-debuglink=gone.debug linked || return 1
	# shellcheck disable=SC2016 # for the inner shell
	printf '#!/bin/sh\nmount --bind %s held.ovl/1 && exec held.ovl/1 "$1"\n' "$PWD/linked" >program-debuglink
}
program_python() {
	cat >looping.py <<-END
		source = "def loop():\n    while True:\n        for i in range(1000):\n            i * i\nloop()\n"
		exec(compile(source, "$PWD/held.ovl/gone.py", "exec"))
	END
	printf '#!/bin/sh\nexec /usr/bin/python3 -S -E %s\n' "$PWD/looping.py" >program-python
}
# names WHAT: a program whose debug info names a file there
names() {
	"program_$1" || { echo "cannot make the program"; return 1; }
	chmod 755 "program-$1"
	attack "$1" held "$held" "$PWD/program-$1" $ATTACK_S look 1 30004 || return 1
	beside "names-$1" 3 -a || return 1
	profile_has "names-$1.json" "note('samples', sum(p['samples'] for p in d['processes'] if p.get('user') == '30004')) > 20" &&
		counted "names-$1"
}
figure attack-4-dwo names dwo
figure attack-4-debuglink names debuglink
figure attack-4-python-source names python

# ---- 4: the binary itself; 5: a file system in user space that lets others in ----

# serves WHERE REQUEST: a program whose file is there
serves() {
	attack "serves-$1-$2" held "$served" "$hot" $ATTACK_S "$1" "$2" 30005 || return 1
	beside "serves-$1-$2" 3 -a || return 1
	# Its lines are known, or counted as a miss.
	served_pid=$(sed -n 's/^held //p' "serves-$1-$2.said")
	"$LB" annotate --json --pid "$served_pid" "serves-$1-$2.pb.gz" >"$1-$2.json" &&
		profile_has "$1-$2.json" "s['count'] > 20" "note('lines', s['with_line']) + note('misses', sum(m['samples'] for m in d['misses'])) == s['count']" || return 1
	cat "serves-$1-$2.cost"
}
for request in open read getattr lookup flush close; do
	figure "attack-4-binary-$request" serves overlay $request
	figure "attack-5-$request" serves fuse $request
done

# Many files that are opened slowly, but not late.
slow_files() {
	attack slow held "$served" "$(build attacks/slow-files.c)" $ATTACK_S overlay slow 30206 && beside slow 3 -a
}
figure attack-4-slow slow_files

# So are names of frozen modules, of which each is looked for in many folders.
frozen_names() {
	attack frozen held "$served" "$WORKLOADS/attacks/frozen.py" $ATTACK_S overlay names 30207 || return 1
	beside frozen 4 -a && grep -q asked frozen.said
}
figure attack-4-frozen-names frozen_names

# ---- 6: an exec that never ends ----

# stuck_exec NAME OPTION...: with these options; "run" has a command
stuck_exec() {
	stuck_name=$1
	shift
	attack "$stuck_name" held "$held" "$hot" $ATTACK_S exec 3 30006 && beside "$stuck_name" 3 "$@" && counted "$stuck_name"
}
figure attack-6-all stuck_exec exec-all -a
# The target itself is stuck.
exec_pid() {
	attack exec-pid held "$held" "$hot" $ATTACK_S exec 1 30006 || return 1
	# Not with pgrep, which would wait for this process.
	stuck_pid=${attackers# }
	beside exec-pid 3 -p "$(tr -d ' ' <"/proc/$stuck_pid/task/$stuck_pid/children")" -p INNOCENT && counted exec-pid
}
figure attack-6-pid exec_pid
# run_right NAME END_MS: the recording of "run" that began at $begin took END_MS to end, has its lines, and goes into
# times.txt
run_right() {
	"$LB" annotate --json "$1.pb.gz" >"$1.json" && profile_has "$1.json" "sums_close()" "s['count'] >= 20" \
		"self_('hot.c five') + self_('hot.c three') + self_('hot.c two') >= 95" || return 1
	began=$(python3 -S -c "import json, sys; print(json.load(sys.stdin)['time_ns'] // 10**6)" <"$1.json")
	echo "$((began - begin)) $2 $1" >>times.txt
	run_times="$run_times$1: start $((began - begin)) ms, end $2 ms; "
}
# Its command ends, and SIGINT ends both.
exec_run() {
	attack exec-run held "$held" "$hot" $ATTACK_S exec 3 30006 || return 1
	run_times=
	begin=$(now_ms)
	# shellcheck disable=SC2016 # for the inner shell
	"$LB" run -F 499 -o exec-run.pb.gz -- sh -c '"$0" 5; date +%s%N >exec-run.end' "$hot" >exec-run.out 2>exec-run.err ||
		{ tail -n 1 exec-run.err; calm; return 1; }
	run_end=$(($(now_ms) - $(cat exec-run.end) / 1000000))
	attacked || { echo "it ended after the attack"; return 1; }
	run_right exec-run $run_end || { calm; return 1; }
	begin=$(now_ms)
	# The shell lets programs in the background ignore SIGINT.
	"$LB" run -F 499 -o exec-run-int.pb.gz -- env --default-signal=INT "$hot" 1000 >exec-run.out 2>exec-run.err &
	recorder=$!
	wait_until 60 records $recorder && sleep 1
	signalled=$(now_ms)
	kill -INT $recorder
	status=0
	wait $recorder || status=$?
	run_end=$(($(now_ms) - signalled))
	note_crash exec-run $status
	attacked || { echo "it ended after the attack"; return 1; }
	calm
	[ $status -eq 130 ] || { echo "status $status: $(tail -n 1 exec-run.err)"; return 1; }
	run_right exec-run-int $run_end || return 1
	echo "${run_times%; }"
}
figure attack-6-run exec_run

# ---- 7: readers that do not end ----

# readers_stuck: 20 programs with lists of JIT code, of ten users, whose lists cannot be read
readers_stuck() {
	for user in 1 2 3 4 5 6 7 8 9 10; do
		mkdir -p "user-$user" && cd "user-$user" || return 1
		attack "readers-$user" held "$held" "$(build gdbjit.c -rdynamic)" $ATTACK_S spin 2 "3100$user" || return 1
		cd ..
	done
	cat >python.py <<-END
		import signal
		import sys


		def spin():
		    while True:
		        for i in range(1000):
		            i * i


		signal.alarm(int(sys.argv[1]))
		spin()
	END
	as 32000 /usr/bin/python3 -S -E python.py $ATTACK_S &
	attackers="$attackers $!"
	beside readers 5 -a || return 1
	profile_has readers.json "note('python', sum(f['self'] for f in d['functions'] if f['name'] == 'spin')) > 100" \
		"note('late', losses['decoder_deadlines'] + losses['targets_refused']) > 0"
}
figure attack-7 readers_stuck

# ---- 29: the folder of the threads of a process without its first one ----

held_task() {
	attack held-task held "$held" "$hot" $ATTACK_S task 3 30029 && beside held-task 3 -a && counted held-task
}
figure attack-29-all held_task
held_task_pid() {
	attack held-task-pid held "$held" "$hot" $ATTACK_S task 1 30029 || return 1
	stuck_pid=${attackers# }
	beside held-task-pid 3 -p "$(tr -d ' ' <"/proc/$stuck_pid/task/$stuck_pid/children")" -p INNOCENT && counted held-task-pid
}
figure attack-29-pid held_task_pid

figure attacks-files-times soon
