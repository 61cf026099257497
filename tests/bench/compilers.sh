#!/bin/sh
# How many stacks of short-lived programs are whole: compilers that are started one after the other.
# COMPILERS_SECONDS: length of each recording (20).
. "${TOP:?}/tests/root/lib.sh"
seconds=${COMPILERS_SECONDS:-20}

cat >small.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[100];

	snprintf(text, sizeof(text), "%d", argc);
	puts(text);
	return (int)strlen(text) + atoi(argv[0]);
}
END

echo "## Short-lived programs: compilers"
echo
echo "| rate | programs a second | samples | complete | guessed | no mapping known | no table yet | unsupported rule | exit | exec |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for rate in 99 999 4999; do
	"$LB" record -F $rate -d "$seconds" --comm gcc --comm cc1 --comm as -o compilers.pb.gz 2>/dev/null &
	recording=$!
	wait_until 60 records $recording
	n=0
	while kill -0 $recording 2>/dev/null; do
		gcc -c -O1 -o small.o small.c
		n=$((n + 1))
	done
	wait $recording
	"$LB" annotate --json compilers.pb.gz >compilers.json
	# gcc, and its two programs
	python3 - $rate "$((3 * n))" "$seconds" <<'END'
import json
import sys
stacks = json.load(open("compilers.json", encoding="ascii"))["stacks"]
rate, programs, seconds = sys.argv[1:]
total = sum(stacks.values())
shares = " | ".join(f"{100 * stacks[name] / total:.1f} %" for name in (
    "complete", "guessed", "no-mapping", "no-table", "unsupported", "fault", "no-user"))
print(f"| {rate} Hz | {int(programs) / int(seconds):.0f} | {total} | {shares} |")
END
done
