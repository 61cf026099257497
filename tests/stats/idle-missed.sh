#!/bin/sh
# A mostly idle target, and an idle machine: the few samples are not said to be a fraction of many missed ticks.
. "${TOP:?}/tests/root/lib.sh"

nap=$(build nap.c)
"$nap" 100000 &
napping=$!
trap 'kill $napping' EXIT
# few_missed NAME OPTION...: records 3 s at 99 Hz. Missed are none, or at most a tenth of the ticks due on busy
# CPUs, and more than the account's error; the listing says the one or the other.
few_missed() {
	few_name=$1
	shift
	timeout 60 "$LB" record -F 99 -d 3 -o "$few_name.pb.gz" "$@" >"$few_name.out" 2>"$few_name.err" ||
		{ tail -n 1 "$few_name.err"; return 2; }
	"$LB" annotate "$few_name.pb.gz" >"$few_name.txt" && "$LB" annotate --json "$few_name.pb.gz" >"$few_name.json" || return 2
	profile_has "$few_name.json" "note('samples', s['count']) < 300" \
		"note('missed', losses['missed']) == 0 or losses['due_error'] < losses['missed'] <= 0.1 * note('due', losses['due'])" || return 1
	few_said=$(tr -s ' \n' ' ' <"$few_name.txt")
	if profile_has "$few_name.json" "losses['missed'] == 0" >/dev/null 2>&1; then
		few_pattern=', (fewer than [0-9]+ ticks|no tick) missed'
	else
		few_pattern='were due on busy CPUs of the machine \([0-9.]+ \+-[0-9.]+ %\) never ran'
	fi
	echo "$few_said" | grep -qE "$few_pattern" || { echo "$few_name.txt does not say \"$few_pattern\""; return 2; }
}
narrow idle-target-missed few_missed target -p $napping
kill $napping
narrow idle-machine-missed few_missed machine -a
trap - EXIT
