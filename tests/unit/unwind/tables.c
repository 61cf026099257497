// SPDX-License-Identifier: GPL-2.0-or-later
/* With fake kernel maps in memory: checks what the kernel's walk would find in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#include "lib/fake_kernel.h"
#include "unit/unwind/fakes.h"
#include "unwind/tables.h"

static void assert_rule(uint32_t object, uint64_t addr, int cfa, int32_t cfa_off)
{
	int state;
	struct lb_unwind_rule rule = walk_rule(object, addr, &state);

	assert_int_equal(state, LB_PAGE_ROWS);
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_off, cfa_off);
}

static void assert_state(uint32_t object, uint64_t page, int state)
{
	assert_int_equal(kernel.pages[object + page].state, state);
}

/* ---- fixture ---- */

struct lb_unwind_rule fake_kernel_rule(uint32_t object, uint64_t addr, int *ret_state)
{
	return walk_rule(object, addr, ret_state);
}

const struct lb_unwind_segment *fake_kernel_segments(const struct lb_image *image,
						     struct lb_unwind_process *ret)
{
	return walk_segments(image, ret);
}

const struct lb_unwind_file *fake_kernel_file(const struct lb_unwind_file_key *key)
{
	int i = file_of(key);

	return i < 0 ? NULL : &kernel.files[i].file;
}

const struct unwind_kmaps *fake_kernel_boot(void)
{
	kernel_boot();
	return &kernel.maps;
}

struct unwind_tables *fake_kernel_begin(uint64_t max_row_bytes)
{
	const struct unwind_kmaps *maps = fake_kernel_boot();
	struct unwind_tables *t = NULL;
	struct error err;

	assert_int_equal(unwind_tables_new(max_row_bytes, maps, &t, &err), 0);
	return t;
}

static int setup_with(void **state, uint64_t max_row_bytes)
{
	*state = fake_kernel_begin(max_row_bytes);
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 0);
}

static int setup_two_slabs(void **state)
{
	return setup_with(state, 2 * 1024 * 1024 + 1);
}

static int setup_one_slab(void **state)
{
	return setup_with(state, 1024 * 1024 + 1);
}

void fake_kernel_end(struct unwind_tables *t)
{
	if (kernel.wait_fd)
		eventfd_write(kernel.wait_fd, 2);
	unwind_tables_free(t);
	kernel_end();
}

static int teardown(void **state)
{
	fake_kernel_end(*state);
	return 0;
}

/* A page of @nr rows, 2 apart (1 if it is full): rule 0, then always rule 1. */
static struct row_pages one_page(uint64_t page, struct lb_unwind_row *rows, uint32_t nr,
				 struct row_page *ret)
{
	static struct lb_unwind_rule rules[] = {{.cfa = LB_CFA_NONE},
						{.cfa = LB_CFA_SP, .cfa_off = 8}};

	for (uint32_t i = 0; i < nr; i++)
		rows[i] =
			(struct lb_unwind_row){(uint16_t)(nr > 32768 ? i : 2 * i), i > 0};
	*ret = (struct row_page){page, rows, nr};
	return (struct row_pages){.rules = rules,
				  .nr_rules = 2,
				  .pages = ret,
				  .nr_pages = 1,
				  .rows = rows,
				  .nr_rows = nr};
}

static int fill(struct unwind_tables *t, uint32_t object, uint64_t page, uint32_t nr)
{
	struct lb_unwind_row *rows = calloc(nr, sizeof(*rows));
	struct row_page p;
	struct row_pages pages = one_page(page, rows, nr, &p);
	int rc = unwind_object_fill(t, object, &pages, &page, 1);

	free(rows);
	return rc;
}

static struct lb_image image_nr(uint32_t tgid)
{
	return (struct lb_image){.start_boottime_ns = 77, .tgid = tgid, .exec_id = 3};
}

static const struct lb_unwind_segment two_segments[] = {
	{.start = 0x1000, .end = 0x3000, .bias = 0x1000},
	{.start = 0x5000, .end = 0x9000, .bias = 0x4000, .first_page = 7},
};

/* ---- tests ---- */

static void rows_are_found(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_unwind_rule rules[] = {{.cfa = LB_CFA_SP, .cfa_off = 16},
					 {.cfa = LB_CFA_NONE},
					 {.cfa = LB_CFA_FP, .cfa_off = 32}};
	struct lb_unwind_row rows[] = {{0, 1}, {0x100, 0}, {0x8000, 2}, {0, 2}, {4, 0}};
	struct row_page page[] = {{1, rows, 3}, {3, rows + 3, 2}};
	struct row_pages pages = {.rules = rules,
				  .nr_rules = 3,
				  .pages = page,
				  .nr_pages = 2,
				  .rows = rows,
				  .nr_rows = 5};
	uint64_t asked[] = {0, 1, 3};
	uint32_t before = unwind_object_add(t, 3), object = unwind_object_add(t, 5);
	struct unwind_totals totals;

	assert_int_equal(unwind_object_fill(t, object, &pages, asked, 3), 0);
	assert_rule(object, 0x10000, LB_CFA_NONE, 0);
	assert_rule(object, 0x100ff, LB_CFA_NONE, 0);
	assert_rule(object, 0x10100, LB_CFA_SP, 16);
	assert_rule(object, 0x17fff, LB_CFA_SP, 16);
	assert_rule(object, 0x1ffff, LB_CFA_FP, 32);
	assert_rule(object, 0x30003, LB_CFA_FP, 32);
	assert_rule(object, 0x30004, LB_CFA_SP, 16);
	assert_state(object, 0, LB_PAGE_EMPTY); /* requested, without rows */
	assert_state(object, 2, LB_PAGE_ABSENT); /* not requested */
	pages.whole = true;
	pages.nr_pages = 1;
	assert_int_equal(unwind_object_fill(t, object, &pages, NULL, 0), 0);
	assert_state(object, 2, LB_PAGE_EMPTY);
	assert_state(object, 4, LB_PAGE_EMPTY);
	assert_rule(object, 0x30003, LB_CFA_FP, 32); /* existing rows stay */
	for (uint64_t i = 0; i < 3; i++)
		assert_state(before, i, LB_PAGE_ABSENT);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_objects, 2);
	assert_int_equal(totals.nr_pages, 8);
	assert_int_equal(totals.nr_rows, 5);
	assert_int_equal(totals.nr_rules, 4); /* includes unsupported */
}

static void pages_beyond_the_object_are_no_ones(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 2), next = unwind_object_add(t, 2);

	assert_int_equal(fill(t, object, 2, 4), 0);
	assert_int_equal(fill(t, object, UINT64_MAX, 4), 0);
	assert_state(next, 0, LB_PAGE_ABSENT);
}

/* Rows of removed pages are reused, but only after the grace period. */
static void room_rests(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 4), again;
	struct lb_unwind_page old;

	for (uint64_t page = 0; page < 3; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	assert_int_equal(fill(t, object, 3, 60000), 0);
	old = kernel.pages[object];
	unwind_object_remove(t, object);
	assert_state(object, 0, LB_PAGE_ABSENT);
	again = unwind_object_add(t, 4);
	assert_int_not_equal(again, object); /* walks may still use it */
	assert_int_equal(fill(t, again, 0, 8000), -ENOSPC);
	assert_state(again, 0, LB_PAGE_ABSENT);
	assert_int_equal(kernel.pages_generation, 0);
	unwind_tables_grace(t);
	assert_int_equal(kernel.pages_generation, 1); /* pages may be reused */
	unwind_tables_grace(t);
	assert_int_equal(kernel.pages_generation, 1);
	assert_int_equal(fill(t, again, 0, 65536), 0);
	assert_int_equal(kernel.pages[again].first_row, old.first_row);
	assert_int_equal(unwind_object_add(t, 4), object);
}

static void the_idlest_are_evicted(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 8);
	struct unwind_totals totals;

	/* Fill the slab. */
	for (uint64_t page = 0; page < 4; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	unwind_tables_grace(t); /* all were used: evicts one for the reserve */
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_pages_evicted, 1);
	unwind_tables_grace(t); /* frees the evicted page */
	for (uint64_t page = 0; page < 4; page++)
		if (kernel.pages[object + page].state == LB_PAGE_ABSENT)
			assert_int_equal(fill(t, object, page, 65536), 0);
	for (int age = 0; age < 3; age++) {
		for (uint64_t page = 0; page < 4; page++)
			kernel.pages[object + page].used = page != 2;
		unwind_tables_grace(t);
	}
	assert_state(object, 2, LB_PAGE_ABSENT);
	assert_state(object, 0, LB_PAGE_ROWS);
	assert_state(object, 1, LB_PAGE_ROWS);
	assert_state(object, 3, LB_PAGE_ROWS);
	unwind_tables_grace(t);
	assert_int_equal(fill(t, object, 5, 65536), 0);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_pages_refused, 0);
	assert_int_equal(totals.row_bytes, 1024 * 1024);
	assert_int_equal(kernel.nr_slabs, 1);
}

/*
 * A walk marks the pages that it reads. Its cache has their rules, so it reads them again
 * only in another generation.
 */
static void busy_pages_are_marked_again(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 4), before = kernel.pages_generation;

	for (uint64_t page = 0; page < 4; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	unwind_tables_grace(t); /* marks all as unused, and evicts the first */
	assert_state(object, 0, LB_PAGE_ABSENT);
	for (uint64_t page = 1; page < 3; page++)
		kernel.pages[object + page].used = kernel.pages_generation != before;
	unwind_tables_grace(t);
	assert_int_equal(fill(t, object, 0, 65536), 0);
	unwind_tables_grace(t);
	assert_state(object, 1, LB_PAGE_ROWS);
	assert_state(object, 2, LB_PAGE_ROWS);
	assert_state(object, 3, LB_PAGE_ABSENT);
}

/* Other rules come in place of those of a cleared object: no cache keeps these. */
static void cleared_rules_are_not_kept(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 4), before = kernel.pages_generation;

	assert_int_equal(fill(t, object, 0, 4), 0);
	assert_int_equal(kernel.pages_generation, before);
	unwind_object_clear(t, object);
	assert_state(object, 0, LB_PAGE_ABSENT);
	assert_int_equal(kernel.pages_generation, before + 1);
}

/* More pages than the reserve are refused; after the next grace there is room. */
static void a_refused_page_comes_later(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 8);
	struct unwind_totals totals;

	for (uint64_t page = 0; page < 4; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	assert_int_equal(fill(t, object, 4, 65536), -ENOSPC);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_pages_refused, 1);
	assert_int_equal(totals.nr_pages_evicted, 1);
	unwind_tables_grace(t);
	assert_int_equal(fill(t, object, 4, 65536), 0);
	assert_rule(object, 0x40001, LB_CFA_SP, 8);
}

static void rules_have_a_maximum(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_unwind_rule *rules = calloc(LB_UNWIND_MAX_RULES + 2, sizeof(*rules));
	struct lb_unwind_row rows[] = {{0, 0}, {1, LB_UNWIND_MAX_RULES}};
	struct row_page page = {0, rows, 2};
	struct row_pages pages = {.rules = rules,
				  .nr_rules = LB_UNWIND_MAX_RULES + 1,
				  .pages = &page,
				  .nr_pages = 1,
				  .rows = rows,
				  .nr_rows = 2};
	uint32_t object = unwind_object_add(t, 1);
	struct unwind_totals totals;

	for (int i = 0; i <= LB_UNWIND_MAX_RULES; i++)
		rules[i] = (struct lb_unwind_rule){.cfa = LB_CFA_SP, .cfa_off = 8 + i};
	/* NONE and UNSUPPORTED take two places: three rules do not fit. */
	assert_int_equal(unwind_object_fill(t, object, &pages, NULL, 0), 0);
	assert_rule(object, 0, LB_CFA_SP, 8);
	assert_rule(object, 1, LB_CFA_UNSUPPORTED, 0);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_rules_refused, 3);
	assert_int_equal(totals.nr_rules, LB_UNWIND_MAX_RULES);
	free(rules);
}

static void pages_have_a_maximum(void **state)
{
	struct unwind_tables *t = *state;
	struct unwind_totals totals;

	assert_int_equal(unwind_object_add(t, LB_UNWIND_MAX_PAGES + 1ull),
			 UNWIND_NO_OBJECT);
	assert_int_not_equal(unwind_object_add(t, LB_UNWIND_MAX_PAGES - 1),
			     UNWIND_NO_OBJECT);
	assert_int_equal(unwind_object_add(t, 2), UNWIND_NO_OBJECT);
	assert_int_equal(unwind_object_add(t, 0), UNWIND_NO_OBJECT);
	assert_int_equal(unwind_object_add(t, 1), LB_UNWIND_MAX_PAGES - 1);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_pages_refused, LB_UNWIND_MAX_PAGES + 3);
}

static void segments_are_shared(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_image a = image_nr(1), b = image_nr(2), c = image_nr(3);
	struct unwind_entry ra = {0}, rb = {0}, rc = {0};
	struct lb_unwind_process pa, pb, pc;
	const struct lb_unwind_segment *s;
	struct unwind_totals totals;

	assert_int_equal(unwind_process_set(t, &a, &ra, two_segments, 2, 0, 0, 0), 0);
	assert_int_equal(unwind_process_set(t, &b, &rb, two_segments, 2, 1, -40, 0), 0);
	assert_int_equal(unwind_process_set(t, &c, &rc, two_segments, 1, 0, 0, 0), 0);
	s = walk_segments(&a, &pa);
	assert_memory_equal(s, two_segments, sizeof(two_segments));
	assert_int_equal(pa.nr_segments, 2);
	assert_ptr_equal(walk_segments(&b, &pb), s);
	assert_int_equal(pb.interp, 1);
	assert_int_equal(pb.interp_tls_off, -40);
	assert_ptr_not_equal(walk_segments(&c, &pc), s);
	assert_int_equal(pc.nr_segments, 1);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_segments, 3 + 2);
	assert_int_equal(totals.nr_processes, 3);

	/* If one process is removed, the segments of the other stay. */
	unwind_process_remove(t, &a, &ra);
	unwind_tables_grace(t);
	assert_null(walk_segments(&a, &pa));
	assert_ptr_equal(walk_segments(&b, &pb), s);
	unwind_process_remove(t, &b, &rb);
	unwind_process_remove(t, &b, &rb);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_segments, 2);
	assert_int_equal(totals.nr_processes, 1);
}

/* A fork copied the entry, then the parent's segments were removed. */
static void a_copy_that_is_out_of_date_is_seen(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_image parent = image_nr(1), child = image_nr(2), other = image_nr(3);
	struct lb_unwind_process entry, now;
	struct unwind_entry of_parent = {0}, of_other = {0};

	unwind_process_set(t, &parent, &of_parent, two_segments, 2, 0, 0, 0);
	lookup(kernel.maps.processes_fd, &parent, &entry);
	kmap_update(kernel.maps.inherited_fd, &child, &entry);
	assert_non_null(walk_segments(&child, &now));
	unwind_process_set(t, &parent, &of_parent, two_segments + 1, 1, 0, 0, 0);
	assert_null(walk_segments(&child, &now));
	assert_non_null(walk_segments(&parent, &now));
	unwind_tables_grace(t);
	unwind_process_set(t, &other, &of_other, two_segments, 2, 0, 0,
			   0); /* reuses the place */
	walk_segments(&other, &now);
	assert_int_equal(now.stamp, entry.stamp);
	assert_null(walk_segments(&child, &now));
}

/* A child has mapped something since, and its entry is removed before it ends. */
static void a_copy_does_not_outlive_the_entry(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_image parent = image_nr(1), child = image_nr(2);
	struct lb_unwind_process entry, now;
	struct unwind_entry of_parent = {0}, of_child = {0};

	unwind_process_set(t, &parent, &of_parent, two_segments, 2, 0, 0, 0);
	lookup(kernel.maps.processes_fd, &parent, &entry);
	kmap_update(kernel.maps.inherited_fd, &child, &entry);
	unwind_process_set(t, &child, &of_child, two_segments, 1, 0, 0, 0);
	assert_non_null(walk_segments(&child, &now));
	assert_int_equal(now.nr_segments, 1);
	unwind_process_remove(t, &child, &of_child);
	assert_null(walk_segments(&child, &now));
}

/* Also while another process keeps the segments that it had. */
static void cpus_are_told_of_changes(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_image a = image_nr(1), b = image_nr(2);
	struct unwind_entry of_a = {0}, of_b = {0};
	struct lb_unwind_process now;

	unwind_process_set(t, &a, &of_a, two_segments, 2, 0, 0, 0);
	unwind_process_set(t, &b, &of_b, two_segments, 2, 0, 0, 0);
	walk_segments(&a, &now);
	assert_int_equal(now.nr_segments, 2);
	unwind_process_set(t, &a, &of_a, two_segments, 1, 0, 0, 0);
	walk_segments(&a, &now);
	assert_int_equal(now.nr_segments, 1);
	assert_non_null(walk_segments(&b, &now));
	unwind_process_set(t, &a, &of_a, two_segments, 2, 0, 0, 0);
	assert_non_null(walk_segments(&a, &now));
	unwind_process_remove(t, &a, &of_a);
	assert_null(walk_segments(&a, &now));
}

static void processes_have_a_maximum(void **state)
{
	struct unwind_tables *t = *state;
	struct unwind_totals totals;
	struct unwind_entry runs[MAX_ENTRIES] = {{0}}, refused = {0};
	struct lb_unwind_process now;
	struct lb_image image;

	for (uint32_t i = 0; i < MAX_ENTRIES; i++) {
		image = image_nr(i);
		assert_int_equal(
			unwind_process_set(t, &image, &runs[i], two_segments, 2, 0, 0, 0),
			0);
	}
	image = image_nr(99);
	assert_int_equal(
		unwind_process_set(t, &image, &refused, two_segments, 1, 0, 0, 0),
		-ENOSPC);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_processes_refused, 1);
	assert_int_equal(totals.nr_processes, MAX_ENTRIES);
	assert_int_equal(totals.nr_segments, 3); /* the refused one left nothing */
	image = image_nr(0);
	unwind_process_remove(t, &image, &runs[0]);
	image = image_nr(99);
	assert_int_equal(
		unwind_process_set(t, &image, &refused, two_segments, 1, 0, 0, 0), 0);
	assert_non_null(walk_segments(&image, &now));
}

static void segments_have_a_maximum(void **state)
{
	struct unwind_tables *t = *state;
	size_t nr = LB_UNWIND_MAX_SEGMENTS - 3;
	struct lb_unwind_segment *many = calloc(nr, sizeof(*many));
	struct lb_image a = image_nr(1), b = image_nr(2);
	struct lb_unwind_process now;
	struct unwind_entry ra = {0}, rb = {0};

	for (size_t i = 0; i < nr; i++)
		many[i] = (struct lb_unwind_segment){.start = 16 * i, .end = 16 * i + 8};
	assert_int_equal(unwind_process_set(t, &a, &ra, many, nr, 0, 0, 0), 0);
	assert_int_equal(unwind_process_set(t, &b, &rb, two_segments, 2, 0, 0, 0),
			 -ENOSPC);
	assert_null(walk_segments(&b, &now));
	assert_int_equal(unwind_process_set(t, &b, &rb, two_segments, 1, 0, 0, 0), 0);
	/* If the new segments of a process do not fit, it keeps the old ones. */
	assert_int_equal(unwind_process_set(t, &b, &rb, two_segments, 2, 0, 0, 0),
			 -ENOSPC);
	assert_non_null(walk_segments(&b, &now));
	assert_int_equal(now.nr_segments, 1);
	free(many);
}

static void pythons_are_kept_once(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_interp python = {.version = 0x030b};

	assert_int_equal(unwind_interp_get(t, &python), 1);
	python.version = 0x030c;
	assert_int_equal(unwind_interp_get(t, &python), 2);
	assert_int_equal(kernel.interps[1].version, 0x030c);
	python.version = 0x030b;
	assert_int_equal(unwind_interp_get(t, &python), 1);
	for (uint32_t i = 2; i < LB_MAX_INTERPS; i++) {
		python.version = 0x1000 + i;
		assert_int_equal(unwind_interp_get(t, &python), i + 1);
	}
	python.version = 0x2000;
	assert_int_equal(unwind_interp_get(t, &python), 0);
}

/* Does the kernel side use the layout of a process that has @number? */
static bool is_used_by_the_kernel(uint32_t number)
{
	return kernel.interps[LB_INTERP_INDEX(number)].use == LB_INTERP_USE(number);
}

/* Layouts are given back with their last reference; a fork's copy does not get another. */
static void layouts_are_given_back(void **state)
{
	struct unwind_tables *t = *state;
	struct lb_interp python = {.version = 0}, other = {.version = 0x2000};
	uint32_t first = unwind_interp_get(t, &python), again;

	for (uint32_t i = 1; i < LB_MAX_INTERPS; i++) {
		python.version = i;
		assert_int_not_equal(unwind_interp_get(t, &python), 0);
	}
	assert_int_equal(unwind_interp_ref(t, first), first);
	unwind_interp_put(t, first);
	assert_true(is_used_by_the_kernel(first));
	unwind_interp_put(t, first);
	assert_false(is_used_by_the_kernel(first));
	/* A walk that began before may still read it. */
	assert_int_equal(unwind_interp_get(t, &other), 0);
	unwind_tables_grace(t);
	again = unwind_interp_get(t, &other);
	assert_int_equal(LB_INTERP_INDEX(again), LB_INTERP_INDEX(first));
	assert_int_equal(unwind_interp_at(t, again)->version, 0x2000);
	assert_true(is_used_by_the_kernel(again));
	assert_false(is_used_by_the_kernel(first));
	python.version = 0x2001;
	assert_int_equal(unwind_interp_get(t, &python), 0);
}

/*
 * Fills an object with a row for each of @nr rules, the first of them @from. Return: the
 * object.
 */
static uint32_t use_rules(struct unwind_tables *t, int32_t from, size_t nr)
{
	struct lb_unwind_rule *rules = calloc(nr, sizeof(*rules));
	struct lb_unwind_row *rows = calloc(nr, sizeof(*rows));
	struct row_page page = {0, rows, (uint32_t)nr};
	struct row_pages pages = {.rules = rules,
				  .nr_rules = nr,
				  .pages = &page,
				  .nr_pages = 1,
				  .rows = rows,
				  .nr_rows = nr};
	uint32_t object = unwind_object_add(t, 1);

	for (size_t i = 0; i < nr; i++) {
		rules[i] = (struct lb_unwind_rule){.cfa = LB_CFA_SP,
						   .cfa_off = from + (int32_t)i};
		rows[i] = (struct lb_unwind_row){(uint16_t)i, (uint16_t)i};
	}
	assert_int_equal(unwind_object_fill(t, object, &pages, NULL, 0), 0);
	free(rules);
	free(rows);
	return object;
}

static struct unwind_totals totals_of(const struct unwind_tables *t)
{
	struct unwind_totals totals;

	unwind_tables_totals(t, &totals);
	return totals;
}

/* Rules are given back with the last row that has them, after a rest. */
static void rules_of_removed_code_are_given_back(void **state)
{
	struct unwind_tables *t = *state;
	const size_t all = LB_UNWIND_MAX_RULES - 2;
	uint32_t first = use_rules(t, 1000, all), same = use_rules(t, 1000, 10), other;

	unwind_object_remove(t, first);
	assert_int_equal(totals_of(t).nr_rules, LB_UNWIND_MAX_RULES);
	/* A program that runs still reads the old rules: they are not replaced yet. */
	other = use_rules(t, 100000, 1);
	assert_rule(other, 0, LB_CFA_UNSUPPORTED, 0);
	assert_int_equal(totals_of(t).nr_rules_refused, 1);
	unwind_object_remove(t, other);
	unwind_tables_grace(t);
	assert_int_equal(totals_of(t).nr_rules, 2 + 10);
	other = use_rules(t, 100000, all - 10);
	assert_rule(other, 1, LB_CFA_SP, 100001);
	assert_rule(same, 9, LB_CFA_SP, 1009);
	assert_int_equal(totals_of(t).nr_rules_refused, 1);
	/* Used again before the rest has ended: kept. */
	unwind_object_remove(t, same);
	same = use_rules(t, 1000, 10);
	unwind_tables_grace(t);
	assert_rule(same, 9, LB_CFA_SP, 1009);
	assert_int_equal(totals_of(t).nr_rules, LB_UNWIND_MAX_RULES);
}

/* Evicted pages give their rules back, too: fill, evict, fill again. */
static void rules_of_evicted_pages_are_given_back(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 4), old = use_rules(t, 1000, 16000);

	kernel.pages[old].used = 0;
	for (uint64_t page = 0; page < 4; page++)
		fill(t, object, page, 65536);
	assert_state(old, 0, LB_PAGE_ABSENT);
	unwind_tables_grace(t);
	assert_int_equal(totals_of(t).nr_rules, 3);
	assert_rule(use_rules(t, 100000, 16000), 15999, LB_CFA_SP, 115999);
	assert_int_equal(totals_of(t).nr_rules_refused, 0);
}

static uint64_t nr_refused(const struct unwind_tables *t)
{
	return totals_of(t).nr_rules_refused;
}

/* Rules and layouts: a user has a quarter of the places, and root the rest. */
static void a_user_leaves_places_to_others(void **state)
{
	struct unwind_tables *t = *state;
	const size_t quarter = LB_UNWIND_MAX_RULES / 4;
	struct lb_interp python = {.version = 0};

	unwind_tables_share(t);
	unwind_tables_serve(t, (struct tenant){.uid = 1000});
	use_rules(t, 0, quarter + 100);
	assert_int_equal(nr_refused(t), 100);
	unwind_tables_serve(t, (struct tenant){.uid = 1001});
	use_rules(t, 100000, 500);
	/* Those of another user are shared. */
	use_rules(t, 0, quarter);
	assert_int_equal(nr_refused(t), 100);
	unwind_tables_serve(t, (struct tenant){.uid = 0});
	use_rules(t, 200000, 2 * quarter);
	assert_int_equal(nr_refused(t), 100);

	unwind_tables_serve(t, (struct tenant){.uid = 1000});
	for (uint32_t i = 0; i < LB_MAX_INTERPS / 4; i++) {
		python.version = i;
		assert_int_equal(unwind_interp_get(t, &python), i + 1);
	}
	python.version = 1000;
	assert_int_equal(unwind_interp_get(t, &python), 0);
	unwind_tables_serve(t, (struct tenant){.uid = 1001});
	assert_int_equal(unwind_interp_get(t, &python), LB_MAX_INTERPS / 4 + 1);
}

static const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001},
			   web = {.container = 7};

static void pages_are_left_to_others(void **state)
{
	struct unwind_tables *t = *state;
	const uint64_t quarter = LB_UNWIND_MAX_PAGES / 4;
	uint32_t object;

	unwind_tables_share(t);
	unwind_tables_serve(t, web);
	object = unwind_object_add(t, quarter);
	assert_int_not_equal(object, UNWIND_NO_OBJECT);
	assert_int_equal(unwind_object_add(t, 1), UNWIND_NO_OBJECT);
	assert_int_equal(totals_of(t).nr_pages_refused, 1);
	unwind_tables_serve(t, bob);
	assert_int_not_equal(unwind_object_add(t, quarter), UNWIND_NO_OBJECT);
	unwind_object_remove(t, object); /* while another one is served */
	unwind_tables_grace(t);
	assert_int_equal(unwind_object_add(t, 1), UNWIND_NO_OBJECT);
	unwind_tables_serve(t, web);
	assert_int_not_equal(unwind_object_add(t, quarter), UNWIND_NO_OBJECT);
}

/* A place of a process, and of a file for processes that are not known yet. */
static void entries_are_left_to_others(void **state)
{
	enum {
		NR = LB_UNWIND_MAX_PROCESSES / 4
	};
	struct unwind_tables *t = *state;
	struct unwind_entry *entries = calloc(NR + 1, sizeof(*entries)), other = {0};
	struct lb_image image = image_nr(1);
	struct lb_unwind_file_key key = {.inode = 1};
	struct lb_unwind_file file = {.nr_pages = 1};
	struct tenant payer;

	unwind_tables_share(t);
	unwind_tables_serve(t, alice);
	for (int i = 0; i <= NR; i++)
		assert_int_equal(unwind_process_set(t, &image, &entries[i], two_segments,
						    2, 0, 0, 0),
				 i == NR ? -ENOSPC : 0);
	for (int i = 0; i <= LB_UNWIND_MAX_FILES / 4; i++)
		assert_int_equal(unwind_file_share(t, &key, &file, &payer),
				 i == LB_UNWIND_MAX_FILES / 4 ? -ENOSPC : 0);
	/* An entry may change. */
	assert_int_equal(
		unwind_process_set(t, &image, &entries[0], two_segments, 1, 0, 0, 0), 0);
	unwind_tables_serve(t, bob);
	assert_int_equal(unwind_process_set(t, &image, &other, two_segments, 1, 0, 0, 0),
			 0);
	assert_int_equal(unwind_file_share(t, &key, &file, &payer), 0);
	/* What has gone is given back to the one who had it. */
	unwind_process_remove(t, &image, &entries[0]);
	unwind_file_unshare(t, &key, alice);
	unwind_tables_serve(t, alice);
	assert_int_equal(
		unwind_process_set(t, &image, &entries[NR], two_segments, 2, 0, 0, 0), 0);
	assert_int_equal(unwind_file_share(t, &key, &file, &payer), 0);
	free(entries);
}

/*
 * An image with nearly a tenant's part changes: its old run does not count then. Afterwards,
 * and after a change that is refused, another image has exactly what is left.
 */
static void a_large_image_may_change(void **state)
{
	const size_t part = (LB_UNWIND_MAX_SEGMENTS + 4) / 4, left = 8;
	struct lb_unwind_segment *many = calloc(part, sizeof(*many));
	struct unwind_tables *t = *state;
	struct lb_image a = image_nr(1), b = image_nr(2);
	struct unwind_entry ra = {0}, rb = {0};

	unwind_tables_share(t);
	unwind_tables_serve(t, alice);
	for (size_t i = 0; i < part; i++)
		many[i] = (struct lb_unwind_segment){.start = 16 * i, .end = 16 * i + 8};
	for (size_t i = 0; i < 6; i++) {
		/* Each run twice, then one that is too large by one. */
		size_t nr = part - 1 - left - i / 2;

		assert_int_equal(unwind_process_set(t, &a, &ra, many, nr, 0, 0, 0), 0);
		assert_int_equal(unwind_process_set(t, &a, &ra, many, part, 0, 0, 0),
				 -ENOSPC);
		assert_int_equal(
			unwind_process_set(t, &b, &rb, many, left + i / 2, 0, 0, 0),
			-ENOSPC);
		assert_int_equal(
			unwind_process_set(t, &b, &rb, many, left - 1 + i / 2, 0, 0, 0),
			0);
		unwind_process_remove(t, &b, &rb);
		rb = (struct unwind_entry){0};
	}
	free(many);
}

static void use_no_page(void)
{
	for (uint32_t i = 0; i < LB_UNWIND_MAX_PAGES; i++)
		kernel.pages[i].used = 0;
}

/* Who has more than a quarter of the rows loses pages first, also those that are used. */
static void who_has_too_many_rows_is_evicted(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t of_root, of_alice, of_bob;

	unwind_tables_share(t);
	of_root = unwind_object_add(t, 1);
	unwind_tables_serve(t, alice);
	of_alice = unwind_object_add(t, 4);
	unwind_tables_serve(t, bob);
	of_bob = unwind_object_add(t, 2);
	fill(t, of_root, 0, 65536);
	fill(t, of_bob, 0, 65536);
	fill(t, of_alice, 1, 65536);
	fill(t, of_alice, 2, 65536);
	use_no_page();
	kernel.pages[of_alice + 2].used = 1;
	assert_int_equal(fill(t, of_bob, 1, 65536), -ENOSPC);
	assert_state(of_alice, 1, LB_PAGE_ABSENT);
	assert_state(of_alice, 2, LB_PAGE_ROWS);
	assert_state(of_bob, 0, LB_PAGE_ROWS);
	assert_state(of_root, 0, LB_PAGE_ROWS);
	unwind_tables_grace(t);
	fill(t, of_alice, 1, 65536);
	use_no_page();
	kernel.pages[of_alice + 1].used = kernel.pages[of_alice + 2].used = 1;
	assert_int_equal(fill(t, of_alice, 3, 65536), -ENOSPC);
	assert_int_equal(kernel.pages[of_alice + 1].state +
				 kernel.pages[of_alice + 2].state,
			 LB_PAGE_ROWS);
	assert_state(of_bob, 0, LB_PAGE_ROWS);
	assert_state(of_root, 0, LB_PAGE_ROWS);
}

/* Objects of random sizes come and go: no row belongs to two pages. */
static void churn(void **state)
{
	enum {
		NR = 40
	};
	struct unwind_tables *t = *state;
	uint32_t objects[NR];
	struct unwind_totals totals;

	for (int i = 0; i < NR; i++)
		objects[i] = UNWIND_NO_OBJECT;
	srandom(1);
	for (int round = 0; round < 3000; round++) {
		int i = (int)(random() % NR);
		uint32_t nr_rows = 1 + (uint32_t)(random() % 24000);

		if (objects[i] != UNWIND_NO_OBJECT)
			unwind_object_remove(t, objects[i]);
		objects[i] = unwind_object_add(t, 2);
		assert_int_not_equal(objects[i], UNWIND_NO_OBJECT);
		fill(t, objects[i], 0, nr_rows);
		if (round % 7 == 0)
			unwind_tables_grace(t);
	}
	for (int i = 0; i < NR; i++) {
		const struct lb_unwind_page *a, *b;

		if (objects[i] == UNWIND_NO_OBJECT)
			continue;
		a = &kernel.pages[objects[i]];
		for (int j = 0; j < NR; j++) {
			if (j == i || objects[j] == UNWIND_NO_OBJECT)
				continue;
			b = &kernel.pages[objects[j]];
			assert_true(a->state != LB_PAGE_ROWS ||
				    b->state != LB_PAGE_ROWS ||
				    a->first_row + a->last_row < b->first_row ||
				    b->first_row + b->last_row < a->first_row);
		}
	}
	for (int i = 0; i < NR; i++)
		if (objects[i] != UNWIND_NO_OBJECT)
			unwind_object_remove(t, objects[i]);
	unwind_tables_grace(t);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.nr_rows, 0);
	assert_int_equal(totals.nr_objects, 0);
	assert_int_equal(totals.nr_pages, 0);
	assert_int_equal(unwind_object_add(t, LB_UNWIND_MAX_PAGES), 0);
	assert_int_equal(fill(t, 0, 0, 65536), 0);
	assert_int_equal(fill(t, 0, 1, 65536), 0);
}

/* The kernel's wait after a slab was added is of no concern to its users. */
static void nobody_waits_for_running_programs(void **state)
{
	struct unwind_tables *t = *state;
	uint32_t object = unwind_object_add(t, 9);
	struct unwind_totals totals = {0};

	kernel.wait_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(kernel.wait_fd > 0);
	for (uint64_t page = 0; page < 5; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.row_bytes, 2 * 1024 * 1024);
	assert_int_equal(kernel.nr_slabs, 2);
	assert_false(kernel.nobody_wrote);
	eventfd_write(kernel.wait_fd, 1);
	/* One update at a time. */
	for (uint64_t page = 5; page < 9; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	assert_int_equal(kernel.nr_slabs, 3);
	eventfd_write(kernel.wait_fd, 1);
}

/* @nr slabs are of use: 4 full pages in each. */
static void assert_has_room_for(struct unwind_tables *t, unsigned int nr)
{
	uint32_t object = unwind_object_add(t, 4 * nr + 1);
	struct unwind_totals totals = {0};

	for (uint64_t page = 0; page < 4 * nr; page++)
		assert_int_equal(fill(t, object, page, 65536), 0);
	assert_int_equal(fill(t, object, 4 * nr, 65536), -ENOSPC);
	unwind_tables_totals(t, &totals);
	assert_int_equal(totals.row_bytes, nr * 1024 * 1024);
	assert_int_equal(kernel.nr_slabs, nr);
}

static void slabs_before_a_refused_one_are_of_use(void **state)
{
	kernel.max_slabs = 2;
	assert_has_room_for(*state, 2);
}

static void slabs_before_one_that_cannot_be_made_are_of_use(void **state)
{
	kernel.max_made = 3;
	assert_has_room_for(*state, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_beyond_the_object_are_no_ones,
						setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_waits_for_running_programs, setup,
						teardown),
		cmocka_unit_test_setup_teardown(slabs_before_a_refused_one_are_of_use,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			slabs_before_one_that_cannot_be_made_are_of_use, setup, teardown),
		cmocka_unit_test_setup_teardown(room_rests, setup_one_slab, teardown),
		cmocka_unit_test_setup_teardown(the_idlest_are_evicted, setup_one_slab,
						teardown),
		cmocka_unit_test_setup_teardown(busy_pages_are_marked_again,
						setup_one_slab, teardown),
		cmocka_unit_test_setup_teardown(cleared_rules_are_not_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_refused_page_comes_later,
						setup_one_slab, teardown),
		cmocka_unit_test_setup_teardown(rules_have_a_maximum, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_have_a_maximum, setup, teardown),
		cmocka_unit_test_setup_teardown(segments_are_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_that_is_out_of_date_is_seen, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_copy_does_not_outlive_the_entry, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cpus_are_told_of_changes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(processes_have_a_maximum, setup,
						teardown),
		cmocka_unit_test_setup_teardown(segments_have_a_maximum, setup, teardown),
		cmocka_unit_test_setup_teardown(pythons_are_kept_once, setup, teardown),
		cmocka_unit_test_setup_teardown(layouts_are_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(rules_of_removed_code_are_given_back,
						setup, teardown),
		cmocka_unit_test_setup_teardown(rules_of_evicted_pages_are_given_back,
						setup_one_slab, teardown),
		cmocka_unit_test_setup_teardown(a_user_leaves_places_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pages_are_left_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(entries_are_left_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_large_image_may_change, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_has_too_many_rows_is_evicted,
						setup_one_slab, teardown),
		cmocka_unit_test_setup_teardown(churn, setup_two_slabs, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
