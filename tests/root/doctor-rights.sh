#!/bin/sh
# What doctor says about a caller's rights is what a recording then does; and what doctor --fix gives to a group.
# Takes 4 s.
. "${TOP:?}/tests/root/lib.sh"

chmod 755 .
mkdir -m 1777 out
install -m 755 "$LB" lb

# as CAPS: the words that make the program after them a user's, with these capabilities ("-": none)
as() {
	as_caps=-all
	[ "$1" = - ] || as_caps=-all,+$(echo "$1" | sed 's/,/,+/g')
	echo "setpriv --reuid 54391 --regid 54391 --clear-groups --inh-caps=$as_caps --ambient-caps=$as_caps --bounding-set=$as_caps"
}

# agrees STATUS WORDS...: doctor and a recording, started by WORDS, both end with STATUS
agrees() {
	wanted=$1
	shift
	out=$(mktemp -u out/XXXXXX)
	"$@" ./lb doctor >"$out.doctor" 2>&1
	said=$?
	"$@" timeout 60 ./lb record -a -F 99 -d 0.1 -o "$out.pb.gz" 2>"$out.err"
	did=$?
	# Recorded, and nothing ran meanwhile.
	[ $did -ne 4 ] || did=0
	[ "$said $did" = "$wanted $wanted" ] ||
		echo "$*: doctor $said, record $did: $(grep -E '^(warn|fail)' "$out.doctor" | cut -c1-80 | tr '\n' ';') $(cat "$out.err")"
}

# All at once. A kernel without the distributions' patch takes 3 and 4 as 2; one with it has the real value.
all_agree() {
	full=bpf,perfmon,sys_ptrace,dac_read_search,checkpoint_restore,syslog
	least=0
	value=$(cat /proc/sys/kernel/perf_event_paranoid)
	setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin sh -c './lb doctor | grep -q "^fail  perf_event_paranoid"' && least=3
	echo $least >least
	{
		for caps in - bpf perfmon sys_ptrace,dac_read_search; do
			# shellcheck disable=SC2046 # words
			agrees 3 $(as $caps) &
		done
		# shellcheck disable=SC2046
		agrees $least $(as bpf,perfmon) &
		# shellcheck disable=SC2046
		agrees 0 $(as sys_admin) &
		agrees 3 setpriv --bounding-set=-sys_admin,-bpf --inh-caps=-sys_admin,-bpf &
		agrees 3 setpriv --bounding-set=-sys_admin,-perfmon --inh-caps=-sys_admin,-perfmon &
		agrees 3 unshare -Ur &
		agrees 3 unshare -pf --mount-proc &
		for shown in 3 4; do
			[ "$value" -lt 3 ] || shown=$value
			echo "$shown" >"shown.$shown"
			# shellcheck disable=SC2046,SC2016
			agrees $least unshare -m sh -c 'mount --bind "$0" /proc/sys/kernel/perf_event_paranoid && exec "$@"' \
				"shown.$shown" $(as $full) &
		done
		wait
	} >disagreed
	! [ -s disagreed ] || { head -n 1 disagreed; return 1; }
}
check doctor-rights all_agree

# In a mount namespace of its own, with another /etc and a kernel that seems to hide its addresses from all.
cat >fix.sh <<'END'
set -e
cp -a /etc etc
sed -i '/^lineburn:/d' etc/group etc/gshadow
rm -f etc/sysctl.d/90-lineburn.conf
mkdir -p etc/sysctl.d
mount --bind etc /etc
echo 2 >kptr_restrict
mount --bind kptr_restrict /proc/sys/kernel/kptr_restrict
./lb doctor --fix >fix.planned
grep -q '^Nothing was changed' fix.planned
[ "$(stat -c '%G %a' lb; getcap lb)" = "root 755" ]
./lb doctor --fix --yes >fix.made
! grep -E '^(to do|fail)' fix.made
[ "$(stat -c '%G %a' lb)" = "lineburn 750" ]
[ "$(sed -n 's/^now   *setcap \([a-z_,]*=ep\).*/\1/p' fix.made | tr ',=' '\n\n' | sort | tr '\n' ' ')" = \
	"$(getcap lb | sed 's/^[^ ]* //' | tr ',=' '\n\n' | sort | tr '\n' ' ')" ]
grep -qx 'kernel.kptr_restrict = 1' /etc/sysctl.d/90-lineburn.conf
grep -qx 1 kptr_restrict
./lb doctor --fix --yes >fix.again
! grep -E '^(now|to do|fail)' fix.again
awk -F: '$1 == "lineburn" {print $3}' /etc/group >gid
END
fixes() {
	unshare -m sh -x ./fix.sh 2>fix.log || { tail -n 1 fix.log; return 1; }
}

# member WORDS...: as a user who is in the group
member() {
	setpriv --reuid 54391 --regid "$(cat gid)" --clear-groups "$@"
}

# While it runs, the command of run says what it, lineburn and the processes beside it may do. Others that end
# meanwhile do not end grep.
cat >say.awk <<'END'
$2 == "Name" {name = $4}
$2 == "PPid" {parent = $4}
$2 == "CapPrm" {
	split($1, path, "/")
	if (path[3] == "self")
		print "command", $4
	else if (path[3] == lineburn)
		print "collector", $4
	else if (parent == lineburn && name ~ /^lineburn-/)
		print name, $4
}
END
cat >said.expected <<'END'
collector 000000c000000000
command 0000000000000000
lineburn-broker 0000018400080004
lineburn-closer 0000000000000000
lineburn-output 0000000000000000
END
# shellcheck disable=SC2016 # the command's own words
has_few_rights() {
	member ./lb run -F 99 --no-pager -o out/run.pb.gz -- \
		sh -c 'grep -sH . /proc/self/status /proc/[0-9]*/status | awk -F "[:\t]" -v lineburn=$PPID -f say.awk' 2>run.err |
		grep -E '^(collector|command|lineburn-[a-z]*) [0-9a-f]*$' | sort >said
	# Where the kernel gives uprobes to CAP_SYS_ADMIN alone, nobody gets them.
	diff said.expected said || { tail -n 1 run.err; return 1; }
}

# It records as doctor says, and sees and writes no more files of others than before.
is_a_member() {
	agrees "$1" member >disagreed
	! [ -s disagreed ] || { cat disagreed; return 1; }
	mkdir -m 700 closed && mkdir -m 777 closed/open && echo secret >closed/open/secret || return 1
	! member ./lb record -a -F 99 -d 0.1 -o closed/open/x.pb.gz 2>closed.err || { echo "it writes into a closed folder"; return 1; }
	[ "$(find closed/open -name "*.pb.gz*")" = "" ] || { echo "it left a file in a closed folder"; return 1; }
	member ./lb annotate closed/open/secret 2>annotate.err
	grep -q 'cannot read closed/open/secret: it belongs to another' annotate.err || { cat annotate.err; return 1; }
	# setpriv itself still has root's rights when it executes something.
	setpriv --reuid 54391 --regid 54391 --clear-groups sh -c './lb version' >/dev/null 2>&1
	[ $? -eq 126 ] || { echo "others may start it"; return 1; }
}

if setcap cap_bpf=ep lb 2>/dev/null && setcap -r lb; then
	check doctor-fix fixes
	if [ "$(cat least)" = 0 ]; then
		check doctor-fix-rights has_few_rights
	else
		skip doctor-fix-rights "kernel.perf_event_paranoid is above 2"
	fi
	check doctor-fix-member is_a_member "$(cat least)"
else
	skip doctor-fix "this file system keeps no capabilities"
fi
