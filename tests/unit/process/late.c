// SPDX-License-Identifier: GPL-2.0-or-later
/* What could not be looked at, or opened, for a while is not lost for good. */
#include "process/table.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_proc.h"
#include "process/image.h"

#define TICK 10000000ull
#define LINE "00400000-00500000 r-xp 00001000 00:01 11 /bin/fake\n"
/* Longer than an image pauses whose files were late. */
#define LATER_NS (11 * CLOCK_SECOND_NS)

static struct fake_proc fake;
static struct strpool *pool;
static struct process_table *table;
static uint64_t now; /* after the last scan */

static int setup(void **state)
{
	struct process_table_config config = {.proc_path = fake.proc};

	(void)state;
	fake_proc_init(&fake);
	fake_process_add(&fake, &(struct fake_process){
					.pid = 100, .start_ticks = 77, .maps = LINE});
	fake_map_file(&fake, 100, 0x400000, 0x500000, "mapped");
	pool = strpool_new(1 << 24);
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	now = fake_now_ns();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	process_table_free(table);
	table = NULL;
	strpool_free(pool);
	fake_proc_deinit(&fake);
	return 0;
}

static const char *stat_path(const char *name)
{
	static char paths[2][160];
	char *path = paths[!strcmp(name, "stat")];

	snprintf(path, sizeof(paths[0]), "%s/100/%s", fake.proc, name);
	return path;
}

/* The process is there, but nothing can be read of it. */
static void hide(void)
{
	assert_int_equal(rename(stat_path("stat"), stat_path("hidden")), 0);
	assert_int_equal(mkdir(stat_path("stat"), 0700), 0);
}

static void show(void)
{
	assert_int_equal(rmdir(stat_path("stat")), 0);
	assert_int_equal(rename(stat_path("hidden"), stat_path("stat")), 0);
}

static const char *content_of(const struct process *p)
{
	const struct target_file *file = p->maps.items[0].file;

	return file ? fake_content(file->fd) : "(not yet)";
}

static const struct process *sample(void)
{
	const struct process *p =
		process_table_first_sample(table, IMAGE(100, 77 * TICK, 1), now);

	assert_non_null(p);
	return p;
}

static void a_process_that_was_late_has_not_ended(void **state)
{
	const struct process *p;
	uint64_t failed_ns;

	(void)state;
	hide();
	p = sample();
	assert_true(p->until_ns == UINT64_MAX);
	assert_string_equal(content_of(p), "(not yet)");
	assert_string_equal(p->owner.exe, "/bin/fake");
	failed_ns = fake_now_ns();
	process_table_refresh(table, failed_ns + LATER_NS);
	assert_true(p->until_ns == UINT64_MAX);
	show();
	/* Not at once: a user may have many such processes. */
	process_table_refresh(table, failed_ns);
	assert_string_equal(content_of(p), "(not yet)");
	process_table_refresh(table, fake_now_ns() + LATER_NS);
	assert_true(p->until_ns == UINT64_MAX);
	assert_string_equal(content_of(p), "mapped");
}

/* Its exit event may have been lost, or not. */
static void a_late_answer_is_no_exit(void **state)
{
	struct task_event lost = {.kind = TASK_EVENT_LOST, .time_ns = now};
	const struct process *p = process_table_newest(table, 100);

	(void)state;
	hide();
	process_table_event(table, &lost);
	process_table_expire(table, now);
	assert_true(p->until_ns == UINT64_MAX);
	show();
	fake_process_remove(&fake, 100);
	process_table_event(table, &lost);
	process_table_expire(table, now);
	assert_true(p->until_ns != UINT64_MAX);
}

/* Others who open its file get EAGAIN, until that is closed. Return: a descriptor. */
static int lease(void)
{
	char path[160];
	int fd;

	signal(SIGIO, SIG_IGN);
	snprintf(path, sizeof(path), "%s/100/map_files/400000-500000", fake.proc);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (fcntl(fd, F_SETLEASE, F_WRLCK)) {
		print_message("skipped: the file system of %s has no leases\n",
			      fake.path);
		skip();
	}
	return fd;
}

static void a_file_that_was_late_is_tried_again(void **state)
{
	int fd = lease();
	const struct process *p = sample();

	(void)state;
	assert_string_equal(content_of(p), "(not yet)");
	close(fd);
	/* Not at once: a process may have many such files. */
	process_table_refresh(table, now);
	assert_string_equal(content_of(p), "(not yet)");
	process_table_refresh(table, fake_now_ns() + LATER_NS);
	assert_string_equal(content_of(p), "mapped");
}

/* What it maps next is opened at once. */
static void a_new_file_does_not_wait_for_a_late_one(void **state)
{
	struct task_event ev = {.kind = TASK_EVENT_MMAP,
				.pid = 100,
				.start = 0x600000,
				.end = 0x700000,
				.prot = 5,
				.name = "/lib/new"};
	int fd = lease();
	const struct process *p = sample();

	(void)state;
	ev.time_ns = fake_now_ns();
	process_table_event(table, &ev);
	fake_map_file(&fake, 100, 0x600000, 0x700000, "new");
	assert_true(process_table_open_new(table, fake_now_ns()));
	assert_int_equal(p->maps.nr, 2);
	assert_string_equal(content_of(p), "(not yet)");
	assert_string_equal(fake_content(p->maps.items[1].file->fd), "new");
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_that_was_late_has_not_ended),
		TEST(a_late_answer_is_no_exit),
		TEST(a_file_that_was_late_is_tried_again),
		TEST(a_new_file_does_not_wait_for_a_late_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
