// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <linux/perf_event.h>

#include "base/log.h"
#include "base/vec.h"
#include "collect/perf_event.h"
#include "collect/sampler_internal.h"
#include "sampler.skel.h"

#define BATCH           4096
#define ROWS_PER_DRAIN  4000 /* what a drain should find at most, by choice of interval */
#define MIN_INTERVAL_MS 100
#define MAX_INTERVAL_MS 1000
#define MIN_ROWS        4096
#define MAX_ROWS        (1u << 20)
#define BYTES_PER_BODY  512 /* 55 frames; a Python stack has about 30 */
#define MIN_BODY_BYTES  (1u << 20)
#define MAX_BODY_BYTES  (64u << 20)

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[1024];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("libbpf: %s", line);
	return 0;
}

unsigned int sampler_drain_interval_ms(const struct sampler *s)
{
	uint64_t per_second = (uint64_t)s->config.freq_hz * s->nr_online_cpus;
	uint64_t ms = ROWS_PER_DRAIN * 1000ULL / per_second;

	return (unsigned int)(ms < MIN_INTERVAL_MS
				      ? MIN_INTERVAL_MS
				      : (ms > MAX_INTERVAL_MS ? MAX_INTERVAL_MS : ms));
}

static uint64_t power_of_two_between(uint64_t want, uint64_t min, uint64_t max)
{
	uint64_t n = min;

	while (n < want && n < max)
		n *= 2;
	return n;
}

/* Room for four intervals' worth of samples that are all different. */
static int size_maps(struct sampler *s)
{
	uint64_t per_drain = (uint64_t)s->config.freq_hz * s->nr_online_cpus *
			     sampler_drain_interval_ms(s) / 1000;
	uint64_t rows = s->config.max_rows
				? s->config.max_rows
				: power_of_two_between(per_drain * 4, MIN_ROWS, MAX_ROWS);
	uint64_t bytes = s->config.body_bytes
				 ? s->config.body_bytes
				 : power_of_two_between(rows * BYTES_PER_BODY,
							MIN_BODY_BYTES, MAX_BODY_BYTES);
	struct bpf_map *counts[] = {s->skel->maps.counts_0, s->skel->maps.counts_1};
	struct bpf_map *seen[] = {s->skel->maps.seen_0, s->skel->maps.seen_1};
	struct bpf_map *bodies[] = {s->skel->maps.bodies_0, s->skel->maps.bodies_1};

	for (size_t i = 0; i < LB_NR_SLOTS; i++)
		if (bpf_map__set_max_entries(counts[i], (uint32_t)rows) ||
		    bpf_map__set_max_entries(seen[i], (uint32_t)rows * 2) ||
		    bpf_map__set_max_entries(bodies[i], (uint32_t)bytes))
			return -EINVAL;
	s->skel->rodata->body_ring_bytes = (uint32_t)bytes;
	return 0;
}

static int explain_load(int code, struct error *err)
{
	switch (-code) {
	case EPERM:
	case EACCES:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"the kernel does not let this user load BPF programs; run as "
			"root, or see what \"lineburn doctor\" says");
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

static void set_rodata(struct sampler *s)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		log_debug("getrandom: %m, the hash seed is fixed");
	s->skel->rodata->hash_seed = seed;
	s->skel->rodata->filter_targets = !s->config.whole_machine;
	s->skel->rodata->keep_tid = s->config.keep_tid;
	s->skel->rodata->kernel_stacks = s->config.kernel_stacks;
	s->skel->rodata->walk_user = s->config.walk_user;
	if (s->config.whole_machine) {
		bpf_program__set_autoload(s->skel->progs.lb_fork, false);
		bpf_program__set_autoload(s->skel->progs.lb_exit, false);
	}
}

static int first_sample(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;
	const struct lb_first_sample *first = data;

	if (size < sizeof(*first))
		return 0;
	if (!first->tgid)
		s->drain_wanted = true;
	else
		s->handlers->first_sample(s->handlers->ctx, first);
	return 0;
}

static int open_rings(struct sampler *s)
{
	struct bpf_map *counts[] = {s->skel->maps.counts_0, s->skel->maps.counts_1};
	struct bpf_map *seen[] = {s->skel->maps.seen_0, s->skel->maps.seen_1};
	struct bpf_map *bodies[] = {s->skel->maps.bodies_0, s->skel->maps.bodies_1};

	for (size_t i = 0; i < LB_NR_SLOTS; i++) {
		s->slots[i].counts_fd = bpf_map__fd(counts[i]);
		s->slots[i].seen_fd = bpf_map__fd(seen[i]);
		s->slots[i].bodies = ring_buffer__new(
			bpf_map__fd(bodies[i]), body_store_handler, &s->bodies, NULL);
		if (!s->slots[i].bodies)
			return -errno;
	}
	s->firsts = ring_buffer__new(bpf_map__fd(s->skel->maps.first_samples),
				     first_sample, s, NULL);
	return s->firsts ? 0 : -errno;
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
	/* Fork and exit of targets are followed before there is a target. */
	rc = s->config.whole_machine ? 0 : sampler_bpf__attach(s->skel);
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
	if (rc)
		return rc;
	*ret = take_ptr(s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr_events; i++)
		bpf_link__destroy(s->events[i].link);
	free(s->events);
	for (size_t i = 0; i < LB_NR_SLOTS; i++)
		ring_buffer__free(s->slots[i].bodies);
	ring_buffer__free(s->firsts);
	sampler_bpf__destroy(s->skel);
	body_store_deinit(&s->bodies);
	free(s->percpu);
	free(s->batch_keys);
	free(s->batch_counts);
	free(s);
}

int sampler_add_target(struct sampler *s, uint32_t tgid, struct error *err)
{
	uint64_t start_unknown = 0;

	if (!bpf_map_update_elem(bpf_map__fd(s->skel->maps.targets), &tgid,
				 &start_unknown, BPF_NOEXIST) ||
	    errno == EEXIST)
		return 0;
	if (errno == E2BIG)
		return error_set(
			err, -E2BIG,
			"too many processes to follow one by one; use -a instead of -p");
	return error_set(err, -errno, "cannot follow process %u: %m", tgid);
}

int sampler_targets_fd(const struct sampler *s)
{
	return bpf_map__fd(s->skel->maps.targets);
}

int sampler_code_gens_fd(const struct sampler *s)
{
	return bpf_map__fd(s->skel->maps.code_gens);
}

void sampler_use_code_gens(struct sampler *s)
{
	__atomic_store_n(&s->skel->bss->code_gens_used, 1, __ATOMIC_SEQ_CST);
}

/* Opens and attaches an event on @cpu. -ENODEV: it is offline. */
static int add_cpu(struct sampler *s, uint32_t cpu)
{
	int fd = perf_event_open_clock((int)cpu, 1000000000ULL / s->config.freq_hz);
	struct cpu_event *event;

	if (fd < 0)
		return fd;
	if (vec_grow(&s->events, &s->cap_events, s->nr_events + 1, sizeof(*s->events),
		     0)) {
		close(fd);
		return -ENOMEM;
	}
	event = &s->events[s->nr_events];
	event->cpu = cpu;
	event->fd = fd;
	event->idle_start_ns = cpu_idle_ns(cpu);
	/* Attaching enables the event, and the link owns the descriptor. */
	event->link = bpf_program__attach_perf_event(s->skel->progs.lb_sample, fd);
	if (!event->link) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	s->nr_events++;
	return 0;
}

static bool has_cpu(const struct cpu_set_list *list, uint32_t cpu)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->cpus[i] == cpu)
			return true;
	return false;
}

static bool has_event(const struct sampler *s, uint32_t cpu)
{
	for (size_t i = 0; i < s->nr_events; i++)
		if (s->events[i].cpu == cpu)
			return true;
	return false;
}

static uint64_t event_idle_ns(const struct cpu_event *event)
{
	uint64_t now = cpu_idle_ns(event->cpu);

	/* iowait is known to step back now and then (proc(5)). */
	return now > event->idle_start_ns ? now - event->idle_start_ns : 0;
}

static void drop_cpu(struct sampler *s, size_t i)
{
	s->gone_enabled_ns += perf_event_enabled_ns(s->events[i].fd);
	s->gone_idle_ns += event_idle_ns(&s->events[i]);
	bpf_link__destroy(s->events[i].link);
	s->events[i] = s->events[--s->nr_events];
}

int sampler_start(struct sampler *s, struct error *err)
{
	struct cpu_set_list online = {0};
	int rc = cpu_list_online(&online);

	for (size_t i = 0; !rc && i < online.nr; i++) {
		rc = add_cpu(s, online.cpus[i]);
		if (rc == -ENODEV)
			rc = 0; /* it went offline just now */
		else if (rc)
			perf_event_explain(rc, err);
	}
	cpu_list_deinit(&online);
	s->running = !rc;
	return rc;
}

void sampler_follow_cpus(struct sampler *s)
{
	struct cpu_set_list online = {0};

	if (!s->running || cpu_list_online(&online))
		return;
	for (size_t i = s->nr_events; i-- > 0;)
		if (!has_cpu(&online, s->events[i].cpu))
			drop_cpu(s, i);
	for (size_t i = 0; i < online.nr; i++)
		if (!has_event(s, online.cpus[i]) && add_cpu(s, online.cpus[i]))
			log_debug("no event on CPU %u: %m, skipping", online.cpus[i]);
	cpu_list_deinit(&online);
}

void sampler_stop(struct sampler *s)
{
	for (size_t i = 0; i < s->nr_events; i++)
		ioctl(s->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	s->totals.nr_cpus = (uint32_t)s->nr_events;
	while (s->nr_events)
		drop_cpu(s, s->nr_events - 1);
	s->running = false;
}

int sampler_poll_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->firsts);
}

bool sampler_first_samples(struct sampler *s, const struct sampler_handlers *handlers)
{
	s->drain_wanted = false;
	s->handlers = handlers;
	ring_buffer__consume(s->firsts);
	s->handlers = NULL;
	return s->drain_wanted;
}

void sampler_totals(const struct sampler *s, struct sampler_totals *ret)
{
	const __u64 *n = s->totals.ctr.n;
	uint64_t ran = n[LB_CTR_TICKS] - n[LB_CTR_IDLE], idle_ns = s->gone_idle_ns, due;

	*ret = s->totals;
	ret->enabled_ns = s->gone_enabled_ns;
	for (size_t i = 0; i < s->nr_events; i++) {
		ret->enabled_ns += perf_event_enabled_ns(s->events[i].fd);
		idle_ns += event_idle_ns(&s->events[i]);
	}
	if (s->running)
		ret->nr_cpus = (uint32_t)s->nr_events;
	if (idle_ns > ret->enabled_ns)
		idle_ns = ret->enabled_ns;
	due = (ret->enabled_ns - idle_ns) / (1000000000ULL / s->config.freq_hz);
	/* Idle time comes in steps of 10 ms: never less than ran. */
	ret->missed = due > ran ? due - ran : 0;
	ret->due = n[LB_CTR_SAMPLED] + ret->missed;
}

uint64_t kernel_map_bytes(int fd)
{
	static const char key[] = "memlock:";
	char path[64], line[256];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			return strtoull(line + strlen(key), NULL, 10);
	return 0;
}

uint64_t sampler_map_bytes(const struct sampler *s)
{
	uint64_t sum = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, s->skel->obj)
		sum += kernel_map_bytes(bpf_map__fd(map));
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
