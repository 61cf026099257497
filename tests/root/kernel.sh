#!/bin/sh
# Time in the kernel is charged to the line that asked for it.
. "${TOP:?}/tests/root/lib.sh"

record_json kernel -F 999 -- "$(build syscalls.c)" 300 || fail kernel "$(tail -n 1 kernel.err)"
check kernel-charged-to-line profile_has kernel.json "hottest() == is_at('syscalls.c read')" "s['kernel'] > 20" "sums_close()"
check kernel-below-line profile_has kernel.json \
	"any(c['object'] == '[kernel]' and c['function'] for f in d['files'] for line in f['lines'] for c in line['callees'])"
"$LB" report --kernel --json kernel.pb.gz >with.json
check kernel-frames profile_has with.json \
	"note('in the kernel', sum(f['self'] for f in d['functions'] if f['object'].startswith('[kernel'))) == s['kernel']"
record_json flat --no-kernel-stack -F 999 -- "$(build syscalls.c)" 200 || fail no-kernel-stack "$(tail -n 1 flat.err)"
check no-kernel-stack profile_has flat.json "hottest() == is_at('syscalls.c read')" "s['kernel'] > 20"
