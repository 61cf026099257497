#!/bin/sh
# Compares the CPU time in the profile with the kernel's own clocks, at 999 Hz.
. "${TOP:?}/tests/root/lib.sh"

echo "## Accounting"
echo
for name in hot threads syscalls periodic shortlived; do
	build $name.c >/dev/null || exit 1
done
PYTHONDONTWRITEBYTECODE=1 python3 "$TOP/tests/root/accounting.py" "$LB" "$WORK/bin" 5.5 600
