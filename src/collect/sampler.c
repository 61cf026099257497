// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/vec.h"
#include "collect/perf_event.h"
#include "collect/sampler_internal.h"
#include "sampler.skel.h"

#define BATCH           4096
#define ROWS_PER_DRAIN  4000 /* most rows a drain should find; sets the interval */
#define USER_FRAMES     127 /* of a stack, by default */
#define MIN_INTERVAL_MS 100
#define ROOM_INTERVALS  4 /* by which a drain may be late */
#define MAX_INTERVAL_MS 1000
#define MIN_ROWS        4096
#define MAX_ROWS        (1u << 20)
#define BYTES_PER_BODY  512 /* 55 frames; a Python stack has about 30 */
#define MIN_BODY_BYTES  (1u << 20)
#define MAX_BODY_BYTES  (64u << 20)
/* Announced programs: no more than first samples could announce. */
#define MIN_EXEC_PAUSE_NS 2000000ULL
/* Rate per CPU that the maps are sized for if the source has no rate. */
#define EVENT_RATE_HZ SAMPLER_MAX_HZ
#define SECOND_NS     1000000000ULL

/* The end of a verifier's log has the refused instruction and the state. */
#define LOG_LINES 40

static char *last_lines(char *text)
{
	size_t at = strlen(text);

	for (int nr = 0; at && nr < LOG_LINES; nr++)
		while (at && text[--at] != '\n')
			;
	return text + at;
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char *text, *rest, *line;

	if (level == LIBBPF_DEBUG || log_level() < 2 || vasprintf(&text, fmt, args) < 0)
		return 0;
	rest = last_lines(text);
	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_debug("%s", line);
	free(text);
	return 0;
}

unsigned int sampler_drain_interval_ms(const struct sampler *s)
{
	uint64_t per_second = (uint64_t)s->rate_hz * s->nr_online_cpus;
	uint64_t ms = ROWS_PER_DRAIN * 1000ULL / per_second;

	return (unsigned int)(ms < MIN_INTERVAL_MS
				      ? MIN_INTERVAL_MS
				      : (ms > MAX_INTERVAL_MS ? MAX_INTERVAL_MS : ms));
}

unsigned int sampler_room_ms(const struct sampler *s)
{
	return ROOM_INTERVALS * sampler_drain_interval_ms(s);
}

static uint64_t power_of_two_between(uint64_t want, uint64_t min, uint64_t max)
{
	uint64_t n = min;

	while (n < want && n < max)
		n *= 2;
	return n;
}

/* Sizes the maps for some intervals of samples that all differ. */
static int size_maps(struct sampler *s)
{
	uint64_t per_drain = (uint64_t)s->rate_hz * s->nr_online_cpus *
			     sampler_drain_interval_ms(s) / 1000;
	uint64_t rows = s->config.max_rows
				? s->config.max_rows
				: power_of_two_between(per_drain * ROOM_INTERVALS,
						       MIN_ROWS, MAX_ROWS);
	uint64_t bytes = s->config.body_bytes
				 ? s->config.body_bytes
				 : power_of_two_between(rows * BYTES_PER_BODY,
							MIN_BODY_BYTES, MAX_BODY_BYTES);
	struct bpf_map *counts[] = {s->skel->maps.counts_0, s->skel->maps.counts_1};
	struct bpf_map *bodies[] = {s->skel->maps.bodies_0, s->skel->maps.bodies_1};

	for (size_t i = 0; i < LB_NR_SLOTS; i++)
		if (bpf_map__set_max_entries(counts[i], (uint32_t)rows) ||
		    bpf_map__set_max_entries(bodies[i], (uint32_t)bytes))
			return -EINVAL;
	s->skel->rodata->body_ring_bytes = (uint32_t)bytes;
	return 0;
}

static int explain_load(int code, struct error *err)
{
	switch (-code) {
	case EPERM:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"the kernel does not let this user load BPF programs; run as "
			"root, or see what \"lineburn doctor\" says");
	case EACCES:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"the kernel's verifier, or a security module such as SELinux, "
			"refused the BPF program; -vv prints what the verifier said, "
			"the audit log or dmesg what the module did");
	case ESRCH:
	case ENOENT:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"this kernel has no type information at /sys/kernel/btf/vmlinux "
			"(CONFIG_DEBUG_INFO_BTF); use a kernel that has it");
	default:
		errno = -code;
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"the kernel refused the BPF program: %m; lineburn needs Linux "
			"5.10 or newer with BTF, -vv prints the reason");
	}
}

static uint64_t exec_pause_ns(const struct sampler *s)
{
	uint64_t ns = SECOND_NS / ((uint64_t)s->rate_hz * s->nr_online_cpus);

	return ns > MIN_EXEC_PAUSE_NS ? ns : MIN_EXEC_PAUSE_NS;
}

static void set_rodata(struct sampler *s)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		log_debug("getrandom: %m, the hash seed is fixed");
	s->skel->rodata->hash_seed = seed;
	s->skel->rodata->source = (__u16)s->config.source->id;
	if (!s->config.whole_machine)
		s->skel->bss->filter.uses = s->skel->bss->filter.wanted =
			LB_FILTER_IN(LB_FILTER_PROCESS);
	s->skel->rodata->launched_tgid = s->config.launched_tgid;
	s->skel->rodata->exec_pause_ns = exec_pause_ns(s);
	s->skel->rodata->keep_tid = s->config.keep_tid;
	s->skel->rodata->kernel_stacks = s->config.kernel_stacks;
	s->skel->rodata->walk_user = s->config.walk_user;
	s->skel->rodata->max_frames = s->config.max_frames;
}

static int open_source(struct sampler *s, struct error *err)
{
	const struct sample_source_kind *kind = s->config.source;
	struct sample_source_config config = {
		.prog_fd = bpf_program__fd(s->skel->progs.lb_sample),
		.period = kind->is_clock ? SECOND_NS / s->config.freq_hz
					 : s->config.period,
	};

	/* Not the seed of the hashes: the ticks must not reveal that. */
	if (getrandom(&config.seed, sizeof(config.seed), 0) != sizeof(config.seed))
		log_debug("getrandom: %m, the turns of periods are known");
	s->source = kind->new (&config);
	if (!s->source)
		return error_set(err, -ENOMEM, "out of memory");
	s->source->kind = kind;
	return 0;
}

static int open_rings(struct sampler *s)
{
	struct bpf_map *counts[] = {s->skel->maps.counts_0, s->skel->maps.counts_1};
	struct bpf_map *bodies[] = {s->skel->maps.bodies_0, s->skel->maps.bodies_1};

	for (size_t i = 0; i < LB_NR_SLOTS; i++) {
		s->slots[i].counts_fd = bpf_map__fd(counts[i]);
		s->slots[i].bodies = ring_buffer__new(
			bpf_map__fd(bodies[i]), body_store_handler, &s->bodies, NULL);
		if (!s->slots[i].bodies)
			return -errno;
	}
	return notices_open(s);
}

static int load(struct sampler *s, struct error *err)
{
	int rc;

	s->skel = sampler_bpf__open();
	if (!s->skel)
		return error_set(err, -errno, "cannot open the built-in BPF object: %m");
	set_rodata(s);
	rc = size_maps(s);
	if (rc)
		return error_set(err, rc, "cannot size the BPF maps");
	rc = sampler_bpf__load(s->skel);
	if (rc)
		return explain_load(rc, err);
	/* Fork and exit are followed before there is a target. */
	rc = sampler_bpf__attach(s->skel);
	if (rc)
		return explain_load(rc, err);
	rc = open_rings(s);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot map the BPF ring buffers: %m");
	}
	return 0;
}

int sampler_new(const struct sampler_config *config, struct sampler **ret,
		struct error *err)
{
	_cleanup_(sampler_freep) struct sampler *s = calloc(1, sizeof(*s));
	struct cpu_set_list online = {0};
	int rc;

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->config = *config;
	if (!s->config.max_frames)
		s->config.max_frames = USER_FRAMES;
	if (s->config.max_frames > LB_MAX_FRAMES)
		s->config.max_frames = LB_MAX_FRAMES;
	if (!s->config.source)
		s->config.source = &cpu_clock_source;
	s->rate_hz = s->config.source->is_clock ? config->freq_hz : EVENT_RATE_HZ;
	libbpf_set_print(print_libbpf);
	rc = libbpf_num_possible_cpus();
	if (rc < 0 || cpu_list_online(&online))
		return error_set_exit(
			err, EXIT_SYSTEM, -ENOENT,
			"cannot read the list of CPUs below /sys; mount sysfs");
	s->nr_possible_cpus = (uint32_t)rc;
	s->nr_online_cpus = (uint32_t)online.nr;
	cpu_list_deinit(&online);

	s->percpu = calloc(s->nr_possible_cpus, sizeof(*s->percpu));
	s->batch_keys = calloc(BATCH, sizeof(*s->batch_keys));
	s->batch_counts = calloc(BATCH, sizeof(*s->batch_counts));
	if (!s->percpu || !s->batch_keys || !s->batch_counts)
		return error_set(err, -ENOMEM, "out of memory");
	rc = load(s, err);
	if (!rc)
		rc = open_source(s, err);
	if (rc)
		return rc;
	*ret = take_ptr(s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	if (s->source)
		s->source->kind->free(s->source);
	for (size_t i = 0; i < LB_NR_SLOTS; i++)
		ring_buffer__free(s->slots[i].bodies);
	ring_buffer__free(s->notices);
	sampler_bpf__destroy(s->skel);
	body_store_deinit(&s->bodies);
	free(s->percpu);
	free(s->batch_keys);
	free(s->batch_counts);
	free(s);
}

int sampler_targets_fd(const struct sampler *s)
{
	return bpf_map__fd(s->skel->maps.targets);
}

int sampler_code_gens_fd(const struct sampler *s)
{
	return bpf_map__fd(s->skel->maps.code_gens);
}

void sampler_unwind_kmaps(const struct sampler *s, struct unwind_kmaps *ret)
{
	*ret = (struct unwind_kmaps){
		.slabs_fd = bpf_map__fd(s->skel->maps.slabs),
		.pages_fd = bpf_map__fd(s->skel->maps.pages),
		.rules_fd = bpf_map__fd(s->skel->maps.rules),
		.segments_fd = bpf_map__fd(s->skel->maps.segments),
		.interps_fd = bpf_map__fd(s->skel->maps.interps),
		.processes_fd = bpf_map__fd(s->skel->maps.processes),
		.pages_generation = &s->skel->bss->pages_generation,
	};
}

void sampler_use_code_gens(struct sampler *s)
{
	__atomic_store_n(&s->skel->bss->code_gens_used, 1, __ATOMIC_SEQ_CST);
}

int sampler_start(struct sampler *s, struct error *err)
{
	_cleanup_free_ char *times = cpu_times_read();
	int rc = s->source->kind->start(s->source, times, err);

	s->stolen_is_known = times;
	s->stolen_before_ns = cpus_stolen_ns(times);
	s->running = !rc;
	return rc;
}

void sampler_follow_cpus(struct sampler *s)
{
	s->source->kind->follow_cpus(s->source);
}

void sampler_tick(struct sampler *s, uint64_t now_ns)
{
	s->source->kind->tick(s->source, now_ns);
}

void sampler_set_level(struct sampler *s, unsigned int level)
{
	if (s->source->kind->set_level)
		s->source->kind->set_level(s->source, level);
}

static uint64_t stolen_since_start(const struct sampler *s, const char *times)
{
	uint64_t now_ns = cpus_stolen_ns(times);

	/* Not known if the start value is not known. */
	return now_ns > s->stolen_before_ns && s->stolen_is_known
		       ? now_ns - s->stolen_before_ns
		       : 0;
}

void sampler_stop(struct sampler *s)
{
	_cleanup_free_ char *times = cpu_times_read();

	s->totals.nr_cpus = s->source->kind->nr_cpus(s->source);
	if (s->running)
		s->totals.stolen_ns = stolen_since_start(s, times);
	s->source->kind->stop(s->source, times);
	s->running = false;
}

void sampler_cost(const struct sampler *s, struct sampler_cost *ret)
{
	const __u64 *n = s->totals.ctr.n;

	*ret = (struct sampler_cost){.nr_cpus = s->source->kind->nr_cpus(s->source),
				     .nr_ticks = n[LB_CTR_TICKS],
				     .program_ns = n[LB_CTR_RUN_NS] +
						   n[LB_CTR_CHOICE_NS]};
}

void sampler_totals(struct sampler *s, struct sampler_totals *ret)
{
	const __u64 *n = s->totals.ctr.n;
	uint64_t ran = n[LB_CTR_TICKS] - n[LB_CTR_IDLE];
	_cleanup_free_ char *times = cpu_times_read();
	struct sample_source_account account;

	s->source->kind->account(s->source, times, &account);
	*ret = s->totals;
	ret->enabled_ns = account.enabled_ns;
	if (s->running) {
		ret->nr_cpus = s->source->kind->nr_cpus(s->source);
		ret->stolen_ns = stolen_since_start(s, times);
	}
	/* Idle time comes in steps of 10 ms: never less than ran. */
	ret->idle_unknown = account.is_unknown;
	ret->missed = !account.is_unknown && account.due > (double)ran
			      ? (uint64_t)account.due - ran
			      : 0;
	ret->due = n[LB_CTR_SAMPLED] + ret->missed;
}

uint64_t sampler_map_bytes(const struct sampler *s)
{
	uint64_t sum = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, s->skel->obj) sum += kmap_bytes(bpf_map__fd(map));
	return sum;
}

uint32_t sampler_verified_insns(const struct sampler *s)
{
	struct bpf_program *prog;
	uint32_t sum = 0;

	bpf_object__for_each_program(prog, s->skel->obj)
	{
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			sum += info.verified_insns;
	}
	return sum;
}
