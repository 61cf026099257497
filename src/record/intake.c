// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/match.h"
#include "base/path.h"
#include "base/target_fd.h"
#include "collect/bpf_programs.h"
#include "collect/filter.h"
#include "collect/kernel_quirks.h"
#include "collect/tick_cost.h"
#include "opener/opener.h"
#include "process/cgroup_mount.h"
#include "process/proc_dir.h"
#include "record/dump.h"
#include "record/wakeups.h"
#include "target/explain.h"
#include "worker/message.h"

/*
 * Interval of reading events between drains: a JIT must be probed before it frees the
 * first code that it generated.
 */
#define LOOK_RUN_MS    20
#define LOOK_RECORD_MS 200
/* While cgroups are walked, which takes 20 ms of a look. */
#define LOOK_CGROUPS_MS 50
/*
 * Shorter at first, while the command maps its libraries, so that its stacks are
 * complete.
 */
#define LOOK_LAUNCH_MS 2
#define LAUNCH_S       0.3
/*
 * Time for new processes in each look and drain, and again for other records. On a busy
 * machine more may start while they are looked at: those that run for long need their
 * unwind tables, too, and windows end in time.
 */
#define NOTICES_NS 20000000ULL
/* Time to build the targets' unwind tables before sampling. */
#define PREPARE_NS 300000000ULL

/* ---- targets ---- */

/*
 * Reads a process's start in ticks since boot, to detect a reused pid. 0: it is there, but
 * does not let itself be looked at (opener/opener.h), and seldom will later.
 */
static bool read_start(uint32_t pid, uint64_t *ret_ticks)
{
	_cleanup_close_ int dir = proc_dir_open_here(pid);
	struct proc_stat stat = {0};
	int rc = dir < 0 ? dir : proc_dir_stat(dir, &stat);

	*ret_ticks = stat.start_ticks;
	if (rc)
		return proc_dir_is_late(rc);
	/* A process with a dead leader and live threads still runs. */
	return stat.state != 'Z' || stat.nr_threads > 1;
}

/* Threads have directories in /proc, too, but are not listed. */
static bool is_thread(uint32_t id)
{
	_cleanup_close_ int dir = proc_dir_open_here(id);
	struct proc_status status;

	return dir >= 0 && !proc_dir_status(dir, &status) && status.tgid != id;
}

/* Builds unwind tables until the time is up, so that the first stacks are complete. */
static void prepare(struct intake *in, uint32_t tgid,
		    bool (*is_wanted)(const struct mapping *m))
{
	const struct process *p;

	if (!in->prepared_by_ns)
		in->prepared_by_ns = clock_now_ns() + PREPARE_NS;
	if (clock_now_ns() >= in->prepared_by_ns)
		return;
	p = process_table_prepare(in->processes, tgid);
	if (p)
		unwind_feeder_prepare(in->unwind, p, is_wanted, in->prepared_by_ns);
}

/* Libraries that most programs use. The waiting command still maps lineburn's own. */
static bool is_for_command(const struct mapping *m)
{
	static const char *const libraries[] = {"libc.", "libm.", "libz."};
	const char *name = path_basename(m->path);

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (match_starts(name, libraries[i]))
			return true;
	return strncmp(name, "lib", 3) != 0;
}

static int follow_command(struct intake *in, struct error *err)
{
	uint32_t tgid = (uint32_t)in->launch->pid;
	int rc = sampler_add_target(in->sampler, tgid, err);

	if (rc)
		return rc;
	unwind_feeder_read_all(in->unwind);
	/* Waits until the executable is mapped. */
	launch_wait_mapped(in->launch);
	prepare(in, tgid, is_for_command);
	return 0;
}

/*
 * @ret_start  see read_start()
 * Return: -ESRCH without a message: the process has exited
 */
static int follow(struct intake *in, uint32_t tgid, uint64_t *ret_start,
		  struct error *err)
{
	uint64_t start;
	int rc;

	if (!read_start(tgid, ret_start))
		return -ESRCH;
	rc = sampler_add_target(in->sampler, tgid, err);
	if (rc)
		return rc;
	/* The pid may have been reused before the kernel side took it. */
	if (!read_start(tgid, &start) || (start && *ret_start && start != *ret_start)) {
		sampler_forget_task(in->sampler, tgid);
		return -ESRCH;
	}
	return 0;
}

/*
 * Follows the targets and their descendants: the scan finds existing processes, the
 * kernel side finds later ones.
 */
static int follow_targets(struct intake *in, struct error *err)
{
	const struct sampling *o = in->config;
	const uint32_t *tgids;
	size_t nr_tgids;
	uint64_t start;
	int rc = 0;

	tgids = target_tgids(in->target, &nr_tgids);
	in->target_starts = calloc(o->target.nr_pids + 1, sizeof(*in->target_starts));
	if (!in->target_starts)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < o->target.nr_pids; i++) {
		rc = is_thread(o->target.pids[i])
			     ? -ESRCH
			     : follow(in, o->target.pids[i], &in->target_starts[i], err);
		if (rc == -ESRCH)
			return explain_no_process(o->target.pids[i], err);
		if (rc)
			return rc;
	}
	rc = process_table_scan(in->processes, o->target.whole_machine ? NULL : tgids,
				nr_tgids, err);
	for (uint32_t id = 0;
	     !rc && o->target.nr_pids && id < process_table_nr_ids(in->processes) &&
	     !wakeups_end_is_pending();
	     id++) {
		const struct process *p = process_table_at(in->processes, id);

		if (!p || p->exited)
			continue;
		if (!o->target.no_children)
			rc = follow(in, p->tgid, &start, err);
		if (rc == -ESRCH) /* it exited after the scan */
			rc = 0;
		prepare(in, p->tgid, NULL);
	}
	return rc;
}

static int fork_command(struct intake *in, struct error *err)
{
	struct launch_user user;

	launch_user_find(&user);
	return launch_new(in->config->argv, &user, !in->config->no_python_hook,
			  &in->launch, err);
}

/* ---- opening ---- */

/*
 * Fails if sampling could crash the host. Sets a note if walking user stacks could hang
 * it.
 */
static int heed_quirk(struct intake *in, struct error *err)
{
	const struct kernel_quirk *quirk = kernel_quirk_find_running("");

	if (!quirk)
		return 0;
	if (quirk->is_refused)
		return error_set_exit(err, EXIT_SYSTEM, -EOPNOTSUPP, "%s; %s",
				      quirk->reason, quirk->remedy);
	in->user_walk_note = quirk->reason;
	return 0;
}

static int open_sampler(struct intake *in, struct error *err)
{
	const struct sampling *o = in->config;
	struct sampler_config config = {
		.source = o->source,
		.freq_hz = o->freq_hz,
		.period = o->event_period,
		.whole_machine = !target_follows_processes(&o->target),
		.keep_tid = o->keep_tid,
		.kernel_stacks = !o->no_kernel_stack,
		.walk_user = !in->user_walk_note,
		.max_frames = o->max_frames,
		.launched_tgid = in->launch ? (uint32_t)in->launch->pid : 0,
	};
	int rc;

	in->rate =
		(struct sample_rate){.freq_hz = o->freq_hz, .budget_ppm = o->budget_ppm};
	if (o->budget_ppm)
		in->rate.tick_ns = tick_cost_ns();
	rc = sampler_new(&config, &in->sampler, err);
	return rc ? rc : target_new(&o->target, in->sampler, &in->target, err);
}

static int open_watches(struct intake *in, struct error *err)
{
	struct worker_config reader = {.kind = WORKER_READER};
	struct jit_watch_config jit = {
		.probing = in->config->probing,
		.whole_machine = !target_follows_processes(&in->config->target)};
	struct launch_user user;
	struct unwind_kmaps maps;
	int rc = worker_new(&reader, &in->reader_worker, err);

	shared_worker_init(&in->reader, in->reader_worker,
			   process_table_is_shared(in->processes));
	launch_user_find(&user);
	jit.user = user.uid;
	if (!rc)
		rc = jit_watch_new(&jit, in->sampler, in->processes, &in->decoder,
				   &in->reader, &in->jit, err);
	sampler_unwind_kmaps(in->sampler, &maps);
	if (!rc)
		rc = unwind_feeder_new(in->config->unwind_bytes, &maps, in->processes,
				       &in->decoder, &in->reader, &in->unwind, err);
	return rc;
}

static int open_processes(struct intake *in, struct strpool *names, struct error *err)
{
	_cleanup_(cgroup_mounts_deinit) struct cgroup_mounts mounts = {0};
	struct process_table_config config = {
		.proc_path = "/proc",
		.max_files = in->config->limits.files,
		.is_shared = !target_follows_processes(&in->config->target),
		.scan_must_end = wakeups_end_is_pending,
		.subuid_path = "/etc/subuid",
		.cgroup_mounts = &mounts};
	int rc = cgroup_mounts_read(&mounts);

	if (rc)
		log_debug("mounts of cgroups: %s, skipping", strerror(-rc));
	if (mounts.is_late)
		log_warning(
			"folders of cgroups do not answer: where the cgroups of others "
			"are is not known, so containers have their users' names; "
			"record again when they do");
	config.cgroups = cgroup_mounts_only_v2(&mounts);
	rc = process_table_new(&config, names, &in->processes, err);
	if (!rc)
		opener_find_tenants(process_table_tenant, in->processes);
	if (!rc && config.is_shared)
		opener_share();
	return rc;
}

static void on_kernel_code(void *ctx, const struct task_event *ev)
{
	kernel_code_event(&((struct intake *)ctx)->kernel_code, ev);
}

static void list_kernel_code(struct intake *in)
{
	int rc;

	if (!in->kernel_code.must_list)
		return;
	rc = bpf_programs_list(on_kernel_code, in);
	if (rc)
		log_debug("BPF programs cannot be listed (%s): those that are loaded "
			  "already have no names, skipping",
			  strerror(-rc));
	kernel_code_is_listed(&in->kernel_code);
}

/* While this thread waits for a helper, so that no ring fills because of that. */
static void empty_rings(void *ctx)
{
	struct intake *in = ctx;

	if (!in->nr_gathers++)
		log_debug("a helper is slow: the rings are emptied while it works");
	task_ring_gather(in->tasks);
	sampler_gather(in->sampler);
	jit_watch_read(in->jit);
}

int intake_init(struct intake *in, const struct sampling *config, struct strpool *names,
		struct error *err)
{
	int rc = heed_quirk(in, err);

	in->config = config;
	if (!rc)
		rc = worker_new(NULL, &in->worker, err);
	shared_worker_init(&in->decoder, in->worker,
			   !target_follows_processes(&config->target));
	/*
	 * First, because the command must not inherit the blocked signals and raised
	 * limits that follow.
	 */
	if (!rc && config->target.is_command && !config->dry_run)
		rc = fork_command(in, err);
	/* From here on nothing of a target is opened in this process. */
	if (!rc)
		rc = target_fd_begin(err);
	if (!rc)
		rc = opener_begin(err);
	if (!rc)
		rc = open_sampler(in, err);
	if (!rc)
		rc = open_processes(in, names, err);
	if (!rc)
		rc = task_ring_new(&in->tasks, err);
	/* Events are recorded since, so no code that comes later is missed. */
	in->kernel_code.must_list = true;
	if (!rc)
		list_kernel_code(in);
	if (!rc)
		rc = open_watches(in, err);
	if (!rc)
		message_meanwhile(empty_rings, in);
	return rc;
}

int intake_follow(struct intake *in, struct error *err)
{
	int rc = 0;

	/* Events are recorded since intake_init(), so the scan misses no process. */
	if (in->launch)
		rc = follow_command(in, err);
	else if (!in->config->target.is_command)
		rc = follow_targets(in, err);
	if (rc || !target_has_families(&in->config->target))
		return rc;
	rc = family_new(in->sampler, &in->family);
	errno = -rc;
	return rc ? error_set(err, rc, "cannot list the processes to sample: %m") : 0;
}

void intake_deinit(struct intake *in)
{
	message_meanwhile(NULL, NULL);
	unwind_feeder_free(in->unwind);
	jit_watch_free(in->jit);
	shared_worker_deinit(&in->decoder);
	shared_worker_deinit(&in->reader);
	worker_free(in->reader_worker);
	worker_free(in->worker);
	family_free(in->family);
	target_free(in->target);
	sampler_free(in->sampler);
	task_ring_free(in->tasks);
	process_table_free(in->processes);
	kernel_code_deinit(&in->kernel_code);
	launch_free(in->launch);
	stack_table_clear(&in->rows);
	free(in->target_starts);
	opener_end();
}

/* ---- while it runs ---- */

static void on_task_event(void *ctx, const struct task_event *ev)
{
	struct intake *in = ctx;

	/*
	 * A fork inherits registrations, an exec drops them: apply earlier ones first.
	 */
	if (ev->kind == TASK_EVENT_FORK || ev->kind == TASK_EVENT_EXEC)
		jit_watch_apply(in->jit, ev->time_ns);
	process_table_event(in->processes, ev);
	if (in->family)
		family_event(in->family, ev);
	kernel_code_event(&in->kernel_code, ev);
	if (ev->kind == TASK_EVENT_FORK)
		unwind_feeder_forked(in->unwind,
				     process_table_newest(in->processes, ev->ppid),
				     process_table_newest(in->processes, ev->pid));
}

/*
 * Reads events if the image of a sample is unknown. Its exec event may have arrived
 * after the last read; without it the sample would be charged to the previous image.
 */
static void read_missing_events(struct intake *in, const struct lb_image *id)
{
	if (!process_table_identified(in->processes, id))
		task_ring_read(in->tasks, on_task_event, in);
}

static bool on_announce(void *ctx, const struct lb_first_sample *first)
{
	return process_table_announce(((struct intake *)ctx)->processes, first);
}

static void on_announced(void *ctx, bool is_next)
{
	struct intake *in = ctx;

	if (is_next)
		process_table_read_announced(in->processes);
	else
		process_table_forget_announced(in->processes);
}

static bool on_knows(void *ctx, const struct lb_image *image)
{
	return process_table_identified(((struct intake *)ctx)->processes, image);
}

static void on_first_sample(void *ctx, const struct lb_first_sample *first)
{
	struct intake *in = ctx;
	struct lb_image id = {first->start_boottime_ns, first->tgid, first->exec_id};
	const struct process *p;

	read_missing_events(in, &id);
	p = process_table_first_told(in->processes, first);
	jit_watch_expect(in->jit);
	unwind_feeder_sampled(in->unwind, p);
}

static void on_unwind_request(void *ctx, const struct lb_unwind_request *request)
{
	struct intake *in = ctx;

	read_missing_events(in, &request->image);
	jit_watch_request(in->jit, request);
	unwind_feeder_request(in->unwind, request);
}

static void on_interp_code(void *ctx, const struct lb_interp_code *code,
			   size_t size_bytes)
{
	struct intake *in = ctx;
	struct process *p;

	read_missing_events(in, &code->image);
	p = process_table_identify(in->processes, &code->image, clock_now_ns());
	if (!p)
		return;
	process_add_interp_code(in->processes, p, code, size_bytes);
	if (p->interp_codes.nr_cut)
		unwind_feeder_expect(in->unwind);
}

/*
 * Rows of several drains are merged while an address keeps its meaning, that is, until
 * the image maps something new or a JIT registers code. If JITs write files, or
 * registrations are not reported, each drain has its own epoch.
 */
static uint64_t epoch_of(const struct intake *in, const struct process *p,
			 uint32_t code_gen)
{
	uint64_t epoch;

	if (!p)
		return 0;
	epoch = hash_u64(maps_nr_ever(&p->maps), code_gen);
	if (p->perf_map.fd >= 0 || p->jitdump.fd >= 0 || p->jit_code.is_unprobed)
		epoch = hash_u64(epoch, in->nr_drains);
	return epoch;
}

static bool runs_kernel_code(const struct intake *in, const struct sample *sample)
{
	const struct kernel_function *f;

	for (uint32_t i = 0; i < sample->nr_kern; i++)
		if (kernel_code_find(&in->kernel_code, sample->kern_ips[i], 0, UINT64_MAX,
				     &f) != KERNEL_CODE_NONE)
			return true;
	return false;
}

static void on_sample(void *ctx, const struct sample *sample)
{
	struct intake *in = ctx;
	struct lb_image id = {sample->start_boottime_ns, sample->tgid, sample->exec_id};
	struct process *p =
		process_table_find(in->processes, &id, sample->first_ns, sample->last_ns);
	uint64_t epoch = epoch_of(in, p, sample->code_gen);

	/* The same for what the kernel generated. */
	if (runs_kernel_code(in, sample))
		epoch = hash_u64(epoch, in->kernel_code.nr_changes);
	if (in->config->dump == DUMP_SAMPLES)
		dump_sample(sample, stderr);
	stack_table_add(
		&in->rows, sample, p,
		process_table_cgroup(in->processes, sample->cgroup_id, sample->last_ns),
		epoch);
}

double intake_elapsed_s(const struct intake *in)
{
	return (double)(clock_now_ns() - in->start_ns) / 1e9;
}

/*
 * A window ends here, not after the wait for earlier BPF programs: samples during that
 * wait belong to the next one.
 */
static void on_flip(void *ctx)
{
	struct intake *in = ctx;
	struct intake_flip *flip = &in->flip;
	uint64_t now_ns = clock_now_ns();
	uint64_t since_ns = flip->time_ns ? flip->time_ns : in->start_ns;

	if (in->sampling && now_ns - since_ns > flip->longest_ns)
		flip->longest_ns = now_ns - since_ns;
	flip->time_ns = now_ns;
	flip->wall_ns = clock_wall_ns();
	flip->ends_window = in->sampling && now_ns >= flip->window_end_ns;
	/* Only then, because it reads every CPU. */
	if (flip->ends_window)
		sampler_totals(in->sampler, &flip->totals);
}

/* No earlier BPF program still runs, so what was freed before may be reused. */
static void on_grace(void *ctx)
{
	struct intake *in = ctx;

	unwind_feeder_grace(in->unwind);
}

static const struct sampler_handlers *handlers(struct intake *in,
					       struct sampler_handlers *h)
{
	*h = (struct sampler_handlers){.ctx = in,
				       .notices_ns = in->sampling ? NOTICES_NS : 0,
				       .flipped = on_flip,
				       .grace = on_grace,
				       .announce = on_announce,
				       .announced = on_announced,
				       .knows = on_knows,
				       .first_sample = on_first_sample,
				       .unwind_request = on_unwind_request,
				       .interp_code = on_interp_code,
				       .sample = on_sample};
	return h;
}

static void read_events(struct intake *in)
{
	jit_watch_read(in->jit);
	task_ring_read(in->tasks, on_task_event, in);
	jit_watch_apply(in->jit, UINT64_MAX);
}

/* Reads task events first, because samples refer to their images. */
bool intake_look(struct intake *in)
{
	struct sampler_handlers h;
	bool is_half_full;

	target_look(in->target);
	read_events(in);
	is_half_full = sampler_notices(in->sampler, handlers(in, &h));
	/* More task events may have arrived, of programs that notices refer to. */
	task_ring_read(in->tasks, on_task_event, in);
	if (process_table_open_new(in->processes, clock_now_ns())) {
		unwind_feeder_expect(in->unwind);
		jit_watch_expect(in->jit);
	}
	/* The unwinder comes first, because stacks are cut until it has answered. */
	unwind_feeder_look(in->unwind);
	jit_watch_look(in->jit);
	return is_half_full;
}

/* Adapts the rate to --budget. */
static void adapt_rate(struct intake *in)
{
	struct sampler_cost cost;
	/* The last drains come after the last sample. */
	uint64_t now = in->sampling ? clock_now_ns() : in->stop_ns;
	unsigned int level, before = in->rate.level;

	if (!in->rate.budget_ppm)
		return;
	sampler_cost(in->sampler, &cost);
	level = sample_rate_measured(
		&in->rate, &(struct sample_rate_measure){
				   .time_ns = now - in->cost_ns,
				   .nr_cpus = cost.nr_cpus,
				   .nr_ticks = cost.nr_ticks - in->cost.nr_ticks,
				   .program_ns = cost.program_ns - in->cost.program_ns,
			   });
	if (level != before)
		sampler_set_level(in->sampler, level);
	in->cost = cost;
	in->cost_ns = now;
}

int intake_drain(struct intake *in, uint64_t window_end_ns, struct error *err)
{
	uint64_t begin_ns = clock_now_ns();
	struct sampler_handlers h;
	int rc;

	in->flip.begin_ns = begin_ns;
	in->flip.window_end_ns = window_end_ns;
	intake_look(in);
	in->nr_drains++;
	rc = sampler_drain(in->sampler, handlers(in, &h));
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot read the samples from the kernel: %m");
	}
	adapt_rate(in);
	/* Code may have been freed since intake_look(), before the samples were read. */
	read_events(in);
	if (in->family)
		family_adopt(in->family, sampler_tasks_missed(in->sampler));
	list_kernel_code(in); /* if events were lost */
	process_table_refresh(in->processes, clock_now_ns());
	process_table_expire(in->processes, begin_ns);
	jit_watch_drain(in->jit);
	/* After the walks, which find code that was freed without an event. */
	unwind_feeder_drain(in->unwind);
	/* first, so that mappings on a new CPU are known before its samples */
	task_ring_follow_cpus(in->tasks);
	sampler_follow_cpus(in->sampler);
	return 0;
}

int intake_start(struct intake *in, struct error *err)
{
	int rc = sampler_start(in->sampler, err);

	if (rc)
		return rc;
	in->sampling = true;
	in->start_ns = in->cost_ns = clock_now_ns();
	in->start_wall_ns = clock_wall_ns();
	return 0;
}

void intake_stop(struct intake *in)
{
	sampler_stop(in->sampler);
	in->sampling = false;
	in->stop_ns = clock_now_ns();
	jit_watch_end(in->jit);
}

bool intake_targets_are_gone(const struct intake *in)
{
	if (in->launch || in->config->target.whole_machine)
		return false;
	if (target_threads_are_gone(in->target))
		return true;
	for (size_t i = 0; i < in->config->target.nr_pids; i++) {
		uint64_t start;

		if (read_start(in->config->target.pids[i], &start) &&
		    (!in->target_starts[i] || start == in->target_starts[i]))
			return false;
	}
	return in->config->target.nr_pids;
}

uint64_t intake_look_interval_ns(const struct intake *in)
{
	int ms = LOOK_RECORD_MS;
	struct worker_wait wait;
	uint64_t interval_ns, now_ns = clock_now_ns();

	if (sampler_notices_are_left(in->sampler))
		return 0;
	if (in->launch)
		ms = intake_elapsed_s(in) < LAUNCH_S ? LOOK_LAUNCH_MS : LOOK_RUN_MS;
	if (target_is_looking(in->target) && ms > LOOK_CGROUPS_MS)
		ms = LOOK_CGROUPS_MS;
	interval_ns = (uint64_t)unwind_feeder_wait_ms(in->unwind, ms) * CLOCK_MS_NS;
	/* When its answer comes is seen at its descriptor; that it is late is not. */
	if (!shared_worker_waits(&in->decoder, &wait))
		return shared_worker_is_busy(&in->decoder) ? 0 : interval_ns;
	if ((uint64_t)wait.deadline_ns <= now_ns)
		return 0;
	return (uint64_t)wait.deadline_ns - now_ns < interval_ns
		       ? (uint64_t)wait.deadline_ns - now_ns
		       : interval_ns;
}
