// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sampler on page faults, which are deterministic: N pages touched for the first
 * time are N samples at the touching instruction. A child touches pages when told.
 * Other faults of the child and of other processes are at other addresses.
 */
#include "collect/sampler.h"

#include <setjmp.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/stat.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "collect/filter.h"
#include "sampler.skel.h"

#define PAGE_BYTES  4096
#define NAME        "toucher"
#define NR_MEETINGS 500
#define FIRST_UID   1000
#define NR_USERS    5

enum change {
	CHANGE_NOTHING,
	CHANGE_NAME, /* the thread's name, before each touch: each stack key differs */
	CHANGE_USER, /* the effective uid, before each touch */
	BY_KERNEL, /* the kernel touches the pages, in read(2) */
	BY_WORKER, /* a thread that the kernel makes touches them, for io_uring */
	IN_CHILD, /* fork: the child's child touches the pages and ends */
	ELSEWHERE, /* the same, in another cgroup and pid namespace */
	ON_A_CPU, /* touches one page on CPU nr of two, with an effective uid of its own */
	BY_TWO, /* threads on two CPUs touch a page each, at once: a meeting */
};

/*
 * A meeting has a name, and so a row of its own, and an effective uid. The first of its
 * samples to come is announced.
 */
struct meeting {
	uint64_t announced_ns; /* 0: not */
	uint64_t first_ns, last_ns;
	uint32_t nr_touched, nr_others; /* samples */
};

struct order {
	uint32_t nr; /* pages to touch */
	uint32_t change; /* enum change */
};

struct fixture {
	struct sampler *sampler;
	pid_t child;
	int order_fd, done_fd;
	struct sampler_handlers handlers;
	/* Results of the last drain. */
	uint64_t nr_here; /* samples at the touching instruction */
	uint64_t value_here, nr_rows_here, nr_without_body_here;
	uint64_t nr_no_user; /* samples of threads without a user stack */
	uint64_t nr_in_kernel; /* samples with a kernel stack */
	uint32_t max_kern; /* frames of the longest one */
	uint64_t nr_first; /* first samples that were announced */
	struct lb_first_sample first; /* the last one, of any process */
	uint32_t last_uid; /* of note_uid() */
	uint64_t nr_of_user[NR_USERS]; /* samples by uid, from FIRST_UID on */
	bool wrong_source;
	struct meeting meetings[NR_MEETINGS];
};

/* The touching instruction, unchanged by compilers and sanitizers. */
#if defined(__x86_64__)
#define TOUCH "movb $1, (%0)"
#elif defined(__aarch64__)
#define TOUCH "strb wzr, [%0]"
#endif
extern const char touch_here[];

static __attribute__((noinline)) void touch(char *at)
{
	asm volatile(".globl touch_here\ntouch_here:\n\t" TOUCH : : "r"(at) : "memory");
}

/* Reads @nr zeroes in a worker of io_uring (io_uring_setup(2)). */
static void read_by_worker(int zeroes, char *to, uint32_t nr)
{
	struct io_uring_params params = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	size_t array_end = params.sq_off.array + sizeof(uint32_t);
	struct io_uring_sqe *sqe;
	char *queue;

	if (ring < 0)
		_exit(6);
	queue = mmap(NULL, array_end, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		     IORING_OFF_SQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		   IORING_OFF_SQES);
	if (queue == MAP_FAILED || sqe == MAP_FAILED)
		_exit(6);
	*sqe = (struct io_uring_sqe){.opcode = IORING_OP_READ,
				     .flags = IOSQE_ASYNC,
				     .fd = zeroes,
				     .addr = (uintptr_t)to,
				     .len = nr};
	*(uint32_t *)(queue + params.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		_exit(6);
	munmap(queue, array_end);
	munmap(sqe, sizeof(*sqe));
	close(ring);
}

static char *fresh_pages(size_t nr)
{
	char *pages = mmap(NULL, nr * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, nr * PAGE_BYTES, MADV_NOHUGEPAGE))
		_exit(3);
	return pages;
}

static void touch_all(struct order order)
{
	char *pages = fresh_pages(order.nr);
	int zeroes = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (zeroes < 0)
		_exit(3);
	if (order.change == BY_WORKER)
		read_by_worker(zeroes, pages, order.nr * PAGE_BYTES);
	for (uint32_t i = 0; order.change != BY_WORKER && i < order.nr; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name %u", i);
		if (order.change == CHANGE_NAME)
			prctl(PR_SET_NAME, name);
		if (order.change == CHANGE_USER && (seteuid(0) || seteuid(1000 + i)))
			_exit(4);
		if (order.change != BY_KERNEL)
			touch(pages + (size_t)i * PAGE_BYTES);
		else if (read(zeroes, pages + (size_t)i * PAGE_BYTES, 1) != 1)
			_exit(5);
	}
	close(zeroes);
	munmap(pages, (size_t)order.nr * PAGE_BYTES);
	if (order.change == CHANGE_USER && seteuid(0))
		_exit(4);
	prctl(PR_SET_NAME, NAME);
}

/* ---- meetings ---- */

struct toucher {
	uint32_t *nr_arrived;
	bool is_leader;
};

static void wait_for_both(struct toucher *t, uint32_t turn)
{
	__atomic_add_fetch(t->nr_arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(t->nr_arrived, __ATOMIC_SEQ_CST) < 2 * turn)
		;
}

static void *meet(void *arg)
{
	char *pages = fresh_pages(NR_MEETINGS), name[16];
	struct toucher *t = arg;

	for (uint32_t i = 0; i < NR_MEETINGS; i++) {
		wait_for_both(t, 2 * i + 1);
		snprintf(name, sizeof(name), "meeting %u", i);
		prctl(PR_SET_NAME, name);
		/* Of this thread only; that of the leader is announced. */
		if (t->is_leader && (syscall(SYS_setresuid, -1, 0, -1) ||
				     syscall(SYS_setresuid, -1, FIRST_UID + i, -1)))
			_exit(4);
		wait_for_both(t, 2 * i + 2);
		touch(pages + (size_t)i * PAGE_BYTES);
	}
	return NULL;
}

static cpu_set_t all_cpus; /* that the process may use */

/* The first two of them. */
static void find_two_cpus(cpu_set_t cpus[2])
{
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		_exit(7);
	for (size_t i = 0; i < 2; i++, cpu++) {
		while (!CPU_ISSET(cpu, &all_cpus))
			cpu++;
		CPU_ZERO(&cpus[i]);
		CPU_SET(cpu, &cpus[i]);
	}
}

static void meet_all(void)
{
	uint32_t nr_arrived = 0;
	struct toucher leader = {&nr_arrived, true}, other = {&nr_arrived, false};
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t cpus[2];

	find_two_cpus(cpus);
	pthread_attr_init(&attr);
	if (pthread_attr_setaffinity_np(&attr, sizeof(cpus[1]), &cpus[1]) ||
	    sched_setaffinity(0, sizeof(cpus[0]), &cpus[0]) ||
	    pthread_create(&thread, &attr, meet, &other))
		_exit(7);
	pthread_attr_destroy(&attr);
	meet(&leader);
	pthread_join(thread, NULL);
}

static void touch_on_cpu(uint32_t nr)
{
	char *page = fresh_pages(1);
	cpu_set_t cpus[2];

	find_two_cpus(cpus);
	if (sched_setaffinity(0, sizeof(*cpus), &cpus[nr]) || seteuid(FIRST_UID + nr))
		_exit(7);
	touch(page);
	if (seteuid(0) || sched_setaffinity(0, sizeof(all_cpus), &all_cpus))
		_exit(4);
	munmap(page, PAGE_BYTES);
}

/* ---- the child ---- */

/* A cgroup of this run, in the first hierarchy that allows it; "": in none. */
static char cgroup[64];

static void make_cgroup(void)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
					     "/sys/fs/cgroup/freezer"};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		snprintf(cgroup, sizeof(cgroup), "%s/lineburn-test-%d", mounts[i],
			 (int)getpid());
		if (!mkdir(cgroup, 0755)) {
			char procs[96];

			snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
			if (!access(procs, W_OK))
				return;
			rmdir(cgroup);
		}
	}
	cgroup[0] = '\0';
}

static void enter_cgroup(void)
{
	char procs[96];
	int fd;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	/* It was announced in its parent's cgroup; as another user it is once more. */
	if (fd < 0 || write(fd, "0", 1) != 1 || seteuid(FIRST_UID))
		_exit(8);
	close(fd);
}

static pid_t fork_for(enum change change)
{
	pid_t child;

	if (change != IN_CHILD && change != ELSEWHERE)
		return 0;
	if (change == ELSEWHERE && unshare(CLONE_NEWPID))
		_exit(8);
	child = fork();
	if (!child && change == ELSEWHERE)
		enter_cgroup();
	return child;
}

static void obey(int orders, int done)
{
	struct order order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, NAME);
	while (read(orders, &order, sizeof(order)) == sizeof(order)) {
		pid_t child = fork_for(order.change);

		if (order.change == BY_TWO)
			meet_all();
		else if (order.change == ON_A_CPU)
			touch_on_cpu(order.nr);
		else if (!child)
			touch_all(order);
		if (!child && (order.change == IN_CHILD || order.change == ELSEWHERE))
			_exit(0);
		if (child)
			waitpid(child, NULL, 0);
		if (write(done, "", 1) != 1)
			break;
	}
	_exit(0);
}

static void begin(struct fixture *f, uint32_t nr, enum change change)
{
	struct order order = {.nr = nr, .change = change};

	assert_int_equal(write(f->order_fd, &order, sizeof(order)), sizeof(order));
}

static void tell(struct fixture *f, uint32_t nr, enum change change)
{
	char done;

	begin(f, nr, change);
	assert_int_equal(read(f->done_fd, &done, 1), 1);
}

static void note_sample(void *ctx, const struct sample *s)
{
	struct fixture *f = ctx;

	f->wrong_source |= s->source != LB_SOURCE_PAGE_FAULTS;
	f->nr_no_user += s->status == LB_STACK_NO_USER ? s->count : 0;
	f->nr_in_kernel += s->nr_kern ? s->count : 0;
	f->max_kern = s->nr_kern > f->max_kern ? s->nr_kern : f->max_kern;
	if (!s->nr_user || s->user_ips[0] != (uintptr_t)touch_here)
		return;
	f->nr_here += s->count;
	f->value_here += s->values[0];
	f->nr_rows_here++;
	if (s->has_uid && s->uid >= FIRST_UID && s->uid < FIRST_UID + NR_USERS)
		f->nr_of_user[s->uid - FIRST_UID] += s->count;
	if (s->status == LB_STACK_NO_BODY)
		f->nr_without_body_here += s->count;
}

static void note_first(void *ctx, const struct lb_first_sample *first)
{
	struct fixture *f = ctx;

	f->nr_first += first->tgid == (uint32_t)f->child;
	f->first = *first;
}

/* Reads the samples since the last call. Return: those at the instruction. */
static uint64_t drain(struct fixture *f)
{
	f->nr_no_user = f->nr_in_kernel = f->max_kern = 0;
	f->nr_here = f->value_here = f->nr_rows_here = f->nr_without_body_here = 0;
	assert_int_equal(sampler_drain(f->sampler, &f->handlers), 0);
	assert_false(f->wrong_source);
	return f->nr_here;
}

/* All sampled ticks must be counted or in a loss counter. */
static struct sampler_totals sums_close(struct fixture *f)
{
	struct sampler_totals t;
	const __u64 *n;

	sampler_totals(f->sampler, &t);
	n = t.ctr.n;
	assert_int_equal(n[LB_CTR_TICKS],
			 n[LB_CTR_IDLE] + n[LB_CTR_OTHER] + n[LB_CTR_SAMPLED]);
	assert_int_equal(n[LB_CTR_SAMPLED], n[LB_CTR_COUNTED] +
						    n[LB_CTR_LOST_COUNTS_FULL] +
						    n[LB_CTR_LOST_INTERNAL]);
	assert_int_equal(n[LB_CTR_COUNTED], t.rows_counted + t.lost_drain);
	return t;
}

static void open_with(struct fixture *f, const struct sampler_config *given)
{
	struct sampler_config config = *given;
	struct error err = {0};
	int orders[2], done[2];

	if (geteuid() != 0) {
		print_message("skip: loading BPF programs needs root\n");
		skip();
	}
	f->handlers = (struct sampler_handlers){
		.ctx = f, .sample = note_sample, .first_sample = note_first};
	config.source = &page_fault_source;
	config.period = config.period ? config.period : 1;
	config.walk_user = config.max_frames != 1;
	if (sampler_new(&config, &f->sampler, &err))
		fail_msg("%s", err.text);
	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(done), 0);
	f->child = fork();
	assert_true(f->child >= 0);
	if (!f->child) {
		close(orders[1]);
		close(done[0]);
		obey(orders[0], done[1]);
	}
	close(orders[0]);
	close(done[1]);
	f->order_fd = orders[1];
	f->done_fd = done[0];
}

static void start(struct fixture *f)
{
	struct error err = {0};

	if (sampler_start(f->sampler, &err))
		fail_msg("%s", err.text);
}

/* Targets are the child and its descendants. */
static void open_for_child(struct fixture *f, const struct sampler_config *config)
{
	struct error err = {0};

	open_with(f, config);
	if (sampler_add_target(f->sampler, (uint32_t)f->child, &err))
		fail_msg("%s", err.text);
	start(f);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->child > 0) {
		close(f->order_fd);
		close(f->done_fd);
		waitpid(f->child, NULL, 0);
	}
	sampler_free(f->sampler);
	free(f);
	return 0;
}

/* What a handler gets while it gathers more. */
struct gathering {
	struct fixture *f;
	uint32_t tgids[8]; /* of children, each once */
	size_t nr_tgids;
};

static void gather_more(void *ctx, const struct lb_first_sample *first)
{
	struct gathering *g = ctx;
	struct lb_first_sample before = *first;
	size_t i = 0;

	if (first->tgid == (uint32_t)g->f->child)
		return;
	while (i < g->nr_tgids && g->tgids[i] != first->tgid)
		i++;
	assert_true(i < ARRAY_SIZE(g->tgids));
	g->tgids[i] = first->tgid;
	g->nr_tgids = i == g->nr_tgids ? i + 1 : g->nr_tgids;
	if (g->nr_tgids > 2)
		return;
	tell(g->f, 1, IN_CHILD);
	tell(g->f, 1, IN_CHILD);
	sampler_gather(g->f->sampler);
	assert_memory_equal(first, &before, sizeof(before));
}

/*
 * As when a handler waits for a helper. What comes meanwhile is told by the next call, so
 * that each call ends, whatever starts meanwhile.
 */
static void rings_are_emptied_while_a_handler_waits(void **state)
{
	static const size_t nr_told[] = {1, 3,
					 5}; /* two by the first, two by the second */
	struct fixture *f = *state;
	struct gathering g = {.f = f};
	struct sampler_handlers handlers = {.ctx = &g, .first_sample = gather_more};

	open_for_child(f, &(struct sampler_config){0});
	tell(f, 1, IN_CHILD);
	for (size_t i = 0; i < ARRAY_SIZE(nr_told); i++) {
		sampler_notices(f->sampler, &handlers);
		assert_int_equal(g.nr_tgids, nr_told[i]);
		assert_int_equal(sampler_notices_are_left(f->sampler), i < 2);
	}
	f->handlers.first_sample = NULL;
	assert_int_equal(drain(f), 5);
	sums_close(f);
}

struct telling {
	size_t nr_told, nr_announced, nr_groups, nr_groups_ended;
};

static bool count_announced(void *ctx, const struct lb_first_sample *first)
{
	struct telling *t = ctx;

	(void)first;
	return ++t->nr_announced % 2; /* two together */
}

static void count_groups(void *ctx, bool is_next)
{
	struct telling *t = ctx;

	t->nr_groups += is_next;
	t->nr_groups_ended += !is_next;
}

static void count_told(void *ctx, const struct lb_first_sample *first)
{
	struct telling *t = ctx;

	(void)first;
	t->nr_told++;
}

static void ignore_sample(void *ctx, const struct sample *s)
{
	(void)ctx;
	(void)s;
}

/* When its time is up, a call leaves the rest, but for those that were announced together. */
static void what_is_not_told_in_time_is_told_later(void **state)
{
	struct fixture *f = *state;
	struct telling t = {0};
	struct sampler_handlers handlers = {.ctx = &t,
					    .notices_ns = 1,
					    .announce = count_announced,
					    .announced = count_groups,
					    .first_sample = count_told,
					    .sample = ignore_sample};

	open_for_child(f, &(struct sampler_config){0});
	for (int i = 0; i < 4; i++)
		tell(f, 1, IN_CHILD);
	/* Four, and the process that forks them. */
	sampler_notices(f->sampler, &handlers);
	assert_int_equal(t.nr_told, 2);
	assert_true(sampler_notices_are_left(f->sampler));
	assert_int_equal(sampler_drain(f->sampler, &handlers), 0);
	assert_int_equal(t.nr_told, 4);
	assert_int_equal(t.nr_announced, 4);
	assert_true(t.nr_groups == 2 && t.nr_groups_ended == 2);
	tell(f, 1, IN_CHILD);
	handlers.notices_ns = 0;
	assert_int_equal(sampler_drain(f->sampler, &handlers), 0);
	assert_true(t.nr_told == 6 && t.nr_announced == 6);
	assert_true(t.nr_groups == 4 && t.nr_groups_ended == 4);
	assert_false(sampler_notices_are_left(f->sampler));
}

static void each_fault_is_a_sample(void **state)
{
	struct fixture *f = *state;
	struct sampler_totals t;

	open_for_child(f, &(struct sampler_config){0});
	tell(f, 1234, CHANGE_NOTHING);
	assert_int_equal(drain(f), 1234);
	assert_int_equal(f->value_here, 1234);
	t = sums_close(f);
	assert_int_equal(t.ctr.n[LB_CTR_SAMPLED], t.rows_counted);
	assert_int_equal(t.bodies_missing, 0);
}

/* Which faults are sampled is unknown, but each sample stands for its period. */
static void each_sample_stands_for_its_period(void **state)
{
	struct fixture *f = *state;

	open_for_child(f, &(struct sampler_config){.period = 10});
	tell(f, 1000, CHANGE_NOTHING);
	drain(f);
	/* Faults of other programs on the same CPU count for the period, too. */
	assert_in_range(f->nr_here, 10, 500);
	assert_int_equal(f->value_here, 10 * f->nr_here);
	sums_close(f);
}

static void each_slot_has_its_own(void **state)
{
	struct fixture *f = *state;

	open_for_child(f, &(struct sampler_config){0});
	for (uint32_t nr = 10; nr <= 60; nr += 10) {
		tell(f, nr, CHANGE_NOTHING);
		assert_int_equal(drain(f), nr);
	}
	assert_int_equal(drain(f), 0);
	assert_int_equal(drain(f), 0);
	sums_close(f);
}

/* Draining while sampling neither loses samples nor counts them twice. */
static void nothing_is_lost_between_slots(void **state)
{
	struct fixture *f = *state;
	const uint32_t nr = 100000;
	struct pollfd done;
	uint64_t sum = 0;
	char byte;

	open_for_child(f, &(struct sampler_config){0});
	done = (struct pollfd){.fd = f->done_fd, .events = POLLIN};
	begin(f, nr, CHANGE_NOTHING);
	while (!poll(&done, 1, 0))
		sum += drain(f);
	assert_int_equal(read(f->done_fd, &byte, 1), 1);
	for (int i = 0; i < LB_NR_SLOTS; i++)
		sum += drain(f);
	assert_int_equal(sum, nr);
	sums_close(f);
}

static void nothing_is_sampled_after_the_end(void **state)
{
	struct fixture *f = *state;

	open_for_child(f, &(struct sampler_config){0});
	tell(f, 7, CHANGE_NOTHING);
	sampler_stop(f->sampler);
	tell(f, 100, CHANGE_NOTHING);
	assert_int_equal(drain(f), 7);
	sums_close(f);
}

static void note_meeting(void *ctx, const struct sample *s)
{
	struct fixture *f = ctx;
	struct meeting *m;
	uint32_t i;

	if (!s->comm || sscanf(s->comm, "meeting %u", &i) != 1)
		return;
	assert_true(i < NR_MEETINGS);
	m = &f->meetings[i];
	if (!s->nr_user || s->user_ips[0] != (uintptr_t)touch_here) {
		m->nr_others += s->count;
		return;
	}
	assert_int_equal(s->count, 2);
	m->nr_touched += s->count;
	m->first_ns = s->first_ns;
	m->last_ns = s->last_ns;
}

static void note_announced(void *ctx, const struct lb_first_sample *first)
{
	struct fixture *f = ctx;

	if (first->ids.uid - FIRST_UID < NR_MEETINGS)
		f->meetings[first->ids.uid - FIRST_UID].announced_ns = first->time_ns;
}

/*
 * A row's interval holds the times of its samples, also when a CPU that took its time
 * first comes second to the row. Exactly so with two samples: one adds the row, so no
 * two CPUs change its times at once.
 */
static void rows_hold_the_times_of_both_cpus(void **state)
{
	struct fixture *f = *state;
	uint32_t nr_judged = 0;
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2) {
		print_message("skip: only one CPU\n");
		skip();
	}
	/* Without callers, both threads have one stack. */
	open_for_child(f, &(struct sampler_config){.max_frames = 1});
	f->handlers.sample = note_meeting;
	f->handlers.first_sample = note_announced;
	tell(f, 0, BY_TWO);
	drain(f);
	for (size_t i = 0; i < NR_MEETINGS; i++) {
		const struct meeting *m = &f->meetings[i];

		assert_int_equal(m->nr_touched, 2);
		/* Another page fault of the threads may be what was announced. */
		if (m->nr_others || !m->announced_ns)
			continue;
		assert_in_range(m->announced_ns, m->first_ns, m->last_ns);
		nr_judged++;
	}
	print_message("%u of %u meetings\n", nr_judged, NR_MEETINGS);
	assert_true(nr_judged > 0);
	sums_close(f);
}

static uint32_t mount_of_root(void)
{
	struct statx stx = {0};

	assert_int_equal(statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &stx), 0);
	return stx.stx_attributes & STATX_ATTR_MOUNT_ROOT ? (uint32_t)stx.stx_mnt_id : 0;
}

/* What need not be read of /proc, then. */
static void a_first_sample_tells_who_it_is(void **state)
{
	struct fixture *f = *state;
	const struct lb_ids *ids = &f->first.ids;
	struct stat ns;
	uint64_t cgroups;

	assert_int_equal(stat("/proc/self/ns/user", &ns), 0);
	make_cgroup(); /* before the fork of the child, who enters it */
	open_for_child(f, &(struct sampler_config){0});
	tell(f, 1, CHANGE_NOTHING);
	drain(f);
	assert_int_equal(f->first.tgid, f->child);
	assert_int_equal(ids->uid, 0);
	assert_int_equal(ids->user_ns, (uint32_t)ns.st_ino);
	assert_int_equal(ids->root_mount, mount_of_root());
	assert_int_equal(ids->ns_tgid, f->child);
	assert_int_equal(ids->ppid, getpid());
	assert_int_not_equal(ids->cgroups, 0);
	assert_int_equal(ids->cgroups, ids->parents_cgroups);
	cgroups = ids->cgroups;

	if (!*cgroup) {
		print_message("skip: no cgroup can be made here\n");
		skip();
	}
	tell(f, 1, ELSEWHERE);
	rmdir(cgroup);
	assert_int_equal(drain(f), 1);
	assert_int_equal(ids->uid, FIRST_UID);
	assert_int_equal(ids->ns_tgid, 1);
	assert_int_equal(ids->ppid, f->child);
	assert_int_equal(ids->parents_cgroups, cgroups);
	assert_int_not_equal(ids->cgroups, 0);
	assert_int_not_equal(ids->cgroups, cgroups);
}

static void note_uid(void *ctx, const struct lb_first_sample *first)
{
	uint32_t *last_uid = &((struct fixture *)ctx)->last_uid;

	/* Root's is that of a page fault between two touches. */
	if (first->ids.uid)
		*last_uid = first->ids.uid;
}

/* As if all had been evicted; without the counter, which an eviction does not change. */
static void forget_images(struct fixture *f)
{
	int fd = bpf_map__fd(sampler_skel(f->sampler)->maps.images);
	struct lb_image image;

	while (!bpf_map_get_next_key(fd, NULL, &image))
		bpf_map_delete_elem(fd, &image);
}

/* The user is that of one CPU, then of another, and of the first again. */
static void changes_there_and_back(struct fixture *f, bool is_evicted)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2) {
		print_message("skip: only one CPU\n");
		skip();
	}
	open_for_child(f, &(struct sampler_config){0});
	f->handlers.first_sample = note_uid;
	/* Twice: the second time the CPU remembers it. */
	tell(f, 0, ON_A_CPU);
	tell(f, 0, ON_A_CPU);
	if (is_evicted)
		forget_images(f);
	tell(f, 1, ON_A_CPU);
	tell(f, 0, ON_A_CPU);
	assert_int_equal(drain(f), 4);
	assert_int_equal(f->last_uid, FIRST_UID);
}

static void a_user_is_announced_again_after_another(void **state)
{
	changes_there_and_back(*state, false);
}

static void a_user_is_announced_again_after_an_eviction(void **state)
{
	changes_there_and_back(*state, true);
}

static void who_found_the_ring_full_is_announced_later(void **state)
{
	struct fixture *f = *state;
	volatile __u32 *changes;

	open_for_child(f, &(struct sampler_config){.nr_cpus = 2});
	changes = sampler_skel(f->sampler)->bss->image_changes;
	tell(f, 3000, CHANGE_USER);
	/* It is a new image, as far as the kernel side knows. */
	forget_images(f);
	++changes[(uint32_t)f->child % LB_IMAGE_CHANGES];
	tell(f, 1, CHANGE_NOTHING);
	drain(f);
	f->nr_first = 0;
	tell(f, 1, CHANGE_NOTHING);
	assert_int_equal(drain(f), 1);
	assert_int_equal(f->nr_first, 1);
	assert_int_equal(f->first.ids.uid, 0);
}

/* One stack, of several users in one slot. */
static void each_sample_has_its_user(void **state)
{
	struct fixture *f = *state;

	open_for_child(f, &(struct sampler_config){0});
	tell(f, NR_USERS, CHANGE_USER);
	tell(f, NR_USERS, CHANGE_USER);
	tell(f, 1, CHANGE_NOTHING);
	assert_int_equal(drain(f), 2 * NR_USERS + 1);
	assert_int_equal(f->nr_rows_here, NR_USERS + 1);
	for (size_t i = 0; i < NR_USERS; i++)
		assert_int_equal(f->nr_of_user[i], 2);
}

/* ---- targets ---- */

static void children_of_targets(void **state)
{
	struct fixture *f = *state;

	open_for_child(f, &(struct sampler_config){0});
	tell(f, 21, IN_CHILD);
	assert_int_equal(drain(f), 21);
}

struct listed {
	uint32_t ids[2], masks[2];
	size_t nr;
};

static int list(void *ctx, uint32_t id, uint32_t mask)
{
	struct listed *l = ctx;

	if (l->nr == 2)
		return -ENOSPC;
	l->ids[l->nr] = id;
	l->masks[l->nr++] = mask;
	return 0;
}

static int count(void *ctx, uint32_t id, uint32_t mask)
{
	(void)id;
	(void)mask;
	++*(size_t *)ctx;
	return 0;
}

static void rules_can_be_asked(void **state)
{
	const uint32_t in = LB_FILTER_IN(LB_FILTER_PROCESS);
	struct fixture *f = *state;
	struct listed l = {0};
	uint32_t child;

	open_for_child(f, &(struct sampler_config){0});
	child = (uint32_t)f->child;
	assert_int_equal(sampler_task_mask(f->sampler, child), in);
	assert_int_equal(sampler_task_mask(f->sampler, child + 1), 0);
	assert_int_equal(sampler_each_task(f->sampler, list, &l), 0);
	assert_int_equal(l.nr, 1);
	assert_int_equal(l.ids[0], child);
	assert_int_equal(l.masks[0], in);
	/* More than one call of the kernel has. */
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(sampler_add_target(f->sampler, 5000000 + i, NULL), 0);
	l.nr = 0;
	assert_int_equal(sampler_each_task(f->sampler, count, &l.nr), 0);
	assert_int_equal(l.nr, 1001);
	l.nr = 0;
	assert_int_equal(sampler_each_task(f->sampler, list, &l), -ENOSPC);
	sampler_forget_task(f->sampler, child);
	assert_int_equal(sampler_task_mask(f->sampler, child), 0);
}

static void others_are_not_sampled(void **state)
{
	struct fixture *f = *state;
	struct sampler_totals before, after;

	open_for_child(f, &(struct sampler_config){0});
	drain(f);
	sampler_totals(f->sampler, &before);
	touch_all((struct order){.nr = 100, .change = CHANGE_NOTHING});
	assert_int_equal(drain(f), 0);
	after = sums_close(f);
	assert_true(after.ctr.n[LB_CTR_OTHER] >= before.ctr.n[LB_CTR_OTHER] + 100);
}

/* Each kind of filter, applied to the child, and how many of 50 samples must pass. */
static void filters(void **state)
{
	static const struct {
		enum lb_filter_kind kind;
		bool excludes, is_another; /* the value is not the child's */
		bool no_children;
		enum change change;
		uint64_t nr;
	} cases[] = {
		{LB_FILTER_PROCESS, false, false, false, CHANGE_NOTHING, 50},
		{LB_FILTER_PROCESS, false, true, false, CHANGE_NOTHING, 0},
		{LB_FILTER_PROCESS, true, false, false, CHANGE_NOTHING, 0},
		{LB_FILTER_PROCESS, true, true, false, CHANGE_NOTHING, 50},
		{LB_FILTER_PROCESS, false, false, false, IN_CHILD, 50},
		{LB_FILTER_PROCESS, false, false, true, IN_CHILD, 0},
		{LB_FILTER_PROCESS, true, false, false, IN_CHILD, 0},
		{LB_FILTER_PROCESS, true, false, true, IN_CHILD, 50},
		{LB_FILTER_THREAD, false, false, false, CHANGE_NOTHING, 50},
		{LB_FILTER_THREAD, false, true, false, CHANGE_NOTHING, 0},
		{LB_FILTER_THREAD, false, false, false, IN_CHILD, 0},
		{LB_FILTER_THREAD, true, false, false, CHANGE_NOTHING, 0},
		{LB_FILTER_THREAD, true, true, false, CHANGE_NOTHING, 50},
		{LB_FILTER_USER, false, false, false, CHANGE_NOTHING, 50},
		{LB_FILTER_USER, false, false, false, CHANGE_USER, 0},
		{LB_FILTER_USER, false, true, false, CHANGE_NOTHING, 0},
		/* CHANGE_USER gives the 18th touch the filter's uid. */
		{LB_FILTER_USER, false, true, false, CHANGE_USER, 1},
		{LB_FILTER_USER, true, false, false, CHANGE_NOTHING, 0},
		{LB_FILTER_USER, true, true, false, CHANGE_USER, 49},
	};
	struct fixture *f = *state;
	struct error err = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum lb_filter_kind kind = cases[i].kind;
		uint32_t mask = cases[i].excludes ? LB_FILTER_OUT(kind)
						  : LB_FILTER_IN(kind);
		uint32_t who;
		int rc;

		open_with(f, &(struct sampler_config){.whole_machine = true});
		if (kind == LB_FILTER_USER)
			who = cases[i].is_another ? 1017 : 0;
		else
			who = (uint32_t)(cases[i].is_another ? getpid() : f->child);
		rc = kind == LB_FILTER_USER
			     ? sampler_filter_user(f->sampler, who, mask, &err)
		     : kind == LB_FILTER_THREAD
			     ? sampler_filter_task(f->sampler, who | LB_TARGET_THREAD,
						   mask, &err)
			     : sampler_filter_task(f->sampler, who, mask, &err);
		assert_int_equal(rc, 0);
		sampler_use_filter(f->sampler, LB_FILTER_IN(kind),
				   cases[i].excludes ? 0 : LB_FILTER_IN(kind),
				   cases[i].no_children);
		start(f);
		tell(f, 50, cases[i].change);
		if (drain(f) != cases[i].nr)
			fail_msg("case %zu: %llu of 50", i,
				 (unsigned long long)f->nr_here);
		sums_close(f);
		tear_down(state);
		set_up(state);
		f = *state;
	}
}

/* ---- losses ---- */

static void counts_are_full(void **state)
{
	struct fixture *f = *state;
	struct sampler_totals t;
	uint64_t lost;

	open_for_child(f, &(struct sampler_config){.max_rows = 64});
	tell(f, 1000, CHANGE_NAME);
	assert_true(drain(f) <= 64);
	assert_true(f->nr_here > 0);
	t = sums_close(f);
	lost = t.ctr.n[LB_CTR_LOST_COUNTS_FULL];
	assert_true(lost >= 1000 - 64);
	assert_true(f->nr_here + lost >= 1000);
	/* Both slots work again. */
	for (int i = 0; i < 2; i++) {
		tell(f, 10, CHANGE_NOTHING);
		assert_int_equal(drain(f), 10);
	}
	assert_int_equal(sums_close(f).ctr.n[LB_CTR_LOST_COUNTS_FULL], lost);
}

static void bodies_are_full(void **state)
{
	struct fixture *f = *state;
	struct sampler_totals t;

	open_for_child(f, &(struct sampler_config){.body_bytes = PAGE_BYTES});
	for (int i = 0; i < 2; i++) {
		tell(f, 1000, CHANGE_NAME);
		/*
		 * Samples without a stored stack are counted at their leaf, not lost.
		 */
		assert_int_equal(drain(f), 1000);
		assert_true(f->nr_without_body_here > 900);
		assert_true(f->nr_without_body_here < 1000);
	}
	t = sums_close(f);
	assert_true(t.ctr.n[LB_CTR_NO_BODY] > 1800);
	assert_int_equal(t.ctr.n[LB_CTR_LOST_COUNTS_FULL], 0);
	tell(f, 10, CHANGE_NOTHING);
	assert_int_equal(drain(f), 10);
	assert_int_equal(f->nr_without_body_here, 0);
}

/* Does the system allow io_uring, with threads of the process (Linux 5.12)? */
static bool has_workers(void)
{
	struct io_uring_params params = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (ring >= 0)
		close(ring);
	return ring >= 0 && params.features & IORING_FEAT_NATIVE_WORKERS;
}

/*
 * Threads without a user stack keep that status when their stack cannot be stored, and
 * do not get the address of an earlier sample.
 */
static void bodies_are_full_of_workers(void **state)
{
	struct fixture *f = *state;

	if (!has_workers()) {
		print_message("skip: no io_uring with threads of the process\n");
		skip();
	}
	open_for_child(f, &(struct sampler_config){.body_bytes = PAGE_BYTES});
	tell(f, 1000, CHANGE_NAME);
	tell(f, 100, BY_WORKER);
	assert_int_equal(drain(f), 1000);
	assert_true(f->nr_no_user >= 100);
}

/* On many CPUs, LRU maps hold more than what each CPU keeps for itself. */
static void maps_for_512_cpus(void **state)
{
	struct fixture *f = *state;
	struct sampler_bpf *skel;

	open_with(f, &(struct sampler_config){.nr_cpus = 512});
	skel = sampler_skel(f->sampler);
	assert_int_equal(bpf_map__max_entries(skel->maps.images), 16384 + 512 * 128);
	assert_int_equal(bpf_map__max_entries(skel->maps.code_gens), 16384 + 512 * 128);
	assert_int_equal(bpf_map__max_entries(skel->maps.codes_told), 32768 + 512 * 128);
	print_message("maps for 512 CPUs: %lu MB\n",
		      (unsigned long)(sampler_map_bytes(f->sampler) >> 20));
}

static void first_samples_do_not_fit(void **state)
{
	struct fixture *f = *state;
	struct sampler_totals t;

	open_for_child(f, &(struct sampler_config){.nr_cpus = 2});
	tell(f, 3000, CHANGE_USER);
	assert_int_equal(drain(f), 3000);
	t = sums_close(f);
	assert_true(t.ctr.n[LB_CTR_FIRST_DROPPED] > 0);
	assert_true(f->nr_first > 0 && f->nr_first < 3000);
	/* Each first sample was announced or counted as dropped. */
	assert_true(f->nr_first + t.ctr.n[LB_CTR_FIRST_DROPPED] >= 3000);
}

/* ---- a lower limit of kernel stacks ---- */

#define MAX_STACK "/proc/sys/kernel/perf_event_max_stack"

static char max_stack_before[16]; /* "": not changed */

/*
 * Sets the sysctl. Return: whether it was possible: the kernel refuses while any program
 * asks for kernel stacks, for example other lineburns.
 */
static bool set_max_stack(const char *text)
{
	for (int i = 0; i < 300; i++) {
		_cleanup_close_ int fd = open(MAX_STACK, O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, text, strlen(text)) > 0)
			return true;
		usleep(100000);
	}
	return false;
}

static int tear_down_max_stack(void **state)
{
	tear_down(state); /* it asks for kernel stacks itself */
	return *max_stack_before && !set_max_stack(max_stack_before);
}

static void kernel_stacks_are_whole(void **state)
{
	struct fixture *f = *state;

	open_for_child(f, &(struct sampler_config){.kernel_stacks = true});
	tell(f, 100, BY_KERNEL);
	drain(f);
	assert_true(f->nr_in_kernel >= 100);
	assert_true(f->max_kern > 3);
	assert_int_equal(sums_close(f).ctr.n[LB_CTR_KERN_TRUNCATED], 0);
}

static void kernel_stacks_are_cut(void **state)
{
	struct fixture *f = *state;
	char before[16] = "";
	struct sampler_totals t;
	int fd = open(MAX_STACK, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, before, sizeof(before) - 1) > 0);
	close(fd);
	if (geteuid() != 0 || !set_max_stack("3")) {
		print_message("skip: kernel.perf_event_max_stack cannot be set now\n");
		skip();
	}
	memcpy(max_stack_before, before, sizeof(before));
	open_for_child(f, &(struct sampler_config){.kernel_stacks = true});
	tell(f, 100, BY_KERNEL);
	drain(f);
	t = sums_close(f);
	assert_true(f->nr_in_kernel >= 100);
	assert_int_equal(f->max_kern, 3);
	assert_int_equal(t.ctr.n[LB_CTR_KERN_TRUNCATED], f->nr_in_kernel);
}

int main(void)
{
#define EXACT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		EXACT(each_fault_is_a_sample),
		EXACT(rings_are_emptied_while_a_handler_waits),
		EXACT(what_is_not_told_in_time_is_told_later),
		EXACT(each_sample_stands_for_its_period),
		EXACT(each_slot_has_its_own),
		EXACT(nothing_is_lost_between_slots),
		EXACT(nothing_is_sampled_after_the_end),
		EXACT(rows_hold_the_times_of_both_cpus),
		EXACT(a_first_sample_tells_who_it_is),
		EXACT(a_user_is_announced_again_after_another),
		EXACT(a_user_is_announced_again_after_an_eviction),
		EXACT(who_found_the_ring_full_is_announced_later),
		EXACT(each_sample_has_its_user),
		EXACT(children_of_targets),
		EXACT(rules_can_be_asked),
		EXACT(others_are_not_sampled),
		EXACT(filters),
		EXACT(counts_are_full),
		EXACT(bodies_are_full),
		EXACT(maps_for_512_cpus),
		EXACT(bodies_are_full_of_workers),
		EXACT(first_samples_do_not_fit),
		EXACT(kernel_stacks_are_whole),
		cmocka_unit_test_setup_teardown(kernel_stacks_are_cut, set_up,
						tear_down_max_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
