/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the lines of whole functions of one image from its DWARF: a chain of frames for
 * each place where the line may change. Whole functions, because an address alone does
 * not always determine its line (numba/lines.h).
 */
#ifndef LB_DECODE_JIT_FUNCTION_LINES_H
#define LB_DECODE_JIT_FUNCTION_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/strpool.h"
#include "decode/frame.h"
#include "decode/jit/image.h"

/* A row holds up to the next row of the function, or to its end. */
struct function_row {
	uint64_t ip;
	uint32_t first_frame, nr_frames; /* in line_store.frames; innermost first */
	enum miss miss; /* why frames[0] has no line */
	bool unlined; /* line 0 in the line table: the line is inferred */
};

/* Rows and frames of all functions of a request. Strings are interned. */
struct line_store {
	struct strpool *pool; /* borrowed */
	struct function_row *rows;
	size_t nr_rows, cap_rows;
	struct frame *frames;
	size_t nr_frames, cap_frames;
};

#define LINE_STORE_MAX_ROWS   (2u << 20)
#define LINE_STORE_MAX_FRAMES (4u << 20)

void line_store_deinit(struct line_store *s);

struct function_lines {
	uint64_t start_ip, end_ip;
	uint32_t first_row, nr_rows; /* in line_store.rows, ascending; none: no DWARF */
};

/**
 * @functions  of this image, ascending start_ip, disjoint; rows are written
 * @ips        ascending; each gets a row of its own where a function holds it
 * Return: 0, -ENODATA (the image has no lines), -EBADMSG (malformed), -ENOSPC (over a
 * maximum), -ENOMEM. On failure the functions have no rows.
 */
int function_lines_read(struct line_store *s, const struct jit_image *m,
			struct function_lines *functions, size_t nr_functions,
			const uint64_t *ips, size_t nr_ips);

/** The row that covers @ip, or NULL. */
struct function_row *function_lines_at(const struct line_store *s,
				       const struct function_lines *f, uint64_t ip);

/*
 * Readable names for the functions of JIT images. A function has the same name wherever
 * it occurs: as code of its own, inlined, copied into another image, with other types.
 * Full debug info has the mangled name of each function. Line tables alone have only
 * the last part of the names of inlined functions ("sq"); other functions of the
 * request with the same file supply the rest ("__main__.sq").
 */

/* Inputs for the name of one function. */
struct function_name {
	const char *symbol; /* of the image's symbol table, interned; "" none */
	bool numba; /* its image is Numba's */
	const char *prange; /* of a prange body: "prange in psum"; NULL: unknown */
};

/* Facts collected so far. */
struct function_names {
	struct strpool *pool; /* borrowed; set by the caller */
	struct file_module *modules;
	size_t nr_modules, cap_modules;
	struct hashmap index; /* of modules, by file */
	struct readable_name *readables; /* of mangled names, which many rows have */
	size_t nr_readables, cap_readables;
	struct hashmap readables_index; /* by name */
};

void function_names_deinit(struct function_names *n);

/**
 * Learns modules. Call it for all functions, after the rules of numba/lines.h and
 * before the first function_names_apply(). Return: 0 or -ENOMEM.
 */
int function_names_learn(struct function_names *n, const struct line_store *s,
			 const struct function_lines *f,
			 const struct function_name *name);

/** Renames the frames of all rows. Call it once per function. */
void function_names_apply(struct function_names *n, struct line_store *s,
			  const struct function_lines *f,
			  const struct function_name *name);

/** The frame of a function that has no lines. */
struct frame function_names_bare(struct function_names *n,
				 const struct function_name *name);

/** Is @symbol of a kind that only Numba generates? */
bool function_names_is_numba(const char *symbol);

/**
 * Writes the last part of Numba's name in @symbol, "psum" of "__main__.psum"; returns
 * @buf.
 */
const char *function_names_last_part(const char *symbol, char *buf, size_t size);

#endif
