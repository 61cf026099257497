#!/bin/sh
# Without a terminal, and with NO_COLOR, no escape sequence is printed.
lineburn annotate hot.pb.gz >out
echo "status $?, $([ -s out ] && echo text)"
grep -c "$(printf '\033')" out
NO_COLOR=1 lineburn report hot.pb.gz >out
echo "status $?, $([ -s out ] && echo text)"
grep -c "$(printf '\033')" out
true
