/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations of a runtime: an interpreter, or a JIT. A row of decode/runtimes.h names
 * it. Every runtime but RUNTIME_JIT, whose code has addresses (runtime/jit/watch.h),
 * keeps a list of frames that the kernel side walks. Operations are listed in the order
 * in which a sample needs them.
 */
#ifndef LB_RUNTIME_RUNTIME_H
#define LB_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/quota.h"
#include "decode/runtimes.h"
#include "lineburn_unwind.h"
#include "worker/worker.h"

struct answers;
struct interp_code;
struct mapping;
struct process;
struct process_table;
struct runtime_facts;
struct shared_worker;
struct strpool;
struct target_file;

/* Where a process keeps its interpreter's frames. */
struct runtime_place {
	struct lb_interp layout; /* the caller fills in its kind */
	/*
	 * Thread state of each thread: *(thread pointer + tls_off); see ts_is_in_table.
	 */
	int32_t tls_off;
};

/* A frame to name. */
struct runtime_frame {
	uint64_t frame; /* as sampled (LB_FRAME_OF) */
	const struct interp_code *code; /* the code that it runs */
};

/* Context of name_frames() and find_files(). */
struct runtime_naming {
	/* reply to the request of put_frames(); NULL without put_frames() */
	struct wire_reader *reply;
	struct strpool *pool; /* for strings of the result */
	const struct process *process;
	/* for find_files(): false: its tenant's searches took too long, so none is opened */
	bool may_open;
};

struct runtime {
	const char *name; /* of its frames in debug output: "python" */
	const char *object; /* of its frames' object in profiles: "[python]" */
	unsigned int unit_bytes; /* bytes of a code object per step of a frame's index */

	bool (*recognise)(const char *path); /* decode/runtimes.h */

	/** Fills in what only the path tells, under which a process maps it. NULL: nothing. */
	void (*name_facts)(void *facts, const char *path);

	/** Are these facts plausible? */
	bool (*facts_are_sane)(const void *facts);

	/**
	 * Finds the interpreter's frames in a process.
	 *
	 * @reader     serves the process's tenant
	 * @facts      of the runtime's file
	 * @text_bias  start of the mapping of the file's text - its file offset
	 * @ret        set when LOCATE_FOUND
	 */
	enum locate_result (*locate)(struct worker *reader, pid_t pid, const void *facts,
				     uint64_t text_bias, struct runtime_place *ret);

	/**
	 * Reads the parts of code objects (p->interp_codes) that the kernel side could
	 * not copy from a running process. @reader serves its tenant. NULL: cut ones
	 * stay cut. Return: WORKER_OK,
	 * also when there was nothing to do; WORKER_DEADLINE: reading the target's
	 * memory hangs, never read it again; otherwise no answer this time.
	 */
	enum worker_answer (*read_cut)(struct worker *reader, struct process_table *t,
				       struct process *p, const struct lb_interp *layout);

	/**
	 * Writes the request for operation @naming_op of the decoder, for frames of one
	 * process, sorted by code object and index. NULL: name_frames() needs none.
	 */
	void (*put_frames)(struct wire_writer *request,
			   const struct runtime_frame *frames, size_t nr);
	uint32_t naming_op; /* decode/operation.h */

	/**
	 * Names these frames. @frames is NULL if there is a reply.
	 * Return: 0 with @ret->items as @frames; -ENODATA: no answer; -ENOMEM.
	 */
	int (*name_frames)(const struct runtime_naming *with,
			   const struct runtime_frame *frames, size_t nr,
			   struct answers *ret);

	/**
	 * Replaces files' names by the paths that they stand for. Opens no file after
	 * 20 ms. NULL: names are paths.
	 *
	 * @state  NULL in the first call for @answers; heap, which the caller frees
	 * Return: 0: done; 1: done, but there was no time for all; -EAGAIN: call again;
	 * -ENOMEM.
	 */
	int (*find_files)(const struct runtime_naming *with, struct answers *answers,
			  void **state);
};

/* By number; operations that a runtime does not need are NULL. */
extern const struct runtime *const runtimes[NR_RUNTIMES];

/**
 * Finds the facts about an interpreter's file, as a process sees it. Most files are ruled
 * out by the path of @m, which is not that of others; the rest is inspected once.
 *
 * @m             its file is open
 * @who           waits for the answer
 * @ret           set on true
 * @ret_again_ns  lowered, if it is not known yet: when to call again (CLOCK_MONOTONIC); 0:
 *                soon
 * Return: false: @m maps none that this runtime can locate, or that is not known yet.
 */
bool runtime_facts_of(enum runtime_number number, const struct mapping *m,
		      struct shared_worker *decoder, struct tenant who,
		      struct runtime_facts *ret, uint64_t *ret_again_ns);

/** Returns the runtime of a frame with LB_FRAME_TAG. NULL: none, a bug. */
const struct runtime *runtime_of_frame(uint64_t frame);

#define RUNTIME_ROW(number, name) extern const struct runtime name##_runtime;
RUNTIME_ROWS(RUNTIME_ROW)
#undef RUNTIME_ROW

#endif
