#!/bin/sh
# Runs unit test programs; cmocka prints each test. A skip is counted, and its test prints the
# reason before it. Some load BPF programs and sample, on a machine that is shared with
# strangers: a program that fails runs once more, after all others, and what fails then, or is
# skipped, has failed. What failed first is told: "again PROGRAM: reason". A crash, or what a sanitizer
# found, is nobody else's doing.
# Last line: "unit: N passed, N failed, N skipped, N programs again".
passed=0
failed=0
skipped=0

# count LOG WORD: the number in cmocka's line " N WORD TEST(S)", 0 without one.
count() {
	n=$(sed -n "s/^ *\([0-9]*\) $2 TEST(S).*/\1/p" "$1" | tail -n 1)
	echo "${n:-0}"
}

# told PROGRAM STATUS: what came of it
told() {
	log=$1.log
	passed=$((passed + $(grep -c '^\[       OK \]' "$log")))
	n=$(count "$log" SKIPPED)
	if [ "$n" -gt 0 ]; then
		skipped=$((skipped + n))
		grep -A1 -v '^\[' "$log" | grep -B1 '^\[  SKIPPED \]' | sed "s|^|skip $(basename "$1"): |" | head -n $((2 * n))
	fi
	if [ "$2" -ne 0 ]; then
		cat "$log"
		n=$(count "$log" FAILED)
		[ "$n" -gt 0 ] || n=1
		failed=$((failed + n))
		echo "FAILED: $1"
	fi
}

# More than so many programs that fail are no chance.
MAX_AGAIN=3
nr_again=0
again=
for t in "$@"; do
	status=0
	"$t" >"$t.log" 2>&1 || status=$?
	if [ "$status" -eq 0 ] || [ "$status" -ge 128 ] || [ $nr_again -eq $MAX_AGAIN ] ||
		grep -qE '^SUMMARY: |runtime error: |failed with exception' "$t.log"; then
		told "$t" "$status"
		continue
	fi
	nr_again=$((nr_again + 1))
	again="$again $t"
	grep -E '^\[  FAILED  \] [a-z]|: error: ' "$t.log" | sed "s|^|again $(basename "$t"): |"
	echo "again $t: ended with status $status"
done
for t in $again; do
	before=$(count "$t.log" SKIPPED)
	status=0
	"$t" >"$t.log" 2>&1 || status=$?
	[ "$(count "$t.log" SKIPPED)" -le "$before" ] || status=1
	told "$t" "$status"
done
echo "unit: $passed passed, $failed failed, $skipped skipped, $nr_again programs again"
[ "$failed" -eq 0 ]
