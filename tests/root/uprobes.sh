#!/bin/sh
# Which files get a uprobe: only if the caller named the target, and only files that root or the
# caller owns. Attaching a uprobe takes a lock of every process that maps the file, and all forks of
# the machine wait for it. Another user must not be able to delay them by holding that lock.
# Takes 40 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-held.sh"

jit=$(build gdbjit.c -rdynamic)
bpftool=$(command -v bpftool || command -v /usr/sbin/bpftool)

# uprobes_of PID: prints the number of its uprobes, by the kernel
uprobes_of() {
	"$bpftool" perf show | grep -c "^pid $1 .* uprobe "
}

# met ERR: whether the recorder has read a file with the interface; it logs that with -vv
met() {
	grep -q 'has the GDB JIT interface, ' "$1"
}

# names_it NAME: requests a snapshot; whether the last one has the program's function
names_it() {
	kill -USR1 "$recorder" && "$LB" annotate --leaf --json "$1.pb.gz" >"$1.json" && profile_has "$1.json" "function('spin_50') > 0"
}

# probed UPROBES FILE RECORD_OPTION...: records while a program runs from FILE. The recorder has UPROBES
# uprobes (with -a at least that many, if not 0), and names the program's code in any case. The option
# TARGET is replaced by the program's pid.
probed() {
	expected=$1
	file=$2
	shift 2
	"$file" 100 60 nap &
	pid=$!
	for option; do
		shift
		[ "$option" != TARGET ] || option=$pid
		set -- "$@" "$option"
	done
	probed=probed-$pid
	"$LB" record -vv -F 999 -d 60 -o "$probed.pb.gz" "$@" >"$probed.out" 2>"$probed.err" &
	recorder=$!
	wait_until 60 met "$probed.err" || { echo "the file was not looked at"; kill $recorder $pid; return 1; }
	# Wait until the list has been read.
	wait_until 30 names_it "$probed" || { echo "spin_50 is not known"; kill $recorder $pid; return 1; }
	found=$(uprobes_of $recorder)
	kill -INT $recorder
	wait $recorder || { tail -n 1 "$probed.err"; kill $pid; return 1; }
	kill $pid
	wait $pid 2>/dev/null
	"$LB" annotate --leaf --json "$probed.pb.gz" >"$probed.json"
	profile_has "$probed.json" "function('spin_50') > 0" "sums_close()" || return 1
	[ "$found" -eq "$expected" ] || { [ "$1" = -a ] && [ "$found" -gt "$expected" ] && [ "$expected" -gt 0 ]; } ||
		{ echo "$found uprobes"; return 1; }
}

# file NAME OWNER MODE
file() {
	cp "$jit" "$1" && chown "$2" "$1" && chmod "$3" "$1"
}
chmod 755 .
file roots 0:0 755
file group 0:0 775
file shared 0:65534 775
file open 0:0 757
file nobodys 65534:65534 755
file nobodys-group 65534:65534 775

also check uprobes-pid probed 1 ./roots -p TARGET
also check uprobes-thread probed 1 ./roots -t TARGET
also check uprobes-group-of-its-own probed 1 ./group -p TARGET
also check uprobes-group probed 0 ./shared -p TARGET
also check uprobes-everybody probed 0 ./open -p TARGET
also check uprobes-stranger probed 0 ./nobodys -p TARGET
also check uprobes-off probed 0 ./roots -p TARGET --no-uprobe
also check uprobes-all probed 0 ./roots -a
also check uprobes-comm probed 0 ./roots --comm roots
also check uprobes-user probed 0 ./nobodys --user 0
also check uprobes-all-asked probed 1 ./roots -a --uprobe
also check uprobes-stranger-asked probed 1 ./nobodys -p TARGET --uprobe
also_done
SUDO_UID=65534 SUDO_GID=65534
export SUDO_UID SUDO_GID
also check uprobes-callers probed 1 ./nobodys -p TARGET
also check uprobes-callers-group probed 1 ./nobodys-group -p TARGET
also_done
unset SUDO_UID SUDO_GID

# "run": the file of the command.
command_probed() {
	"$LB" run -vv -F 999 -o "$1.pb.gz" -- "./$1" 100 60 nap >"$1.out" 2>"$1.err" &
	recorder=$!
	wait_until 60 met "$1.err" || { echo "the file was not looked at"; kill $recorder; return 1; }
	found=$(uprobes_of $recorder)
	kill $recorder
	probed_status=0
	wait $recorder || probed_status=$?
	# The signal ends the command, too.
	[ $probed_status -eq 143 ] || { echo "status $probed_status: $(tail -n 1 "$1.err")"; return 1; }
	[ "$found" -eq "$2" ] || { echo "$found uprobes"; return 1; }
}
also check uprobes-run command_probed roots 1
also check uprobes-run-stranger command_probed nobodys 0

also_done
# The user nobody holds, for 8 s, a lock that every uprobe on its file needs.
not_frozen() {
	longest=$(frozen ./nobodys) || { echo "$longest"; return 1; }
	echo "longest fork: $longest s"
	# A delayed fork waits for nearly all of the 8 s; on a busy machine others take tenths of a second,
	# and some where the host takes both CPUs away.
	[ "${longest%.*}" -lt 6 ]
}
if [ -c /dev/fuse ]; then
	figure uprobes-fork-not-held not_frozen
else
	skip uprobes-fork-not-held "no /dev/fuse"
fi
