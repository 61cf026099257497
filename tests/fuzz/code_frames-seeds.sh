#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes tests/fuzz/corpus/code_frames/: machine code of functions, by what moves their stack.
# Needs gcc and objcopy.
set -eu
cd "$(dirname "$0")/corpus"
mkdir -p code_frames
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# seed NAME, assembly on standard input
seed() {
	gcc -c -x assembler -o "$dir/seed.o" -
	objcopy -O binary -j .text "$dir/seed.o" "code_frames/$1"
}

seed pushes <<'END'
	push %r14
	push %rbx
	pushfq
	sub $24,%rsp
	lea -8(%rsp),%rsp
	cmp %rax,%rsp
	add $32,%rsp
	popfq
	pop %rbx
	pop %r14
	ret
END
seed frame-pointer <<'END'
	push %rbp
	mov %rsp,%rbp
	push %rbx
	and $-32,%rsp
	sub %rax,%rsp
	lea -8(%rbp),%rsp
	pop %rbx
	pop %rbp
	ret
	lea 16(%rsp),%rbp
	mov %rbp,%rsp
	leave
	ret
END
seed kept-register <<'END'
	push %rbx
	mov %rsp,%rbx
	sub $128,%rsp
	and $-4096,%rsp
	nop
	mov %rbx,%rsp
	pop %rbx
	ret
END
seed lost-register <<'END'
	mov %rsp,%r12
	and $-4096,%rsp
	xor %r12d,%r12d
	mov %r12,%rsp
	pushw %ax
	popw %ax
	mov %eax,%esp
	ret
END
seed jumps <<'END'
	push %rbx
	test %eax,%eax
	jz 1f
	pop %rbx
	ret
1:	jmp *%rax
2:	pop %rbx
	jmp 2b
	ud2
	jmp 1f
1:	int3
	hlt
END
seed large-numbers <<'END'
	push %rbp
	sub $0x7fffffff,%rsp
	sub $0x7fffffff,%rsp
	add $0x7fffffff,%rsp
	lea 0x7fffffff(%rsp),%rbp
	lea -0x7fffffff(%rbp),%rsp
	lea 8(%rsp,%rax),%rsp
	leave
	ret
	.byte 0x48,0x81,0xec,0,0,0,0x80
	push %rbp
	sub $0x10000,%rsp
	push %rbp
END
# Compilers' own.
cat >"$dir/f.c" <<'END'
int g(int *, ...);
int f(int n) { int a[n]; return g(a) + g(a + 1); }
int h(int n) { _Alignas(64) int a[16]; return g(a, 1, 2, 3, 4, 5, 6, 7, n) + n; }
int k(int n, ...) { switch (n) { case 1: return g(0); case 2: return 7; case 3: return g(&n);
	case 4: return 9; case 5: return g(&n, 1); default: return 0; } }
END
for level in 0 2; do
	gcc -O$level -fno-omit-frame-pointer -c -o "$dir/f.o" "$dir/f.c"
	objcopy -O binary -j .text "$dir/f.o" "code_frames/compiler-O$level"
done
