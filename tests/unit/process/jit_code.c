// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "process/jit_code.h"

struct fixture {
	struct jit_store *store;
	struct jit_code code, child;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	assert_int_equal(jit_store_new(1 << 20, &f.store), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct jit_store_stats stats;

	jit_code_deinit(&f->code, f->store);
	jit_code_deinit(&f->child, f->store);
	stats = f->store->stats;
	assert_int_equal(stats.nr_objects, 0);
	assert_int_equal(stats.nr_bytes, 0);
	jit_store_free(f->store);
	return 0;
}

static int add(struct fixture *f, uint64_t entry, const char *bytes, uint64_t time_ns)
{
	const struct jit_registration r = {.entry_addr = entry,
					   .symfile_addr = entry + 0x100,
					   .object = bytes,
					   .size_bytes = bytes ? strlen(bytes) : 99,
					   .time_ns = time_ns};

	return jit_code_register(&f->code, f->store, &r);
}

static void assert_object(const struct fixture *f, const struct jit_object *o,
			  const char *bytes, uint64_t from_ns, uint64_t until_ns)
{
	char text[64] = "";

	assert_int_equal(o->from_ns, from_ns);
	assert_true(o->until_ns == until_ns);
	assert_int_equal(o->size_bytes, strlen(bytes));
	assert_int_equal(pread(f->store->read_fd, text, o->size_bytes,
			       (off_t)f->store->bodies[o->body].offset),
			 (ssize_t)o->size_bytes);
	assert_string_equal(text, bytes);
}

static void test_intervals(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 1, "first", 100), 0);
	assert_int_equal(add(f, 2, "second", 110), 0);
	jit_code_unregister(&f->code, f->store, 1, 150);
	jit_code_unregister(&f->code, f->store, 7, 150); /* unknown entry */
	assert_int_equal(add(f, 1, "third", 160), 0); /* the entry's memory is reused */
	assert_int_equal(f->code.nr, 3);
	assert_object(f, &f->code.items[0], "first", 100, 150);
	assert_object(f, &f->code.items[1], "second", 110, UINT64_MAX);
	assert_object(f, &f->code.items[2], "third", 160, UINT64_MAX);
	/* A new registration of an entry ends the object that had it. */
	assert_int_equal(add(f, 2, "fourth", 170), 0);
	assert_object(f, &f->code.items[1], "second", 110, 170);
	assert_object(f, &f->code.items[3], "fourth", 170, UINT64_MAX);
}

static void test_seen_again(void **state)
{
	struct fixture *f = *state;
	struct jit_registration known; /* found by a walk, not read */

	assert_int_equal(add(f, 1, "object", 100), 0);
	assert_int_equal(add(f, 1, "object", 0), 0); /* found and read by a walk */
	known = (struct jit_registration){.entry_addr = 1,
					  .symfile_addr = f->code.items[0].symfile_addr,
					  .size_bytes = 6};
	assert_int_equal(jit_code_register(&f->code, f->store, &known), 0);
	assert_int_equal(f->code.nr, 1);
	assert_object(f, &f->code.items[0], "object", 100, UINT64_MAX);
	assert_int_equal(add(f, 1, "other!", 0), 0);
	assert_int_equal(f->code.nr, 2);
	assert_int_equal(f->code.nr_lost, 0);
}

static void test_bytes_come_later(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 1, NULL, 100), 0);
	assert_int_equal(f->code.nr_lost, 1);
	assert_int_equal(f->code.items[0].size_bytes, 0);
	assert_int_equal(add(f, 1, "walked", 0), 0);
	assert_int_equal(f->code.nr, 1);
	assert_int_equal(f->code.nr_lost, 0);
	assert_object(f, &f->code.items[0], "walked", 100, UINT64_MAX);
}

/* The parent's lost object counts in the parent only. */
static void test_bytes_come_later_to_a_fork(void **state)
{
	const struct jit_registration walked = {.entry_addr = 1,
						.symfile_addr = 0x1000,
						.object = "walked",
						.size_bytes = 6};
	struct fixture *f = *state;
	struct jit_registration lost = walked;

	lost.object = NULL;
	lost.size_bytes = 0;
	assert_int_equal(jit_code_register(&f->code, f->store, &lost), 0);
	assert_int_equal(f->code.nr_lost, 1);
	f->code.descriptor_ips[0] = 0x2000;
	f->code.probes[0] = 7;
	f->code.nr_descriptors = 1;
	f->code.is_unprobed = true;
	assert_int_equal(jit_code_copy(&f->child, &f->code, f->store, 200), 0);
	assert_int_equal(f->child.nr_descriptors, 1);
	assert_int_equal(f->child.probes[0], 7);
	assert_true(f->child.is_unprobed);
	assert_int_equal(jit_code_register(&f->child, f->store, &walked), 0);
	assert_int_equal(f->child.items[0].size_bytes, 6);
	assert_int_equal(f->child.nr_lost, 0);
	assert_int_equal(f->code.nr_lost, 1);
}

static void test_fork(void **state)
{
	struct fixture *f = *state;

	add(f, 1, "gone before", 100);
	jit_code_unregister(&f->code, f->store, 1, 150);
	add(f, 2, "there", 110);
	add(f, 3, "gone after", 120);
	jit_code_unregister(&f->code, f->store, 3, 210);
	add(f, 4, "came after", 220);
	f->code.descriptor_ips[0] = 0x1234;
	f->code.nr_descriptors = 1;
	assert_int_equal(jit_code_copy(&f->child, &f->code, f->store, 200), 0);
	assert_int_equal(f->child.nr, 2);
	assert_object(f, &f->child.items[0], "there", 110, UINT64_MAX);
	assert_object(f, &f->child.items[1], "gone after", 120, UINT64_MAX);
	assert_int_equal(f->child.nr_descriptors, 1);
	assert_int_equal(f->child.descriptor_ips[0], 0x1234);
	/* The end of the parent does not change the child. */
	jit_code_deinit(&f->code, f->store);
	assert_object(f, &f->child.items[1], "gone after", 120, UINT64_MAX);
	jit_code_unregister(&f->child, f->store, 3, 300);
	assert_int_equal(f->child.items[1].until_ns, 300);
}

/* Forked children share their parent's table until it is changed. */
static void test_forks_share(void **state)
{
	struct fixture *f = *state;
	struct jit_code children[100] = {0};
	struct jit_store_stats stats;

	for (uint64_t i = 0; i < 200; i++)
		add(f, i, "twelve bytes", i);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(
			jit_code_copy(&children[i], &f->code, f->store, 1000 + i), 0);
	stats = f->store->stats;
	assert_int_equal(stats.nr_registrations, 200);
	assert_object(f, &children[50].items[7], "twelve bytes", 7, UINT64_MAX);
	/* Changes of a child and of the parent do not affect each other. */
	jit_code_unregister(&children[0], f->store, 7, 2000);
	assert_int_equal(children[0].items[7].until_ns, 2000);
	assert_int_equal(add(f, 500, "new", 2001), 0);
	assert_int_equal(f->code.nr, 201);
	assert_int_equal(children[1].nr, 200);
	assert_true(children[1].items[7].until_ns == UINT64_MAX);
	stats = f->store->stats;
	assert_int_equal(stats.nr_registrations, 200 + 200 + 201);
	/* A late copy for a fork before the change does not have the change. */
	assert_int_equal(jit_code_copy(&f->child, &f->code, f->store, 1500), 0);
	assert_int_equal(f->child.nr, 200);
	jit_code_drop(&f->code, f->store);
	for (size_t i = 0; i < 99; i++)
		jit_code_deinit(&children[i], f->store);
	assert_object(f, &children[99].items[7], "twelve bytes", 7, UINT64_MAX);
	/* The last user no longer shares the table. */
	jit_code_unregister(&children[99], f->store, 7, 3000);
	jit_code_deinit(&children[99], f->store);
	jit_code_deinit(&f->child, f->store);
	stats = f->store->stats;
	assert_int_equal(stats.nr_registrations, 0);
}

static void test_lossy_fork(void **state)
{
	struct fixture *f = *state;
	struct jit_code children[2] = {0};

	for (uint64_t i = 0; i < 200; i++)
		add(f, i, NULL, i);
	assert_int_equal(add(f, 1, "late", 500), 0);
	/* The forks are older than the last change: the tables are not shared. */
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(jit_code_copy(&children[i], &f->code, f->store, 300), 0);
	assert_int_equal(children[1].nr, 200);
	assert_true(children[1].is_lossy);
	for (size_t i = 0; i < 2; i++)
		jit_code_deinit(&children[i], f->store);
}

/* A walk finds another object at an entry: the time of the change is unknown. */
static void test_walked_reuse(void **state)
{
	struct fixture *f = *state;
	struct jit_registration r = {.entry_addr = 1,
				     .symfile_addr = 0x999,
				     .object = "other",
				     .size_bytes = 5,
				     .time_ns = 1000,
				     .seen_ns = 2000};

	assert_int_equal(add(f, 1, "first", 100), 0);
	assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_object(f, &f->code.items[0], "first", 100, 2000);
	assert_object(f, &f->code.items[1], "other", 1000, UINT64_MAX);
}

/* With walks only, an object that is gone ends with the last walk that found it. */
static void test_unprobed_reuse(void **state)
{
	struct fixture *f = *state;
	struct jit_registration r = {.entry_addr = 1,
				     .symfile_addr = 0x999,
				     .object = "first",
				     .size_bytes = 5,
				     .time_ns = 100,
				     .seen_ns = 200};
	struct jit_code child = {0};

	f->code.is_unprobed = f->code.was_walked = true;
	assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_int_equal(f->code.items[0].seen_ns, 200);
	/* Found again, not read. */
	r.object = NULL;
	r.time_ns = 1000;
	r.seen_ns = 1100;
	assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_int_equal(f->code.nr, 1);
	assert_false(f->code.is_unloading);
	r.object = "other";
	r.time_ns = 2000;
	r.seen_ns = 2100;
	assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_object(f, &f->code.items[0], "first", 100, 2000);
	assert_object(f, &f->code.items[1], "other", 2000, UINT64_MAX);
	assert_int_equal(f->code.items[1].seen_ns, 2100);
	assert_true(f->code.is_unloading);
	/* Another size at the same address, which could not be read. */
	r.object = NULL;
	r.size_bytes = 6;
	r.time_ns = 3000;
	r.seen_ns = 3100;
	assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_int_equal(f->code.nr, 3);
	assert_int_equal(f->code.items[1].until_ns, 3000);
	/* Read later: whether it is the same object is unknown. */
	r.object = "sixsix";
	r.time_ns = 3500;
	r.seen_ns = 4100;
	assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_object(f, &f->code.items[2], "sixsix", 3000, UINT64_MAX);
	assert_int_equal(f->code.items[2].seen_ns, 4100);
	/* Objects of a child's first walk are newer than its parent's last walk. */
	f->code.walked_ns = 4000;
	assert_int_equal(jit_code_copy(&child, &f->code, f->store, 5000), 0);
	assert_int_equal(child.walked_ns, 4000);
	assert_true(child.is_unloading);
	assert_false(child.was_walked);
	jit_code_deinit(&child, f->store);
}

/* A small and a large object, the second one stored after the first. */
static void test_ends(void **state)
{
	struct fixture *f = *state;
	static char large[3 * HASH_END_BYTES + 5];
	const size_t last = sizeof(large) - HASH_END_BYTES;

	for (size_t i = 0; i < sizeof(large) - 1; i++)
		large[i] = (char)(i * 31 % 127 + 1);
	assert_int_equal(add(f, 1, "small", 100), 0);
	assert_int_equal(add(f, 2, large, 100), 0);
	assert_int_equal(jit_store_ends(f->store, &f->code.items[0]),
			 hash_ends("small", "small", 5));
	assert_int_equal(jit_store_ends(f->store, &f->code.items[1]),
			 hash_ends(large, large + last - 1, sizeof(large) - 1));
}

/* A JIT that registers very many small objects but keeps few never fills the table. */
static void test_churn(void **state)
{
	struct fixture *f = *state;
	unsigned int nr_cleaned = 0;

	for (uint64_t i = 1; i <= JIT_CODE_MAX_OBJECTS * 5 / 4; i++) {
		assert_int_equal(add(f, i % 20, NULL, i), 0);
		jit_code_unregister(&f->code, f->store, (i + 1) % 20, i);
		if (!jit_store_is_filling(f->store))
			continue;
		jit_code_forget(&f->code, f->store, i);
		jit_store_was_cleaned(f->store);
		assert_false(jit_store_is_filling(f->store));
		assert_true(f->code.nr <= 20);
		nr_cleaned++;
	}
	assert_in_range(nr_cleaned, 1, 20);
}

/* An object without room may still be registered when there is room again. */
static void test_refused_ones_are_looked_for(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 1; i <= JIT_CODE_MAX_OBJECTS; i++) {
		assert_int_equal(add(f, 1, NULL, i), 0);
		jit_code_unregister(&f->code, f->store, 1, i);
	}
	assert_int_equal(add(f, 2, NULL, JIT_CODE_MAX_OBJECTS + 1), -ENOSPC);
	f->code.walk_wanted = false; /* as after a walk that found no room */
	f->code.walks.walk_after_ns = UINT64_MAX;
	jit_code_forget(&f->code, f->store, JIT_CODE_MAX_OBJECTS);
	assert_true(f->code.walk_wanted);
	assert_int_equal(f->code.walks.walk_after_ns, 0);
	assert_int_equal(add(f, 2, NULL, JIT_CODE_MAX_OBJECTS + 1), 0);
	f->code.walk_wanted = false;
	jit_code_forget(&f->code, f->store, JIT_CODE_MAX_OBJECTS + 2);
	assert_false(f->code.walk_wanted);
}

static void test_forget(void **state)
{
	struct fixture *f = *state;
	struct jit_store_stats stats;

	for (uint64_t i = 0; i < 100; i++) {
		add(f, i, "twelve bytes", i);
		if (i % 2)
			jit_code_unregister(&f->code, f->store, i, 100 + i);
	}
	jit_code_forget(&f->code, f->store, 149);
	stats = f->store->stats;
	assert_int_equal(f->code.nr, 75);
	assert_int_equal(stats.nr_objects, 75);
	assert_int_equal(stats.nr_bytes, 75 * 4096); /* a page for each */
	/* The remaining objects are found at their new indexes. */
	for (uint64_t i = 0; i < 100; i += 2)
		jit_code_unregister(&f->code, f->store, i, 500 + i);
	for (size_t i = 0; i < f->code.nr; i++) {
		const struct jit_object *o = &f->code.items[i];

		assert_int_equal(o->until_ns,
				 o->entry_addr + (o->entry_addr % 2 ? 100 : 500));
	}
	jit_code_forget(&f->code, f->store, 1000);
	assert_int_equal(f->code.nr, 0);
}

static void test_store_is_full(void **state)
{
	struct fixture *f = *state;
	struct jit_store_stats stats;
	char *big = malloc((300 << 10) + 1);

	memset(big, 'x', 300 << 10);
	big[300 << 10] = '\0';
	assert_int_equal(add(f, 1, big, 1), 0);
	assert_false(jit_store_is_filling(f->store));
	assert_int_equal(add(f, 2, big, 2), 0);
	assert_true(jit_store_is_filling(f->store));
	assert_int_equal(add(f, 3, big, 3), 0);
	assert_int_equal(add(f, 4, big, 4), -ENOSPC);
	assert_int_equal(f->code.nr_lost, 1);
	stats = f->store->stats;
	assert_int_equal(stats.nr_refused, 1);
	jit_code_unregister(&f->code, f->store, 1, 5);
	jit_code_forget(&f->code, f->store, 5);
	jit_store_was_cleaned(f->store);
	assert_false(jit_store_is_filling(f->store));
	assert_int_equal(add(f, 4, big, 6), 0);
	assert_true(jit_store_is_filling(f->store));
	free(big);
}

/* Memory of forgotten objects is returned to the system. */
static void test_holes(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	for (uint64_t i = 0; i < 100; i++) {
		add(f, i, "a page of its own", i);
		jit_code_unregister(&f->code, f->store, i, i + 1);
		jit_code_forget(&f->code, f->store, i + 1);
	}
	assert_int_equal(fstat(f->store->read_fd, &st), 0);
	assert_true(st.st_blocks * 512 <= 2 * 4096);
	assert_int_equal(write(f->store->read_fd, "x", 1), -1);
}

/* The store's file stays bounded while objects come and go. */
static void test_compaction(void **state)
{
	struct fixture *f = *state;
	char *big = malloc((300 << 10) + 1);
	struct stat st;

	memset(big, 'x', 300 << 10);
	big[300 << 10] = '\0';
	assert_int_equal(add(f, 1, "stays at the beginning", 1), 0);
	for (uint64_t i = 2; i < 600; i++) {
		add(f, i, i == 300 ? "stays in the middle" : big, i);
		if (i != 300)
			jit_code_unregister(&f->code, f->store, i, i);
		jit_code_forget(&f->code, f->store, i);
		if (jit_store_is_filling(f->store) || i % 100 == 0)
			jit_store_was_cleaned(f->store);
		assert_int_equal(f->code.nr_lost, 0);
	}
	assert_int_equal(f->code.nr, 2);
	assert_object(f, &f->code.items[0], "stays at the beginning", 1, UINT64_MAX);
	assert_object(f, &f->code.items[1], "stays in the middle", 300, UINT64_MAX);
	assert_int_equal(fstat(f->store->read_fd, &st), 0);
	assert_in_range(st.st_size, 2 * 4096, 128 << 20);
	assert_in_range(st.st_blocks * 512, 1, 2 * 4096);
	free(big);
}

/* 1 MiB is room for 256 small objects: a user may have 64 of them. */
static void a_user_leaves_room_to_others(void **state)
{
	struct fixture *f = *state;
	uint64_t entry = 1;

	jit_store_share(f->store);
	f->store->tenant.uid = 1000;
	for (int i = 0; i < 64; i++)
		assert_int_equal(add(f, entry++, "object", 100), 0);
	assert_int_equal(add(f, entry++, "object", 100), -ENOSPC);
	f->store->tenant.uid = 1001;
	assert_int_equal(add(f, entry++, "object", 100), 0);
	/* Objects that have gone give their room back to the user who had it. */
	f->store->tenant.uid = 0;
	jit_code_unregister(&f->code, f->store, 1, 150);
	jit_code_forget(&f->code, f->store, 200);
	f->store->tenant.uid = 1000;
	assert_int_equal(add(f, entry++, "object", 300), 0);
	assert_int_equal(add(f, entry++, "object", 300), -ENOSPC);
}

static uint64_t nr_charged(const struct fixture *f, uint32_t uid)
{
	const struct quota *q = &f->store->registration_quota;

	for (size_t i = 0; i < q->nr_accounts; i++)
		if (q->accounts[i].tenant.uid == uid)
			return q->accounts[i].nr;
	return 0;
}

/* A worker that a master forked for another user. */
static void the_user_of_a_fork_pays_for_its_own(void **state)
{
	const struct tenant worker = {.uid = 1000}, master = {.uid = 1001};
	struct fixture *f = *state;

	jit_store_share(f->store);
	assert_int_equal(add(f, 1, "one", 100), 0);
	assert_int_equal(add(f, 2, "two", 100), 0);
	assert_int_equal(jit_code_copy(&f->child, &f->code, f->store, 200), 0);
	jit_code_charge(&f->child, f->store, worker);
	assert_int_equal(nr_charged(f, 1000), 0);
	/* Its list is its own from now on. */
	jit_code_unregister(&f->child, f->store, 1, 300);
	assert_int_equal(nr_charged(f, 1000), 2);
	jit_code_charge(&f->code, f->store, master);
	assert_int_equal(nr_charged(f, 1001), 2);
	jit_code_forget(&f->child, f->store, 300);
	assert_int_equal(nr_charged(f, 1000), 1);
	/* Again, and now the master goes first. */
	jit_code_drop(&f->child, f->store);
	assert_int_equal(jit_code_copy(&f->child, &f->code, f->store, 400), 0);
	jit_code_charge(&f->child, f->store, worker);
	jit_code_drop(&f->code, f->store);
	assert_int_equal(nr_charged(f, 1001), 2);
	jit_code_unregister(&f->child, f->store, 1, 500);
	assert_int_equal(nr_charged(f, 1000), 2);
	jit_code_drop(&f->child, f->store);
	assert_int_equal(f->store->registration_quota.nr_accounts, 0);
}

/* A million registrations: a user may have a quarter; forks share theirs. */
static void a_user_leaves_registrations_to_others(void **state)
{
	struct jit_code codes[5] = {{0}}, other = {0};
	struct fixture *f = *state;
	struct jit_registration r = {.symfile_addr = 1, .time_ns = 1};
	int rc = 0;

	jit_store_share(f->store);
	f->store->tenant.uid = 1000;
	for (int i = 0; i < 5 && !rc; i++)
		for (r.entry_addr = 1; !rc && r.entry_addr <= JIT_CODE_MAX_OBJECTS;
		     r.entry_addr++)
			rc = jit_code_register(&codes[i], f->store, &r);
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(codes[3].nr, JIT_CODE_MAX_OBJECTS);
	assert_int_equal(codes[4].nr, 0);
	f->store->tenant.uid = 1001;
	assert_int_equal(jit_code_register(&other, f->store, &r), 0);
	f->store->tenant.uid = 1000;
	assert_int_equal(jit_code_copy(&f->child, &codes[0], f->store, 2), 0);
	jit_code_deinit(&codes[0], f->store);
	assert_int_equal(jit_code_register(&codes[4], f->store, &r), -ENOSPC);
	jit_code_deinit(&f->child, f->store);
	assert_int_equal(jit_code_register(&codes[4], f->store, &r), 0);
	for (int i = 1; i < 5; i++)
		jit_code_deinit(&codes[i], f->store);
	jit_code_deinit(&other, f->store);
}

static size_t nr_page_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (size_t)usage.ru_minflt;
}

/*
 * A forked child drops each object of a full list, and its user has no room for a list of
 * its own: the list is not copied, which would touch new memory each time.
 */
static void a_fork_without_room_copies_nothing(void **state)
{
	struct fixture *f = *state;
	struct jit_registration r = {.symfile_addr = 1, .time_ns = 1};
	size_t before;

	jit_store_share(f->store);
	f->store->registration_quota.max = 7 * JIT_CODE_MAX_OBJECTS;
	f->store->tenant.uid = 1000;
	for (; r.entry_addr < JIT_CODE_MAX_OBJECTS; r.entry_addr++)
		assert_int_equal(jit_code_register(&f->code, f->store, &r), 0);
	assert_int_equal(jit_code_copy(&f->child, &f->code, f->store, 2), 0);
	mallopt(M_MMAP_THRESHOLD, 1 << 20); /* large blocks are new each time */
	before = nr_page_faults();
	for (uint64_t i = 0; i < 100; i++) {
		jit_code_unregister(&f->child, f->store, i, 3);
		r.entry_addr = JIT_CODE_MAX_OBJECTS + i;
		assert_int_equal(jit_code_register(&f->child, f->store, &r), -ENOSPC);
	}
	assert_true(nr_page_faults() - before < 1000);
	assert_int_equal(f->store->registration_quota.accounts[0].nr_refused, 200);
	assert_true(f->child.is_lossy);
	assert_int_equal(f->child.nr_lost, 100);
	/* The parent has gone: the list is the child's. */
	jit_code_drop(&f->code, f->store);
	jit_code_unregister(&f->child, f->store, 7, 4);
	assert_int_equal(f->child.items[7].until_ns, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_user_leaves_registrations_to_others,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_user_of_a_fork_pays_for_its_own,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_intervals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_seen_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes_come_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes_come_later_to_a_fork, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forks_share, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fork_without_room_copies_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_lossy_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_walked_reuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unprobed_reuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_churn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_ones_are_looked_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_store_is_full, setup, teardown),
		cmocka_unit_test_setup_teardown(a_user_leaves_room_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_compaction, setup, teardown),
		cmocka_unit_test_setup_teardown(test_holes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
