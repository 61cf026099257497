#!/bin/sh
# Code registered by GDB's interface, by a program that does nothing else: many objects, ends
# in the middle, lists and objects that were forged. No hang, nothing lost unsaid.
# Takes 35 s.
. "${TOP:?}/tests/root/lib.sh"

jit=$(build gdbjit.c -rdynamic)
MEMBER_VIEW=--leaf
forged="cycle huge unmapped text broken moving"

# known NAME: the function that runs is the hottest, whatever the list looks like; no other has samples
known() {
	profile_has "$1.json" "functions_of('spin_') == {'spin_50'}" "miss('jit-no-lines') > 0" "s['count'] >= 20" || return 1
	case $1 in
	moving*) ;; # has a second thread, of which nothing is asked
	*) profile_has "$1.json" "hottest_function() == 'spin_50'" ;;
	esac
}
closes() {
	profile_has "$1.json" "sums_close()" "s['lost'] == 0"
}

# Each list beside all others, which it must not disturb: with the uprobe, and by walking the lists.
for how in plain $forged; do
	member "$how" "$jit" 100 0.4 "$how"
done
together lists -F 999 >why 2>&1 || fail gdbjit-lists "$(tail -n 1 why)"
check gdbjit-lists-sums closes lists
for how in plain $forged; do
	check "gdbjit-$how" known "$how"
	member "$how-walk" "$jit" 100 0.4 "$how"
done
together walks -F 999 --no-uprobe >why 2>&1 || fail gdbjit-walks "$(tail -n 1 why)"
check gdbjit-walks-sums closes walks
for how in plain $forged; do
	check "gdbjit-$how-by-walk" known "$how-walk"
	member "$how-attached" "$jit" 100 100 "$how"
done
# Attached: the lists of processes that had registered all before.
attached attached -F 999 -d 1.5 >why 2>&1 || fail gdbjit-attached "$(tail -n 1 why)"
check gdbjit-attached-sums closes attached
for how in plain $forged; do
	check "gdbjit-attached-$how" known "$how-attached"
done

# swapped NAME SECONDS OPTION...: another function has the entry, the bytes and the address of one
# that has gone and never ran. That one has no sample, also when the program ends before its
# list is read again.
swapped() {
	name=$1
	seconds=$2
	shift 2
	record_json "$name" -F 999 "$@" -- "$jit" 40 "$seconds" swap || { tail -n 1 "$name.err"; return 1; }
	"$LB" annotate --leaf --json "$name.pb.gz" >"$name.json"
	closes "$name" && profile_has "$name.json" "not function('spin_40')" "function('spin_20') > 0" \
		"note('ambiguous', miss('ambiguous-time', 'jit-unknown')) + function('spin_41') > 0"
}
exactly_swapped() {
	swapped swapped 0.5 && profile_has swapped.json "function('spin_41') > 0"
}
check gdbjit-swapped exactly_swapped &
check gdbjit-swapped-at-the-end swapped swapped-walk 0.3 --no-uprobe &
wait

# What follows registers as fast as it can.
FIRST=$BEFORE_OTHERS

# many NAME OPTION...: 10,000 objects within the time of a drain: the one that runs is known, what is lost
# is counted, and memory is bounded.
many() {
	name=$1
	shift
	# shellcheck disable=SC2086 # words
	record_json "$name" -F 999 "$@" -- $AFTER_IT "$jit" 10000 0.7 || { tail -n 1 "$name.err"; return 1; }
	"$LB" annotate --leaf --json "$name.pb.gz" >"$name.json"
	closes "$name" && profile_has "$name.json" "functions_of('spin_') <= {'spin_5000'}" \
		"hottest_function() == 'spin_5000' or note('lost', losses['jit_objects_lost']) > 0 and miss('jit-lost', 'jit-unknown') > 0" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6"
}
figure gdbjit-many many many &
figure gdbjit-many-by-walk many many-walk --no-uprobe &
wait

# More than 65,536 of one process, few of them at a time: the last one is known by its name.
churn() {
	# shellcheck disable=SC2086 # words
	record_json churn -F 999 -- $AFTER_IT "$jit" 10 0.5 churn || { tail -n 1 churn.err; return 1; }
	"$LB" annotate --leaf --json churn.pb.gz >churn.json
	closes churn && profile_has churn.json "functions_of('spin_') == {'spin_0', 'spin_80000'}" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6"
}
figure gdbjit-churn churn &

# Forks share what their parent registered: 10,000 objects, of which each child of 150 would have
# a megabyte; where they lie, 0.3 MB each tell until a drain after their end.
forks() {
	# shellcheck disable=SC2086 # words
	record_json forks -F 499 -- $AFTER_IT "$jit" 10000 0.3 forks || { tail -n 1 forks.err; return 1; }
	"$LB" annotate --leaf --json forks.pb.gz >forks.json
	closes forks && profile_has forks.json "functions_of('spin_') <= {'spin_0', 'spin_5000'}" \
		"'spin_5000' in functions_of('spin_') or note('lost', losses['jit_objects_lost']) > 0 and miss('jit-lost', 'jit-unknown') > 0" \
		"note('processes', len(d['processes'])) > 20" "note('rss', d['cost']['collector_peak_rss_bytes']) < 150e6"
}
figure gdbjit-forks forks &
wait

# One process after another, each with 8 MB (in pages), 320 MB in all of the 256 that there are for
# them: those that ended made room.
ended() {
	# shellcheck disable=SC2016,SC2086 # for the inner shell; words
	record_json ended -F 499 -- $AFTER_IT sh -c 'for i in $(seq 40); do "$0" 2000 0.03; done' "$jit" ||
		{ tail -n 1 ended.err; return 1; }
	"$LB" annotate --leaf --json ended.pb.gz >ended.json
	closes ended && profile_has ended.json "functions_of('spin_') == {'spin_1000'}" "miss('jit-lost') < 50" \
		"note('processes', sum(p['comm'] == 'gdbjit' for p in d['processes'])) == 40"
}
figure gdbjit-ended ended &

# The program is killed while it registers.
killed() {
	record_json killed -F 999 -- timeout -s KILL 0.3 "$jit" 1000000 5
	profile_has killed.json "s['count'] > 10" "sums_close()"
}
check gdbjit-killed killed &
wait
FIRST=

# inodes NAME PROBES FIRST SECOND: two at a time have the same path and build id, and are made
# so by a command each. What the second one registers is known when it comes, and once.
inodes() {
	mkdir -p "at-$1"
	# shellcheck disable=SC2016 # for the inner shells
	record_json "$1" -vv -F 999 -- sh -c '
		unshare -m sh -c "$0 && exec $2/gdbjit 100 2.5" &
		sleep 0.7
		unshare -m sh -c "$1 && exec $2/gdbjit 60 0.5 late"
		wait' "$3" "$4" "at-$1" || { tail -n 1 "$1.err"; return 1; }
	"$LB" annotate --leaf --json "$1.pb.gz" >"$1.json"
	profile_has "$1.json" "functions_of('spin_') == {'spin_50', 'spin_30', 'spin_60'}" \
		"losses['jit_objects_lost'] == 0" "sums_close()" || return 1
	grep -q 'JIT objects: 161 held' "$1.err" || { grep 'JIT objects' "$1.err"; return 1; }
	probes=$(grep -c 'has the GDB JIT interface, probed' "$1.err")
	[ "$probes" -eq "$2" ] || { echo "$probes probes"; return 1; }
}
mkdir first second upper1 upper2 upper3 work1 work2 work3
cp "$jit" first/gdbjit && cp "$jit" second/gdbjit
check gdbjit-inodes inodes inodes 2 "mount --bind first at-inodes" "mount --bind second at-inodes" &

# Two containers of one image: one inode, under two device numbers. And one that has made it
# its own: another inode, under the same number.
# overlay NUMBER NAME
overlay() {
	echo "mount -t overlay none -o lowerdir=first,upperdir=upper$1,workdir=work$1 at-$2"
}
if unshare -m sh -c "mkdir -p at-probe && $(overlay 1 probe)" 2>/dev/null; then
	check gdbjit-inodes-overlay inodes overlay 1 "$(overlay 1 overlay)" "$(overlay 2 overlay)"
	check gdbjit-inodes-copied-up inodes copied 2 "$(overlay 1 copied)" "$(overlay 3 copied) && touch at-copied/gdbjit"
else
	skip gdbjit-inodes-overlay "no overlayfs here"
fi
wait
