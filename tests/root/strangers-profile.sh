#!/bin/sh
# Root reads other users' profiles: lineburn opens no file that they name, except with --sources. Of a profile
# of root's, it opens what every user may read; the recording has read the rest, if its program might.
# Takes 20 s.
# Another recording of the whole machine would open what the programs here name.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"

here=$(pwd)
chmod 755 .
printf 'int only_root_may_read_this;\n' >secret.c
chmod 600 secret.c
printf 'int everybody_may_read_this;\n' >public.c
chmod 644 public.c
mkfifo -m 666 fifo.c
mknod -m 666 device.c c 1 3
python3 "$TOP/tests/cli/data/naming.py" names.made.gz \
	"$here/secret.c" "$here/public.c" "$here/fifo.c" "$here/device.c" /proc/kmsg /proc/version
chown 65534:65534 names.made.gz
cp names.made.gz roots.made.gz
chown 0:0 roots.made.gz

# view ARGUMENT...: annotate's JSON goes to "json", its messages to "said", opened files to "opened"
view() {
	# shellcheck disable=SC2016 # for the inner shell
	python3 -S "$TOP/tests/root/opened.py" secret.c public.c fifo.c device.c -- \
		sh -c '"$LB" annotate --json "$@" >json 2>said' annotate "$@" 2>opened || {
		echo "annotate $*: $(cat said opened)"
		return 1
	}
}

# is SHOWN OPENED: the texts of the lines that are shown, and the files that were opened
is() {
	shown=$(python3 -c '
import json
print(*sorted(line["text"] for f in json.load(open("json"))["files"] for line in f["lines"]
              if line["text"]), sep=",")')
	[ "$shown" = "$1" ] || { echo "shown: $shown, not $1"; return 1; }
	[ "$(sort -u opened | tr '\n' ' ')" = "$2" ] || { echo "opened: $(cat opened), not $2"; return 1; }
}

# tells NR: the message that NR files were not opened, and what to do about it
tells() {
	[ "$(cat said)" = "lineburn: $1 files that the profile names were not opened, since the profile is not a file of yours; --sources opens what it names" ] ||
		{ echo "said: $(cat said)"; return 1; }
}
public="int everybody_may_read_this;"
secret="int only_root_may_read_this;"

of_another() {
	view names.made.gz && is "" "" && tells 6
}
check strangers-profile-opens-nothing of_another

# No viewer opens any of them, whatever it makes of the profile.
no_viewer() {
	for viewer in "annotate --no-pager" "html -o named.html" report "diff named.made.gz" "diff --json named.made.gz" \
		"export -f folded" "export -f firefox" "export -f speedscope" "export -f callgrind" "export -f pprof"; do
		cp names.made.gz named.made.gz && chown 65534:65534 named.made.gz || return 1
		# shellcheck disable=SC2016,SC2086 # for the inner shell; words
		python3 -S "$TOP/tests/root/opened.py" secret.c public.c fifo.c device.c -- \
			sh -c '"$LB" "$@" >viewed 2>said' viewer $viewer named.made.gz 2>opened ||
			{ echo "$viewer: $(cat said opened)"; return 1; }
		[ ! -s opened ] || { echo "$viewer opened $(cat opened)"; return 1; }
	done
}
check no-viewer-opens-what-a-stranger-names no_viewer

from_a_pipe() {
	# shellcheck disable=SC2016 # for the inner shell
	python3 -S "$TOP/tests/root/opened.py" secret.c public.c fifo.c device.c -- \
		sh -c 'cat roots.made.gz | "$LB" annotate --json - >json 2>said' 2>opened || return 1
	is "" "" && tells 6
}
check profile-from-a-pipe-opens-nothing from_a_pipe

asked_for() {
	view --sources names.made.gz && is "$public,$secret" "public.c secret.c "
}
check sources-when-asked-for asked_for

# Some program may have named the secret.
of_root() {
	view roots.made.gz && is "$public" "public.c " || return 1
	[ "$(cat said)" = "lineburn: 1 file that the profile names was not opened, since not every user may read it; --sources opens what it names" ] ||
		{ echo "said: $(cat said)"; return 1; }
	view --sources roots.made.gz && is "$public,$secret" "public.c secret.c "
}
check own-profile-shows-public-sources of_root

# A folder for its sources may have been the stranger's, too: no link leads out of it.
below_a_folder() {
	mkdir -p repo/inner && ln -sf ../secret.c repo/secret.c && ln -sf inner/real.c repo/public.c &&
		printf 'int inside;\n' >repo/inner/real.c || return 1
	for profile in names roots; do
		view --source-path "$here=$here/repo" $profile.made.gz && is "int inside;" "" || return 1
	done
	view --source-path "$here=$here/repo" names.made.gz &&
		grep -q "looked for $here/repo/secret.c: a link leads out of the folder" json ||
		{ echo "no note: $(grep -o '"note":[^}]*' json)"; return 1; }
}
check links-lead-out-of-no-folder below_a_folder

# A process chooses the bytes of its command line. The file of them is root's if nobody may look at the process:
# the program is not readable.
as_a_command_line() {
	printf '#include <unistd.h>\nint main(void) { alarm(60); pause(); }\n' >waits.c && gcc -o waits waits.c && chmod 711 waits || return 1
	python3 -S -c '
import os
with open("names.made.gz", "rb") as file:
    args = file.read().split(b"\0")[:-1]  # the last bytes are the size of the text, and 0
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.execv("./waits", args)' &
	pid=$!
	status=0
	wait_until 10 grep -q waits /proc/$pid/comm && shown_as_roots $pid || status=1
	kill_own $pid
	return $status
}
shown_as_roots() {
	[ "$(stat -c '%u %a' "/proc/$1/cmdline")" = "0 444" ] || { echo "it is not root's"; return 1; }
	"$LB" annotate --json - <"/proc/$1/cmdline" >json 2>said || { cat said; return 1; }
	: >opened
	is "" "" && tells 6 || return 1
	ln -sf "/proc/$1/cmdline" command-line.pb.gz
	! "$LB" annotate --json command-line.pb.gz >json 2>said || { echo "it is shown by name"; return 1; }
	[ "$(cat said)" = "lineburn: cannot read command-line.pb.gz: it is neither a file on a disk nor a pipe" ] || { cat said; return 1; }
}
check command-line-is-nobodys-profile as_a_command_line

# What a profile names may be huge, endless or silent. How long each viewer takes: tests/nightly/attacks-programs.sh.
viewers() {
	mkdir viewers && cd viewers && python3 -S "$TOP/tests/root/viewers.py" "$LB" "$TOP/tests/cli/data/naming.py"
}
figure strangers-profile-memory viewers

# spin NAME SOURCE: builds a program whose only function is at line 1 of SOURCE
spin() {
	printf '#line 1 "%s"\nunsigned alarm(unsigned); int main(void) { alarm(600); for (unsigned long i = 0;; i++) __asm__ volatile("" : "+r"(i)); }\n' "$2" >"$1.c" &&
		gcc -g -O1 -o "$1" "$1.c"
}
# Programs of a user name a secret and a file of theirs, a program of root's names its own secret.
named_by_programs() {
	printf 'int only_roots_program_may_read_this;\n' >own.c
	chmod 600 own.c
	spin spy "$here/secret.c" && spin open "$here/public.c" && spin keeps "$here/own.c" || return 1
	"$LB" record -a -F 499 -o all.pb.gz >record.out 2>&1 &
	recorder=$!
	wait_until 60 records $recorder || { cat record.out; return 1; }
	setpriv --reuid=65534 --clear-groups ./spy & pids=$!
	setpriv --reuid=65534 --clear-groups ./open & pids="$pids $!"
	./keeps & pids="$pids $!"
	for pid in $pids; do works "$pid" 400; done
	kill -INT $recorder
	wait $recorder || return 1
	# shellcheck disable=SC2086 # a list of numbers
	kill_own $pids
	"$LB" annotate --json all.pb.gz >json 2>said || { cat said; return 1; }
	"$LB" html -o all.html all.pb.gz 2>>said || { cat said; return 1; }
	"$LB" annotate --no-pager all.pb.gz >text 2>>said || { cat said; return 1; }
	for file in json all.html text; do
		! grep -q only_root_may $file || { echo "the secret is in $file"; return 1; }
		grep -q only_roots_program_may $file || { echo "no source of root's in $file"; return 1; }
		grep -q everybody_may $file || { echo "no source of the user's in $file"; return 1; }
	done
	grep -q "source not shown: the recording has not read $here/secret.c, and not every user may; use --sources" json ||
		{ echo "no note"; return 1; }
	grep -q "not opened, since not every user may read .*; --sources" said || { cat said; return 1; }
	"$LB" annotate --json --sources all.pb.gz | grep -q only_root_may || { echo "not with --sources"; return 1; }
}
check what-programs-name named_by_programs

# The listing of run, which shows what was recorded: each program ends after a second of CPU time.
named_in_a_run() {
	# shellcheck disable=SC2016 # for the inner shell
	"$LB" run -F 499 -o run.pb.gz -- \
		sh -c 'ulimit -t 1; setpriv --reuid=65534 --clear-groups ./spy; ./keeps; :' >listing 2>said || { cat said; return 1; }
	! grep -q only_root_may listing || { echo "the secret is in the listing"; return 1; }
	grep -q only_roots_program_may listing || { cat listing; echo "no source of root's"; return 1; }
}
check what-programs-name-in-a-run named_in_a_run

# disassemble ARGUMENT...: as view, for annotate --asm of code.pb.gz
disassemble() {
	# shellcheck disable=SC2016 # for the inner shell
	python3 -S "$TOP/tests/root/opened.py" roots public -- \
		sh -c '"$LB" annotate --json --asm=main "$@" code.pb.gz >json 2>said' annotate "$@" 2>opened || {
		cat said opened
		return 1
	}
}
# A program of a user has the path of a file of root's, in a mount namespace of its own.
code_of_a_path() {
	gcc -g -O1 -DSECRET=1 -o roots "$here/keeps.c" && gcc -g -O1 -o users "$here/open.c" && cp users public || return 1
	chmod 700 roots
	chmod 755 users public
	setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urm sh -c 'mount --bind users roots && exec ./roots' &
	spy=$!
	./public & open=$!
	works $spy 400
	works $open 400
	status=0
	"$LB" record -p $spy -p $open -F 499 -d 1 -o code.pb.gz >record.out 2>&1 || status=$?
	kill_own $spy $open
	[ $status -eq 0 ] || { cat record.out; return 1; }
	disassemble || return 1
	[ "$(sort -u opened | tr '\n' ' ')" = "public " ] || { echo "opened: $(cat opened)"; return 1; }
	grep -q "no instructions: not every user may read $here/roots; use --sources to open it as root" json ||
		{ echo "no note: $(grep -o '"note":[^}]*' json)"; return 1; }
	grep -q "not opened, since not every user may read it; --sources" said || { cat said; return 1; }
	disassemble --sources || return 1
	[ "$(sort -u opened | tr '\n' ' ')" = "public roots " ] || { echo "opened: $(cat opened)"; return 1; }
}
check code-of-what-everybody-may-read code_of_a_path

# A profile of the user who called sudo: sources are read with that user's rights.
of_sudos_user() {
	SUDO_UID=65534 SUDO_GID=65534 view names.made.gz && is "$public" "public.c " || return 1
	SUDO_UID=65533 SUDO_GID=65533 view names.made.gz && is "" ""
}
check sudo-reads-sources-as-the-user of_sudos_user
