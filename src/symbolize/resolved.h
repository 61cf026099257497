/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of an address: object, function, file and line, or why it is missing. */
#ifndef LB_SYMBOLIZE_RESOLVED_H
#define LB_SYMBOLIZE_RESOLVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/frame.h"
#include "process/process.h"

enum object_kind {
	OBJECT_FILE, /* an ELF file */
	OBJECT_KERNEL, /* vmlinux and modules: one object each */
	OBJECT_VDSO,
	OBJECT_JIT, /* anonymous code of one process */
	OBJECT_INTERP, /* code objects of one process */
	OBJECT_UNKNOWN, /* not in a known mapping */
};

/*
 * The object that addresses belong to; becomes a Mapping of pprof. Interned, never
 * moves.
 */
struct object {
	enum object_kind kind;
	/*
	 * Path, "[kernel.kallsyms]", "[kernel.kallsyms]/ext4", "[vdso]", "[jit]",
	 * "[python]", ...
	 */
	const char *name;
	uint8_t build_id[64];
	size_t build_id_len; /* 0: none */
	/* Addresses (see resolved.address) of its executable segment; 0:0 unknown. */
	uint64_t start, limit;
	uint64_t file_off; /* of start */
	uint32_t id; /* 0, 1, 2 ... */
	const struct process *user; /* see object_user() */
	uint64_t root_id; /* the root that @user must have; 0: any */
	/*
	 * A file has an object for each name that processes see it under, so that nobody
	 * names it for others. All else is in its first one: object_first().
	 */
	struct object *first; /* NULL: it is the first one, or the only one */
	struct object *next; /* name of the file, after the first one */
};

/** Returns the object that has all but the name. */
static inline const struct object *object_first(const struct object *object)
{
	return object->first ? object->first : object;
}

/**
 * Returns the process in whose root, and with whose rights, files that its debug info
 * names are opened; NULL: none is known.
 */
static inline const struct process *object_user(const struct object *object)
{
	const struct object *first = object_first(object);
	const struct process *user = first->user;

	return user && process_may_open_in(user, first->root_id) ? user : NULL;
}

struct resolved {
	const struct object *object;
	/*
	 * ELF: vaddr in the file. JIT, kernel: run-time address. Both as sampled: that
	 * of a caller is the return address. Python: address of the code object + bytes
	 * of code before the instruction.
	 */
	uint64_t address;
	const struct frame *frames; /* innermost first; nr_frames 0: unknown */
	size_t nr_frames;
	enum miss miss; /* MISS_NONE if and only if frames[0] has a line */
	const struct process *process; /* first that had it; NULL: kernel */
};

/* A function that was hit, with its machine code, from debug info with lines. */
struct resolved_code {
	const struct object *object; /* code.address is one of its addresses */
	struct code code;
};

#endif
