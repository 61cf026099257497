#!/bin/sh
# Runs unit test programs, one per CPU at a time; cmocka prints each test. The line before a skip
# is its reason. No test is run again. Prints how long a program took, if that is two seconds or more.
# Last line: "SUITE: N passed, N failed, N skipped" (SUITE: unit by default).
passed=0
failed=0
skipped=0

# count LOG WORD: the number in cmocka's line " N WORD TEST(S)", or 0
count() {
	n=$(sed -n "s/^ *\([0-9]*\) $2 TEST(S).*/\1/p" "$1" | tail -n 1)
	echo "${n:-0}"
}

# ran LOG: cmocka reached its end, and there were tests
ran() {
	grep -qE '^\[=+\] .*\<[1-9][0-9]* test\(s\) run' "$1"
}

for t in "$@"; do
	rm -f "$t.ended" "$t.log"
done
# shellcheck disable=SC2016 # another shell expands it
printf '%s\n' "$@" | xargs -P "$(nproc)" -I PROGRAM sh -c '
	start=$(date +%s)
	status=0
	timeout -k 10 900 "$1" >"$1.log" 2>&1 || status=$?
	echo "$status $(($(date +%s) - start))" >"$1.ended"
' sh PROGRAM

for t in "$@"; do
	log=$t.log
	# The test killed the shell that started it.
	[ -e "$t.ended" ] || echo "none 0" >"$t.ended"
	read -r status seconds <"$t.ended"
	[ -e "$log" ] || : >"$log"
	if [ "$status" = 0 ] && ! ran "$log"; then
		status="0 before all tests had run"
	fi
	passed=$((passed + $(grep -c '^\[       OK \]' "$log")))
	n=$(count "$log" SKIPPED)
	if [ "$n" -gt 0 ]; then
		skipped=$((skipped + n))
		# cmocka lists skips once more at the end; ignore that list.
		awk -v program="$(basename "$t")" '/^\[ RUN / { said = "" } !/^\[/ { said = $0 }
			/^\[  SKIPPED \]/ { print "skip " program "-" $NF ": " said }' "$log" | head -n "$n"
	fi
	if [ "$status" != 0 ]; then
		cat "$log"
		n=$(count "$log" FAILED)
		[ "$n" -gt 0 ] || n=1
		failed=$((failed + n))
		echo "FAILED: $t: ended with status $status"
	fi
	[ "$seconds" -lt 2 ] || echo "   $(basename "$t"): $seconds s"
done
echo "${SUITE:-unit}: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
