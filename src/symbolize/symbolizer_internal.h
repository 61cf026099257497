/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the symbolizer, shared by the files for each kind of source. */
#ifndef LB_SYMBOLIZE_SYMBOLIZER_INTERNAL_H
#define LB_SYMBOLIZE_SYMBOLIZER_INTERNAL_H

#include "decode/answer.h"
#include "symbolize/debugfile.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbolizer.h"
#include "symbolize/address_table.h"

struct symbolizer {
	struct symbolizer_config config; /* strings interned, defaults filled in */
	struct strpool *pool; /* borrowed */
	struct worker *worker; /* borrowed */
	struct process_table *processes; /* borrowed; may be NULL */
	struct address_table table;
	size_t next_source; /* for symbolizer_resolve_step() */
	bool no_memory; /* an earlier source ran out of memory */

	int own_root_fd; /* O_PATH on "/" */
	int own_debug_fd; /* O_PATH on config.debug_dir; -1: none */
	int vdso_fd; /* -1: not opened yet, or none */
	uint64_t vdso_size;
	bool vdso_tried;

	struct kallsyms *kallsyms; /* NULL: not loaded yet, or hidden */
	bool kallsyms_tried;
	struct object **modules; /* objects of the kernel, [0] is vmlinux */
	size_t nr_modules, cap_modules;

	struct frame **frames; /* arrays that entries point into */
	size_t nr_frames, cap_frames;
	uint64_t nr_files, nr_bad_jit_records;
	int64_t defs_budget_ns; /* time left to search Python definitions */

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
	} codes;
};

/* Most memory for code; later answers lose their code. */
#define SYMBOLIZER_MAX_CODE_BYTES (64u << 20)

/* Addresses in one request; a source with more takes several. */
#define SYMBOLIZER_MAX_BATCH (512u << 10)

/*
 * Each resolves the pending entries of one source, and always sets an answer in each.
 * Return: 0 or -ENOMEM.
 */
int symbolizer_elf_resolve(struct symbolizer *s, struct source *source);
int symbolizer_jit_resolve(struct symbolizer *s, struct source *source);
int symbolizer_interp_resolve(struct symbolizer *s, struct source *source);
int symbolizer_kernel_resolve(struct symbolizer *s, struct source *source);

struct elf_question {
	uint32_t flags; /* ELF_REQUEST_* */
	int fd;
	const uint8_t *build_id; /* expected */
	size_t build_id_len; /* 0: any */
	size_t nr_code; /* the first nr_code addresses request code */
	struct debugfile_search *search; /* where to search the files it needs */
};

/**
 * Asks DECODER_ELF to name @nr addresses of one file. If the decoder dies, asks once more
 * for symbols without lines.
 *
 * @object  gets build id and segment; may be NULL
 * @ret     set on MISS_NONE: one answer per address Return: the enum miss of the whole
 * file, or -ENOMEM.
 */
int symbolizer_elf_ask(struct symbolizer *s, const struct elf_question *question,
		       const uint64_t *addresses, size_t nr, struct object *object,
		       struct answers *ret);

/**
 * Takes an array of frames until the symbolizer is freed and sets *@frames to NULL.
 * Return: 0, or -ENOMEM with *@frames still the caller's.
 */
int symbolizer_keep_frames(struct symbolizer *s, struct frame **frames);

/**
 * Stores the new code in @answers, which is for addresses of @object; strings belong to
 * the symbolizer's pool. @answers still owns its arrays, which may become NULL.
 * Return: 0 or -ENOMEM.
 */
int symbolizer_keep_codes(struct symbolizer *s, const struct object *object,
			  struct answers *answers);

/** Writes @answer, whose frames were stored, into @resolved. */
void symbolizer_apply(struct resolved *resolved, const struct answer *answer);

#endif
