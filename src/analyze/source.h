/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source text around hot lines. A recording stores it in the profile, a viewer attaches
 * it.
 */
#ifndef LB_ANALYZE_SOURCE_H
#define LB_ANALYZE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribution.h"
#include "base/io.h"

#define SOURCE_MAX_BYTES      (4u << 20) /* of text in one profile */
#define SOURCE_MAX_FILE_BYTES (32u << 20)
/* The user's own files up to this size are stored whole. */
#define SOURCE_WHOLE_BYTES    (64u << 10)
#define SOURCE_CONTEXT_LINES  20 /* else this many around each line with samples */
#define SOURCE_FUNCTION_LINES 2000 /* most lines of one function, from its start */
#define SOURCE_LIBRARY_LINES  5 /* of a library's file: around each line with self */
#define SOURCE_CALL_LINES     2 /* around one with a total alone */
/* A library's lines with less than these parts of all samples have no stored text. */
#define SOURCE_SELF_PARTS  1000
#define SOURCE_TOTAL_PARTS 200
#define SOURCE_MAX_FILES   4096 /* most files opened when recording */
#define SOURCE_LINE_BYTES  500 /* longer lines end in "..." */

/* Most bytes that source_attach() reads from disk, and most lines it returns. */
#define SOURCE_MAX_ATTACHED_BYTES (128u << 20)
#define SOURCE_MAX_ATTACHED_LINES (1u << 24)

/**
 * Reads a source file at record time, with the privileges of the target's user, if it is
 * no larger than SOURCE_MAX_FILE_BYTES. @ret  heap, terminated. Return: 0 or -errno.
 */
typedef int (*source_read_fn)(void *ctx, const char *path, char **ret, size_t *ret_len,
			      int64_t *ret_mtime_ns);

/**
 * Stores the text of @a's files in p->extra.sources, the user's own first, then those of
 * libraries, each from the hottest on. Own files are stored whole if they are small, else
 * a window around every line with samples, from the start of its function if known. Of
 * files of libraries it stores smaller windows around their hotter lines, and does not
 * open those that are cold everywhere. Skips a file that cannot be opened, is not text,
 * is too large or does not fit, and names that are not absolute paths. Leaves
 * newer_than_binary false, because only the caller knows the binary's age.
 *
 * Return: 0 or -ENOMEM.
 */
int source_collect(struct profile *p, const struct attribution *a,
		   source_read_fn read_source, void *ctx);

/** Computes profile_source.sha256 of a whole file. */
void source_hash(const char *text, size_t len, uint8_t ret[32]);

/*
 * "--source-path OLD=NEW": a path that starts with OLD (whole components) is searched
 * at NEW. OLD may be "" for paths that do not start with "/".
 */
struct source_path_rule {
	const char *old_prefix, *new_prefix;
};

/**
 * Returns the first rule below whose NEW @path is, without any ".." after it, or NULL. What
 * such a rule allows to be opened is what io_open_regular_below() opens below NEW.
 */
const struct source_path_rule *source_rule_above(const struct source_path_rule *rules,
						 size_t nr_rules, const char *path);

/* Where to search source that is not in the profile. */
struct source_search {
	const struct source_path_rule *rules;
	size_t nr_rules;
	/*
	 * The profile is untrusted: opens only files that it names below the NEW of a
	 * rule, and only if no ".." and no link leads out of NEW.
	 */
	bool is_strangers;
	/*
	 * Programs of strangers may have named what they cannot read: the path of a file
	 * that the recording has not read is opened as nobody. Who may not become nobody
	 * opens none.
	 */
	bool is_careful;
	struct file_opener opener;
	/*
	 * Files whose self and total are below this share of all samples are not searched
	 * on disk: they will not be shown.
	 */
	double min_share;
};

/**
 * Attaches text to every file of @a: from the profile, else from disk (by the first
 * matching rule, then the path itself), else sets a note with the places searched. If
 * the profile has parts of a file, the whole file is taken from disk if it is still the
 * same.
 * Opens only regular files, and none in /proc and the like. Removes no_code lines whose
 * text cannot have code: blank lines, comments, lone brackets, bodies of nested
 * functions (Python). Opens files with the thread's privileges: root that reads for
 * another user must wrap the call in creds_become().
 *
 * Return: 0 or -ENOMEM; missing text is not a failure.
 */
int source_attach(struct attribution *a, const struct profile *p,
		  const struct source_search *search);

/**
 * For outputs without text, whose reader opens the files itself: marks each file of @a
 * as is_changed if the file on disk is not the recorded text; without a recorded text,
 * if it is younger than the recording or has fewer lines than were sampled. Opens files
 * as source_attach() does, and says nothing of one that it cannot read.
 *
 * Return: 0 or -ENOMEM.
 */
int source_compare(struct attribution *a, const struct profile *p,
		   const struct source_search *search);

#endif
