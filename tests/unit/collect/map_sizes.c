// SPDX-License-Identifier: GPL-2.0-or-later
/* Map sizes from one CPU to 512, at the lowest and the highest rates. */
#include "collect/map_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lineburn.h"

#define MIB (1u << 20)

static void sizes_by_rate_and_cpus(void **state)
{
	static const struct {
		uint32_t rate_hz, nr_cpus;
		struct map_sizes want;
	} cases[] = {
		{1, 1, {1000, 4096, 2 * MIB, 64 << 10, 4000}},
		{99, 2, {1000, 4096, 2 * MIB, 64 << 10, 4000}},
		{999, 2, {1000, 8192, 4 * MIB, 64 << 10, 4000}},
		{99, 128, {315, 16384, 8 * MIB, 256 << 10, 1260}},
		{99, 512, {100, 32768, 16 * MIB, MIB, 400}},
		/* The maximum of the ring: half of the rows have a body of 512 bytes. */
		{999, 512, {100, 262144, 64 * MIB, MIB, 256}},
		{10000, 512, {100, 1048576, 64 * MIB, MIB, 200}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct map_sizes got =
			map_sizes_of(cases[i].rate_hz, cases[i].nr_cpus, 0, 0);
		const struct map_sizes *want = &cases[i].want;

		if (got.interval_ms != want->interval_ms || got.rows != want->rows ||
		    got.body_bytes != want->body_bytes ||
		    got.first_bytes != want->first_bytes || got.room_ms != want->room_ms)
			fail_msg("%u Hz, %u CPUs: %u ms, %u rows, %u bytes, room %u ms",
				 cases[i].rate_hz, cases[i].nr_cpus, got.interval_ms,
				 got.rows, got.body_bytes, got.room_ms);
	}
}

/* All samples of the promised time fit, even if each has a stack of its own. */
static void room_is_as_promised(void **state)
{
	(void)state;
	for (uint32_t nr_cpus = 1; nr_cpus <= 512; nr_cpus++)
		for (uint32_t rate_hz = 1; rate_hz <= 1000; rate_hz++) {
			struct map_sizes s = map_sizes_of(rate_hz, nr_cpus, 0, 0);
			uint64_t nr = (uint64_t)rate_hz * nr_cpus * s.room_ms / 1000;

			assert_true(s.room_ms > 2 * s.interval_ms);
			assert_true(nr <= s.rows);
			assert_true(nr * MAP_SIZES_BYTES_PER_BODY <= s.body_bytes);
		}
}

/*
 * The first samples of 10,000 processes fit, even if user space reads none meanwhile. A
 * small machine has the size that it always had.
 */
static void first_samples_fit(void **state)
{
	size_t record = sizeof(struct lb_first_sample) + BPF_RINGBUF_HDR_SZ;

	(void)state;
	assert_true(map_sizes_of(99, 512, 0, 0).first_bytes / record >= 10000);
	assert_int_equal(map_sizes_of(99, 1, 0, 0).first_bytes, 64 << 10);
	assert_int_equal(map_sizes_of(99, 32, 0, 0).first_bytes, 64 << 10);
	assert_int_equal(map_sizes_of(99, 8192, 0, 0).first_bytes, MIB);
}

static void given_sizes_are_kept(void **state)
{
	struct map_sizes s = map_sizes_of(99, 2, 64, 4096);

	(void)state;
	assert_int_equal(s.rows, 64);
	assert_int_equal(s.body_bytes, 4096);
}

/*
 * The kernel's rule: a CPU without free entries takes 128 of those that no CPU has, and
 * evicts others if there are fewer. All other CPUs may have 128 free ones each.
 */
static void lru_maps_keep_their_entries(void **state)
{
	(void)state;
	for (uint32_t nr_cpus = 1; nr_cpus <= 8192; nr_cpus *= 2) {
		uint32_t others = (nr_cpus - 1) * 128;

		assert_true(map_sizes_lru(16384, nr_cpus) - others - 128 >= 16384);
		assert_true(map_sizes_lru(32768, nr_cpus) - others - 128 >= 32768);
	}
}

static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/*
 * Adds an entry on each of @allowed, which then keeps further free ones for itself, and the
 * other entries on one of them. Return: how many of @wanted are still there.
 */
static uint32_t entries_kept(uint32_t size, uint32_t wanted, const cpu_set_t *allowed)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "lru", 4, 4, size, NULL);
	uint32_t key = 0, kept = 0, value = 0;

	assert_true(fd >= 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed))
			continue;
		run_on(cpu);
		assert_int_equal(bpf_map_update_elem(fd, &key, &value, BPF_ANY), 0);
		key++;
	}
	for (; key < wanted; key++)
		assert_int_equal(bpf_map_update_elem(fd, &key, &value, BPF_ANY), 0);
	for (key = 0; key < wanted; key++)
		kept += !bpf_map_lookup_elem(fd, &key, &value);
	close(fd);
	return kept;
}

/* The same with maps of this kernel, on the CPUs of this machine. */
static void real_lru_maps_keep_their_entries(void **state)
{
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus(), wanted = 1024;
	cpu_set_t allowed;

	(void)state;
	if (geteuid()) {
		print_message("skip: making BPF maps needs root\n");
		skip();
	}
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	while (wanted < nr_cpus * 128)
		wanted *= 2;
	assert_int_equal(entries_kept(map_sizes_lru(wanted, nr_cpus), wanted, &allowed),
			 wanted);
	if (CPU_COUNT(&allowed) > 1)
		assert_true(entries_kept(wanted, wanted, &allowed) < wanted);
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_by_rate_and_cpus),
		cmocka_unit_test(room_is_as_promised),
		cmocka_unit_test(first_samples_fit),
		cmocka_unit_test(given_sizes_are_kept),
		cmocka_unit_test(lru_maps_keep_their_entries),
		cmocka_unit_test(real_lru_maps_keep_their_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
