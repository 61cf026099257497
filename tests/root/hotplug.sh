#!/bin/sh
# A CPU that goes offline and online again during the recording is sampled again.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
switch=/sys/devices/system/cpu/cpu1/online
if [ ! -w $switch ] || ! echo 0 2>/dev/null >$switch; then
	skip cpu-hotplug "cpu1 cannot be taken offline here"
	exit 0
fi
trap 'echo 1 >$switch' EXIT

# begin NAME: begins to record, on the other CPU
begin() {
	taskset -c 0 "$LB" record -a -F 499 -o "$1.pb.gz" >out 2>err &
	pid=$!
	wait_until 60 records $pid
}
# seen NAME: lets the program work on the CPU, and asks for another profile; checks the last one
seen() {
	taskset -c 1 "$hot" 5
	kill -USR1 $pid
	"$LB" annotate --json "$1.pb.gz" >"$1.json" && profile_has "$1.json" "counts('hot.c five', 'self') >= 20"
}
# works_on NAME: until the CPU is sampled, some time after it is online: lineburn looks for new ones about once a second
works_on() {
	wait_until 4 seen "$1" # 80 turns, of half a second or more
	kill -INT $pid
	wait $pid || fail "cpu-$1" "$(tail -n 1 err)"
	"$LB" annotate --json "$1.pb.gz" >"$1.json"
	check "cpu-$1" profile_has "$1.json" "note('samples', counts('hot.c five', 'self')) >= 20" "sums_close()"
}
begin hotplug
echo 1 >$switch
works_on hotplug

# A CPU that is offline for an instant only, as in a suspend, is sampled again, too, and the
# mappings of its programs are known: these are events of that CPU.
begin instant
echo 0 >$switch
echo 1 >$switch
works_on instant
