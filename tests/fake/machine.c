// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake/machine.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/job.h"
#include "base/vec.h"
#include "collect/bpf_programs.h"
#include "collect/task_ring.h"
#include "collect/tick_cost.h"
#include "record/wakeups.h"

struct fake_machine fake;

/* ---- the script, and its events that have happened ---- */

enum fake_kind {
	FAKE_SAMPLE,
	FAKE_FIRST_SAMPLE,
	FAKE_PYTHON_CODE,
	FAKE_HALF_FULL,
	FAKE_TASK,
	FAKE_SIGNAL,
	FAKE_CALL,
};

struct fake_item {
	enum fake_kind kind;
	uint32_t at_ms;
	size_t order; /* position in the script: orders items of the same time */
	struct fake_image image;
	uint64_t ip, count;
	uint32_t id; /* of the code object */
	struct task_event task;
	int signal;
	void (*call)(void *ctx);
	void *ctx;
};

struct fake_items {
	struct fake_item *items;
	size_t nr, cap;
};

static struct fake_items script, slot, notices, tasks, signals;
static size_t next; /* index into the script */
static bool is_sorted;
static bool is_running;
static uint64_t start_ns, stop_ns; /* when the sampling started and stopped */
static unsigned int level; /* of the rate: a tick costs 1/2^level of the full cost */
static uint64_t program_ns; /* time that the sampling program took in the kernel */

static void add(struct fake_items *to, const struct fake_item *item)
{
	assert(!vec_grow(&to->items, &to->cap, to->nr + 1, sizeof(*item), 0));
	to->items[to->nr++] = *item;
}

static void add_to_script(struct fake_item *item)
{
	item->order = script.nr;
	add(&script, item);
	is_sorted = false;
}

void fake_reset(void)
{
	struct fake_items *all[] = {&script, &slot, &notices, &tasks, &signals};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		free(all[i]->items);
		*all[i] = (struct fake_items){0};
	}
	next = 0;
	is_running = false;
	start_ns = stop_ns = program_ns = level = 0;
	fake = (struct fake_machine){.now_ns = FAKE_BEGIN_NS, .interval_ms = 100};
}

uint32_t fake_now_ms(void)
{
	return (uint32_t)((fake.now_ns - FAKE_BEGIN_NS) / FAKE_MS);
}

uint64_t fake_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void fake_sample(uint32_t at_ms, const struct fake_image *image, uint64_t ip,
		 uint64_t count)
{
	add_to_script(&(struct fake_item){.kind = FAKE_SAMPLE,
					  .at_ms = at_ms,
					  .image = *image,
					  .ip = ip,
					  .count = count});
}

void fake_samples(uint32_t from_ms, uint32_t to_ms, const struct fake_image *image,
		  uint64_t ip)
{
	for (uint32_t at_ms = from_ms; at_ms < to_ms; at_ms++)
		fake_sample(at_ms, image, ip, 1);
}

void fake_first_sample(uint32_t at_ms, const struct fake_image *image)
{
	add_to_script(&(struct fake_item){
		.kind = FAKE_FIRST_SAMPLE, .at_ms = at_ms, .image = *image});
}

void fake_python_code(uint32_t at_ms, const struct fake_image *image, uint32_t id)
{
	add_to_script(&(struct fake_item){
		.kind = FAKE_PYTHON_CODE, .at_ms = at_ms, .image = *image, .id = id});
}

void fake_half_full(uint32_t at_ms)
{
	add_to_script(&(struct fake_item){.kind = FAKE_HALF_FULL, .at_ms = at_ms});
}

static void add_task(uint32_t at_ms, struct task_event *ev)
{
	ev->time_ns = FAKE_BEGIN_NS + at_ms * FAKE_MS;
	add_to_script(
		&(struct fake_item){.kind = FAKE_TASK, .at_ms = at_ms, .task = *ev});
}

void fake_fork(uint32_t at_ms, uint32_t parent, uint32_t child)
{
	add_task(at_ms, &(struct task_event){
				.kind = TASK_EVENT_FORK, .pid = child, .ppid = parent});
}

void fake_exec(uint32_t at_ms, uint32_t tgid, const char *comm)
{
	struct task_event ev = {.kind = TASK_EVENT_EXEC, .pid = tgid};

	snprintf(ev.comm, sizeof(ev.comm), "%s", comm);
	add_task(at_ms, &ev);
}

void fake_map(uint32_t at_ms, uint32_t tgid, uint64_t start, const char *path)
{
	add_task(at_ms, &(struct task_event){.kind = TASK_EVENT_MMAP,
					     .pid = tgid,
					     .start = start,
					     .end = start + (1u << 20),
					     .prot = PROT_READ | PROT_EXEC,
					     .name = path});
}

void fake_exit(uint32_t at_ms, uint32_t tgid)
{
	add_task(at_ms, &(struct task_event){.kind = TASK_EVENT_EXIT, .pid = tgid});
}

void fake_lost_events(uint32_t at_ms, uint64_t nr)
{
	add_task(at_ms, &(struct task_event){.kind = TASK_EVENT_LOST, .nr_lost = nr});
}

void fake_signal(uint32_t at_ms, int number)
{
	add_to_script(&(struct fake_item){
		.kind = FAKE_SIGNAL, .at_ms = at_ms, .signal = number});
}

void fake_call(uint32_t at_ms, void (*call)(void *ctx), void *ctx)
{
	add_to_script(&(struct fake_item){
		.kind = FAKE_CALL, .at_ms = at_ms, .call = call, .ctx = ctx});
}

static int by_time(const void *a, const void *b)
{
	const struct fake_item *x = a, *y = b;

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void happen(const struct fake_item *item)
{
	switch (item->kind) {
	case FAKE_SAMPLE:
		if (!is_running)
			return;
		fake.slot.n[LB_CTR_TICKS] += item->count;
		fake.slot.n[LB_CTR_SAMPLED] += item->count;
		fake.slot.n[LB_CTR_COUNTED] += item->count;
		program_ns += item->count * fake.program_ns_a_tick >> level;
		add(&slot, item);
		return;
	case FAKE_TASK:
		add(&tasks, item);
		return;
	case FAKE_SIGNAL:
		add(&signals, item);
		return;
	case FAKE_CALL:
		item->call(item->ctx);
		return;
	default:
		add(&notices, item);
	}
}

static uint64_t next_ns(void)
{
	if (!is_sorted && script.nr)
		qsort(script.items, script.nr, sizeof(*script.items), by_time);
	is_sorted = true;
	return next < script.nr ? FAKE_BEGIN_NS + script.items[next].at_ms * FAKE_MS
				: UINT64_MAX;
}

void fake_pass(uint64_t ns)
{
	uint64_t until_ns = fake.now_ns + ns;

	while (next_ns() <= until_ns) {
		if (fake.now_ns < next_ns())
			fake.now_ns = next_ns();
		happen(&script.items[next++]);
	}
	fake.now_ns = until_ns;
}

/* ---- base/clock.h ---- */

uint64_t clock_now_ns(void)
{
	return fake.now_ns;
}

uint64_t clock_boot_ns(void)
{
	return fake.now_ns;
}

int64_t clock_wall_ns(void)
{
	return FAKE_WALL_S * INT64_C(1000000000) + (int64_t)(fake.now_ns - FAKE_BEGIN_NS);
}

/* ---- collect/sampler.h ---- */

struct sampler {
	char unused;
};

int sampler_new(const struct sampler_config *config, struct sampler **ret,
		struct error *err)
{
	(void)config;
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	return 0;
}

void sampler_free(struct sampler *s)
{
	free(s);
}

int sampler_add_target(struct sampler *s, uint32_t tgid, struct error *err)
{
	(void)s;
	(void)tgid;
	(void)err;
	return 0;
}

int sampler_start(struct sampler *s, struct error *err)
{
	(void)s;
	(void)err;
	is_running = true;
	start_ns = fake.now_ns;
	return 0;
}

void sampler_stop(struct sampler *s)
{
	(void)s;
	is_running = false;
	fake.is_stopped = true;
	fake.stopped_cpu_ns = fake_cpu_ns();
	stop_ns = fake.now_ns;
}

void sampler_follow_cpus(struct sampler *s)
{
	(void)s;
}

void sampler_tick(struct sampler *s, uint64_t now_ns)
{
	(void)s;
	(void)now_ns;
}

void sampler_set_level(struct sampler *s, unsigned int new_level)
{
	(void)s;
	level = new_level;
	fake.levels[fake.nr_levels++] = level;
}

void sampler_unwind_kmaps(const struct sampler *s, struct unwind_kmaps *ret)
{
	(void)s;
	*ret = (struct unwind_kmaps){0};
}

int sampler_poll_fd(const struct sampler *s)
{
	(void)s;
	return 0;
}

static void tell_code(const struct fake_item *item, const struct lb_image *image,
		      const struct sampler_handlers *handlers)
{
	struct lb_interp_code code = {
		.image = *image,
		.code_id = item->id,
		.code_addr = 0x1000 * item->id,
		.version = 0x030b0000,
		.first_line = 1,
		.file_chars = 4,
		.name_chars = 1,
		.file_width = 1,
		.name_width = 1,
		.file = "a.py",
		.name = "f",
	};

	handlers->interp_code(handlers->ctx, &code,
			      sizeof(code) - sizeof(code.table) + code.table_copied);
}

static bool tell(const struct sampler_handlers *handlers)
{
	struct fake_items now = notices;
	bool is_half_full = false;

	notices = (struct fake_items){0};
	for (size_t i = 0; i < now.nr; i++) {
		const struct fake_item *item = &now.items[i];
		struct lb_image image = {
			.start_boottime_ns = FAKE_BEGIN_NS +
					     item->image.start_ms * FAKE_MS,
			.tgid = item->image.tgid,
			.exec_id = item->image.exec_id,
		};
		struct lb_first_sample first = {
			.start_boottime_ns = image.start_boottime_ns,
			.time_ns = FAKE_BEGIN_NS + item->at_ms * FAKE_MS,
			.tgid = image.tgid,
			.exec_id = image.exec_id,
			.ids = {.uid = 0, .gid = 0},
		};

		if (fake_now_ms() - item->at_ms > fake.longest_answer_ms)
			fake.longest_answer_ms = fake_now_ms() - item->at_ms;
		if (item->kind == FAKE_HALF_FULL)
			is_half_full = true;
		else if (item->kind == FAKE_PYTHON_CODE)
			tell_code(item, &image, handlers);
		else
			handlers->first_sample(handlers->ctx, &first);
	}
	free(now.items);
	return is_half_full;
}

void sampler_gather(struct sampler *s)
{
	(void)s;
}

bool sampler_notices_are_left(const struct sampler *s)
{
	(void)s;
	return false;
}

bool sampler_notices(struct sampler *s, const struct sampler_handlers *handlers)
{
	(void)s;
	fake.nr_looks++;
	fake_pass(fake.look_ms * FAKE_MS);
	return tell(handlers);
}

static void emit(const struct fake_item *item, const struct sampler_handlers *handlers)
{
	uint64_t at_ns = FAKE_BEGIN_NS + item->at_ms * FAKE_MS;
	__u64 ip = item->ip;
	struct sample sample = {
		.start_boottime_ns = FAKE_BEGIN_NS + item->image.start_ms * FAKE_MS,
		.tgid = item->image.tgid,
		.exec_id = item->image.exec_id,
		.count = item->count,
		.values = {item->count * (1000000000 / FAKE_HZ)},
		.first_ns = at_ns,
		.last_ns = at_ns,
		.user_hash = hash_u64(0, ip),
		.user_ips = &ip,
		.nr_user = ip != 0,
		.status = ip ? LB_STACK_COMPLETE : LB_STACK_NO_USER,
	};

	handlers->sample(handlers->ctx, &sample);
}

/* Samples that no script has: the kernel side has counted each of them. */
static void emit_more(const struct sampler_handlers *handlers)
{
	uint64_t nr = fake.rows ? fake.rows(fake.rows_ctx, handlers) : 0;

	fake.totals.ctr.n[LB_CTR_TICKS] += nr;
	fake.totals.ctr.n[LB_CTR_SAMPLED] += nr;
	fake.totals.ctr.n[LB_CTR_COUNTED] += nr;
	fake.totals.rows_counted += nr;
}

int sampler_drain(struct sampler *s, const struct sampler_handlers *handlers)
{
	struct fake_items rows = slot;
	struct lb_counters counters = fake.slot;

	(void)s;
	slot = (struct fake_items){0};
	fake.slot = (struct lb_counters){0};
	assert(fake.nr_flips < FAKE_MAX_LOG);
	fake.flips_ms[fake.nr_flips++] = fake_now_ms();
	handlers->flipped(handlers->ctx);
	fake_pass(fake.grace_ms * FAKE_MS);
	handlers->grace(handlers->ctx);
	fake_pass(fake.drain_ms * FAKE_MS);
	tell(handlers);
	for (size_t i = 0; i < rows.nr; i++) {
		emit(&rows.items[i], handlers);
		fake.totals.rows_counted += rows.items[i].count;
	}
	for (size_t i = 0; i < LB_NR_COUNTERS; i++)
		fake.totals.ctr.n[i] += counters.n[i];
	emit_more(handlers);
	fake.totals.lost_drain = fake.totals.ctr.n[LB_CTR_COUNTED] -
				 fake.totals.rows_counted;
	free(rows.items);
	return 0;
}

uint64_t sampler_tasks_missed(const struct sampler *s)
{
	(void)s;
	return fake.totals.tasks_missed;
}

static uint64_t sampled_ns(void)
{
	if (!start_ns)
		return 0;
	return (is_running ? fake.now_ns : stop_ns) - start_ns;
}

void sampler_cost(const struct sampler *s, struct sampler_cost *ret)
{
	(void)s;
	*ret = (struct sampler_cost){
		.nr_cpus = is_running,
		.nr_ticks = fake.totals.ctr.n[LB_CTR_TICKS],
		.program_ns = program_ns,
	};
}

/* One CPU that is never idle. */
void sampler_totals(struct sampler *s, struct sampler_totals *ret)
{
	const __u64 *n = fake.totals.ctr.n;

	(void)s;
	*ret = fake.totals;
	ret->nr_cpus = 1;
	ret->stolen_ns = fake.stolen_ns;
	ret->due = sampled_ns() / (1000000000 / FAKE_HZ);
	ret->ran = n[LB_CTR_TICKS] - n[LB_CTR_IDLE];
}

unsigned int sampler_drain_interval_ms(const struct sampler *s)
{
	(void)s;
	return fake.interval_ms;
}

unsigned int sampler_room_ms(const struct sampler *s)
{
	(void)s;
	return 4 * fake.interval_ms;
}

uint64_t sampler_map_bytes(const struct sampler *s)
{
	(void)s;
	return 0;
}

uint32_t sampler_verified_insns(const struct sampler *s)
{
	(void)s;
	return 0;
}

uint64_t tick_cost_ns(void)
{
	return 0;
}

/* ---- collect/task_ring.h ---- */

struct task_ring {
	char unused;
};

int task_ring_new(struct task_ring **ret, struct error *err)
{
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	return 0;
}

void task_ring_free(struct task_ring *r)
{
	free(r);
}

void task_ring_follow_cpus(struct task_ring *r)
{
	(void)r;
}

int task_ring_poll_fd(const struct task_ring *r)
{
	(void)r;
	return 0;
}

void task_ring_gather(struct task_ring *r)
{
	(void)r;
}

void task_ring_read(struct task_ring *r,
		    void (*handler)(void *ctx, const struct task_event *ev), void *ctx)
{
	struct fake_items now = tasks;

	(void)r;
	tasks = (struct fake_items){0};
	for (size_t i = 0; i < now.nr; i++)
		handler(ctx, &now.items[i].task);
	free(now.items);
}

uint64_t task_ring_bytes(const struct task_ring *r)
{
	(void)r;
	return 0;
}

/* ---- collect/bpf_programs.h: no program is there ---- */

int bpf_programs_list(void (*handler)(void *ctx, const struct task_event *ev), void *ctx)
{
	(void)handler;
	(void)ctx;
	return 0;
}

/* ---- base/job.h: the work is done when the write time is over ---- */

struct job {
	int (*work)(void *ctx);
	void *ctx;
	uint64_t done_ns;
};

static const struct job *the_writer;

int job_new(struct job **ret, struct error *err)
{
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	the_writer = *ret;
	return 0;
}

void job_free(struct job *j)
{
	the_writer = NULL;
	free(j);
}

int job_poll_fd(const struct job *j)
{
	(void)j;
	return 0;
}

void job_start(struct job *j, int (*work)(void *ctx), void *ctx)
{
	*j = (struct job){work, ctx, fake.now_ns + fake.write_ms * FAKE_MS};
	fake.writes_ms[fake.nr_writes++] = fake_now_ms();
}

bool job_wait(const struct job *j, int timeout_ms)
{
	assert(!timeout_ms);
	return fake.now_ns >= j->done_ns;
}

int job_finish(struct job *j)
{
	int (*work)(void *ctx) = j->work;
	uint64_t begin_ns;
	int rc;

	if (fake.now_ns < j->done_ns)
		fake_pass(j->done_ns - fake.now_ns);
	j->work = NULL;
	begin_ns = fake_cpu_ns();
	rc = work(j->ctx);
	fake.write_cpu_ns += fake_cpu_ns() - begin_ns;
	return rc;
}

/* ---- record/wakeups.h ---- */

#define LONGEST_MS 3600000u /* a recording that lasts longer never ends */

struct wakeups {
	char unused;
};

int wakeups_new(struct wakeups **ret, struct error *err)
{
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	return 0;
}

void wakeups_free(struct wakeups *w)
{
	free(w);
}

int wakeups_watch(struct wakeups *w, int fd, enum wakeup kind, struct error *err)
{
	(void)w;
	(void)fd;
	(void)kind;
	(void)err;
	return 0;
}

void wakeups_watch_once(struct wakeups *w, int fd, short events, enum wakeup kind)
{
	(void)w;
	(void)fd;
	(void)events;
	(void)kind;
}

static unsigned int ready(void)
{
	unsigned int kinds = 0;

	if (signals.nr)
		kinds |= WAKEUP_SIGNAL;
	if (notices.nr)
		kinds |= WAKEUP_SAMPLER;
	if (the_writer && the_writer->work && fake.now_ns >= the_writer->done_ns)
		kinds |= WAKEUP_WRITER;
	for (size_t i = 0; i < NR_FAKE_WORKERS; i++)
		if (fake.answers_ns[i] && fake.now_ns >= fake.answers_ns[i])
			kinds |= i == FAKE_NAMER ? WAKEUP_DECODER : WAKEUP_EVENTS;
	return kinds;
}

static unsigned int wait_for(unsigned int kinds, uint64_t timeout_ns)
{
	uint64_t until_ns = fake.now_ns + timeout_ns;

	assert(fake_now_ms() < LONGEST_MS);
	while (!(ready() & kinds) && fake.now_ns < until_ns) {
		uint64_t to_ns = next_ns() < until_ns ? next_ns() : until_ns;

		if (the_writer && the_writer->work && the_writer->done_ns < to_ns &&
		    the_writer->done_ns > fake.now_ns)
			to_ns = the_writer->done_ns;
		for (size_t i = 0; i < NR_FAKE_WORKERS; i++)
			if (fake.answers_ns[i] > fake.now_ns &&
			    fake.answers_ns[i] < to_ns)
				to_ns = fake.answers_ns[i];
		fake_pass(to_ns > fake.now_ns ? to_ns - fake.now_ns : 0);
	}
	return ready() & kinds;
}

unsigned int wakeups_wait(struct wakeups *w, uint64_t timeout_ns)
{
	(void)w;
	return wait_for(UINT_MAX, timeout_ns);
}

unsigned int wakeups_wait_but(struct wakeups *w, enum wakeup kind, uint64_t timeout_ns)
{
	(void)w;
	return wait_for(~(unsigned int)kind, timeout_ns);
}

bool wakeups_end_is_pending(void)
{
	for (size_t i = 0; i < signals.nr; i++)
		if (signals.items[i].signal == SIGINT ||
		    signals.items[i].signal == SIGTERM ||
		    signals.items[i].signal == SIGQUIT)
			return true;
	return false;
}

void wakeups_wait_for_signal(struct wakeups *w, int fd, short events, uint64_t timeout_ns)
{
	(void)w;
	(void)fd;
	(void)events;
	wait_for(WAKEUP_SIGNAL | WAKEUP_DECODER | WAKEUP_WRITER, timeout_ns);
}

bool wakeups_take_signal(struct wakeups *w, struct wakeup_signal *ret)
{
	(void)w;
	if (!signals.nr)
		return false;
	*ret = (struct wakeup_signal){.number = signals.items[0].signal,
				      .is_from_somebody = true};
	memmove(signals.items, signals.items + 1, --signals.nr * sizeof(*signals.items));
	return true;
}

void wakeups_drop_signals(struct wakeups *w)
{
	(void)w;
	signals.nr = 0;
}

void wakeups_let_signals_kill(struct wakeups *w)
{
	wakeups_drop_signals(w);
}

void wakeups_let_hangup_kill(struct wakeups *w)
{
	wakeups_drop_signals(w);
}
