#!/bin/sh
# Attacks of docs/security.md by what programs do: 13, 14, 15, 17, 19 and 20.
# Takes 150 s.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"
. "$TOP/tests/root/lib-attacks.sh"

jit=$(build gdbjit.c -rdynamic) && storm=$(build storm.c) && brief=$(build brief.c -static) || exit 1
pid_max=$(cat /proc/sys/kernel/pid_max)

# cheap NAME: lineburn and its helpers used at most 25 % of one CPU
cheap() {
	echo "$(cat "$1.cost") % of a CPU"
	[ "$(cat "$1.cost")" -le 25 ]
}

# another_jit NAME OPTION...: records beside the attacks, and beside the JIT of another user, whose code is named
another_jit() {
	jit_name=$1
	shift
	as 30313 "$jit" 100 $ATTACK_S nap >/dev/null 2>&1 &
	other=$!
	attackers="$attackers $other"
	beside "$jit_name" 8 "$@" || return 1
	"$LB" annotate --leaf --json --pid $other "$jit_name.pb.gz" >"$jit_name.other.json" &&
		profile_has "$jit_name.other.json" "function('spin_50') > 0" && cheap "$jit_name"
}
# lists_lie OPTION...: lists of all kinds, and one of a million entries
lists_lie() {
	for how in cycle huge unmapped text broken moving; do
		as 30213 "$jit" 10000 $ATTACK_S $how >/dev/null 2>&1 &
		attackers="$attackers $!"
	done
	as 30213 "$jit" 1000000 $ATTACK_S >/dev/null 2>&1 &
	attackers="$attackers $!"
	another_jit "lists$1" -a "$@"
}
figure attack-13 lists_lie
# With uprobes, which the caller has to ask for.
figure attack-13-uprobes lists_lie --uprobe

# A program that registers and unregisters code as fast as it can, again and again.
registrations() {
	# shellcheck disable=SC2016 # for the inner shell
	as 30214 timeout $ATTACK_S sh -c 'while :; do "$0" 10 0.1 churn >/dev/null; done' "$jit" &
	attackers="$attackers $!"
	another_jit registrations -a
}
figure attack-14 registrations

# Thousands of Python's code objects, whose names and files collide without a secret: they cost as much as others.
names_collide() {
	for names in plain colliding; do
		# Before others, so that there are many samples.
		attack $names begun nice -n -10 setpriv --reuid 30215 --regid 30215 --clear-groups \
			/usr/bin/python3 -S -E "$WORKLOADS/attacks/names.py" $names $ATTACK_S &&
			beside names-$names 12 -a && profile_has names-$names.json \
			"note('names', sum(f['total'] > 0 for f in d['functions'] if f['object'] == '[python]')) >= 4000" || return 1
	done
	# The CPU time of all, as most names are looked up at the end.
	plain=$(collector_ms names-plain) && colliding=$(collector_ms names-colliding) || return 1
	echo "$colliding ms of CPU time, plain $plain ms"
	[ "$colliding" -le $((2 * plain + 300)) ]
}
collector_ms() {
	python3 -S -c "import json, sys; print(json.load(sys.stdin)['cost']['collector_cpu_ns'] // 10**6)" <"$1.json"
}
figure attack-15 names_collide

# Programs whose unwind tables take long, each another file.
slow_files() {
	python3 "$WORKLOADS/attacks/rules.py" 0 100000 >slow.S && gcc -o slow slow.S || return 1
	for i in $(seq 100); do
		{ cat slow; echo "$i"; } >"slow-$i" && chmod 755 "slow-$i"
	done
	# shellcheck disable=SC2016 # for the inner shell
	as 30217 sh -c 'for i in $(seq 100); do timeout 0.2 "./slow-$i"; done; exec sleep "$0"' $ATTACK_S >/dev/null 2>&1 &
	attackers="$attackers $!"
	rm -f windows.2*
	"$hot" 100000 >/dev/null &
	innocent=$!
	timeout 300 nice -n -15 "$LB" record -a -vv -F 499 --window 1s -d 20 -o windows.pb.gz >windows.out 2>windows.err
	status=$?
	kill $innocent
	calm
	[ $status -eq 0 ] || { tail -n 1 windows.err; return 1; }
	# lineburn warns of a gap of more than four intervals.
	for window in windows.2*; do
		"$LB" annotate --json "$window" >window.json &&
			"$LB" annotate --json --pid $innocent "$window" >window.hot.json &&
			profile_has window.json "sums_close()" "not any('held up' in w for w in note('warnings', d['warnings']))" &&
			profile_has window.hot.json "self_('hot.c five') + self_('hot.c three') + self_('hot.c two') >= 95" || return 1
	done
	grep -o 'longest time between two drains: [0-9]* ms' windows.err | sort -t : -k 2 -rn | head -n 1
}
figure attack-17 slow_files

# forks: how many processes and threads the machine has started
forks() {
	sed -n 's/^processes //p' /proc/stat
}
# all_numbers SECONDS: waits so long, and until as many have been started as there are numbers, so that some number is
# used again; for 80 s at most. numbers.used has how many.
all_numbers() {
	forked=$(forks)
	sleep "$1"
	wait_until $((80 - $1)) all_used
	echo $(($(forks) - forked)) >numbers.used
}
all_used() {
	[ $(($(forks) - forked)) -ge "$pid_max" ]
}
# As many processes as possible of two users, until their numbers are used again: none has the other's user.
numbers_again() {
	cp "$brief" first && cp "$brief" second
	as 30119 "$storm" 0 $ATTACK_S ./first 50 >/dev/null &
	attackers="$attackers $!"
	as 30120 "$storm" 0 $ATTACK_S ./second 50 >/dev/null &
	attackers="$attackers $!"
	during=all_numbers
	beside numbers 25 -a --memory 256 && profile_has numbers.json \
		"note('wrong', [(p['comm'], p['user']) for p in d['processes'] if p['comm'] in ('first', 'second') and 'user' in p and p['user'] != {'first': '30119', 'second': '30120'}[p['comm']]]) == []" \
		"note('known', sum(p.get('user') == '30119' for p in d['processes'] if p['comm'] == 'first')) >= 10" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 256e6" && cheap numbers
}
figure attack-19 numbers_again
used_again() {
	echo "$(cat numbers.used) processes and threads, $pid_max numbers"
	[ "$(cat numbers.used)" -ge "$pid_max" ]
}
if [ "${pid_max:-0}" -gt 131072 ]; then
	skip attack-19-used-again "there are $pid_max numbers (kernel.pid_max), too many to use up in 80 s"
else
	figure attack-19-used-again used_again
fi

# What a stranger's profile names keeps no viewer waiting.
viewers_soon() {
	mkdir viewers && cd viewers && python3 -S "$TOP/tests/root/viewers.py" "$LB" "$TOP/tests/cli/data/naming.py" 2
}
figure attack-20 viewers_soon
figure programs-times soon
