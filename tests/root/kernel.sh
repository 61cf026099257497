#!/bin/sh
# Time in the kernel is charged to the line that made the system call.
. "${TOP:?}/tests/root/lib.sh"

record_json kernel -F 999 -- "$(build syscalls.c)" "$(longer 300 500)" || fail kernel "$(tail -n 1 kernel.err)"
check kernel-charged-to-line profile_has kernel.json "hottest() == is_at('syscalls.c read')" "s['kernel'] > 20" "sums_close()"
narrow kernel-charged-to-line-share profile_has kernel.json "s['count'] >= 300" \
	"s['kernel'] >= 0.8 * s['count']" "self_('syscalls.c read') >= 85"
check kernel-below-line profile_has kernel.json \
	"any(c['object'] == '[kernel]' and c['function'] for f in d['files'] for line in f['lines'] for c in line['callees'])"
"$LB" report --kernel --json kernel.pb.gz >with.json
# BPF programs of others, such as those of other tests, are the kernel's code, too.
check kernel-frames profile_has with.json \
	"note('in the kernel', sum(f['self'] for f in d['functions'] if f['object'].startswith('[kernel') or f['object'] == '[bpf]')) == s['kernel']"
narrow kernel-frames-share profile_has with.json \
	"sum(f['self'] for f in d['functions'] if f['object'].startswith('[kernel')) >= 0.8 * s['count']"
record_json flat --no-kernel-stack -F 999 -- "$(build syscalls.c)" "$(longer 200 300)" || fail no-kernel-stack "$(tail -n 1 flat.err)"
check no-kernel-stack profile_has flat.json "hottest() == is_at('syscalls.c read')" "s['kernel'] > 20"
narrow no-kernel-stack-share profile_has flat.json "self_('syscalls.c read') >= 80" "s['kernel'] >= 0.7 * s['count']"

# BPF programs that come to one address in turns, and a socket filter, which has no symbol.
if kernel_code=$(build kernel-code.c); then
	record_json kernel-code -F 999 -- "$kernel_code" "$(longer 300 2000)" || fail kernel-code "$(tail -n 1 kernel-code.err)"
	check kernel-code-names python3 -S "$TOP/tests/root/kernel_code.py" kernel-code.pb.gz kernel-code.txt
	check kernel-code-in-kernel profile_has kernel-code.json "s['kernel'] >= 0.5 * s['count']" "sums_close()"
else
	fail kernel-code "cannot build its program"
fi
