// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page of unwind rows was taken from an object, and all walks of that time have ended.
 * Now it is given to another one, while a walk looks it up: the walk uses the new rows or
 * none, never those that a cache has of the former object, whatever is changed at which
 * point of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lineburn_unwind.h"
#include "order.skel.h"

#define PAGE         5 /* the page that is given away */
#define FIRST_STAMP  10 /* of the run that leads to it before */
#define SECOND_STAMP 20
#define EMPTY_STAMP  30 /* of a run without segments */
#define TEXT_BYTES   4096
#define MANY         200 /* points: more than a walk has */

struct fixture {
	struct order_bpf *skel;
	char *text; /* a mapping of a file; not executed */
	struct lb_unwind_file_key key;
	struct lb_unwind_file file;
	bool is_known; /* the process, before it gets the page */
	bool is_kept; /* this CPU has a copy of its entry */
};

static void update(const struct bpf_map *map, const void *key, const void *value)
{
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), 0);
}

/* All pages without rows have rule 0. */
static void set_rule(struct fixture *f, uint8_t cfa)
{
	const struct lb_unwind_page page = {.state = LB_PAGE_EMPTY};
	const struct lb_unwind_rule rule = {.cfa = cfa};
	const uint32_t nr = PAGE, zero = 0;

	update(f->skel->maps.pages, &nr, &page);
	update(f->skel->maps.rules, &zero, &rule);
}

static struct lb_unwind_process process_at(uint32_t stamp)
{
	return (struct lb_unwind_process){
		.generation = stamp + 1, .stamp = stamp, .nr_segments = 1};
}

static struct lb_unwind_segment stamp_of(uint32_t stamp)
{
	return (struct lb_unwind_segment){.start = stamp + 1};
}

static struct lb_unwind_segment segment_of(const struct fixture *f)
{
	return (struct lb_unwind_segment){.start = (uintptr_t)f->text,
					  .end = (uintptr_t)f->text + TEXT_BYTES,
					  .bias = (uintptr_t)f->text,
					  .first_page = PAGE};
}

static void publish(const struct fixture *f, uint32_t stamp)
{
	const struct lb_unwind_segment first = stamp_of(stamp), second = segment_of(f);
	const uint32_t index = stamp + 1;

	update(f->skel->maps.segments, &stamp, &first);
	update(f->skel->maps.segments, &index, &second);
}

/*
 * The point at which user space changes generation and segments, then their owner, and
 * then tells that it has changed; 0: never.
 */
struct times {
	uint32_t segments, owner, told;
};
static const struct times never = {0};

/* Return: enum lb_stack_status. */
static uint32_t walk(struct fixture *f, const struct times *at)
{
	struct order_bpf__bss *set = f->skel->bss;
	LIBBPF_OPTS(bpf_test_run_opts, run);

	set->point_nr = 0;
	set->segments_at = at->segments;
	set->owner_at = at->owner;
	set->told_at = at->told;
	assert_int_equal(
		bpf_prog_test_run_opts(bpf_program__fd(f->skel->progs.walk_once), &run),
		0);
	assert_int_equal(set->nr_faults, 0);
	return set->status;
}

static void tell_change(struct fixture *f)
{
	f->skel->bss->image_changes[f->skel->bss->image.tgid % LB_IMAGE_CHANGES]++;
}

/* Leaves a rule of the page in the cache, then takes the page from its first object. */
static void forget_first(struct fixture *f)
{
	const struct lb_unwind_process first = process_at(FIRST_STAMP),
				       without = {.generation = EMPTY_STAMP + 1,
						  .stamp = EMPTY_STAMP};
	const struct lb_unwind_segment none = {0};
	const uint32_t stamp = SECOND_STAMP;

	set_rule(f, LB_CFA_UNSUPPORTED);
	f->skel->bss->pages_generation++;
	update(f->skel->maps.processes, &f->skel->bss->image, &first);
	tell_change(f);
	assert_int_equal(walk(f, &never), LB_STACK_UNSUPPORTED);
	if (f->is_known)
		update(f->skel->maps.processes, &f->skel->bss->image, &without);
	else
		bpf_map_delete_elem(bpf_map__fd(f->skel->maps.processes),
				    &f->skel->bss->image);
	tell_change(f);
	bpf_map_delete_elem(bpf_map__fd(f->skel->maps.unwind_files), &f->key);
	update(f->skel->maps.segments, &stamp, &none);
	set_rule(f, LB_CFA_END);
	/* While nobody owns the page, nothing is found. */
	assert_int_equal(walk(f, &never), LB_STACK_NO_MAPPING);
	if (!f->is_kept)
		tell_change(f);
}

/* A CPU has its own copies. */
static void stay_on_this_cpu(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	assert_int_equal(sched_setaffinity(0, sizeof(cpu), &cpu), 0);
}

/* In the tests: a setup may not skip. */
static void skip_without_root(const struct fixture *f)
{
	if (f->skel)
		return;
	print_message("skip: loading BPF programs needs root\n");
	skip();
}

static int setup(void **state)
{
	static struct fixture f;
	_cleanup_close_ int fd = memfd_create("text", 0);
	struct stat st;

	*state = &f;
	f = (struct fixture){0};
	if (geteuid() != 0)
		return 0;
	stay_on_this_cpu();
	f.skel = order_bpf__open_and_load();
	assert_non_null(f.skel);
	assert_int_equal(ftruncate(fd, TEXT_BYTES), 0);
	assert_int_equal(fstat(fd, &st), 0);
	f.text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(f.text != MAP_FAILED);
	/* As the kernel encodes a device (MKDEV() of linux/kdev_t.h). */
	f.key = (struct lb_unwind_file_key){
		.inode = st.st_ino,
		.dev = major(st.st_dev) << 20 | minor(st.st_dev),
	};
	f.file = (struct lb_unwind_file){
		.size_bytes = TEXT_BYTES,
		.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
		.first_page = PAGE,
		.nr_pages = 1,
	};
	f.skel->bss->image = (struct lb_image){.tgid = (uint32_t)getpid()};
	f.skel->bss->ip = (uintptr_t)f.text;
	f.skel->bss->stamp = SECOND_STAMP;
	f.skel->bss->run[0] = stamp_of(SECOND_STAMP);
	f.skel->bss->run[1] = segment_of(&f);
	f.skel->bss->process = process_at(SECOND_STAMP);
	f.skel->bss->file_key = f.key;
	f.skel->bss->file = f.file;
	publish(&f, FIRST_STAMP);
	update(f.skel->maps.segments, &(uint32_t){EMPTY_STAMP},
	       &(struct lb_unwind_segment){.start = EMPTY_STAMP + 1});
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->text)
		munmap(f->text, TEXT_BYTES);
	order_bpf__destroy(f->skel);
	return 0;
}

/* The walks that found the new rows, and those that found none. */
struct seen {
	size_t nr_new, nr_none;
};

static uint32_t is_left(uint32_t at, uint32_t nr_points)
{
	return at > nr_points;
}

/* Once all is changed, a walk finds the new rows, whatever an earlier one has kept. */
static void walk_after(struct fixture *f, const struct times *at)
{
	uint32_t nr = f->skel->bss->point_nr;
	const struct times rest = {is_left(at->segments, nr), is_left(at->owner, nr),
				   is_left(at->told, nr)};

	assert_int_equal(walk(f, &rest), LB_STACK_COMPLETE);
}

static void walk_and_note(struct fixture *f, const struct times *at, struct seen *seen)
{
	uint32_t status;

	forget_first(f);
	status = walk(f, at);
	walk_after(f, at);
	if (status == LB_STACK_COMPLETE)
		seen->nr_new++;
	else if (status == LB_STACK_NO_MAPPING)
		seen->nr_none++;
	else
		fail_msg("segments, owner, told at points %u, %u, %u: status %u",
			 at->segments, at->owner, at->told, status);
}

/* Return: how many points there are in a walk that finds the new rows. */
static uint32_t points_of(struct fixture *f, bool is_by_file)
{
	f->skel->bss->is_by_file = is_by_file;
	forget_first(f);
	assert_int_equal(walk(f, &(struct times){1, 1, 1}), LB_STACK_COMPLETE);
	assert_in_range(f->skel->bss->point_nr, 5, MANY);
	return f->skel->bss->point_nr;
}

static void process_gets_the_page(struct fixture *f)
{
	struct seen seen = {0};
	struct times at;
	uint32_t end;

	skip_without_root(f);
	end = points_of(f, false) + 1;

	for (at.told = 1; at.told <= end; at.told++)
		for (at.owner = 1; at.owner <= at.told; at.owner++)
			for (at.segments = 1; at.segments <= at.owner; at.segments++)
				walk_and_note(f, &at, &seen);
	assert_true(seen.nr_new && seen.nr_none);
	print_message("%zu walks found the new rows, %zu none\n", seen.nr_new,
		      seen.nr_none);
}

static void a_new_process_gets_the_page(void **state)
{
	process_gets_the_page(*state);
}

static void a_known_process_gets_the_page(void **state)
{
	struct fixture *f = *state;

	f->is_known = true;
	process_gets_the_page(f);
}

static void a_kept_process_gets_the_page(void **state)
{
	struct fixture *f = *state;

	f->is_known = f->is_kept = true;
	process_gets_the_page(f);
}

/* The kernel's own tree of mappings leads to the file (bpf/mappings.h). */
static void a_file_gets_the_page(void **state)
{
	struct fixture *f = *state;
	struct seen seen = {0};
	struct times at = {0};
	uint32_t end;

	skip_without_root(f);
	end = points_of(f, true) + 1;

	for (at.owner = 1; at.owner <= end; at.owner++)
		for (at.segments = 1; at.segments <= at.owner; at.segments++)
			walk_and_note(f, &at, &seen);
	assert_true(seen.nr_new && seen.nr_none);
	print_message("%zu walks found the new rows, %zu none\n", seen.nr_new,
		      seen.nr_none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_new_process_gets_the_page, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_known_process_gets_the_page, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_kept_process_gets_the_page, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_gets_the_page, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
