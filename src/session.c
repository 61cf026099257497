// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "collect/kernel_quirks.h"
#include "dump.h"
#include "process/proc_dir.h"

#define STAT_MAX_BYTES 4096
/*
 * How often what processes do is looked at between drains: a JIT that was loaded is
 * to be probed before it has thrown away the first code that it made.
 */
#define LOOK_RUN_MS    20
#define LOOK_RECORD_MS 200

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* ---- who ---- */

/* Start of a process in ticks since boot, which tells it from a later one of its pid. */
static bool read_start(uint32_t pid, uint64_t *ret_ticks)
{
	_cleanup_free_ char *text = NULL;
	struct proc_stat stat;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, STAT_MAX_BYTES, &text, &len) ||
	    proc_stat_parse(text, len, &stat))
		return false;
	*ret_ticks = stat.start_ticks;
	/* A dead leader whose threads live on is no zombie to us. */
	return stat.state != 'Z' || stat.nr_threads > 1;
}

/* The targets and all that descends from them: those of the scan and, by BPF, later ones. */
static int follow_targets(struct session *s, struct error *err)
{
	const struct options *o = s->options;
	struct process_table_stats stats;
	int rc = 0;

	s->target_starts = calloc(o->nr_pids + 1, sizeof(*s->target_starts));
	if (!s->target_starts)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < o->nr_pids; i++) {
		if (!read_start(o->pids[i], &s->target_starts[i]))
			return error_set(
				err, -ESRCH,
				"there is no process %u; see \"ps -e\" for what runs",
				o->pids[i]);
		rc = sampler_add_target(s->sampler, o->pids[i], err);
		if (rc)
			return rc;
	}
	rc = process_table_scan(s->processes, o->whole_machine ? NULL : o->pids,
				o->nr_pids, err);
	process_table_stats(s->processes, &stats);
	for (uint32_t id = 0; !rc && o->nr_pids && id < stats.nr_processes; id++) {
		const struct process *p = process_table_at(s->processes, id);

		if (p && !p->exited)
			rc = sampler_add_target(s->sampler, p->tgid, err);
	}
	return rc;
}

static int fork_command(struct session *s, struct error *err)
{
	struct launch_user user;

	launch_user_find(&user);
	return launch_new(s->options->argv, &user, !s->options->no_python_hook,
			  &s->launch, err);
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
	const struct options *o = s->options;
	struct sampler_config config = {
		.freq_hz = o->freq_hz,
		.whole_machine = o->whole_machine,
		.keep_tid = o->keep_tid,
		.kernel_stacks = !o->no_kernel_stack,
		.walk_user = may_walk_user(s),
	};

	return sampler_new(&config, &s->sampler, err);
}

static int open_jit(struct session *s, struct error *err)
{
	struct jit_watch_config config = {.no_uprobe = s->options->no_uprobe,
					  .whole_machine = s->options->whole_machine};

	return jit_watch_new(&config, s->sampler, s->processes, s->worker, &s->jit, err);
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

int session_init(struct session *s, struct error *err)
{
	struct process_table_config config = {.proc_path = "/proc"};
	int rc = 0;

	s->signal_fd = s->timer_fd = s->epoll_fd = -1;
	/* First: signals are blocked and limits raised below, which are not the command's. */
	if (s->options->command == COMMAND_RUN && !s->options->dry_run)
		rc = fork_command(s, err);
	if (!rc)
		rc = open_sampler(s, err);
	if (!rc)
		rc = process_table_new(&config, s->pool, &s->processes, err);
	if (!rc)
		rc = task_ring_new(&s->tasks, err);
	if (!rc)
		rc = open_jit(s, err);
	if (!rc)
		rc = open_signals(s, err);
	/* Events are kept from here on, so the scan misses nothing. */
	if (!rc && s->launch)
		rc = sampler_add_target(s->sampler, (uint32_t)launch_pid(s->launch), err);
	else if (!rc && s->options->command == COMMAND_RECORD)
		rc = follow_targets(s, err);
	if (!rc && (watch(s, s->signal_fd) || watch(s, s->timer_fd) ||
		    watch(s, task_ring_poll_fd(s->tasks)) ||
		    watch(s, sampler_poll_fd(s->sampler))))
		rc = error_set(err, -errno, "cannot open the event loop: %m");
	return rc;
}

void session_deinit(struct session *s)
{
	jit_watch_free(s->jit);
	sampler_free(s->sampler);
	task_ring_free(s->tasks);
	process_table_free(s->processes);
	launch_free(s->launch);
	rows_clear(&s->rows);
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
}

static void on_first_sample(void *ctx, const struct lb_first_sample *first)
{
	struct session *s = ctx;

	process_table_first_sample(s->processes, first->tgid, first->start_boottime_ns,
				   first->exec_id, first->time_ns);
	jit_watch_expect(s->jit);
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
	epoch = hash_u64(p->maps.nr, code_gen);
	if (p->perf_map.fd >= 0 || p->jitdump.fd >= 0 ||
	    (p->jit_code.nr_descriptors && jit_watch_is_walking(s->jit)))
		epoch = hash_u64(epoch, s->nr_drains);
	return epoch;
}

static void on_sample(void *ctx, const struct sample *sample)
{
	struct session *s = ctx;
	struct process *p = process_table_find(s->processes, sample->tgid,
					       sample->start_boottime_ns, sample->exec_id,
					       sample->first_ns, sample->last_ns);

	if (s->options->dump == DUMP_SAMPLES)
		dump_sample(sample, stderr);
	rows_add(&s->rows, sample, p, epoch_of(s, p, sample->code_gen));
}

static const struct sampler_handlers *handlers(struct session *s,
					       struct sampler_handlers *h)
{
	*h = (struct sampler_handlers){
		.ctx = s, .first_sample = on_first_sample, .sample = on_sample};
	return h;
}

/* Task events first: they tell what the images of the samples are. */
static bool take_news(struct session *s)
{
	struct sampler_handlers h;
	bool is_half_full;

	jit_watch_read(s->jit);
	task_ring_read(s->tasks, on_task_event, s);
	jit_watch_apply(s->jit, UINT64_MAX);
	is_half_full = sampler_first_samples(s->sampler, handlers(s, &h));
	jit_watch_look(s->jit);
	if (!s->polls_jit && jit_watch_poll_fd(s->jit) >= 0)
		s->polls_jit = !watch(s, jit_watch_poll_fd(s->jit));
	return is_half_full;
}

/* Names what was drained, so that what it was named by may go. */
static int fold(struct session *s, uint64_t flip_ns, struct error *err)
{
	int rc = s->fold(s->fold_ctx, s, err);

	process_table_forget_jit(s->processes, flip_ns);
	return rc;
}

static int drain(struct session *s, struct error *err)
{
	struct jit_store *jit = process_table_jit_store(s->processes);
	uint64_t flip_ns = clock_ns(CLOCK_MONOTONIC);
	struct sampler_handlers h;
	int rc;

	take_news(s);
	s->nr_drains++;
	rc = sampler_drain(s->sampler, handlers(s, &h));
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot read the samples from the kernel: %m");
	}
	process_table_refresh(s->processes, clock_ns(CLOCK_MONOTONIC));
	process_table_expire(s->processes, clock_ns(CLOCK_MONOTONIC));
	jit_watch_drain(s->jit);
	sampler_follow_cpus(s->sampler);
	task_ring_follow_cpus(s->tasks);
	return rows_is_full(&s->rows) || jit_store_is_filling(jit) ? fold(s, flip_ns, err)
								   : 0;
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
	s->start_ns = clock_ns(CLOCK_MONOTONIC);
	s->start_wall_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	set_timer(s, interval_ns, interval_ns);
	return 0;
}

/* A signal that somebody sent with kill(2); one of the terminal reaches the command too. */
static bool is_from_somebody(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_USER || info->ssi_code == SI_QUEUE ||
	       info->ssi_code == SI_TKILL;
}

static enum session_end on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue; /* asked for after the loop's turn */
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
	fprintf(stderr, format, (double)(clock_ns(CLOCK_MONOTONIC) - s->start_ns) / 1e9,
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
	if (s->launch || s->options->whole_machine)
		return false;
	for (size_t i = 0; i < s->options->nr_pids; i++) {
		uint64_t start;

		if (read_start(s->options->pids[i], &start) &&
		    start == s->target_starts[i])
			return false;
	}
	return true;
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

/* Milliseconds to wait at most; 0: the recording's time is up. */
static int wait_ms(const struct session *s)
{
	int look_ms = s->launch ? LOOK_RUN_MS : LOOK_RECORD_MS;
	double elapsed_s, left_ms;

	if (s->options->duration_s <= 0 || !s->sampling)
		return look_ms;
	elapsed_s = (double)(clock_ns(CLOCK_MONOTONIC) - s->start_ns) / 1e9;
	if (elapsed_s >= s->options->duration_s)
		return 0;
	left_ms = (s->options->duration_s - elapsed_s) * 1000;
	return left_ms < look_ms ? (int)left_ms + 1 : look_ms;
}

static int turn(struct session *s, enum session_end *end, struct error *err)
{
	struct epoll_event ready[8];
	int nr = epoll_wait(s->epoll_fd, ready, ARRAY_SIZE(ready), wait_ms(s));
	int rc = 0;

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
	if (*end == SESSION_RUNNING && ((s->launch && launch_has_ended(s->launch)) ||
					wait_ms(s) == 0 || targets_are_gone(s)))
		*end = SESSION_ENDED;
	return rc;
}

int session_run(struct session *s, enum session_end *ret, struct error *err)
{
	enum session_end end = SESSION_RUNNING;
	int rc = 0;

	if (s->options->delay_s > 0)
		set_timer(s, (uint64_t)(s->options->delay_s * 1e9), 0);
	else
		rc = start_sampling(s, err);
	if (!rc && s->launch)
		rc = launch_go(s->launch, err);
	if (s->options->dry_run)
		end = SESSION_ENDED;
	while (!rc && end == SESSION_RUNNING)
		rc = turn(s, &end, err);
	clear_progress(s);
	sampler_stop(s->sampler);
	s->stop_ns = clock_ns(CLOCK_MONOTONIC);
	/* Both slots may hold samples. */
	for (int i = 0; !rc && i < LB_NR_SLOTS; i++)
		rc = drain(s, err);
	*ret = end;
	return rc;
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
