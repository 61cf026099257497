#!/bin/sh
# Makes the seeds of the DWARF fuzz target in tests/fuzz/corpus/dwarf/: small programs
# compiled by gcc and clang, with each version and form of DWARF.
set -eu
cd "$(dirname "$0")"
out=$PWD/corpus/dwarf
mkdir -p "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir"
cat >seed.c <<'C'
static inline __attribute__((always_inline)) int in2(int x) { return x * 3; }
static inline __attribute__((always_inline)) int in1(int x) { return in2(x + 1) ^ 5; }
int f(int x);
__attribute__((cold)) void g(void);
int f(int x)
{
	if (x == 4)
		g();
	return in1(x);
}
void g(void) { __asm__ volatile(""); }
C
cat >seed.cc <<'CC'
namespace a { struct S { int m(int x) { return x + 1; } }; }
namespace { int h(int x) { a::S s; return s.m(x) * 2; } }
int k(int x) { auto l = [](int y) { return h(y) + y; }; return l(x); }
CC
build() {
	name=$1
	shift
	"$@" -w -O2 -fPIC -fno-asynchronous-unwind-tables -c -o "$name.o"
	gcc "$word" -shared -nostdlib -Wl,--build-id,-z,noseparate-code,-z,norelro,-z,max-page-size=64 -o "$name" "$name.o"
	objcopy --remove-section .comment --remove-section .symtab --remove-section .strtab "$name" 2>/dev/null || :
}
word=-m32
build gcc4-32 gcc -m32 -gdwarf-4 seed.c
build gcc5-32 gcc -m32 -gdwarf-5 seed.c
word=-m64
for v in 3 4 5; do
	build "gcc$v" gcc "-gdwarf-$v" seed.c
	build "clang$v" clang-14 "-gdwarf-$v" seed.c
done
build cxx g++ -gdwarf-5 seed.cc
build gz gcc -gdwarf-5 -gz seed.c
for v in 4 5; do
	build "gsplit$v" gcc "-gdwarf-$v" -gsplit-dwarf seed.c
	cp seed.dwo "gcc$v.dwo" 2>/dev/null || cp "gsplit$v.dwo" "gcc$v.dwo"
	build "csplit$v" clang-14 "-gdwarf-$v" -gsplit-dwarf seed.c
	cp "csplit$v.dwo" "clang$v.dwo" 2>/dev/null || :
done
# A program that is its own .dwo: the target serves the same bytes for each file.
whole() {
	cp "$1" "$1-whole"
	for section in info abbrev str str_offsets; do
		objcopy --dump-section ".debug_$section.dwo=part" "$2"
		objcopy --add-section ".debug_$section.dwo=part" "$1-whole"
	done
}
whole csplit5 csplit5.dwo
whole gsplit4 gsplit4.dwo
# Abbreviations whose codes descend.
gcc -w -O2 -fPIC -fno-asynchronous-unwind-tables -gdwarf-5 -dA -S -o abbrevs.s seed.c
awk '/^\t\.uleb128 .*(abbrev code|\(DIE \()/ { $2 = "99-" $2 } { print }' abbrevs.s >swapped.s
build abbrevs gcc swapped.s
# Names without a linkage name in namespaces; and a unit that refers to another one.
cat >around.cc <<'CC'
namespace outer { namespace { extern "C" int in_namespace(int x) { return x + 1; } } }
namespace outer { namespace inner { extern "C" int other(int x) { return x + 2; } } }
CC
build around g++ -gdwarf-5 around.cc
gcc -w -g -O2 -fPIC -flto -fno-asynchronous-unwind-tables -shared -nostdlib \
	-Wl,--build-id,-z,noseparate-code,-z,norelro,-z,max-page-size=64 -o lto seed.c
objcopy --remove-section .comment --remove-section .symtab --remove-section .strtab lto
# Compressed sections, by both ways to say that.
objcopy --remove-section .debug_frame --remove-section .debug_loclists \
	--remove-section .debug_aranges --compress-debug-sections=zlib lto
objcopy --remove-section .debug_frame --remove-section .debug_loclists \
	--remove-section .debug_aranges --compress-debug-sections=zlib-gnu abbrevs
# A program that is its own .dwp.
llvm-dwp-14 -o dwp csplit4.dwo
cp csplit4 csplit4-packed
for section in info abbrev str str_offsets cu_index; do
	case $section in cu_index) ;; *) section=$section.dwo ;; esac
	objcopy --dump-section ".debug_$section=part" dwp
	objcopy --add-section ".debug_$section=part" csplit4-packed
done
cp cxx cxx2
dwz -m shared cxx cxx2 2>/dev/null || :
for f in abbrevs around lto csplit4-packed gcc3 gcc4 gcc5 gcc4-32 gcc5-32 clang3 clang4 clang5 cxx gz gsplit4 csplit5 gsplit4-whole csplit5-whole gcc4.dwo clang5.dwo shared; do
	[ ! -f "$f" ] || [ "$(stat -c %s "$f")" -gt 16384 ] || cp "$f" "$out/"
done
ls -l "$out"
