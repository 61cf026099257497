#!/bin/sh
# The cost of many processes: a thousand forks and execs a second, and ten thousand idle processes.
# STORM_SECONDS: length of the first part (60).
# STORM_PAIRS: number of pairs of 5 s each, without and with a recording (7).
. "${TOP:?}/tests/root/lib.sh"

seconds=${STORM_SECONDS:-60}
storm=$(build storm.c) && brief=$(build brief.c -static) && idle=$(build idle.c) || exit 1

# cpu_ns PID: CPU time of the recorder and its workers so far
cpu_ns() {
	for one in $(family "$1"); do
		cat "/proc/$one/schedstat"
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# memory_kb PID FIELD: the sum of this field for the recorder and its workers
memory_kb() {
	for one in $(family "$1"); do
		sed -n "s/^$2:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$one/status"
	done | awk '{ sum += $1 } END { print sum }'
}

# start_recording NAME: gives the recording 3 s to begin
start_recording() {
	"$LB" record -a -F 99 -o "$1.pb.gz" >"$1.out" 2>"$1.err" &
	recording=$!
	sleep 3
}

stop_recording() {
	kill -INT $recording
	wait $recording
}

# rate SECONDS: processes started per second, without a limit
rate() {
	"$storm" 0 "$1" "$brief" 50 | awk '{ print $1 / $2 }'
}

echo "## Storm: processes of a millisecond, 99 Hz, $seconds s"
echo
start_recording storm
begin=$(cpu_ns $recording)
"$storm" 1000 "$seconds" "$brief" 50 >storm.txt
end=$(cpu_ns $recording)
peak=$(memory_kb $recording VmHWM)
stop_recording
"$LB" report --json storm.pb.gz >storm.json
named=$(PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/storm.py" named storm.pb.gz "$brief" 0)

# Alternate, so that other load of the machine affects both alike.
pair=0
: >pairs.txt
while [ $pair -lt "${STORM_PAIRS:-7}" ]; do
	without=$(rate 5)
	start_recording pair
	with=$(rate 5)
	stop_recording
	echo "$without $with" >>pairs.txt
	pair=$((pair + 1))
done
python3 - "$begin" "$end" "$peak" "$named" <<'END'
import json
import statistics
import sys
begin, end, peak = (int(a) for a in sys.argv[1:4])
with open("storm.json", encoding="ascii") as f:
    d = json.load(f)
with open("storm.txt", encoding="ascii") as f:
    nr, seconds = (float(word) for word in f.read().split()[:2])
with open("pairs.txt", encoding="ascii") as f:
    pairs = [tuple(map(float, line.split())) for line in f]
ratios = [with_ / without for without, with_ in pairs]
print("| | |")
print("|---|---|")
print(f"| processes | {nr:.0f}, {nr / seconds:.0f} a second |")
print(f"| samples | {d['samples']['count']}, {d['samples']['lost']} lost; {d['losses']['lost_events']} events lost |")
print(f"| of the storm, with the program's name | {sys.argv[4]} |")
print(f"| user-space CPU while recording | {(end - begin) / seconds / 1e7:.2f} % of one CPU, {(end - begin) / nr / 1e3:.0f} us a process |")
print(f"| resident memory at most, all processes of ours | {peak / 1024:.0f} MB, {d['cost']['map_bytes'] / 1e6:.0f} MB of kernel maps |")
print(f"| fork rate with us / without, as fast as it goes | {statistics.median(ratios):.3f}, median of {len(ratios)} pairs ({min(ratios):.3f} to {max(ratios):.3f}); {statistics.median(p[0] for p in pairs):.0f} a second without |")
END

# BPF cost of each fork, exec and exit, by the kernel's own statistics.
if command -v bpftool >/dev/null && [ "$(cat /proc/sys/kernel/bpf_stats_enabled)" = 0 ]; then
	bpftool prog show -j >before.json
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	start_recording stats
	rate 5 >/dev/null
	bpftool prog show -j >after.json
	echo 0 >/proc/sys/kernel/bpf_stats_enabled
	stop_recording
	python3 - "$recording" <<'END'
import json
import sys
with open("before.json", encoding="utf-8") as f:
    known = {prog["id"] for prog in json.load(f)}
with open("after.json", encoding="utf-8") as f:
    for prog in json.load(f):
        # If bpftool knows the owners of programs, leave out those of other processes.
        if sys.argv[1] not in [str(p["pid"]) for p in prog.get("pids", [])] and "pids" in prog:
            continue
        if prog["id"] not in known and prog.get("name", "").startswith("lb_") and prog.get("run_cnt"):
            print(f"| BPF, {prog['name']} | {prog['run_time_ns'] / prog['run_cnt']:.0f} ns a run, {prog['run_cnt']} runs |")
END
fi

echo
echo "## Ten thousand idle processes"
echo
mkfifo idle.in
"$idle" 10000 <idle.in >idle.txt &
idling=$!
exec 3>idle.in
wait_until 60 test -s idle.txt
begin=$(date +%s.%N)
"$LB" record -a -F 99 --dry-run >dry.out 2>dry.err
end=$(date +%s.%N)
start_recording idle
begin_ns=$(cpu_ns $recording)
sleep 10
end_ns=$(cpu_ns $recording)
resident=$(memory_kb $recording VmRSS)
stop_recording
exec 3>&-
wait $idling
echo "| | |"
echo "|---|---|"
awk -v b="$begin" -v e="$end" -v bn="$begin_ns" -v en="$end_ns" -v kb="$resident" -v nr="$(cat idle.txt)" 'BEGIN {
	printf "| processes | %d |\n| start-up and end without sampling (--dry-run) | %.2f s |\n", nr, e - b
	printf "| user-space CPU while recording | %.2f %% of one CPU |\n| resident memory, all processes of ours | %.0f MB |\n", (en - bn) / 1e8, kb / 1024 }'
