#!/bin/sh
# Code registered by GDB's interface, by a program that does nothing else: many objects, ends
# in the middle, lists and objects that were forged. No hang, nothing lost unsaid.
. "${TOP:?}/tests/root/lib.sh"

jit=$(build gdbjit.c -rdynamic)

# named NAME HOW OPTION...: the hot function is known, whatever the list looks like
named() {
	name=$1
	how=$2
	shift 2
	begin=$(date +%s)
	# shellcheck disable=SC2086 # HOW may be none
	record_json "$name" -F 999 "$@" -- "$jit" 100 1 $how || { tail -n 1 "$name.err"; return 1; }
	[ $(($(date +%s) - begin)) -lt 15 ] || { echo "it took $(($(date +%s) - begin)) s"; return 1; }
	"$LB" annotate --leaf --json "$name.pb.gz" >"$name.json"
	# "moving" has a second thread, of which nothing is asked.
	profile_has "$name.json" "function('spin_50') > 40 and not function('spin_51')" \
		"miss('jit-no-lines') > 40" "sums_close()" "s['lost'] == 0"
}
check gdbjit-named named plain ""
for how in cycle huge unmapped text broken moving; do
	check "gdbjit-$how" named "$how" "$how"
	check "gdbjit-$how-by-walk" named "$how-walk" "$how" --no-uprobe
done

# Attached: the list of a process that had registered all before.
attached() {
	"$jit" 100 60 ${1:+"$1"} &
	pid=$!
	sleep 0.5
	timeout 30 "$LB" record -F 999 -d 1 -p $pid -o attached.pb.gz >out 2>err || { tail -n 1 err; kill $pid; return 1; }
	kill $pid
	wait $pid 2>/dev/null
	"$LB" annotate --leaf --json attached.pb.gz >attached.json
	profile_has attached.json "function('spin_50') > 40" "sums_close()"
}
check gdbjit-attached attached
for how in cycle huge unmapped text broken moving; do
	check "gdbjit-attached-$how" attached $how
done

# 10,000 objects within the time of a drain: all there or said to be lost, memory bounded.
many() {
	record_json many -F 999 "$@" -- "$jit" 10000 1.5 || { tail -n 1 many.err; return 1; }
	"$LB" annotate --leaf --json many.pb.gz >many.json
	profile_has many.json "function('spin_5000') > 80" "losses['jit_objects_lost'] == 0" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6" "sums_close()"
}
check gdbjit-many many
check gdbjit-many-by-walk many --no-uprobe

# More than 65,536 of one process, few of them at a time: the last one is known by its name.
churn() {
	record_json churn -F 999 -- "$jit" 10 1 churn || { tail -n 1 churn.err; return 1; }
	"$LB" annotate --leaf --json churn.pb.gz >churn.json
	profile_has churn.json "function('spin_200000') > 8" "losses['jit_objects_lost'] < 20000" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6" "sums_close()"
}
check gdbjit-churn churn

# Forks share what their parent registered.
forks() {
	record_json forks -F 499 -- "$jit" 10000 0.5 forks || { tail -n 1 forks.err; return 1; }
	"$LB" annotate --leaf --json forks.pb.gz >forks.json
	profile_has forks.json "function('spin_5000') > 50" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6" "sums_close()"
}
check gdbjit-forks forks

# One process after another, each with 8 MB (in pages): those that ended make room.
ended() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json ended -F 499 -- sh -c 'for i in $(seq 40); do "$0" 2000 0.15; done' "$jit" ||
		{ tail -n 1 ended.err; return 1; }
	"$LB" annotate --leaf --json ended.pb.gz >ended.json
	profile_has ended.json "miss('jit-lost') < 0.1 * s['count']" "function('spin_1000') > 50" "sums_close()"
}
check gdbjit-ended ended

# The program is killed while it registers.
killed() {
	record_json killed -F 999 -- timeout -s KILL 0.3 "$jit" 1000000 5
	profile_has killed.json "s['count'] > 10" "sums_close()"
}
check gdbjit-killed killed
