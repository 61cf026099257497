#!/bin/sh
# The form of a profile that servers take: its lines, labels and messages.
lineburn export -f pprof hot.pb.gz -o push.pb.gz
echo "exit $?"
lineburn annotate push.pb.gz
# The lines of both have the same figures.
for file in hot push; do
	lineburn annotate --context 0 --min-percent 0 $file.pb.gz | awk '$1 ~ /^[0-9.<]+$/ && $3 ~ /^[0-9]+$/ { print $1, $2, $3 }' >$file.lines
done
[ -s hot.lines ] && diff hot.lines push.lines && echo "the same lines"
lineburn export -f pprof <hot.pb.gz - | cmp - push.pb.gz && echo "the same from stdin to stdout"
lineburn report --by comm --json push.pb.gz | grep -o '"key": "[^"]*"'
lineburn export -f pprof --labels pid,exe,nonsense hot.pb.gz -o pid.pb.gz
lineburn report --by process --json pid.pb.gz | grep -o '"pid": [0-9]*' | sort -u
lineburn export -f pprof --labels none hot.pb.gz -o none.pb.gz
lineburn report --by comm none.pb.gz
lineburn export -f pprof --comm nobody hot.pb.gz -o nobody.pb.gz
echo "exit $?"
lineburn export -f pprof go.pb.gz -o go.push.pb.gz
lineburn report --min-percent 10 go.push.pb.gz
lineburn export -f pprof missing.pb.gz -o x.pb.gz
echo "exit $?"
lineburn export -f pprof hot.pb.gz -o none/x.pb.gz
