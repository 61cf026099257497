#!/bin/sh
# Attack 25 of docs/security.md: helpers that were taken over, and lie (tests/root/liar.c), in a recording of
# the whole machine. It begins, goes on, ends, and counts what it refused; it keeps no descriptor that it did
# not ask for; and programs that begin when the helpers are honest again have their lines.
# Takes 300 s.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

LIAR=$(dirname "$RULES")/liar
[ -x "$LIAR" ] || { echo "not ok attack-25: there is no $LIAR: run make ${LIAR#"$TOP/"}"; exit 1; }
jit=$(build gdbjit.c -rdynamic) || exit 1

LIES_S=5
HONEST_S=4
cat >spin.py <<'END'
import signal
import sys


def spin():
    while True:
        for i in range(1000):
            i * i


signal.alarm(int(sys.argv[1]))
spin()
END

# lies_begin KIND LIE: helpers of this kind tell this lie from now on
lies_begin() {
	python3 -S -c "import time; print('$1', '$2', time.clock_gettime(time.CLOCK_MONOTONIC) + $LIES_S)" >lies
}
lies_end() {
	python3 -S -c "import time; time.sleep(max(0, $(cut -d ' ' -f 3 lies) - time.clock_gettime(time.CLOCK_MONOTONIC) + 0.1))"
}

# programs NAME: programs of a user, from files that no other program has: what a helper said of a file is kept.
# Sets $native and $python.
programs() {
	mkdir -p "$1" && cp "$hot" "hot-$1" && cp /usr/bin/python3 "$1/python3" || return 1
	as 30125 "./hot-$1" 100000 >/dev/null &
	native=$!
	as 30125 "./$1/python3" -S -E spin.py $ATTACK_S &
	python=$!
	attackers="$attackers $native $python"
}
# Each registers code, so that its list is read.
jits() {
	# shellcheck disable=SC2016 # for the inner shell
	as 30126 timeout $ATTACK_S sh -c 'while :; do "$0" 100 0.5 nap >/dev/null; done' "$jit" &
	attackers="$attackers $!"
}

# records_on PID: counts its descriptors that helpers add, their own and others to them; then ends the recording
records_on() {
	wait_until 60 records "$1" || { echo "it does not begin"; return 1; }
	programs during && jits
	lies_end
	programs after
	sleep $HONEST_S
	find "/proc/$1/fd" -type l -printf '%l\n' | grep -E 'socket:|pidfd|memfd:surplus' >descriptors.txt
	kill -INT "$1"
}

# lying KIND LIE [OPTION...]
lying() {
	liar=$1-$2
	lies_begin "$1" "$2"
	shift 2
	"$LIAR" record -v -F 499 -a -o "$liar.pb.gz" "$@" >"$liar.out" 2>"$liar.err" &
	recorder=$!
	records_on $recorder || { kill -KILL $recorder; calm; return 1; }
	liar_status=0
	wait $recorder || liar_status=$?
	calm
	note_crash "$liar" $liar_status
	[ $liar_status -eq 0 ] || { echo "status $liar_status: $(tail -n 1 "$liar.err")"; return 1; }
	# Of four helpers at most, a socket and a pidfd each, and of two brokers a socket.
	[ "$(wc -l <descriptors.txt)" -le 10 ] || { echo "descriptors: $(sort descriptors.txt | uniq -c | tr -s ' \n' ' ')"; return 1; }
	"$LB" annotate --json "$liar.pb.gz" >"$liar.json" && profile_has "$liar.json" "adds_up()" || return 1
	"$LB" annotate --json --pid "$native" "$liar.pb.gz" >native.json &&
		"$LB" annotate --json --pid "$python" "$liar.pb.gz" >python.json || return 1
	# Not the first stacks of Python: the interpreter is found some time after the last lie.
	profile_has native.json "s['count'] >= 20" \
		"self_('hot.c five') + self_('hot.c three') + self_('hot.c two') >= 95" &&
		profile_has python.json "s['count'] >= 20" "note('spin', sum(f['self'] for f in d['functions'] if f['name'] == 'spin')) >= 0.5 * s['count']" || return 1
	case $liar in
	opener-*) profile_has "$liar.json" "note('deaths', losses['decoder_deaths']) >= 1" || return 1 ;;
	esac
	profile_has "$liar.json" "note('late', [losses[k] for k in ('decoder_deaths', 'decoder_deadlines', 'targets_late', 'targets_refused')])"
}

for lie in none cut longer counts flipped random descriptors error type twice death length needs half late any; do
	figure "attack-25-$lie" lying any $lie
done
for kind in opener reader decoder; do
	figure "attack-25-$kind" lying $kind any
done
