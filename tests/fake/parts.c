// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of the machine that scripts do not use, and the decoder, which takes time. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/private_rss.h"
#include "collect/filter.h"
#include "fake/machine.h"
#include "runtime/jit/watch.h"
#include "runtime/runtime.h"
#include "target/target.h"
#include "unwind/feeder.h"
#include "opener/opener.h"
#include "worker/shared.h"

uint64_t private_rss_bytes(void)
{
	return fake.rss_bytes;
}

/* ---- worker/worker.h: a decoder that misses each deadline ---- */

struct worker {
	struct worker_stats stats;
	enum fake_worker number;
};

int worker_new(const struct worker_config *config, struct worker **ret, struct error *err)
{
	(void)config;
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	(*ret)->number = (enum fake_worker)fake.nr_workers++;
	return 0;
}

void worker_free(struct worker *w)
{
	free(w);
}

static uint64_t begun_ns; /* the last call */

void worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms)
{
	begun_ns = clock_now_ns();
	bool names = w->number == FAKE_NAMER;

	(void)op;
	(void)request;
	(void)len;
	(void)fds;
	(void)nr_fds;
	(void)need;
	(void)need_ctx;
	(void)deadline_ms;
	assert(!fake.answers_ns[w->number]);
	w->stats.nr_deadline++;
	fake.nr_requests += names;
	fake.answers_ns[w->number] = fake.now_ns +
				     (names ? fake.name_ms : fake.rows_ms) * FAKE_MS;
}

uint64_t worker_begin_ns(const struct worker *w)
{
	(void)w;
	return begun_ns;
}

enum worker_answer worker_receive(struct worker *w, struct wire_reader *ret,
				  int *ret_error)
{
	(void)ret;
	(void)ret_error;
	assert(fake.answers_ns[w->number]);
	if (fake.now_ns < fake.answers_ns[w->number])
		return WORKER_PENDING;
	fake.answers_ns[w->number] = 0;
	if (w->number == FAKE_NAMER)
		fake.last_request_ms = fake_now_ms();
	return WORKER_DEADLINE;
}

bool worker_waits(const struct worker *w, struct worker_wait *ret)
{
	*ret = (struct worker_wait){.deadline_ns = INT64_MAX};
	return fake.answers_ns[w->number] != 0;
}

void worker_wait_until(const struct worker *w, int64_t until_ns)
{
	uint64_t to_ns = fake.answers_ns[w->number];

	if ((uint64_t)until_ns < to_ns)
		to_ns = (uint64_t)until_ns;
	if (fake.now_ns < to_ns)
		fake_pass(to_ns - fake.now_ns);
}

void worker_wait(const struct worker *w)
{
	worker_wait_until(w, INT64_MAX);
}

void worker_trim(struct worker *w)
{
	(void)w;
}

void worker_cancel(struct worker *w)
{
	fake.answers_ns[w->number] = 0;
}

void worker_serves(struct worker *w, struct tenant who)
{
	(void)w;
	(void)who;
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	worker_send(w, op, request, len, fds, nr_fds, need, need_ctx, deadline_ms);
	worker_wait(w);
	return worker_receive(w, ret, ret_error);
}

/* Looks are made in this process. */
int opener_begin(struct error *err)
{
	(void)err;
	return 0;
}

void opener_end(void)
{
}

void opener_find_tenants(opener_tenant_fn *fn, void *ctx)
{
	(void)fn;
	(void)ctx;
}

void opener_share(void)
{
}

bool opener_has_time(struct tenant who)
{
	(void)who;
	return true;
}

void opener_stats(struct opener_stats *ret)
{
	*ret = (struct opener_stats){0};
}

int opener_look(int base_fd, struct tenant who, struct look *looks, size_t nr)
{
	(void)who;
	for (size_t i = 0; i < nr; i++)
		look_here(base_fd, &looks[i]);
	return 0;
}

int opener_look_at_process(struct look_group *process)
{
	struct look_base base = {.fd = process->base_fd};
	char name[16];
	struct look enter = {.where = LOOK_BELOW,
			     .what = LOOK_HANDLE,
			     .rules = LOOK_ENTER,
			     .name = name};

	if (process->base_fd < 0) {
		base.fd = process->proc_fd;
		snprintf(name, sizeof(name), "%u", process->pid);
		look_in_turn(&base, &enter);
		process->base_fd = enter.rc ? enter.rc : enter.fd;
	}
	for (size_t i = 0; i < process->nr; i++)
		look_in_turn(&base, &process->looks[i]);
	return 0;
}

void opener_look_groups(struct look_group *groups, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		opener_look_at_process(&groups[i]);
}

int opener_look_at(int base_fd, struct tenant who, struct look *look)
{
	opener_look(base_fd, who, look, 1);
	return look->rc;
}

void worker_stats(const struct worker *w, struct worker_stats *ret)
{
	*ret = w->stats;
	ret->nr_died += fake.worker[w->number].nr_died;
	ret->nr_bad_reply += fake.worker[w->number].nr_bad_reply;
	ret->nr_deadline += fake.worker[w->number].nr_deadline;
}

/* ---- target/target.h: the whole machine ---- */

struct target {
	char unused;
};

int target_new(const struct target_request *r, struct sampler *s, struct target **ret,
	       struct error *err)
{
	(void)r;
	(void)s;
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	return 0;
}

void target_free(struct target *t)
{
	free(t);
}

bool target_follows_processes(const struct target_request *r)
{
	(void)r;
	return false;
}

bool target_has_families(const struct target_request *r)
{
	(void)r;
	return fake.target;
}

const uint32_t *target_tgids(const struct target *t, size_t *ret_nr)
{
	(void)t;
	*ret_nr = 0;
	return NULL;
}

int target_poll_fd(const struct target *t)
{
	(void)t;
	return -1;
}

void target_look(struct target *t)
{
	(void)t;
}

bool target_is_looking(const struct target *t)
{
	(void)t;
	return false;
}

bool target_threads_are_gone(struct target *t)
{
	(void)t;
	return false;
}

uint64_t target_nr_refused(const struct target *t)
{
	(void)t;
	return fake.targets_refused;
}

void target_each_refused(struct target *t, quota_refused_fn fn, void *ctx)
{
	(void)t;
	(void)fn;
	(void)ctx;
}

const char *target_describe(const struct target_request *r, struct strpool *pool)
{
	(void)r;
	return strpool_add(pool, "the whole machine");
}

/* ---- collect/filter.h: children of the target have no rule ---- */

int sampler_each_task(const struct sampler *s,
		      int (*fn)(void *ctx, uint32_t id, uint32_t mask), void *ctx)
{
	(void)s;
	return fn(ctx, fake.target, LB_FILTER_IN(LB_FILTER_PROCESS));
}

uint32_t sampler_task_mask(const struct sampler *s, uint32_t id)
{
	(void)s;
	assert(fake.nr_rules_asked < FAKE_MAX_LOG);
	fake.rules_asked[fake.nr_rules_asked].tgid = id;
	fake.rules_asked[fake.nr_rules_asked++].at_ms = fake_now_ms();
	return id == fake.target ? LB_FILTER_IN(LB_FILTER_PROCESS) : 0;
}

int sampler_filter_task(struct sampler *s, uint32_t id, uint32_t mask, struct error *err)
{
	(void)s;
	(void)id;
	(void)mask;
	(void)err;
	return 0;
}

void sampler_forget_task(struct sampler *s, uint32_t id)
{
	(void)s;
	(void)id;
}

/* ---- runtime/jit/watch.h: there is no JIT ---- */

struct jit_watch {
	char unused;
};

int jit_watch_new(const struct jit_watch_config *config, struct sampler *sampler,
		  struct process_table *processes, struct shared_worker *decoder,
		  struct shared_worker *reader, struct jit_watch **ret, struct error *err)
{
	(void)config;
	(void)sampler;
	(void)processes;
	(void)decoder;
	(void)reader;
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	return 0;
}

void jit_watch_free(struct jit_watch *w)
{
	free(w);
}

int jit_watch_poll_fd(const struct jit_watch *w)
{
	(void)w;
	return -1;
}

int jit_watch_settled_fd(const struct jit_watch *w)
{
	(void)w;
	return 0;
}

const struct runtime jit_runtime = {.name = "jit"};

void jit_watch_read(struct jit_watch *w)
{
	(void)w;
}

void jit_watch_apply(struct jit_watch *w, uint64_t time_ns)
{
	(void)w;
	(void)time_ns;
}

void jit_watch_expect(struct jit_watch *w)
{
	(void)w;
}

void jit_watch_request(struct jit_watch *w, const struct lb_unwind_request *request)
{
	(void)w;
	(void)request;
}

void jit_watch_look(struct jit_watch *w)
{
	(void)w;
}

void jit_watch_forget_files(struct jit_watch *w)
{
	(void)w;
}

void jit_watch_end(struct jit_watch *w)
{
	(void)w;
}

void jit_watch_drain(struct jit_watch *w)
{
	(void)w;
}

void jit_watch_totals(const struct jit_watch *w, struct jit_watch_totals *ret)
{
	(void)w;
	*ret = fake.jit;
}

/* ---- unwind/feeder.h: rows are requested with each first sample, if they take time ---- */

struct unwind_feeder {
	struct shared_worker *decoder;
	size_t nr_wanted; /* requests that were not sent yet */
};

int unwind_feeder_new(uint64_t max_row_bytes, const struct unwind_kmaps *maps,
		      struct process_table *processes, struct shared_worker *decoder,
		      struct shared_worker *reader, struct unwind_feeder **ret,
		      struct error *err)
{
	(void)max_row_bytes;
	(void)maps;
	(void)processes;
	(void)reader;
	(void)err;
	*ret = calloc(1, sizeof(**ret));
	(*ret)->decoder = decoder;
	return 0;
}

void unwind_feeder_free(struct unwind_feeder *w)
{
	free(w);
}

void unwind_feeder_read_all(struct unwind_feeder *w)
{
	(void)w;
}

void unwind_feeder_prepare(struct unwind_feeder *w, const struct process *p,
			   bool (*is_wanted)(const struct mapping *m),
			   uint64_t deadline_ns)
{
	(void)w;
	(void)p;
	(void)is_wanted;
	(void)deadline_ns;
}

void unwind_feeder_sampled(struct unwind_feeder *w, const struct process *p)
{
	w->nr_wanted += p && fake.rows_ms;
}

void unwind_feeder_request(struct unwind_feeder *w,
			   const struct lb_unwind_request *request)
{
	(void)w;
	(void)request;
}

void unwind_feeder_forked(struct unwind_feeder *w, const struct process *parent,
			  const struct process *child)
{
	(void)w;
	(void)parent;
	(void)child;
}

void unwind_feeder_each_refused(struct unwind_feeder *w, quota_refused_fn fn, void *ctx)
{
	(void)w;
	(void)fn;
	(void)ctx;
}

void unwind_feeder_expect(struct unwind_feeder *w)
{
	(void)w;
}

static void take_rows(void *ctx, uint64_t tag, enum worker_answer answer,
		      struct wire_reader *reply)
{
	(void)ctx;
	(void)tag;
	(void)answer;
	(void)reply;
	fake.rows_taken_ms[fake.nr_rows_taken++] = fake_now_ms();
}

void unwind_feeder_look(struct unwind_feeder *w)
{
	struct shared_request request = {
		.fd = -1, .who = {.uid = 1000}, .take = take_rows};
	struct wire_writer content = {0};

	shared_worker_go_on(w->decoder);
	shared_worker_be_patient(w->decoder);
	while (w->nr_wanted && shared_worker_may_send(w->decoder, request.who)) {
		w->nr_wanted--;
		shared_worker_send(w->decoder, &request, &content);
	}
}

void unwind_feeder_forget_files(struct unwind_feeder *w)
{
	(void)w;
}

int unwind_feeder_wait_ms(const struct unwind_feeder *w, int max_ms)
{
	(void)w;
	return max_ms;
}

void unwind_feeder_grace(struct unwind_feeder *w)
{
	(void)w;
}

void unwind_feeder_drain(struct unwind_feeder *w)
{
	(void)w;
}

void unwind_feeder_totals(const struct unwind_feeder *w, struct unwind_totals *ret)
{
	(void)w;
	*ret = fake.unwind;
}
