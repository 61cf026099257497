// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/as_root.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/io.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/bpf_programs.h"
#include "collect/map_sizes.h"
#include "collect/notices.h"
#include "collect/perf_event.h"
#include "lineburn_filter.h" /* the skeleton has it in .bss */
#include "sampler.skel.h"

#define BATCH 4096
/* Minimum pause between announced execs: at most as many as first samples. */
#define MIN_EXEC_PAUSE_NS 2000000ULL
/* Rate per CPU that the maps are sized for if the source has no rate. */
#define EVENT_RATE_HZ SAMPLER_MAX_HZ
#define SECOND_NS     1000000000ULL

/* One of the two slots: its maps as descriptors. */
struct slot {
	int counts_fd;
	struct ring_buffer *bodies;
};

/* Bodies of the slot that is being drained, contiguous; reused at each drain. */
struct body_store {
	uint64_t *words;
	size_t nr_words, cap_words;
	struct hashmap by_hash; /* -> offset in words */
};

struct sampler {
	struct sampler_config config;
	struct sampler_bpf *skel;
	struct notices notices;
	struct slot slots[LB_NR_SLOTS];
	struct body_store bodies;
	const struct sampler_handlers *handlers; /* during a drain only */
	uint32_t nr_possible_cpus;
	uint32_t nr_sized_cpus; /* the maps are sized for that many */
	struct map_sizes sizes;

	struct sample_source source;
	uint32_t rate_hz; /* samples of a CPU per second that the maps are sized for */
	bool stolen_is_known;
	uint64_t stolen_before_ns; /* cpus_stolen_ns() at the start */

	/* Buffers of one batch, and the per-CPU counters; allocated once. */
	struct lb_stack_key *batch_keys;
	struct lb_stack_count *batch_counts;
	struct lb_counters *percpu;
	struct sampler_totals totals;
};

/* The end of a verifier's log has the refused instruction and its state. */
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
	return s->sizes.interval_ms;
}

unsigned int sampler_room_ms(const struct sampler *s)
{
	return s->sizes.room_ms;
}

static int size_lru_maps(struct sampler *s)
{
	uint32_t cpus = s->config.nr_cpus ? s->config.nr_cpus : s->nr_possible_cpus;
	struct bpf_map *maps[] = {s->skel->maps.images, s->skel->maps.code_gens,
				  s->skel->maps.codes_told, s->skel->maps.inherited};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		if (bpf_map__set_max_entries(
			    maps[i], map_sizes_lru(bpf_map__max_entries(maps[i]), cpus)))
			return -EINVAL;
	return 0;
}

/* Sizes the maps for some intervals in which all samples differ. */
static int size_maps(struct sampler *s)
{
	struct bpf_map *counts[] = {s->skel->maps.counts_0, s->skel->maps.counts_1};
	struct bpf_map *bodies[] = {s->skel->maps.bodies_0, s->skel->maps.bodies_1};

	for (size_t i = 0; i < LB_NR_SLOTS; i++)
		if (bpf_map__set_max_entries(counts[i], s->sizes.rows) ||
		    bpf_map__set_max_entries(bodies[i], s->sizes.body_bytes))
			return -EINVAL;
	if (bpf_map__set_max_entries(s->skel->maps.first_samples, s->sizes.first_bytes))
		return -EINVAL;
	s->skel->rodata->body_ring_bytes = s->sizes.body_bytes;
	return size_lru_maps(s);
}

static int explain_load(int code, struct error *err)
{
	char advice[AS_ROOT_MAX_BYTES];

	switch (-code) {
	case EPERM:
		return error_set_exit(
			err, EXIT_SYSTEM, code,
			"the kernel does not let this user load BPF programs; see what "
			"\"lineburn doctor\" says%s",
			as_root_advice(advice, sizeof(advice)));
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
			"this kernel has no type information at " KERNEL_BTF_PATH
			" (CONFIG_DEBUG_INFO_BTF); use a kernel that has it");
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
	uint64_t ns = SECOND_NS / ((uint64_t)s->rate_hz * s->nr_sized_cpus);

	return ns > MIN_EXEC_PAUSE_NS ? ns : MIN_EXEC_PAUSE_NS;
}

/* Returns how many frames of a kernel stack the kernel gives at most. */
static uint32_t kern_frames_limit(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned long limit;
	size_t len;

	if (io_read_file("/proc/sys/kernel/perf_event_max_stack", 64, &text, &len))
		return LB_MAX_KERN_FRAMES;
	limit = strtoul(text, NULL, 10);
	return limit && limit < LB_MAX_KERN_FRAMES ? (uint32_t)limit : LB_MAX_KERN_FRAMES;
}

static void set_rodata(struct sampler *s)
{
	uint64_t secret[2];

	if (getrandom(secret, sizeof(secret), 0) == sizeof(secret)) {
		s->skel->rodata->hash_seed = secret[0];
		s->skel->rodata->hash_factor = secret[1] | 1;
	} else {
		log_debug("getrandom: %m, the hash of stacks can be known");
	}
	s->skel->rodata->source = (__u16)s->config.source->id;
	if (!s->config.whole_machine)
		s->skel->bss->filter.uses = s->skel->bss->filter.wanted =
			LB_FILTER_IN(LB_FILTER_PROCESS);
	s->skel->rodata->launched_tgid = s->config.launched_tgid;
	s->skel->rodata->exec_pause_ns = exec_pause_ns(s);
	s->skel->rodata->keep_tid = s->config.keep_tid;
	s->skel->rodata->kernel_stacks = s->config.kernel_stacks;
	s->skel->rodata->kern_frames_limit = kern_frames_limit();
	s->skel->rodata->walk_user = s->config.walk_user;
	s->skel->rodata->max_frames = s->config.max_frames;
	s->skel->rodata->page_shift =
		(uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
}

static void init_source(struct sampler *s)
{
	const struct sample_source_kind *kind = s->config.source;
	uint64_t seed = 0;

	/* Not the hashes' seed, because the ticks must not reveal that. */
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		log_debug("getrandom: %m, the order of periods is predictable");
	s->source = (struct sample_source){
		.kind = kind,
		.prog_fd = bpf_program__fd(s->skel->progs.lb_sample),
		.period = kind->is_clock ? SECOND_NS / s->config.freq_hz
					 : s->config.period,
		.random = seed ? seed : 1,
	};
}

/*
 * Called by libbpf for each body in the ring. Out of memory: the body counts as
 * missing.
 */
static int keep_body(void *ctx, void *data, size_t size)
{
	struct body_store *store = ctx;
	const struct lb_body *body = data;
	size_t words = (size + 7) / 8;

	if (size < offsetof(struct lb_body, ips) ||
	    size < offsetof(struct lb_body, ips) + body->nr_frames * sizeof(body->ips[0]))
		return 0;
	if (hashmap_get(&store->by_hash, body->hash, NULL, NULL, NULL) != HASHMAP_NONE)
		return 0;
	if (vec_grow(&store->words, &store->cap_words, store->nr_words + words, 8,
		     HASHMAP_NONE - 1) ||
	    hashmap_add(&store->by_hash, body->hash, (uint32_t)store->nr_words))
		return 0;
	memcpy(store->words + store->nr_words, data, size);
	store->nr_words += words;
	return 0;
}

static int open_rings(struct sampler *s)
{
	struct bpf_map *counts[] = {s->skel->maps.counts_0, s->skel->maps.counts_1};
	struct bpf_map *bodies[] = {s->skel->maps.bodies_0, s->skel->maps.bodies_1};

	for (size_t i = 0; i < LB_NR_SLOTS; i++) {
		s->slots[i].counts_fd = bpf_map__fd(counts[i]);
		s->slots[i].bodies = ring_buffer__new(bpf_map__fd(bodies[i]), keep_body,
						      &s->bodies, NULL);
		if (!s->slots[i].bodies)
			return -errno;
	}
	return notices_open(&s->notices, bpf_map__fd(s->skel->maps.first_samples),
			    bpf_map__fd(s->skel->maps.requests),
			    bpf_map__fd(s->skel->maps.interp_codes));
}

static int load(struct sampler *s, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = KERNEL_BTF_PATH);
	int rc;

	s->skel = sampler_bpf__open_opts(&opts);
	if (!s->skel)
		return error_set(err, -errno, "cannot open the built-in BPF object: %m");
	set_rodata(s);
	rc = size_maps(s);
	if (rc)
		return error_set(err, rc, "cannot size the BPF maps");
	rc = sampler_bpf__load(s->skel);
	if (rc)
		return explain_load(rc, err);
	/* Attach fork and exit programs before there is a target. */
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
	_cleanup_(cpu_list_deinit) struct cpu_set_list online = {0};
	int rc;

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->config = *config;
	if (!s->config.max_frames || s->config.max_frames > LB_MAX_FRAMES)
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
	s->nr_sized_cpus = config->nr_cpus ? config->nr_cpus : (uint32_t)online.nr;
	s->sizes = map_sizes_of(s->rate_hz, s->nr_sized_cpus, (uint32_t)config->max_rows,
				(uint32_t)config->body_bytes);

	s->percpu = calloc(s->nr_possible_cpus, sizeof(*s->percpu));
	s->batch_keys = calloc(BATCH, sizeof(*s->batch_keys));
	s->batch_counts = calloc(BATCH, sizeof(*s->batch_counts));
	if (!s->percpu || !s->batch_keys || !s->batch_counts)
		return error_set(err, -ENOMEM, "out of memory");
	rc = load(s, err);
	if (rc)
		return rc;
	init_source(s);
	*ret = take_ptr(s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sample_source_deinit(&s->source);
	for (size_t i = 0; i < LB_NR_SLOTS; i++)
		ring_buffer__free(s->slots[i].bodies);
	notices_close(&s->notices);
	sampler_bpf__destroy(s->skel);
	hashmap_deinit(&s->bodies.by_hash);
	free(s->bodies.words);
	free(s->percpu);
	free(s->batch_keys);
	free(s->batch_counts);
	free(s);
}

struct sampler_bpf *sampler_skel(const struct sampler *s)
{
	return s->skel;
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
		.inherited_fd = bpf_map__fd(s->skel->maps.inherited),
		.files_fd = bpf_map__fd(s->skel->maps.unwind_files),
		.pages_generation = &s->skel->bss->pages_generation,
		.image_changes = s->skel->bss->image_changes,
	};
}

int sampler_start(struct sampler *s, struct error *err)
{
	_cleanup_free_ char *times = cpu_times_read();
	int rc = sample_source_start(&s->source, times, err);

	s->stolen_is_known = times;
	s->stolen_before_ns = cpus_stolen_ns(times);
	return rc;
}

void sampler_follow_cpus(struct sampler *s)
{
	sample_source_follow_cpus(&s->source);
}

void sampler_tick(struct sampler *s, uint64_t now_ns)
{
	sample_source_tick(&s->source, now_ns);
}

void sampler_set_level(struct sampler *s, unsigned int level)
{
	sample_source_set_level(&s->source, level);
}

static uint64_t stolen_since_start(const struct sampler *s, const char *times)
{
	uint64_t now_ns = cpus_stolen_ns(times);

	/* Unknown if the value at the start is unknown. */
	return now_ns > s->stolen_before_ns && s->stolen_is_known
		       ? now_ns - s->stolen_before_ns
		       : 0;
}

void sampler_stop(struct sampler *s)
{
	_cleanup_free_ char *times = cpu_times_read();

	s->totals.nr_cpus = (uint32_t)s->source.nr;
	if (s->source.running)
		s->totals.stolen_ns = stolen_since_start(s, times);
	sample_source_stop(&s->source, times);
}

void sampler_cost(const struct sampler *s, struct sampler_cost *ret)
{
	const __u64 *n = s->totals.ctr.n;

	*ret = (struct sampler_cost){.nr_cpus = (uint32_t)s->source.nr,
				     .nr_ticks = n[LB_CTR_TICKS],
				     .program_ns = n[LB_CTR_RUN_NS] +
						   n[LB_CTR_FILTER_NS]};
}

void sampler_totals(struct sampler *s, struct sampler_totals *ret)
{
	const __u64 *n = s->totals.ctr.n;
	_cleanup_free_ char *times = cpu_times_read();
	struct sample_source_account account;

	sample_source_account(&s->source, times, &account);
	*ret = s->totals;
	ret->enabled_ns = account.enabled_ns;
	if (s->source.running) {
		ret->nr_cpus = (uint32_t)s->source.nr;
		ret->stolen_ns = stolen_since_start(s, times);
	}
	ret->idle_unknown = account.is_unknown;
	ret->due = account.is_unknown ? 0 : (uint64_t)account.due;
	ret->due_error = (uint64_t)ceil(account.error);
	ret->ran = n[LB_CTR_TICKS] - n[LB_CTR_IDLE];
}

uint64_t sampler_tasks_missed(const struct sampler *s)
{
	return s->totals.tasks_missed;
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

/* ---- records of the kernel side between drains ---- */

int sampler_poll_fd(const struct sampler *s)
{
	return notices_poll_fd(&s->notices);
}

void sampler_gather(struct sampler *s)
{
	notices_gather(&s->notices);
}

/* @ctx  the handlers */
static void deliver(void *ctx, enum notice_kind kind, const void *data, size_t size)
{
	const struct sampler_handlers *h = ctx;

	switch (kind) {
	case NOTICE_FIRST_SAMPLE:
		if (h->first_sample)
			h->first_sample(h->ctx, data);
		break;
	case NOTICE_REQUEST:
		if (h->unwind_request)
			h->unwind_request(h->ctx, data);
		break;
	case NOTICE_CODE:
		if (h->interp_code)
			h->interp_code(h->ctx, data, size);
		break;
	}
}

static bool announce(void *ctx, const struct lb_first_sample *first)
{
	const struct sampler_handlers *h = ctx;

	return !h->announce || h->announce(h->ctx, first);
}

static void announced(void *ctx, bool is_next)
{
	const struct sampler_handlers *h = ctx;

	if (h->announced)
		h->announced(h->ctx, is_next);
}

static bool knows(void *ctx, const struct lb_image *image)
{
	const struct sampler_handlers *h = ctx;

	return !h->knows || h->knows(h->ctx, image);
}

static void deliver_notices(struct sampler *s, const struct sampler_handlers *handlers)
{
	uint64_t max_ns = handlers->notices_ns ? handlers->notices_ns : UINT64_MAX;
	const struct notice_receiver to = {.ctx = (void *)handlers,
					   .take = deliver,
					   .announce = announce,
					   .announced = announced,
					   .knows = knows};

	notices_deliver(&s->notices, &to, max_ns, max_ns);
}

bool sampler_notices(struct sampler *s, const struct sampler_handlers *handlers)
{
	deliver_notices(s, handlers);
	/* A request during a drain counts, too: it may be for the slot flipped to. */
	return notices_take_drain(&s->notices);
}

bool sampler_notices_are_left(const struct sampler *s)
{
	return notices_are_left(&s->notices);
}

/*
 * ---- draining ----
 *
 * Empties one slot. The order matters: flip, wait, bodies, counts, counters. After the
 * wait no program run uses the old slot, so its contents are final and counted + lost =
 * sampled holds exactly.
 */

static const struct lb_body *find_body(const struct body_store *store, uint64_t hash)
{
	uint32_t at = hashmap_get(&store->by_hash, hash, NULL, NULL, NULL);

	return at == HASHMAP_NONE ? NULL : (const struct lb_body *)(store->words + at);
}

/* Makes later program runs use the other slot. On return no run uses the old one. */
static int flip(struct sampler *s, const struct sampler_handlers *handlers,
		uint32_t *ret_old)
{
	uint32_t round = s->skel->bss->drain_round, old = round & 1;

	__atomic_store_n(&s->skel->bss->drain_round, round + 1, __ATOMIC_SEQ_CST);
	if (handlers->flipped)
		handlers->flipped(handlers->ctx);
	/*
	 * Writing the same inner map again changes nothing, but waits for all running
	 * programs.
	 */
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.counts), &old,
				&s->slots[old].counts_fd, BPF_ANY))
		return -errno;
	__atomic_store_n(&s->skel->bss->drain_wanted, 0, __ATOMIC_SEQ_CST);
	*ret_old = old;
	return 0;
}

static void emit(struct sampler *s, const struct lb_stack_key *key,
		 const struct lb_stack_count *count)
{
	struct sample sample = {
		.start_boottime_ns = key->start_boottime_ns,
		.tgid = key->tgid,
		.exec_id = key->exec_id,
		.code_gen = key->code_gen,
		.status = key->status & 0xff,
		.count = count->count,
		.source = key->source,
		.first_ns = count->first_ns,
		.last_ns = count->last_ns < count->first_ns ? count->first_ns
							    : count->last_ns,
		.user_hash = key->user_hash,
		.kern_hash = key->kern_hash,
	};
	char comm[LB_COMM_LEN + 1] = "";

	memcpy(sample.values, count->values, sizeof(sample.values));
	if (sample.status == LB_STACK_NO_BODY) {
		/* Without a body the hashes are the leaf addresses. */
		sample.user_ips = &key->user_hash;
		sample.kern_ips = &key->kern_hash;
		sample.nr_user = key->user_hash != 0;
		sample.nr_kern = key->kern_hash != 0;
		if (LB_STATUS_OF_WALK(key->status) == LB_STACK_NO_USER)
			sample.status = LB_STACK_NO_USER;
	} else {
		const struct lb_body *user = find_body(&s->bodies, key->user_hash);
		const struct lb_body *kern = find_body(&s->bodies, key->kern_hash);

		if (user) {
			memcpy(comm, user->comm, LB_COMM_LEN);
			sample.comm = comm;
			sample.tid = user->tid;
			sample.uid = user->uid;
			sample.has_uid = user->uid != LB_NO_ID;
			sample.cgroup_id = user->cgroup_id;
			sample.user_ips = user->ips;
			sample.nr_user = user->nr_frames;
			sample.callers = LB_CALLERS(key->status);
			sample.user_leaf_is_return = user->kind == LB_BODY_USER_SYSCALL;
		}
		if (kern) {
			sample.kern_ips = kern->ips;
			sample.nr_kern = kern->nr_frames;
		}
		if (!user || (!kern && key->kern_hash)) {
			s->totals.bodies_missing += count->count;
			sample.status = LB_STACK_NO_BODY;
		}
	}
	s->totals.rows_counted += count->count;
	s->handlers->sample(s->handlers->ctx, &sample);
}

/* Delivers and removes every row of the slot. */
static int drain_counts(struct sampler *s, const struct slot *slot)
{
	uint32_t position = 0, count;
	void *in = NULL;
	int rc;

	do {
		count = BATCH;
		rc = bpf_map_lookup_and_delete_batch(slot->counts_fd, in, &position,
						     s->batch_keys, s->batch_counts,
						     &count, NULL);
		if (rc && errno != ENOENT)
			return -errno;
		for (uint32_t i = 0; i < count; i++)
			emit(s, &s->batch_keys[i], &s->batch_counts[i]);
		in = &position;
	} while (!rc);
	return 0;
}

/* Sums the slot's counters over all CPUs and resets them. */
static int take_counters(struct sampler *s, uint32_t slot)
{
	int fd = bpf_map__fd(s->skel->maps.counters);
	size_t bytes = s->nr_possible_cpus * sizeof(*s->percpu);

	if (bpf_map_lookup_elem(fd, &slot, s->percpu))
		return -errno;
	for (uint32_t cpu = 0; cpu < s->nr_possible_cpus; cpu++)
		for (size_t i = 0; i < LB_NR_COUNTERS; i++)
			s->totals.ctr.n[i] += s->percpu[cpu].n[i];
	memset(s->percpu, 0, bytes);
	return bpf_map_update_elem(fd, &slot, s->percpu, BPF_ANY) ? -errno : 0;
}

static uint64_t nr_tasks_missed(const struct sampler *s)
{
	const int fds[] = {bpf_program__fd(s->skel->progs.lb_fork),
			   bpf_program__fd(s->skel->progs.lb_exec),
			   bpf_program__fd(s->skel->progs.lb_exit),
			   bpf_program__fd(s->skel->progs.lb_free)};

	return bpf_programs_missed(fds, ARRAY_SIZE(fds));
}

int sampler_drain(struct sampler *s, const struct sampler_handlers *handlers)
{
	uint32_t old = 0;
	int rc = flip(s, handlers, &old);
	int counters_rc;

	if (rc)
		return rc;
	if (handlers->grace)
		handlers->grace(handlers->ctx);
	/* Code objects before the samples that refer to them. */
	deliver_notices(s, handlers);
	s->handlers = handlers;
	ring_buffer__consume(s->slots[old].bodies);
	rc = drain_counts(s, &s->slots[old]);
	hashmap_deinit(&s->bodies.by_hash);
	s->bodies.nr_words = 0;
	counters_rc = take_counters(s, old);
	s->handlers = NULL;

	s->totals.lost_drain = s->totals.ctr.n[LB_CTR_COUNTED] - s->totals.rows_counted;
	s->totals.targets_dropped = s->skel->bss->targets_dropped;
	s->totals.cgroups_too_deep = s->skel->bss->cgroups_too_deep;
	s->totals.tasks_missed = nr_tasks_missed(s);
	if (rc)
		log_debug("draining slot %u: %s", old, strerror(-rc));
	return rc ? rc : counters_rc;
}
