/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the steps of an attribution share; only attribution*.c include it.
 *
 * What a frame means is decided once per address (frame index), so that charging
 * a sample is a walk over numbers.
 */
#ifndef LB_ANALYZE_ATTRIBUTION_WORK_H
#define LB_ANALYZE_ATTRIBUTION_WORK_H

#include "analyze/attribution.h"
#include "analyze/sample_weight.h"
#include "analyze/tally.h"
#include "profile/mapping_kind.h"

/* Of one mapping. */
struct code {
	enum code_kind kind;
	const char *object; /* what people call it; interned */
	bool may_charge; /* not the kernel or an interpreter, or asked for */
	bool is_system;
};

/* Of one source frame: parallel to profile.lines. */
struct site {
	uint32_t line; /* into work.lines; PROFILE_NONE: no line, or it may not count */
	uint32_t file; /* into work.files; valid with line */
	uint32_t function; /* into work.functions; PROFILE_NONE: no name */
	uint32_t name; /* into work.names */
	uint32_t at; /* (line, function): into work.sites_at; valid with both */
	bool is_mine; /* has a line outside libraries */
	bool has_line; /* whether or not it may count */
	bool is_start; /* start_code.h: it takes the charge only as the leaf */
};

/* Of one location; all that the walk over a stack needs of it. */
struct place {
	uint32_t first_site, nr_sites; /* as its first_line, nr_lines */
	uint32_t code; /* into work.codes; the last one: no mapping */
	uint32_t name; /* into work.names: an unknown function of this object */
};

/* Bits that are noted with a file. */
enum file_tag {
	FILE_KNOWN = 1 << 0, /* the next one was decided */
	FILE_LIBRARY = 1 << 1, /* source_is_library() */
	FILE_JIT = 1 << 2, /* has lines that were compiled in memory */
};

/* Noted with a line. */
enum line_tag {
	LINE_JIT = 1 << 0, /* ran as code that was compiled in memory */
};

struct work {
	const struct profile *p;
	struct attribution_options options;
	struct code *codes; /* one per mapping, and one for none */
	struct site *sites;
	struct place *places;

	struct tally files; /* (path, 0); tag: enum file_tag */
	struct tally lines; /* (file, line); tag: enum line_tag */
	struct tally names; /* (function name or "", object) */
	struct tally functions; /* (name, file's path); tag: start line */
	struct tally sites_at; /* (line, function) */
	struct tally callees; /* (line, name) */
	struct tally misses; /* (enum miss, object) */
	struct tally identities; /* (container, unit) */
	struct tally processes; /* (pid, identity); tag: first sample, + 1 */
	struct tally comms; /* (process, comm) */
	struct tally cgroups; /* (process, cgroup) */
};

/** Fills codes, sites and places. Return: 0 or -ENOMEM. */
int frame_index_build(struct work *w);

/** Why no line was charged: tallies the reason and the object. Return: 0 or -ENOMEM. */
int miss_tally(struct work *w, const struct profile_sample *s, struct weight weight);

/* Names of the labels, interned in the profile's pool. */
struct process_keys {
	const char *pid, *comm, *cgroup, *container, *unit, *empty;
};
struct process_keys process_keys_of(const struct profile *p);

/** Tallies whose sample it is, if that is told. Return: 0 or -ENOMEM. */
int process_tally(struct work *w, const struct process_keys *keys,
		  const struct profile_sample *s, struct weight weight);

/* From tallies to the tables of the result. Return: 0 or -ENOMEM. */
int files_build(struct work *w, struct attribution *a);
int functions_build(struct work *w, struct attribution *a);
int misses_build(struct work *w, struct attribution *a);
int processes_build(struct work *w, struct attribution *a);

/** Adds the lines without code to the tables of files. Return: 0 or -ENOMEM. */
int code_build(const struct profile *p, struct attribution *a);

#endif
