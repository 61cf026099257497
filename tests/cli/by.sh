#!/bin/sh
# Groups (--by) and filters; also for profiles without these labels.
lineburn report --by process hot.pb.gz
lineburn annotate --comm 'h*' --pid '!1' --context 0 hot.pb.gz
lineburn report --by thread hot.pb.gz && echo threads
for kind in container unit pod process thread comm user cgroup; do
	lineburn report --by $kind go.pb.gz && echo "groups by $kind"
done
lineburn report --by phase hot.pb.gz
lineburn report --by exe hot.pb.gz
lineburn report --by nosuch hot.pb.gz
echo "status $?"
lineburn report --by bytes go.pb.gz
lineburn report --by '' hot.pb.gz
echo "status $?"
lineburn report --comm hto hot.pb.gz
echo "status $?"
lineburn annotate --json --comm hot --comm '!h*' hot.pb.gz
