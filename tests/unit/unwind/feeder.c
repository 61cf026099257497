// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which processes a look serves, and in which order: kernel, clock, process table and
 * runtime are fakes.
 */
#include "unwind/feeder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "process/file.h"
#include "process/maps.h"
#include "process/table.h"
#include "runtime/runtime.h"
#include "unit/unwind/fakes.h"
#include "worker/shared.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS     UINT64_C(1000000)
#define MAX_PROCS 64
#define NR_SLOW   60
#define MAX_CALLS 1000
#define PYTHON_AT UINT64_C(0x400000)

static struct unwind_feeder *w;
static struct shared_worker shared, reader;
static struct file_facts facts;
static struct target_file python; /* closed again: nobody asks for its rows */
static struct target_file plain; /* same; no interpreter */

/* ---- process/table.h ---- */

static struct proc {
	struct process process;
	struct mapping mapping;
	uint32_t live;
	uint32_t version; /* of its interpreter */
	enum locate_result answer; /* of its reader */
	bool is_dead, is_known;
} procs[MAX_PROCS];
static size_t nr_procs;

static struct jit_store jit_store;

struct process *process_table_at(struct process_table *t, uint32_t id)
{
	(void)t;
	return id < nr_procs ? &procs[id].process : NULL;
}

bool process_table_is_shared(const struct process_table *t)
{
	(void)t;
	return true;
}

struct jit_store *process_table_jit_store(struct process_table *t)
{
	(void)t;
	return &jit_store;
}

static uint64_t first_sample_ns; /* what one takes */
static uint64_t identified_ns[MAX_PROCS]; /* the time by which it was identified */
static size_t nr_identified;

struct process *process_table_first_sample(struct process_table *t,
					   const struct lb_image *id, uint64_t time_ns)
{
	struct process *p = process_table_at(t, id->tgid - 1);

	assert_non_null(p);
	identified_ns[p->id] = time_ns;
	nr_identified++;
	fake_now_ns += first_sample_ns;
	return p;
}

struct process *process_table_expect(struct process_table *t, const struct lb_image *id,
				     uint64_t time_ns)
{
	return process_table_first_sample(t, id, time_ns);
}

const struct process *process_table_identified(struct process_table *t,
					       const struct lb_image *id)
{
	(void)t;
	return procs[id->tgid - 1].is_known ? &procs[id->tgid - 1].process : NULL;
}

static size_t nr_checks; /* whether a process is alive */

bool process_is_alive(struct process_table *t, const struct process *p)
{
	(void)t;
	nr_checks++;
	return !procs[p->id].is_dead;
}

bool process_is_gone(struct process_table *t, const struct process *p)
{
	return !process_is_alive(t, p);
}

/* ---- runtime/runtime.h ---- */

static uint32_t asked[MAX_CALLS]; /* ids */
static uint64_t asked_ns[MAX_CALLS];
static size_t nr_asked;
static uint64_t ask_ns; /* what a query takes */

static enum locate_result locate(struct worker *worker, pid_t pid, const void *facts_of,
				 uint64_t text_bias, struct runtime_place *ret)
{
	const struct proc *proc = &procs[pid - 1];

	assert_ptr_equal(worker, reader.worker);
	assert_true(tenant_is_same(fake_served, proc->process.tenant));
	assert_ptr_equal(((const uint64_t *)facts_of)[0], 77);
	assert_int_equal(text_bias, proc->mapping.start);
	assert_true(nr_asked < MAX_CALLS);
	asked[nr_asked] = proc->process.id;
	asked_ns[nr_asked++] = fake_now_ns;
	fake_now_ns += ask_ns;
	*ret = (struct runtime_place){.layout.version = proc->version, .tls_off = -8};
	return proc->answer;
}

static uint32_t read_cut_of[MAX_CALLS]; /* ids */
static size_t nr_read_cut;
static enum worker_answer read_cut_answer;

static enum worker_answer read_cut(struct worker *worker, struct process_table *t,
				   struct process *p, const struct lb_interp *layout)
{
	(void)t;
	assert_ptr_equal(worker, reader.worker);
	assert_true(tenant_is_same(fake_served, p->tenant));
	assert_int_equal(layout->version, procs[p->id].version);
	assert_true(nr_read_cut < MAX_CALLS);
	read_cut_of[nr_read_cut++] = p->id;
	fake_now_ns += ask_ns;
	if (read_cut_answer == WORKER_OK)
		p->interp_codes.nr_cut--;
	return read_cut_answer;
}

static const struct runtime runtime = {
	.name = "fake", .locate = locate, .read_cut = read_cut};
const struct runtime *const runtimes[NR_RUNTIMES] = {[0] = &runtime};

/* ---- fixture ---- */

/* A process that runs an interpreter, and was sampled. */
static struct proc *add_process(enum locate_result answer)
{
	struct proc *proc = &procs[nr_procs];
	struct process *p = &proc->process;

	assert_true(nr_procs < MAX_PROCS);
	*proc = (struct proc){.answer = answer};
	p->id = (uint32_t)nr_procs++;
	p->tgid = p->id + 1;
	p->start_boottime_ns = 1 + p->id;
	p->identified = true;
	p->until_ns = UINT64_MAX;
	proc->mapping = (struct mapping){
		.start = PYTHON_AT,
		.end = PYTHON_AT + 65536,
		.kind = MAPPING_FILE,
		.file = &python,
		.until_ns = UINT64_MAX,
	};
	p->maps = (struct maps){.items = &proc->mapping,
				.nr = 1,
				.live = &proc->live,
				.nr_live = 1,
				.nr_changes = 1};
	unwind_feeder_sampled(w, p);
	return proc;
}

static int set_up(void **state)
{
	struct error err;

	(void)state;
	facts.runtimes[0].is_known = true;
	facts.runtimes[0].words[0] = 77;
	python = (struct target_file){
		.fd = 100, .id = 7, .path = "python", .facts = &facts};
	plain = (struct target_file){.fd = 101,
				     .id = 6,
				     .path = "plain",
				     .size_bytes = 65536,
				     .facts = &facts};
	fake_interpreter = &python;
	fake_now_ns = 1000 * SECOND_NS;
	fake_call_ns = 0;
	nr_checks = 0;
	nr_procs = nr_asked = nr_read_cut = nr_identified = 0;
	first_sample_ns = ask_ns = 0;
	read_cut_answer = WORKER_OK;
	shared_worker_init(&shared, NULL, true);
	shared_worker_init(&reader, NULL, true);
	assert_int_equal(unwind_feeder_new(0, fake_kernel_boot(), NULL, &shared, &reader,
					   &w, &err),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unwind_feeder_free(w);
	fake_facts_again_ns = UINT64_MAX;
	fake_kernel_end(NULL);
	shared_worker_deinit(&reader);
	shared_worker_deinit(&shared);
	fake_interpreter = NULL;
	fake_call_ns = 0;
	return 0;
}

static struct unwind_totals totals_of(void)
{
	struct unwind_totals totals;

	unwind_feeder_totals(w, &totals);
	return totals;
}

static struct lb_image image_of(const struct proc *proc)
{
	return (struct lb_image){.tgid = proc->process.tgid,
				 .start_boottime_ns = proc->process.start_boottime_ns};
}

/* Does the kernel know the process, and this of its interpreter? */
static bool kernel_knows(const struct proc *proc)
{
	struct lb_image image = image_of(proc);
	struct lb_unwind_process process;

	return fake_kernel_segments(&image, &process) != NULL;
}

static uint32_t interp_of(const struct proc *proc)
{
	struct lb_image image = image_of(proc);
	struct lb_unwind_process process;

	assert_non_null(fake_kernel_segments(&image, &process));
	return process.interp;
}

static bool is_awaited(const struct proc *proc)
{
	struct lb_image image = image_of(proc);
	struct lb_unwind_process process;
	const struct lb_unwind_segment *s = fake_kernel_segments(&image, &process);

	assert_non_null(s);
	assert_int_equal(process.nr_segments, 1);
	return s->flags & LB_SEGMENT_AWAITED;
}

/* ---- time ---- */

static void a_look_serves_all_that_its_time_allows(void **state)
{
	struct proc *p[3];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		p[i] = add_process(LOCATE_FOUND);
	unwind_feeder_look(w);
	for (size_t i = 0; i < 3; i++) {
		assert_int_not_equal(interp_of(p[i]), 0);
		assert_false(is_awaited(p[i]));
	}
	assert_int_equal(nr_asked, 3);
	assert_int_equal(totals_of().nr_interps_found, 3);
	assert_int_equal(unwind_feeder_wait_ms(w, 1000), 1000);
}

/* The machine is so busy that a look's 10 ms are over before it did anything. */
static void a_look_that_is_out_of_time_serves_one_process(void **state)
{
	struct proc *p[5];

	(void)state;
	for (size_t i = 0; i < 5; i++)
		p[i] = add_process(LOCATE_NOT_YET);
	fake_call_ns = 20 * MS_NS;
	/* One before it asks for interpreters, and one after that. */
	for (size_t look = 1; look <= 3; look++) {
		unwind_feeder_look(w);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(kernel_knows(p[i]), i < 2 * look);
		assert_int_equal(unwind_feeder_wait_ms(w, 1000), 0);
	}
}

static void those_that_have_ended_do_not_take_the_turn(void **state)
{
	struct proc *new;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		add_process(LOCATE_UNKNOWN);
	unwind_feeder_look(w);
	for (size_t i = 0; i < 5; i++) {
		unwind_feeder_sampled(w, &procs[i].process);
		procs[i].process.until_ns = fake_now_ns;
	}
	new = add_process(LOCATE_UNKNOWN);
	fake_call_ns = 20 * MS_NS;
	unwind_feeder_look(w);
	assert_true(kernel_knows(new));
}

/* C programs have nothing to ask. */
static void only_what_there_is_to_ask_takes_the_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < 40; i++)
		add_process(LOCATE_UNKNOWN)->mapping.file = &plain;
	unwind_feeder_look(w);
	add_process(LOCATE_NOT_YET);
	fake_call_ns = 20 * MS_NS;
	for (size_t i = 1; i < 4; i++) {
		fake_now_ns += SECOND_NS;
		unwind_feeder_look(w);
		assert_int_equal(nr_asked, i);
	}
}

static void a_look_that_is_out_of_time_asks_one_process_in_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		add_process(LOCATE_NOT_YET);
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 3);
	fake_call_ns = 20 * MS_NS;
	for (size_t i = 0; i < 6; i++) {
		fake_now_ns += SECOND_NS;
		unwind_feeder_look(w);
		assert_int_equal(nr_asked, 4 + i);
		assert_int_equal(asked[3 + i], i % 3);
	}
}

static void a_look_that_is_out_of_time_reads_codes_of_one_process_in_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		add_process(LOCATE_FOUND)->process.interp_codes.nr_cut = 2;
	unwind_feeder_look(w);
	assert_int_equal(nr_read_cut, 0); /* not expected yet */
	fake_call_ns = 20 * MS_NS;
	unwind_feeder_expect(w);
	for (size_t i = 0; i < 6; i++) {
		unwind_feeder_look(w);
		assert_int_equal(nr_read_cut, 1 + i);
		assert_int_equal(read_cut_of[i], i % 3);
	}
	unwind_feeder_look(w);
	assert_int_equal(nr_read_cut, 6);
}

/* To identify a process may take a read of /proc. */
static void requests_have_5_ms_of_a_look(void **state)
{
	struct lb_unwind_request request = {.ip = PYTHON_AT, .kind = LB_REQUEST_PAGE};
	uint64_t came_ns = fake_now_ns;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		request.image = image_of(add_process(LOCATE_NOT_YET));
		unwind_feeder_request(w, &request);
	}
	first_sample_ns = 3 * MS_NS;
	unwind_feeder_look(w);
	assert_int_equal(nr_identified, 2);
	assert_int_equal(unwind_feeder_wait_ms(w, 1000), 0);
	first_sample_ns = 10 * MS_NS;
	unwind_feeder_look(w);
	assert_int_equal(nr_identified, 3); /* one at least */
	first_sample_ns = 0;
	unwind_feeder_look(w);
	assert_int_equal(nr_identified, 5);
	/* By the time when they came: a process may have called exec since. */
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(identified_ns[i], came_ns);
}

/* Those of known processes do not wait until /proc is read for the others. */
static void requests_of_known_processes_come_first(void **state)
{
	struct lb_unwind_request request = {.kind = LB_REQUEST_PROCESS};
	struct proc *known;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		request.image = image_of(add_process(LOCATE_NOT_YET));
		unwind_feeder_request(w, &request);
	}
	known = add_process(LOCATE_NOT_YET);
	known->is_known = true;
	request.image = image_of(known);
	unwind_feeder_request(w, &request);
	first_sample_ns = 10 * MS_NS;
	unwind_feeder_look(w);
	/* And one of the others. */
	assert_int_equal(nr_identified, 2);
	assert_true(identified_ns[known->process.id]);
}

static void request_many(const struct proc *proc, size_t nr)
{
	struct lb_unwind_request request = {.image = image_of(proc),
					    .kind = LB_REQUEST_PROCESS};

	while (nr--)
		unwind_feeder_request(w, &request);
}

static struct tenant refused_tenant;
static uint64_t nr_refused;

static void on_refused(void *ctx, const struct quota *q, struct tenant who, uint64_t nr)
{
	(void)ctx;
	(void)q;
	refused_tenant = who;
	nr_refused += nr;
}

/* Processes that are not known yet count as those of one user. */
static void a_tenant_has_a_quarter_of_the_requests(void **state)
{
	struct proc *known[5], *unknown;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		known[i] = add_process(LOCATE_NOT_YET);
		known[i]->is_known = true;
		known[i]->process.tenant = (struct tenant){.uid = 1000 + i};
	}
	unknown = add_process(LOCATE_NOT_YET);
	request_many(unknown, 1025);
	request_many(known[0], 1030);
	assert_int_equal(totals_of().nr_requests_dropped, 1 + 6);
	for (size_t i = 1; i < 5; i++)
		request_many(known[i], 100);
	assert_int_equal(totals_of().nr_requests_dropped, 1 + 6);
	unwind_feeder_look(w);
	assert_int_equal(nr_identified, 1024 + 1024 + 4 * 100);
	request_many(known[0], 1024);
	assert_int_equal(totals_of().nr_requests_dropped, 1 + 6);
	nr_refused = 0;
	unwind_feeder_each_refused(w, on_refused, NULL);
	assert_int_equal(nr_refused, 1 + 6);
}

/* ---- queries ---- */

static void a_process_is_asked_at_growing_intervals(void **state)
{
	uint64_t wait_ns = 5 * MS_NS;
	struct proc *p = add_process(LOCATE_NOT_YET);

	(void)state;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(unwind_feeder_wait_ms(w, 1000), 5);
	for (size_t i = 1; i < 40; i++) {
		fake_now_ns = asked_ns[i - 1] + wait_ns - 1;
		unwind_feeder_look(w);
		assert_int_equal(nr_asked, i);
		fake_now_ns++;
		unwind_feeder_look(w);
		assert_int_equal(nr_asked, i + 1);
		assert_true(is_awaited(p));
		wait_ns = wait_ns + wait_ns / 4 < SECOND_NS ? wait_ns + wait_ns / 4
							    : SECOND_NS;
	}
	p->answer = LOCATE_FOUND;
	fake_now_ns += SECOND_NS;
	unwind_feeder_look(w);
	assert_false(is_awaited(p));
	assert_int_not_equal(interp_of(p), 0);
}

static void all_processes_together_are_asked_50_times_then_200_times_a_second(
	void **state)
{
	(void)state;
	for (size_t i = 0; i < 60; i++)
		add_process(LOCATE_NOT_YET);
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 50);
	/* Those that were not asked yet are first, though all others are due again. */
	fake_now_ns += 10 * MS_NS;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 52);
	for (size_t i = 0; i < 52; i++)
		assert_int_equal(asked[i], i);
}

/* Nobody waits until all of another tenant's are asked, who may have all queries alone. */
static void while_tenants_wait_who_asked_less_is_first(void **state)
{
	struct proc *other;

	(void)state;
	for (size_t i = 0; i < 60; i++)
		add_process(LOCATE_NOT_YET)->process.tenant.uid = 1000;
	other = add_process(LOCATE_NOT_YET);
	other->process.tenant.uid = 1001;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 50);
	fake_now_ns += 10 * MS_NS;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 52);
	assert_int_equal(asked[50], other->process.id);
	assert_int_equal(asked[51], 0);
	for (int i = 0; i < 100; i++) {
		fake_now_ns += 10 * MS_NS;
		unwind_feeder_look(w);
	}
	assert_true(nr_asked >= 250);
}

/* Processes of one tenant whose queries take 0.2 s each, and after them one of another. */
static struct proc *add_slow(enum locate_result answer)
{
	struct proc *other;

	for (size_t i = 0; i < NR_SLOW; i++)
		add_process(answer)->process.tenant.uid = 1000;
	other = add_process(answer);
	other->process.tenant.uid = 1001;
	ask_ns = 200 * MS_NS;
	return other;
}

static void a_query_counts_as_long_as_it_took(void **state)
{
	const struct proc *other = add_slow(LOCATE_NOT_YET);
	uint64_t begin_ns = fake_now_ns, slow_ns = 0;

	(void)state;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 1); /* it took more time than a look has */
	assert_int_not_equal(asked[0], other->process.id);
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 2);
	assert_int_equal(asked[1], other->process.id);
	while (fake_now_ns < begin_ns + 100 * SECOND_NS) {
		unwind_feeder_look(w);
		fake_now_ns += 5 * MS_NS;
	}
	for (size_t i = 0; i < nr_asked; i++)
		slow_ns += asked[i] == other->process.id ? 0 : ask_ns;
	/* A quarter, and 2 s. */
	assert_in_range(slow_ns, 26 * SECOND_NS, 28 * SECOND_NS);
}

/* One whose time is used up keeps no turn, even if the looks have no time. */
static void who_must_wait_takes_no_turn(void **state)
{
	const struct proc *other = add_slow(LOCATE_NOT_YET);

	(void)state;
	unwind_feeder_look(w);
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 2);
	time_share_took(&reader.share, procs[0].process.tenant, fake_now_ns,
			fake_now_ns + 100 * SECOND_NS);
	fake_call_ns = 20 * MS_NS;
	for (size_t i = 2; i < 6; i++) {
		fake_now_ns += SECOND_NS;
		unwind_feeder_look(w);
		assert_int_equal(nr_asked, i + 1);
		assert_int_equal(asked[i], other->process.id);
	}
}

static void who_had_less_has_its_codes_read_first(void **state)
{
	const struct proc *other;

	(void)state;
	other = add_slow(LOCATE_FOUND);
	ask_ns = 0;
	for (size_t i = 0; i < 200; i++) {
		unwind_feeder_look(w);
		fake_now_ns += 50 * MS_NS;
	}
	assert_int_equal(totals_of().nr_interps_found, NR_SLOW + 1);
	for (size_t i = 0; i < NR_SLOW + 1; i++)
		procs[i].process.interp_codes.nr_cut = 2;
	fake_now_ns += SECOND_NS;
	ask_ns = 190 * MS_NS;
	unwind_feeder_expect(w);
	unwind_feeder_look(w);
	assert_int_equal(nr_read_cut, 1);
	unwind_feeder_look(w);
	assert_int_equal(nr_read_cut, 2);
	assert_int_equal(read_cut_of[1], other->process.id);
	/* What had to wait is read later. */
	for (size_t i = 0; i < 1000; i++) {
		unwind_feeder_look(w);
		fake_now_ns += 200 * MS_NS;
	}
	assert_int_equal(nr_read_cut, 2 * NR_SLOW + 2);
}

static void a_layout_that_is_not_known_is_asked_once(void **state)
{
	struct proc *unknown = add_process(LOCATE_UNKNOWN),
		    *silent = add_process(LOCATE_NO_ANSWER);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		unwind_feeder_look(w);
		fake_now_ns += 10 * SECOND_NS;
	}
	assert_int_equal(nr_asked, 2);
	assert_int_equal(totals_of().nr_interps_refused, 2);
	assert_int_equal(interp_of(unknown), 0);
	assert_int_equal(interp_of(silent), 0);
	assert_false(is_awaited(unknown));
}

/* Asks as often as it may, and once more. */
static void ask_for_long(void)
{
	for (size_t i = 0; i < 5; i++) {
		unwind_feeder_look(w);
		fake_now_ns += 10 * SECOND_NS;
	}
}

/* Somebody may have killed it; or it was the process's memory, the third time. */
static void a_process_whose_reader_dies_is_asked_three_times(void **state)
{
	struct proc *kills = add_process(LOCATE_READER_DIED), *other, *child;

	(void)state;
	unwind_feeder_look(w);
	assert_int_equal(totals_of().nr_interps_refused, 0);
	assert_true(is_awaited(kills));
	ask_for_long();
	assert_int_equal(nr_asked, 3);
	assert_int_equal(totals_of().nr_interps_refused, 1);
	assert_false(is_awaited(kills));

	/* Its forks are as it is; others are not. */
	child = add_process(LOCATE_READER_DIED);
	unwind_feeder_forked(w, &kills->process, &child->process);
	ask_for_long();
	assert_int_equal(nr_asked, 3);

	other = add_process(LOCATE_READER_DIED);
	unwind_feeder_look(w);
	other->answer = LOCATE_FOUND;
	ask_for_long();
	assert_int_equal(nr_asked, 5);
	assert_int_not_equal(interp_of(other), 0);
}

static void an_answer_of_a_process_that_ended_meanwhile_is_dropped(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND);

	(void)state;
	p->is_dead = true;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(interp_of(p), 0);
	assert_int_equal(totals_of().nr_interps_found, 0);
}

static void memory_that_does_not_answer_is_not_read_again(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND);

	(void)state;
	unwind_feeder_look(w);
	p->process.interp_codes.nr_cut = 2;
	read_cut_answer = WORKER_DEADLINE;
	for (size_t i = 0; i < 3; i++) {
		unwind_feeder_expect(w);
		unwind_feeder_look(w);
	}
	assert_int_equal(nr_read_cut, 1);
}

/* The decoder is busy: stacks are not whole without the interpreter's frames. */
static void segments_wait_for_the_decoder(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND);

	(void)state;
	fake_facts_again_ns = 0;
	unwind_feeder_look(w);
	assert_false(kernel_knows(p));
	assert_int_equal(unwind_feeder_wait_ms(w, 1000), 5);
	fake_facts_again_ns = UINT64_MAX;
	unwind_feeder_look(w);
	assert_int_not_equal(interp_of(p), 0);
}

/* It was late, so it will be long until it is asked again. */
static void segments_do_not_wait_for_a_late_decoder(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND), *second;
	uint64_t begin_ns = fake_now_ns;
	size_t nr_facts;

	(void)state;
	fake_facts_again_ns = begin_ns + 10 * SECOND_NS;
	unwind_feeder_look(w);
	assert_int_equal(interp_of(p), 0);
	assert_false(is_awaited(p));
	second = add_process(LOCATE_FOUND);
	second->process.tenant.uid = 1000;
	fake_facts_again_ns = begin_ns + 12 * SECOND_NS;
	unwind_feeder_look(w);
	assert_int_equal(interp_of(second), 0);
	nr_facts = fake_nr_facts;
	fake_now_ns = begin_ns + 10 * SECOND_NS - 1;
	for (size_t i = 0; i < 10; i++) {
		unwind_feeder_look(w);
		assert_int_equal(unwind_feeder_wait_ms(w, 1000), 1000);
	}
	assert_int_equal(fake_nr_facts, nr_facts);
	/* It is late again. */
	fake_now_ns++;
	fake_facts_again_ns = begin_ns + 30 * SECOND_NS;
	unwind_feeder_look(w);
	assert_int_equal(fake_nr_facts, nr_facts + 1);
	fake_now_ns += 2 * SECOND_NS;
	fake_facts_again_ns = UINT64_MAX;
	unwind_feeder_look(w);
	assert_int_not_equal(interp_of(second), 0);
	assert_int_equal(interp_of(p), 0);
	fake_now_ns += 18 * SECOND_NS;
	unwind_feeder_look(w);
	assert_int_not_equal(interp_of(p), 0);
	assert_int_equal(nr_asked, 2);
	nr_facts = fake_nr_facts;
	fake_now_ns += 100 * SECOND_NS;
	unwind_feeder_look(w);
	assert_int_equal(fake_nr_facts, nr_facts);
}

/* Nor when it is asked again: it may be late again. */
static void segments_do_not_wait_for_a_decoder_that_was_late(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND);

	(void)state;
	fake_facts_again_ns = fake_now_ns + 10 * SECOND_NS;
	unwind_feeder_look(w);
	assert_int_equal(interp_of(p), 0);
	fake_now_ns += 11 * SECOND_NS;
	for (size_t i = 0; i < 3; i++) {
		struct proc *next = add_process(LOCATE_FOUND);

		unwind_feeder_look(w);
		assert_int_equal(interp_of(next), 0);
		assert_int_equal(unwind_feeder_wait_ms(w, 1000), 1000);
	}
	/* The answer is there. */
	fake_facts_again_ns = UINT64_MAX;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 4);
	assert_int_not_equal(interp_of(p), 0);
}

/* ---- images ---- */

static void a_fork_has_its_parents_interpreter_without_a_query(void **state)
{
	struct proc *parent = add_process(LOCATE_FOUND), *child;
	uint32_t number;

	(void)state;
	unwind_feeder_look(w);
	number = interp_of(parent);
	child = add_process(LOCATE_UNKNOWN);
	unwind_feeder_forked(w, &parent->process, &child->process);
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(interp_of(child), number);

	/* It keeps it when the parent has ended, and another interpreter takes a place. */
	parent->process.is_over = true;
	unwind_feeder_drain(w);
	unwind_feeder_grace(w);
	assert_false(kernel_knows(parent));
	add_process(LOCATE_FOUND)->version = 2;
	unwind_feeder_look(w);
	assert_int_equal(nr_asked, 2);
	child->process.interp_codes.nr_cut = 1;
	unwind_feeder_expect(w);
	unwind_feeder_look(w);
	assert_int_equal(nr_read_cut, 1);
	assert_int_equal(interp_of(child), number);
}

/* Processes whose leaders are dead: @nr whose threads live, then one that is gone. */
static struct proc *add_without_leaders(size_t nr)
{
	struct proc *p = NULL;

	for (size_t i = 0; i <= nr; i++) {
		p = add_process(LOCATE_NOT_YET);
		unwind_feeder_look(w);
		assert_true(kernel_knows(p));
		p->process.until_ns = 1;
	}
	p->is_dead = true;
	return p;
}

static void a_drain_asks_about_some_whose_leader_is_dead(void **state)
{
	const struct proc *gone = add_without_leaders(40);

	(void)state;
	unwind_feeder_drain(w);
	assert_int_equal(nr_checks, 32);
	assert_true(kernel_knows(gone));
	unwind_feeder_drain(w);
	assert_int_equal(nr_checks, 32 + 32 + 1);
	assert_false(kernel_knows(gone));
	for (size_t i = 0; i < 40; i++)
		assert_true(kernel_knows(&procs[i]));
}

static void a_drain_without_time_asks_about_one_dead_leader(void **state)
{
	const struct proc *gone = add_without_leaders(3);

	(void)state;
	fake_call_ns = 60 * MS_NS;
	for (size_t i = 1; i <= 4; i++) {
		assert_true(kernel_knows(gone));
		unwind_feeder_drain(w);
		assert_int_equal(nr_checks, i);
	}
	assert_false(kernel_knows(gone));
}

static void all_that_are_gone_are_forgotten_at_once(void **state)
{
	(void)state;
	add_without_leaders(49);
	for (size_t i = 0; i < 50; i++)
		procs[i].is_dead = true;
	unwind_feeder_drain(w);
	for (size_t i = 0; i < 50; i++)
		assert_false(kernel_knows(&procs[i]));
}

static void a_process_that_maps_more_is_told_after_a_pause(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND);
	struct mapping more = p->mapping;
	struct mapping items[2];
	uint32_t live[2] = {0, 1};
	struct lb_image image = image_of(p);
	struct lb_unwind_process process;

	(void)state;
	unwind_feeder_look(w);
	more.start += 0x100000;
	more.end += 0x100000;
	more.file_off += 0x100000;
	items[0] = p->mapping;
	items[1] = more;
	p->process.maps.items = items;
	p->process.maps.live = live;
	p->process.maps.nr = p->process.maps.nr_live = 2;
	p->process.maps.nr_changes++;
	unwind_feeder_expect(w);
	unwind_feeder_look(w);
	assert_non_null(fake_kernel_segments(&image, &process));
	assert_int_equal(process.nr_segments, 1); /* 50 us for each segment */
	fake_now_ns += 50001;
	unwind_feeder_look(w);
	assert_non_null(fake_kernel_segments(&image, &process));
	assert_int_equal(process.nr_segments, 2);
}

/* Only its own pieces, wherever they are among other mappings. */
static void each_piece_of_an_awaited_interpreter_is_marked(void **state)
{
	struct proc *p = add_process(LOCATE_NOT_YET);
	struct mapping items[40];
	uint32_t live[ARRAY_SIZE(items)];
	struct lb_image image = image_of(p);
	struct lb_unwind_process process;
	const struct lb_unwind_segment *segments;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(items); i++) {
		live[i] = i;
		items[i] = p->mapping;
		items[i].start = PYTHON_AT + 0x20000 * i;
		items[i].end = items[i].start + 0x10000;
		items[i].file_off = i % 3 ? 0x20000 * i : 0x1000; /* same bias, or not */
		if (i % 5 == 4)
			items[i].kind = MAPPING_ANON;
	}
	items[0].file_off = 0;
	p->process.maps = (struct maps){.items = items,
					.live = live,
					.nr = ARRAY_SIZE(items),
					.nr_live = ARRAY_SIZE(items),
					.nr_changes = 2};
	unwind_feeder_look(w);
	segments = fake_kernel_segments(&image, &process);
	assert_non_null(segments);
	assert_int_equal(process.nr_segments, ARRAY_SIZE(items));
	for (uint32_t i = 0; i < ARRAY_SIZE(items); i++) {
		bool is_piece = (!i || i % 3) && i % 5 != 4;

		assert_int_equal(segments[i].start, items[i].start);
		assert_int_equal(!!(segments[i].flags & LB_SEGMENT_AWAITED), is_piece);
	}
}

/* The process that calls exec keeps its number; its old entry must not stay. */
static void a_new_image_replaces_the_old_one(void **state)
{
	struct proc *p = add_process(LOCATE_FOUND);
	struct lb_image old = image_of(p);
	struct lb_unwind_process process;

	(void)state;
	unwind_feeder_look(w);
	p->process.exec_id++;
	p->answer = LOCATE_NOT_YET;
	unwind_feeder_sampled(w, &p->process);
	unwind_feeder_look(w);
	assert_null(fake_kernel_segments(&old, &process));
	assert_int_equal(nr_asked, 2);
}

/* ---- code of JITs ---- */

#define NR_TEXTS 70

/* An object with so many texts, each of two pages and without rows. */
static enum worker_answer answer_texts(struct wire_reader *request, int fd,
				       struct wire_reader *ret)
{
	static struct wire_writer said;

	(void)request;
	(void)fd;
	wire_writer_deinit(&said);
	wire_put_u32(&said, NR_TEXTS);
	for (uint64_t i = 0; i < NR_TEXTS; i++) {
		wire_put_u64(&said, 0x1000000 + i * 0x20000);
		wire_put_u64(&said, 0x1000000 + i * 0x20000 + 0x10001);
		wire_put_u32(&said, 0); /* rules */
		wire_put_u32(&said, 0); /* pages */
	}
	*ret = (struct wire_reader){.data = said.data, .len = said.len};
	return WORKER_OK;
}

static void texts_over_the_limit_of_an_object_are_counted_once(void **state)
{
	struct kept_object body = {.size_bytes = 100, .serial = 1, .nr_refs = 1};
	struct jit_object object = {.size_bytes = 100, .until_ns = UINT64_MAX};
	struct proc *p = add_process(LOCATE_UNKNOWN);

	(void)state;
	jit_store.bodies = &body;
	p->process.jit_code.items = &object;
	p->process.jit_code.nr = 1;
	fake_decoder = answer_texts;
	for (size_t i = 0; i < 3; i++) {
		unwind_feeder_sampled(w, &p->process);
		fake_now_ns += SECOND_NS;
		unwind_feeder_look(w);
		assert_int_equal(totals_of().nr_pages_refused, 2 * (NR_TEXTS - 64));
	}
	fake_decoder = NULL;
	jit_store.bodies = NULL;
}

static size_t nr_rows_asked;

static enum worker_answer answer_late(struct wire_reader *request, int fd,
				      struct wire_reader *ret)
{
	(void)request, (void)fd, (void)ret;
	nr_rows_asked++;
	return WORKER_DEADLINE;
}

static void a_drain_ends_the_pauses_of_late_files(void **state)
{
	struct proc *p = add_process(LOCATE_UNKNOWN);
	struct lb_unwind_request request = {
		.image = image_of(p), .ip = PYTHON_AT, .kind = LB_REQUEST_PAGE};

	(void)state;
	p->mapping.file = &plain;
	nr_rows_asked = 0;
	fake_decoder = answer_late;
	for (size_t i = 1; i < 4; i++) {
		unwind_feeder_request(w, &request);
		unwind_feeder_look(w);
		assert_int_equal(nr_rows_asked, i);
		assert_int_equal(totals_of().nr_failed, i);
		unwind_feeder_drain(w);
		unwind_feeder_request(w, &request);
		unwind_feeder_look(w);
		assert_int_equal(nr_rows_asked, i);
		fake_now_ns += 40 * SECOND_NS;
		unwind_feeder_drain(w);
	}
	fake_decoder = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_look_serves_all_that_its_time_allows),
		TEST(a_look_that_is_out_of_time_serves_one_process),
		TEST(those_that_have_ended_do_not_take_the_turn),
		TEST(only_what_there_is_to_ask_takes_the_turn),
		TEST(a_look_that_is_out_of_time_asks_one_process_in_turn),
		TEST(a_look_that_is_out_of_time_reads_codes_of_one_process_in_turn),
		TEST(requests_have_5_ms_of_a_look),
		TEST(requests_of_known_processes_come_first),
		TEST(a_tenant_has_a_quarter_of_the_requests),
		TEST(a_process_is_asked_at_growing_intervals),
		TEST(all_processes_together_are_asked_50_times_then_200_times_a_second),
		TEST(while_tenants_wait_who_asked_less_is_first),
		TEST(a_query_counts_as_long_as_it_took),
		TEST(who_must_wait_takes_no_turn),
		TEST(who_had_less_has_its_codes_read_first),
		TEST(a_layout_that_is_not_known_is_asked_once),
		TEST(a_process_whose_reader_dies_is_asked_three_times),
		TEST(an_answer_of_a_process_that_ended_meanwhile_is_dropped),
		TEST(memory_that_does_not_answer_is_not_read_again),
		TEST(segments_wait_for_the_decoder),
		TEST(segments_do_not_wait_for_a_late_decoder),
		TEST(segments_do_not_wait_for_a_decoder_that_was_late),
		TEST(a_fork_has_its_parents_interpreter_without_a_query),
		TEST(a_drain_asks_about_some_whose_leader_is_dead),
		TEST(a_drain_without_time_asks_about_one_dead_leader),
		TEST(all_that_are_gone_are_forgotten_at_once),
		TEST(a_process_that_maps_more_is_told_after_a_pause),
		TEST(each_piece_of_an_awaited_interpreter_is_marked),
		TEST(a_new_image_replaces_the_old_one),
		TEST(texts_over_the_limit_of_an_object_are_counted_once),
		TEST(a_drain_ends_the_pauses_of_late_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
