#!/bin/sh
# CPU time and memory of exporting a profile of 100,000 different stacks.
set -eu
: "${LB:?}" "${TOP:?}"
make -s -C "$TOP" build/tests/bench/many-stacks >&2
"$TOP/build/tests/bench/many-stacks" 100000 many.pb.gz

echo "## 100,000 different stacks"
echo
echo "| command | CPU time | memory | output |"
echo "|---|---|---|---|"
for format in folded speedscope cpuprofile firefox; do
	python3 -S - "$LB" export -f $format -o many.out many.pb.gz <<'END'
import os
import resource
import subprocess
import sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"| `{' '.join(sys.argv[2:5])}` | {used.ru_utime + used.ru_stime:.1f} s | {used.ru_maxrss / 1024:.0f} MB "
      f"| {os.path.getsize('many.out') / 1e6:.1f} MB |")
END
done
