/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the sampler, shared by the files of collect/. libbpf's types do not leave this
 * folder.
 */
#ifndef LB_COLLECT_SAMPLER_INTERNAL_H
#define LB_COLLECT_SAMPLER_INTERNAL_H

#include <bpf/libbpf.h>

#include "base/hashmap.h"
#include "collect/sample_source.h"
#include "collect/sampler.h"
#include "lineburn_filter.h" /* the skeleton has it in .bss */

struct sampler_bpf;

/* One of the two slots: its maps as descriptors. */
struct slot {
	int counts_fd;
	struct ring_buffer *bodies;
};

/* Bodies of the slot that is being drained, back to back; reused at each drain. */
struct body_store {
	uint64_t *words;
	size_t nr_words, cap_words;
	struct hashmap by_hash; /* -> offset in words */
};

struct sampler {
	struct sampler_config config;
	struct sampler_bpf *skel;
	struct ring_buffer *notices;
	struct slot slots[LB_NR_SLOTS];
	struct body_store bodies;
	const struct sampler_handlers *handlers; /* during a call only */
	bool drain_wanted;
	uint32_t nr_possible_cpus;
	uint32_t nr_online_cpus;

	struct sample_source *source;
	uint32_t rate_hz; /* samples of a CPU per second that the maps are sized for */
	bool running;
	bool stolen_is_known;
	uint64_t stolen_before_ns; /* cpus_stolen_ns() at the start */

	/* Buffers of one batch, and the per-CPU counters; allocated once. */
	struct lb_stack_key *batch_keys;
	struct lb_stack_count *batch_counts;
	struct lb_counters *percpu;
	struct sampler_totals totals;
};

int body_store_handler(void *ctx, void *data, size_t size);
void body_store_deinit(struct body_store *store);

/** Opens the rings of sampler_notices(). Return: 0 or -errno. */
int notices_open(struct sampler *s);

#endif
