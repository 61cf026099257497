#!/bin/sh
# Runs command lines and compares their exact output; needs no root.
# usage: tests/cli/run.sh BIN [NAME...]   (default: all)
# NAME.sh is run by sh in a copy of data/, with lineburn in PATH. NAME.expected holds its output
# (both streams), then a line "exit N". CLI_UPDATE=1 writes the present output to NAME.expected.
# Last line: "cli: N passed, N failed".
here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath "${1:?usage: run.sh BIN [NAME...]}")
shift
work=$(mktemp -d)
chmod 755 "$work" # as root, lineburn opens what every user may read
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/path"
ln -s "$bin" "$work/path/lineburn"
export PATH="$work/path:$PATH" LC_ALL=C
unset DEBUGINFOD_URLS NO_COLOR

passed=0
failed=0
# shellcheck disable=SC2046 # names
[ $# -gt 0 ] || set -- $(basename -s .sh "$here"/*.sh | grep -vx run)
for name; do
	script=$here/$name.sh
	rm -rf "$work/cwd"
	cp -r "$here/data" "$work/cwd"
	start=$(date +%s)
	status=0
	(cd "$work/cwd" && timeout 120 sh "$script" 2>&1 </dev/null) >"$work/out" || status=$?
	echo "exit $status" >>"$work/out"
	# A crash is never what a test expects.
	if grep -qE '^(Segmentation fault|Aborted|Bus error|exit 13[2-9])' "$work/out"; then
		failed=$((failed + 1))
		echo "not ok $name: it crashed:"
		cat "$work/out"
		continue
	fi
	if [ -n "${CLI_UPDATE:-}" ]; then
		cp "$work/out" "$here/$name.expected"
	fi
	if diff -u "$here/$name.expected" "$work/out" >"$work/diff" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok $name:"
		cat "$work/diff"
	fi
	seconds=$(($(date +%s) - start))
	[ $seconds -lt 2 ] || echo "   $name: $seconds s"
done
echo "cli: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
