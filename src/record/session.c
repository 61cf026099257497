// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "collect/filter.h"
#include "collect/kernel_quirks.h"
#include "collect/tick_cost.h"
#include "process/cgroup_mount.h"
#include "process/proc_dir.h"
#include "record/dump.h"
#include "target/explain.h"

/*
 * How often what processes do is looked at between drains: a JIT that was loaded is
 * to be probed before it has thrown away the first code that it made.
 */
#define LOOK_RUN_MS    20
#define LOOK_RECORD_MS 200
/* At the beginning, when the command maps its libraries: their stacks are to be whole. */
#define LOOK_LAUNCH_MS 2
#define LAUNCH_S       0.3
/* For the tables of targets before they are sampled. */
#define PREPARE_NS 300000000ULL

static int64_t wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- who ---- */

/* Start of a process in ticks since boot, which tells it from a later one of its pid. */
static bool read_start(uint32_t pid, uint64_t *ret_ticks)
{
	_cleanup_close_ int dir = proc_dir_open_here(pid);
	struct proc_stat stat;

	if (dir < 0 || proc_dir_stat(dir, &stat))
		return false;
	*ret_ticks = stat.start_ticks;
	/* A dead leader whose threads live on is no zombie to us. */
	return stat.state != 'Z' || stat.nr_threads > 1;
}

/* /proc has directories of those, too, which it does not list. */
static bool is_thread(uint32_t id)
{
	_cleanup_close_ int dir = proc_dir_open_here(id);
	struct proc_status status;

	return dir >= 0 && !proc_dir_status(dir, &status) && status.tgid != id;
}

/* So that the first samples have whole stacks, as far as the time goes. */
static void prepare(struct session *s, uint32_t tgid,
		    bool (*is_wanted)(const struct mapping *m))
{
	const struct process *p;

	if (!s->prepared_by_ns)
		s->prepared_by_ns = clock_now_ns() + PREPARE_NS;
	if (clock_now_ns() >= s->prepared_by_ns)
		return;
	p = process_table_prepare(s->processes, tgid);
	if (p)
		unwind_feeder_prepare(s->unwind, p, is_wanted, s->prepared_by_ns);
}

/* The waiting command has our libraries: of them these are what most programs use. */
static bool is_for_command(const struct mapping *m)
{
	static const char *const libraries[] = {"libc.", "libm.", "libz."};
	const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return strncmp(name, "lib", 3) != 0;
}

static int follow_command(struct session *s, struct error *err)
{
	uint32_t tgid = (uint32_t)launch_pid(s->launch);
	int rc = sampler_add_target(s->sampler, tgid, err);

	if (rc)
		return rc;
	/* What it will execute is mapped there. */
	launch_wait_mapped(s->launch);
	prepare(s, tgid, is_for_command);
	return 0;
}

/*
 * @ret_start  as read_start() has it
 * Return: -ESRCH without a sentence: it is gone
 */
static int follow(struct session *s, uint32_t tgid, uint64_t *ret_start,
		  struct error *err)
{
	uint64_t start;
	int rc;

	if (!read_start(tgid, ret_start))
		return -ESRCH;
	rc = sampler_add_target(s->sampler, tgid, err);
	if (rc)
		return rc;
	/* The number may have become another's before it was told. */
	if (!read_start(tgid, &start) || start != *ret_start) {
		sampler_forget_process(s->sampler, tgid);
		return -ESRCH;
	}
	return 0;
}

/* The targets and all that descends from them: those of the scan and, by BPF, later ones. */
static int follow_targets(struct session *s, struct error *err)
{
	const struct sampling *o = s->config;
	struct process_table_stats stats;
	const uint32_t *tgids;
	size_t nr_tgids;
	uint64_t start;
	int rc = 0;

	tgids = target_tgids(s->target, &nr_tgids);
	s->target_starts = calloc(o->target.nr_pids + 1, sizeof(*s->target_starts));
	if (!s->target_starts)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < o->target.nr_pids; i++) {
		rc = is_thread(o->target.pids[i])
			     ? -ESRCH
			     : follow(s, o->target.pids[i], &s->target_starts[i], err);
		if (rc == -ESRCH)
			return explain_no_process(o->target.pids[i], err);
		if (rc)
			return rc;
	}
	rc = process_table_scan(s->processes, o->target.whole_machine ? NULL : tgids,
				nr_tgids, err);
	process_table_stats(s->processes, &stats);
	for (uint32_t id = 0; !rc && o->target.nr_pids && id < stats.nr_processes; id++) {
		const struct process *p = process_table_at(s->processes, id);

		if (!p || p->exited)
			continue;
		if (!o->target.no_children)
			rc = follow(s, p->tgid, &start, err);
		if (rc == -ESRCH) /* it was found in /proc, and is gone */
			rc = 0;
		prepare(s, p->tgid, NULL);
	}
	return rc;
}

static int fork_command(struct session *s, struct error *err)
{
	struct launch_user user;

	launch_user_find(&user);
	return launch_new(s->config->argv, &user, !s->config->no_python_hook, &s->launch,
			  err);
}

/* ---- opening ---- */

/* Says so where walking user stacks could stop the host (DESIGN C3). */
static bool may_walk_user(struct session *s)
{
	const struct kernel_quirk *quirk = kernel_quirk_find_running("");

	if (quirk)
		s->user_walk_note = quirk->reason;
	return !quirk || quirk->choice == KERNEL_WALK_USER;
}

static int open_sampler(struct session *s, struct error *err)
{
	const struct sampling *o = s->config;
	struct sampler_config config = {
		.freq_hz = o->freq_hz,
		.whole_machine = !target_follows_processes(&o->target),
		.keep_tid = o->keep_tid,
		.kernel_stacks = !o->no_kernel_stack,
		.walk_user = may_walk_user(s),
		.max_frames = o->max_frames,
		.launched_tgid = s->launch ? (uint32_t)launch_pid(s->launch) : 0,
	};
	int rc;

	s->rate =
		(struct sample_rate){.freq_hz = o->freq_hz, .budget_ppm = o->budget_ppm};
	if (o->budget_ppm)
		s->rate.tick_ns = tick_cost_ns();
	rc = sampler_new(&config, &s->sampler, err);
	return rc ? rc : target_new(&o->target, s->sampler, &s->target, err);
}

static int open_watches(struct session *s, struct error *err)
{
	struct worker_config reader = {.kind = WORKER_READER};
	struct jit_watch_config jit = {
		.probing = s->config->probing,
		.whole_machine = !target_follows_processes(&s->config->target)};
	struct launch_user user;
	struct unwind_feeder_config unwind = {.max_row_bytes = s->config->unwind_bytes};
	struct unwind_kmaps maps;
	int rc = worker_new(&reader, &s->reader, err);

	launch_user_find(&user);
	jit.user = user.uid;
	if (!rc)
		rc = jit_watch_new(&jit, s->sampler, s->processes, s->worker, s->reader,
				   &s->jit, err);
	sampler_unwind_kmaps(s->sampler, &maps);
	if (!rc)
		rc = unwind_feeder_new(&unwind, &maps, s->processes, s->worker, s->reader,
				       &s->unwind, err);
	return rc;
}

/* The controlling terminal, which hangs up with SIGHUP. */
static bool terminal_is_there(void)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return fd >= 0;
}

/* Not under nohup(1). */
static bool ends_with_terminal(void)
{
	struct sigaction hup;

	return terminal_is_there() && !sigaction(SIGHUP, NULL, &hup) &&
	       hup.sa_handler != SIG_IGN;
}

static int open_signals(struct session *s, struct error *err)
{
	static const int watched[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->signal_fd < 0 || s->timer_fd < 0 || s->epoll_fd < 0)
		return error_set(err, -errno, "cannot open the event loop: %m");
	return 0;
}

static int watch(struct session *s, int fd)
{
	struct epoll_event interest = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &interest) ? -errno : 0;
}

static int open_processes(struct session *s, struct error *err)
{
	_cleanup_(cgroup_mounts_deinit) struct cgroup_mounts mounts = {0};
	struct process_table_config config = {.proc_path = "/proc",
					      .cgroup_mounts = &mounts};
	int rc = cgroup_mounts_read(&mounts);

	if (rc)
		log_debug("mounts of cgroups: %s, skipping", strerror(-rc));
	config.cgroups = cgroup_mounts_only_v2(&mounts);
	return process_table_new(&config, s->pool, &s->processes, err);
}

int session_init(struct session *s, struct error *err)
{
	int rc = 0;

	s->signal_fd = s->timer_fd = s->epoll_fd = -1;
	s->has_terminal = ends_with_terminal();
	/* First: signals blocked and limits raised below are not the command's. */
	if (s->config->target.is_command && !s->config->dry_run)
		rc = fork_command(s, err);
	if (!rc)
		rc = open_sampler(s, err);
	if (!rc)
		rc = open_processes(s, err);
	if (!rc)
		rc = task_ring_new(&s->tasks, err);
	if (!rc)
		rc = open_watches(s, err);
	if (!rc)
		rc = open_signals(s, err);
	/* Events are kept from here on, so the scan misses nothing. */
	if (!rc && s->launch)
		rc = follow_command(s, err);
	else if (!rc && !s->config->target.is_command)
		rc = follow_targets(s, err);
	if (!rc &&
	    (watch(s, s->signal_fd) || watch(s, s->timer_fd) ||
	     watch(s, task_ring_poll_fd(s->tasks)) ||
	     watch(s, sampler_poll_fd(s->sampler)) ||
	     (target_poll_fd(s->target) >= 0 && watch(s, target_poll_fd(s->target)))))
		rc = error_set(err, -errno, "cannot open the event loop: %m");
	return rc;
}

void session_deinit(struct session *s)
{
	unwind_feeder_free(s->unwind);
	jit_watch_free(s->jit);
	worker_free(s->reader);
	target_free(s->target);
	sampler_free(s->sampler);
	task_ring_free(s->tasks);
	process_table_free(s->processes);
	launch_free(s->launch);
	stack_table_clear(&s->rows);
	free(s->target_starts);
	for (size_t i = 0; i < 3; i++) {
		int fd = ((const int[]){s->signal_fd, s->timer_fd, s->epoll_fd})[i];

		if (fd >= 0)
			close(fd);
	}
}

/* ---- while it runs ---- */

static void on_task_event(void *ctx, const struct task_event *ev)
{
	struct session *s = ctx;

	/* A fork takes over what was registered by then, an exec loses it. */
	if (ev->kind == TASK_EVENT_FORK || ev->kind == TASK_EVENT_EXEC)
		jit_watch_apply(s->jit, ev->time_ns);
	process_table_event(s->processes, ev);
	if (ev->kind == TASK_EVENT_FORK)
		unwind_feeder_forked(s->unwind,
				     process_table_newest(s->processes, ev->ppid),
				     process_table_newest(s->processes, ev->pid));
}

/*
 * Of an image that is met for the first time: its exec may have been told since the events
 * were read, and without it the image before would be taken for this one.
 */
static void catch_up(struct session *s, uint32_t tgid, uint64_t start_boottime_ns,
		     uint32_t exec_id)
{
	if (!process_table_is_identified(s->processes, tgid, start_boottime_ns, exec_id))
		task_ring_read(s->tasks, on_task_event, s);
}

static void on_first_sample(void *ctx, const struct lb_first_sample *first)
{
	struct session *s = ctx;
	const struct process *p;

	catch_up(s, first->tgid, first->start_boottime_ns, first->exec_id);
	p = process_table_first_told(s->processes, first);
	jit_watch_expect(s->jit);
	unwind_feeder_sampled(s->unwind, p);
}

static void on_unwind_request(void *ctx, const struct lb_unwind_request *request)
{
	struct session *s = ctx;

	catch_up(s, request->image.tgid, request->image.start_boottime_ns,
		 request->image.exec_id);
	jit_watch_request(s->jit, request);
	unwind_feeder_request(s->unwind, request);
}

static void on_interp_code(void *ctx, const struct lb_interp_code *code,
			   size_t size_bytes)
{
	struct session *s = ctx;
	struct process *p;

	catch_up(s, code->image.tgid, code->image.start_boottime_ns, code->image.exec_id);
	p = process_table_identify(s->processes, code->image.tgid,
				   code->image.start_boottime_ns, code->image.exec_id,
				   clock_now_ns());
	if (!p)
		return;
	process_add_interp_code(s->processes, p, code, size_bytes);
	if (p->interp_codes.nr_cut)
		unwind_feeder_code_is_cut(s->unwind);
}

/*
 * Rows merge over drains as long as an address means the same: until the image
 * maps something new or a JIT registers code; where JITs write files, or nobody
 * tells when they register, in every drain anew.
 */
static uint64_t epoch_of(const struct session *s, const struct process *p,
			 uint32_t code_gen)
{
	uint64_t epoch;

	if (!p)
		return 0;
	epoch = hash_u64(maps_nr_ever(&p->maps), code_gen);
	if (p->perf_map.fd >= 0 || p->jitdump.fd >= 0 || p->jit_code.is_unprobed)
		epoch = hash_u64(epoch, s->nr_drains);
	return epoch;
}

static void on_sample(void *ctx, const struct sample *sample)
{
	struct session *s = ctx;
	struct process *p = process_table_find(s->processes, sample->tgid,
					       sample->start_boottime_ns, sample->exec_id,
					       sample->first_ns, sample->last_ns);

	if (s->config->dump == DUMP_SAMPLES)
		dump_sample(sample, stderr);
	stack_table_add(
		&s->rows, sample, p,
		process_table_cgroup(s->processes, sample->cgroup_id, sample->last_ns),
		epoch_of(s, p, sample->code_gen));
}

static double elapsed_s(const struct session *s)
{
	return (double)(clock_now_ns() - s->start_ns) / 1e9;
}

static bool time_is_up(const struct session *s)
{
	return s->config->duration_s > 0 && s->sampling &&
	       elapsed_s(s) >= s->config->duration_s;
}

static bool window_is_due(const struct session *s)
{
	if (!s->sampling)
		return false;
	/* The last window ends with the recording: no file for a few milliseconds more. */
	return s->wants_window || s->wants_snapshot ||
	       (s->window_end_ns && clock_now_ns() >= s->window_end_ns && !time_is_up(s));
}

/* What is given up from here on may be looked at by programs that run already. */
static void on_flip(void *ctx)
{
	struct session *s = ctx;
	uint64_t now_ns, since_ns;

	unwind_feeder_grace(s->unwind);
	now_ns = clock_now_ns();
	since_ns = s->flip.time_ns ? s->flip.time_ns : s->start_ns;
	if (s->sampling && now_ns - since_ns > s->flip.longest_ns)
		s->flip.longest_ns = now_ns - since_ns;
	s->flip.time_ns = now_ns;
	s->flip.wall_ns = wall_clock_ns();
	s->flip.ends_window = window_is_due(s);
	/* Asks every CPU: not at each drain. */
	if (s->flip.ends_window)
		sampler_totals(s->sampler, &s->flip.totals);
}

static const struct sampler_handlers *handlers(struct session *s,
					       struct sampler_handlers *h)
{
	*h = (struct sampler_handlers){.ctx = s,
				       .flipped = on_flip,
				       .first_sample = on_first_sample,
				       .unwind_request = on_unwind_request,
				       .interp_code = on_interp_code,
				       .sample = on_sample};
	return h;
}

/* Task events first: they tell what the images of the samples are. */
static bool take_news(struct session *s)
{
	struct sampler_handlers h;
	bool is_half_full;

	target_look(s->target);
	jit_watch_read(s->jit);
	task_ring_read(s->tasks, on_task_event, s);
	jit_watch_apply(s->jit, UINT64_MAX);
	is_half_full = sampler_notices(s->sampler, handlers(s, &h));
	/* What was told just now of a program may be younger than what was read above. */
	task_ring_read(s->tasks, on_task_event, s);
	if (process_table_open_new(s->processes, clock_now_ns())) {
		unwind_feeder_expect(s->unwind);
		jit_watch_expect(s->jit);
	}
	/* First: stacks are cut until it has answered. */
	unwind_feeder_look(s->unwind);
	jit_watch_look(s->jit);
	if (!s->polls_jit && jit_watch_poll_fd(s->jit) >= 0)
		s->polls_jit = !watch(s, jit_watch_poll_fd(s->jit));
	return is_half_full;
}

/* Keeps to --budget. */
static void adapt_rate(struct session *s)
{
	struct sampler_cost cost;
	/* The last drains come after the last sample. */
	uint64_t now = s->sampling ? clock_now_ns() : s->stop_ns;
	unsigned int level, before = s->rate.level;

	if (!s->rate.budget_ppm)
		return;
	sampler_cost(s->sampler, &cost);
	level = sample_rate_measured(
		&s->rate, &(struct sample_rate_measure){
				  .time_ns = now - s->cost_ns,
				  .nr_cpus = cost.nr_cpus,
				  .nr_ticks = cost.nr_ticks - s->cost.nr_ticks,
				  .program_ns = cost.program_ns - s->cost.program_ns,
			  });
	if (level != before)
		sampler_set_level(s->sampler, level);
	s->cost = cost;
	s->cost_ns = now;
}

static int drain(struct session *s, struct error *err)
{
	uint64_t begin_ns = clock_now_ns();
	struct sampler_handlers h;
	int rc;

	take_news(s);
	s->nr_drains++;
	rc = sampler_drain(s->sampler, handlers(s, &h));
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot read the samples from the kernel: %m");
	}
	adapt_rate(s);
	unwind_feeder_drain(s->unwind);
	process_table_refresh(s->processes, clock_now_ns());
	process_table_expire(s->processes, begin_ns);
	jit_watch_drain(s->jit);
	task_ring_follow_cpus(s->tasks); /* first: what is sampled there has mappings */
	sampler_follow_cpus(s->sampler);
	return s->drained(s->drained_ctx, s, begin_ns, err);
}

static void set_timer(const struct session *s, uint64_t first_ns, uint64_t interval_ns)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(first_ns / 1000000000ULL),
			     .tv_nsec = (long)(first_ns % 1000000000ULL)},
		.it_interval = {.tv_sec = (time_t)(interval_ns / 1000000000ULL),
				.tv_nsec = (long)(interval_ns % 1000000000ULL)},
	};

	if (!first_ns)
		when.it_value.tv_nsec = 1; /* 0 would disarm it */
	timerfd_settime(s->timer_fd, 0, &when, NULL);
}

static int start_sampling(struct session *s, struct error *err)
{
	uint64_t interval_ns = sampler_drain_interval_ms(s->sampler) * 1000000ULL;
	int rc = sampler_start(s->sampler, err);

	if (rc)
		return rc;
	s->sampling = true;
	s->start_ns = s->cost_ns = clock_now_ns();
	s->start_wall_ns = wall_clock_ns();
	if (s->config->window_s > 0)
		s->window_end_ns = s->start_ns + (uint64_t)(s->config->window_s * 1e9);
	set_timer(s, interval_ns, interval_ns);
	return 0;
}

/* A signal that somebody sent with kill(2); one of the terminal reaches the command too. */
static bool is_from_somebody(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_USER || info->ssi_code == SI_QUEUE ||
	       info->ssi_code == SI_TKILL;
}

/*
 * Signals that end no recording. A hang-up of the terminal is sent by the kernel and
 * again by shells: what tells it from somebody's wish is that the terminal is gone.
 */
static bool take_wish(struct session *s, uint32_t signal)
{
	bool *wish = signal == SIGUSR1 ? &s->wants_snapshot : &s->wants_window;

	if (signal != SIGUSR1 && signal != SIGHUP)
		return false;
	if (signal == SIGHUP && s->has_terminal && !terminal_is_there())
		return false;
	*wish = s->sampling;
	return true;
}

static enum session_end on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue; /* asked for after the loop's turn */
		if (!s->launch && take_wish(s, info.ssi_signo))
			continue;
		if (!s->launch)
			return SESSION_INTERRUPTED;
		if (is_from_somebody(&info))
			launch_signal(s->launch, (int)info.ssi_signo);
	}
	return SESSION_RUNNING;
}

static void show_progress(const struct session *s)
{
	static const char format[] = "\rlineburn: %.0f s, %llu samples ";

	if (s->launch || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, format, (double)(clock_now_ns() - s->start_ns) / 1e9,
		(unsigned long long)s->rows.nr_samples);
}

static void clear_progress(const struct session *s)
{
	if (!s->launch && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* Are all of the processes asked for gone? */
static bool targets_are_gone(const struct session *s)
{
	if (s->launch || s->config->target.whole_machine)
		return false;
	if (target_threads_are_gone(s->target))
		return true;
	for (size_t i = 0; i < s->config->target.nr_pids; i++) {
		uint64_t start;

		if (read_start(s->config->target.pids[i], &start) &&
		    start == s->target_starts[i])
			return false;
	}
	return s->config->target.nr_pids;
}

static int on_timer(struct session *s, struct error *err)
{
	uint64_t expirations;
	int rc;

	if (read(s->timer_fd, &expirations, sizeof(expirations)) < 0)
		return 0;
	if (!s->sampling)
		return start_sampling(s, err);
	rc = drain(s, err);
	show_progress(s);
	return rc;
}

static int look_interval_ms(const struct session *s)
{
	if (!s->launch)
		return LOOK_RECORD_MS;
	return elapsed_s(s) < LAUNCH_S ? LOOK_LAUNCH_MS : LOOK_RUN_MS;
}

/* Milliseconds to wait at most. */
static int wait_ms(const struct session *s)
{
	int look_ms = unwind_feeder_wait_ms(s->unwind, look_interval_ms(s));
	double left_ms = look_ms, window_ms;

	if (s->config->duration_s > 0 && s->sampling)
		left_ms = (s->config->duration_s - elapsed_s(s)) * 1000;
	if (s->window_end_ns && s->sampling) {
		window_ms = ((double)s->window_end_ns - (double)clock_now_ns()) / 1e6;
		left_ms = window_ms < left_ms ? window_ms : left_ms;
	}
	if (left_ms < 0)
		return 0;
	return left_ms < look_ms ? (int)left_ms + 1 : look_ms;
}

/*
 * Where it is not the time to answer yet (wakeup_limit.h): until it is, or until somebody else
 * wants something, or @fd can be read. Not while work is left: that is in step with nobody.
 */
static void rest(struct session *s, int fd)
{
	struct pollfd others[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = task_ring_poll_fd(s->tasks), .events = POLLIN},
		{.fd = target_poll_fd(s->target), .events = POLLIN}, /* may be -1 */
		{.fd = jit_watch_poll_fd(s->jit), .events = POLLIN}, /* same */
	};
	uint64_t ns = wait_ms(s) ? wakeup_limit_wait_ns(&s->wakeup_limit, clock_now_ns())
				 : 0;

	if (ns)
		ppoll(others, ARRAY_SIZE(others), &(struct timespec){.tv_nsec = (long)ns},
		      NULL);
}

static int turn(struct session *s, enum session_end *end, struct error *err)
{
	struct epoll_event ready[8];
	int nr = epoll_wait(s->epoll_fd, ready, ARRAY_SIZE(ready), wait_ms(s));
	int rc = 0;

	if (nr == 1 && ready[0].data.fd == sampler_poll_fd(s->sampler))
		rest(s, s->signal_fd);
	if (s->sampling)
		sampler_jitter(s->sampler, clock_now_ns());
	if (!nr && take_news(s) && s->sampling)
		rc = drain(s, err);
	for (int i = 0; i < nr && !rc && *end == SESSION_RUNNING; i++) {
		if (ready[i].data.fd == s->signal_fd)
			*end = on_signal(s);
		else if (ready[i].data.fd == s->timer_fd)
			rc = on_timer(s, err);
		else if (take_news(s) && s->sampling)
			rc = drain(s, err);
	}
	if (!rc && *end == SESSION_RUNNING && window_is_due(s))
		rc = drain(s, err);
	if (*end == SESSION_RUNNING && ((s->launch && launch_has_ended(s->launch)) ||
					time_is_up(s) || targets_are_gone(s)))
		*end = SESSION_ENDED;
	return rc;
}

int session_run(struct session *s, enum session_end *ret, struct error *err)
{
	enum session_end end = SESSION_RUNNING;
	int rc = 0;

	if (s->config->delay_s > 0)
		set_timer(s, (uint64_t)(s->config->delay_s * 1e9), 0);
	else
		rc = start_sampling(s, err);
	if (!rc && s->launch)
		rc = launch_go(s->launch, err);
	if (s->config->dry_run)
		end = SESSION_ENDED;
	while (!rc && end == SESSION_RUNNING)
		rc = turn(s, &end, err);
	clear_progress(s);
	sampler_stop(s->sampler);
	s->sampling = false;
	s->stop_ns = clock_now_ns();
	/* Both slots may hold samples. */
	for (int i = 0; !rc && i < LB_NR_SLOTS; i++)
		rc = drain(s, err);
	*ret = end;
	return rc;
}

int session_keep_up(struct session *s, struct error *err)
{
	uint64_t interval_ns = sampler_drain_interval_ms(s->sampler) * 1000000ULL;

	return s->sampling && clock_now_ns() - s->flip.time_ns >= interval_ns
		       ? drain(s, err)
		       : 0;
}

void session_attend(struct session *s, int fd)
{
	struct pollfd fds[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = task_ring_poll_fd(s->tasks), .events = POLLIN},
		{.fd = sampler_poll_fd(s->sampler), .events = POLLIN},
		{.fd = jit_watch_poll_fd(s->jit), .events = POLLIN}, /* may be -1 */
	};
	struct error err = {0};

	while (s->sampling) {
		int nr = poll(fds, ARRAY_SIZE(fds), look_interval_ms(s)), rc;

		if (nr > 0 && fds[0].revents)
			return;
		if (nr == 1 && fds[2].revents)
			rest(s, fd);
		sampler_jitter(s->sampler, clock_now_ns());
		rc = take_news(s) ? drain(s, &err) : session_keep_up(s, &err);
		if (rc)
			log_debug("%s", err.text);
	}
	poll(fds, 1, -1);
}

void session_let_signals_kill(const struct session *s)
{
	struct signalfd_siginfo info;
	sigset_t set;

	/* One that came while the recording ended is not a second one. */
	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
