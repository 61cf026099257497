#!/bin/sh
# Checks that the tests find mistakes. Each mutant is lineburn with one mistake
# (tests/mutants/table.py), built in a copy of the tree, where the named suite must fail.
# usage: tests/mutants/run.sh [NAME...]   (default: all; those of root suites need root)
# SUITES="unit replay cli fuzz python tools": only the mutants of these suites.
# Each suite must first pass without a mistake. At the end a table lists which test caught each
# mutant, then "mutants: N passed, N failed, N skipped". A mutant fails if it does not build, or
# if its text is not in the file exactly once.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
table=$top/tests/mutants/table.py
work=$(mktemp -d /tmp/lineburn-mutants.XXXXXX)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
tree=$work/tree
unset LB_GOLDEN_UPDATE CLI_UPDATE

# Copy what is built, with its times, so that a mutant recompiles one file only.
mkdir -p "$tree/build"
(cd "$top" && git ls-files -z | xargs -0 cp -pP --parents -t "$tree")
for built in "$top"/build/* "$top"/build-address-undefined; do
	case $built in
	*/venv | */kernels | */readers) ln -s "$built" "$tree/build/" ;;
	*/build-address-undefined) [ ! -d "$built" ] || cp -a "$built" "$tree/" ;;
	*) [ ! -e "$built" ] || cp -a "$built" "$tree/build/" ;;
	esac
done
[ ! -e "$top/lineburn" ] || cp -p "$top/lineburn" "$tree/"
cd "$tree" || exit 1

# suite KIND NAME...: builds and runs a suite. Status 77: it does not build; 78: it needs root.
suite() {
	kind=$1
	shift
	case $kind in
	unit)
		# shellcheck disable=SC2046 # a list
		set -- $(printf 'tests/unit/%s.c ' "$@")
		programs=$(printf 'build-address-undefined/%s ' "$@" | sed 's/\.c / /g')
		# shellcheck disable=SC2086 # a list
		make -s -j"$(nproc)" SAN=address,undefined $programs || return 77
		# shellcheck disable=SC2086
		timeout 600 tests/run-unit.sh $programs
		;;
	fuzz)
		# shellcheck disable=SC2046 # a list
		make -s -j"$(nproc)" SAN=address,undefined \
			$(printf 'build-address-undefined/tests/fuzz/%s ' "$@") || return 77
		# shellcheck disable=SC2046
		FUZZ_RUNS=5000 timeout 600 tests/fuzz/run.sh \
			$(printf 'build-address-undefined/tests/fuzz/%s ' "$@")
		;;
	replay)
		# shellcheck disable=SC2046 # a list
		set -- $(printf 'build-address-undefined/tests/replay/%s ' "$@")
		make -s -j"$(nproc)" SAN=address,undefined "$@" || return 77
		SUITE=replay timeout 600 tests/run-unit.sh "$@"
		;;
	cli)
		make -s -j"$(nproc)" || return 77
		timeout 600 tests/cli/run.sh ./lineburn "$@"
		;;
	python)
		make -s -j"$(nproc)" || return 77
		# shellcheck disable=SC2046 # a list
		timeout 600 tests/python/run.sh ./lineburn $(printf 'tests/python/test_%s.py ' "$@")
		;;
	tools)
		PYTHONDONTWRITEBYTECODE=1 python3 -S "tests/tools/$1.py"
		;;
	root | stats)
		[ "$(id -u)" -eq 0 ] || return 78
		make -s -j"$(nproc)" all build/tests/root/pprof-rules || return 77
		timeout 1800 "tests/$kind/run.sh" ./lineburn "$@"
		;;
	*)
		echo "no suite $kind"
		return 77
		;;
	esac
}

# failure LOG: the first test that failed
failure() {
	sed -n 's/^not ok \([^:]*\).*/\1/p; s/^\[  FAILED  \] \([a-z]\)/\1/p; s/^FAILED: //p' "$1" | head -n 1 | cut -c1-60
}

# shellcheck disable=SC2046,SC2086 # lists
[ $# -gt 0 ] || set -- $("$table" names ${SUITES:-})
passed=0
failed=0
skipped=0
: >"$work/baselines"
: >"$work/results"
for name; do
	log=$work/$name.log
	suite=$("$table" suite "$name") || exit 2
	result=
	# Run each suite once without a mistake.
	if ! grep -qxF "$suite" "$work/baselines"; then
		status=0
		# shellcheck disable=SC2086 # its words
		(suite $suite) >"$log" 2>&1 </dev/null || status=$?
		case $status in
		0) echo "$suite" >>"$work/baselines" ;;
		78) result="skip needs root" ;;
		*)
			result="not ok the suite fails without a mistake: $(failure "$log")"
			;;
		esac
	fi
	if [ -z "$result" ]; then
		if ! "$table" apply "$name" >"$log" 2>&1; then
			result="not ok $(tail -n 1 "$log")"
		else
			status=0
			# shellcheck disable=SC2086
			(suite $suite) >"$log" 2>&1 </dev/null || status=$?
			case $status in
			0) result="not ok nothing caught it" ;;
			77) result="not ok it does not build" ;;
			124 | 137) result="not ok it never ended" ;;
			*)
				result="ok $(failure "$log")"
				[ "$result" != "ok " ] || result="not ok it failed by no test"
				;;
			esac
		fi
		"$table" revert "$name" || exit 1
	fi
	case $result in
	ok*) passed=$((passed + 1)) ;;
	skip*) skipped=$((skipped + 1)) ;;
	*)
		failed=$((failed + 1))
		[ ! -s "$log" ] || tail -n 5 "$log" | cut -c1-200
		;;
	esac
	printf '%-34s %-42s %s\n' "$name" "$suite" "$result" | tee -a "$work/results"
done
echo "== mutant, suite, what caught it"
cat "$work/results"
echo "mutants: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
