#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs each fuzz target over its corpus tests/fuzz/corpus/NAME/, then on new input. With
# FUZZ_RUNS=N these are the same N inputs each time; otherwise random inputs for FUZZ_SECONDS
# (default 10). New interesting inputs go to a temporary folder; an input that crashes the
# target is kept as NAME-crash-* in the current folder.
# Last line: fuzz: N passed, N failed.
seconds=${FUZZ_SECONDS:-10}
if [ -n "${FUZZ_RUNS:-}" ]; then
	how="-seed=1 -runs=$FUZZ_RUNS"
else
	how="-max_total_time=$seconds"
fi
here=$(dirname "$0")
passed=0
failed=0
log=$(mktemp) || exit 1
fresh=$(mktemp -d) || exit 1
trap 'rm -rf "$log" "$fresh"' EXIT INT TERM

for target in "$@"; do
	name=$(basename "$target")
	corpus=$here/corpus/$name
	mkdir -p "$fresh/$name"
	start=$(date +%s)
	set -- -max_len=65536 -timeout=60 -rss_limit_mb=1024 -artifact_prefix="$name-"
	# shellcheck disable=SC2086 # options
	if [ -z "$(ls -A "$corpus" 2>/dev/null)" ]; then
		echo "FAILED: $name has no corpus in $corpus"
		failed=$((failed + 1))
	elif "$target" "$@" -runs=0 "$corpus" >"$log" 2>&1 &&
		{ [ "$how" = -max_total_time=0 ] ||
			"$target" "$@" $how -print_final_stats=1 "$fresh/$name" "$corpus" >"$log" 2>&1; }; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		if [ "${runs:-0}" -ge "${FUZZ_RUNS:-0}" ]; then
			echo "passed: $name (${runs:-corpus only} runs)"
			passed=$((passed + 1))
		else
			echo "FAILED: $name made ${runs:-0} runs of $FUZZ_RUNS"
			failed=$((failed + 1))
		fi
	else
		tail -n 40 "$log"
		echo "FAILED: $name"
		failed=$((failed + 1))
	fi
	echo "   $name: $(($(date +%s) - start)) s"
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
