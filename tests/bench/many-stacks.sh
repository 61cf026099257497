#!/bin/sh
# CPU time and memory of the commands that read a profile of 100,000 different stacks, with times, labels and inlined calls:
# the least of 5 runs. diff has another profile of the same program's functions. Then a million stacks, read once.
set -eu
: "${LB:?}" "${TOP:?}"
make -s -C "$TOP" build/tests/bench/many-stacks >&2
"$TOP/build/tests/bench/many-stacks" 100000 many.pb.gz
"$TOP/build/tests/bench/many-stacks" 100000 other.pb.gz 2

# row COMMAND...: writes many.out
row() {
	python3 -S - "$LB" "$@" <<'END'
import os
import subprocess
import sys

runs = []
for _ in range(int(os.environ.get("RUNS", 5))):
    with open("many.out", "w") as out:
        child = subprocess.Popen(sys.argv[1:], stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{sys.argv[2:]}: status {status}")
    runs.append((used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))
words = " ".join(word for word in sys.argv[2:] if word not in ("-o", "-"))
print(f"| `{words}` | {min(runs)[0]:.2f} s | {max(runs, key=lambda r: r[1])[1]:.0f} MB | {os.path.getsize('many.out') / 1e6:.1f} MB |")
END
}

echo "## 100,000 different stacks"
echo
echo "| command | CPU time | memory | output |"
echo "|---|---|---|---|"
row annotate many.pb.gz
row annotate --json many.pb.gz
row html -o - many.pb.gz
row diff many.pb.gz other.pb.gz
row diff --format=html many.pb.gz other.pb.gz
for format in folded speedscope cpuprofile firefox; do
	row export -f $format -o - many.pb.gz
done
echo
echo "## A million different stacks"
echo
echo "| command | CPU time | memory | output |"
echo "|---|---|---|---|"
"$TOP/build/tests/bench/many-stacks" 1000000 many.pb.gz
export RUNS=1
row annotate many.pb.gz
row report many.pb.gz
row export -f folded -o - many.pb.gz
