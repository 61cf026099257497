#!/bin/sh
# Profiles of other tools with several types of values, or without a number of samples.
# made ARGUMENT...: what a report says of such a profile
made() {
	python3 other_tool.py made.pb.gz "$@"
	lineburn report made.pb.gz
}
export PYTHONDONTWRITEBYTECODE=1
echo "== CPU time beside wall time"
made cpu-samples/count=50,0 cpu-time/nanoseconds=500000000,0 wall-time/nanoseconds=500000000,9000000000
echo "== without a number of samples"
made cpu/nanoseconds=1000000000,3000000 "wall/nanoseconds=1000000000,2000000000"
echo "== the default type"
made default=alloc_space alloc_objects/count=1,2 alloc_space/bytes=100,300 inuse_space/bytes=5,5
echo "== the last type, and a name that a terminal must not see"
made alloc_objects/count=1,2 "$(printf 'red\033[31m')/bytes=1,2" inuse_space/bytes=5,5
echo "== wall time"
made wall/nanoseconds=1000000000,3000000000
lineburn report --json made.pb.gz | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["counted"], d["samples"]["count"], d["samples"]["cpu_ns"], d["warnings"])'
lineburn diff made.pb.gz made.pb.gz
python3 other_tool.py made.pb.gz cpu/nanoseconds=1000000000,3000000
lineburn annotate made.pb.gz
lineburn report --by comm made.pb.gz
lineburn diff made.pb.gz made.pb.gz
lineburn html -o made.html made.pb.gz 2>/dev/null
grep -o '"counts[a-zA-Z]*":[a-z]*' made.html
