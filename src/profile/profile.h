/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result model: plain arrays with the meaning of pprof's profile.proto
 * (github.com/google/pprof, proto/profile.proto), plus lineburn.Extra for what pprof
 * cannot store. It has no handles: a renderer needs nothing else.
 *
 * Indices are 0-based; PROFILE_NONE stands for "none". Strings are interned in the
 * profile's pool, never NULL, and made valid UTF-8 only when written. Functions that
 * add items take any string; NULL means "".
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
#include "profile/series.h"

#define PROFILE_NONE UINT32_MAX

/* Most items of each table; further ones are refused. */
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
 * Filenames of mappings without a file. Kernel modules are "[kernel.kallsyms]/ext4".
 * See mapping_kind.h for names in other tools' files.
 */
#define PROFILE_KERNEL    "[kernel.kallsyms]"
#define PROFILE_JIT       "[jit]" /* code that a runtime generated in memory */
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
	/*
	 * All four are true if the symbolizer tried, even if it found nothing.
	 * Otherwise Google's pprof symbolizes the mapping again and drops our inlined
	 * frames.
	 */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_function {
	const char *name; /* readable */
	/* Mangled or raw; "": same as name (pprof would demangle it). */
	const char *system_name;
	/*
	 * The file of its lines; "": unknown. pprof stores files only here, so code of
	 * one function from two files (an #include'd body, a macro) is two functions.
	 * Two files with the same path, e.g. in two containers, have filenames with the
	 * same text at different addresses, see profile_add_namesake().
	 */
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
	enum miss miss; /* why it has no line; MISS_NONE also if unknown */
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
	uint32_t status; /* enum lb_stack_status; 0 if unknown (other tools) */
	struct series_list times; /* into profile.times; empty if not known */
};

/*
 * The counters of a recording. A row is a member of struct profile_losses, of "losses"
 * in JSON and of a window's sums. lineburn.proto has its field and docs/formats.md its
 * meaning; a test checks both.
 */
#define PROFILE_TICKS(X)                                           \
	X(due) /* ticks due while CPUs were busy, with any task */ \
	X(ran) /* of these, the ones that ran */                   \
	X(due_error) /* due is exact to this number of ticks */    \
	X(sampled) /* ticks of the targets */                      \
	X(counted) /* sampled ticks that are in the profile */     \
	X(missed) /* due - ran; 0 unless more than due_error */    \
	X(stolen_ns) /* time a hypervisor took from all CPUs (steal) */
#define PROFILE_LOSS_COUNTERS(X)                                                     \
	X(lost_counts_full) /* lost: the counts map is full */                       \
	X(lost_internal) /* lost: a map look-up failed unexpectedly */               \
	X(lost_drain) /* lost: counted, but not found when drained */                \
	X(no_body) /* frames lost: the body store is full */                         \
	X(user_truncated) /* same: user stacks over the frame limit */               \
	X(kern_truncated) /* same: kernel stacks */                                  \
	X(kern_failed) /* kernel stacks that failed */                               \
	X(idle) /* ticks of idle CPUs */                                             \
	X(other) /* ticks of other tasks */                                          \
	X(first_dropped) /* wake-ups that did not fit their ring */                  \
	X(lost_events) /* task events that the kernel dropped */                     \
	X(processes_dropped) /* over a maximum; next five, too */                    \
	X(files_dropped) /* not opened */                                            \
	X(mappings_dropped) /* not kept */                                           \
	X(names_dropped) /* not kept */                                              \
	X(addresses_dropped) /* not named */                                         \
	X(rows_dropped) /* samples dropped for lack of memory */                     \
	X(decoder_deaths) /* of workers: died, or a bad reply */                     \
	X(decoder_deadlines) /* workers that took too long */                        \
	X(jit_objects_lost) /* registered by a JIT, but not copied */                \
	X(jit_objects_foreign) /* in a runtime-specific format */                    \
	X(unwind_requests_dropped) /* the kernel repeats them */                     \
	X(unwind_pages_evicted) /* 64 KiB of code each; rebuilt when missed */       \
	X(unwind_pages_refused) /* no room */                                        \
	X(unwind_rules_refused) /* no room */                                        \
	X(unwind_segments_refused) /* no room */                                     \
	X(unwind_processes_refused) /* no room */                                    \
	X(unwind_files_failed) /* files and JIT objects that could not be decoded */ \
	X(guessed_frames) /* found by frame pointers for lack of a table */          \
	X(pythons_unknown) /* processes whose interpreter is unknown */              \
	X(python_stale) /* parts of Python stacks that are missing */                \
	X(python_faults) /* same: memory that could not be read */                   \
	X(python_codes_lost) /* functions whose names and lines were not kept */     \
	X(targets_late) /* requests to look at a target that did not end in time */  \
	X(targets_refused) /* same: not made, as its user has too many late ones */  \
	X(decoder_put_off) /* work of a user whose files took too much of its time */
#define PROFILE_LOSSES(X)         PROFILE_TICKS(X) PROFILE_LOSS_COUNTERS(X)

#define PROFILE_LOSS_MEMBER(name) uint64_t name;
struct profile_losses {
	PROFILE_LOSSES(PROFILE_LOSS_MEMBER)
};
#undef PROFILE_LOSS_MEMBER

struct profile_cost {
	uint64_t bpf_runs, bpf_ns; /* the kernel's run-time stats; 0:0 not measured */
	uint64_t collector_cpu_ns; /* user + system, workers included */
	uint64_t collector_peak_rss_bytes;
	uint64_t map_bytes; /* kernel memory of the BPF maps */
	/*
	 * Limit of sampling's cost, of all CPUs' time. 0: none; then the following are
	 * 0, too:
	 */
	uint64_t budget_ppm;
	uint64_t tick_ns; /* of an interrupt, without the BPF program */
	uint64_t lowered_ns; /* wall time below the requested rate */
	uint64_t longest_period_ns; /* nominal, of the lowest rate */
};

/** Adds the figures of another part of the recording. */
void profile_losses_add(struct profile_losses *sum, const struct profile_losses *part);
/** The same, but for the limits, the peak and the bytes, which are of no part. */
void profile_cost_add(struct profile_cost *sum, const struct profile_cost *part);

/* Text of a hot source file, read while recording. */
struct profile_source {
	const char *path; /* equal to the filename of its functions, by pointer */
	uint64_t size_bytes;
	uint8_t sha256[32]; /* of the whole file */
	uint32_t nr_lines; /* of the whole file */
	/*
	 * Stored runs of lines: text without the final newline, "\n" between lines. No
	 * runs: the entry only marks the path as shared with another file.
	 */
	struct profile_source_run {
		uint32_t first_line, nr_lines;
		const char *text; /* heap, owned by the profile */
	} * runs;
	size_t nr_runs;
	int64_t mtime_nanos; /* wall clock; 0 not known */
	/*
	 * Owner of this file as text: a container, a service; "" or NULL: all
	 * processes.
	 */
	const char *owner;
	bool newer_than_binary; /* modified after the running program was built */
};

/*
 * A piece of machine code of a hot function, with the line of each part. If a function
 * is in `rows`, its lines without a row have no code.
 */
struct profile_code {
	uint32_t mapping; /* index */
	uint64_t address, size_bytes; /* [address, +size_bytes), as in locations */
	/* Like struct code_row, with its frame as a line of the profile. */
	struct profile_code_row {
		uint64_t address;
		struct profile_line at;
	} * rows; /* ascending; heap, owned */
	size_t nr_rows; /* > 0 */
	uint8_t *bytes; /* heap, owned; NULL: read them from the file of the mapping */
};

#define PROFILE_MAX_CODE_BYTES (4u << 20) /* machine code and rows stored */

struct profile_extra {
	bool present; /* false: another tool's file */
	/* argv of lineburn run; NULL-terminated; NULL: none. The array is heap, owned. */
	const char **command;
	const char *target; /* the requested target: "-a", "-p 12" */
	const char *host, *kernel_release, *version;
	const char *arch; /* of the stored machine code, as "uname -m"; "": unknown */
	uint32_t freq_hz;
	uint64_t wall_ns; /* from start to stop of sampling */
	uint32_t nr_cpus;
	struct profile_losses losses;
	struct profile_cost cost;
	struct profile_source *sources;
	size_t nr_sources, cap_sources;
	struct profile_code *codes; /* hottest first, as many as fit */
	size_t nr_codes, cap_codes;
	size_t codes_bytes; /* their size, at most PROFILE_MAX_CODE_BYTES */
	const char **warnings; /* messages for the user */
	size_t nr_warnings, cap_warnings;
};

struct profile {
	struct strpool *pool; /* borrowed */

	struct profile_value_type *value_types;
	size_t nr_value_types, cap_value_types;
	/*
	 * Index in values of samples/count, or PROFILE_NONE; in files of other tools also of
	 * the like, such as cpu-samples/count.
	 */
	uint32_t count_value;
	uint32_t cpu_value; /* same, of cpu/nanoseconds */

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
	/*
	 * When samples were taken. begin_ns is the start of the recording; while a profile
	 * is built, in CLOCK_MONOTONIC, in one that was read: 0.
	 */
	struct series times;
	bool times_lost; /* there was no room for the times of some samples */

	int64_t time_nanos; /* wall clock at the start */
	int64_t duration_nanos;
	struct profile_value_type period_type;
	int64_t period; /* 0: unknown, or it varied */
	const char **comments;
	size_t nr_comments, cap_comments;
	const char *default_sample_type;
	const char *drop_frames, *keep_frames, *doc_url;

	struct profile_extra extra;

	/*
	 * Second and further names with the text of a path, see profile_add_namesake().
	 */
	const char **namesakes;
	size_t nr_namesakes, cap_namesakes;
	struct hashmap namesake_index; /* address -> index in namesakes */

	/* For deduplication while building; empty after pprof_read(). */
	struct hashmap function_index, location_index, sample_index;
	struct hashmap label_index; /* of runs of labels, by their first one */
};

/**
 * Creates an empty profile with value types samples/count and cpu/nanoseconds. NULL: out
 * of memory.
 */
struct profile *profile_new(struct strpool *pool);
void profile_free(struct profile *p);
/** Clears extra and comments. Then samples can be added, and both filled in again. */
void profile_clear_extra(struct profile *p);
/** Removes the samples with their times. What they are made of stays, with its numbers. */
void profile_clear_samples(struct profile *p);
DEFINE_CLEANUP(struct profile, profile_free);

/*
 * Building. Each function returns an index, or PROFILE_NONE if out of memory, if the
 * table is full, or if a given index does not exist; then nothing was added.
 */
uint32_t profile_add_mapping(struct profile *p, const struct profile_mapping *m);
/**
 * Returns a name for another file with the path @path (interned), for functions and
 * sources: the same text at another address. Returns @path if there is no room.
 */
const char *profile_add_namesake(struct profile *p, const char *path);
bool profile_is_namesake(const struct profile *p, const char *path);
/* Returns the existing one if all members are equal. The filename may be a namesake. */
uint32_t profile_add_function(struct profile *p, const struct profile_function *f);
/**
 * Adds the function of a frame whose file has the name @filename in the profile.
 * Return: the frame's line; its function is PROFILE_NONE on failure.
 */
struct profile_line profile_add_frame(struct profile *p, const struct frame *frame,
				      const char *filename);
/* Returns the existing one if mapping, address, miss and lines are equal. */
uint32_t profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			      enum miss miss, const struct profile_line *lines,
			      size_t nr);
/**
 * Deduplicates the labels from @first on, which were added for a sample: removes them
 * if another sample has the same ones. Their texts must be interned.
 * Return: the first label of the run to use.
 */
uint32_t profile_share_labels(struct profile *p, uint32_t first);
/**
 * Sets @type and @unit of the samples' second value and of the period, for samples that
 * do not measure CPU time. Call it before adding samples.
 */
void profile_set_measure(struct profile *p, const char *type, const char *unit);
/**
 * Adds @values, one of each value type, to the sample with these locations (leaf
 * first), labels and status. Creates the sample if new.
 */
uint32_t profile_add_sample(struct profile *p, const uint32_t *locations, size_t nr,
			    const struct profile_label *labels, size_t nr_labels,
			    uint32_t status, const int64_t *values);
/**
 * Adds the times of samples that were added to sample number @sample. Drops all times,
 * and sets times_lost, if they do not fit.
 */
void profile_add_times(struct profile *p, uint32_t sample, const struct series *from,
		       const struct series_list *list);
/* Adds a warning. Return: 0, -ENOMEM, or -ENOSPC if there are PROFILE_MAX_SENTENCES. */
int profile_add_warning(struct profile *p, const char *sentence);
int profile_add_comment(struct profile *p, const char *sentence);
/** Adds @source, and takes its runs. Return: 0, or -ENOMEM with nothing taken. */
int profile_add_source(struct profile *p, const struct profile_source *source);
void profile_source_deinit(struct profile_source *source);
/**
 * Stores a copy of a piece of code, including rows and bytes.
 * Return: 0, -ENOSPC (PROFILE_MAX_CODE_BYTES is used up), -EINVAL (a bad index, or rows
 * that do not ascend within the code), -ENOMEM.
 */
int profile_add_code(struct profile *p, const struct profile_code *code);
/** Was it recorded on arm64? */
bool profile_is_of_arm64(const struct profile_extra *extra);

/** Sets extra.command to a copy of @argv (NULL-terminated; NULL: none). */
int profile_set_command(struct profile *p, char *const *argv);
/** Adds the one-line summary of the recording as a comment, which every tool shows. */
int profile_add_summary(struct profile *p);

/*
 * Returns a sample's value number profile.count_value or cpu_value; 0 for PROFILE_NONE.
 */
static inline int64_t profile_value(const struct profile *p,
				    const struct profile_sample *s, uint32_t value)
{
	return value == PROFILE_NONE ? 0 : p->values[s->first_value + value];
}

/**
 * Returns the value that figures are of: CPU time, else the default type of the file,
 * else the count of samples, else, as in pprof, the last type. PROFILE_NONE: no types.
 */
uint32_t profile_shown_value(const struct profile *p);
/** Does each sample stand for the same CPU time, the period? */
bool profile_has_cpu_period(const struct profile *p);

/* Returns a sample's locations, leaf first; NULL when it has none. */
static inline const uint32_t *profile_stack(const struct profile *p,
					    const struct profile_sample *s)
{
	return s->nr_locations ? &p->sample_locations[s->first_location] : NULL;
}

/* ---- language of a source file, from its name ---- */

/**
 * @jit  its hot lines were compiled in memory: Python is then "numba"
 * Return: "c", "c++", "rust", "go", "python", "numba", "javascript", ... or "".
 */
const char *language_of(const char *path, bool jit);

/* ---- how complete a user stack is: names of enum lb_stack_status ---- */

/**
 * Returns the stable name ("bad-fp"), for files; "complete" for numbers out of range.
 */
const char *stack_status_name(uint32_t status);
/** Returns the status of that name, or LB_NR_STACK_STATUS. */
uint32_t stack_status_from_name(const char *name);
/** Does the stack lack frames that a complete walk would have? */
bool stack_status_is_incomplete(uint32_t status);

/* ---- build ids ---- */

#define BUILD_ID_MAX_BYTES 32

/**
 * Parses @hex. Return: its length in bytes; 0 if it is not a build id (other tools
 * store other texts).
 */
size_t build_id_parse(const char *hex, uint8_t ret[BUILD_ID_MAX_BYTES]);

#endif
