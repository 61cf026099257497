/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file with debug information: its sections as bytes, decompressed when
 * first used, and what belongs to the file as a whole (units, executable
 * ranges). Uncompressed sections are mapped and cost no anonymous memory.
 */
#ifndef LB_DECODE_DWARF_FILE_H
#define LB_DECODE_DWARF_FILE_H

#include <elf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/dwarf/cursor.h"
#include "decode/elf/binary.h"
#include "decode/need.h"

enum debug_section {
	DEBUG_INFO,
	DEBUG_ABBREV,
	DEBUG_LINE,
	DEBUG_STR,
	DEBUG_LINE_STR,
	DEBUG_STR_OFFSETS,
	DEBUG_ADDR,
	DEBUG_RANGES,
	DEBUG_RNGLISTS,
	DEBUG_CU_INDEX,
	NR_DEBUG_SECTIONS,
};

/* Maximum bytes of decompressed sections of all open files. */
#define DEBUG_MAX_INFLATED_BYTES (384ULL << 20)
#define DEBUG_MAX_UNITS          (4u << 20) /* in one file; more are not read */
#define DEBUG_WORK_PER_BYTE      64 /* budget of work per byte of a file */
#define DEBUG_MAX_EXEC_RANGES    4096 /* more: ranges of code count as unknown */

/* Role of a file. */
enum debug_file_kind {
	DEBUG_FILE_PROGRAM, /* a linked file, or its separate debug file */
	DEBUG_FILE_DWZ, /* written by dwz; its type is ET_REL */
	DEBUG_FILE_SPLIT, /* .dwo or .dwp: names of sections end in ".dwo" */
};

/* Requests another file. Return: a descriptor, which dwarf_source closes, or -1. */
typedef int (*dwarf_need_fn)(void *ctx, const struct need *need);

/* Parts that were not found or not read since dwarf_source_open(). */
struct dwarf_stats {
	uint64_t nr_dwo_missing; /* units whose .dwo was not found or did not match */
	uint64_t nr_dwz_missing; /* names that are in a dwz file that was not found */
	uint64_t nr_bad_units; /* units that are malformed or of an unknown version */
};

/* @line  of the row that begins at @vaddr; 0: the compiler gave none */
typedef void (*dwarf_row_fn)(void *ctx, uint64_t vaddr, uint32_t line);

/* Shared by all files of one dwarf_source. */
struct debug_context {
	dwarf_need_fn need; /* may be NULL */
	void *need_ctx;
	uint64_t inflated_left; /* bytes */
	uint64_t work_left; /* budget left for this call, in bytes and entries */
	bool over_inflated; /* a section was not read, because of its size */
	bool corrupt_section; /* a section could not be decompressed */
	struct dwarf_stats stats;
};

struct addr_range {
	uint64_t start, end;
};

struct debug_file {
	struct debug_context *context;
	struct binary *binary;
	uint64_t work_allowed; /* budget from this file's size; see debug_spend() */
	bool owns_binary; /* else it is borrowed */
	enum debug_file_kind kind;
	struct {
		Elf_Scn *scn; /* NULL: there is none */
		struct bytes bytes;
		bool loaded;
		uint64_t inflated_bytes; /* heap taken by its decompressed form */
	} sections[NR_DEBUG_SECTIONS];
	struct addr_range *exec; /* ranges that can have code; sorted, disjoint */
	size_t nr_exec, cap_exec; /* nr 0: not known */
	uint64_t *units; /* offsets in DEBUG_INFO, ascending; see unit_index() */
	size_t nr_units, cap_units;
	bool units_indexed, units_damaged; /* damaged: the list ends early */
	struct debug_file *alt, *dwp; /* see unit.h; NULL: none, or not found */
	bool alt_tried, dwp_tried;
};

/**
 * Reads the section headers.
 *
 * @binary  borrowed until debug_file_free(); its sections are decompressed in place
 *
 * Return: 0, -ENODATA (no .debug_info; a program that is not linked yet; not a
 * little-endian file), -EBADMSG (malformed), -ENOMEM.
 */
int debug_file_open(struct binary *binary, enum debug_file_kind kind,
		    struct debug_context *context, struct debug_file **ret);
/* Also frees its alt and dwp. */
void debug_file_free(struct debug_file *f);
DEFINE_CLEANUP(struct debug_file, debug_file_free);

/** Bytes of the heap of @f, its alt and its dwp, without what is decompressed. */
uint64_t debug_file_heap_bytes(const struct debug_file *f);

/**
 * Replaces DEBUG_INFO by the next section of that name: gcc writes each type unit of
 * DWARF 5 into its own section of a .dwo. What was read from the one before is no
 * longer valid. Return: false: there is none.
 */
bool debug_file_next_info(struct debug_file *f);

/** The section's bytes; empty when there is none or it cannot be decompressed. */
struct bytes debug_file_section(struct debug_file *f, enum debug_section section);

/** Can code be at @vaddr? Not that of functions the linker dropped (address 0, -1). */
bool debug_file_is_code(const struct debug_file *f, uint64_t vaddr);

/**
 * Reads .gnu_debugaltlink: the file's name as written, and its build id; both borrowed.
 * Return: false when there is none.
 */
bool debug_file_altlink(struct debug_file *f, struct bytes *ret_name,
			struct bytes *ret_id);

/*
 * Takes @n from this call's budget of work, because a few bytes can refer to the same
 * large table many times. Return: false: the budget is used up.
 */
static inline bool debug_spend(struct debug_file *f, uint64_t n)
{
	if (f->context->work_left < n) {
		f->context->work_left = 0;
		return false;
	}
	f->context->work_left -= n;
	return true;
}

#endif
