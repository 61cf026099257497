#!/bin/sh
# Attacks of docs/security.md that are short and exact; the long ones are in tests/nightly, others in the
# scripts that the page names.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

# ---- 4: a program on an overlay over a file system in user space that does not answer others ----

held_file() {
	attack "$1" held "$(build attacks/served.c)" "$hot" $ATTACK_S overlay "$1" 30205 && beside "$1" 2 -a
}
# 500 files, each of which is opened after 0.1 s: they wait for their part of the time, and nothing else does.
slow_files() {
	attack slow held "$(build attacks/served.c)" "$(build attacks/slow-files.c)" $ATTACK_S overlay slow 30206 &&
		beside slow 3 -a || return 1
	profile_has slow.json "note('put off', losses['decoder_put_off']) > 0"
}
if [ -c /dev/fuse ]; then
	check attack-4-slow slow_files
	check attack-4-read held_file read
	check attack-4-getattr held_file getattr
	check attack-4-close held_file close
else
	skip attack-4 "no /dev/fuse"
fi

# ---- 18: as many mappings of code as the kernel allows, and a storm of more ----

mappings() {
	attack mappings held as 30218 "$(build attacks/mappings.c)" $ATTACK_S && beside mappings 2 -a
}
check attack-18 mappings

# ---- 22: where the output goes ----

# The folder that root names is swapped with a link to another all the time. Under sudo the profile is
# written with the user's rights, so that nothing appears in the other folder.
output_swapped() {
	mkdir theirs precious && echo precious >precious/p.out && chmod 700 precious || return 1
	ln -s "$PWD/precious" link && chmod 777 . theirs
	attack swap held as 65534 "$(build attacks/swap.c)" theirs link $ATTACK_S || return 1
	for _ in 1 2 3 4 5 6; do
		SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$LB" run -F 99 -o theirs/p.out -- true >swap.out 2>&1
	done
	attacked || { echo "the swaps ended: $(cat swap.said)"; return 1; }
	calm
	[ "$(ls precious):$(cat precious/p.out)" = p.out:precious ] || { echo "precious has $(ls precious)"; return 1; }
}
check attack-22-swapped-folder output_swapped

# A second name of a file of root: the name gets the profile, the file stays. A FIFO and a whiteout of overlayfs
# are refused before the command starts, with one sentence.
hard_link() {
	echo precious >root.txt && ln root.txt link.pb.gz || return 1
	"$LB" run -F 999 -o link.pb.gz -- "$hot" 3 >link.out 2>&1 || { tail -n 1 link.out; return 1; }
	[ "$(cat root.txt)" = precious ] || { echo "the file was changed"; return 1; }
	"$LB" annotate --json link.pb.gz >link.json && profile_has link.json "s['count'] > 20"
}
check attack-22-hard-link hard_link
refused() {
	status=0
	"$LB" run -F 99 -o "$1" -- touch started >refused.out 2>refused.err || status=$?
	[ $status -eq 1 ] && [ ! -e started ] && one_sentence refused.err && return 0
	echo "status $status: $(tail -n 1 refused.err)"
	return 1
}
mkfifo fifo.pb.gz && check attack-22-fifo refused fifo.pb.gz
mknod whiteout.pb.gz c 0 0 && check attack-22-whiteout refused whiteout.pb.gz

# ---- 23: what a command under sudo gets from lineburn ----

# state COMMAND...: what the command sees of its process: open files, limits, mask, groups, rights, signals
state() {
	"$@" sh -c 'ls /proc/self/fd | tr "\n" " "; umask; ulimit -a; pwd; cat /proc/self/oom_score_adj
		grep -E "^(Uid|Gid|Groups|Sig(Blk|Ign)|Cap|NoNewPrivs|Seccomp)" /proc/self/status; nice' </dev/null
}
clean() {
	mkdir -m 777 clean
	umask 027
	state setpriv --reuid 65534 --regid 65534 --init-groups env SUDO_UID= >clean.without || return 1
	SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody state "$LB" run -F 99 -o clean/p.pb.gz -- >clean.with 2>clean.err ||
		{ tail -n 1 clean.err; return 1; }
	head -n "$(wc -l <clean.without)" clean.with | diff clean.without - >clean.diff || { grep '^[<>]' clean.diff | head -n 4 | tr '\n' ' '; return 1; }
}
check attack-23-nothing-inherited clean
