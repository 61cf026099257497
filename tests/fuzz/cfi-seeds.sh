#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes tests/fuzz/corpus/cfi/: small files whose first byte is their kind (cfi.c).
# Needs gcc and objcopy.
set -eu
cd "$(dirname "$0")/corpus"
mkdir -p cfi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

# seed KIND NAME FILE
seed() {
	{
		# shellcheck disable=SC2059 # the escape is made here
		printf "\\00$1"
		cat "$3"
	} >"cfi/$2"
}

cat >"$dir/f.c" <<'END'
int g(int *);
int f(int n) { int a[n]; return g(a) + g(a + 1); }
int h(int n) { _Alignas(64) int a[16]; return g(a) + n; }
int leaf(int n) { return n + 1; }
END
cat >"$dir/s.s" <<'END'
.cfi_startproc
.cfi_signal_frame
.cfi_escape 0x0f,4,0x77,0xa0,1,6
.cfi_escape 0x10,16,3,0x77,0xa8,1
nop
.cfi_endproc
.cfi_startproc
.cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22
nop
.cfi_remember_state
.cfi_def_cfa 10, 0
.cfi_escape 0x16,6,2,0x77,8
nop
.cfi_restore_state
.cfi_undefined 16
nop
.cfi_endproc
END
for kind in eh debug; do
	case $kind in
	eh) number=0 flags= ;;
	debug) number=1 flags='-fno-asynchronous-unwind-tables -g' ;;
	esac
	# shellcheck disable=SC2086 # a list of flags
	gcc -O2 $flags -c -o "$dir/f.o" "$dir/f.c"
	objcopy -O binary -j ".${kind}_frame" --set-section-flags ".${kind}_frame=alloc" \
		"$dir/f.o" "$dir/frame"
	seed "$number" "$kind-compiler" "$dir/frame"
	{ echo ".cfi_sections .${kind}_frame" && cat "$dir/s.s"; } >"$dir/t.s"
	gcc -c -o "$dir/s.o" "$dir/t.s"
	objcopy -O binary -j ".${kind}_frame" --set-section-flags ".${kind}_frame=alloc" \
		"$dir/s.o" "$dir/frame"
	seed "$number" "$kind-assembly" "$dir/frame"
done
# Objects as a JIT leaves them: sections have addresses, but nothing is relocated.
for model in small large; do
	gcc -O2 -c -mcmodel=$model -o "$dir/f.o" "$dir/f.c"
	objcopy --change-section-address .text=0x7f0000001000 \
		--change-section-address .eh_frame=0x7f0000003000 "$dir/f.o"
	seed 2 object-$model "$dir/f.o"
done
gcc -O2 -shared -fPIC -nostdlib -Wl,-z,noseparate-code -o "$dir/f.so" "$dir/f.c" "$dir/s.s"
strip "$dir/f.so"
seed 2 library "$dir/f.so"
# An object as Go leaves it: with symbols of the functions that threads begin in.
cat >"$dir/go.s" <<'END'
.cfi_sections .debug_frame
.section .gopclntab,"a"
.byte 1
.text
.macro function name
.type \name,@function
\name:
.cfi_startproc
mov %rsi,%rsp
nop
.cfi_endproc
.size \name,.-\name
.endm
function runtime.clone.abi0
function runtime.rt0_go
END
gcc -shared -nostdlib -Wl,-z,noseparate-code -Wl,--build-id=none -o "$dir/go.so" "$dir/go.s"
seed 2 go "$dir/go.so"
# A complete reply: one rule, one page (number 0) with two rows.
printf '\001\000\000\000\001\000\000\000\001\000\000\000\000\000\010\000\000\000' >"$dir/reply"
printf '\001\000\000\000\000\000\000\000\000\000\000\000\002\000\000\000' >>"$dir/reply"
printf '\000\000\000\000\010\000\000\000' >>"$dir/reply"
seed 3 reply "$dir/reply"
