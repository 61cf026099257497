#!/bin/sh
# The cost of a sample in the kernel, by the profile and by the kernel's own statistics.
. "${TOP:?}/tests/root/lib.sh"

echo "## Cost of a sample"
echo
echo "| workload | rate | samples | by the profile | by the kernel |"
echo "|---|---|---|---|---|"

program_ids() {
	bpftool prog show --json | python3 -c 'import json, sys; print(*[p["id"] for p in json.load(sys.stdin)])'
}

# kernel_statistics "ID...": runs and nanoseconds of the busiest BPF program that is not listed
kernel_statistics() {
	bpftool prog show --json | python3 -c '
import json, sys
others = {int(n) for n in sys.argv[1].split()}
best = max((p for p in json.load(sys.stdin) if p["id"] not in others),
           key=lambda p: p.get("run_cnt", 0), default={})
print(best.get("run_cnt", 0), best.get("run_time_ns", 0))' "$1"
}

before=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null || echo 0)
trap 'echo "$before" >/proc/sys/kernel/bpf_stats_enabled' EXIT
for rate in 99 999; do
	for workload in hot forks; do
		"$(build "$workload.c")" 400 100 &
		busy=$!
		sleep 0.2
		others=$(program_ids)
		echo 1 >/proc/sys/kernel/bpf_stats_enabled
		"$LB" record -a -F $rate -d 6 -o cost.pb.gz 2>/dev/null &
		recording=$!
		sleep 5
		kernel=$(kernel_statistics "$others")
		wait $recording
		echo "$before" >/proc/sys/kernel/bpf_stats_enabled
		kill $busy 2>/dev/null
		wait $busy 2>/dev/null
		"$LB" report --json cost.pb.gz >cost.json
		python3 - $workload $rate "$kernel" <<'END'
import json
import sys
d = json.load(open("cost.json", encoding="ascii"))
runs, ns = (int(n) for n in sys.argv[3].split())
kernel = f"{ns / runs:.0f} ns a run, {runs} runs" if runs else "no statistics"
print(f"| {sys.argv[1]} | {sys.argv[2]} Hz | {d['samples']['count']} |"
      f" {d['cost']['bpf_ns_per_sample']} ns | {kernel} |")
END
	done
done
