#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes those seeds in tests/fuzz/corpus/disassemble/ that the decoder's operation reads
# (disassemble.c has the format): code, and files. Needs gcc. The others were made by hand.
set -eu
cd "$(dirname "$0")/corpus/disassemble"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

{ printf '\010' && tail -c +2 x86_64; } >served-x86_64
{ printf '\012' && tail -c +2 aarch64; } >served-aarch64
{ printf '\013' && tail -c +2 x86_64; } >served-no-machine
cat >"$dir/f.s" <<'END'
push %rbp
call f
f:
lea f(%rip),%rax
jmp *%rax
.byte 0x06
ret
END
gcc -shared -nostdlib -s -Wl,-z,noseparate-code,-z,max-page-size=64,-z,noexecstack \
	-Wl,--build-id=sha1,-Ttext=0x1000,--hash-style=gnu -o "$dir/f.so" "$dir/f.s" 2>/dev/null
# file NAME FIRST_BYTE ADDRESS_BYTE: 17 bytes at 0x10.. are asked for
file() {
	{
		# shellcheck disable=SC2059 # the escape is made here
		printf "\\$2\\$3\\020\\000\\000\\000\\000\\000\\000\\021\\000"
		cat "$dir/f.so"
	} >"$1"
}
file file 030 000
file file-replaced 070 000
file file-not-there 030 020
{ printf '\030\000\020\000\000\000\000\000\000\021\000' && echo 'not ELF'; } >file-none
{ printf '\030\000\020\000\000\000\000\000\000\000\000' && echo 'no bytes'; } >file-no-bytes
