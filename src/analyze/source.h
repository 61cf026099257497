/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source text around hot lines. A recording stores it in the profile; a viewer attaches it
 * to the lines.
 */
#ifndef LB_ANALYZE_SOURCE_H
#define LB_ANALYZE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribution.h"

#define SOURCE_MAX_BYTES      (4u << 20) /* of text in one profile (DESIGN C1) */
#define SOURCE_MAX_FILE_BYTES (32u << 20)
#define SOURCE_WHOLE_BYTES    (64u << 10) /* files up to here are kept whole */
#define SOURCE_CONTEXT_LINES  20 /* kept around each line with samples, else */
#define SOURCE_FUNCTION_LINES 2000 /* most lines of one function, from its start */
#define SOURCE_MAX_FILES      4096 /* most files opened when recording */
#define SOURCE_LINE_BYTES     500 /* longer lines end in "..." */

/* Most that source_attach() reads from disk, and most lines it gives out. */
#define SOURCE_MAX_ATTACHED_BYTES (128u << 20)
#define SOURCE_MAX_ATTACHED_LINES (1u << 24)

/**
 * Opens a source file for reading at record time, by the rules of DESIGN C6 and
 * with the rights of the target's user. Return: a descriptor, or -errno.
 */
typedef int (*source_open_fn)(void *ctx, const char *path);

/**
 * Keeps text of the files of @a, hottest first, in p->extra.sources: whole small
 * files, else a window around every line that has samples, from the start of its
 * function where that is known. A file that cannot be opened, is no text, is too
 * large or does not fit any more is left out; so are names that are no absolute
 * path. newer_than_binary is left false: the caller knows the binary's age.
 *
 * Return: 0 or -ENOMEM.
 */
int source_collect(struct profile *p, const struct attribution *a,
		   source_open_fn open_source, void *ctx);

/** SHA-256 of a whole file, as profile_source has it. */
void source_hash(const char *text, size_t len, uint8_t ret[32]);

/*
 * "--source-path OLD=NEW": a path that starts with OLD (whole parts of it) is
 * looked for at NEW. OLD may be "" for paths that do not start with "/".
 */
struct source_path_rule {
	const char *old_prefix, *new_prefix;
};

/* Where source is looked for that did not travel in the profile. */
struct source_search {
	const struct source_path_rule *rules;
	size_t nr_rules;
	/*
	 * The profile is a stranger's: of what it names nothing is opened, but below the
	 * NEW of a rule, and there nothing that has a ".." behind it.
	 */
	bool is_strangers;
};

/**
 * Gives every file of @a its text: from the profile, else from disk (after the
 * rules, first match wins; then the path itself), else a note that says where it
 * was looked for. Nothing but regular files is opened, and nothing of /proc and its like. Of lines marked no_code those stay whose text could have code: no
 * blank ones, comments, lone brackets, bodies of other functions inside (Python).
 * Files are opened with the rights that the thread has: root that
 * reads for somebody else wraps the call in creds_become().
 *
 * Return: 0 or -ENOMEM; no text is no failure.
 */
int source_attach(struct attribution *a, const struct profile *p,
		  const struct source_search *search);

/* ---- A text file as lines. Line numbers are 1-based; "\n" ends a line, "\r\n" too ---- */

struct source_line {
	const char *text; /* not terminated */
	size_t len; /* without the line's end */
};

/**
 * The next line from *at. Return: false at the end. What follows the last "\n" is
 * a line only when it is not empty.
 */
bool source_line_next(const char **at, const char *end, struct source_line *ret);

uint32_t source_count_lines(const char *text, size_t len);

/** Is it something to show? A NUL means that it is not. */
bool source_is_text(const char *data, size_t len);

/** Bytes that source_line_copy() writes, without the NUL: at most SOURCE_LINE_BYTES. */
size_t source_line_copied_len(const struct source_line *line);

/** Copies the line and a NUL; a long one is cut between characters and ends in "...". */
void source_line_copy(char *to, const struct source_line *line);

#endif
