// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe's thread, with fakes of libbpf: the kernel takes as long as a test says. What the
 * probe copies is tested in collect/jit_probe.c.
 */
#include "collect/jit_probe.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collect/sampler.h"
#include "lineburn_filter.h"
#include "sampler.skel.h"

/* ---- libbpf ---- */

#define MAX_LINKS 8

struct bpf_link {
	bool is_removed;
};

struct bpf_map {
	char unused;
};

static struct {
	struct bpf_link links[MAX_LINKS];
	size_t nr_links;
	size_t nr_removed;
	size_t nr_open, nr_loaded; /* programs: not closed; ever loaded */
	int open_failure, load_failure, attach_failure;
	int hold_fd; /* attaching and removing wait until it can be read; -1: they do not */
	atomic_uint nr_held; /* times that they waited */
	bool was_in_test_thread;
	pthread_t test_thread;
} kernel;

static struct bpf_map map;
static char data[64];

static void hold(void)
{
	struct pollfd p = {.fd = kernel.hold_fd, .events = POLLIN};

	kernel.was_in_test_thread |= pthread_equal(pthread_self(), kernel.test_thread);
	if (p.fd < 0)
		return;
	kernel.nr_held++;
	while (poll(&p, 1, 60000) < 0)
		;
}

int bpf_object__open_skeleton(struct bpf_object_skeleton *s,
			      const struct bpf_object_open_opts *opts)
{
	(void)opts;
	if (kernel.open_failure)
		return kernel.open_failure;
	kernel.nr_open++;
	for (int i = 0; i < s->map_cnt; i++) {
		/* A newer libbpf knows more members than bpftool wrote: see map_skel_sz. */
		struct bpf_map_skeleton *m =
			(void *)((char *)s->maps + (size_t)i * (size_t)s->map_skel_sz);

		*m->map = &map;
		if (m->mmaped)
			*m->mmaped = data;
	}
	return 0;
}

int bpf_object__load_skeleton(struct bpf_object_skeleton *s)
{
	(void)s;
	kernel.nr_loaded += !kernel.load_failure;
	return kernel.load_failure;
}

void bpf_object__destroy_skeleton(struct bpf_object_skeleton *s)
{
	if (!s)
		return;
	kernel.nr_open -= !kernel.open_failure;
	free(s->maps);
	free(s->progs);
	free(s);
}

int bpf_map__set_max_entries(struct bpf_map *m, __u32 max_entries)
{
	(void)m;
	(void)max_entries;
	return 0;
}

int bpf_map__reuse_fd(struct bpf_map *m, int fd)
{
	(void)m;
	(void)fd;
	return 0;
}

int bpf_map__fd(const struct bpf_map *m)
{
	(void)m;
	return -1;
}

struct ring_buffer *ring_buffer__new(int map_fd, ring_buffer_sample_fn sample_cb,
				     void *ctx, const struct ring_buffer_opts *opts)
{
	(void)map_fd;
	(void)sample_cb;
	(void)ctx;
	(void)opts;
	return calloc(1, 1);
}

void ring_buffer__free(struct ring_buffer *ring)
{
	free(ring);
}

struct bpf_link *bpf_program__attach_uprobe_opts(const struct bpf_program *prog,
						 pid_t pid, const char *path,
						 size_t offset,
						 const struct bpf_uprobe_opts *opts)
{
	(void)prog;
	(void)pid;
	(void)path;
	(void)offset;
	(void)opts;
	hold();
	if (kernel.attach_failure) {
		errno = -kernel.attach_failure;
		return NULL;
	}
	return &kernel.links[kernel.nr_links++];
}

int bpf_link__destroy(struct bpf_link *link)
{
	if (!link)
		return 0;
	hold();
	assert_false(link->is_removed);
	link->is_removed = true;
	kernel.nr_removed++;
	return 0;
}

/* ---- uprobes, and collect/sampler.h ---- */

int access(const char *path, int mode)
{
	(void)mode;
	assert_string_equal(path, "/sys/bus/event_source/devices/uprobe/type");
	return 0;
}

static struct sampler_bpf__bss bss;
static struct sampler_bpf sampler = {.bss = &bss};

struct sampler_bpf *sampler_skel(const struct sampler *s)
{
	(void)s;
	return &sampler;
}

/* ---- fixture ---- */

#define FILES 3

static struct jit_probe *probe;
static struct stat st;
static int fd;

static int begin(void)
{
	struct jit_probe_config config = {.may_attach = true, .max_files = FILES};

	return jit_probe_new(&config, NULL, &probe, NULL);
}

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.hold_fd = -1;
	kernel.test_thread = pthread_self();
	bss.code_gens_used = 0;
	fd = memfd_create("jit", MFD_CLOEXEC);
	return fd < 0 || fstat(fd, &st) || begin();
}

static int tear_down(void **state)
{
	(void)state;
	jit_probe_free(probe);
	close(fd);
	return kernel.nr_removed != kernel.nr_links || kernel.nr_open;
}

static int start(uint64_t off)
{
	return jit_probe_attach(probe, fd, off, 64);
}

static void attach(uint64_t off)
{
	int rc = 1;

	assert_int_equal(start(off), 0);
	assert_true(jit_probe_settle(probe, -1, &rc));
	assert_int_equal(rc, 0);
}

static int detach(uint64_t off)
{
	return jit_probe_detach(probe, st.st_dev, st.st_ino, off);
}

static void assert_files(uint64_t nr, uint64_t nr_refused)
{
	struct jit_probe_totals t;

	jit_probe_totals(probe, &t);
	assert_int_equal(t.nr_files, nr);
	assert_int_equal(t.nr_files_refused, nr_refused);
}

static void wait_until_held(void)
{
	while (!kernel.nr_held)
		usleep(1000);
}

/* ---- tests ---- */

static void a_thread_attaches_and_removes(void **state)
{
	int rc = 1;

	(void)state;
	attach(4096);
	assert_int_equal(bss.code_gens_used, 1);
	assert_int_equal(detach(8192), -ENOENT);
	assert_false(jit_probe_is_busy(probe));
	kernel.hold_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(detach(4096), 0);
	wait_until_held();
	assert_files(0, 0);
	assert_true(jit_probe_is_busy(probe));
	assert_false(jit_probe_settle(probe, 0, &rc));
	assert_int_equal(detach(4096), -EBUSY);
	assert_int_equal(start(4096), -EBUSY);
	eventfd_write(kernel.hold_fd, 1);
	assert_true(jit_probe_settle(probe, -1, &rc));
	assert_int_equal(rc, 0);
	assert_int_equal(kernel.nr_removed, 1);
	assert_int_equal(detach(4096), -ENOENT);
	attach(4096);
	assert_files(1, 0);
	assert_int_equal(kernel.nr_loaded, 1);
	assert_false(kernel.was_in_test_thread);
	close(kernel.hold_fd);
	kernel.hold_fd = -1;
}

/* A probe that was removed makes room for another one. */
static void removing_makes_room(void **state)
{
	int rc;

	(void)state;
	for (uint64_t i = 0; i < FILES; i++)
		attach(4096 * i);
	assert_int_equal(start(65536), -ENOSPC);
	assert_int_equal(start(4096), -EALREADY);
	assert_int_equal(detach(4096), 0);
	assert_true(jit_probe_settle(probe, -1, &rc));
	attach(65536);
	assert_int_equal(start(4096), -ENOSPC);
	assert_files(FILES, 2);
	assert_true(kernel.links[1].is_removed);
	assert_int_equal(kernel.nr_removed, 1);
}

/* Samples have no generations then, and no other file is tried. */
static void a_program_that_does_not_load(void **state)
{
	int rc = 1;

	(void)state;
	kernel.load_failure = -EINVAL;
	assert_int_equal(start(4096), 0);
	assert_true(jit_probe_settle(probe, -1, &rc));
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(bss.code_gens_used, 0);
	assert_int_equal(kernel.nr_open, 0);
	assert_int_equal(start(8192), -EINVAL);
	assert_files(0, 2);
	assert_int_equal(jit_probe_poll_fd(probe), -1);
}

static void a_program_that_cannot_be_opened(void **state)
{
	(void)state;
	jit_probe_free(probe);
	kernel.open_failure = -ENOMEM;
	assert_int_equal(begin(), 0);
	kernel.open_failure = 0;
	assert_int_equal(kernel.nr_open, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(start(4096), -ENOMEM);
	assert_false(jit_probe_is_busy(probe));
	assert_int_equal(bss.code_gens_used, 0);
	assert_files(0, 2);
}

/* libbpf looks into /proc, which a user may hold when the first file comes. */
static void the_program_is_opened_at_the_begin(void **state)
{
	(void)state;
	assert_int_equal(kernel.nr_open, 1);
	kernel.open_failure = -EIO;
	attach(4096);
	attach(8192);
	assert_files(2, 0);
	kernel.open_failure = 0;
}

static void a_file_that_cannot_be_probed(void **state)
{
	int rc = 1;

	(void)state;
	kernel.attach_failure = -EOPNOTSUPP;
	assert_int_equal(start(4096), 0);
	assert_true(jit_probe_settle(probe, -1, &rc));
	assert_int_equal(rc, -EOPNOTSUPP);
	assert_files(0, 1);
	kernel.attach_failure = 0;
	attach(4096);
	assert_files(1, 1);
}

static void the_end_removes_all(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < FILES; i++)
		attach(4096 * i);
	assert_int_equal(detach(4096), 0);
	jit_probe_free(probe);
	probe = NULL;
	assert_int_equal(kernel.nr_removed, FILES);
	assert_int_equal(kernel.nr_open, 0);
	assert_false(kernel.was_in_test_thread);
}

/*
 * Frees the probe while the kernel does not finish with one of its files: waits a second,
 * touches no other one, and leaves all that the thread uses.
 */
static void free_held(void)
{
	size_t nr_removed = kernel.nr_removed;
	uint64_t begin_ns = clock_now_ns();
	int rc = 1;

	wait_until_held();
	jit_probe_free(probe);
	assert_in_range(clock_now_ns() - begin_ns, 999 * CLOCK_MS_NS,
			30000 * CLOCK_MS_NS);
	assert_int_equal(kernel.nr_held, 1);
	assert_int_equal(kernel.nr_removed, nr_removed);
	assert_int_equal(kernel.nr_open, 1);
	/* The kernel finishes after all. */
	eventfd_write(kernel.hold_fd, 1);
	assert_true(jit_probe_settle(probe, -1, &rc));
	assert_int_equal(rc, 0);
	close(kernel.hold_fd);
	kernel.hold_fd = -1;
}

static void the_end_waits_no_longer_for_a_file_that_is_attached(void **state)
{
	(void)state;
	attach(4096);
	kernel.hold_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(start(8192), 0);
	free_held();
	assert_files(2, 0);
}

static void the_end_waits_no_longer_for_a_file_that_is_removed(void **state)
{
	(void)state;
	attach(4096);
	attach(8192);
	kernel.hold_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(detach(4096), 0);
	free_held();
	assert_files(1, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_thread_attaches_and_removes),
		TEST(removing_makes_room),
		TEST(a_program_that_does_not_load),
		TEST(a_program_that_cannot_be_opened),
		TEST(the_program_is_opened_at_the_begin),
		TEST(a_file_that_cannot_be_probed),
		TEST(the_end_removes_all),
		TEST(the_end_waits_no_longer_for_a_file_that_is_attached),
		TEST(the_end_waits_no_longer_for_a_file_that_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
