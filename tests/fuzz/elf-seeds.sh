#!/bin/sh
# Makes the seeds of the ELF fuzz target in tests/fuzz/corpus/elf/: small files with each
# kind of symbol table, link and note. Needs gcc, g++, binutils, xz.
set -eu
cd "$(dirname "$0")"
out=$PWD/corpus/elf
mkdir -p "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
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
for f in stripped link symtab minidebug only cxx rel.o m32; do
	[ ! -f "$f" ] || [ "$(stat -c %s "$f")" -gt 16384 ] || cp "$f" "$out/"
done
ls -l "$out"
