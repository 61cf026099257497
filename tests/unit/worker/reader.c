// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads memory of other processes through a worker that may do nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/message.h"
#include "worker/reader.h"
#include "worker/worker.h"

#define PAGE    4096u
#define LONG_MS 60000 /* sanitizers on a busy machine */

/* ---- the worker's side ---- */

/* Request: u32 pid, u64 address, u32 length. Reply: the bytes, or the errno. */
static int op_read(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	pid_t pid = (pid_t)wire_get_u32(request);
	uint64_t addr = wire_get_u64(request);
	uint32_t len = wire_get_u32(request);
	void *buf = malloc(len ? len : 1);
	ssize_t n = buf ? reader_read(pid, addr, buf, len) : -ENOMEM;

	(void)call, (void)fds, (void)nr_fds;
	if (n >= 0)
		wire_put_bytes(reply, buf, (size_t)n);
	free(buf);
	return n < 0 ? (int)n : 0;
}

static int op_pid(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds;
	wire_put_u32(reply, (uint32_t)getpid());
	return 0;
}

static const worker_op test_ops[] = {op_read, op_pid};

/* ---- the collector's side ---- */

struct fixture {
	struct worker *reader;
	uint8_t *pages; /* 4: marked, marked, unmapped, marked */
};

static int set_up(void **state)
{
	const struct worker_config config = {.kind = WORKER_READER};
	static struct fixture f;

	/* Yama may allow only parents to read a process. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	f.pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f.pages == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < 4 * PAGE; i++)
		f.pages[i] = (uint8_t)(i * 7 + i / PAGE);
	munmap(f.pages + 2 * PAGE, PAGE);
	*state = &f;
	return worker_new(&config, &f.reader, NULL);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	munmap(f->pages, 4 * PAGE);
	worker_free(f->reader);
	return 0;
}

static enum worker_answer call_read(struct worker *w, pid_t pid, uint64_t addr,
				    uint32_t len, unsigned int deadline_ms,
				    struct wire_reader *reply, int *error)
{
	struct wire_writer request = {0};
	enum worker_answer answer;

	wire_put_u32(&request, (uint32_t)pid);
	wire_put_u64(&request, addr);
	wire_put_u32(&request, len);
	answer = worker_call(w, 0, request.data, request.len, NULL, 0, NULL, NULL,
			     deadline_ms, reply, error);
	wire_writer_deinit(&request);
	return answer;
}

static const void *read_ok(struct worker *w, pid_t pid, uint64_t addr, uint32_t len,
			   size_t *ret_len)
{
	struct wire_reader reply;
	int error = 0;
	enum worker_answer answer = call_read(w, pid, addr, len, LONG_MS, &reply, &error);

	if (answer != WORKER_OK)
		fail_msg("answer %d, error %d", answer, error);
	return wire_get_bytes(&reply, ret_len);
}

static int read_error(struct worker *w, pid_t pid, uint64_t addr, uint32_t len)
{
	struct wire_reader reply;
	int error = 0;

	assert_int_equal(call_read(w, pid, addr, len, LONG_MS, &reply, &error),
			 WORKER_FAILED);
	return error;
}

static void what_is_there_is_read(void **state)
{
	struct fixture *f = *state;
	const uint64_t at = (uintptr_t)f->pages;
	static const struct {
		size_t off, len, got;
	} rows[] = {
		{0, 1, 1},
		{0, 2 * PAGE, 2 * PAGE},
		{PAGE - 5, 10, 10},
		{PAGE + 3, 4 * PAGE - 3, PAGE - 3}, /* up to the unmapped page */
		{2 * PAGE - 1, 2 * PAGE, 1},
		{3 * PAGE, PAGE, PAGE},
		{17, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t got;
		const void *bytes = read_ok(f->reader, getpid(), at + rows[i].off,
					    (uint32_t)rows[i].len, &got);

		assert_int_equal(got, rows[i].got);
		assert_memory_equal(bytes, f->pages + rows[i].off, got);
	}
}

static void what_is_not_there_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct worker *w = f->reader;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(read_error(w, getpid(), (uintptr_t)f->pages + 2 * PAGE, 8),
			 -EFAULT);
	assert_int_equal(read_error(w, getpid(), 0, 8), -EFAULT);
	assert_int_equal(read_error(w, getpid(), UINT64_MAX - 3, 8), -EFAULT);
	assert_int_equal(read_error(w, getpid(), UINT64_MAX - 8, 8), -EFAULT);
	assert_int_equal(read_error(w, getpid(), UINT64_C(1) << 47, 8), -EFAULT);
	assert_int_equal(read_error(w, gone, (uintptr_t)f->pages, 8), -ESRCH);
}

/* Several pieces; none begins or ends at a page boundary. */
static void large_reads_arrive_whole(void **state)
{
	const uint32_t len = 5 * (1 << 20) + 123;
	struct fixture *f = *state;
	uint8_t *big = malloc(len);
	const void *bytes;
	size_t got;

	assert_non_null(big);
	for (uint32_t i = 0; i < len; i++)
		big[i] = (uint8_t)(i * 31 + i / 251);
	bytes = read_ok(f->reader, getpid(), (uintptr_t)big, len, &got);
	assert_int_equal(got, len);
	assert_memory_equal(bytes, big, len);
	free(big);
}

/* Starts a process of another user that is not dumpable, with @secret in its memory. */
static pid_t start_stranger(volatile uint32_t *secret)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		*secret = 0x5ec2e7;
		if (setgroups(0, NULL) || setresgid(4321, 4321, 4321) ||
		    setresuid(1234, 1234, 1234) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
			_exit(1);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void other_users_processes_are_read(void **state)
{
	static volatile uint32_t secret;
	struct fixture *f = *state;
	const void *bytes;
	uint32_t got;
	size_t len;
	pid_t pid;

	if (geteuid()) {
		print_message("skipped: needs root\n");
		skip();
	}
	pid = start_stranger(&secret);
	bytes = read_ok(f->reader, pid, (uintptr_t)&secret, sizeof(secret), &len);
	assert_int_equal(len, sizeof(got));
	memcpy(&got, bytes, sizeof(got));
	assert_int_equal(got, 0x5ec2e7);
	assert_int_equal(secret, 0); /* our copy is unchanged */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_decoder_cannot_read(void **state)
{
	struct fixture *f = *state;
	struct worker *decoder;

	assert_int_equal(worker_new(NULL, &decoder, NULL), 0);
	assert_int_equal(read_error(decoder, getpid(), (uintptr_t)f->pages, 8), -EPERM);
	worker_free(decoder);
}

/* Checks the value of "Name:" in /proc/PID/status. */
static void assert_status(uint32_t pid, const char *name, const char *value)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, name, strlen(name));
	fclose(file);
	assert_true(found);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line + strlen(name) + 1, value);
}

static void it_has_one_right(void **state)
{
	static const char one[] = "0000000000080000"; /* CAP_SYS_PTRACE is 19 */
	struct fixture *f = *state;
	struct wire_reader reply;
	uint32_t pid;

	if (geteuid()) {
		print_message("skipped: needs root\n");
		skip();
	}
	assert_int_equal(worker_call(f->reader, 1, NULL, 0, NULL, 0, NULL, NULL, LONG_MS,
				     &reply, NULL),
			 WORKER_OK);
	pid = wire_get_u32(&reply);
	assert_status(pid, "CapPrm:", one);
	assert_status(pid, "CapEff:", one);
	assert_status(pid, "CapInh:", "0000000000000000");
	assert_status(pid, "CapAmb:", "0000000000000000");
	assert_status(pid, "NoNewPrivs:", "1");
	assert_status(pid, "Seccomp:", "2");
}

/*
 * Maps a page whose owner never provides it, as a file system in user space can do,
 * too. Return: its address; NULL if this user may not make such a page.
 */
static void *page_that_never_comes(int *ret_fd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	assert_true(page != MAP_FAILED);
	range.range.start = (uintptr_t)page;
	range.range.len = PAGE;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		print_message("skipped: no userfaultfd for this user: %s\n",
			      strerror(errno));
		return NULL;
	}
	*ret_fd = fd;
	return page;
}

static void a_page_that_never_comes_meets_the_deadline(void **state)
{
	struct fixture *f = *state;
	struct worker_stats stats;
	struct wire_reader reply;
	int uffd = -1;
	void *page = page_that_never_comes(&uffd);
	int64_t start;
	size_t len;

	if (!page)
		skip();
	read_ok(f->reader, getpid(), (uintptr_t)f->pages, 8, &len);
	start = message_clock_ns();
	assert_int_equal(
		call_read(f->reader, getpid(), (uintptr_t)page, 8, 200, &reply, NULL),
		WORKER_DEADLINE);
	/* The signal ends it: the call does not wait until the child is given up. */
	assert_in_range((message_clock_ns() - start) / 1000000, 199, 60000);
	close(uffd);
	munmap(page, PAGE);
	/* The next call gets a new reader. */
	read_ok(f->reader, getpid(), (uintptr_t)f->pages, 8, &len);
	assert_int_equal(len, 8);
	worker_stats(f->reader, &stats);
	assert_int_equal(stats.nr_deadline, 1);
	assert_int_equal(stats.nr_starts, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_there_is_read),
		TEST(what_is_not_there_is_an_error),
		TEST(large_reads_arrive_whole),
		TEST(other_users_processes_are_read),
		TEST(a_decoder_cannot_read),
		TEST(it_has_one_right),
		TEST(a_page_that_never_comes_meets_the_deadline),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(test_ops, ARRAY_SIZE(test_ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
