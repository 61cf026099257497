#!/bin/sh
# "-e page-faults", end to end: N touched pages are exactly N samples on the line that touches
# them, for every kind of target and however the recording is divided into files.
# Takes 30 s.
. "${TOP:?}/tests/root/lib.sh"

pages=$(build pages.c -O1) || exit 1
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -O1 -rdynamic -o python3.13 "$WORKLOADS/pages.c" "$WORKLOADS/not-python.c" -pthread &&
	gcc $C_FLAGS -O1 -rdynamic -DVERSION=0x030c00f0 -o python3.12 "$WORKLOADS/pages.c" "$WORKLOADS/not-python.c" \
		-pthread || exit 1
gcc -shared -fPIC -o plugin.so "$WORKLOADS/plugin.c" || exit 1
[ "$(uname -m)" != x86_64 ] || {
	# shellcheck disable=SC2086 # a list of flags
	gcc $C_FLAGS -O1 -rdynamic -o jit-pages "$WORKLOADS/pages.c" "$WORKLOADS/jit-load.c" -pthread &&
		for frame in small=136 large=1032; do
			gcc -shared "-DFRAME=${frame#*=}" -o "${frame%=*}.so" "$WORKLOADS/through.S" &&
				gcc -nostdlib -static -no-pie -Wl,-Ttext-segment=0x10000000000,-e,through "-DFRAME=${frame#*=}" \
					-o "${frame%=*}.jit" "$WORKLOADS/through.S" || exit 1
		done && gcc -shared -nostdlib -DFRAME=136 -DFAR=20000000 -o far.so "$WORKLOADS/through.S"
} || exit 1
v2=$(mount_of cgroup2)
PYTHONDONTWRITEBYTECODE=1 python3 -S "$TOP/tests/root/exact.py" "$LB" "$pages" "$PWD/python3.13" "$WORKLOADS/pages.c" "$v2"
