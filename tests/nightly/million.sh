#!/bin/sh
# A profile of a million different stacks is listed and exported as one of a hundred is.
# Takes 110 s.
. "${TOP:?}/tests/root/lib.sh"

# listed COMMAND: it knows all samples, within 500 MB
listed() {
	python3 -S - "$LB" "$1" --json million.pb.gz <<'END' >"$1.count" || return 1
import json, resource, subprocess, sys
shown = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE).stdout
megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if megabytes > 500:
    sys.exit(f"it takes {megabytes:.0f} MB")
print(json.loads(shown)["samples"]["count"])
END
	[ "$(cat "$1.count")" -gt 1000000 ] && echo "$(cat "$1.count") samples"
}
# folded: its stacks have all samples
folded() {
	"$LB" export -f folded million.pb.gz | awk '{ sum += $NF } END { printf "%d %d\n", NR, sum }' >folded.count
	read -r stacks samples <folded.count
	echo "$stacks stacks, $samples samples"
	[ "$stacks" -gt 900000 ] && [ "$samples" = "$(cat report.count)" ]
}
make -s -C "$TOP" build/tests/bench/many-stacks >&2
"$TOP/build/tests/bench/many-stacks" 1000000 million.pb.gz
figure million-annotate listed annotate
figure million-report listed report
figure million-folded folded
