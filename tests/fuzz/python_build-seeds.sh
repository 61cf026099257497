#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes tests/fuzz/corpus/python_build/: a path, a newline, and a small file that looks like
# CPython's. Needs gcc and objcopy.
set -eu
cd "$(dirname "$0")/corpus"
mkdir -p python_build
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# An ELF file byte by byte: the linker's would be larger, and would have no odd ones.
cat >"$dir/image.s" <<'END'
.set TEXT,0x420000
.set DATA,0x830000
start:
.byte 0x7f,0x45,0x4c,0x46,2,1,1
.org 16
.short TYPE,62
.long 1
.quad TEXT,segments-start,sections-start
.long 0
.short 64,56,2,64,5,4
segments:
.long 1,5
.quad 0,TEXT,TEXT,0x1000,0x1000,16
.long 1,6
.quad version-start,DATA,DATA,8,0x1000,16
version:
.quad VERSION<<16|0x7f0
.macro section name,type,address,begin,end,link,entry
.long \name-section_names,\type
.quad 0,\address,\begin-start,\end-\begin
.long \link,0
.quad 1,\entry
.endm
sections:
.zero 64
section name_runtime,8,DATA+0x100*RUNTIME,start,sections,0,0
section name_symbols,11,0,symbols,symbol_names,3,24
section name_strings,3,0,symbol_names,section_names,0,0
section name_names,3,0,section_names,end,0,0
.macro symbol name,value,size
.long \name-symbol_names
.byte 0x10,0
.short 1
.quad \value,\size
.endm
symbols:
.zero 24
.ifdef MANY
.rept 250
symbol name_long,TEXT,1
.endr
.endif
.ifdef SYMBOLS
symbol name_runtime_data,DATA+0x200,8
symbol name_eval,TEXT+0x100,0x800
symbol name_get_back,TEXT,1
.if SYMBOLS > 1
symbol name_send,TEXT,1
.endif
.if SYMBOLS > 2
symbol name_lasti,TEXT,1
symbol name_version,DATA,8
.endif
.endif
symbol_names:
.byte 0
name_runtime_data: .string "_PyRuntime"
name_version: .string "Py_Version"
name_eval: .string "_PyEval_EvalFrameDefault"
name_get_back: .string "PyFrame_GetBack"
name_send: .string "PyIter_Send"
name_lasti: .string "PyFrame_GetLasti"
.ifdef MANY
name_long: .fill 6000,1,'P'
.byte 0
.endif
section_names:
.byte 0
name_runtime: .string ".PyRuntime"
name_symbols: .string ".dynsym"
name_strings: .string ".dynstr"
name_names: .string ".shstrtab"
end:
END

# seed NAME PATH, then definitions: TYPE (of the file), RUNTIME, VERSION, SYMBOLS, MANY
seed() {
	name=$1
	path=$2
	shift 2
	set -- "TYPE=3" "RUNTIME=1" "VERSION=0" "$@"
	flags=
	for definition; do
		flags="$flags -Wa,--defsym,$definition"
	done
	# shellcheck disable=SC2086 # a list of flags
	gcc $flags -c -o "$dir/image.o" "$dir/image.s"
	objcopy -O binary -j .text "$dir/image.o" "$dir/image"
	{
		echo "$path"
		cat "$dir/image"
	} >"python_build/$name"
}

seed says-itself /usr/lib/libpython3.so.1.0 VERSION=0x030d SYMBOLS=3
seed too-new /usr/bin/python3 VERSION=0x0310 SYMBOLS=3
seed exports-3.10 "/usr/bin/python3 (deleted)" SYMBOLS=2
seed exports-3.9 python TYPE=2 SYMBOLS=1
seed stripped /usr/bin/python3.12
seed old-stripped /opt/python3.8
seed no-data python3.12 RUNTIME=0x100
seed not-linked python3.12 TYPE=1
seed not-python /usr/bin/perl SYMBOLS=3
# A name that many symbols share must not be searched for each of them.
seed long-name python3.12 MANY=1
