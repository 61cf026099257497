/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine that plays a script: its clock, sampler, task events, signals, decoder and
 * disk stand in for ours when a test is linked. Time passes only where the recorder waits, or where
 * a thing is said to take long. All times of scripts are milliseconds since the recording
 * began.
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
#define FAKE_FIRST_PID 5000000u /* the kernel has no such process */
#define FAKE_MAX_LOG   4096

struct fake_image {
	uint32_t tgid, exec_id;
	uint32_t start_ms; /* of the process */
};

struct fake_machine {
	uint64_t now_ns; /* CLOCK_MONOTONIC */

	/* What takes how long. */
	uint32_t interval_ms; /* between two drains: 100 */
	uint32_t drain_ms; /* behind the flip */
	uint32_t look_ms; /* each look for notices */
	uint32_t name_ms; /* a request to the decoder */
	uint32_t write_ms; /* a file */
	uint64_t stolen_ns; /* up to now */
	uint64_t rss_bytes; /* anonymous memory */
	uint32_t program_ns_a_tick; /* for --budget */

	/* Of the active slot, added to the totals when it is drained, and of the totals. */
	struct lb_counters slot;
	struct sampler_totals totals;
	/* Of the parts that do nothing here. */
	struct worker_stats naming_worker;
	size_t nr_workers;
	struct jit_watch_totals jit;
	struct unwind_totals unwind;
	uint64_t targets_refused;

	/* What happened. */
	uint64_t flips_ms[FAKE_MAX_LOG];
	size_t nr_flips;
	unsigned int levels[FAKE_MAX_LOG]; /* that were set */
	size_t nr_levels;
	size_t nr_looks; /* for notices */
	uint32_t longest_answer_ms; /* to one of them */
	size_t nr_requests; /* to the decoder */
	uint32_t last_request_ms;
	uint64_t answer_ns; /* when the decoder has done its request; 0: it has none */
	size_t nr_writes; /* begun */
	uint32_t writes_ms[FAKE_MAX_LOG]; /* begun */
	bool is_stopped;
};

extern struct fake_machine fake;

/** Forgets script and log: a new machine. */
void fake_reset(void);
uint32_t fake_now_ms(void);

/* ---- the script ---- */

/** @count samples of an image, all at the instruction @ip, at one time. */
void fake_sample(uint32_t at_ms, const struct fake_image *image, uint64_t ip,
		 uint64_t count);
/** One sample each millisecond of [from_ms, to_ms). */
void fake_samples(uint32_t from_ms, uint32_t to_ms, const struct fake_image *image,
		  uint64_t ip);
/** The kernel side announces the image. */
void fake_first_sample(uint32_t at_ms, const struct fake_image *image);
/** It announces a code object of Python, too. The frame that runs it: LB_FRAME_OF(RUNTIME_PYTHON, id, 0). */
void fake_python_code(uint32_t at_ms, const struct fake_image *image, uint32_t id);
/** It wants its slot to be drained now. */
void fake_half_full(uint32_t at_ms);

void fake_fork(uint32_t at_ms, uint32_t parent, uint32_t child);
void fake_exec(uint32_t at_ms, uint32_t tgid, const char *comm);
/** An executable mapping of [start, start + 1 MiB). */
void fake_map(uint32_t at_ms, uint32_t tgid, uint64_t start, const char *path);
void fake_exit(uint32_t at_ms, uint32_t tgid);
void fake_lost_events(uint32_t at_ms, uint64_t nr);

void fake_signal(uint32_t at_ms, int number);
/** Calls @call then, for all else that may happen: it may change `fake`. */
void fake_call(uint32_t at_ms, void (*call)(void *ctx), void *ctx);

/* ---- between the parts of the machine ---- */

/** Time passes, and what the script has for it happens. */
void fake_pass(uint64_t ns);

#endif
