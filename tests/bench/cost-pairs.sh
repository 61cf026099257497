#!/bin/sh
# The cost of a sample of several programs that record at the same time, so that all have the same machine in the
# same seconds: run time by runs of the kernel's statistics, in nanoseconds.
# LB_OTHER="/path/to/another/lineburn ...": the others. COST_ROUNDS: rounds (4); each second one in reverse order.
. "${TOP:?}/tests/root/lib.sh"

before=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null || echo 0)
busy=
trap 'echo "$before" >/proc/sys/kernel/bpf_stats_enabled; kill $busy 2>/dev/null' EXIT
echo 1 >/proc/sys/kernel/bpf_stats_enabled

# statistics PID...: "NANOSECONDS RUNS" of each one's lb_sample. Not every bpftool tells who holds a program.
statistics() {
	bpftool prog show --json | python3 -c '
import glob, json, sys
programs = [p for p in json.load(sys.stdin) if p["name"] == "lb_sample"]
for pid in sys.argv[1:]:
    held = set()
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            held |= {int(line.split()[1]) for line in open(path) if line.startswith("prog_id:")}
        except OSError:  # closed meanwhile
            pass
    program = next(p for p in programs if p["id"] in held)
    print(program["run_time_ns"], program["run_cnt"])' "$@"
}

# round WORKLOAD RATE BIN...: a row, in the order of the programs
round() {
	workload=$1
	rate=$2
	shift 2
	pids=
	for bin; do
		"$bin" record -a -F "$rate" -d 15 -o "$(echo "$bin" | tr / _).pb.gz" 2>/dev/null &
		pids="$pids $!"
	done
	sleep 5
	# shellcheck disable=SC2086 # numbers
	statistics $pids >begin || exit 1
	sleep 8
	# shellcheck disable=SC2086 # numbers
	statistics $pids >end || exit 1
	# shellcheck disable=SC2086 # numbers
	wait $pids || exit 1
	paste begin end | awk -v what="| $workload | $rate Hz |" '
		{ printf "%s %.0f", (NR > 1 ? "," : what), ($3 - $1) / ($4 - $2) }
		END { print " |" }'
}

# The programs in reverse order.
reversed=
for bin in "$LB" ${LB_OTHER:-}; do
	reversed="$bin $reversed"
done

echo "## Cost of a sample, programs that record together"
echo
echo "Programs: $LB ${LB_OTHER:-}; each second row in reverse order."
echo
echo "| workload | rate | nanoseconds a sample |"
echo "|---|---|---|"
for workload in cold hot; do
	if [ "$workload" = cold ]; then
		cold=$(build cold.c -fomit-frame-pointer)
		for cpu in $(seq 0 $(($(nproc) - 1))); do
			taskset -c "$cpu" "$cold" 1000 &
			busy="$busy $!"
		done
	else
		"$(build hot.c)" 100000 100 &
		busy=$!
	fi
	for number in $(seq "${COST_ROUNDS:-4}"); do
		# shellcheck disable=SC2086 # paths of programs
		if [ $((number % 2)) -eq 1 ]; then
			round "$workload" 99 "$LB" ${LB_OTHER:-}
		else
			round "$workload" 99 $reversed
		fi
	done
	# shellcheck disable=SC2086 # numbers
	kill $busy
	busy=
done
