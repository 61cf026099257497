#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs each fuzz target over its corpus tests/fuzz/corpus/NAME/, then on new input. With
# FUZZ_RUNS=N these are the same N inputs each time; otherwise random inputs for FUZZ_SECONDS
# (default 10). New interesting inputs go to a temporary folder; an input that crashes the
# target is kept as NAME-crash-* in the current folder. The corpus must also reach what
# tests/fuzz/reach says: a target whose corpus no longer fits runs fast and finds nothing.
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
trap 'rm -rf "$log" "$fresh"' EXIT
trap 'exit 130' INT TERM

# check_reach NAME LOG: of a run with -print_coverage=1. The library is built without inlining for
# this: the only call of a function could be in its caller.
check_reach() {
	awk -v target="$1" -v table="$here/reach" '
		# Of "/folder/src/FILE:LINE".
		function source(place) {
			sub(/:[0-9]+$/, "", place)
			return sub(/^.*\/src\//, "", place) ? place : ""
		}
		BEGIN {
			while ((getline line <table) > 0) {
				nr = split(line, word, " ")
				if (word[1] != target)
					continue
				files[word[2]] = 1
				for (i = 3; i <= nr; i++) {
					is_never = !sub(/\?$/, "", word[i])
					left[word[2], word[i]] = is_never
				}
			}
		}
		/^(UN)?COVERED_FUNC:/ && (source($NF) in files) {
			file = source($NF)
			name = $(NF - 1)
			seen[file] = 1
			reached = /^COVERED/
			if (!reached && !((file, name) in left))
				say(" does not reach " name " of src/" file)
			else if (reached && ((file, name) in left) && left[file, name])
				say(" reaches " name " of src/" file ", which tests/fuzz/reach says it does not")
		}
		function say(what) {
			print "   " target what
			bad = 1
		}
		END {
			for (file in files)
				if (!(file in seen))
					say(" has nothing of src/" file)
			if (!length(files))
				say(" is not in tests/fuzz/reach")
			exit bad
		}' "$2"
}

# run TARGET NAME: over its corpus, then on new input; sets $runs. Prints why it failed.
run() {
	corpus=$here/corpus/$2
	options="-max_len=65536 -timeout=60 -rss_limit_mb=1024 -artifact_prefix=$2-"
	runs=
	mkdir -p "$fresh/$2"
	if [ -z "$(ls -A "$corpus" 2>/dev/null)" ]; then
		echo "   $2 has no corpus in $corpus"
		return 1
	fi
	# shellcheck disable=SC2086 # options
	"$1" $options -runs=0 -print_coverage=1 "$corpus" >"$log" 2>&1 || {
		grep -vE '^ *(UN)?COVERED_' "$log" | tail -n 40
		return 1
	}
	check_reach "$2" "$log" || return 1
	[ "$how" != -max_total_time=0 ] || return 0
	# shellcheck disable=SC2086 # options
	"$1" $options $how -print_final_stats=1 "$fresh/$2" "$corpus" >"$log" 2>&1 || {
		tail -n 40 "$log"
		return 1
	}
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	[ "${runs:-0}" -ge "${FUZZ_RUNS:-0}" ] || {
		echo "   $2 made ${runs:-0} runs of $FUZZ_RUNS"
		return 1
	}
}

for target; do
	name=$(basename "$target")
	start=$(date +%s)
	if run "$target" "$name"; then
		echo "passed: $name (${runs:-corpus only} runs)"
		passed=$((passed + 1))
	else
		echo "FAILED: $name"
		failed=$((failed + 1))
	fi
	echo "   $name: $(($(date +%s) - start)) s"
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
