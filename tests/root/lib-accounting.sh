# shellcheck shell=sh
# Beside lib.sh, whose caller it is.

for name in hot threads syscalls periodic shortlived; do
	build $name.c >/dev/null || fail accounting "cannot build $name.c"
done
# accounting SECONDS NR_SHORT: see accounting.py
accounting() {
	PYTHONDONTWRITEBYTECODE=1 timeout 300 python3 "$TOP/tests/root/accounting.py" "$LB" "$WORK/bin" "$1" "$2" \
		>accounting.txt 2>&1 && return 0
	grep -e OUTSIDE -e Error accounting.txt | tr '\n' ';'
	return 1
}
