/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sampler.c and drain.c share. libbpf's types do not leave collect/. */
#ifndef LB_COLLECT_SAMPLER_INTERNAL_H
#define LB_COLLECT_SAMPLER_INTERNAL_H

#include <bpf/libbpf.h>

#include "base/hashmap.h"
#include "collect/sampler.h"

struct sampler_bpf;

/* An event on one CPU. */
struct cpu_event {
	uint32_t cpu;
	int fd; /* owned by link once attached */
	uint64_t idle_start_ns; /* idle time of the CPU when the event began */
	struct bpf_link *link;
};

/* One of the two slots: its maps as descriptors. */
struct slot {
	int counts_fd, seen_fd;
	struct ring_buffer *bodies;
};

/* Bodies of the slot that is being drained, back to back; reused at each drain. */
struct body_store {
	uint64_t *words;
	size_t nr_words, cap_words;
	struct hashmap by_hash; /* -> offset in words */
	uint64_t *hashes; /* of all bodies, to empty the slot's "seen" map */
	size_t nr_hashes, cap_hashes;
};

struct sampler {
	struct sampler_config config;
	struct sampler_bpf *skel;
	struct ring_buffer *firsts;
	struct slot slots[LB_NR_SLOTS];
	struct body_store bodies;
	const struct sampler_handlers *handlers; /* during a call only */
	bool drain_wanted;
	uint32_t nr_possible_cpus;
	uint32_t nr_online_cpus;

	struct cpu_event *events;
	size_t nr_events, cap_events;
	/* Of events that ended: time enabled, and how much of it the CPU was idle. */
	uint64_t gone_enabled_ns, gone_idle_ns;
	bool running;

	/* Buffers of one batch, and the per-CPU counters; allocated once. */
	struct lb_stack_key *batch_keys;
	struct lb_stack_count *batch_counts;
	struct lb_counters *percpu;
	struct sampler_totals totals;
};

int body_store_handler(void *ctx, void *data, size_t size);
void body_store_deinit(struct body_store *store);

/** Kernel memory of the map behind a descriptor, bytes; 0: not told. */
uint64_t kernel_map_bytes(int fd);

#endif
