#!/bin/sh
# The static binary beside the dynamic one: its size, the start of "run -- true", and the memory of a
# recording's processes. In turns; medians, and of times the ratio pair by pair.
# STATIC_ROUNDS: pairs of starts (15).
. "${TOP:?}/tests/root/lib.sh"
static=$TOP/build/static/$(uname -m | sed s/aarch64/arm64/)/lineburn
make -C "$TOP" -s static >&2 || exit 1
burn=$(build forks.c) || exit 1

# start BIN: milliseconds of "run -- true"
start() {
	python3 -S - "$1" <<'END'
import subprocess
import sys
import time
begin = time.monotonic()
subprocess.run([sys.argv[1], "run", "-o", "start.pb.gz", "--", "true"], check=True, capture_output=True)
print(f"{1000 * (time.monotonic() - begin):.0f}")
END
}

# memory BIN: for each process of a recording of the whole machine its name, resident and proportional MB
memory() {
	"$1" record -a -F 99 -o memory.pb.gz >memory.out 2>&1 &
	recorder=$!
	wait_until 60 records $recorder || exit 1
	"$burn" 5 >/dev/null
	for pid in $(family $recorder); do
		echo "$(cat "/proc/$pid/comm") $(awk '/^Rss/ { rss = $2 } /^Pss:/ { pss = $2 }
			END { printf "%.1f %.1f", rss / 1024, pss / 1024 }' "/proc/$pid/smaps_rollup")"
	done
	kill -INT $recorder
	wait $recorder
}

for _ in $(seq "${STATIC_ROUNDS:-15}"); do
	echo "$(start "$static") $(start "$LB")" >>starts
done
for which in "$static" "$LB"; do
	memory "$which" >"memory-$([ "$which" = "$static" ] && echo static || echo dynamic)"
done
python3 -S - "$static" "$LB" <<'END'
import os
import statistics
import sys

pairs = [tuple(map(float, line.split())) for line in open("starts", encoding="ascii")]
print("## The static binary\n\n| figure | static | dynamic |\n|---|---|---|")
print("| size | {:.1f} MB (stripped) | {:.1f} MB (with debug info, without its libraries) |".format(
    *(os.path.getsize(path) / 1e6 for path in sys.argv[1:])))
print("| `run -- true`, median of {} | {:.0f} ms | {:.0f} ms |".format(
    len(pairs), *(statistics.median(column) for column in zip(*pairs))))
ratios = sorted(a / b for a, b in pairs)
memory = []
for which in ("static", "dynamic"):
    rows = [line.rsplit(" ", 2) for line in open("memory-" + which, encoding="ascii")]
    sums = [sum(float(row[column]) for row in rows) for column in (1, 2)]
    memory.append("{:.1f} MB resident, {:.1f} MB proportional, of {} processes".format(*sums, len(rows)))
    print(which, *("{} {}/{}".format(row[0], row[1], row[2].strip()) for row in rows), sep=", ", file=sys.stderr)
print(f"| a recording of the whole machine, all its processes | {memory[0]} | {memory[1]} |")
print(f"\nStart, static / dynamic, pair by pair: median {statistics.median(ratios):.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}.")
END
