#!/bin/sh
# Makes the seeds of the ELF fuzz target in tests/fuzz/corpus/elf/: small files with each
# kind of symbol table, link and note. Needs gcc, g++, binutils, xz.
set -eu
cd "$(dirname "$0")"
out=$PWD/corpus/elf
mkdir -p "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir"
cat >a.c <<'C'
extern int puts(const char *);
static __attribute__((noinline)) int local_fn(int x) { return x + puts("x"); }
int global_fn(int x) { return local_fn(x); }
int alias_fn(int) __attribute__((weak, alias("global_fn")));
C
cat >b.cc <<'CC'
namespace ns { template<class T> struct S { T m(T x) { return x; } }; }
template struct ns::S<int>;
CC
build() {
	name=$1
	shift
	"$@" -shared -nostdlib -fPIC -O1 -fno-asynchronous-unwind-tables -o "$name" \
		-Wl,-z,noseparate-code,-z,norelro,-z,lazy,-z,max-page-size=64,--build-id=sha1
}
build debug gcc -g a.c
strip -s -o stripped debug
objcopy --add-gnu-debuglink=debug stripped link
strip -g -o symtab debug
echo local_fn >keep
objcopy -S --keep-symbols=keep symtab mini
xz mini
objcopy --add-section .gnu_debugdata=mini.xz stripped minidebug
objcopy --only-keep-debug symtab only
build cxx g++ b.cc
gcc -O1 -c a.c -o rel.o
build m32 gcc -m32 a.c 2>/dev/null || :
# An asked address is the entry point. The texts of .debug_info are the chain there (elf.c).
cat >plt.s <<'S'
.globl two
.type two,@function
two:
call puts@PLT
call exit@PLT
.size two,.-two
S
build plt gcc -Wl,--section-start=.plt=0x1000,-e,0x1010 plt.s
cat >names.s <<'S'
.globl _ZN2ns4workIiEEvT_.isra.0
.set __alias,_ZN2ns4workIiEEvT_.isra.0
.globl __alias
.type _ZN2ns4workIiEEvT_.isra.0,@function
.type __alias,@function
_ZN2ns4workIiEEvT_.isra.0:
.fill 16,1,0x90
.size _ZN2ns4workIiEEvT_.isra.0,16
.size __alias,16
.section .debug_info
.macro frame function,system
.string "\function","\system"
.endm
S
cp names.s lines.s
cat >>lines.s <<'S'
frame inner,_ZN2ns5innerEv
frame closure,_RNvC6_123foo3bar
frame work,""
S
build lines gcc -Wl,-e,__alias lines.s
cp names.s deep.s
cat >>deep.s <<'S'
.string "outer"
.fill 1100,1,'a'
.byte 0
.rept 64
frame f,""
.endr
frame work,_ZN2ns4workIiEEvT_
S
build deep gcc -Wl,-e,__alias deep.s
# Symbols that share one name, which must not be read for each of them. Byte by byte: an
# assembler gives a name only once.
cat >underscores.s <<'S'
.macro section type,flags,address,begin,end,link,entry
.long 0,\type
.quad \flags,\address,\begin-start,\end-\begin
.long \link,0
.quad 1,\entry
.endm
start:
.byte 0x7f,0x45,0x4c,0x46,2,1,1
.org 16
.short 3,62
.long 1
.quad 0x1000,segments-start,sections-start
.long 0
.short 64,56,1,64,4,3
segments:
.long 1,5
.quad 0,0x1000,0x1000,64,64,1
sections:
.zero 64
section 1,6,0x1000,start,segments,0,0
section 2,2,0,symbols,names,3,24
section 3,0,0,names,end,0,0
symbols:
.zero 24
.rept 250
.long 1
.byte 0x12,0
.short 1
.quad 0x1000,16
.endr
names:
.byte 0
.fill 4200,1,0x5f
.byte 0
end:
S
gcc -c -o many.o underscores.s
objcopy -O binary -j .text many.o underscores
for f in lines deep plt underscores stripped link symtab minidebug only cxx rel.o m32; do
	[ ! -f "$f" ] || [ "$(stat -c %s "$f")" -gt 16384 ] || cp "$f" "$out/"
done
ls -l "$out"
