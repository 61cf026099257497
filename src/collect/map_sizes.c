// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/map_sizes.h"

#define ROWS_PER_DRAIN  4000 /* most rows a drain should find; sets the interval */
#define MIN_INTERVAL_MS 100
#define MAX_INTERVAL_MS 1000
#define ROOM_INTERVALS  4 /* drain intervals of room, in case a drain is late */
/* A drain that is less late than this is no reason for a warning. */
#define MIN_ROOM_INTERVALS 2
#define MIN_ROWS           4096
#define MAX_ROWS           (1u << 20)
#define MIN_BODY_BYTES     (1u << 20)
#define MAX_BODY_BYTES     (64u << 20)
/* 20 first samples of each CPU; 10,000 processes on 512 CPUs. */
#define FIRST_BYTES_PER_CPU 1440
#define MIN_FIRST_BYTES     (64u << 10)
#define MAX_FIRST_BYTES     (1u << 20)

static uint64_t between(uint64_t want, uint64_t min, uint64_t max)
{
	if (want < min)
		return min;
	return want < max ? want : max;
}

static uint32_t power_of_two_between(uint64_t want, uint32_t min, uint32_t max)
{
	uint32_t n = min;

	while (n < want && n < max)
		n *= 2;
	return n;
}

struct map_sizes map_sizes_of(uint32_t rate_hz, uint32_t nr_cpus, uint32_t rows,
			      uint32_t body_bytes)
{
	uint64_t per_second = (uint64_t)rate_hz * nr_cpus, stacks;
	uint64_t interval_ms = between(ROWS_PER_DRAIN * 1000ULL / per_second,
				       MIN_INTERVAL_MS, MAX_INTERVAL_MS);
	uint64_t per_drain = per_second * interval_ms / 1000;

	if (!rows)
		rows = power_of_two_between(per_drain * ROOM_INTERVALS, MIN_ROWS,
					    MAX_ROWS);
	if (!body_bytes)
		body_bytes =
			power_of_two_between((uint64_t)rows * MAP_SIZES_BYTES_PER_BODY,
					     MIN_BODY_BYTES, MAX_BODY_BYTES);
	stacks = body_bytes / MAP_SIZES_BYTES_PER_BODY;
	if (stacks > rows)
		stacks = rows;
	return (struct map_sizes){
		.interval_ms = (uint32_t)interval_ms,
		.rows = rows,
		.body_bytes = body_bytes,
		.first_bytes =
			power_of_two_between((uint64_t)nr_cpus * FIRST_BYTES_PER_CPU,
					     MIN_FIRST_BYTES, MAX_FIRST_BYTES),
		.room_ms = (uint32_t)between(stacks * 1000 / per_second,
					     MIN_ROOM_INTERVALS * interval_ms,
					     ROOM_INTERVALS * interval_ms),
	};
}

uint32_t map_sizes_lru(uint32_t wanted, uint32_t nr_possible_cpus)
{
	return wanted + nr_possible_cpus * MAP_SIZES_LRU_FREE_PER_CPU;
}
