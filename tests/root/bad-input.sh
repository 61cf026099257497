#!/bin/sh
# Files that are not profiles, and options out of range: one sentence and the right status.
. "${TOP:?}/tests/root/lib.sh"

# refuses STATUS ARGUMENT...
refuses() {
	expected=$1
	shift
	status=0
	timeout 300 "$LB" "$@" >out 2>err || status=$?
	[ "$status" -eq "$expected" ] || { echo "status $status, not $expected: $(tail -n 1 err)"; return 1; }
	[ ! -s out ] || { echo "stdout: $(head -n 1 out)"; return 1; }
	one_sentence err
}
check frequency-0 refuses 2 run -F 0 -- true
check frequency-10001 refuses 2 record -a -F 10001
check unknown-option refuses 2 record --no-such-option

"$LB" run -F 999 -- "$(build hot.c)" 4 >/dev/null 2>err
size=$(stat -c %s lineburn.pb.gz)
: >empty
head -c $((size / 2)) lineburn.pb.gz >half.made.gz
head -c 20 lineburn.pb.gz >head.made.gz
echo "this is text" >text
head -c 100000 /dev/urandom >noise
head -c 4096 /dev/zero | gzip >zeros.made.gz
# 48 gzip members of 64 MB each: 3 GB.
head -c 64m /dev/zero | gzip -1 >member
for _ in $(seq 48); do
	cat member
done >bomb.made.gz
mkdir folder
for bad in empty half.made.gz head.made.gz text noise zeros.made.gz bomb.made.gz folder missing; do
	check "file-$bad" refuses 1 annotate "$bad"
done
bounded() {
	python3 - "$LB" <<'END'
import resource
import subprocess
import sys
p = subprocess.run([sys.argv[1], "annotate", "bomb.made.gz"], stderr=subprocess.DEVNULL, check=False)
if p.returncode != 1:
    sys.exit(f"status {p.returncode}")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
if peak > 1200:
    sys.exit(f"{peak} MB for a gzip bomb")
END
}
check gzip-bomb-bounded bounded
rm -f bomb.made.gz
