/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile in which the innermost frame of a sample is the line that is charged with
 * it. Other tools charge a sample to its innermost frame, whatever code that is; so
 * their self of a line becomes that of annotate.
 *
 * 	before                                  after
 * 	vfs_read       [kernel.kallsyms]
 * 	read           libc.so.6
 * 	_io_read       libpython3.11.so
 * 	load           [python]    app.py:7     load      [python]   app.py:7
 * 	_PyEval_Vector libpython3.11.so
 * 	<module>       [python]    app.py:30    <module>  [python]   app.py:30
 * 	Py_RunMain     libpython3.11.so         Py_RunMain libpython3.11.so
 *
 * Frames of an interpreter inside of any line are left out. Frames of code whose lines
 * do not count for the sample (attribution.h) keep their function, without a line.
 * Locations have no address, so equal lines are one location, and equal stacks with
 * equal labels one sample. Extra and statuses are left out, times stay.
 */
#ifndef LB_ANALYZE_LINE_STACKS_H
#define LB_ANALYZE_LINE_STACKS_H

#include "analyze/attribution.h"
#include "profile/profile.h"

/* The function that stands for callers which line_stacks_cut() leaves out. */
#define LINE_STACKS_CUT "[callers left out]"

struct line_stacks_labels {
	const char *const *keys; /* the labels to keep */
	size_t nr;
	/*
	 * Leave out what is different after each start: a kernel thread's number in its
	 * comm, units that are scopes.
	 */
	bool is_stable;
	/* enum phase of each sample, for the key LABEL_PHASE. NULL: not known */
	const uint8_t *phases;
};

/**
 * Makes such a profile of @p. It has the same values in all, and shares the pool.
 *
 * @a  of @p; its options decide which lines count
 * Return: 0 or -ENOMEM.
 */
int line_stacks_new(const struct profile *p, const struct attribution *a,
		    const struct line_stacks_labels *labels, struct profile **ret);

/**
 * Makes a smaller profile of a result of line_stacks_new(). The @nr_whole heaviest
 * samples stay as they are. Of the others the innermost frame stays, called by
 * LINE_STACKS_CUT: the self of lines stays, their total loses these samples.
 *
 * @ret_cut  receives the weight of these samples
 * Return: 0 or -ENOMEM.
 */
int line_stacks_cut(const struct profile *p, size_t nr_whole, struct profile **ret,
		    struct weight *ret_cut);

#endif
