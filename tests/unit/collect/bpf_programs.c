// SPDX-License-Identifier: GPL-2.0-or-later
/* A BPF program that comes and goes is listed and told, with its addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/bpf_programs.h"
#include "collect/task_ring.h"

#define NAME   "lb_test_program"
#define FIRST  "lb_test_first"
#define SECOND "lb_test_second"

/* What is told of one function. */
struct told {
	uint64_t start; /* 0: of the function with that name */
	uint64_t end;
	size_t nr_listed, nr_added, nr_removed;
	uint64_t added_ns, removed_ns;
};

static void hear(void *ctx, const struct task_event *ev)
{
	struct told *told = ctx;

	if (ev->kind != TASK_EVENT_KERNEL_CODE && ev->kind != TASK_EVENT_KERNEL_CODE_END)
		return;
	if (!told->start && ev->name && strstr(ev->name, "_" NAME)) {
		told->start = ev->start;
		told->end = ev->end;
	}
	if (ev->start != told->start || ev->end != told->end)
		return;
	if (!ev->name) {
		told->nr_listed++;
	} else if (!strstr(ev->name, "_" NAME)) {
		return; /* another program that came to its place */
	} else if (ev->kind == TASK_EVENT_KERNEL_CODE) {
		told->nr_added++;
		told->added_ns = ev->time_ns;
	} else {
		told->nr_removed++;
		told->removed_ns = ev->time_ns;
	}
}

/* Returns the address of the kernel symbol with that name; 0: there is none. */
static uint64_t symbol(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long ip;
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "_" NAME "\t[bpf]") && sscanf(line, "%llx", &ip) == 1)
			return ip;
	return 0;
}

static bool has_jit(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/net/core/bpf_jit_enable", "r");

	return !f || fgetc(f) != '0';
}

static int load_program(const char *name)
{
	const struct bpf_insn none[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, name, "GPL", none,
			     ARRAY_SIZE(none), NULL);
}

static void programs_come_and_go(void **state)
{
	/* The kernel writes each ring's record a little differently. */
	_cleanup_(task_ring_freep) struct task_ring *first = NULL, *ring = NULL,
						    *last = NULL;
	_cleanup_close_ int prog = -1;
	struct told told = {0};
	struct error err = {0};
	uint64_t ip, begin_ns;

	(void)state;
	if (geteuid() != 0 || !has_jit()) {
		print_message("skip: needs root, and a kernel that compiles BPF\n");
		skip();
	}
	if (task_ring_new(&first, &err) || task_ring_new(&ring, &err) ||
	    task_ring_new(&last, &err))
		fail_msg("%s", err.text);
	begin_ns = clock_now_ns();
	prog = load_program(NAME);
	assert_true(prog >= 0);
	ip = symbol();
	task_ring_read(ring, hear, &told);
	assert_int_equal(told.nr_added, 1);
	assert_int_equal(told.start, ip);
	assert_true(told.end > told.start && told.end < told.start + 4096);
	assert_int_equal(bpf_programs_list(hear, &told), 0);
	assert_int_equal(told.nr_listed, 1);
	cleanup_closep(&prog);
	/* The kernel tells it when the last reference goes, maybe a little later. */
	for (int i = 0; i < 1000 && !told.nr_removed; i++) {
		usleep(10000);
		task_ring_read(ring, hear, &told);
	}
	assert_int_equal(told.nr_removed, 1);
	assert_true(told.added_ns > begin_ns && told.removed_ns > told.added_ns);
	for (size_t i = 0; i < 2; i++) {
		struct told other = {0};

		task_ring_read(i ? last : first, hear, &other);
		assert_in_range(other.added_ns, begin_ns, told.removed_ns - 1);
		assert_in_range(other.removed_ns, told.added_ns + 1, clock_now_ns());
	}
}

/* What a handler gets while it gathers more. */
struct gathering {
	struct task_ring *ring;
	int prog; /* -1: to be loaded while the first is told */
	size_t nr_first, nr_second;
};

static void hear_and_gather(void *ctx, const struct task_event *ev)
{
	struct gathering *g = ctx;

	if (ev->kind != TASK_EVENT_KERNEL_CODE || !ev->name)
		return;
	g->nr_second += strstr(ev->name, "_" SECOND) != NULL;
	if (!strstr(ev->name, "_" FIRST))
		return;
	g->nr_first++;
	g->prog = load_program(SECOND);
	assert_true(g->prog >= 0);
	task_ring_gather(g->ring);
	assert_non_null(strstr(ev->name, "_" FIRST));
}

static void a_ring_is_emptied_while_a_handler_waits(void **state)
{
	_cleanup_(task_ring_freep) struct task_ring *ring = NULL;
	_cleanup_close_ int prog = -1;
	struct gathering g = {.prog = -1};
	struct error err = {0};

	(void)state;
	if (geteuid() != 0 || !has_jit()) {
		print_message("skip: needs root, and a kernel that compiles BPF\n");
		skip();
	}
	if (task_ring_new(&ring, &err))
		fail_msg("%s", err.text);
	g.ring = ring;
	prog = load_program(FIRST);
	assert_true(prog >= 0);
	task_ring_read(ring, hear_and_gather, &g);
	assert_int_equal(g.nr_first, 1);
	assert_int_equal(g.nr_second, 0);
	task_ring_read(ring, hear_and_gather, &g);
	assert_int_equal(g.nr_first, 1);
	assert_int_equal(g.nr_second, 1);
	cleanup_closep(&g.prog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_come_and_go),
		cmocka_unit_test(a_ring_is_emptied_while_a_handler_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
