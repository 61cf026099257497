// SPDX-License-Identifier: GPL-2.0-or-later
/* This program has the JIT interface; copies of it are probed. Needs root. */
#include "runtime/jit/inodes.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/io.h"
#include "collect/jit_probe.h"
#include "collect/sampler.h"
#include "process/file.h"
#include "worker/shared.h"

struct jit_descriptor {
	uint32_t version, action;
	void *relevant, *first;
};

extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

__attribute__((noinline, used)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" : : "m"(__jit_debug_descriptor));
}

static struct sampler *sampler;
static struct jit_probe *probe;
static struct worker *decoder;
static struct shared_worker shared;
static struct jit_inodes *inodes;
static struct jit_interface point;
static struct target_file self = {.path = "self"};

static int set_up(void **state)
{
	struct sampler_config sampling = {.freq_hz = 99};
	struct jit_probe_config probing = {.may_attach = true};
	const struct jit_interface *found;
	struct file_facts facts;
	struct stat st;

	(void)state;
	if (geteuid())
		return 0;
	self.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fstat(self.fd, &st) || sampler_new(&sampling, &sampler, NULL) ||
	    jit_probe_new(&probing, sampler, &probe, NULL) ||
	    worker_new(NULL, &decoder, NULL) ||
	    file_facts_read(decoder, (struct tenant){0}, self.fd, &facts))
		return -1;
	shared_worker_init(&shared, decoder, false);
	found = file_facts_of(&facts, RUNTIME_JIT);
	if (!found)
		return -1;
	point = *found;
	self.dev = st.st_dev;
	self.inode = st.st_ino;
	inodes = jit_inodes_new(probe, &shared, NULL);
	return !inodes;
}

static int tear_down(void **state)
{
	(void)state;
	if (geteuid())
		return 0;
	jit_inodes_free(inodes);
	jit_probe_free(probe);
	sampler_free(sampler);
	worker_free(decoder);
	close(self.fd);
	return 0;
}

/* Probes a file, and waits until it is probed. */
static struct jit_inode probe_file(struct jit_inodes *in, int fd,
				   const struct jit_interface *at)
{
	struct jit_inode inode = jit_inodes_probe(in, (struct tenant){0}, fd, &self, at);

	if (inode.is_pending) {
		assert_true(jit_inodes_settle(in, -1));
		inode = jit_inodes_probe(in, (struct tenant){0}, fd, &self, at);
	}
	assert_false(inode.is_pending);
	return inode;
}

/* Return: the inode of this program. Skips the test if nothing can be probed. */
static struct jit_inode probe_self(void)
{
	struct jit_inode inode = {0};

	if (!geteuid())
		inode = probe_file(inodes, self.fd, &point);
	if (!inode.probed_ns) {
		print_message("needs root, and a kernel that has uprobes with cookies\n");
		skip();
	}
	return inode;
}

static size_t nr_probed(void)
{
	struct jit_probe_totals t;

	jit_probe_totals(probe, &t);
	return t.nr_files;
}

/* Copies the first @len bytes of this program to a new file. */
static int copy_of_self(size_t len)
{
	_cleanup_free_ char *bytes = NULL;
	size_t nr;
	int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(io_read_file("/proc/self/exe", 1 << 28, &bytes, &nr), 0);
	if (nr > len)
		nr = len;
	assert_int_equal(write(fd, bytes, nr), nr);
	return fd;
}

static void each_inode_is_probed_once(void **state)
{
	struct jit_inode first = probe_self(), again, other;
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);
	_cleanup_close_ int path = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_not_equal(first.number, 0);
	again = probe_file(inodes, path, &point);
	assert_int_equal(again.number, first.number);
	assert_int_equal(again.probed_ns, first.probed_ns);
	other = probe_file(inodes, copy, &point);
	assert_int_not_equal(other.number, first.number);
	assert_true(other.probed_ns > first.probed_ns);
	assert_int_equal(nr_probed(), 2);
}

static void grant(int fd, uid_t uid, gid_t gid, mode_t mode)
{
	assert_int_equal(fchown(fd, uid, gid), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

/* Whether a copy of this program with that owner and mode is probed for @user. */
static bool is_probed_for(const uid_t *user, uid_t uid, gid_t gid, mode_t mode)
{
	_cleanup_(jit_inodes_freep) struct jit_inodes *trusting =
		jit_inodes_new(probe, &shared, user);
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);
	struct jit_inode inode;

	grant(copy, uid, gid, mode);
	inode = probe_file(trusting, copy, &point);
	assert_int_not_equal(inode.number, 0);
	return inode.probed_ns;
}

static void only_files_of_root_and_the_caller_are_probed(void **state)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		bool is_probed;
	} cases[] = {
		{0, 0, 0755, true},          {0, 0, 0775, true},
		{0, 0, 0757, false},         {0, 1000, 0755, true},
		{0, 1000, 0775, false},      {1000, 1000, 0755, true},
		{1000, 1000, 0775, true},    {1000, 100, 0775, false},
		{1000, 1000, 0777, false},   {1001, 1000, 0755, false},
		{65534, 65534, 0500, false},
	};
	static const uid_t user = 1000;

	(void)state;
	probe_self();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			is_probed_for(&user, cases[i].uid, cases[i].gid, cases[i].mode),
			cases[i].is_probed);
	assert_true(is_probed_for(NULL, 65534, 65534, 0777));
}

static uint64_t nr_decoder_calls(void)
{
	struct worker_stats stats;

	worker_stats(decoder, &stats);
	return stats.nr_calls;
}

/* The loop waits for the decoder, so its time is not spent on files that are not probed. */
static void only_files_that_may_be_probed_are_inspected(void **state)
{
	static const uid_t user = 1000;
	uint64_t nr;

	(void)state;
	probe_self();
	nr = nr_decoder_calls();
	assert_false(is_probed_for(&user, 1001, 1000, 0755));
	assert_int_equal(nr_decoder_calls(), nr);
	assert_true(is_probed_for(&user, 1000, 1000, 0755));
	assert_int_equal(nr_decoder_calls(), nr + 1);
}

/* Who has had more than a quarter of the decoder's time waits while others do. */
static void inspecting_takes_the_decoders_time(void **state)
{
	const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);
	uint64_t now_ns, nr;

	(void)state;
	probe_self();
	nr = nr_decoder_calls();
	now_ns = clock_now_ns();
	shared.share.is_shared = true;
	time_share_took(&shared.share, alice, now_ns - 20 * CLOCK_SECOND_NS, now_ns);
	time_share_waits(&shared.share, bob, now_ns);
	assert_true(jit_inodes_probe(inodes, alice, copy, &self, &point).is_pending);
	assert_int_equal(nr_decoder_calls(), nr);
	assert_true(jit_inodes_probe(inodes, bob, copy, &self, &point).is_pending);
	assert_true(jit_inodes_settle(inodes, -1));
	assert_int_equal(nr_probed(), 2);
	assert_int_equal(shared.share.nr_accounts, 2);
	assert_int_equal(shared.share.accounts[1].tenant.uid, bob.uid);
	assert_true(shared.share.accounts[1].paid_ns > now_ns);
}

/* A file that claims to be the same gets no breakpoint if its interface differs. */
static void what_has_another_interface_is_not_probed(void **state)
{
	_cleanup_close_ int part = copy_of_self(8192);
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);
	_cleanup_close_ int proc = open("/proc/self/status", O_PATH | O_CLOEXEC);
	struct jit_interface elsewhere;
	struct jit_inode inode;

	(void)state;
	probe_self();
	inode = probe_file(inodes, part, &point);
	assert_int_not_equal(inode.number, 0);
	assert_int_equal(inode.probed_ns, 0);
	inode = probe_file(inodes, proc, &point);
	assert_int_equal(inode.probed_ns, 0);
	elsewhere = point;
	elsewhere.register_off++;
	inode = probe_file(inodes, copy, &elsewhere);
	assert_int_equal(inode.probed_ns, 0);
	assert_int_equal(probe_file(inodes, -1, &point).number, 0);
	assert_int_equal(nr_probed(), 1);
}

/* All but @first become unused; removes the probes of those. */
static void remove_all_but(struct jit_inode first)
{
	jit_inodes_begin_sweep(inodes);
	jit_inodes_keep(inodes, first.number);
	jit_inodes_keep(inodes, 0);
	jit_inodes_end_sweep(inodes);
	do
		jit_inodes_remove_unused(inodes);
	while (jit_inodes_settle(inodes, -1));
}

static void what_nobody_has_is_given_back(void **state)
{
	struct jit_inode first = probe_self(), other;
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);

	(void)state;
	other = probe_file(inodes, copy, &point);
	remove_all_but(first);
	assert_int_equal(nr_probed(), 1);
	assert_int_equal(probe_self().number, first.number);
	assert_true(probe_file(inodes, copy, &point).number > other.number);
	assert_int_equal(nr_probed(), 2);
}

/* While an inode is being probed, others wait; its process may end before that. */
static void one_is_probed_at_a_time(void **state)
{
	struct jit_inode first = probe_self(), one, two;
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);
	_cleanup_close_ int other = copy_of_self(SIZE_MAX);

	(void)state;
	one = jit_inodes_probe(inodes, (struct tenant){0}, copy, &self, &point);
	assert_true(one.is_pending && one.number && !one.probed_ns);
	two = jit_inodes_probe(inodes, (struct tenant){0}, other, &self, &point);
	assert_true(two.is_pending && !two.number);
	assert_false(jit_inodes_probe(inodes, (struct tenant){0}, self.fd, &self, &point)
			     .is_pending);
	jit_inodes_begin_sweep(inodes);
	jit_inodes_keep(inodes, first.number);
	jit_inodes_end_sweep(inodes);
	assert_true(jit_inodes_settle(inodes, -1));
	assert_false(jit_inodes_settle(inodes, -1));
	assert_int_equal(nr_probed(), 2);
	assert_int_equal(
		jit_inodes_probe(inodes, (struct tenant){0}, copy, &self, &point).number,
		one.number);
	remove_all_but(first);
	assert_int_equal(nr_probed(), 1);
}

static void none_is_probed_after_the_end(void **state)
{
	struct jit_inode one;
	_cleanup_close_ int copy = copy_of_self(SIZE_MAX);
	_cleanup_close_ int other = copy_of_self(SIZE_MAX);

	(void)state;
	probe_self();
	jit_inodes_probe(inodes, (struct tenant){0}, copy, &self, &point);
	jit_inodes_end(inodes);
	one = jit_inodes_probe(inodes, (struct tenant){0}, copy, &self, &point);
	assert_true(one.number && one.probed_ns && !one.is_pending);
	one = jit_inodes_probe(inodes, (struct tenant){0}, other, &self, &point);
	assert_true(one.number && !one.probed_ns && !one.is_pending);
	assert_int_equal(nr_probed(), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_inode_is_probed_once),
		TEST(only_files_of_root_and_the_caller_are_probed),
		TEST(only_files_that_may_be_probed_are_inspected),
		TEST(inspecting_takes_the_decoders_time),
		TEST(what_has_another_interface_is_not_probed),
		TEST(what_nobody_has_is_given_back),
		TEST(one_is_probed_at_a_time),
		TEST(none_is_probed_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
