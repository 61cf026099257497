#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzz targets for a long time, one after the other, when nobody else wants the CPU
# (SCHED_IDLE): each until it has had FUZZ_SECONDS (default 3600) of CPU time, then each for as long
# again, FUZZ_ROUNDS times (default: for ever). Those of the parsers that run with privileges come
# first. It may be stopped at any time, and goes on from what is in FOLDER.
# usage: tests/fuzz/long.sh FOLDER TARGET...   (FOLDER "-h": this text)
#   FOLDER/corpus/NAME   what was found interesting
#   FOLDER/findings      inputs that failed, each with the output beside it
#   FOLDER/runs          name, CPU seconds, executions, features, findings of each run
#   FOLDER/table         the sums, written after each run
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || {
	sed -n '3,13s/^# //p' "$0"
	exit 2
}
folder=$1
shift
seconds=${FUZZ_SECONDS:-3600}
rounds=${FUZZ_ROUNDS:-0}
mkdir -p "$folder/corpus" "$folder/findings" || exit 1
touch "$folder/runs" || exit 1
log=$folder/log

# The reader, with CAP_SYS_PTRACE; the collector and the opener; then the decoder and viewers.
first="python_state python_layout python_code_read jit_list look message opener_replies
	reader_replies decoder_replies answer need proc_text maps cgroup cgroup_mount
	container_text task_record jit_assembly interp_code kallsyms source_text python_names
	environ"

# ordered TARGET...: those of $first in its order, then the others
ordered() {
	for name in $first; do
		for target; do
			[ "$(basename "$target")" != "$name" ] || echo "$target"
		done
	done
	for target; do
		echo "$first" | grep -qw "$(basename "$target")" || echo "$target"
	done
}

write_table() {
	awk 'BEGIN { printf "%-18s %8s %13s %8s %9s %9s\n", "target", "hours", "executions", "a second", "features", "findings" }
		!($1 in seconds) { names[++nr] = $1 }
		{
			seconds[$1] += $2
			executions[$1] += $3
			if ($4 > features[$1])
				features[$1] = $4
			findings[$1] += $5
		}
		END {
			for (i = 1; i <= nr; i++) {
				n = names[i]
				printf "%-18s %8.2f %13d %8d %9d %9d\n", n, seconds[n] / 3600, executions[n],
					seconds[n] ? executions[n] / seconds[n] : 0, features[n], findings[n]
			}
		}' "$folder/runs" >"$folder/table.new" && mv "$folder/table.new" "$folder/table"
}

# What a stop loses: a run is noted when it has ended.
most_seconds=300

# Sets $cpu: the CPU seconds of all runs of this process. Not in a subshell, which would begin at 0.
read_cpu() {
	times >"$folder/times"
	cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } print int(sum + 0.5) }' \
		"$folder/times")
}

# had NAME: the CPU seconds of all its runs
had() {
	awk -v name="$1" '$1 == name { sum += $2 } END { print sum + 0 }' "$folder/runs"
}

# one TARGET SECONDS: runs it until it has had these. A finding ends a run.
one() {
	name=$(basename "$1")
	mkdir -p "$folder/corpus/$name"
	found=0
	while [ "$(had "$name")" -lt "$2" ] && [ "$found" -lt 10 ]; do
		left=$(($2 - $(had "$name")))
		read_cpu
		from=$cpu
		status=0
		chrt -i 0 "$1" -max_len=65536 -timeout=300 -report_slow_units=100000 -rss_limit_mb=1024 -print_final_stats=1 \
			-artifact_prefix="$folder/findings/$name-" -max_total_time=$((left < most_seconds ? left : most_seconds)) \
			"$folder/corpus/$name" "$here/corpus/$name" >"$log" 2>&1 ||
			status=$?
		[ "$status" -ne 130 ] && [ "$status" -ne 143 ] || exit 0
		if [ "$status" -ne 0 ]; then
			found=$((found + 1))
			tail -n 60 "$log" >"$folder/findings/$name-$(date +%s).txt"
		fi
		read_cpu
		echo "$name $((cpu - from)) $(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | grep . || echo 0)" \
			"$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' "$log" | tail -n 1 | grep . || echo 0) $((status != 0))" >>"$folder/runs"
		write_table
	done
}

round=0
while [ "$rounds" -eq 0 ] || [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	for target in $(ordered "$@"); do
		one "$target" $((round * seconds))
	done
done
