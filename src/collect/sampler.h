/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF sampler: loaded, attached to one cpu-clock event per CPU, drained. */
#ifndef LB_COLLECT_SAMPLER_H
#define LB_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/sample.h"

#define SAMPLER_MAX_HZ 10000

struct sampler_config {
	uint32_t freq_hz; /* 1..SAMPLER_MAX_HZ */
	bool whole_machine; /* else only the targets */
	bool keep_tid; /* threads are told apart */
	bool kernel_stacks;
	bool walk_user; /* false: leaf of user stacks only (kernel_quirks.h) */
	size_t max_rows; /* of one slot's counts map; 0: by rate and CPUs */
	size_t body_bytes; /* of one slot's body store, a power of two; 0: same */
};

/*
 * What happened since the start, up to the last drain. At every drain
 * sampled = counted + lost_counts_full + lost_internal + lost_drain, exactly.
 */
struct sampler_totals {
	struct lb_counters ctr; /* added up over CPUs and slots */
	uint64_t
		rows_counted; /* added up from the drained rows; equals LB_CTR_COUNTED - lost_drain */
	uint64_t lost_drain; /* counted in the kernel, but the row could not be read */
	uint64_t
		bodies_missing; /* rows whose body was not found: counted without frames */
	uint64_t targets_dropped; /* children of targets that did not fit */
	uint64_t due; /* ticks that should have run while not idle and not others' */
	uint64_t missed; /* due - sampled: ticks that never ran */
	uint64_t enabled_ns; /* sum over CPUs of the time that events were enabled */
	uint32_t nr_cpus; /* CPUs with an event now */
};

struct sampler;

/** Opens, sizes and loads the BPF object; nothing runs yet. */
int sampler_new(const struct sampler_config *config, struct sampler **ret,
		struct error *err);
void sampler_free(struct sampler *s);
DEFINE_CLEANUP(struct sampler, sampler_free);

/** Makes @tgid a target, with its threads and the children that it will have. */
int sampler_add_target(struct sampler *s, uint32_t tgid, struct error *err);

/*
 * Kernel maps that other programs share: of targets (tgid -> start_boottime_ns)
 * and of code generations (struct lb_code_key -> u32). Descriptors, borrowed.
 */
int sampler_targets_fd(const struct sampler *s);
int sampler_code_gens_fd(const struct sampler *s);

/** From now on samples carry their process's code generation; before, 0. */
void sampler_use_code_gens(struct sampler *s);

/** Attaches an event on every online CPU and starts them. */
int sampler_start(struct sampler *s, struct error *err);

/** Picks up CPUs that came online and drops those that went. Cheap when nothing changed. */
void sampler_follow_cpus(struct sampler *s);

/** Stops the events; what was sampled can still be drained. */
void sampler_stop(struct sampler *s);

/** Readable (poll) when sampler_first_samples() has something to tell. */
int sampler_poll_fd(const struct sampler *s);

struct sampler_handlers {
	void *ctx;
	void (*first_sample)(void *ctx, const struct lb_first_sample *first);
	void (*sample)(void *ctx, const struct sample *sample);
};

/**
 * Calls handlers->first_sample for each new program image.
 * Return: true when a slot is half full and wants to be drained now.
 */
bool sampler_first_samples(struct sampler *s, const struct sampler_handlers *handlers);

/**
 * Flips the slots, waits until the kernel has left the old one, hands each of
 * its rows to handlers->sample and empties it. Takes ~10 ms of waiting.
 * Return: 0 or a negative errno of a map operation (then rows may be lost, counted).
 */
int sampler_drain(struct sampler *s, const struct sampler_handlers *handlers);

void sampler_totals(const struct sampler *s, struct sampler_totals *ret);

/** How often to drain so that a slot never fills: milliseconds. */
unsigned int sampler_drain_interval_ms(const struct sampler *s);

/** Kernel memory of all maps, bytes. */
uint64_t sampler_map_bytes(const struct sampler *s);

/** Instructions that the verifier walked, summed over the loaded programs; 0: not told. */
uint32_t sampler_verified_insns(const struct sampler *s);

#endif
