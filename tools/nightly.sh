#!/bin/sh
# Tests that take too long, or need too many packages, for tools/check.sh: statistics, a soak, kernels,
# clang-tidy of the whole tree, long fuzzing, older Numba, other runtimes and CPythons, real sampling
# under sanitizers. Root, a quiet machine, some hours.
# usage: tools/nightly.sh [SUITE...]   (stats soak kernels tidy fuzz python thorough runtimes sanitized nightly mutants; default: all)
# SOAK_WINDOWS (default 1800): seconds of the soak. FUZZ_SECONDS (default 300): of each fuzz target.
# Prints at the end each suite's seconds and results, then "N passed, N failed, N skipped".
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh
unset LB_GOLDEN_UPDATE CLI_UPDATE
. tools/suites.sh

[ $# -gt 0 ] || set -- stats soak kernels tidy fuzz python thorough runtimes sanitized nightly mutants
for name; do
	case $name in
	stats | soak | kernels | tidy | fuzz | python | thorough | runtimes | sanitized | nightly | mutants) ;;
	*)
		echo "usage: tools/nightly.sh [stats|soak|kernels|tidy|fuzz|python|thorough|runtimes|sanitized|nightly|mutants]..." >&2
		exit 2
		;;
	esac
done

# The soak counts as one test.
soak() {
	if make soak WINDOWS="${SOAK_WINDOWS:-1800}"; then
		echo "soak: 1 passed, 0 failed"
	else
		echo "not ok soak: it failed, or memory or descriptors grew"
		echo "soak: 0 passed, 1 failed"
	fi
}

tidy() {
	make compile_commands.json && tools/lint.sh format-all tidy-all shell-all
}

# The hook with the older Numba; the installer's races are tested for longer.
python() {
	LB_NUMBA_OLD=$PWD/build/venv/numba-old SWAP_SECONDS=5 make check-python
}

# Tests that check a part of all cases in tools/check.sh, with all cases.
thorough() {
	LB_THOROUGH=1 make unit UNIT_SRCS="tests/unit/decode/python/lines.c \
		tests/unit/decode/cfi/rows.c tests/unit/decode/dwarf/reference.c"
}

# Scripts that test the installed runtimes, of which "tools/setup.sh nightly" installs more.
runtimes() {
	LB_ALL_PYTHONS=1 tests/root/run.sh ./lineburn unwind-languages unwind-python other-jits numba numba-processes
}

# Real sampling by a lineburn that is built with sanitizers. Not "windows": it asserts memory use. Leaks cannot be
# searched: that takes ptrace(2), which a collector gives up.
sanitized() {
	make SAN=address,undefined build-address-undefined/lineburn build-address-undefined/tests/root/pprof-rules &&
		ASAN_OPTIONS=detect_leaks=0 tests/root/run.sh build-address-undefined/lineburn record run-command exact hostile \
			bad-input bad-input-names bad-input-choice choice output jit gdbjit numba lives containers unwind unwind-python
}
sanitized_lies() {
	make SAN=address,undefined build-address-undefined/tests/root/liar &&
		ASAN_OPTIONS=detect_leaks=0 SUITE=nightly tests/root/run.sh build-address-undefined/lineburn attacks-lies
}

# Scripts of tests/nightly.
nightly() {
	SUITE=nightly tests/root/run.sh ./lineburn
}

tools/setup.sh nightly
MAKEFLAGS="-s -j$(nproc)"
export MAKEFLAGS
make DEVELOPER=1 all build/tests/root/pprof-rules build/tests/root/liar
echo "$(($(date +%s) - started)) setup-and-build" >>"$logs/times"

for name; do
	case $name in
	stats) suite stats make stats ;;
	kernels) suite kernels make check-kernels ;;
	mutants) suite mutants make mutants ;;
	fuzz)
		suite fuzz make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-300}"
		suite fuzz-libraries make fuzz-libraries FUZZ_SECONDS="${FUZZ_SECONDS:-300}"
		;;
	sanitized)
		suite sanitized sanitized
		suite sanitized-lies sanitized_lies
		;;
	nightly)
		if [ -n "$(ls tests/nightly/*.sh 2>/dev/null)" ]; then
			suite nightly nightly
		fi
		;;
	*) suite "$name" "$name" ;;
	esac
done
give_back
suites_judge_skips nightly

echo "== suite, seconds, passed, failed, skipped"
awk 'FILENAME ~ /times$/ { seconds[$2] = $1; next }
	{ printf "%-14s %6d s  %5d passed, %d failed, %d skipped\n", $4, seconds[$4], $1, $2, $3 }' \
	"$logs/times" "$logs/counts"
suites_end
