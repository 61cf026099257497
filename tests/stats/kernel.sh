#!/bin/sh
# Time in the kernel is charged to the line that asked for it.
. "${TOP:?}/tests/root/lib.sh"

record_json kernel -F 999 -- "$(build syscalls.c)" 500 || fail kernel "$(tail -n 1 kernel.err)"
narrow kernel-charged-to-line profile_has kernel.json "s['count'] >= 300" \
	"s['kernel'] >= 0.8 * s['count']" "self_('syscalls.c read') >= 85" "sums_close()"
"$LB" report --kernel --json kernel.pb.gz >with.json
narrow kernel-frames profile_has with.json \
	"sum(f['self'] for f in d['functions'] if f['object'].startswith('[kernel')) >= 0.8 * s['count']"
record_json flat --no-kernel-stack -F 999 -- "$(build syscalls.c)" 300 || fail no-kernel-stack "$(tail -n 1 flat.err)"
narrow no-kernel-stack profile_has flat.json "self_('syscalls.c read') >= 80" "s['kernel'] >= 0.7 * s['count']"
