// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of real processes, walked by a real reader: this program's own list, that of a
 * program run by another user, one that changes 100,000 times a second, and one in
 * memory that does not answer.
 */
#include "runtime/jit/list_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/requests.h"

/* ---- a program with the interface ---- */

#define TARGET_ARGV0 "jit-target"

struct entry {
	struct entry *next, *prev;
	const void *symfile;
	uint64_t bytes;
};

static struct descriptor {
	uint32_t version, action;
	struct entry *relevant, *first;
} descriptor = {.version = 1};

/* The function that debuggers break at: a barrier for the writes before it. */
static __attribute__((noinline)) void register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static void add(struct entry *e, const void *symfile, uint64_t bytes)
{
	*e = (struct entry){descriptor.first, NULL, symfile, bytes};
	if (e->next)
		e->next->prev = e;
	descriptor.relevant = descriptor.first = e;
	descriptor.action = 1;
	register_code();
}

static void drop(struct entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		descriptor.first = e->next;
	if (e->next)
		e->next->prev = e->prev;
	descriptor.relevant = e;
	descriptor.action = 2;
	register_code();
}

static void *new_object(size_t bytes, uint8_t mark)
{
	uint8_t *o = malloc(bytes);

	if (!o)
		abort();
	memset(o, mark, bytes);
	memcpy(o, "\177ELF", 4);
	return o;
}

/* Adds three objects of 1000, 2000 and 3000 bytes, and one of unknown format. */
static void add_some(void)
{
	static struct entry e[4];

	for (unsigned int i = 1; i <= 3; i++)
		add(&e[i], new_object(i * 1000, (uint8_t)i), i * 1000);
	add(&e[0], "Erlang's own", 12);
}

/* Runs as a child or after exec: sends the address of its descriptor, and waits. */
static _Noreturn void be_target(int tell)
{
	const struct descriptor *at = &descriptor;

	add_some();
	if (write(tell, &at, sizeof(at)) == sizeof(at))
		pause();
	_exit(1);
}

/*
 * Registers and unregisters for ever, reusing memory at once. Pauses now and then like
 * a real compiler: a list that never rests may never be read.
 */
static _Noreturn void be_restless(int tell)
{
	static struct entry *all[50];
	const struct descriptor *at = &descriptor;
	unsigned int seed = 1;

	if (write(tell, &at, sizeof(at)) != sizeof(at))
		_exit(1);
	for (uint8_t mark = 1;; mark++) {
		size_t i = (seed = seed * 1103515245 + 12345) / 65536 % ARRAY_SIZE(all);
		size_t bytes = 4000 + seed / 65536 % 8 * 16;

		if (all[i]) {
			drop(all[i]);
			memset((void *)all[i]->symfile, 0xdd, all[i]->bytes);
			free((void *)all[i]->symfile);
			free(all[i]);
		}
		all[i] = malloc(sizeof(*all[i]));
		if (!all[i])
			_exit(1);
		add(all[i], new_object(bytes, mark), bytes);
		if (seed % 1000 == 0)
			usleep(2000);
	}
}

/* ---- a reader ---- */

#define LIES 1 /* address of a descriptor: the answer has as many objects as "pid" says */

static int serve_or_lie(struct worker_call *call, struct wire_reader *request,
			const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	struct wire_reader peek = *request;
	uint32_t nr = wire_get_u32(&peek);

	if (wire_get_u64(&peek) != LIES)
		return operations[READER_JIT_LIST](call, request, fds, nr_fds, reply);
	for (uint32_t i = 0; i < nr; i++) {
		wire_put_u32(reply, 1);
		wire_put_u64(reply, i);
		wire_put_u64(reply, 0);
		wire_put_u64(reply, 0);
		wire_put_u32(reply, LIST_KNOWN);
		wire_put_bytes(reply, NULL, 0);
	}
	wire_put_u32(reply, 0);
	wire_put_u32(reply, LIST_OK);
	return 0;
}

static int be_reader(void)
{
	static worker_op ops[NR_OPERATIONS];

	memcpy(ops, operations, sizeof(ops));
	ops[READER_JIT_LIST] = serve_or_lie;
	return worker_main(ops, NR_OPERATIONS);
}

/* ---- fixture ---- */

struct fixture {
	struct worker *reader;
	pid_t pid; /* of the target; 0: none */
	uint64_t descriptor; /* its address in the target */
};

static int set_up(void **state)
{
	const struct worker_config config = {.kind = WORKER_READER};
	static struct fixture f;

	/* Yama may allow only parents to read a process. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	f = (struct fixture){.pid = 0};
	descriptor = (struct descriptor){.version = 1};
	*state = &f;
	return worker_new(&config, &f.reader, NULL);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	worker_free(f->reader);
	return 0;
}

/* Forks; @start runs in the child and writes its descriptor's address to @tell. */
static void start_target(struct fixture *f, void (*start)(int tell))
{
	int tell[2];

	assert_int_equal(pipe(tell), 0);
	f->pid = fork();
	if (!f->pid) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		start(tell[1]);
		_exit(1);
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &f->descriptor, sizeof(f->descriptor)),
			 sizeof(f->descriptor));
	close(tell[0]);
}

static void exec_as_other_user(int tell)
{
	char *argv[] = {TARGET_ARGV0, NULL}, *envp[] = {NULL};

	if (dup2(tell, STDOUT_FILENO) < 0 || setgroups(0, NULL) ||
	    setresgid(4321, 4321, 4321) || setresuid(1234, 1234, 1234))
		_exit(1);
	execve("/proc/self/exe", argv, envp);
}

/* ---- results of a walk ---- */

struct found {
	struct list_object objects[128];
	enum list_state states[128];
	size_t nr;
	size_t nr_calls;
	size_t nr_mixed; /* with bytes of two marks or of freed memory */
	uint64_t nr_bytes;
};

static void note(void *ctx, const struct list_object *o, enum list_state state,
		 const void *bytes)
{
	struct found *f = ctx;
	const uint8_t *b = bytes;

	if (f->nr < ARRAY_SIZE(f->objects)) {
		f->objects[f->nr] = *o;
		f->states[f->nr] = state;
		f->nr++;
	}
	if (state != LIST_NEW)
		return;
	f->nr_bytes += o->size_bytes;
	for (uint64_t i = 5; i < o->size_bytes; i++)
		if (b[i] != b[4]) {
			f->nr_mixed++;
			return;
		}
}

static const struct list_object *find(const struct found *f, uint64_t size)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->objects[i].size_bytes == size)
			return &f->objects[i];
	return NULL;
}

static void assert_some_are_found(struct fixture *f)
{
	struct jit_list_stats stats;
	struct found found = {0};

	assert_int_equal(jit_list_walk(f->reader, f->pid, f->descriptor, UINT64_MAX, NULL,
				       0, NULL, note, &found, &stats),
			 WORKER_OK);
	assert_int_equal(stats.result, LIST_OK);
	assert_int_equal(stats.nr_new, 3);
	assert_int_equal(stats.nr_bytes, 6000);
	assert_int_equal(stats.nr_foreign, 1);
	assert_int_equal(stats.nr_unreadable, 0);
	assert_int_equal(stats.nr_calls, 1);
	assert_int_equal(found.nr, 4);
	assert_int_equal(found.nr_mixed, 0);
	for (uint64_t i = 1; i <= 3; i++)
		assert_non_null(find(&found, i * 1000));
}

/* ---- tests ---- */

static void a_child_s_list_is_walked(void **state)
{
	start_target(*state, be_target);
	assert_some_are_found(*state);
}

static void another_user_s_program_s_list_is_walked(void **state)
{
	if (geteuid()) {
		print_message("skipped: needs root\n");
		skip();
	}
	start_target(*state, exec_as_other_user);
	assert_some_are_found(*state);
}

static void what_is_known_is_not_sent_again(void **state)
{
	struct fixture *f = *state;
	struct jit_list_stats stats;
	struct found first = {0}, second = {0};
	struct list_object gone = {0x1000, 0x2000, 64, 0};

	start_target(f, be_target);
	assert_int_equal(jit_list_walk(f->reader, f->pid, f->descriptor, UINT64_MAX, NULL,
				       0, NULL, note, &first, NULL),
			 WORKER_OK);
	first.objects[first.nr++] = gone;
	assert_int_equal(jit_list_walk(f->reader, f->pid, f->descriptor, UINT64_MAX,
				       first.objects, first.nr, NULL, note, &second,
				       &stats),
			 WORKER_OK);
	assert_int_equal(stats.result, LIST_OK);
	assert_int_equal(stats.nr_new, 0);
	assert_int_equal(stats.nr_known, 4);
	assert_int_equal(second.nr, 4); /* all except the removed one */
	assert_null(find(&second, 64));
}

static void there_may_be_no_list(void **state)
{
	struct fixture *f = *state;
	struct jit_list_stats stats;
	uint64_t zero = 0;

	assert_int_equal(jit_list_walk(f->reader, getpid(), (uintptr_t)&zero, UINT64_MAX,
				       NULL, 0, NULL, note, NULL, &stats),
			 WORKER_OK);
	assert_int_equal(stats.result, LIST_NONE);
	start_target(f, be_target);
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	assert_int_equal(jit_list_walk(f->reader, f->pid, f->descriptor, UINT64_MAX, NULL,
				       0, NULL, note, NULL, &stats),
			 WORKER_OK);
	assert_int_equal(stats.result, LIST_NONE);
	f->pid = 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* 40 MB in objects of 4 MB: more than one call may return. */
static void large_objects_come_in_several_calls(void **state)
{
	enum {
		NR = 10,
		BYTES = 4 << 20
	};
	static struct entry e[NR];
	struct fixture *f = *state;
	struct jit_list_stats stats;
	struct list_object known[NR];
	size_t nr_known = 0;
	uint64_t nr_bytes = 0, nr_calls = 0;
	int64_t begin_ms = now_ms();
	enum worker_answer rc;

	for (int i = 0; i < NR; i++)
		add(&e[i], new_object(BYTES, (uint8_t)i), BYTES);
	/*
	 * On a busy machine a walk may be too short for all of them: the next walk
	 * continues.
	 */
	do {
		struct found found = {0};

		rc = jit_list_walk(f->reader, getpid(), (uintptr_t)&descriptor,
				   UINT64_MAX, known, nr_known, NULL, note, &found,
				   &stats);
		for (size_t i = 0; i < found.nr; i++) {
			if (found.states[i] != LIST_NEW)
				continue;
			assert_true(nr_known < NR);
			known[nr_known++] = found.objects[i];
		}
		nr_bytes += found.nr_bytes;
		nr_calls += stats.nr_calls;
		assert_int_equal(found.nr_mixed, 0);
	} while ((rc == WORKER_DEADLINE || stats.result == LIST_MORE) &&
		 now_ms() < begin_ms + 60000);
	assert_int_equal(rc, WORKER_OK);
	assert_int_equal(stats.result, LIST_OK);
	assert_int_equal(nr_known, NR);
	assert_int_equal(nr_bytes, (uint64_t)NR * BYTES);
	assert_true(nr_calls >= 3);
	for (int i = 0; i < NR; i++)
		free((void *)e[i].symfile);
}

/* More than fits into one call. */
static void no_call_is_made_after_the_end(void **state)
{
	enum {
		NR = 10,
		BYTES = 4 << 20
	};
	static struct entry e[NR];
	struct fixture *f = *state;
	struct jit_list_stats stats;
	enum worker_answer rc;

	for (int i = 0; i < NR; i++)
		add(&e[i], new_object(BYTES, (uint8_t)i), BYTES);
	rc = jit_list_walk(f->reader, getpid(), (uintptr_t)&descriptor, 0, NULL, 0, NULL,
			   note, &(struct found){0}, &stats);
	assert_int_equal(stats.nr_calls, 1);
	assert_true(rc == WORKER_DEADLINE || stats.result == LIST_MORE);
	for (int i = 0; i < NR; i++)
		free((void *)e[i].symfile);
}

static bool is_first_call(void *ctx)
{
	struct found *found = ctx;

	return !found->nr_calls++;
}

static bool is_never(void *ctx)
{
	(void)ctx;
	return false;
}

/* The pid is used again: what was read then is of another program. */
static void who_is_another_has_no_objects(void **state)
{
	enum {
		NR = 10,
		BYTES = 4 << 20
	};
	static struct entry e[NR];
	struct fixture *f = *state;
	struct jit_list_stats stats;
	struct found found = {0};

	start_target(f, be_target);
	assert_int_equal(jit_list_walk(f->reader, f->pid, f->descriptor, UINT64_MAX, NULL,
				       0, is_never, note, &found, &stats),
			 WORKER_OK);
	assert_int_equal(stats.result, LIST_NONE);
	assert_int_equal(stats.nr_calls, 1);
	assert_int_equal(found.nr, 0);
	for (int i = 0; i < NR; i++)
		add(&e[i], new_object(BYTES, (uint8_t)i), BYTES);
	/* On a busy machine the first call may be too short. */
	if (jit_list_walk(f->reader, getpid(), (uintptr_t)&descriptor, UINT64_MAX, NULL,
			  0, is_first_call, note, &found, &stats) == WORKER_OK) {
		assert_int_equal(stats.result, LIST_NONE);
		assert_int_equal(stats.nr_calls, 2);
		assert_true(stats.nr_new < NR);
	}
	for (int i = 0; i < NR; i++)
		free((void *)e[i].symfile);
}

/* A reader that was taken over makes up a list. */
static void a_list_without_an_end_is_refused(void **state)
{
	struct fixture *f = *state;
	struct jit_list_stats stats;
	struct found found = {0};

	assert_int_equal(jit_list_walk(f->reader, LIST_MAX_KNOWN, LIES, UINT64_MAX, NULL,
				       0, NULL, note, &found, &stats),
			 WORKER_OK);
	assert_int_equal(stats.result, LIST_OK);
	assert_int_equal(stats.nr_known, LIST_MAX_KNOWN);
	assert_int_equal(jit_list_walk(f->reader, LIST_MAX_KNOWN + 1, LIES, UINT64_MAX,
				       NULL, 0, NULL, note, &found, &stats),
			 WORKER_BAD_REPLY);
}

/* Only whole objects are returned, however often memory is reused. */
static void a_restless_list_gives_whole_objects(void **state)
{
	int64_t begin_ms = now_ms();
	struct fixture *f = *state;
	struct jit_list_stats stats;
	struct found found = {0};
	uint64_t nr_new = 0;

	start_target(f, be_restless);
	/* On a busy machine few walks find the list at rest. */
	while (now_ms() < begin_ms + 1500 ||
	       (nr_new <= 100 && now_ms() < begin_ms + 60000)) {
		assert_int_equal(jit_list_walk(f->reader, f->pid, f->descriptor,
					       UINT64_MAX, NULL, 0, NULL, note, &found,
					       &stats),
				 WORKER_OK);
		assert_int_not_equal(stats.result, LIST_NONE);
		nr_new += stats.nr_new;
	}
	assert_int_equal(found.nr_mixed, 0);
	assert_true(nr_new > 100);
}

/* An object in a page that its owner never provides. */
static void memory_that_does_not_answer_is_told_apart(void **state)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	_cleanup_close_ int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct fixture *f = *state;
	struct jit_list_stats stats;
	struct entry stuck;
	int64_t start;

	range.range.start = (uintptr_t)page;
	range.range.len = 4096;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		print_message("skipped: no userfaultfd for this user: %s\n",
			      strerror(errno));
		skip();
	}
	add_some();
	add(&stuck, page, 4096);
	start = now_ms();
	assert_int_equal(jit_list_walk(f->reader, getpid(), (uintptr_t)&descriptor,
				       UINT64_MAX, NULL, 0, NULL, note,
				       &(struct found){0}, &stats),
			 WORKER_DEADLINE);
	assert_in_range(now_ms() - start, JIT_LIST_CALL_MS - 1, 60000);
	assert_int_equal(stats.result, LIST_NONE);
	/* The next walk gets a new reader. */
	drop(&stuck);
	munmap(page, 4096);
	assert_int_equal(jit_list_walk(f->reader, getpid(), (uintptr_t)&descriptor,
				       UINT64_MAX, NULL, 0, NULL, note,
				       &(struct found){0}, &stats),
			 WORKER_OK);
	assert_int_equal(stats.nr_new, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_child_s_list_is_walked),
		TEST(another_user_s_program_s_list_is_walked),
		TEST(what_is_known_is_not_sent_again),
		TEST(there_may_be_no_list),
		TEST(large_objects_come_in_several_calls),
		TEST(no_call_is_made_after_the_end),
		TEST(who_is_another_has_no_objects),
		TEST(a_list_without_an_end_is_refused),
		TEST(a_restless_list_gives_whole_objects),
		TEST(memory_that_does_not_answer_is_told_apart),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return be_reader();
	if (argc > 0 && !strcmp(argv[0], TARGET_ARGV0))
		be_target(STDOUT_FILENO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
