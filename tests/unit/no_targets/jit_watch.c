// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose JIT's list is walked when, with fakes of the targets and of the reader: a walk takes
 * as long as a test says. What a walk finds is tested in runtime/jit/list_walk.c.
 */
#include "base/clock.h"
#include "runtime/jit/watch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/jit_probe.h"
#include "decode/jit/interface.h"
#include "lib/fake_clock.h"
#include "process/file.h"
#include "process/table.h"
#include "runtime/jit/inodes.h"
#include "runtime/jit/list_walk.h"
#include "worker/shared.h"

#define MAX_PROCS 400
#define MAX_WALKS 10000

static struct jit_watch *w;
static struct shared_worker decoder, reader;

/* ---- worker/worker.h ---- */

static struct tenant served;

void worker_serves(struct worker *worker, struct tenant who)
{
	assert_ptr_equal(worker, reader.worker);
	served = who;
}

void worker_send(struct worker *worker, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms)
{
	(void)worker, (void)op, (void)request, (void)len, (void)fds, (void)nr_fds;
	(void)need, (void)need_ctx, (void)deadline_ms;
	fail();
}

uint64_t worker_begin_ns(const struct worker *worker)
{
	(void)worker;
	return clock_now_ns();
}

enum worker_answer worker_receive(struct worker *worker, struct wire_reader *ret,
				  int *ret_error)
{
	(void)worker, (void)ret, (void)ret_error;
	return WORKER_FAILED;
}

void worker_cancel(struct worker *worker)
{
	(void)worker;
}

void worker_wait_until(const struct worker *worker, int64_t until_ns)
{
	(void)worker, (void)until_ns;
}

bool worker_waits(const struct worker *worker, struct worker_wait *ret)
{
	(void)worker, (void)ret;
	return false;
}

/* ---- process ---- */

static struct proc {
	struct process process;
	uint64_t walk_ns; /* what a call of the reader takes */
	size_t nr_walks;
	bool goes_in_walk, is_gone; /* its pid is another's */
} procs[MAX_PROCS];
static size_t nr_procs;

size_t process_table_nr_active(const struct process_table *t)
{
	(void)t;
	return nr_procs;
}

struct process *process_table_active(struct process_table *t, size_t i)
{
	(void)t;
	assert_true(i < nr_procs);
	return &procs[i].process;
}

size_t process_table_nr_ids(const struct process_table *t)
{
	(void)t;
	return nr_procs;
}

struct process *process_table_at(struct process_table *t, uint32_t id)
{
	return process_table_active(t, id);
}

struct process *process_table_identify(struct process_table *t, const struct lb_image *id,
				       uint64_t time_ns)
{
	(void)t, (void)id, (void)time_ns;
	return NULL;
}

struct jit_store *process_table_jit_store(struct process_table *t)
{
	(void)t;
	return NULL;
}

bool process_table_open_new(struct process_table *t, uint64_t time_ns)
{
	(void)t, (void)time_ns;
	return false;
}

bool process_is_sampled(const struct process_table *t, const struct process *p)
{
	(void)t, (void)p;
	return true;
}

bool process_is_alive(struct process_table *t, const struct process *p)
{
	(void)t;
	return !procs[p->tgid - 1].is_gone;
}

static size_t nr_found_mapped; /* times that a mapped file was opened */

int process_find_mapped(struct process_table *t, const struct process *p,
			const struct mapping *m, bool *ret_by_path)
{
	(void)t, (void)p, (void)m, (void)ret_by_path;
	nr_found_mapped++;
	return -ESRCH;
}

void process_read_command(struct process_table *t, struct process *p)
{
	(void)t, (void)p;
}

static size_t nr_facts_asked;

/* Those of a late file come at inspect_from_ns. */
static struct file_facts late_facts;

bool file_facts_are_there(struct target_file *file, struct shared_worker *by,
			  struct tenant who)
{
	(void)by, (void)who;
	nr_facts_asked += !file->facts;
	if (!file->facts && fake_now_ns >= file->inspect_from_ns)
		file->facts = &late_facts;
	return file->facts;
}

uint64_t file_facts_late_until(const struct target_file *file)
{
	return file->inspect_from_ns;
}

int jit_code_register(struct jit_code *c, struct jit_store *s,
		      const struct jit_registration *r)
{
	(void)c, (void)s, (void)r;
	return 0;
}

void jit_code_unregister(struct jit_code *c, struct jit_store *s, uint64_t entry_addr,
			 uint64_t time_ns)
{
	(void)c, (void)s, (void)entry_addr, (void)time_ns;
}

uint64_t jit_store_ends(const struct jit_store *s, const struct jit_object *o)
{
	(void)s, (void)o;
	return 0;
}

/* ---- collect/jit_probe.h, runtime/jit/inodes.h: nothing is probed ---- */

int jit_probe_new(const struct jit_probe_config *config, struct sampler *sampler,
		  struct jit_probe **ret, struct error *err)
{
	(void)config, (void)sampler, (void)err;
	*ret = NULL;
	return 0;
}

void jit_probe_free(struct jit_probe *p)
{
	(void)p;
}

int jit_probe_poll_fd(const struct jit_probe *p)
{
	(void)p;
	return -1;
}

int jit_probe_settled_fd(const struct jit_probe *p)
{
	(void)p;
	return -1;
}

#define RING_EVENTS 100000

/* Events that come, as many as a ring has room for at a time. */
static size_t nr_events, nr_read;

void jit_probe_read(struct jit_probe *p, jit_event_fn fn, void *ctx)
{
	(void)p;
	for (size_t i = 0; i < RING_EVENTS && nr_events; i++, nr_events--)
		fn(ctx,
		   &(struct jit_event){.kind = LB_JIT_REGISTER, .time_ns = ++nr_read});
}

void jit_probe_totals(const struct jit_probe *p, struct jit_probe_totals *ret)
{
	(void)p;
	*ret = (struct jit_probe_totals){0};
}

uint64_t jit_probe_map_bytes(const struct jit_probe *p)
{
	(void)p;
	return 0;
}

struct jit_inodes *jit_inodes_new(struct jit_probe *probe, struct shared_worker *by,
				  const uid_t *user)
{
	static char inodes;

	(void)probe, (void)by, (void)user;
	return (struct jit_inodes *)&inodes;
}

void jit_inodes_free(struct jit_inodes *inodes)
{
	(void)inodes;
}

static bool probes_wait;

struct jit_inode jit_inodes_probe(struct jit_inodes *inodes, struct tenant who, int fd,
				  const struct target_file *target,
				  const struct jit_interface *point)
{
	(void)inodes, (void)who, (void)fd, (void)target, (void)point;
	return (struct jit_inode){.is_pending = probes_wait};
}

bool jit_inodes_settle(struct jit_inodes *inodes, int timeout_ms)
{
	(void)inodes, (void)timeout_ms;
	return false;
}

void jit_inodes_end(struct jit_inodes *inodes)
{
	(void)inodes;
}

void jit_inodes_begin_sweep(struct jit_inodes *inodes)
{
	(void)inodes;
}

void jit_inodes_keep(struct jit_inodes *inodes, uint64_t number)
{
	(void)inodes, (void)number;
}

void jit_inodes_end_sweep(struct jit_inodes *inodes)
{
	(void)inodes;
}

void jit_inodes_remove_unused(struct jit_inodes *inodes)
{
	(void)inodes;
}

/* ---- runtime/jit/list_walk.h ---- */

static uint32_t walked[MAX_WALKS]; /* indices in procs */
static uint64_t calls_until_ns[MAX_WALKS];
static size_t nr_walked;
static enum list_walk last_result;

enum worker_answer jit_list_walk(struct worker *worker, pid_t pid,
				 uint64_t descriptor_addr, uint64_t end_ns,
				 const struct list_object *known, size_t nr_known,
				 list_is_its_fn is_its, list_found_fn found, void *ctx,
				 struct jit_list_stats *ret)
{
	struct proc *proc = &procs[pid - 1];

	(void)known, (void)nr_known, (void)found;
	assert_ptr_equal(worker, reader.worker);
	assert_true(tenant_is_same(served, proc->process.tenant));
	assert_true(descriptor_addr < proc->process.jit_code.nr_descriptors);
	assert_true(nr_walked < MAX_WALKS);
	walked[nr_walked] = (uint32_t)pid - 1;
	calls_until_ns[nr_walked++] = end_ns;
	proc->nr_walks++;
	fake_now_ns += proc->walk_ns;
	proc->is_gone = proc->goes_in_walk;
	last_result = is_its(ctx) ? LIST_OK : LIST_NONE;
	*ret = (struct jit_list_stats){.result = last_result};
	return WORKER_OK;
}

/* ---- fixture ---- */

/* A process whose lists no probe reports. */
static struct proc *add_process(uint32_t uid, uint64_t walk_ns)
{
	struct proc *proc = &procs[nr_procs];

	assert_true(nr_procs < MAX_PROCS);
	*proc = (struct proc){.walk_ns = walk_ns};
	proc->process.tgid = (uint32_t)++nr_procs;
	proc->process.tenant.uid = uid;
	proc->process.opened = true;
	proc->process.jit_code.is_unprobed = true;
	proc->process.jit_code.nr_descriptors = 1;
	return proc;
}

static void begin_probing(enum jit_probing probing, bool is_shared)
{
	const struct jit_watch_config config = {.probing = probing};

	fake_now_ns = 1000 * CLOCK_SECOND_NS;
	nr_procs = nr_walked = nr_found_mapped = 0;
	probes_wait = false;
	shared_worker_init(&decoder, NULL, is_shared);
	shared_worker_init(&reader, NULL, is_shared);
	assert_int_equal(jit_watch_new(&config, NULL, NULL, &decoder, &reader, &w, NULL),
			 0);
}

static void begin(bool is_shared)
{
	begin_probing(JIT_PROBING_NONE, is_shared);
}

static int end(void **state)
{
	(void)state;
	jit_watch_free(w);
	shared_worker_deinit(&reader);
	shared_worker_deinit(&decoder);
	return 0;
}

/* A drain, and for a second a look every 50 ms, which does not count what it takes. */
static void pass_a_second(void)
{
	jit_watch_drain(w);
	for (int i = 0; i < 20; i++) {
		fake_now_ns += 50 * CLOCK_MS_NS;
		jit_watch_look(w);
	}
}

/* ---- tests ---- */

static void a_tenants_slow_walks_keep_no_other_waiting(void **state)
{
	struct proc *other;

	(void)state;
	begin(true);
	for (size_t i = 0; i < 300; i++)
		add_process(1000, 200 * CLOCK_MS_NS);
	other = add_process(1001, CLOCK_MS_NS);
	jit_watch_drain(w);
	assert_int_equal(other->nr_walks, 1);
	assert_ptr_equal(&procs[walked[1]], other); /* both had nothing before */
	assert_int_equal(nr_walked, 4);
	/* Now it is first, wherever the turn is. */
	for (size_t i = 2; i < 20; i++) {
		fake_now_ns += 10 * CLOCK_MS_NS;
		nr_walked = 0;
		jit_watch_drain(w);
		assert_int_equal(other->nr_walks, i);
		assert_ptr_equal(&procs[walked[0]], other);
	}
}

static void a_tenants_walks_take_a_quarter_of_the_time(void **state)
{
	uint64_t begin_ns, took_ns;

	(void)state;
	begin(true);
	for (size_t i = 0; i < 300; i++)
		add_process(1000, 200 * CLOCK_MS_NS);
	begin_ns = fake_now_ns;
	while (fake_now_ns < begin_ns + 200 * CLOCK_SECOND_NS)
		pass_a_second();
	took_ns = nr_walked * 200 * CLOCK_MS_NS;
	assert_in_range(took_ns, 45 * CLOCK_SECOND_NS, 53 * CLOCK_SECOND_NS);
	/* In turn. */
	for (size_t i = 0; i < nr_walked; i++)
		assert_int_equal(walked[i], i % 300);
}

/* Of ten, a look has time for three. */
static void who_was_left_comes_in_the_next_look(void **state)
{
	(void)state;
	begin(true);
	for (uint32_t i = 0; i < 10; i++) {
		add_process(1000 + i, 200 * CLOCK_MS_NS);
		add_process(1000 + i, 200 * CLOCK_MS_NS);
	}
	jit_watch_drain(w);
	for (size_t look = 1; look < 4; look++) {
		assert_int_equal(nr_walked, 3 * look);
		jit_watch_look(w);
	}
	for (size_t i = 0; i < 10; i++)
		assert_in_range(procs[2 * i].nr_walks + procs[2 * i + 1].nr_walks, 1, 2);
}

static void a_look_makes_no_call_after_its_time(void **state)
{
	struct proc *proc;
	uint64_t begin_ns;

	(void)state;
	begin(true);
	begin_ns = fake_now_ns;
	proc = add_process(1000, 300 * CLOCK_MS_NS);
	proc->process.jit_code.nr_descriptors = 4;
	for (uint64_t i = 0; i < 4; i++)
		proc->process.jit_code.descriptor_ips[i] = i;
	jit_watch_drain(w);
	assert_int_equal(nr_walked, 2);
	assert_int_equal(calls_until_ns[0], begin_ns + 500 * CLOCK_MS_NS);
	assert_int_equal(calls_until_ns[1], begin_ns + 500 * CLOCK_MS_NS);
	assert_false(proc->process.jit_code.was_walked);
	assert_true(proc->process.jit_code.walk_wanted);
	/* When its pause is over. */
	proc->walk_ns = CLOCK_MS_NS;
	fake_now_ns += 10 * CLOCK_SECOND_NS;
	jit_watch_drain(w);
	assert_int_equal(nr_walked, 2 + 4);
	assert_true(proc->process.jit_code.was_walked);
}

/* The caller chose the targets: all take turns, half a second in each drain. */
static void without_neighbours_all_take_turns(void **state)
{
	uint64_t begin_ns;

	(void)state;
	begin(false);
	for (size_t i = 0; i < 9; i++)
		add_process(1000 + (i == 8), 200 * CLOCK_MS_NS);
	for (size_t i = 0; i < 6; i++) {
		begin_ns = fake_now_ns;
		jit_watch_drain(w);
		assert_int_equal(nr_walked, 3 * i + 3);
		for (size_t j = 3 * i; j < nr_walked; j++)
			assert_int_equal(walked[j], j % 9);
		assert_int_equal(calls_until_ns[3 * i], begin_ns + CLOCK_SECOND_NS);
		jit_watch_look(w);
		assert_int_equal(nr_walked, 3 * i + 3);
	}
}

/* The pid is used again during a walk. */
static void who_is_gone_has_no_list(void **state)
{
	struct proc *proc;

	(void)state;
	begin(false);
	proc = add_process(1000, 0);
	proc->process.jit_code.walk_wanted = true;
	jit_watch_drain(w);
	assert_true(proc->process.jit_code.was_walked);
	proc->process.jit_code.was_walked = false;
	proc->goes_in_walk = true;
	fake_now_ns += 10 * CLOCK_SECOND_NS;
	jit_watch_drain(w);
	assert_int_equal(proc->nr_walks, 2);
	assert_false(proc->process.jit_code.was_walked);
	assert_int_equal(last_result, LIST_NONE);
}

#define NR_MAPPINGS 100

/* Maps a file with the interface again and again, each time at another address. */
static void map_often(struct process *p)
{
	static const struct jit_interface point = {.register_off = 16};
	static struct file_facts facts;
	static struct target_file file = {.id = 1, .fd = -1, .path = "lib.so"};
	static struct mapping mappings[NR_MAPPINGS];

	facts.runtimes[RUNTIME_JIT].is_known = true;
	memcpy(facts.runtimes[RUNTIME_JIT].words, &point, sizeof(point));
	file.facts = &facts;
	for (size_t i = 0; i < NR_MAPPINGS; i++)
		mappings[i] = (struct mapping){.start = 0x10000 * (i + 1),
					       .end = 0x10000 * (i + 1) + 0x1000,
					       .kind = MAPPING_FILE,
					       .path = "lib.so",
					       .file = &file,
					       .until_ns = UINT64_MAX};
	p->maps.items = mappings;
	p->maps.nr = NR_MAPPINGS;
	p->jit_code.nr_descriptors = 0;
	p->jit_code.walks.is_banned = true; /* there is no list */
}

static void mappings_without_a_place_are_not_looked_at(void **state)
{
	struct process *p;

	(void)state;
	begin_probing(JIT_PROBING_ALL, false);
	p = &add_process(1000, 0)->process;
	map_often(p);
	p->jit_code.walks.nr_maps_checked = SIZE_MAX;
	jit_watch_drain(w);
	assert_int_equal(p->jit_code.nr_descriptors, JIT_CODE_MAX_DESCRIPTORS);
	assert_int_equal(nr_found_mapped, JIT_CODE_MAX_DESCRIPTORS);
	jit_watch_drain(w);
	assert_int_equal(nr_found_mapped, JIT_CODE_MAX_DESCRIPTORS);
}

/* While a file waits to be probed, a look opens few of its mappings. */
static void few_mappings_wait_to_be_probed(void **state)
{
	struct process *p;

	(void)state;
	begin_probing(JIT_PROBING_ALL, false);
	p = &add_process(1000, 0)->process;
	map_often(p);
	p->maps.items[0].file->fd = 1000;
	p->jit_code.walks.nr_maps_checked = SIZE_MAX;
	probes_wait = true;
	jit_watch_drain(w);
	assert_int_equal(nr_found_mapped, 8);
	assert_int_equal(p->jit_code.nr_descriptors, 0);
	probes_wait = false;
	jit_watch_drain(w);
	assert_int_equal(p->jit_code.nr_descriptors, JIT_CODE_MAX_DESCRIPTORS);
}

/* The decoder was late about a file, and is asked about the others all the same. */
static void a_late_file_keeps_no_other_from_being_searched(void **state)
{
	static const struct jit_interface point = {.register_off = 16};
	struct target_file files[] = {{.id = 1, .fd = -1, .path = "late.so"},
				      {.id = 2, .fd = -1, .path = "lib.so"}};
	struct mapping mappings[2];
	struct process *p;

	(void)state;
	begin(false);
	nr_facts_asked = 0;
	late_facts.runtimes[RUNTIME_JIT].is_known = true;
	memcpy(late_facts.runtimes[RUNTIME_JIT].words, &point, sizeof(point));
	p = &add_process(1000, 0)->process;
	map_often(p);
	memcpy(mappings, p->maps.items, sizeof(mappings));
	for (size_t i = 0; i < 2; i++)
		mappings[i].file = &files[i];
	p->maps.items = mappings;
	p->maps.nr = 2;
	p->jit_code.walks.nr_maps_checked = SIZE_MAX;
	files[0].inspect_from_ns = fake_now_ns + 10 * CLOCK_SECOND_NS;
	jit_watch_drain(w);
	assert_int_equal(nr_facts_asked, 2);
	assert_int_equal(p->jit_code.nr_descriptors, 1);
	/* Until then, nobody searches. */
	for (int i = 0; i < 9; i++)
		pass_a_second();
	assert_int_equal(nr_facts_asked, 2);
	pass_a_second();
	jit_watch_drain(w);
	assert_int_equal(nr_facts_asked, 3);
	assert_int_equal(p->jit_code.nr_descriptors, 2);
	/* All is known. */
	files[0].facts = files[1].facts = NULL;
	pass_a_second();
	assert_int_equal(nr_facts_asked, 3);
}

/* While a helper is waited for, rings are emptied again and again, but not without an end. */
static void events_that_have_no_room_stay_in_the_ring(void **state)
{
	const size_t nr = 2000000;
	struct jit_watch_totals totals;

	(void)state;
	begin_probing(JIT_PROBING_ALL, false);
	fake_now_ns = 0; /* before the events */
	nr_events = nr;
	nr_read = 0;
	for (int i = 0; i < 100; i++)
		jit_watch_read(w);
	assert_in_range(nr_read, (32 << 20) / sizeof(struct jit_event),
			(64 << 20) / sizeof(struct jit_event));
	/* A fork after the first two needs all until then, also those in the ring. */
	jit_watch_apply(w, nr_read + 2);
	jit_watch_totals(w, &totals);
	assert_int_equal(totals.nr_lost, nr - nr_events - RING_EVENTS + 2);
	while (nr_events) {
		jit_watch_read(w);
		jit_watch_apply(w, UINT64_MAX);
	}
	jit_watch_totals(w, &totals);
	assert_int_equal(totals.nr_lost, nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(events_that_have_no_room_stay_in_the_ring, end),
		cmocka_unit_test_teardown(a_tenants_slow_walks_keep_no_other_waiting,
					  end),
		cmocka_unit_test_teardown(a_tenants_walks_take_a_quarter_of_the_time,
					  end),
		cmocka_unit_test_teardown(who_was_left_comes_in_the_next_look, end),
		cmocka_unit_test_teardown(a_look_makes_no_call_after_its_time, end),
		cmocka_unit_test_teardown(who_is_gone_has_no_list, end),
		cmocka_unit_test_teardown(mappings_without_a_place_are_not_looked_at,
					  end),
		cmocka_unit_test_teardown(a_late_file_keeps_no_other_from_being_searched,
					  end),
		cmocka_unit_test_teardown(few_mappings_wait_to_be_probed, end),
		cmocka_unit_test_teardown(without_neighbours_all_take_turns, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
