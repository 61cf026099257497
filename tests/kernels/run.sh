#!/bin/sh
# Boots kernels of Debian, old and new, in qemu without KVM, and lets lineburn sample there.
# usage: tests/kernels/run.sh BIN UNIT_TESTS [SUITE...]   (default: all of the table below)
# Each test prints "ok NAME", "not ok NAME: reason" or "skip NAME: reason".
# Last line: "kernels: N passed, N failed, N skipped". What a guest said stays in
# build/kernels/SUITE: console, and in out/ what lineburn printed.
# Kernels are those of the file pinned, and the newest of other suites. Fewer than three judged,
# where no SUITE is named, is a failure, and so is one of that file that cannot be had.
# KERNELS_NEWEST=1: the newest of each, and the lines for that file.
# ONLY=loading,choices: of loading, stacks, machine, choices, suspend and clock only these.
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

# Of each suite the newest kernel of a series.
series_of() {
	case $1 in
	bullseye) echo 5.10 ;;
	bookworm) echo 6.1 ;;
	trixie) echo 6.12 ;;
	esac
}
least=1
if [ $# -eq 0 ]; then
	least=3
	set -- bullseye bookworm trixie sid experimental
fi
nr_judged=0

results=$WORK/results
: >"$results"
result() {
	echo "$1" | tee -a "$results"
}

# missing: what is not here, and how to get it
missing() {
	[ "$(uname -m)" = x86_64 ] || { echo "only kernels of x86_64 are booted"; return; }
	missing_packages=
	for pair in qemu-system-x86_64:qemu-system-x86 cpio:cpio apt-get:apt gcc:gcc python3:python3; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || missing_packages="$missing_packages ${pair#*:}"
	done
	# A static program has nothing for ldd to tell.
	if [ ! -x /bin/busybox ] || ldd /bin/busybox >/dev/null 2>&1; then
		missing_packages="$missing_packages busybox-static"
	fi
	[ -z "$missing_packages" ] || echo "not here: apt-get install$missing_packages"
}

# boot FOLDER: the guest's words go to FOLDER/console, what it hands over to FOLDER/out.
# Threads of qemu's own, one for each CPU, let a rare guest crash while it patches its code.
# A host that is busy lets no timer tick while the kernel looks whether they do.
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
		# What is pinned must be had; what sid has just now need not.
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
