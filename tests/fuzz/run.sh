#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzz targets: each over its corpus tests/fuzz/corpus/NAME/, then on new input
# for FUZZ_SECONDS (default 10). What it finds interesting goes to a temporary
# folder; what crashes it is kept as NAME-crash-* in the current one.
# Last line: fuzz: N passed, N failed.
seconds=${FUZZ_SECONDS:-10}
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
	set -- -max_len=65536 -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$name-"
	if [ -z "$(ls -A "$corpus" 2>/dev/null)" ]; then
		echo "FAILED: $name has no corpus in $corpus"
		failed=$((failed + 1))
	elif "$target" "$@" -runs=0 "$corpus" >"$log" 2>&1 &&
		{ [ "$seconds" -eq 0 ] ||
			"$target" "$@" -max_total_time="$seconds" -print_final_stats=1 \
				"$fresh/$name" "$corpus" >"$log" 2>&1; }; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		echo "passed: $name (${runs:-corpus only} runs in $seconds s)"
		passed=$((passed + 1))
	else
		tail -n 40 "$log"
		echo "FAILED: $name"
		failed=$((failed + 1))
	fi
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
