#!/bin/sh
# Profiles of other tools without lines, without samples, or with values below 0: no remedy is that of a recording.
export PYTHONDONTWRITEBYTECODE=1
echo "== without lines"
python3 other_tool.py made.pb.gz lines=0,0 wall/nanoseconds=1000000000,3000000000
lineburn annotate made.pb.gz
echo "== below 0"
python3 other_tool.py made.pb.gz samples/count=-5,-6 cpu/nanoseconds=-50000000,-60000000
lineburn annotate made.pb.gz
echo "== without samples"
python3 other_tool.py made.pb.gz samples/count= cpu/nanoseconds=
lineburn report made.pb.gz
