#!/bin/sh
# Boots old and new kernels of Debian in qemu without KVM, and runs lineburn there.
# usage: tests/kernels/run.sh BIN UNIT_TESTS [SUITE[-rt]...]   (-rt: PREEMPT_RT; default: all of the table below)
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason".
# Last line: "kernels: N passed, N failed, N skipped". build/kernels/SUITE keeps the guest's
# console, and lineburn's output in out/.
# The kernels are those of the file "pinned", and the newest of suites that are not in it. The
# run fails if no SUITE is given and fewer than three kernels were judged, or if a pinned kernel
# cannot be downloaded.
# KERNELS_NEWEST=1: the newest of each suite; also prints the lines for the file "pinned".
# ONLY=loading,choices: only these parts of loading, rights, stacks, machine, choices, suspend, clock.
here=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$here/../.." && pwd)
LB=$(realpath "${1:?usage: run.sh BIN UNIT_TESTS [SUITE...]}")
unit=${2:?usage: run.sh BIN UNIT_TESTS [SUITE...]}
shift 2
WORK=$(mktemp -d /tmp/lineburn-kernels.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
export LB TOP WORK
cache=$TOP/build/kernels

# The kernel series of each suite.
series_of() {
	case ${1%-rt} in
	bullseye) echo 5.10 ;;
	bookworm) echo 6.1 ;;
	trixie) echo 6.12 ;;
	esac
}
least=1
if [ $# -eq 0 ]; then
	least=3
	set -- bullseye bookworm trixie bullseye-rt trixie-rt sid experimental
fi
nr_judged=0

results=$WORK/results
: >"$results"
result() {
	echo "$1" | tee -a "$results"
}

# missing: the missing packages, and how to install them
missing() {
	[ "$(uname -m)" = x86_64 ] || { echo "only kernels of x86_64 are booted"; return; }
	missing_packages=
	for pair in qemu-system-x86_64:qemu-system-x86 cpio:cpio apt-get:apt gcc:gcc python3:python3; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || missing_packages="$missing_packages ${pair#*:}"
	done
	# ldd fails for a static program.
	if [ ! -x /bin/busybox ] || ldd /bin/busybox >/dev/null 2>&1; then
		missing_packages="$missing_packages busybox-static"
	fi
	[ -z "$missing_packages" ] || echo "not here: apt-get install$missing_packages"
}

# boot FOLDER: writes the guest's console to FOLDER/console, and its results to FOLDER/out.
# thread=single: with a qemu thread per CPU, guests rarely crash while they patch their code.
# no_timer_check: on a busy host no timer may tick while the kernel checks that timers do.
boot() {
	rm -rf "$1/out" "$1/results"
	mkdir "$1/out"
	nice -n 10 timeout 1800 qemu-system-x86_64 -M q35 -cpu max -accel tcg,thread=single \
		-m 1024 -smp 2 -kernel "$1/vmlinuz" -initrd "$WORK/initramfs" \
		-append "console=ttyS0 quiet panic=-1 oops=panic no_timer_check${ONLY:+ lineburn.only=$ONLY}" -nodefaults -display none -no-reboot \
		-serial "file:$1/console" -serial "file:$1/results" </dev/null >"$1/qemu" 2>&1
	tar -xzf "$1/results" -C "$1/out" 2>/dev/null
}

# try SUITE
try() {
	folder=$cache/$1
	if ! reason=$("$here/fetch.sh" "$folder" "$1" "$(series_of "$1")" 2>&1); then
		# A pinned kernel is required; the newest one of sid is not.
		how=skip
		! grep -q "^$1 " "$here/pinned" || how="not ok"
		result "$how $1: $(printf '%s' "$reason" | tail -n 1 | cut -c1-300)"
		return
	fi
	kernel=$(cat "$folder/version")
	case $tried in
	*" $kernel "*)
		result "skip $1: its kernel $kernel is another suite's, too"
		return
		;;
	esac
	tried="$tried $kernel "
	if ! boot "$folder"; then
		result "not ok $kernel boot: $(tr -d '\r' <"$folder/console" | grep . | tail -n 1 | cut -c1-300)"
		return
	fi
	(cd "$folder/out" && "$here/judge.sh" "$kernel") >"$WORK/said" 2>"$WORK/said.err" ||
		echo "not ok $kernel judge: it ended with status $?: $(tail -n 1 "$WORK/said.err")" >>"$WORK/said"
	grep -E '^(ok|not ok|skip) ' "$WORK/said" | tee -a "$results"
	if grep -qE '^(ok|not ok) ' "$WORK/said"; then
		nr_judged=$((nr_judged + 1))
	else
		result "not ok $kernel: nothing was judged: $(tail -n 1 "$WORK/said.err")"
	fi
	[ -z "${KERNELS_NEWEST:-}" ] || echo "$1 $kernel $(sha256sum <"$folder/vmlinuz" | cut -d ' ' -f 1)"
}

tried=
reason=$(missing)
if [ -n "$reason" ]; then
	result "skip kernels: $reason"
elif ! reason=$("$here/image.sh" "$LB" "$unit" "$WORK/initramfs" 2>&1); then
	result "not ok image: $(printf '%s' "$reason" | tail -n 1)"
else
	for suite in "$@"; do
		try "$suite"
	done
fi
[ "$nr_judged" -ge "$least" ] || result "not ok kernels: $nr_judged judged, not $least"
failed=$(grep -c '^not ok ' "$results")
echo "kernels: $(grep -c '^ok ' "$results") passed, $failed failed, $(grep -c '^skip ' "$results") skipped"
[ "$failed" -eq 0 ]
