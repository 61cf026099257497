/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of the sampler's maps by rate and number of CPUs. Pure. */
#ifndef LB_COLLECT_MAP_SIZES_H
#define LB_COLLECT_MAP_SIZES_H

#include <stdint.h>

#define MAP_SIZES_BYTES_PER_BODY 512 /* 55 frames; a Python stack has about 30 */
/*
 * Most free entries of an LRU map that a CPU keeps for itself (LOCAL_FREE_TARGET of
 * kernel/bpf/bpf_lru_list.c). Since Linux 6.17 fewer if the map is small (commit
 * d4adf1c9ee77).
 */
#define MAP_SIZES_LRU_FREE_PER_CPU 128u

struct map_sizes {
	uint32_t interval_ms; /* between two drains */
	uint32_t rows; /* of one slot's counts map */
	uint32_t body_bytes; /* of one slot's body ring, a power of two */
	uint32_t first_bytes; /* of the ring of first samples, a power of two */
	/* A drain may come this long after the last one, if all samples differ. */
	uint32_t room_ms;
};

/**
 * @rate_hz     samples of a CPU per second, > 0
 * @nr_cpus     > 0
 * @rows        of one slot; 0: by rate and CPUs
 * @body_bytes  of one slot, a power of two; 0: same
 */
struct map_sizes map_sizes_of(uint32_t rate_hz, uint32_t nr_cpus, uint32_t rows,
			      uint32_t body_bytes);

/**
 * Returns the size of an LRU map that must not evict one of @wanted entries. A CPU without
 * free entries evicts some unless MAP_SIZES_LRU_FREE_PER_CPU are left over, and the other
 * CPUs may keep as many each.
 */
uint32_t map_sizes_lru(uint32_t wanted, uint32_t nr_possible_cpus);

#endif
