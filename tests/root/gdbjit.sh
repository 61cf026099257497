#!/bin/sh
# Code registered through GDB's JIT interface: many objects, a program killed while it registers,
# forged lists and objects. lineburn must not hang, and must count each loss.
# Takes 55 s.
. "${TOP:?}/tests/root/lib.sh"

jit=$(build gdbjit.c -rdynamic)
MEMBER_VIEW=--leaf
forged="cycle huge unmapped text broken moving"

# known NAME: the running function is the hottest, even with a forged list, and no other has samples
known() {
	profile_has "$1.json" "functions_of('spin_') == {'spin_50'}" "miss('jit-no-lines') > 0" "s['count'] >= 20" || return 1
	case $1 in
	moving*) ;; # has a second thread, which may be hotter
	*) profile_has "$1.json" "hottest_function() == 'spin_50'" ;;
	esac
}
# lists_with SUFFIX: checks the members with this suffix, one for each list; the narrow bound is a share that
# is only reached if the function is known early
lists_with() {
	for how in plain $forged; do
		check "gdbjit-$how$1" known "$how$1"
		narrow "gdbjit-$how$1-soon" profile_has "$how$1.json" "function('spin_50') > 40" "miss('jit-no-lines') > 40"
	done
}

# All lists at once, because no list may disturb another: with the uprobe, then by walking the lists.
for how in plain $forged; do
	member "$how" "$jit" 100 "$(longer 0.4 1)" "$how"
done
begin=$(date +%s)
together lists -F 999 >why 2>&1 || fail gdbjit-lists "$(tail -n 1 why)"
check gdbjit-lists-sums closes lists
narrow gdbjit-lists-seconds test $(($(date +%s) - begin)) -lt 60
lists_with ""
for how in plain $forged; do
	member "$how-by-walk" "$jit" 100 "$(longer 0.4 1)" "$how"
done
begin=$(date +%s)
together walks -F 999 --no-uprobe >why 2>&1 || fail gdbjit-walks "$(tail -n 1 why)"
check gdbjit-walks-sums closes walks
narrow gdbjit-walks-seconds test $(($(date +%s) - begin)) -lt 60
lists_with -by-walk
# Attached: all code was registered before the recording began.
for how in plain $forged; do
	member "$how-attached" "$jit" 100 100 "$how"
done
attached attached 50 "0.7 5" -F 999 >why 2>&1 || fail gdbjit-attached "$(tail -n 1 why)"
check gdbjit-attached-sums closes attached
lists_with -attached

# swapped NAME SECONDS OPTION...: a new function takes the list entry, bytes and address of an
# unregistered one that never ran. The old one has no sample, even if the program ends before
# lineburn reads the list again.
swapped() {
	swapped=$1
	seconds=$2
	shift 2
	leaves gdbjit "$swapped" -F 999 "$@" -- "$jit" 40 "$seconds" swap
	check "gdbjit-$swapped" profile_has "$swapped.json" "not function('spin_40')" "function('spin_20') > 0" \
		"note('ambiguous', miss('ambiguous-time', 'jit-unknown')) + function('spin_41') > 0"
	narrow "gdbjit-$swapped-share" profile_has "$swapped.json" \
		"note('ambiguous', miss('ambiguous-time', 'jit-unknown')) + function('spin_41') > 60 * $seconds / (2.4 + $seconds)"
}
exactly_swapped() {
	swapped swapped "$(longer 0.5 2)"
	check gdbjit-swapped-exactly profile_has swapped.json "function('spin_41') > 0"
	narrow gdbjit-swapped-exactly-share profile_has swapped.json "function('spin_41') > 30"
}
also exactly_swapped
also swapped swapped-at-the-end 0.3 --no-uprobe
[ "$SUITE" != stats ] || swapped swapped-by-walk 2 --no-uprobe
also_done

# The next program registers code as fast as it can.
FIRST=$BEFORE_OTHERS

# The program is killed while it registers code.
killed() {
	# shellcheck disable=SC2016 # for the inner shell
	record_json killed -F 999 -- python3 -c '
import subprocess, sys, time
p = subprocess.Popen(sys.argv[1:])
while p.poll() is None:
    with open(f"/proc/{p.pid}/schedstat", encoding="ascii") as f:
        if int(f.read().split()[0]) > 200e6:
            p.kill()
    time.sleep(0.01)
sys.exit(128 - p.returncode)' "$jit" 1000000 5
	[ $record_status -eq 137 ] || { echo "status $record_status: $(tail -n 1 killed.err)"; return 1; }
	profile_has killed.json "s['count'] > 10" "sums_close()"
}
check gdbjit-killed killed
FIRST=

# inodes TEST NAME PROBES FIRST SECOND: two programs with the same path and build id run at the same
# time; FIRST and SECOND are the commands that mount them. Objects of both are known, once each.
inodes() {
	inodes_test=$1
	shift
	check "gdbjit-$inodes_test" probed "$@"
	narrow "gdbjit-$inodes_test-soon" profile_has "$1.json" "function('spin_50') > 30" "function('spin_60') > 15" \
		"function('spin_30') > 5"
}
probed() {
	mkdir -p "at-$1"
	# shellcheck disable=SC2016 # for the inner shells
	record_json "$1" -vv -F 999 -- sh -c '
		unshare -m sh -c "$0 && exec $2/gdbjit 100 $3" &
		sleep $4
		unshare -m sh -c "$1 && exec $2/gdbjit 60 $5 late"
		wait' "$3" "$4" "at-$1" "$(longer "3 nap" 4)" "$(longer 0.7 1.5)" "$(longer 0.5 2)" || { tail -n 1 "$1.err"; return 1; }
	"$LB" annotate --leaf --json "$1.pb.gz" >"$1.json"
	profile_has "$1.json" "functions_of('spin_') == {'spin_50', 'spin_30', 'spin_60'}" \
		"losses['jit_objects_lost'] == 0" "sums_close()" || return 1
	grep -q 'JIT objects: 161 held' "$1.err" || { grep 'JIT objects' "$1.err"; return 1; }
	probes=$(grep -c 'has the GDB JIT interface, probed' "$1.err")
	[ "$probes" -eq "$2" ] || { echo "$probes probes"; return 1; }
}
mkdir first second upper1 upper2 upper3 upper4 upper5 work1 work2 work3 work4 work5
cp "$jit" first/gdbjit && cp "$jit" second/gdbjit
also inodes inodes inodes 2 "mount --bind first at-inodes" "mount --bind second at-inodes"

# Two containers of one image: one inode under two device numbers. And a container with a copy
# of the file (copy-up): another inode under the same device number.
# overlay NUMBER NAME: no two mounts may have the same NUMBER, because they may be there at the same time.
overlay() {
	echo "mount -t overlay none -o lowerdir=first,upperdir=upper$1,workdir=work$1 at-$2"
}
if unshare -m sh -c "mkdir -p at-probe && $(overlay 5 probe)" 2>/dev/null; then
	also inodes inodes-overlay overlay 1 "$(overlay 1 overlay)" "$(overlay 2 overlay)"
	also inodes inodes-copied-up copied 2 "$(overlay 3 copied)" "$(overlay 4 copied) && touch at-copied/gdbjit"
else
	skip gdbjit-inodes-overlay "no overlayfs here"
fi
also_done
