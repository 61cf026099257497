/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile in the formats of other tools. An exporter looks nothing up: its
 * input has everything it writes.
 */
#ifndef LB_EXPORT_EXPORT_H
#define LB_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/attribution.h"
#include "base/error.h"
#include "profile/profile.h"

struct export_input {
	const struct profile *profile;
	const struct attribution *attribution; /* of the profile */
	const uint8_t *phases; /* enum phase of each sample */
	/* Keys of the labels to keep. None for a format without labels. */
	const char *const *labels;
	size_t nr_labels;
	bool stable_labels; /* as line_stacks_labels.is_stable */
};

/**
 * Writes to @out. The caller checks @out for errors.
 *
 * @ret_note  receives a sentence about what was left out, for the user (interned), or
 *            stays as it is: nothing
 * Return: 0, -EFBIG (over a limit of the format), -EINVAL (the profile has nothing for
 *         it) or -ENOMEM, with a message in @err.
 */
typedef int (*export_fn)(const struct export_input *in, FILE *out, const char **ret_note,
			 struct error *err);

/*
 * pprof as servers take it: lines instead of addresses, self as in annotate, at most 4
 * MiB unpacked and 16,000 samples. A larger profile loses callers (line_stacks_cut()).
 */
int export_pprof(const struct export_input *in, FILE *out, const char **ret_note,
		 struct error *err);
/* The recording as it is, with addresses and all labels, but without Extra. */
int export_pprof_full(const struct export_input *in, FILE *out, const char **ret_note,
		      struct error *err);
/* One line for each stack, of functions: "comm;main;work 12". */
int export_folded(const struct export_input *in, FILE *out, const char **ret_note,
		  struct error *err);
/* The same with lines, for perfanno.nvim: "main /src/a.c:30;work /src/a.c:12 40". */
int export_folded_perfanno(const struct export_input *in, FILE *out,
			   const char **ret_note, struct error *err);
/* For Emacs' flamegraph.el: "comm;main (/src/a.c:30);work (/src/a.c:12) 40". */
int export_folded_emacs(const struct export_input *in, FILE *out, const char **ret_note,
			struct error *err);
/* What perfanno for VS Code reads of a perf report: "40 main /src/a.c:30;...". */
int export_perf(const struct export_input *in, FILE *out, const char **ret_note,
		struct error *err);
/* Costs of lines and calls, for KCachegrind and callgrind_annotate. */
int export_callgrind(const struct export_input *in, FILE *out, const char **ret_note,
		     struct error *err);
/*
 * LLVM's sample profile: samples of native code by function and line, for
 * clang -fprofile-sample-use. It has no callers, and is made of the profile itself.
 */
int export_autofdo(const struct export_input *in, FILE *out, const char **ret_note,
		   struct error *err);
/* speedscope's JSON: a profile for each thread, a frame for each line. */
int export_speedscope(const struct export_input *in, FILE *out, const char **ret_note,
		      struct error *err);
/* A CPU profile of the Chrome DevTools Protocol, for VS Code: a node for each line. */
int export_cpuprofile(const struct export_input *in, FILE *out, const char **ret_note,
		      struct error *err);
/* The Firefox Profiler's processed profile, gzipped, with the text of sources. */
int export_firefox(const struct export_input *in, FILE *out, const char **ret_note,
		   struct error *err);

/* One row per format. */
struct export_format {
	const char *name; /* "pprof" */
	const char *suffixes; /* of file names, space-separated: the first is ours */
	bool is_binary; /* not for a terminal */
	bool opens_files; /* its reader takes the text of lines from the disk */
	/* Labels that are kept by default, NULL at the end; NULL: nobody can choose. */
	const char *const *labels;
	export_fn write;
};
extern const struct export_format export_formats[];
extern const size_t nr_export_formats;

/** Finds a format. NULL: there is none with that name. */
const struct export_format *export_format_find(const char *name);

/**
 * Finds the format by the longest suffix of a file's name; callgrind.out.PID is
 * callgrind. NULL: the name tells none.
 */
const struct export_format *export_format_of_file(const char *path);

#endif
