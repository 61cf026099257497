#!/bin/sh
# A CPU that goes offline and online again during the recording is sampled again.
# Runs alone.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)
n=$(rounds "$hot" 2) # longer than lineburn needs to notice a CPU
switch=/sys/devices/system/cpu/cpu1/online
if [ ! -w $switch ] || ! echo 0 2>/dev/null >$switch; then
	skip cpu-hotplug "cpu1 cannot be taken offline here"
	exit 0
fi
trap 'echo 1 >$switch' EXIT
taskset -c 0 "$LB" record -a -F 499 -d 60 -o hotplug.pb.gz >out 2>err &
pid=$!
wait_until 60 records $pid
echo 1 >$switch
sleep 0.2
taskset -c 1 "$hot" "$n"
kill -INT $pid
wait $pid || fail cpu-hotplug "$(tail -n 1 err)"
"$LB" annotate --json hotplug.pb.gz >hotplug.json
check cpu-hotplug profile_has hotplug.json "counts('hot.c five', 'self') >= 20" "sums_close()"

# A CPU that is offline for an instant only, as in a suspend, is sampled again, too, and the
# mappings of its programs are known: these are events of that CPU.
taskset -c 0 "$LB" record -a -F 499 -d 60 -o instant.pb.gz >out 2>err &
pid=$!
wait_until 60 records $pid
echo 0 >$switch
echo 1 >$switch
sleep 1.6 # one check for new CPUs, and a drain
taskset -c 1 "$hot" "$n"
kill -INT $pid
wait $pid || fail cpu-instant "$(tail -n 1 err)"
"$LB" annotate --json instant.pb.gz >instant.json
check cpu-instant profile_has instant.json "note('samples', counts('hot.c five', 'self')) >= 20" "sums_close()"
