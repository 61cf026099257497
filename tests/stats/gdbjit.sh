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
	[ $(($(date +%s) - begin)) -lt 60 ] || { echo "it took $(($(date +%s) - begin)) s"; return 1; }
	"$LB" annotate --leaf --json "$name.pb.gz" >"$name.json"
	# "moving" has a second thread, of which nothing is asked.
	profile_has "$name.json" "function('spin_50') > 40 and not function('spin_51')" \
		"miss('jit-no-lines') > 40" "sums_close()" "s['lost'] == 0"
}
narrow gdbjit-named named plain ""
for how in cycle huge unmapped text broken moving; do
	narrow "gdbjit-$how" named "$how" "$how"
	narrow "gdbjit-$how-by-walk" named "$how-walk" "$how" --no-uprobe
done

# swapped SECONDS OPTION...: another function has the entry, the bytes and the address of one
# that has gone and never ran. That one has no sample, also when the program ends before its
# list is read again.
swapped() {
	seconds=$1
	shift
	record_json swapped -F 999 "$@" -- "$jit" 40 "$seconds" swap || { tail -n 1 swapped.err; return 1; }
	"$LB" annotate --leaf --json swapped.pb.gz >swapped.json
	profile_has swapped.json "not function('spin_40')" "sums_close()" \
		"note('ambiguous', miss('ambiguous-time', 'jit-unknown')) + function('spin_41') > 60 * $seconds / (2.4 + $seconds)"
}
exactly_swapped() {
	swapped 2 && profile_has swapped.json "function('spin_41') > 30"
}
narrow gdbjit-swapped exactly_swapped
narrow gdbjit-swapped-by-walk swapped 2 --no-uprobe
narrow gdbjit-swapped-at-the-end swapped 0.3 --no-uprobe

# Attached: the list of a process that had registered all before.
attached() {
	"$jit" 100 60 ${1:+"$1"} &
	pid=$!
	sleep 0.5
	timeout 60 "$LB" record -F 999 -d 1 -p $pid -o attached.pb.gz >out 2>err || { tail -n 1 err; kill $pid; return 1; }
	kill $pid
	wait $pid 2>/dev/null
	"$LB" annotate --leaf --json attached.pb.gz >attached.json
	profile_has attached.json "function('spin_50') > 40" "sums_close()"
}
narrow gdbjit-attached attached
for how in cycle huge unmapped text broken moving; do
	narrow "gdbjit-attached-$how" attached $how
done

# many LOST OPTION...: 10,000 objects within the time of a drain: all there but for LOST, which
# are said to be lost, and memory bounded. A walk may give up on a list that grows at that moment.
many() {
	most_lost=$1
	shift
	record_json many -F 999 "$@" -- "$jit" 10000 1.5 || { tail -n 1 many.err; return 1; }
	"$LB" annotate --leaf --json many.pb.gz >many.json
	profile_has many.json "function('spin_5000') > 80" "note('lost', losses['jit_objects_lost']) <= $most_lost" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6" "sums_close()"
}
narrow gdbjit-many many 0
narrow gdbjit-many-by-walk many 100 --no-uprobe

# More than 65,536 of one process, few of them at a time: the last one is known by its name.
churn() {
	record_json churn -F 999 -- "$jit" 10 1 churn || { tail -n 1 churn.err; return 1; }
	"$LB" annotate --leaf --json churn.pb.gz >churn.json
	profile_has churn.json "function('spin_200000') > 8" "losses['jit_objects_lost'] < 20000" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 100e6" "sums_close()"
}
narrow gdbjit-churn churn

# Forks share what their parent registered; 0.3 MB each tell where it lies, until a drain
# after their end.
forks() {
	record_json forks -F 499 -- "$jit" 10000 0.5 forks || { tail -n 1 forks.err; return 1; }
	"$LB" annotate --leaf --json forks.pb.gz >forks.json
	profile_has forks.json "function('spin_5000') > 50" \
		"note('rss', d['cost']['collector_peak_rss_bytes']) < 200e6" "sums_close()"
}
narrow gdbjit-forks forks

# One process after another, each with 8 MB (in pages): those that ended make room.
ended() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json ended -F 499 -- sh -c 'for i in $(seq 40); do "$0" 2000 0.15; done' "$jit" ||
		{ tail -n 1 ended.err; return 1; }
	"$LB" annotate --leaf --json ended.pb.gz >ended.json
	profile_has ended.json "miss('jit-lost') < 10" "function('spin_1000') > 50" "sums_close()"
}
narrow gdbjit-ended ended

# The program is killed while it registers.
killed() {
	record_json killed -F 999 -- timeout -s KILL 0.3 "$jit" 1000000 5
	profile_has killed.json "s['count'] > 10" "sums_close()"
}

# Long after it has ended it runs again, from a copy of the file: the same path and build id, as
# in the next container of an image, and another inode. That is probed, too.
again() {
	cp "$jit" ./again && cp "$jit" ./copy
	# shellcheck disable=SC2016 # for the inner shell
	timeout 90 sh -c 'while [ ! -e go ]; do sleep 0.1; done
		./again 100 1; sleep 16; mv copy again; ./again 100 3; sleep 1' &
	pid=$!
	"$LB" record -p $pid -F 999 --window 2s -o again.pb.gz >out 2>err &
	recorder=$!
	wait_until 60 sh -c 'ls again.2*' || { echo "it does not begin"; kill $pid $recorder; return 1; }
	touch go
	wait $recorder || { tail -n 1 err; return 1; }
	for file in $(find . -name 'again.2*' | sort | tail -n 4); do
		"$LB" annotate --leaf --json "$file" >again.json
		! profile_has again.json "s['count'] > 100" "function('spin_50') > 40" "sums_close()" || return 0
	done
	echo "the second one has no names"
	return 1
}

# inodes NAME PROBES FIRST SECOND: two at a time have the same path and build id, and are made
# so by a command each. What the second one registers is known when it comes, and once.
inodes() {
	mkdir -p at
	# shellcheck disable=SC2016 # for the inner shells
	record_json "$1" -vv -F 999 -- sh -c '
		unshare -m sh -c "$0 && exec at/gdbjit 100 4" &
		sleep 1.5
		unshare -m sh -c "$1 && exec at/gdbjit 60 2 late"
		wait' "$3" "$4" || { tail -n 1 "$1.err"; return 1; }
	"$LB" annotate --leaf --json "$1.pb.gz" >"$1.json"
	profile_has "$1.json" "function('spin_50') > 30" "function('spin_60') > 15" \
		"function('spin_30') > 5" "losses['jit_objects_lost'] == 0" "sums_close()" || return 1
	grep -q 'JIT objects: 161 held' "$1.err" || { grep 'JIT objects' "$1.err"; return 1; }
	probes=$(grep -c 'has the GDB JIT interface, probed' "$1.err")
	[ "$probes" -eq "$2" ] || { echo "$probes probes"; return 1; }
}
mkdir first second upper1 upper2 upper3 work1 work2 work3
cp "$jit" first/gdbjit && cp "$jit" second/gdbjit
narrow gdbjit-inodes inodes inodes 2 "mount --bind first at" "mount --bind second at"

# Two containers of one image: one inode, under two device numbers. And one that has made it
# its own: another inode, under the same number.
overlay() {
	echo "mount -t overlay none -o lowerdir=first,upperdir=upper$1,workdir=work$1 at"
}
if unshare -m sh -c "mkdir -p at && $(overlay 1)" 2>/dev/null; then
	narrow gdbjit-inodes-overlay inodes overlay 1 "$(overlay 1)" "$(overlay 2)"
	narrow gdbjit-inodes-copied-up inodes copied 2 "$(overlay 1)" "$(overlay 3) && touch at/gdbjit"
else
	skip gdbjit-inodes-overlay "no overlayfs here"
fi
