#!/bin/sh
# Runs unit test programs; cmocka prints each test. Last line: N passed, N failed.
passed=0
failed=0
for t in "$@"; do
	if "$t" >"$t.log" 2>&1; then
		passed=$((passed + $(grep -c '^\[       OK \]' "$t.log")))
	else
		cat "$t.log"
		n=$(grep -c '^\[  FAILED  \] .*[^:]$' "$t.log")
		passed=$((passed + $(grep -c '^\[       OK \]' "$t.log")))
		[ "$n" -gt 0 ] || n=1
		failed=$((failed + n))
		echo "FAILED: $t"
	fi
done
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
