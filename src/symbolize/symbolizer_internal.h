/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the symbolizer, shared by the files for each kind of source. */
#ifndef LB_SYMBOLIZE_SYMBOLIZER_INTERNAL_H
#define LB_SYMBOLIZE_SYMBOLIZER_INTERNAL_H

#include "decode/answer.h"
#include "process/kernel_code.h"
#include "symbolize/debugfile.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbolizer.h"
#include "symbolize/address_table.h"

/* Frames of an interpreter, sorted by code object and index. */
struct frame_item {
	uint64_t frame;
	struct resolved *resolved;
};

/*
 * Work on one source, which sends its pending entries to the decoder in batches.
 * Zero-initialised: not begun. A drain may come between a request and its answer, so
 * anything it may change (descriptors, arrays of a process) is looked up again.
 */
struct resolve_work {
	bool is_begun, is_sent;
	uint64_t sent_ns; /* CLOCK_MONOTONIC */
	struct wire_writer request; /* the request, while it is being sent */
	size_t from, nr; /* the batch: pending[from, from + nr), or items */
	size_t nr_asked; /* FILE, VDSO: different addresses of the batch */

	/* FILE, VDSO */
	size_t nr_code; /* entries, from pending[from] on, that request code */
	bool is_retry; /* without lines, because the decoder gave up */
	const struct source *source; /* NULL: symbolizer_resolve_vaddrs() */
	struct debugfile_search search;
	/* Who can open its debug files; first the one who pays for the request. */
	struct source_user users[SOURCE_MAX_WANTING];
	size_t nr_users;
	size_t user; /* whose rights are used now */
	uint64_t needed; /* hash of the last file that was needed */
	size_t nr_searched; /* users before this one, for that file */
	bool was_denied; /* some file may not be opened by any of them */

	/* JIT: addresses without a name yet are moved to the front */
	size_t provider; /* the current one */
	size_t kept, nr_todo; /* addresses for the next provider; for this one */
	bool refused, gave_up, late, too_many, unknown; /* why a provider failed */
	bool is_put_off; /* one was not asked, as its tenant had its share */
	struct def_search *defs; /* NULL: none are searched */

	/* JIT, INTERP: time that its tenant's searches for files took so far */
	uint64_t search_ns;

	/* INTERP */
	struct frame_item *items;
	size_t nr_items;
	struct answers answers; /* of the batch, whose files are searched; else empty */
	void *files; /* heap: the runtime's state of this search */
};

/* Changes of the kernel's modules that are told apart: the oldest ones are forgotten. */
#define MAX_KERNEL_MODULES 16

struct symbolizer {
	struct symbolizer_config config; /* strings interned, defaults filled in */
	struct strpool *pool; /* borrowed */
	struct worker *worker; /* borrowed */
	struct process_table *processes; /* borrowed; may be NULL */
	struct address_table table;
	size_t mappings_left; /* ended ones that the stack's look-ups may still pass */
	size_t next_source; /* for symbolizer_resolve_step() */
	struct resolve_work work; /* on next_source */
	bool no_memory; /* an earlier source ran out of memory */
	bool is_hurried; /* the decoder is asked no more */

	int own_root_fd; /* O_PATH on "/" */
	int own_debug_fd; /* O_PATH on config.debug_dir; -1: none */
	int vdso_fd; /* -1: not opened yet, or none */
	uint64_t vdso_size;
	bool vdso_tried;

	struct kallsyms *kallsyms; /* NULL: not loaded yet, or hidden */
	bool kallsyms_tried;
	/* When they were loaded: kernel_code.nr_lists, and the modules as a hash. */
	uint64_t kallsyms_lists, kallsyms_modules;
	/*
	 * The modules as a hash, which is read once a pass; each since they may have come,
	 * which is when those before were read last.
	 */
	struct kernel_modules {
		uint64_t hash, since_ns;
	} kernel_modules[MAX_KERNEL_MODULES];
	size_t nr_kernel_modules;
	uint64_t modules_read_ns;
	bool knows_modules;
	struct object *kernel; /* NULL: nothing of it was wanted */
	struct object **modules; /* objects of the kernel, [0] is vmlinux */
	size_t nr_modules, cap_modules;

	struct frame **frames; /* arrays that entries point into */
	size_t nr_frames, cap_frames;
	/*
	 * Frames that addresses have between their innermost and their outermost one: as many
	 * as there may be addresses. Most addresses have none, but code may have 62 at each.
	 */
	uint64_t nr_middle;
	struct quota middle_quota;
	uint64_t nr_files, nr_bad_jit_records;

	struct symbolizer_codes {
		struct resolved_code *items;
		size_t nr, cap;
		struct hashmap index;
		struct {
			struct code_row *rows;
			uint8_t *bytes;
		} * blocks; /* heap that items point into */
		size_t nr_blocks, cap_blocks;
		size_t nr_bytes; /* of them */
		struct quota quota; /* of SYMBOLIZER_MAX_CODE_BYTES */
	} codes;
};

/* Most memory for code; later answers lose their code. */
#define SYMBOLIZER_MAX_CODE_BYTES (64u << 20)

/*
 * Pause after a late answer, in times of what it took, which then doubles: for names with
 * lines without an end. A file that always takes the 20 s costs these in 10 minutes, then in
 * 20, then in 40. After a read that got stuck for 0.5 s the pause is short.
 */
#define SYMBOLIZER_LATE_TIMES 30

/* Addresses in one request; a source with more takes several. */
#define SYMBOLIZER_MAX_BATCH (512u << 10)

/*
 * How sources of one kind are resolved. After end() all pending entries of a source
 * must have an answer. Functions that can fail return -ENOMEM.
 */
struct resolver {
	/* May be NULL. Return: 0. */
	int (*begin)(struct symbolizer *s, struct source *source);
	/*
	 * Sends the next request with symbolizer_send(), or does a short step without
	 * one.
	 * Return: 1; 0: all is done.
	 */
	int (*step)(struct symbolizer *s, struct source *source);
	/* Takes the answer to the request. @r is valid for WORKER_OK. Return: 0. */
	int (*take)(struct symbolizer *s, struct source *source,
		    enum worker_answer answer, struct wire_reader *r);
	/* May be NULL. @is_whole: no function failed. */
	void (*end)(struct symbolizer *s, struct source *source, bool is_whole);
};

extern const struct resolver symbolizer_elf, symbolizer_jit, symbolizer_interp,
	symbolizer_kernel;

/**
 * Sends s->work.request. @who  waits for its answer, as worker_serves(). Return: 1, or
 * -ENOMEM if there was no memory for the request.
 */
int symbolizer_send(struct symbolizer *s, struct tenant who, uint32_t op, const int *fds,
		    size_t nr_fds, worker_need_fn need, unsigned int deadline_ms);

/** Had the tenant its share of the decoder's time? */
bool symbolizer_is_used_up(const struct symbolizer *s, struct tenant who);
/** It took the time since @begin_ns (CLOCK_MONOTONIC). */
void symbolizer_took(struct symbolizer *s, struct tenant who, uint64_t begin_ns);
/** Begins to search files for a source. */
void symbolizer_begin_search(struct symbolizer *s, const struct source *source);
/**
 * May files be searched for it? The target chooses the names, and can use any number of them.
 * Searches end first: names matter more.
 */
bool symbolizer_may_search(const struct symbolizer *s, const struct source *source);
/** A search for it took this time. */
void symbolizer_searched(struct symbolizer *s, struct source *source, uint64_t ns);
/** Counts work of a tenant that is not done, as it took too much time. */
void symbolizer_count_put_off(struct symbolizer *s);

/** Returns how many of @left entries one request takes. */
static inline size_t symbolizer_batch(size_t left)
{
	return left < SYMBOLIZER_MAX_BATCH ? left : SYMBOLIZER_MAX_BATCH;
}

/** Returns who pays for the names of its code. */
struct payers symbolizer_payers(const struct source *source);

/**
 * Keeps an array of frames until the symbolizer is freed, and sets *@frames to NULL.
 * Return: 0, or -ENOMEM; the caller still owns *@frames then.
 */
int symbolizer_keep_frames(struct symbolizer *s, struct frame **frames);

/**
 * Keeps the frames of @answers, whose entries have @nr_middle frames between their innermost
 * and their outermost one: without these, counted, if they are too many for who pays for
 * @source. Return: as symbolizer_keep_frames().
 */
int symbolizer_keep_answers(struct symbolizer *s, const struct source *source,
			    struct answers *answers, uint64_t nr_middle);
/** The same if there is one entry for each answer. */
int symbolizer_keep_all(struct symbolizer *s, const struct source *source,
			struct answers *answers);

/**
 * Stores the new code of @answers, for addresses of @source, if who pays for it has room;
 * strings belong to the symbolizer's pool. @answers still owns its arrays, some of which
 * become NULL.
 * Return: 0 or -ENOMEM.
 */
int symbolizer_keep_codes(struct symbolizer *s, const struct source *source,
			  struct answers *answers);

void symbolizer_codes_deinit(struct symbolizer *s);

/** Copies @answer into @resolved. Its frames must be stored already. */
void symbolizer_apply(struct resolved *resolved, const struct answer *answer);

#endif
