#!/bin/sh
# BPF time per sample by depth of the user stack: the same loop below 1, 25 and 100 frames,
# without and with frame pointers. For comparison, in the same process and seconds: the
# kernel's own walk by frame pointers, and a BPF program that does nothing.
. "${TOP:?}/tests/root/lib.sh"
RATE=999

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
cat >deep.py <<'END'
import sys, time
def work(end):
    while time.time() < end:
        total = 0
        for i in range(1000):
            total += i * i % 7
END
# Each frame has its own code object, so nothing is cached from the frame before.
python3 - >>deep.py <<'END'
names = ["work"] + [f"at{i}" for i in range(30)]
for below, name in zip(names, names[1:]):
    print(f"def {name}(end): return [{below}(end)]")
END
echo '(work if sys.argv[1] == "1" else globals()[f"at{int(sys.argv[1]) - 2}"])(time.time() + 600)' >>deep.py

# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -fomit-frame-pointer -o deep deep.c
# shellcheck disable=SC2086
gcc $C_FLAGS -fno-omit-frame-pointer -o deep-fp deep.c
clang=$(command -v clang-14 || command -v clang)
"$clang" -g -O2 -target bpf -I/usr/include/"$(gcc -print-multiarch)" -c -o depth.bpf.o "$TOP/tests/bench/depth.bpf.c" || exit 1
make -s -C "$TOP" build/tests/bench/depth || exit 1

echo "## Cost of a sample by depth of the stack"
echo
echo "| program | frames | ns a sample | frames by frame pointers | ns | ns of nothing |"
echo "|---|---|---|---|---|---|"
before=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null || echo 0)
trap 'echo "$before" >/proc/sys/kernel/bpf_stats_enabled' EXIT

# row NAME COMMAND...
row() {
	name=$1
	shift
	"$@" &
	pid=$!
	sleep 0.5
	"$LB" record -F $RATE -d 5 -p $pid -o deep.pb.gz >/dev/null 2>&1 &
	recording=$!
	sleep 1
	"$TOP/build/tests/bench/depth" depth.bpf.o $pid $RATE 3.5 >other
	wait $recording
	kill $pid
	wait $pid 2>/dev/null
	"$LB" annotate --json deep.pb.gz >deep.json
	python3 - "$name" "$(cat other)" <<'END'
import json, os, sys
sys.path.insert(0, f"{os.environ['TOP']}/tests/root")
import pprof_file
d = json.load(open("deep.json", encoding="ascii"))
count = d["samples"]["count"]
frames = sum(len(stack) * n for stack, n, _ in pprof_file.stacks("deep.pb.gz")) / count
ns, nothing, by_fp = sys.argv[2].split()
print(f"| {sys.argv[1]} | {frames:.1f} | {d['cost']['bpf_ns_per_sample']} | {by_fp} | {ns} | {nothing} |")
END
}

for _ in 1 2 3; do
	for depth in 1 25 100; do
		row "C, no frame pointers" ./deep 600 $depth
		row "C, frame pointers" ./deep-fp 600 $depth
	done
	for depth in 1 13 24; do
		row "CPython $(python3 -c 'import platform; print(platform.python_version())'), $depth functions" python3 deep.py $depth
	done
done
