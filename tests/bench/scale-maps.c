// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's maps of a big machine, and what a drain of them costs. The maps are those of
 * the real sampler, sized for NR_CPUS; nothing is sampled.
 *
 *	scale-maps memory HZ              memory of each map
 *	scale-maps drain HZ ROWS OBJECT   CPU time of drains of ROWS different rows, each
 *	                                  with its own stack; OBJECT: scale.bpf.o
 *	scale-maps lru                    entries that an LRU map keeps on this machine
 *
 * Each prints rows of a table. Exit status 1: a row is missing, or the kernel refused.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/kmap.h"
#include "collect/map_sizes.h"
#include "collect/sampler.h"
#include "lineburn_filter.h"
#include "sampler.skel.h"

#define NR_CPUS      512
#define NR_DRAINS    5
#define NR_FRAMES    38
#define RECORD_BYTES 352 /* as in scale.bpf.c */
#define MIB          (1024.0 * 1024)

_Static_assert(offsetof(struct lb_body, ips) + NR_FRAMES * 8 == RECORD_BYTES,
	       "same size");

static void fail(const char *what)
{
	fprintf(stderr, "scale-maps: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sampler *open_sampler(uint32_t hz)
{
	struct sampler_config config = {.freq_hz = hz,
					.whole_machine = true,
					.kernel_stacks = true,
					.walk_user = true,
					.nr_cpus = NR_CPUS};
	struct sampler *s = NULL;
	struct error err = {0};

	if (sampler_new(&config, &s, &err)) {
		fprintf(stderr, "scale-maps: %s\n", err.text);
		exit(1);
	}
	return s;
}

/* ---- memory ---- */

static bool is_per_cpu(const struct bpf_map *map)
{
	return bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_HASH;
}

/* Maps of less than a MiB are one row. */
static void print_memory(uint32_t hz)
{
	struct sampler *s = open_sampler(hz);
	double here = libbpf_num_possible_cpus(), all = 0, others = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, sampler_skel(s)->obj)
	{
		double mib = (double)kmap_bytes(bpf_map__fd(map)) / MIB;

		/* This machine has fewer CPUs than the maps are sized for. */
		if (is_per_cpu(map))
			mib *= NR_CPUS / here;
		all += mib;
		if (mib < 1)
			others += mib;
		else
			printf("| `%s` | %u | %.1f MB |\n", bpf_map__name(map),
			       bpf_map__max_entries(map), mib);
	}
	printf("| others | | %.1f MB |\n| all | | %.1f MB |\n", others, all);
	sampler_free(s);
}

/* ---- drains ---- */

static uint64_t drained_rows;

static void on_sample(void *ctx, const struct sample *sample)
{
	(void)ctx;
	(void)sample;
	drained_rows++;
}

/* The program that writes bodies into the ring of a slot. */
struct writer {
	struct bpf_object *object;
	struct lb_body *body; /* its variable: the first RECORD_BYTES of a body */
	int fd;
};

static struct writer load_writer(const char *path, struct bpf_map *ring)
{
	struct writer w = {.object = bpf_object__open_file(path, NULL)};
	struct bpf_map *map = w.object ? bpf_object__find_map_by_name(w.object, "ring")
				       : NULL;
	struct bpf_map *variables =
		w.object ? bpf_object__find_map_by_name(w.object, ".bss") : NULL;

	if (!map || !variables ||
	    bpf_map__set_max_entries(map, bpf_map__max_entries(ring)) ||
	    bpf_map__reuse_fd(map, bpf_map__fd(ring)) || bpf_object__load(w.object))
		fail(path);
	w.body = kmap_map(bpf_map__fd(variables), bpf_map__value_size(variables));
	if (!w.body)
		fail(path);
	w.fd = bpf_program__fd(
		bpf_object__find_program_by_name(w.object, "write_record"));
	return w;
}

static void write_bodies(const struct writer *w, uint64_t nr)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	w->body->kind = LB_BODY_USER;
	w->body->nr_frames = NR_FRAMES;
	for (uint64_t i = 0; i < nr; i++) {
		w->body->hash = i + 1;
		for (size_t k = 0; k < NR_FRAMES; k++)
			w->body->ips[k] = 0x400000 + 16 * ((i * 31 + k * k) % 100000);
		if (bpf_prog_test_run_opts(w->fd, &run))
			fail("running the program");
		if (run.retval)
			break; /* the ring is full */
	}
}

static void write_rows(int map_fd, uint64_t nr)
{
	struct lb_stack_key *keys = calloc(nr, sizeof(*keys));
	struct lb_stack_count *counts = calloc(nr, sizeof(*counts));
	__u32 nr_keys = (__u32)nr;

	if (!keys || !counts)
		fail("memory");
	for (uint64_t i = 0; i < nr; i++) {
		keys[i] = (struct lb_stack_key){.tgid = (__u32)(i % 10000),
						.user_hash = i + 1};
		counts[i] = (struct lb_stack_count){.count = 1, .values = {1}};
	}
	if (nr && bpf_map_update_batch(map_fd, keys, counts, &nr_keys, NULL))
		fail("filling the counts");
	free(keys);
	free(counts);
}

/* Tells the counters that the rows were counted, so that sums close. */
static void write_counters(int fd, uint32_t slot, uint64_t nr)
{
	struct lb_counters *percpu =
		calloc((size_t)libbpf_num_possible_cpus(), sizeof(*percpu));

	percpu[0].n[LB_CTR_SAMPLED] = percpu[0].n[LB_CTR_COUNTED] = nr;
	if (bpf_map_update_elem(fd, &slot, percpu, BPF_ANY))
		fail("filling the counters");
	free(percpu);
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Drains a slot; adds its CPU time. */
static void drain(struct sampler *s, double *user_s, double *system_s)
{
	struct sampler_handlers h = {.sample = on_sample};
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	if (sampler_drain(s, &h))
		fail("draining");
	getrusage(RUSAGE_SELF, &after);
	*user_s += seconds(&after.ru_utime) - seconds(&before.ru_utime);
	*system_s += seconds(&after.ru_stime) - seconds(&before.ru_stime);
}

static void print_drains(uint32_t hz, uint64_t nr, const char *object_path)
{
	struct sampler *s = open_sampler(hz);
	struct sampler_bpf *skel = sampler_skel(s);
	struct bpf_map *counts[] = {skel->maps.counts_0, skel->maps.counts_1};
	struct bpf_map *rings[] = {skel->maps.bodies_0, skel->maps.bodies_1};
	struct writer writers[LB_NR_SLOTS];
	double user_s = 0, system_s = 0;
	struct sampler_totals totals;

	for (uint32_t i = 0; i < LB_NR_SLOTS; i++)
		writers[i] = load_writer(object_path, rings[i]);
	for (uint32_t i = 0; i < NR_DRAINS; i++) {
		uint32_t slot = i % LB_NR_SLOTS;

		write_bodies(&writers[slot], nr);
		write_rows(bpf_map__fd(counts[slot]), nr);
		write_counters(bpf_map__fd(skel->maps.counters), slot, nr);
		drain(s, &user_s, &system_s);
	}
	sampler_totals(s, &totals);
	printf("| %" PRIu64 " | %u | %.1f ms | %.1f ms | %u ms | %" PRIu64 " |\n", nr,
	       bpf_map__max_entries(counts[0]), user_s * 1e3 / NR_DRAINS,
	       system_s * 1e3 / NR_DRAINS, sampler_drain_interval_ms(s),
	       totals.bodies_missing / NR_DRAINS);
	if (drained_rows != nr * NR_DRAINS || totals.lost_drain)
		fail("rows are missing");
	for (uint32_t i = 0; i < LB_NR_SLOTS; i++) {
		kmap_unmap(writers[i].body, RECORD_BYTES);
		bpf_object__close(writers[i].object);
	}
	sampler_free(s);
}

/* ---- LRU maps ---- */

static void run_on(size_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		fail("moving to another CPU");
}

/*
 * Adds an entry on each CPU, which then keeps further free ones for itself, and the other
 * entries on CPU 0. Return: how many of @wanted are still there.
 */
static uint32_t entries_kept(uint32_t size, uint32_t wanted)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "lru", 8, 4, size, NULL);
	size_t nr_cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t kept = 0, value = 0;

	if (fd < 0)
		fail("creating the map");
	for (uint64_t key = 0; key < wanted; key++) {
		if (key <= nr_cpus)
			run_on(key % nr_cpus);
		if (bpf_map_update_elem(fd, &key, &value, BPF_ANY))
			fail("filling the map");
	}
	for (uint64_t key = 0; key < wanted; key++)
		kept += !bpf_map_lookup_elem(fd, &key, &value);
	close(fd);
	return kept;
}

static void print_lru(void)
{
	static const uint32_t wanted[] = {256, 1024, 16384};
	uint32_t nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		uint32_t size = map_sizes_lru(wanted[i], nr_cpus);

		printf("| %u | %u | %u | %u | %u | %u |\n", nr_cpus, wanted[i], wanted[i],
		       entries_kept(wanted[i], wanted[i]), size,
		       entries_kept(size, wanted[i]));
	}
}

int main(int argc, char **argv)
{
	uint32_t hz = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	if (argc == 3 && !strcmp(argv[1], "memory")) {
		print_memory(hz);
	} else if (argc == 5 && !strcmp(argv[1], "drain")) {
		print_drains(hz, strtoull(argv[3], NULL, 10), argv[4]);
	} else if (argc == 2 && !strcmp(argv[1], "lru")) {
		print_lru();
	} else {
		fprintf(stderr,
			"usage: scale-maps memory HZ | drain HZ ROWS OBJECT | lru\n");
		return 2;
	}
	return 0;
}
