#!/bin/sh
# Which process of a recording holds which capabilities: what docs/security.md says, and no more.
# Takes 8 s.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
chmod 755 .

# kind_of PID: the name that docs/security.md gives to a process; helpers of one name differ by what they may do
kind_of() {
	case $(cat "/proc/$1/comm") in
	lineburn) echo collector ;;
	lineburn-broker) echo broker ;;
	lineburn-output) echo output ;;
	lineburn-worker) echo helper ;;
	lineburn-closer) echo closer ;;
	esac
}

# rights PID: "KIND CapPrm CapInh/CapAmb no_new_privs seccomp" of each process of a recording, as the kernel says
rights() {
	for pid in $(family "$1"); do
		kind=$(kind_of "$pid")
		[ -z "$kind" ] || awk -v kind="$kind" '/^CapPrm/ {c = $2} /^CapEff/ {e = $2} /^NoNewPrivs/ {n = $2}
			/^CapInh/ {i = $2} /^CapAmb/ {a = $2}
			/^Seccomp:/ {s = $2} END {print kind, c (c == e ? "" : " of " e), i "/" a, n, s}' "/proc/$pid/status"
	done | sort -u
}

# Without uprobes, CAP_SYS_ADMIN (bit 21) is kept only where the kernel refuses an event of a CPU without it.
event=$(build cpu-event.c) && "$event" || exit 1
collector=000000c000000000
collector_admin=000000c000200000
holds=$collector
setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$event" 2>/dev/null || holds=$collector_admin
none=0000000000000000
cat >said <<END
broker 00000184002801e4 00000184002801e4/00000184002801e4 1 0
closer $none $none/$none 1 0
collector $holds $none/$none 1 2
decoder $none $none/$none 1 2
opener 00000100000800c4 $none/$none 1 2
output 00000000000800ef $none/$none 0 0
reader 0000000000080000 $none/$none 1 2
END
sed -E 's/^(decoder|opener|reader) /helper /' said | sort -u >expected

# has_all PID: the processes of this recording have exactly the expected rights
has_all() {
	rights "$1" >actual
	cmp -s expected actual
}

# While it records: helpers are there when something was sampled.
has_rights() {
	"$hot" 1000 >/dev/null &
	hot_pid=$!
	# For the reader.
	python3 -S -c 'while True: pass' &
	python_pid=$!
	"$LB" record -a -F 99 -o rights.pb.gz 2>rights.err &
	recorder=$!
	wait_until 30 has_all "$recorder" || { diff expected actual; tail -n 1 rights.err; }
	kill -INT $recorder
	wait $recorder || { tail -n 1 rights.err; return 1; }
	kill_own $hot_pid $python_pid
	cmp expected actual
}
check rights-of-each-process has_rights

# The page says the same, in the row of that process.
is_said() {
	while read -r kind capabilities rest; do
		row="| $kind | \`$capabilities\` |"
		[ "$kind" != collector ] || row="| $kind | \`$collector\`; with CAP_SYS_ADMIN \`$collector_admin\` |"
		grep -qxF "$row" "$TOP/docs/security.md" ||
			{ echo "docs/security.md does not say that of $kind: $capabilities $rest"; return 1; }
	done <said
}
check rights-are-said is_said

# has_uid PID UIDS: real, effective, saved, of the file system
has_uid() {
	[ "$(awk '/^Uid/ {print $2, $3, $4, $5}' "/proc/$1/status")" = "$2" ]
}

# Under sudo, the collector of run becomes its user when it has started.
becomes() {
	mkdir users && chown 54389:54390 users || return 1
	SUDO_UID=54389 SUDO_GID=54390 "$LB" run -o users/none.pb.gz -- "$hot" 1000 >/dev/null 2>run.err &
	recorder=$!
	wait_until 30 has_uid $recorder "54389 54389 54389 54389" || { grep Uid /proc/$recorder/status; kill $recorder; return 1; }
	rights $recorder | grep -qE '^collector 000000c000(2|0)00000 0{16}/0{16} 1 2$' || { rights $recorder; kill $recorder; return 1; }
	kill $recorder
	wait $recorder
	true
}
check rights-under-sudo becomes

# Without rights of its own the collector writes where its caller may: a folder of another user, and keeps windows.
writes() {
	mkdir -m 700 closed && chown 54388 closed || return 1
	"$hot" 1000 >/dev/null &
	hot_pid=$!
	"$LB" record -a -F 999 --window 0.5 -o closed/w.pb.gz 2>writes.err &
	recorder=$!
	wait_until 60 two_files || { echo "files: $(ls closed): $(tail -n 1 writes.err)"; kill $recorder; kill_own $hot_pid; return 1; }
	kill -INT $recorder
	writes_status=0
	wait $recorder || writes_status=$?
	kill_own $hot_pid
	[ $writes_status -eq 0 ] || { tail -n 1 writes.err; return 1; }
}
two_files() {
	[ "$(find closed -name 'w.*.pb.gz' | wc -l)" -ge 2 ]
}
check rights-to-write writes
