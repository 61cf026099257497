#!/bin/sh
# BPF time a sample by depth of the user stack: the same loop below 2 and 100 frames.
. "${TOP:?}/tests/root/lib.sh"

cat >deep.c <<'END'
#include <stdlib.h>

__attribute__((noinline)) static unsigned long down(unsigned long n, unsigned int depth)
{
	unsigned long x = depth;

	if (depth) {
		x = down(n, depth - 1);
		__asm__ volatile("" : "+r"(x)); /* no tail call */
		return x + 1;
	}
	for (unsigned long i = 0; i < n; i++)
		x = x * 6364136223846793005UL + i;
	return x;
}

int main(int argc, char **argv)
{
	return argc < 3 ||
	       down(strtoul(argv[1], NULL, 10) * 1000000000, (unsigned int)atoi(argv[2])) == 42;
}
END
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -o deep deep.c
echo "## Cost of a sample by depth of the stack"
echo
echo "| frames | rate | samples | BPF a sample |"
echo "|---|---|---|---|"
for depth in 1 25 100; do
	for rate in 99 999; do
		record_json deep -F $rate -- ./deep 4 $depth
		python3 - $depth $rate <<'END'
import json
import sys
d = json.load(open("deep.json", encoding="ascii"))
print(f"| {sys.argv[1]} | {sys.argv[2]} Hz | {d['samples']['count']} | {d['cost']['bpf_ns_per_sample']} ns |")
END
	done
done
