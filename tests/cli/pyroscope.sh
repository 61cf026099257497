#!/bin/sh
# A profile that Pyroscope has merged: lines, inlined calls and callers, without addresses.
python3 pyroscope.py merged.pb
lineburn annotate merged.pb
lineburn report --callers=square merged.pb | head -n 12
lineburn export -f folded merged.pb
lineburn export -f folded-perfanno merged.pb
lineburn export -f pprof merged.pb -o push.pb.gz && lineburn report --json push.pb.gz | grep -o '"cpu_ns": [0-9]*' | head -n 1
lineburn diff merged.pb merged.pb
echo "exit $?"
