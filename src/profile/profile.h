/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result model: plain arrays with the meaning of pprof's profile.proto
 * (github.com/google/pprof, proto/profile.proto), plus lineburn.Extra for what
 * pprof has no room for (DESIGN C1). No handles: a renderer needs nothing else.
 *
 * Indices are 0-based; PROFILE_NONE stands for "none". Strings are interned in
 * the profile's pool, never NULL, made valid UTF-8 only when they are written.
 * The functions that add take any string, NULL too ("").
 */
#ifndef LB_PROFILE_PROFILE_H
#define LB_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hashmap.h"
#include "base/strpool.h"
#include "decode/frame.h"
#include "lineburn.h"

#define PROFILE_NONE UINT32_MAX

/* Most items of each table; more are refused (DESIGN C7). */
#define PROFILE_MAX_MAPPINGS         (1u << 20)
#define PROFILE_MAX_FUNCTIONS        (1u << 24)
#define PROFILE_MAX_LOCATIONS        (1u << 24)
#define PROFILE_MAX_SAMPLES          (1u << 24)
#define PROFILE_MAX_LINES            (1u << 26)
#define PROFILE_MAX_LABELS           (1u << 26)
#define PROFILE_MAX_VALUES           (1u << 26)
#define PROFILE_MAX_VALUE_TYPES      64
#define PROFILE_MAX_SAMPLE_LOCATIONS (1u << 30)
#define PROFILE_MAX_NAMESAKES        65536
#define PROFILE_MAX_SENTENCES        1024 /* comments; warnings */

/*
 * Filenames of mappings that are no file. Kernel modules are
 * "[kernel.kallsyms]/ext4". See mapping_kind.h for what is recognised in the
 * files of other tools.
 */
#define PROFILE_KERNEL    "[kernel.kallsyms]"
#define PROFILE_JIT       "[jit]" /* code that a runtime wrote into memory */
#define PROFILE_PYTHON    "[python]" /* frames of Python itself, not of its C code */
#define PROFILE_NO_OBJECT "[unknown]"

struct profile_value_type {
	const char *type, *unit; /* "samples"/"count", "cpu"/"nanoseconds" */
};

struct profile_mapping {
	uint64_t start, limit; /* addresses [start, limit); 0:0 not known */
	uint64_t file_off;
	const char *filename; /* path, or one of the names above, "[vdso]", ...; "" */
	const char *build_id; /* lower-case hex; "" */
	/* All four true for whatever was given to the symbolizer, found or not:
	 * else Google's pprof does it again and drops our inlined frames. */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_function {
	const char *name; /* readable */
	const char *
		system_name; /* mangled or raw; "" if that is name (pprof would demangle name again) */
	/* The file that its lines are in; "" not known. pprof has no other place for
	 * it, so code of one function from two files (an #include'd body, a macro)
	 * is two functions here. Two files of one path, as two containers may have
	 * them, have names of the same text that differ by pointer, see
	 * profile_add_namesake(). */
	const char *filename;
	uint32_t start_line; /* 0 not known */
};

struct profile_line {
	uint32_t function; /* index; PROFILE_NONE */
	uint32_t line; /* 0 none */
};

/* One address; lines[0] is the innermost inlined frame. */
struct profile_location {
	uint32_t mapping; /* index; PROFILE_NONE */
	uint64_t address;
	uint32_t first_line, nr_lines; /* into profile.lines */
	enum miss
		miss; /* why there is no line; MISS_NONE also when not told (other tools) */
	bool is_folded;
};

struct profile_label {
	const char *key;
	const char *str; /* "" when numeric */
	int64_t num;
	const char *unit; /* of num; "" */
};

struct profile_sample {
	uint32_t first_location,
		nr_locations; /* into profile.sample_locations; leaf first */
	uint32_t first_label, nr_labels; /* into profile.labels */
	uint32_t first_value; /* into profile.values; nr_value_types of them */
	uint32_t status; /* enum lb_stack_status; 0 when not told (other tools) */
};

/*
 * The counters of a recording. A row is a member of struct profile_losses, of "losses" in JSON
 * and of a window's sums; lineburn.proto has its field, docs/formats.md its meaning, and a test
 * looks that both are there.
 */
#define PROFILE_TICKS(X)                                 \
	X(due) /* sampled + missed */                    \
	X(sampled) /* ticks of the targets */            \
	X(counted) /* of them, what is in the profile */ \
	X(missed) /* ticks that never ran */             \
	X(stolen_ns) /* a hypervisor took from all CPUs meanwhile (steal) */
#define PROFILE_LOSS_COUNTERS(X)                                                        \
	X(lost_counts_full) /* lost: the counts map is full */                          \
	X(lost_internal) /* lost: a map look-up failed that cannot fail */              \
	X(lost_drain) /* lost: counted, and not found when drained */                   \
	X(no_body) /* frames lost: the body store is full */                            \
	X(user_truncated) /* same: user stacks with more frames than asked for */       \
	X(kern_truncated) /* same: kernel stacks */                                     \
	X(kern_failed) /* kernel stacks asked for, not given */                         \
	X(idle) /* ticks of idle CPUs */                                                \
	X(other) /* ticks of what was not asked for */                                  \
	X(first_dropped) /* wake-ups that did not fit their ring */                     \
	X(lost_events) /* task events that the kernel dropped */                        \
	X(processes_dropped) /* over a maximum, as the next four */                     \
	X(files_dropped) /* not opened */                                               \
	X(names_dropped) /* not kept */                                                 \
	X(addresses_dropped) /* not named */                                            \
	X(rows_dropped) /* samples for which memory was short */                        \
	X(decoder_deaths) /* workers that died */                                       \
	X(decoder_deadlines) /* workers that took too long */                           \
	X(jit_objects_lost) /* registered by a JIT, but their bytes could not be had */ \
	X(jit_objects_foreign) /* in a format of the runtime's own */                   \
	X(unwind_requests_dropped) /* for what the kernel missed: it asks again */      \
	X(unwind_pages_evicted) /* 64 KiB of code each; made again when missed */       \
	X(unwind_pages_refused) /* no room */                                           \
	X(unwind_rules_refused) /* no room */                                           \
	X(unwind_segments_refused) /* no room */                                        \
	X(unwind_processes_refused) /* no room */                                       \
	X(unwind_files_failed) /* files and JIT objects that could not be decoded */    \
	X(guessed_frames) /* found by frame pointers, no table being there */           \
	X(pythons_unknown) /* interpreters of processes that were not understood */     \
	X(python_stale) /* parts of Python stacks that are missing */                   \
	X(python_faults) /* same: memory that could not be read */                      \
	X(python_codes_lost) /* functions whose names and lines were not kept */
#define PROFILE_LOSSES(X)         PROFILE_TICKS(X) PROFILE_LOSS_COUNTERS(X)

#define PROFILE_LOSS_MEMBER(name) uint64_t name;
struct profile_losses {
	PROFILE_LOSSES(PROFILE_LOSS_MEMBER)
};
#undef PROFILE_LOSS_MEMBER

struct profile_cost {
	uint64_t bpf_runs, bpf_ns; /* run-time stats of the kernel; 0:0 not measured */
	uint64_t collector_cpu_ns; /* user + system, workers included */
	uint64_t collector_peak_rss_bytes;
	uint64_t map_bytes; /* kernel memory of the BPF maps */
	/* What sampling might cost, of all CPUs' time; 0: any, and then so are these: */
	uint64_t budget_ppm;
	uint64_t tick_ns; /* of an interrupt, beside the program that it runs */
	uint64_t lowered_ns; /* wall time at a lower rate than was asked for */
	uint64_t longest_period_ns; /* nominal, of the lowest rate */
};

/* Text of a hot source file, read when the profile was recorded. */
struct profile_source {
	const char *path; /* equal to the filename of its functions, by pointer */
	uint64_t size_bytes;
	uint8_t sha256[32]; /* of the whole file */
	uint32_t nr_lines; /* of the whole file */
	/* Runs of lines that were kept: text without the final newline, "\n" between
	 * lines. None: only the path is told apart from another one of the same text. */
	struct profile_source_run {
		uint32_t first_line, nr_lines;
		const char *text; /* heap, owned by the profile */
	} * runs;
	size_t nr_runs;
	int64_t mtime_nanos; /* wall clock; 0 not known */
	/* Who has this file, in words: a container, a service; "" or NULL
	 * where all have it. */
	const char *owner;
	bool newer_than_binary; /* modified after the program that ran was built */
};

/*
 * A piece of machine code of a hot function, and which line each part of it is.
 * Lines that no row has, within a function that rows name, have no code of their own.
 */
struct profile_code {
	uint32_t mapping; /* index */
	uint64_t address, size_bytes; /* [address, +size_bytes), as in locations */
	struct profile_code_row {
		/* From here to the next row. None, at the address of the next or at the
		 * end: the line has code of its own elsewhere, or in what is inlined. */
		uint64_t address;
		uint32_t function; /* index; PROFILE_NONE */
		uint32_t line; /* innermost frame with a line; 0 none */
	} * rows; /* ascending; heap, owned */
	size_t nr_rows; /* > 0 */
	uint8_t *bytes; /* heap, owned; NULL: read them from the file of the mapping */
};

#define PROFILE_MAX_CODE_BYTES (4u << 20) /* machine code and rows that are kept */

struct profile_extra {
	bool present; /* false: another tool's file */
	/* argv of lineburn run; NULL-terminated; NULL: none. The array is heap, owned. */
	const char **command;
	const char *target; /* what was asked for, in words: "-a", "-p 12" */
	const char *host, *kernel_release, *version;
	const char *arch; /* as "uname -m": of the machine code kept; "" not known */
	uint32_t freq_hz;
	uint64_t wall_ns; /* from start to stop of sampling */
	uint32_t nr_cpus;
	struct profile_losses losses;
	struct profile_cost cost;
	struct profile_source *sources;
	size_t nr_sources, cap_sources;
	struct profile_code *codes; /* hottest first, as far as they fit */
	size_t nr_codes, cap_codes;
	size_t codes_bytes; /* that they take, at most PROFILE_MAX_CODE_BYTES */
	const char **warnings; /* sentences for the reader */
	size_t nr_warnings, cap_warnings;
};

struct profile {
	struct strpool *pool; /* borrowed */

	struct profile_value_type *value_types;
	size_t nr_value_types, cap_value_types;
	uint32_t count_value; /* index of samples/count in values; PROFILE_NONE */
	uint32_t cpu_value; /* index of cpu/nanoseconds; PROFILE_NONE */

	struct profile_mapping *mappings;
	size_t nr_mappings, cap_mappings;
	struct profile_function *functions;
	size_t nr_functions, cap_functions;
	struct profile_line *lines;
	size_t nr_lines, cap_lines;
	struct profile_location *locations;
	size_t nr_locations, cap_locations;
	uint32_t *sample_locations;
	size_t nr_sample_locations, cap_sample_locations;
	struct profile_label *labels;
	size_t nr_labels, cap_labels;
	int64_t *values;
	size_t nr_values, cap_values;
	struct profile_sample *samples;
	size_t nr_samples, cap_samples;

	int64_t time_nanos; /* wall clock at the start */
	int64_t duration_nanos;
	struct profile_value_type period_type;
	int64_t period; /* 0: not known, or it varied */
	const char **comments;
	size_t nr_comments, cap_comments;
	const char *default_sample_type;
	const char *drop_frames, *keep_frames, *doc_url;

	struct profile_extra extra;

	/* Paths that mean another file than the one that was first called so. */
	const char **namesakes;
	size_t nr_namesakes, cap_namesakes;
	struct hashmap namesake_index; /* address -> of namesakes */

	/* Interning while building; empty after pprof_read(). */
	struct hashmap function_index, location_index, sample_index;
	struct hashmap label_index; /* of runs of labels, by their first one */
};

/** An empty profile with value types samples/count and cpu/nanoseconds. NULL: no memory. */
struct profile *profile_new(struct strpool *pool);
void profile_free(struct profile *p);
/** Takes extra and comments out again: samples may be added, and both filled in anew. */
void profile_clear_extra(struct profile *p);
DEFINE_CLEANUP(struct profile, profile_free);

/*
 * Building. Each returns an index, or PROFILE_NONE when out of memory, when the
 * table is full, or when an index given is not there; then nothing was added.
 */
uint32_t profile_add_mapping(struct profile *p, const struct profile_mapping *m);
/**
 * The name of another file that has the path @path (interned), for functions and sources:
 * the same text, and another pointer. @path itself when there is no room.
 */
const char *profile_add_namesake(struct profile *p, const char *path);
bool profile_is_namesake(const struct profile *p, const char *path);
/* The existing one when all members are equal. The filename may be a namesake. */
uint32_t profile_add_function(struct profile *p, const struct profile_function *f);
/* The existing one when mapping, address, miss and lines are equal. */
uint32_t profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			      enum miss miss, const struct profile_line *lines,
			      size_t nr);
/**
 * The labels from @first on were added for a sample: takes them off again if another
 * sample has the same. Their texts are interned.
 * Return: the first label of the run to use.
 */
uint32_t profile_share_labels(struct profile *p, uint32_t first);
/**
 * Samples are of something else than CPU time: their second value is of @type and @unit, and so is the period. To be called before samples are added.
 */
void profile_set_measure(struct profile *p, const char *type, const char *unit);
/**
 * Adds @values, one of each value type, to the sample with these locations (leaf first),
 * labels and status, made if new.
 */
uint32_t profile_add_sample(struct profile *p, const uint32_t *locations, size_t nr,
			    const struct profile_label *labels, size_t nr_labels,
			    uint32_t status, const int64_t *values);
/* Return: 0, -ENOMEM, or -ENOSPC when there are PROFILE_MAX_SENTENCES. */
int profile_add_warning(struct profile *p, const char *sentence);
int profile_add_comment(struct profile *p, const char *sentence);
/**
 * Keeps a piece of code: a copy, with copies of rows and bytes.
 * Return: 0, -ENOSPC (over PROFILE_MAX_CODE_BYTES in all), -EINVAL (an index that is
 * not there, rows that do not ascend within the code), -ENOMEM.
 */
int profile_add_code(struct profile *p, const struct profile_code *code);
/** Sets extra.command to a copy of @argv (NULL-terminated; NULL: none). */
int profile_set_command(struct profile *p, char *const *argv);
/** Adds the one-line summary of the recording as a comment, which every tool shows. */
int profile_add_summary(struct profile *p);

/* Value of a sample by profile.count_value / cpu_value; 0 for PROFILE_NONE. */
static inline int64_t profile_value(const struct profile *p,
				    const struct profile_sample *s, uint32_t value)
{
	return value == PROFILE_NONE ? 0 : p->values[s->first_value + value];
}

/* Its locations, leaf first; NULL when it has none. */
static inline const uint32_t *profile_stack(const struct profile *p,
					    const struct profile_sample *s)
{
	return s->nr_locations ? &p->sample_locations[s->first_location] : NULL;
}

/* ---- The language of a source file, told by its name ---- */

/**
 * @jit  its hot lines are code that was compiled in memory: Python is then
 *       "numba"
 * Return: "c", "c++", "rust", "go", "python", "numba", "javascript", ... or "".
 */
const char *language_of(const char *path, bool jit);

/* ---- How far the walk of a sample's user stack came: enum lb_stack_status, by name ---- */

/** Stable name ("bad-fp"), for files; that of "complete" for numbers out of range. */
const char *stack_status_name(uint32_t status);
/** The status of that name, or LB_NR_STACK_STATUS. */
uint32_t stack_status_from_name(const char *name);
/** Are frames missing that a complete walk would have had? */
bool stack_status_is_incomplete(uint32_t status);

/* ---- build ids ---- */

#define BUILD_ID_MAX_BYTES 32

/** Return: its bytes; 0 when @hex is none (other tools write other things there). */
size_t build_id_parse(const char *hex, uint8_t ret[BUILD_ID_MAX_BYTES]);

#endif
