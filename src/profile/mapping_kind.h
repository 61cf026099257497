/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classifies code by the names of mappings, source files and functions. A profile, ours
 * or another tool's, has little other information, so all such rules are here.
 */
#ifndef LB_PROFILE_MAPPING_KIND_H
#define LB_PROFILE_MAPPING_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strpool.h"

enum code_kind {
	CODE_NATIVE,
	/*
	 * "[kernel.kallsyms]" with any suffix, "[kernel...", "[guest.kernel...", vmlinux,
	 * *.ko and its compressed forms.
	 */
	CODE_KERNEL,
	/* C code of Python: python, python3, python3.11, python3.13t, libpython3.11.so.1.0 */
	CODE_INTERPRETER,
	/*
	 * What every program has beneath its own code: glibc and musl with their loaders,
	 * libm, libpthread and the like, [vdso], the libraries of GCC and LLVM for C and
	 * C++ (libgcc_s, libstdc++, libc++, libc++abi).
	 */
	CODE_C_RUNTIME,
	CODE_JIT, /* "[jit]", "//anon", "anon_inode:...", "[anon...]", jitted-*.so, perf-*.map */
	CODE_PYTHON, /* "[python]": frames of Python itself */
	CODE_UNKNOWN, /* "[unknown]" or "" */
};

struct profile;

/** By the name alone: a file may have any. For those of a profile: code_kind_in(). */
enum code_kind code_kind_of(const char *filename);

/**
 * Returns the kind of the code of @p's file @filename. In a recording of ours the kernel's
 * code is in no file, so a file with the name of a kernel or of a module is a program's.
 */
enum code_kind code_kind_in(const struct profile *p, const char *filename);

/** The same of a mapping; @mapping >= nr_mappings: CODE_UNKNOWN. */
enum code_kind mapping_kind(const struct profile *p, size_t mapping);

/* Is it compiled code of a file, other than the kernel's and an interpreter's? */
static inline bool code_kind_is_native(enum code_kind kind)
{
	return kind == CODE_NATIVE || kind == CODE_C_RUNTIME;
}

/**
 * Returns the mapping's display name: the basename without " (deleted)", "[kernel]",
 * "[ext4]" for a kernel module, "[jit]", "" for a mapping without a name. Interned in
 * @pool.
 */
const char *object_name(const char *filename, struct strpool *pool);

/**
 * Returns the name of a placeholder function in a pprof file, for code of the mapping
 * without a function: "[libz.so.1.2.13]", "[jit]", "[unknown]". Interned in @pool.
 */
const char *object_stand_in(const char *filename, struct strpool *pool);

/**
 * Does the mapped file belong to a library rather than to the user's own program: is it
 * under /usr, /lib, /nix/store, ..., or in a folder of source_is_library()?
 */
bool object_is_library(const char *filename);

/**
 * Does a source file belong to a library rather than to the user's own program? That
 * is: system headers, site-packages, the standard library of Python, Go, Rust, Node,
 * downloaded dependencies, our hook for Numba. False for "".
 */
bool source_is_library(const char *path);

/**
 * Is this a function that calls main() or a thread's function in glibc or musl
 * (csu/libc-start.c, nptl/pthread_create.c, sysdeps/.../clone.S; musl:
 * env/__libc_start_main.c)? Everything is called from such functions, so their totals
 * are not informative.
 */
bool function_is_start_code(const char *function);

#endif
