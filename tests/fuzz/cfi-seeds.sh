#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes tests/fuzz/corpus/cfi/: small files whose first byte is their kind (cfi.c).
# Needs gcc and objcopy.
set -eu
cd "$(dirname "$0")/corpus"
mkdir -p cfi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

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
# Functions without call frame information between others, and returns from signals: in a
# file that is read whole, and in one whose section is too large for that.
cat >"$dir/bare.s" <<'END'
.macro function name
.type \name,@function
\name:
.endm
.macro end name
.size \name,.-\name
.endm
mov $15,%rax
syscall
.balign 16
known:
.cfi_startproc
push %rbx
.cfi_def_cfa_offset 16
nop
pop %rbx
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.balign 16
function framed
push %rbp
mov %rsp,%rbp
push %rbx
and $-32,%rsp
lea -8(%rbp),%rsp
pop %rbx
pop %rbp
ret
end framed
function left
push %rbp
mov %rsp,%rbp
sub %rax,%rsp
leave
ret
end left
.set other,left
.type other,@function
.size other,.-left-2
function kept
mov %rsp,%r12
sub $128,%rsp
and $-64,%rsp
mov %r12,%rsp
ret
end kept
function Builtins_Jump
push %rbp
jmp *%rax
end Builtins_Jump
function restore
mov $15,%rax
syscall
end restore
.fill 64,1,0x90
mov $15,%eax
syscall
mov $15,%r8d
syscall
.fill 64,1,0x90
.section .rest,"ax"
.cfi_startproc
.fill 16,1,0x90
.cfi_endproc
function far
push %rbx
.fill 16,1,0x90
pop %rbx
ret
end far
END
gcc -c -o "$dir/bare.o" "$dir/bare.s"
gcc -shared -nostdlib -Wl,-z,noseparate-code,-z,max-page-size=64,-z,noexecstack \
	-Wl,--build-id=none -o "$dir/bare.so" "$dir/bare.o"
seed 2 functions "$dir/bare.so"
cat >"$dir/hole.lds" <<'END'
PHDRS { all PT_LOAD FILEHDR PHDRS FLAGS(5); index PT_GNU_EH_FRAME FLAGS(4); }
SECTIONS
{
	. = SIZEOF_HEADERS;
	.text : { *(.text) } :all
	.eh_frame_hdr : { *(.eh_frame_hdr) } :all :index
	.eh_frame : { KEEP(*(.eh_frame)) . = . + 0x110000; } :all
	.rest : { *(.rest) } :all
}
END
ld -T "$dir/hole.lds" --eh-frame-hdr --build-id=none -o "$dir/hole.so" "$dir/bare.o"
# The hole is cut out here, and put back by the target.
at=$(objdump -h "$dir/hole.so" | awk '$2 == ".rest" { print $6 }')
at=$((0x$at - 0x110000))
{
	# shellcheck disable=SC2059 # the escape is made here
	printf "\\$(printf %o $((at & 255)))\\$(printf %o $((at >> 8)))"
	head -c "$at" "$dir/hole.so"
	tail -c +$((at + 0x110000 + 1)) "$dir/hole.so"
} >"$dir/hole"
seed 4 hole "$dir/hole"
# A complete reply: one rule, one page (number 0) with two rows.
printf '\001\000\000\000\001\000\000\000\001\000\000\000\000\000\010\000\000\000' >"$dir/reply"
printf '\001\000\000\000\000\000\000\000\000\000\000\000\002\000\000\000' >>"$dir/reply"
printf '\000\000\000\000\010\000\000\000' >>"$dir/reply"
seed 3 reply "$dir/reply"
# Compressed frames, by both ways to say that, of functions that are enough to be worth it.
for i in 1 2 3 4 5 6 7 8; do
	sed "s/\b\([fh]\|leaf\)(/\1$i(/" "$dir/f.c"
done | sed '2,$s/^int g.*//' >"$dir/many.c"
gcc -O2 -fno-asynchronous-unwind-tables -g -shared -fPIC -nostdlib -Wl,-z,noseparate-code \
	-Wl,--build-id=none,-z,max-page-size=64,-z,norelro -o "$dir/many.so" "$dir/many.c"
objcopy --only-section .debug_frame --only-section .text "$dir/many.so"
for way in zlib zlib-gnu; do
	objcopy --compress-debug-sections=$way "$dir/many.so" "$dir/packed"
	seed 2 "debug-$way" "$dir/packed"
done
