// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When probes of inodes are attached and removed. The kernel takes as long as a test says.
 */
#include "runtime/jit/inodes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "collect/jit_probe.h"
#include "fake/machine.h"
#include "process/file.h"
#include "worker/shared.h"

/* ---- collect/jit_probe.h ---- */

struct jit_probe {
	uint64_t probed[JIT_PROBE_MAX_FILES + 1]; /* inodes */
	size_t nr_probed;
	uint64_t inode; /* whose probe is being attached or removed; 0: none */
	bool is_removal;
	bool is_done; /* by the kernel */
	int rc;
	int waited_ms; /* the longest wait that was asked for */
};

static struct jit_probe probe;

bool jit_probe_is_busy(const struct jit_probe *p)
{
	return p->inode;
}

int jit_probe_attach(struct jit_probe *p, int fd, uint64_t register_off,
		     int64_t descriptor_delta)
{
	struct stat st;

	assert_int_equal(p->inode, 0);
	assert_int_equal(register_off, 0x1000);
	assert_int_equal(descriptor_delta, 0x40);
	assert_int_equal(fstat(fd, &st), 0);
	p->inode = st.st_ino;
	p->is_removal = false;
	return 0;
}

int jit_probe_detach(struct jit_probe *p, uint64_t dev, uint64_t inode,
		     uint64_t register_off)
{
	(void)dev;
	assert_int_equal(p->inode, 0);
	assert_int_equal(register_off, 0x1000);
	for (size_t i = 0; i < p->nr_probed; i++) {
		if (p->probed[i] != inode)
			continue;
		p->probed[i] = p->probed[--p->nr_probed];
		p->inode = inode;
		p->is_removal = true;
		return 0;
	}
	return -ENOENT;
}

bool jit_probe_settle(struct jit_probe *p, int timeout_ms, int *ret_rc)
{
	if (timeout_ms > p->waited_ms)
		p->waited_ms = timeout_ms;
	if (!p->inode || !p->is_done)
		return false;
	*ret_rc = p->rc;
	if (!p->is_removal && !p->rc)
		p->probed[p->nr_probed++] = p->inode;
	p->inode = 0;
	return true;
}

/* ---- files ---- */

#define MAX_FILES (JIT_PROBE_MAX_FILES + 1)

static const struct jit_interface point = {
	.register_off = 0x1000, .register_vaddr = 0x401000, .descriptor_vaddr = 0x401040};
static struct target_file files[MAX_FILES];
static struct jit_inodes *inodes;
static struct shared_worker decoder;

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	probe = (struct jit_probe){.is_done = true};
	for (size_t i = 0; i < MAX_FILES; i++) {
		struct stat st;
		int fd = memfd_create("jit", MFD_CLOEXEC);

		if (fd < 0 || fstat(fd, &st))
			return -1;
		files[i] = (struct target_file){
			.fd = fd, .path = "jit", .dev = st.st_dev, .inode = st.st_ino};
	}
	inodes = jit_inodes_new(&probe, &decoder, NULL);
	return !inodes;
}

static int tear_down(void **state)
{
	(void)state;
	jit_inodes_free(inodes);
	for (size_t i = 0; i < MAX_FILES; i++)
		close(files[i].fd);
	return 0;
}

/* A process that maps file @i was met. */
static struct jit_inode meet(size_t i)
{
	return jit_inodes_probe(inodes, (struct tenant){0}, files[i].fd, &files[i], &point);
}

/* Probes file @i. Return: its number. */
static uint64_t probe_file(size_t i)
{
	struct jit_inode inode = meet(i);

	assert_true(inode.is_pending);
	assert_true(jit_inodes_settle(inodes, 0));
	inode = meet(i);
	assert_false(inode.is_pending);
	assert_true(inode.number && inode.probed_ns);
	return inode.number;
}

/* Only inode @number (0: none) is used by a process. */
static void sweep(uint64_t number)
{
	jit_inodes_begin_sweep(inodes);
	jit_inodes_keep(inodes, number);
	jit_inodes_end_sweep(inodes);
}

/* ---- tests ---- */

/* A sweep waits for nothing, and while a probe is removed its file has none. */
static void unused_probes_are_removed_later(void **state)
{
	uint64_t kept = probe_file(0), unused = probe_file(1);
	struct jit_inode again;

	(void)state;
	sweep(kept);
	assert_int_equal(probe.nr_probed, 2);
	assert_false(jit_probe_is_busy(&probe));
	jit_inodes_remove_unused(inodes);
	assert_int_equal(probe.inode, files[1].inode);
	assert_true(probe.is_removal);
	again = meet(1);
	assert_true(again.is_pending && !again.probed_ns);
	assert_true(meet(2).is_pending);
	assert_int_equal(meet(0).number, kept);
	assert_false(meet(0).is_pending);
	assert_true(jit_inodes_settle(inodes, 0));
	assert_false(jit_inodes_settle(inodes, 0));
	assert_int_equal(probe.nr_probed, 1);
	assert_true(probe_file(1) > unused);
	jit_inodes_remove_unused(inodes);
	assert_false(jit_probe_is_busy(&probe));
}

/* A file that is mapped again before its probe is removed keeps it. */
static void probes_are_used_again(void **state)
{
	uint64_t first = probe_file(0);

	(void)state;
	sweep(0);
	assert_int_equal(meet(0).number, first);
	jit_inodes_remove_unused(inodes);
	assert_false(jit_probe_is_busy(&probe));
	assert_true(meet(0).probed_ns);
	sweep(0);
	jit_inodes_remove_unused(inodes);
	assert_true(probe.is_removal);
}

/* Files that wait to be probed come between two removals. */
static void files_that_wait_come_first(void **state)
{
	(void)state;
	probe_file(0);
	probe_file(1);
	sweep(0);
	jit_inodes_remove_unused(inodes);
	assert_true(meet(2).is_pending);
	jit_inodes_remove_unused(inodes); /* one at a time */
	assert_int_equal(probe.nr_probed, 1);
	assert_true(jit_inodes_settle(inodes, 0));
	assert_true(meet(2).is_pending);
	assert_int_equal(probe.inode, files[2].inode);
	jit_inodes_remove_unused(inodes);
	assert_true(jit_inodes_settle(inodes, 0));
	jit_inodes_remove_unused(inodes);
	assert_true(probe.is_removal);
	assert_true(jit_inodes_settle(inodes, 0));
	assert_int_equal(probe.nr_probed, 1);
	assert_int_equal(probe.probed[0], files[2].inode);
}

/* After a second no file waits for a removal that hangs: their lists are walked. */
static void a_removal_that_hangs_holds_up_no_file(void **state)
{
	uint64_t unused = probe_file(0);
	struct jit_inode inode;

	(void)state;
	sweep(0);
	fake_pass(60000 * FAKE_MS);
	jit_inodes_remove_unused(inodes);
	probe.is_done = false;
	fake_pass(999 * FAKE_MS);
	assert_true(meet(0).is_pending);
	assert_true(meet(1).is_pending);
	fake_pass(FAKE_MS);
	inode = meet(0);
	assert_true(inode.number == unused && !inode.is_pending && !inode.probed_ns);
	inode = meet(1);
	assert_true(inode.number && !inode.is_pending && !inode.probed_ns);
	assert_false(jit_inodes_settle(inodes, 0));
	probe.is_done = true;
	assert_true(jit_inodes_settle(inodes, 0));
	assert_true(probe_file(2));
	assert_true(probe_file(0) > unused);
	assert_int_equal(meet(1).probed_ns, 0); /* until a sweep forgets it */
	sweep(0);
	assert_true(meet(1).is_pending);
}

static void a_probe_that_fails_is_not_removed(void **state)
{
	struct jit_inode inode;

	(void)state;
	probe.rc = -EOPNOTSUPP;
	assert_true(meet(0).is_pending);
	assert_true(jit_inodes_settle(inodes, 0));
	inode = meet(0);
	assert_true(inode.number && !inode.is_pending && !inode.probed_ns);
	sweep(0);
	jit_inodes_remove_unused(inodes);
	assert_false(jit_probe_is_busy(&probe));
	assert_true(meet(0).is_pending); /* tries again */
}

/* Its process ends before that: the probe is removed later, not forgotten. */
static void an_inode_unused_while_it_is_probed(void **state)
{
	(void)state;
	assert_true(meet(0).is_pending);
	sweep(0);
	jit_inodes_remove_unused(inodes);
	assert_false(probe.is_removal);
	assert_true(jit_inodes_settle(inodes, 0));
	jit_inodes_remove_unused(inodes);
	assert_true(probe.is_removal);
}

/* When all places are taken, a new file waits only for the place of an unused one. */
static void places_of_unused_files_become_free(void **state)
{
	uint64_t first = probe_file(0);

	(void)state;
	for (size_t i = 1; i < JIT_PROBE_MAX_FILES; i++)
		probe_file(i);
	assert_int_equal(meet(MAX_FILES - 1).number, 0);
	assert_false(meet(MAX_FILES - 1).is_pending);
	sweep(first);
	assert_true(meet(MAX_FILES - 1).is_pending);
	jit_inodes_remove_unused(inodes);
	assert_true(meet(MAX_FILES - 1).is_pending);
	assert_true(jit_inodes_settle(inodes, 0));
	assert_true(probe_file(MAX_FILES - 1) > first);
	assert_int_equal(probe.nr_probed, JIT_PROBE_MAX_FILES);
}

/* An inode that the probe does not know is forgotten. */
static void an_unknown_probe_is_forgotten(void **state)
{
	(void)state;
	probe_file(0);
	sweep(0);
	probe.nr_probed = 0;
	jit_inodes_remove_unused(inodes);
	assert_false(jit_probe_is_busy(&probe));
	assert_true(probe_file(0));
}

/* The end waits a second at most, and removes nothing: exit does. */
static void the_end_waits_a_second(void **state)
{
	(void)state;
	probe_file(0);
	probe_file(1);
	sweep(0);
	jit_inodes_remove_unused(inodes);
	probe.is_done = false;
	assert_int_equal(probe.waited_ms, 0);
	jit_inodes_end(inodes);
	assert_int_equal(probe.waited_ms, 1000);
	assert_false(meet(0).is_pending);
	assert_false(meet(2).is_pending);
	probe.is_done = true;
	assert_true(jit_inodes_settle(inodes, 0));
	jit_inodes_remove_unused(inodes);
	assert_false(jit_probe_is_busy(&probe));
	assert_int_equal(probe.nr_probed, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unused_probes_are_removed_later),
		TEST(probes_are_used_again),
		TEST(files_that_wait_come_first),
		TEST(a_removal_that_hangs_holds_up_no_file),
		TEST(a_probe_that_fails_is_not_removed),
		TEST(an_inode_unused_while_it_is_probed),
		TEST(places_of_unused_files_become_free),
		TEST(an_unknown_probe_is_forgotten),
		TEST(the_end_waits_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
