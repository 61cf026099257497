/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtimes: interpreters and JITs that lineburn supports beyond their machine code.
 * One row each, X(NUMBER, name):
 *   RUNTIME_NUMBER    its number; also the kind of its frames in stacks from the kernel
 *   name_recognise()  whether a file of this name may be one
 *   name_inspect()    reads the facts from a file; runs in a worker
 *   name_runtime      the collector's part: runtime/runtime.h
 */
#ifndef LB_DECODE_RUNTIMES_H
#define LB_DECODE_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef MORE_RUNTIMES /* a header that defines MORE_RUNTIME_ROWS(X): see the Makefile */
#include MORE_RUNTIMES
#else
#define MORE_RUNTIME_ROWS(X)
#endif

/* JITs with GDB's interface: decode/jit/interface.h; CPython: decode/python/build.h. */
#define RUNTIME_ROWS(X)   \
	X(JIT, jit)       \
	X(PYTHON, python) \
	MORE_RUNTIME_ROWS(X)

#define RUNTIME_NUMBER(number, name) RUNTIME_##number,
enum runtime_number {
	RUNTIME_ROWS(RUNTIME_NUMBER) NR_RUNTIMES
};

/* Result of searching a process for its interpreter's frames. */
enum locate_result {
	LOCATE_FOUND,
	LOCATE_NOT_YET, /* no thread state yet: retry, with growing intervals */
	LOCATE_UNKNOWN, /* a layout that we do not know, or memory that makes no sense */
	LOCATE_NO_ANSWER, /* its memory did not answer in time: do not retry */
	/* What no reader answers: */
	LOCATE_READER_DIED, /* maybe for a reason of its own: retry, some times */
};

/* Maximum size of a runtime's struct of facts about a file. */
#define RUNTIME_FACTS_BYTES 64

struct jit_image; /* decode/jit/image.h */

struct inspected_file {
	int fd; /* an ELF file */
	const struct jit_image *image; /* all of it; NULL: not 64-bit little-endian */
};

/*
 * name_recognise(): may a file be one that a process maps under this path? Pure; only its
 * last part matters. name_inspect(): returns whether the file is one, whatever its name;
 * if so, fills in @ret, which the caller has zeroed. One user may see a file under another
 * name than the next, so what it is must not depend on who had it first.
 */
#define RUNTIME_INSPECTOR(number, name)          \
	bool name##_recognise(const char *path); \
	bool name##_inspect(const struct inspected_file *file, void *ret);
RUNTIME_ROWS(RUNTIME_INSPECTOR)

#endif
