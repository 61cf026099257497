// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/jit_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/job.h"
#include "base/log.h"
#include "base/target_fd.h"
#include "base/vec.h"
#include "collect/jit_assembly.h"
#include "collect/perf_event.h"
#include "collect/sampler.h"
#include "jit.skel.h"
#include "lineburn_filter.h"
#include "sampler.skel.h"

#define DEFAULT_RING_BYTES (8u << 20)

struct probed_file {
	dev_t dev;
	ino_t ino; /* not reused while probed: the probe holds the inode */
	uint64_t register_off;
	struct bpf_link *link;
};

/*
 * Most time for one probe when all are removed: the kernel takes 0.1 s, or as long as a
 * process that maps the file holds its memory lock.
 */
#define REMOVE_MAX_MS 1000

/*
 * What the thread does: attaches the probe to a file, and loads the program before; or
 * removes the probe. It uses nothing but this, because it may outlive all else
 * (jit_probe_free()).
 */
struct probe_work {
	bool is_removal;
	struct probed_file file;
	/* only to attach */
	int64_t descriptor_delta;
	int fd; /* owned */
	struct jit_bpf *skel; /* opened; the thread loads it unless it is loaded */
	bool is_loaded;
	int load_failure; /* the thread's result */
};

struct jit_probe {
	struct jit_probe_config config;
	struct sampler *sampler;
	struct jit_assembly *assembly;
	struct jit_bpf *opened; /* NULL: it is loaded, or cannot be */
	struct jit_bpf *skel; /* NULL until the first file */
	bool has_pmu;
	int load_failure; /* no retry */
	struct job *job;
	struct probe_work work; /* of the job */
	struct ring_buffer *ring;
	struct lb_jit_counters *percpu; /* one per possible CPU */
	int nr_possible_cpus;

	struct probed_file *files;
	size_t nr_files, cap_files;
	uint64_t nr_refused;

	/* Only during a read. */
	jit_event_fn fn;
	void *ctx;
	uint64_t nr_bytes_read;
};

static void start_removal(struct jit_probe *p, struct probed_file *file);

/*
 * Not when the first file comes: libbpf looks up a name that is not there in /proc, which a
 * user may hold. The thread loads it. Return: 0 or -errno.
 */
static int open_program(struct jit_probe *p)
{
	const struct sampler_bpf *sampler = sampler_skel(p->sampler);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = KERNEL_BTF_PATH);
	struct jit_bpf *skel = jit_bpf__open_opts(&opts);
	int rc;

	if (!skel)
		return -errno;
	skel->rodata->filter_targets = !p->config.whole_machine;
	skel->rodata->ring_bytes = p->config.ring_bytes;
	rc = bpf_map__set_max_entries(skel->maps.records, (uint32_t)p->config.ring_bytes);
	if (!rc)
		rc = bpf_map__reuse_fd(skel->maps.targets,
				       bpf_map__fd(sampler->maps.targets));
	if (!rc)
		rc = bpf_map__reuse_fd(skel->maps.code_gens,
				       bpf_map__fd(sampler->maps.code_gens));
	if (rc)
		jit_bpf__destroy(skel);
	else
		p->opened = skel;
	return rc;
}

int jit_probe_new(const struct jit_probe_config *config, struct sampler *sampler,
		  struct jit_probe **ret, struct error *err)
{
	_cleanup_(jit_probe_freep) struct jit_probe *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return error_set(err, -ENOMEM, "out of memory");
	p->config = *config;
	if (!p->config.ring_bytes)
		p->config.ring_bytes = DEFAULT_RING_BYTES;
	if (!p->config.max_files || p->config.max_files > JIT_PROBE_MAX_FILES)
		p->config.max_files = JIT_PROBE_MAX_FILES;
	p->sampler = sampler;
	p->assembly = jit_assembly_new();
	p->nr_possible_cpus = libbpf_num_possible_cpus();
	if (p->nr_possible_cpus > 0)
		p->percpu = calloc((size_t)p->nr_possible_cpus, sizeof(*p->percpu));
	if (!p->assembly || !p->percpu)
		return error_set(err, -ENOMEM, "out of memory");
	rc = job_new(&p->job, err);
	if (rc)
		return rc;
	if (config->may_attach) {
		p->has_pmu = !access(PERF_UPROBE_TYPE_PATH, F_OK);
		p->load_failure = open_program(p);
	}
	*ret = take_ptr(p);
	return 0;
}

/* Return: false: the kernel does not finish with a probe. */
static bool remove_all(struct jit_probe *p)
{
	int rc;

	for (;;) {
		if (jit_probe_is_busy(p) && !jit_probe_settle(p, REMOVE_MAX_MS, &rc))
			return false;
		if (!p->nr_files)
			return true;
		start_removal(p, &p->files[p->nr_files - 1]);
	}
}

/*
 * If the kernel does not finish, the thread and all that it uses are left as they are, with
 * the other probes: to remove one, the kernel would wait for the same lock. That is safe
 * because the process is about to end. No part of it waits for the thread then, the thread
 * uses only memory that nobody frees, and the kernel removes the probes when it closes
 * their descriptors. But it reports the end to the parent only once it has the lock, as it
 * would after SIGKILL: a thread that waits for a memory lock cannot be killed.
 */
void jit_probe_free(struct jit_probe *p)
{
	if (!p || (p->job && !remove_all(p)))
		return;
	job_free(p->job);
	free(p->files);
	ring_buffer__free(p->ring);
	jit_bpf__destroy(p->opened);
	jit_bpf__destroy(p->skel);
	jit_assembly_free(p->assembly);
	free(p->percpu);
	free(p);
}

static int take_record(void *ctx, void *data, size_t size)
{
	struct jit_probe *p = ctx;

	jit_assembly_take(p->assembly, data, size, p->fn, p->ctx);
	p->nr_bytes_read += size;
	/* End the read: a target may register code without pause. */
	return p->nr_bytes_read < p->config.ring_bytes ? 0 : -EAGAIN;
}

int jit_probe_try(void)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct jit_bpf *skel = jit_bpf__open_and_load();
	int rc = skel ? 0 : -errno;

	jit_bpf__destroy(skel);
	libbpf_set_print(print);
	return rc;
}

/* ---- the thread ---- */

/* Return: 0 or -errno. */
static int attach(void *ctx)
{
	struct probe_work *w = ctx;
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = (uint64_t)w->descriptor_delta);
	char path[32];

	if (!w->is_loaded)
		w->load_failure = jit_bpf__load(w->skel);
	if (w->load_failure)
		return w->load_failure;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->fd);
	w->file.link = bpf_program__attach_uprobe_opts(w->skel->progs.lb_jit_register, -1,
						       path, w->file.register_off, &opts);
	return w->file.link ? 0 : -errno;
}

static int detach(void *ctx)
{
	struct probe_work *w = ctx;

	bpf_link__destroy(w->file.link);
	return 0;
}

/* ---- attaching and removing ---- */

static struct probed_file *find_file(const struct jit_probe *p, dev_t dev, ino_t ino,
				     uint64_t register_off)
{
	for (size_t i = 0; i < p->nr_files; i++)
		if (p->files[i].dev == dev && p->files[i].ino == ino &&
		    p->files[i].register_off == register_off)
			return &p->files[i];
	return NULL;
}

bool jit_probe_is_busy(const struct jit_probe *p)
{
	return job_is_started(p->job);
}

int jit_probe_settled_fd(const struct jit_probe *p)
{
	return job_poll_fd(p->job);
}

/* Do samples have their process's code generation? Otherwise it is 0. */
static void use_code_gens(struct jit_probe *p, bool used)
{
	__atomic_store_n(&sampler_skel(p->sampler)->bss->code_gens_used, used,
			 __ATOMIC_SEQ_CST);
}

static void start_attachment(struct jit_probe *p, const struct probe_work *work)
{
	p->work = *work;
	/* before the program runs for the first time */
	if (!work->is_loaded)
		use_code_gens(p, true);
	job_start(p->job, attach, &p->work);
}

static int start(struct jit_probe *p, int fd, uint64_t register_off,
		 int64_t descriptor_delta)
{
	struct probe_work work = {.descriptor_delta = descriptor_delta};
	struct statx stx;
	uint64_t dev;

	/* Without asking the file system's server, which may never answer. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &stx))
		return -errno;
	dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	if (!descriptor_delta)
		return -EINVAL; /* not a variable; and 0 is not a valid cookie */
	if (find_file(p, dev, stx.stx_ino, register_off))
		return -EALREADY;
	/* Room for the result, so that taking it cannot fail. */
	if (vec_grow(&p->files, &p->cap_files, p->nr_files + 1, sizeof(*p->files),
		     p->config.max_files))
		return -ENOSPC;
	/* Without the PMU, libbpf would write to tracefs, which persists after a kill. */
	if (!p->has_pmu)
		return -EOPNOTSUPP;
	if (p->load_failure)
		return p->load_failure;
	work.file = (struct probed_file){
		.dev = dev, .ino = stx.stx_ino, .register_off = register_off};
	work.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (work.fd < 0)
		return -errno;
	work.is_loaded = p->skel;
	work.skel = p->skel ? p->skel : p->opened;
	start_attachment(p, &work);
	return 0;
}

int jit_probe_attach(struct jit_probe *p, int fd, uint64_t register_off,
		     int64_t descriptor_delta)
{
	int rc;

	if (jit_probe_is_busy(p))
		return -EBUSY;
	rc = start(p, fd, register_off, descriptor_delta);
	if (rc && rc != -EALREADY)
		p->nr_refused++;
	return rc;
}

/* The thread has loaded the program, or could not. */
static int take_program(struct jit_probe *p)
{
	p->load_failure = p->work.load_failure;
	p->opened = NULL;
	if (p->load_failure) {
		jit_bpf__destroy(p->work.skel);
		use_code_gens(p, false);
	} else {
		p->skel = p->work.skel;
		p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.records),
					   take_record, p, NULL);
		if (!p->ring)
			p->load_failure = -errno;
	}
	if (p->load_failure) {
		errno = -p->load_failure;
		log_debug("the probe of JITs does not load: %m");
	}
	return p->load_failure;
}

bool jit_probe_settle(struct jit_probe *p, int timeout_ms, int *ret_rc)
{
	const struct probe_work *work = &p->work;

	if (!job_wait(p->job, timeout_ms))
		return false;
	*ret_rc = job_finish(p->job);
	if (work->is_removal)
		return true;
	target_fd_close(work->fd);
	if (!work->is_loaded && take_program(p))
		*ret_rc = p->load_failure;
	if (!*ret_rc) {
		p->files[p->nr_files++] = work->file;
	} else {
		bpf_link__destroy(work->file.link);
		p->nr_refused++;
	}
	return true;
}

static void start_removal(struct jit_probe *p, struct probed_file *file)
{
	p->work = (struct probe_work){.is_removal = true, .file = *file};
	*file = p->files[--p->nr_files];
	job_start(p->job, detach, &p->work);
}

int jit_probe_detach(struct jit_probe *p, uint64_t dev, uint64_t inode,
		     uint64_t register_off)
{
	struct probed_file *file = find_file(p, dev, inode, register_off);

	if (jit_probe_is_busy(p))
		return -EBUSY;
	if (!file)
		return -ENOENT;
	start_removal(p, file);
	return 0;
}

int jit_probe_poll_fd(const struct jit_probe *p)
{
	return p->ring ? ring_buffer__epoll_fd(p->ring) : -1;
}

/*
 * Reads the ring. While "woken" is set, the program does not wake us, so it must not
 * stay set while we sleep: epoll drops a wake-up for records that were already read.
 */
static void consume(struct jit_probe *p)
{
	volatile uint32_t *woken = &p->skel->bss->woken;

	p->nr_bytes_read = 0;
	do {
		__atomic_store_n(woken, 0, __ATOMIC_SEQ_CST);
		ring_buffer__consume(p->ring);
	} while (__atomic_load_n(woken, __ATOMIC_SEQ_CST) &&
		 p->nr_bytes_read < p->config.ring_bytes);
	__atomic_store_n(woken, 0, __ATOMIC_SEQ_CST);
}

void jit_probe_read(struct jit_probe *p, jit_event_fn fn, void *ctx)
{
	if (!p->ring)
		return;
	p->fn = fn;
	p->ctx = ctx;
	consume(p);
	jit_assembly_expire(p->assembly, clock_now_ns(), fn, ctx);
	p->fn = NULL;
	p->ctx = NULL;
}

void jit_probe_totals(const struct jit_probe *p, struct jit_probe_totals *ret)
{
	uint32_t zero = 0;

	*ret = (struct jit_probe_totals){
		.nr_files = p->nr_files,
		.nr_files_refused = p->nr_refused,
		.nr_broken = jit_assembly_broken(p->assembly),
	};
	if (!p->skel ||
	    bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.counters), &zero, p->percpu))
		return;
	for (int cpu = 0; cpu < p->nr_possible_cpus; cpu++)
		for (size_t i = 0; i < LB_NR_JIT_COUNTERS; i++)
			ret->n[i] += p->percpu[cpu].n[i];
}

uint64_t jit_probe_map_bytes(const struct jit_probe *p)
{
	uint64_t sum = 0;
	struct bpf_map *map;

	if (!p->skel)
		return 0;
	/* The sampler counts the maps that it lends. */
	bpf_object__for_each_map(map, p->skel->obj) if (map != p->skel->maps.targets &&
							map != p->skel->maps.code_gens)
		sum += kmap_bytes(bpf_map__fd(map));
	return sum;
}
