#!/bin/sh
# The cost of a sample in the kernel, by the profile and by the kernel's own statistics.
# LB_OTHER=/path/to/another/lineburn: measures that one, too, in turns. COST_ROUNDS: rounds (1).
# COST_WORKLOADS: some of "hot forks cold".
. "${TOP:?}/tests/root/lib.sh"

echo "## Cost of a sample"
echo
echo "| workload | rate | samples | frames | by the profile | by the kernel |"
echo "|---|---|---|---|---|---|"

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

# row BIN NAME RATE COMMAND...: samples the machine while COMMAND runs, after a second in which the
# unwind tables are built
row() {
	bin=$1
	name=$2
	rate=$3
	shift 3
	"$@" &
	busy=$!
	sleep 0.2
	others=$(program_ids)
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	"$bin" record -a -F "$rate" -d 8 -o cost.pb.gz 2>/dev/null &
	recording=$!
	sleep 2
	begin=$(kernel_statistics "$others")
	sleep 5
	kernel=$(kernel_statistics "$others")
	wait $recording
	echo "$before" >/proc/sys/kernel/bpf_stats_enabled
	kill $busy 2>/dev/null
	wait $busy 2>/dev/null
	"$bin" report --json cost.pb.gz >cost.json
	python3 - "$name" "$rate" "$begin" "$kernel" <<'EOF'
import json, os, sys
sys.path.insert(0, f"{os.environ['TOP']}/tests/root")
import pprof_file
d = json.load(open("cost.json", encoding="ascii"))
count = d["samples"]["count"]
frames = sum(len(stack) * n for stack, n, _ in pprof_file.stacks("cost.pb.gz")) / max(count, 1)
runs, ns = (int(end) - int(begin) for begin, end in zip(sys.argv[3].split(), sys.argv[4].split()))
kernel = f"{ns / runs:.0f} ns a run, {runs} runs" if runs else "no statistics"
print(f"| {sys.argv[1]} | {sys.argv[2]} Hz | {count} | {frames:.1f} |"
      f" {d['cost']['bpf_ns_per_sample']} ns | {kernel} |")
EOF
}

# rows NAME RATE COMMAND...: with each binary
rows() {
	row "$LB" "$@"
	[ -z "${LB_OTHER:-}" ] || { name=$1 && shift && row "$LB_OTHER" "$name (other)" "$@"; }
}

# on_each_cpu COMMAND...: in the place of the shell that calls it, so that it gets its signals
on_each_cpu() {
	exec sh -c 'for cpu in $(seq 0 $(($(nproc) - 1))); do
			taskset -c "$cpu" "$@" &
			pids="$pids $!"
		done
		trap "kill $pids" TERM
		wait' sh "$@"
}

for _ in $(seq "${COST_ROUNDS:-1}"); do
	for rate in 99 999; do
		for workload in ${COST_WORKLOADS:-hot forks cold}; do
			case $workload,$rate in
			# Frames of different sizes: each has its own unwind rule.
			cold,99) rows "20 native frames, cold caches" 99 on_each_cpu "$(build cold.c -fomit-frame-pointer)" 60 ;;
			cold,*) ;;
			*) rows "$workload" "$rate" "$(build "$workload.c")" 400 100 ;;
			esac
		done
	done
done
