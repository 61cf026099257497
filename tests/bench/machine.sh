#!/bin/sh
# CPU of "record -a -F 99" on a busy machine, without the final symbolization.
. "${TOP:?}/tests/root/lib.sh"

seconds=${BENCH_SECONDS:-60}
echo "## The whole machine, 99 Hz, $seconds s"
echo
hot=$(build hot.c)
short=$(build shortlived.c)
busy=
i=0
while [ $i -lt "$(nproc)" ]; do
	(while :; do "$hot" 100; done) &
	busy="$busy $!"
	i=$((i + 1))
done
# Short processes, too.
(while :; do "$short"; sleep 0.05; done) &
busy="$busy $!"

# cpu_ticks PID: user and system time of the process and its descendants
cpu_ticks() {
	family "$1" | sed 's|.*|/proc/&/stat|' | xargs cat |
		awk '{ sub(/.*\) /, ""); sum += $12 + $13 + $14 + $15 } END { print sum }'
}
"$LB" record -a -F 99 -o machine.pb.gz 2>/dev/null &
recording=$!
sleep 1
begin=$(cpu_ticks $recording)
sleep "$seconds"
end=$(cpu_ticks $recording)
kill $recording
wait $recording
for pid in $busy; do
	kill "$pid"
done 2>/dev/null
wait 2>/dev/null
for pid in $(ps -eo pid=,args= | awk -v p="$hot 100" '$2 " " $3 == p { print $1 }'); do
	kill "$pid" 2>/dev/null
done
"$LB" report --json machine.pb.gz >machine.json
python3 - "$begin" "$end" "$seconds" "$(getconf CLK_TCK)" <<'END'
import json
import sys
begin, end, seconds, tick = (int(a) for a in sys.argv[1:])
d = json.load(open("machine.json", encoding="ascii"))
cost = d["cost"]
print("| | |")
print("|---|---|")
print(f"| user-space CPU while recording | {100 * (end - begin) / tick / seconds:.2f} % of one CPU |")
print(f"| with loading and the final symbolization | {cost['collector_cpu_ns'] / 1e9:.2f} s |")
print(f"| BPF | {cost['bpf_ns_per_sample']} ns a sample, {cost['bpf_cpu_percent']:.3f} % of one CPU |")
print(f"| memory | {cost['collector_peak_rss_bytes'] / 1e6:.0f} MB, {cost['map_bytes'] / 1e6:.0f} MB of kernel maps |")
print(f"| samples | {d['samples']['count']}, {d['samples']['lost']} lost, {d['samples']['missed']} ticks missed |")
END
