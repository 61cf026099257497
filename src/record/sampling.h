/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configuration of a recording. */
#ifndef LB_RECORD_SAMPLING_H
#define LB_RECORD_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/attribution.h"
#include "collect/sample_source.h"
#include "runtime/jit/watch.h"
#include "target/request.h"

#define DEFAULT_MEMORY_MIB 256 /* of record without -d */

struct profile;

/*
 * Takes each window in place of a file (lineburn top). The recorder calls it from its
 * writer's thread, one window at a time, and changes the profile only when it has
 * returned.
 */
struct window_taker {
	/*
	 * @tables  number of the tables of @p: while it is the same, the tables of the
	 * last window are the beginning of these (profile/mirror.h)
	 */
	void (*take)(void *ctx, const struct profile *p, uint64_t tables);
	/* Is the text of hot source files wanted with the next window? */
	bool (*wants_sources)(void *ctx);
	void *ctx;
};

enum dump {
	DUMP_NONE,
	DUMP_SAMPLES, /* rows as they come from the kernel */
	DUMP_MAPS, /* program images and their mappings */
	DUMP_FRAMES, /* addresses and their names */
};

/* Strings are borrowed. */
struct sampling {
	struct target_request target;
	const struct sample_source_kind *source;
	uint32_t freq_hz; /* of a clock source */
	uint32_t event_period; /* of an event source: events per sample */
	uint32_t budget_ppm; /* limit of sampling's cost, of all CPUs' time; 0: none */
	double duration_s; /* 0: until stopped */
	double delay_s;
	double window_s; /* length of a window; 0: one file */
	const struct window_taker *taker; /* takes the windows; NULL: files do */
	uint32_t keep_windows; /* newest windows kept; 0: all */
	uint64_t max_size_bytes; /* of all files of windows; 0: no limit */
	bool group_reads; /* files of windows, too */
	uint64_t memory_bytes; /* resident limit; 0: not given */
	const char *output;
	bool output_given;
	bool keep_tid;
	bool names_ahead; /* names addresses while it samples: then the end is quick */
	bool no_kernel_stack;
	enum jit_probing probing;
	uint32_t max_frames; /* of a user stack */
	uint64_t unwind_bytes; /* of kernel memory for unwind rows */
	struct {
		size_t files; /* descriptors of targets' files */
		size_t addresses;
		size_t name_bytes;
	} limits; /* of tables; 0: default. Tests set smaller ones. */
	int ready_fd; /* of a program that waits until sampling begins; 0: none */
	bool dry_run;
	bool no_python_hook;
	enum dump dump;
	char **argv; /* run: the command, NULL-terminated; points into argv of main */
	struct attribution_options attribution; /* chooses the sources to store */
};

#endif
