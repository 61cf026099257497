/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps only the samples with some frames, or without, and hides frames: pprof's
 * options. A frame matches if the regular expression (POSIX extended) is found in its
 * function, its file or the mapping that it is in.
 *
 *   focus   keeps samples with a frame that matches; of several, with any of them
 *   ignore  drops samples with a frame that matches
 *   hide    takes frames that match from their stacks, so their self becomes that of
 *           their callers; drops samples that have no other frames
 */
#ifndef LB_ANALYZE_FRAME_FILTER_H
#define LB_ANALYZE_FRAME_FILTER_H

#include "analyze/filter.h"

enum frame_filter_kind {
	FRAME_FOCUS,
	FRAME_IGNORE,
	FRAME_HIDE,
	NR_FRAME_FILTER_KINDS,
};

/* "focus", "ignore", "hide": for options, JSON and messages. */
extern const char *const frame_filter_names[NR_FRAME_FILTER_KINDS];

struct frame_filter {
	enum frame_filter_kind kind;
	const char *regex;
};

/** Compiles @regex once. Return: 0, or -EINVAL with a message about @option. */
int frame_filter_check(const char *regex, const char *option, struct error *err);

/**
 * Applies the filters: first focus and ignore, then hide. Extends *@ret, the result of
 * filter_profile(); makes it if it is NULL. It borrows @filters.
 *
 * @nr  1 to FILTER_MAX_FILTERS
 * Return: 0; -ENOMEM; -ENODATA with EXIT_NO_SAMPLES and a message if @p has samples and
 * none is left. After an error @p is of no use.
 */
int frame_filter_profile(struct profile *p, const struct frame_filter *filters, size_t nr,
			 struct filtered **ret, struct error *err);

#endif
