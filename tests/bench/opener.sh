#!/bin/sh
# The cost of looking at processes through a helper: a thousand processes a second at 99 Hz, and 600 processes of
# 8 ms, 45 a second, at 999 Hz.
# LB_OTHER: another lineburn, recorded in turns with this one; the version before the helper shows its cost.
# OPENER_ROUNDS: pairs of recordings (5); OPENER_SECONDS: length of each (15).
. "${TOP:?}/tests/root/lib.sh"

seconds=${OPENER_SECONDS:-15}
storm=$(build storm.c) && brief=$(build brief.c -static) || exit 1
# Thousands of turns that take 8 ms.
turns=$(python3 - "$brief" <<'END'
import resource
import subprocess
import sys
subprocess.run([sys.argv[1], "500000"], check=True)
print(round(500000 * 0.008 / resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime))
END
)

# cpu_ns PID: of the recorder and its helpers, also of those that have ended
cpu_ns() {
	for one in $(family "$1"); do
		awk '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13 + $14 + $15) * 1e7 }' "/proc/$one/stat" 2>/dev/null
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# round WHICH BIN: appends to WHICH.cpu the microseconds for each process of the storm, to WHICH.few the percent of a
# CPU beside the 600, and to WHICH.short what is known of them
round() {
	nice -n -15 "$2" record -a -F 99 -o round.pb.gz >round.out 2>&1 &
	recorder=$!
	wait_until 60 records $recorder
	sleep 1
	begin=$(cpu_ns $recorder)
	"$storm" 1000 "$seconds" "$brief" 50 >round.storm
	end=$(cpu_ns $recorder)
	kill -INT $recorder
	wait $recorder
	echo "$begin $end $(cut -d' ' -f1 round.storm)" | awk '{ print ($2 - $1) / $3 / 1000 }' >>"$1.cpu"
	cp "$brief" "short-$1"
	nice -n -15 "$2" record -a -F 999 -o round.pb.gz >round.out 2>&1 &
	recorder=$!
	wait_until 60 records $recorder
	sleep 1
	begin=$(cpu_ns $recorder)
	"$storm" 45 13.3 "./short-$1" "$turns" >round.storm
	end=$(cpu_ns $recorder)
	echo "$begin $end" | awk '{ print ($2 - $1) / 13.3e7 }' >>"$1.few"
	kill -INT $recorder
	wait $recorder
	"$LB" annotate --json --comm "short-$1" round.pb.gz >round.json
	python3 - <<'END' >>"$1.short"
import json
d = json.load(open("round.json", encoding="ascii"))
count = d["samples"]["count"]
named = sum(f["self"] for f in d["functions"] if f["object"].startswith("short-"))
print(count, 100 * d["stacks"]["complete"] / count, 100 * named / count)
END
}

for _ in $(seq "${OPENER_ROUNDS:-5}"); do
	[ -z "${LB_OTHER:-}" ] || round other "$LB_OTHER"
	round ours "$LB"
done
echo "## Looking at processes through a helper"
echo
echo "| | CPU for each of 1,000 processes a second, us: median (lowest to highest) | CPU beside 45 a second, 999 Hz, %: the same | 600 processes of 8 ms: samples, with whole stacks, with their program's name |"
echo "|---|---|---|---|"
for which in other ours; do
	[ -e $which.cpu ] || continue
	python3 - $which <<'END'
import statistics
import sys
which = sys.argv[1]
cpu = [float(line) for line in open(which + ".cpu", encoding="ascii")]
few = [float(line) for line in open(which + ".few", encoding="ascii")]
short = [[float(word) for word in line.split()] for line in open(which + ".short", encoding="ascii")]
count, whole, named = (statistics.median(column) for column in zip(*short))
print(f"| {which} | {statistics.median(cpu):.0f} ({min(cpu):.0f} to {max(cpu):.0f}) | "
      f"{statistics.median(few):.2f} ({min(few):.2f} to {max(few):.2f}) | {count:.0f}, {whole:.1f} %, {named:.1f} % |")
END
done
