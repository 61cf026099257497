/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program knows of a runtime: an interpreter, or a JIT. A row of decode/runtimes.h
 * names one of these. All but RUNTIME_JIT, whose code has addresses (runtime/jit/watch.h),
 * keep a list of frames that the kernel side follows; their operations are in the order of
 * a sample's way.
 */
#ifndef LB_RUNTIME_RUNTIME_H
#define LB_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode/runtimes.h"
#include "lineburn_unwind.h"
#include "worker/worker.h"

struct answers;
struct file_facts;
struct interp_code;
struct process;
struct process_table;
struct strpool;

/* Where a process keeps its frames. */
struct runtime_place {
	struct lb_interp layout; /* its kind is filled in by the caller */
	/* Thread state of each thread: *(thread pointer + this); see ts_is_in_table. */
	int32_t tls_off;
};

/* A frame to be named. */
struct runtime_frame {
	uint64_t frame; /* as sampled (LB_FRAME_OF) */
	const struct interp_code *code; /* that it runs */
};

/* With what. */
struct runtime_naming {
	struct worker *decoder;
	unsigned int deadline_ms;
	struct strpool *pool; /* for strings of the answer */
	const struct process *process;
};

struct runtime {
	const char *name; /* as debug output calls its frames: "python" */
	const char *object; /* as profiles call the object of its frames: "[python]" */
	unsigned int unit_bytes; /* of a code object, for each step of a frame's index */

	bool (*recognise)(const char *path); /* decode/runtimes.h */

	/** Can these facts be believed? */
	bool (*facts_are_sane)(const void *facts);

	/**
	 * Asks a process.
	 *
	 * @facts      of the file that has the runtime
	 * @text_bias  start of the mapping of the file's text - its file offset
	 * @ret        set when LOCATE_FOUND
	 */
	enum locate_result (*locate)(struct worker *reader, pid_t pid, const void *facts,
				     uint64_t text_bias, struct runtime_place *ret);

	/**
	 * Reads from a living process what the kernel side could not copy of its code
	 * objects (p->interp_codes). NULL: what was cut stays so. Return: as
	 * python_read_cut().
	 */
	enum worker_answer (*read_cut)(struct worker *reader, struct process_table *t,
				       struct process *p, const struct lb_interp *layout);

	/**
	 * Names frames of one process, which are sorted by code object and index.
	 * Return: 0 with @ret->items as @frames; -ENODATA: no answer; -ENOMEM.
	 */
	int (*name_frames)(const struct runtime_naming *with,
			   const struct runtime_frame *frames, size_t nr,
			   struct answers *ret);
};

/* By number; a NULL operation is one that it has no need of. */
extern const struct runtime *const runtimes[NR_RUNTIMES];

/** The runtime that a frame with LB_FRAME_TAG is of. NULL: none, which cannot be. */
const struct runtime *runtime_of_frame(uint64_t frame);

#define RUNTIME_ROW(number, name) extern const struct runtime name##_runtime;
RUNTIME_ROWS(RUNTIME_ROW)
#undef RUNTIME_ROW

#endif
