/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that plays a script. Its clock, sampler, task events, signals, decoder and
 * disk replace lineburn's at link time. Time passes only while the recorder waits, and
 * for as long as the durations below say. All times in scripts are milliseconds since
 * the recording began.
 */
#ifndef LB_TESTS_FAKE_MACHINE_H
#define LB_TESTS_FAKE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/sampler.h"
#include "collect/task_event.h"
#include "runtime/jit/watch.h"
#include "unwind/feeder.h"
#include "unwind/tables.h"
#include "worker/worker.h"

#define FAKE_HZ        1000
#define FAKE_BEGIN_NS  1000000000000ULL /* CLOCK_MONOTONIC of 0 ms */
#define FAKE_MS        1000000ULL
#define FAKE_WALL_S    INT64_C(1795276800) /* 2026-11-21 16:00:00 UTC */
#define FAKE_FIRST_PID 5000000u /* above the kernel's highest pid */
#define FAKE_MAX_LOG   4096

struct fake_image {
	uint32_t tgid, exec_id;
	uint32_t start_ms; /* of the process */
};

/* In the order in which the recorder creates them. */
enum fake_worker {
	FAKE_NAMER,
	FAKE_DECODER, /* of unwind tables */
	FAKE_READER,
	NR_FAKE_WORKERS
};

struct fake_machine {
	uint64_t now_ns; /* CLOCK_MONOTONIC */

	/* Durations. */
	uint32_t interval_ms; /* between two drains; default 100 */
	uint32_t grace_ms; /* each drain's wait for running programs, after the flip */
	uint32_t drain_ms; /* each drain, after this wait */
	uint32_t look_ms; /* each read of the notices */
	uint32_t name_ms; /* each request to the decoder that names */
	/* Each request to the other one; 0: the kernel side has all unwind rows. Otherwise
	 * it requests some with each image's first sample. */
	uint32_t rows_ms;
	uint32_t write_ms; /* each write of a file */
	uint64_t stolen_ns; /* steal time until now */
	uint64_t rss_bytes; /* anonymous memory */
	uint32_t program_ns_a_tick; /* kernel run time for each tick, for --budget */

	/*
	 * Counters of the active slot, added to the totals when the slot is drained;
	 * then the totals.
	 */
	struct lb_counters slot;
	struct sampler_totals totals;
	/* Statistics of the parts that do nothing here. */
	struct worker_stats worker[NR_FAKE_WORKERS];
	size_t nr_workers;
	struct jit_watch_totals jit;
	struct unwind_totals unwind;
	uint64_t targets_refused;
	uint32_t target; /* the process whose children get its rule; 0: there is none */

	/*
	 * Delivers further rows at each drain. Return: the number of their samples.
	 * NULL: there are none.
	 */
	uint64_t (*rows)(void *ctx, const struct sampler_handlers *handlers);
	void *rows_ctx;

	/* CPU time of this process: when sampling stopped; of writing files. */
	uint64_t stopped_cpu_ns, write_cpu_ns;

	/* The log of what happened. */
	uint64_t flips_ms[FAKE_MAX_LOG];
	size_t nr_flips;
	unsigned int levels[FAKE_MAX_LOG]; /* each level that was set */
	size_t nr_levels;
	size_t nr_looks; /* reads of the notices */
	struct {
		uint32_t tgid, at_ms;
	} rules_asked[FAKE_MAX_LOG]; /* each look-up of a process's rule */
	size_t nr_rules_asked;
	uint32_t longest_answer_ms; /* longest time from a notice to its answer */
	size_t nr_requests; /* to the decoder that names */
	uint32_t last_request_ms;
	uint64_t answers_ns[NR_FAKE_WORKERS]; /* when each answers; 0: no request */
	uint32_t rows_taken_ms[FAKE_MAX_LOG]; /* when the rows of each request came */
	size_t nr_rows_taken;
	size_t nr_writes; /* writes that began */
	uint32_t writes_ms[FAKE_MAX_LOG]; /* when each began */
	bool is_stopped;
};

extern struct fake_machine fake;

/** Clears the script and the log, and resets the machine. */
void fake_reset(void);
uint32_t fake_now_ms(void);
/** Returns the CPU time of this process, which is real. */
uint64_t fake_cpu_ns(void);

/* ---- the script ---- */

/** @count samples of an image, all at the instruction @ip (0: no user stack), at one time. */
void fake_sample(uint32_t at_ms, const struct fake_image *image, uint64_t ip,
		 uint64_t count);
/** One sample each millisecond of [from_ms, to_ms). */
void fake_samples(uint32_t from_ms, uint32_t to_ms, const struct fake_image *image,
		  uint64_t ip);
/** The kernel side announces the image with its first sample. */
void fake_first_sample(uint32_t at_ms, const struct fake_image *image);
/**
 * The kernel side announces a code object of Python. Its frame is
 * LB_FRAME_OF(RUNTIME_PYTHON, id, 0).
 */
void fake_python_code(uint32_t at_ms, const struct fake_image *image, uint32_t id);
/** The kernel side wants its slot to be drained now. */
void fake_half_full(uint32_t at_ms);

void fake_fork(uint32_t at_ms, uint32_t parent, uint32_t child);
void fake_exec(uint32_t at_ms, uint32_t tgid, const char *comm);
/** Maps the executable range [start, start + 1 MiB). */
void fake_map(uint32_t at_ms, uint32_t tgid, uint64_t start, const char *path);
void fake_exit(uint32_t at_ms, uint32_t tgid);
void fake_lost_events(uint32_t at_ms, uint64_t nr);

void fake_signal(uint32_t at_ms, int number);
/** Calls @call at @at_ms, for all other events; it may change `fake`. */
void fake_call(uint32_t at_ms, void (*call)(void *ctx), void *ctx);

/* ---- between the parts of the machine ---- */

/** Advances the clock by @ns and plays what the script has for that time. */
void fake_pass(uint64_t ns);

#endif
