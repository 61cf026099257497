#!/bin/sh
# Exports of real recordings, read by the tools that they are for: callgrind_annotate and clang.
. "${TOP:?}/tests/root/lib.sh"

# recorded NAME COMMAND...: writes NAME.pb.gz
recorded() {
	recorded_name=$1
	shift
	"$LB" run -F 499 -o "$recorded_name.pb.gz" -- "$@" >/dev/null 2>"$recorded_name.log" ||
		{ tail -n 1 "$recorded_name.log"; return 1; }
}

# reads_callgrind NAME COMMAND...: lines and functions of the recording in callgrind_annotate
reads_callgrind() {
	recorded "$@" && python3 -S "$TOP/tests/nightly/callgrind.py" "$LB" "$1.pb.gz"
}
inline=$(build inline.c)
figure callgrind-compiled reads_callgrind compiled "$inline" "$(rounds "$inline" 0.5)"
figure callgrind-python reads_callgrind python python3 -c 'import json, decimal, asyncio
def walk(n):
    return 1 + sum(walk(k) for k in range(n)) if n else 1
walk(18)'

cat >work.c <<'END'
#include <stdlib.h>
unsigned long state = 1;
static unsigned long step(unsigned long x)
{
	for (int i = 0; i < 9; i++)
		x = (x ^ x >> 29) * 6364136223846793005UL;
	return x;
}
__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	unsigned long x = state;
	for (unsigned long i = 0; i < n; i++) {
		if (i % 100000 == 77)
			x ^= 0x55;
		else
			x = step(x);
	}
	return x;
}
int main(int argc, char **argv)
{
	state = work(strtoul(argv[1], NULL, 10) * 1000000);
	return argc == 9;
}
END
# compiled_by_profile: clang takes the profile of work, inlines as it was, and finds work hot and the
# rarer side of its branch cold
compiled_by_profile() {
	clang=$(command -v clang-14 || command -v clang-19 || command -v clang) || { echo "no clang"; return 1; }
	"$clang" -O2 -gmlt -fdebug-info-for-profiling -o work work.c &&
		recorded work ./work 600 && "$LB" export work.pb.gz -o work.afdo || return 1
	grep -q '^work:' work.afdo || { echo "work.afdo has no work"; return 1; }
	"$clang" -O2 -gmlt -fdebug-info-for-profiling -fprofile-sample-use=work.afdo -Werror -Rpass=sample-profile \
		-S -o work.s work.c 2>said || { tail -n 1 said; return 1; }
	grep -q "'step' inlined into 'work' to match profiling context" said || { echo "step is not inlined"; return 1; }
	sed '/^work:/q' work.s | grep '\.section.*\.text' | tail -n 1 | grep -q 'text\.hot' || { echo "work is not hot"; return 1; }
	"$clang" -O2 -gmlt -fdebug-info-for-profiling -fprofile-sample-use=work.afdo -S -emit-llvm -o work.ll work.c &&
		awk '/"branch_weights"/ { gsub(/[^0-9 ]/, ""); if ($NF > 20 * $(NF - 2) || $(NF - 2) > 20 * $NF) found = 1 }
			END { if (!found) print "no branch has a rare side"; exit !found }' work.ll
}
check autofdo-clang compiled_by_profile
