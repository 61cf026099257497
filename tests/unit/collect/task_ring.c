// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/task_ring.h"

#include "lib/sanitizer.h"

#ifdef HAS_ADDRESS_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

/* Builds records byte by byte in the kernel's layout. */
struct record {
	uint8_t bytes[512];
	uint32_t size;
};

static void put(struct record *r, const void *data, size_t len)
{
	memcpy(r->bytes + r->size, data, len);
	r->size += (uint32_t)len;
}

static void put32(struct record *r, uint32_t v)
{
	put(r, &v, sizeof(v));
}

static void put64(struct record *r, uint64_t v)
{
	put(r, &v, sizeof(v));
}

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
	memset(r, 0, sizeof(*r));
	put32(r, type);
	put(r, &misc, 2);
	r->size += 2; /* the size, set by end() */
}

/* pid, tid and time of sample_id_all */
static void end(struct record *r, uint64_t time)
{
	uint16_t size;

	put32(r, 1);
	put32(r, 1);
	put64(r, time);
	size = (uint16_t)r->size;
	memcpy(r->bytes + 6, &size, 2);
}

static void task_record(struct record *r, uint32_t type, uint32_t pid, uint32_t ppid,
			uint32_t tid)
{
	begin(r, type, 0);
	put32(r, pid);
	put32(r, ppid);
	put32(r, tid);
	put32(r, 0);
	put64(r, 5);
	end(r, 77);
}

static void mmap2_record(struct record *r, uint16_t misc, const char *path)
{
	begin(r, PERF_RECORD_MMAP2, misc);
	put32(r, 42);
	put32(r, 43);
	put64(r, 0x1000);
	put64(r, 0x3000);
	put64(r, 0x200);
	if (misc) {
		uint8_t id[24] = {20};

		for (int i = 0; i < 20; i++)
			id[4 + i] = (uint8_t)(0xa0 + i);
		put(r, id, sizeof(id));
	} else {
		put32(r, 8);
		put32(r, 1);
		put64(r, 999);
		put64(r, 0);
	}
	put32(r, 5);
	put32(r, 2);
	put(r, path, strlen(path) + 1);
	while (r->size % 8)
		put(r, "", 1);
	end(r, 123);
}

static void forks_of_processes_are_told(void **state)
{
	struct record r;
	struct task_event ev;

	(void)state;
	task_record(&r, PERF_RECORD_FORK, 10, 9, 10);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
	assert_int_equal(ev.kind, TASK_EVENT_FORK);
	assert_int_equal(ev.pid, 10);
	assert_int_equal(ev.ppid, 9);
	assert_int_equal(ev.time_ns, 77);
}

static void threads_are_not(void **state)
{
	struct record r;
	struct task_event ev;

	(void)state;
	task_record(&r, PERF_RECORD_FORK, 10, 10, 11);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 0);
	task_record(&r, PERF_RECORD_EXIT, 10, 9, 11);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 0);
	task_record(&r, PERF_RECORD_EXIT, 10, 9, 10);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
	assert_int_equal(ev.kind, TASK_EVENT_EXIT);
}

static void exec_is_a_comm_with_a_flag(void **state)
{
	struct record r;
	struct task_event ev;
	const char comm[16] = "hot loop";

	(void)state;
	for (int exec = 0; exec < 2; exec++) {
		begin(&r, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
		put32(&r, 42);
		put32(&r, 42);
		put(&r, comm, sizeof(comm));
		end(&r, 9);
		assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
		assert_int_equal(ev.kind, exec ? TASK_EVENT_EXEC : TASK_EVENT_COMM);
		assert_string_equal(ev.comm, "hot loop");
	}
}

static void mappings_carry_inode_or_build_id(void **state)
{
	struct record r;
	struct task_event ev;

	(void)state;
	mmap2_record(&r, 0, "/usr/bin/thing");
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
	assert_int_equal(ev.kind, TASK_EVENT_MMAP);
	assert_int_equal(ev.pid, 42);
	assert_int_equal(ev.start, 0x1000);
	assert_int_equal(ev.end, 0x4000);
	assert_int_equal(ev.file_off, 0x200);
	assert_int_equal(ev.inode, 999);
	assert_int_equal(ev.major, 8);
	assert_int_equal(ev.build_id_len, 0);
	assert_string_equal(ev.name, "/usr/bin/thing");

	mmap2_record(&r, 1 << 14, "//anon");
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
	assert_int_equal(ev.build_id_len, 20);
	assert_int_equal(ev.build_id[0], 0xa0);
	assert_int_equal(ev.build_id[19], 0xb3);
	assert_int_equal(ev.inode, 0);
}

static void ksymbol_record(struct record *r, uint16_t flags, const char *name)
{
	uint16_t type = 1;

	begin(r, PERF_RECORD_KSYMBOL, 0);
	put64(r, 0xffffffffc0001000);
	put32(r, 0x200);
	put(r, &type, 2);
	put(r, &flags, 2);
	put(r, name, strlen(name) + 1);
	while (r->size % 8)
		put(r, "", 1);
	end(r, 123);
}

static void code_of_the_kernel_has_name_and_place(void **state)
{
	struct record r;
	struct task_event ev;

	(void)state;
	for (uint16_t ends = 0; ends < 2; ends++) {
		ksymbol_record(&r, ends, "bpf_prog_12_name");
		assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
		assert_int_equal(ev.kind, ends ? TASK_EVENT_KERNEL_CODE_END
					       : TASK_EVENT_KERNEL_CODE);
		assert_int_equal(ev.start, 0xffffffffc0001000);
		assert_int_equal(ev.end, 0xffffffffc0001200);
		assert_string_equal(ev.name, "bpf_prog_12_name");
		assert_int_equal(ev.time_ns, 123);
	}
	/* The id is behind the name, not at the end. */
	ksymbol_record(&r, 0, "1234567");
	memset(r.bytes + r.size, 0xff, 32);
	assert_int_equal(task_record_decode(r.bytes, r.size + 32, &ev), 1);
	assert_int_equal(ev.time_ns, 123);
	/* A name without a terminating NUL. */
	memset(r.bytes + 24, 'x', r.size - 24 - 16);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), -EBADMSG);
	assert_int_equal(task_record_decode(r.bytes, 24 + 16, &ev), -EBADMSG);
}

static void lost_records_are_counted(void **state)
{
	struct record r;
	struct task_event ev;

	(void)state;
	begin(&r, PERF_RECORD_LOST, 0);
	put64(&r, 1);
	put64(&r, 321);
	end(&r, 1);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), 1);
	assert_int_equal(ev.kind, TASK_EVENT_LOST);
	assert_int_equal(ev.nr_lost, 321);
}

static void short_records_are_refused(void **state)
{
	struct record r;
	struct task_event ev;

	(void)state;
	mmap2_record(&r, 0, "/usr/bin/thing");
	for (uint32_t size = 0; size <= r.size; size++) {
		/* Exact size, so that AddressSanitizer sees reads past the end. */
		uint8_t *bytes = malloc(size + !size);

		assert_non_null(bytes);
		memcpy(bytes, r.bytes, size);
		/* The last byte before the trailer only pads the path. */
		assert_int_equal(task_record_decode(bytes, size, &ev),
				 size + 1 < r.size ? -EBADMSG : 1);
		free(bytes);
	}
	/* A path without a terminating NUL. */
	mmap2_record(&r, 0, "/a");
	memset(r.bytes + 72, 'x', r.size - 72 - 16);
	assert_int_equal(task_record_decode(r.bytes, r.size, &ev), -EBADMSG);
}

/* ---- a program that maps code at long paths ---- */

#define LONG_NAME  250
#define NR_FOLDERS 15
#define NR_GATHERS 160
#define NR_MAPS    60 /* of one gather: fewer than fill a ring */
#define NAME_BYTES ((size_t)32 << 20)

/* Returns a file below folders with long names. The kernel tells its path as it was. */
static int make_deep_file(void)
{
	char top[] = "/tmp/lineburn-names-XXXXXX", name[LONG_NAME + 1] = "";
	int fd;

	memset(name, 'x', LONG_NAME);
	assert_true(mkdtemp(top) && !chdir(top));
	for (int i = 0; i < NR_FOLDERS; i++)
		assert_true(!mkdir(name, 0700) && !chdir(name));
	fd = open("code", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	assert_true(fd >= 0 && !ftruncate(fd, 4096) && !unlink("code"));
	for (int i = 0; i < NR_FOLDERS; i++)
		assert_true(!chdir("..") && !rmdir(name));
	assert_true(!chdir("/") && !rmdir(top));
	return fd;
}

/* Maps it on all CPUs in turn, which fills all rings. */
static void map_often(int fd, size_t nr)
{
	cpu_set_t allowed, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (size_t i = 0; i < nr; i++) {
		void *code;

		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &allowed));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(code, MAP_FAILED);
		munmap(code, 4096);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

static size_t heap_bytes(void)
{
#ifdef HAS_ADDRESS_SANITIZER
	return __sanitizer_get_current_allocated_bytes();
#else
	return mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
}

struct storm {
	struct task_ring *ring;
	int fd; /* -1: it is over */
	size_t nr, nr_bytes; /* of its names */
	uint64_t last_ns;
	bool has_lost;
};

/* The handler waits for long, and meanwhile the storm goes on. */
static void hear_storm(void *ctx, const struct task_event *ev)
{
	struct storm *s = ctx;

	s->has_lost |= ev->kind == TASK_EVENT_LOST;
	assert_true(ev->time_ns >= s->last_ns);
	s->last_ns = ev->time_ns;
	if (ev->kind != TASK_EVENT_MMAP || strlen(ev->name) < LONG_NAME * NR_FOLDERS)
		return;
	s->nr++;
	s->nr_bytes += strlen(ev->name) + 1;
	for (size_t i = 0; s->fd >= 0 && i < NR_GATHERS; i++) {
		map_often(s->fd, NR_MAPS);
		task_ring_gather(s->ring);
	}
	s->fd = -1;
}

static void names_in_memory_are_bounded(void **state)
{
	_cleanup_(task_ring_freep) struct task_ring *ring = NULL;
	_cleanup_close_ int fd = -1;
	struct storm s = {.nr = 0};
	size_t before;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	fd = make_deep_file();
	assert_int_equal(task_ring_new(&ring, NULL), 0);
	s.ring = ring;
	s.fd = fd;
	before = heap_bytes();
	map_often(fd, 1);
	task_ring_read(ring, hear_storm, &s);
	assert_int_equal(s.nr, 1);
	/* What had no room is in the rings, or lost where they had none either. */
	s.nr_bytes = 0;
	task_ring_read(ring, hear_storm, &s);
	assert_in_range(s.nr_bytes, NAME_BYTES / 2, NAME_BYTES);
	assert_true(heap_bytes() < before + (8 << 20));
	for (int i = 0; i < 2; i++) {
		map_often(fd, 1);
		task_ring_read(ring, hear_storm, &s);
	}
	assert_true(s.nr < NR_GATHERS * NR_MAPS && s.has_lost);
}

/* The kernel tells how many; what has no number is not told by it. */
static void count_losses(void *ctx, const struct task_event *ev)
{
	size_t *nr_lost = ctx;

	*nr_lost += ev->kind == TASK_EVENT_LOST && !ev->nr_lost;
}

/* A program may end without any event after those that found no room. */
static void a_ring_that_was_full_tells_of_a_loss(void **state)
{
	_cleanup_(task_ring_freep) struct task_ring *ring = NULL;
	_cleanup_close_ int fd = -1;
	size_t nr_lost = 0;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	fd = make_deep_file();
	assert_int_equal(task_ring_new(&ring, NULL), 0);
	map_often(fd, 1);
	task_ring_read(ring, count_losses, &nr_lost);
	assert_int_equal(nr_lost, 0);
	map_often(fd, 1 + task_ring_bytes(ring) / 3000);
	task_ring_read(ring, count_losses, &nr_lost);
	assert_int_equal(nr_lost, 1);
	task_ring_read(ring, count_losses, &nr_lost);
	assert_int_equal(nr_lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forks_of_processes_are_told),
		cmocka_unit_test(threads_are_not),
		cmocka_unit_test(exec_is_a_comm_with_a_flag),
		cmocka_unit_test(mappings_carry_inode_or_build_id),
		cmocka_unit_test(code_of_the_kernel_has_name_and_place),
		cmocka_unit_test(lost_records_are_counted),
		cmocka_unit_test(short_records_are_refused),
		cmocka_unit_test(names_in_memory_are_bounded),
		cmocka_unit_test(a_ring_that_was_full_tells_of_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
