#!/bin/sh
# Attacks of docs/security.md that are short and exact; the long ones are in tests/nightly, others in the
# scripts that the page names.
# Takes 30 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

# ---- 4: a program on an overlay over a file system in user space that does not answer others ----

held_file() {
	attack "$1" held "$(build attacks/served.c)" "$hot" $ATTACK_S overlay "$1" 30205 && beside "$1" 2 -a
}
# 2,000 files, each of which is opened after 0.1 s, in all longer than the attack lasts: they wait for their part of
# the time, and nothing else does.
slow_files() {
	attack slow held "$(build attacks/served.c)" "$(build attacks/slow-files.c)" $ATTACK_S overlay slow 30206 &&
		beside slow 3 -a
}
if [ -c /dev/fuse ]; then
	check attack-4-slow slow_files
	check attack-4-read held_file read
	check attack-4-getattr held_file getattr
	check attack-4-close held_file close
else
	skip attack-4 "no /dev/fuse"
fi

# ---- 11, 12: what is a perf map or a jitdump at one moment is a secret at the next ----

# is_swapped PID HOW FILE OTHER: OTHER, which is swapped with FILE of this attacker, is there: a link to the secret,
# a second name of it, or another user's file with its text
is_swapped() {
	attackers="$attackers $1"
	swapped="$swapped $3 $4"
	wait_until 60 test -e "$3" || { echo "there is no $3"; return 1; }
	case $2 in
	link) ln -s "$PWD/secret" "$4" ;;
	name) ln secret "$4" ;;
	file) cp -p secret "$4" && chown 65534 "$4" && secrets="$secrets $4" ;;
	esac
}
# Root swaps the names, as not every owner may rename these files in /tmp. Of the second jitdump not the name is
# swapped, but the mapping, which is one of the secret half of the time.
swappers() {
	for how in link name file; do
		as 30211 nice "$perfmap" $ATTACK_S good &
		is_swapped $! $how "/tmp/perf-$!.map" "/tmp/perf-$!.map.other" || return 1
	done
	as 30212 nice "$reuse" dumps $ATTACK_S &
	is_swapped $! link "dumps/jit-$!.dump" "others/jit-$!.dump" || return 1
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'ln secret "others/jit-$$.dump" && exec nice setpriv --reuid 30212 --regid 30212 --clear-groups \
		"$0" dumps "$1" swapped <"others/jit-$$.dump"' "$reuse" $ATTACK_S &
	attackers="$attackers $!"
	wait_until 60 test -e "dumps/jit-$!.dump" || { echo "there is no jitdump"; return 1; }
}
swaps() {
	# shellcheck disable=SC2086 # a list of names
	attack swaps held "$(build attacks/swap.c)" $ATTACK_S $swapped || return 1
	during=swap_time
	swaps_status=0
	beside swaps 2 -a || swaps_status=1
	during="sleep"
	return $swaps_status
}
# swap_time SECONDS: and each attacker works, whose samples are judged
swap_time() {
	sleep "$1"
	for swap_pid in $attackers; do
		works "$swap_pid" 40
	done
}
# unopened COMMAND...: whether nobody opens a secret meanwhile
unopened() {
	# shellcheck disable=SC2086 # a list of names
	python3 -S "$TOP/tests/root/opened.py" $secrets ours -- \
		sh -c 'echo watches; until [ -e unwatch ]; do sleep 0.1; done' >watches 2>opened &
	watcher=$!
	unopened_status=0
	wait_until 30 grep -q watches watches && "$@" || unopened_status=1
	cat ours
	touch unwatch
	wait $watcher || unopened_status=1
	[ $unopened_status -eq 0 ] || return 1
	[ "$(cat opened)" = ours ] && return 0
	echo "opened: $(sort opened | uniq -c | tr -s ' \n' ' ')"
	return 1
}
secrets_swapped() {
	perfmap=$(build perfmap.c) && reuse=$(build jit-reuse.c) && mkdir -m 777 dumps && mkdir -m 700 others || return 1
	# As a perf map, it would name any address of JIT code.
	for i in $(seq 4000); do
		printf '%x000000000 fffffffff lb_secret_%d\n' "$i" "$i"
	done >secret
	# Everybody may read it, so that no lack of rights hides that somebody tries.
	chmod 644 secret
	: >ours
	secrets=secret
	swapped=
	swapped_status=0
	swappers && unopened swaps || swapped_status=1
	calm
	# shellcheck disable=SC2086 # a list of names
	rm -f $swapped
	[ $swapped_status -eq 0 ] || return 1
	gzip -dc swaps.pb.gz | cat - swaps.out swaps.err swaps.json >swaps.told
	! grep -a -q lb_secret swaps.told || { echo "the secret is told"; return 1; }
	# They were looked at.
	"$LB" annotate --leaf --json --comm perfmap swaps.pb.gz >swaps.maps.json &&
		"$LB" annotate --leaf --json --comm jit-reuse swaps.pb.gz >swaps.dumps.json &&
		profile_has swaps.maps.json "s['count'] >= 5" "miss('jit-no-lines', 'jit-file-refused') > 0" &&
		profile_has swaps.dumps.json "s['count'] >= 5" "function('A') + miss('jit-file-refused') > 0"
}
check attack-11-12-swapped secrets_swapped

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
	attack swap held as 65534 "$(build attacks/swap.c)" $ATTACK_S theirs link || return 1
	for _ in 1 2 3 4 5 6; do
		SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$LB" run -F 99 -o theirs/p.out -- true >swap.out 2>&1
	done
	attacked || { echo "the swaps ended: $(cat swap.said)"; return 1; }
	calm
	[ "$(ls precious):$(cat precious/p.out)" = p.out:precious ] || { echo "precious has $(ls precious)"; return 1; }
}
check attack-22-swapped-folder output_swapped

# Root records, and the folder becomes a link to another one meanwhile: by its owner, or by who removes it and makes
# the link. The file goes to the folder that it was, or nowhere.
led_begins() {
	rm -rf theirs was && mkdir theirs && ln -sfn "$PWD/precious" link
	status=0
}
# led STATUS SAID FILE: the status of the last recording, its sentence, and what the folder has that it was
led() {
	[ "$status:$(ls precious):$(cat precious/p.out):$(ls was)" = "$1:p.out:precious:$3" ] && grep -q "$2" led.err && return 0
	echo "status $status, precious: $(ls precious), was: $(ls was): $(tail -n 1 led.err)"
	return 1
}
run_led() {
	led_begins || return 1
	"$LB" run -F 999 -o theirs/p.out -- sh -c "mv theirs was; cp -P link theirs; '$hot' 3" >led.out 2>led.err || status=$?
	led 0 "the file is in $PWD/was" p.out
}
# record_led HOW COMMAND...: HOW moves the folder
record_led() {
	led_begins || return 1
	record_led_how=$1
	shift
	"$@" "$LB" record -a -F 999 -o theirs/p.out >led.out 2>led.err &
	record_led_pid=$!
	wait_until 60 records $record_led_pid || echo "it does not record"
	$record_led_how theirs was && cp -P link theirs && "$hot" 3
	kill -INT $record_led_pid
	wait $record_led_pid || status=$?
}
moved_led() {
	record_led mv "$@" && led 0 "the file is in $PWD/was" p.out
}
move_files() {
	mkdir "$2" && rmdir "$1"
}
removed_led() {
	record_led move_files env && led 1 "its folder was removed meanwhile" ""
}
check attack-22-root-run run_led
check attack-22-root-record moved_led env
check attack-22-sudo-record moved_led env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody
check attack-22-removed-folder removed_led

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

# A device that acts when it is opened, as /dev/watchdog does, is no command, no source and, under sudo, no output
# that the user may not write. It is refused in one sentence, and not opened: whoever opens this one is seen.
# unopened_device STATUS COMMAND...
unopened_device() {
	device_expected=$1
	shift
	device_status=0
	python3 -S "$TOP/tests/root/opened.py" device -- "$@" >device.out 2>device.err || device_status=$?
	[ $device_status -eq "$device_expected" ] && ! grep -qx device device.err && return 0
	echo "status $device_status: $(tail -n 2 device.err | tr '\n' ' ')"
	return 1
}
device_unopened() {
	sudo="env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody"
	mknod -m 777 device c 1 3 && mkdir -m 777 beside || return 1
	! unopened_device 0 cat device || { echo "this test cannot tell"; return 1; }
	for become in "" "$sudo"; do
		# shellcheck disable=SC2086 # a list of words
		unopened_device 126 $become "$LB" run -o beside/p.out -- ./device && one_sentence device.err || return 1
	done
	chmod 600 device
	# shellcheck disable=SC2086 # a list of words
	unopened_device 1 $sudo "$LB" run -o device -- touch started && one_sentence device.err && [ ! -e started ] || return 1
	chmod 666 device
	# shellcheck disable=SC2086 # a list of flags
	{ echo "#line 1 \"$PWD/device\""; cat "$WORKLOADS/hot.c"; } >on-device.c && gcc $C_FLAGS -o on-device on-device.c &&
		unopened_device 0 "$LB" run -F 999 -o on-device.pb.gz -- ./on-device 3 &&
		unopened_device 0 "$LB" annotate --json --sources on-device.pb.gz || return 1
	grep -q "\"$PWD/device\"" device.out || { echo "no sample is in it"; return 1; }
}
check attack-23-device device_unopened
