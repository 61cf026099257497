// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/window_files.h"
#include "lib/scratch.h"

/* 2026-11-21 16:00:00 UTC: "date -u -d @1795276800" */
#define BEGIN_S INT64_C(1795276800)

static void expect_path(const char *output, int64_t begin_s, uint32_t number,
			const char *path)
{
	struct window_id id = {.begin_s = begin_s, .number = number}, back;
	const char *slash = strrchr(path, '/');
	char text[PATH_MAX];

	assert_int_equal(window_path(output, &id, text, sizeof(text)), 0);
	assert_string_equal(text, path);
	assert_true(window_of_name(output, slash ? slash + 1 : path, &back));
	assert_int_equal(window_compare(&id, &back), 0);
}

static void names(void **state)
{
	(void)state;
	expect_path("lineburn.pb.gz", BEGIN_S, 1, "lineburn.20261121T160000Z.pb.gz");
	expect_path("/a.b/c.pb.gz", BEGIN_S + 59, 2, "/a.b/c.20261121T160059Z_02.pb.gz");
	expect_path("x", BEGIN_S, WINDOW_MAX_NUMBER, "x.20261121T160000Z_99999.pb.gz");
	expect_path("d/.pb.gz", 0, 1, "d/.pb.gz.19700101T000000Z.pb.gz");
	/* A leap day, and the last second of year 9999. */
	expect_path("x", 1709164800, 1, "x.20240229T000000Z.pb.gz");
	expect_path("x", INT64_C(253402300799), 1, "x.99991231T235959Z.pb.gz");
}

static void names_of_others(void **state)
{
	static const char *const others[] = {
		"lineburn.pb.gz",
		"lineburn.pb.gz.old",
		"lineburn.20261121T160000Z.pb",
		"lineburn.20261121T160000.pb.gz",
		"lineburn.20261121T160000Z_2.pb.gz",
		"lineburn.20261121T160000Z_01.pb.gz",
		"lineburn.20261121T160000Z_123456.pb.gz",
		"lineburn.20261121T160000Z_-2.pb.gz",
		"lineburn.20261121T160000Z_02.pb.gz.old",
		"lineburn.20261321T160000Z.pb.gz", /* invalid month */
		"lineburn.20260230T160000Z.pb.gz", /* invalid day */
		"lineburn. 2026121T160000Z.pb.gz",
		"lineburn.2026112.T160000Z.pb.gz",
		"lineburn2.20261121T160000Z.pb.gz",
		"xlineburn.20261121T160000Z.pb.gz",
		"",
	};
	struct window_id id;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (window_of_name("dir/lineburn.pb.gz", others[i], &id))
			fail_msg("%s is taken for one of ours", others[i]);
}

static void names_that_are_too_long(void **state)
{
	struct window_id id = {.begin_s = BEGIN_S, .number = 1};
	char output[NAME_MAX + 1], path[PATH_MAX];

	(void)state;
	memset(output, 'a', sizeof(output));
	output[NAME_MAX - 24] = '\0'; /* ".20261121T160000Z.pb.gz" has 23 */
	assert_int_equal(window_path(output, &id, path, sizeof(path)), 0);
	assert_int_equal(window_path(output, &id, path, 255 - 1), -ENAMETOOLONG);
	output[NAME_MAX - 24] = 'a';
	output[NAME_MAX - 22] = '\0';
	assert_int_equal(window_path(output, &id, path, sizeof(path)), -ENAMETOOLONG);
}

/* File names sort by time and number. */
static void order(void **state)
{
	static const struct window_id ids[] = {
		{.begin_s = BEGIN_S, .number = 1},     {.begin_s = BEGIN_S, .number = 2},
		{.begin_s = BEGIN_S, .number = 10},    {.begin_s = BEGIN_S, .number = 99},
		{.begin_s = BEGIN_S + 1, .number = 1},
	};
	char before[PATH_MAX], path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		window_path("x", &ids[i], path, sizeof(path));
		if (i) {
			assert_true(strcmp(before, path) < 0);
			assert_true(window_compare(&ids[i - 1], &ids[i]) < 0);
			assert_true(window_compare(&ids[i], &ids[i - 1]) > 0);
		}
		strcpy(before, path);
	}
}

/*
 * @windows  the window of each file, oldest first; '.': of an earlier run, one a second
 * @sizes    of them, a digit each
 * @want     'x' for what goes
 */
static void expect_surplus(const char *windows, const char *sizes, size_t keep,
			   uint64_t max_bytes, const char *want)
{
	struct window_turn files[32];
	char got[33] = "";
	size_t nr = strlen(windows);

	for (size_t i = 0; i < nr; i++)
		files[i] = (struct window_turn){
			.id.begin_s = windows[i] == '.' ? (int64_t)i : 0,
			.window = windows[i] == '.' ? 0 : (uint64_t)windows[i],
			.bytes = (uint64_t)(sizes[i] - '0')};
	window_find_surplus(files, nr, keep, max_bytes);
	for (size_t i = 0; i < nr; i++)
		got[i] = files[i].is_surplus ? 'x' : '-';
	assert_string_equal(got, want);
}

static void surplus(void **state)
{
	(void)state;
	expect_surplus("abcde", "12345", 0, 0, "-----");
	expect_surplus("abcde", "12345", 5, 0, "-----");
	expect_surplus("abcde", "12345", 2, 0, "xxx--");
	expect_surplus("abcde", "12345", 9, 0, "-----");
	expect_surplus("abcde", "12345", 0, 15, "-----");
	expect_surplus("abcde", "12345", 0, 14, "x----");
	expect_surplus("abcde", "12345", 0, 12, "xx---");
	expect_surplus("abcde", "12345", 0, 8, "xxxx-");
	expect_surplus("abcde", "12345", 1, 12, "xxxx-");
	/* The newest file stays, however large it is. */
	expect_surplus("abcde", "12345", 0, 1, "xxxx-");
	expect_surplus("", "", 1, 1, "");
	/* Files of an earlier run: those of one second are of one window. */
	expect_surplus("..a", "111", 2, 0, "x--");
}

/* However many files a window has, and however large they are, others stay. */
static void windows_leave_room_to_others(void **state)
{
	(void)state;
	/* All files of a window count as one. */
	expect_surplus("abbbc", "11111", 3, 0, "-----");
	expect_surplus("aabbbcd", "1111111", 3, 0, "xx-----");
	/* Four files for each of three windows. */
	expect_surplus("abbbbbbbbbbb", "111111111111", 3, 0, "------------");
	expect_surplus("abbbbbbbbbbbb", "1111111111111", 3, 0, "-x-----------");
	expect_surplus("abbbbbbbbbbbbc", "11111111111111", 3, 0, "-xx-----------");
	expect_surplus("abbbbbbbbccccccc", "1111111111111111", 3, 0, "-xxxx-----------");
	/* Three bytes for each of four windows. */
	expect_surplus("abbbc", "33333", 4, 12, "-x---");
	expect_surplus("abc", "391", 4, 12, "-x-");
	expect_surplus("abcd", "3192", 4, 12, "--x-");
	expect_surplus("abcd", "3129", 4, 12, "x---");
	/* The oldest of those that have more. */
	expect_surplus("abcd", "1553", 4, 12, "-x--");
}

/* ---- real files ---- */

static size_t count_files(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	size_t nr = 0;

	while ((entry = readdir(d)))
		nr += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(d);
	return nr;
}

static struct window_id write_one(struct window_files *w, int64_t begin_s,
				  const char *text)
{
	struct window_id id = {0};
	struct error err = {0};

	if (window_files_write(w, begin_s, &id, text, strlen(text), &err))
		fail_msg("%s", err.text);
	return id;
}

static bool is_there(const struct window_files *w, const struct window_id *id)
{
	char path[PATH_MAX];

	window_path(w->output, id, path, sizeof(path));
	return !access(path, F_OK);
}

static void remove_all(const char *dir)
{
	scratch_remove(dir);
}

static void who_may_read(void **state)
{
	char dir[SCRATCH_BYTES], output[64], path[PATH_MAX];

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	for (int group = 0; group < 2; group++) {
		struct window_files w = {.output = output, .group_reads = group};
		struct window_id id = write_one(&w, BEGIN_S, "a");
		struct stat st;

		window_path(output, &id, path, sizeof(path));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, group ? 0640 : 0600);
		window_files_deinit(&w);
	}
	remove_all(dir);
}

/* If the clock was set back, the newest file must not count as the oldest. */
static void files_are_kept_by_age(void **state)
{
	char dir[SCRATCH_BYTES], output[64], other[64];
	struct window_files w = {.output = output, .keep = 3};
	struct window_id ids[6], snapshot;
	struct error err = {0};

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	snprintf(other, sizeof(other), "%s/p.keep.pb.gz", dir);
	assert_int_equal(close(creat(other, 0600)), 0);

	/* Two files in one second, then one after the clock was set back a day. */
	ids[0] = write_one(&w, BEGIN_S, "a");
	ids[1] = write_one(&w, BEGIN_S, "b");
	assert_int_equal(ids[1].number, 2);
	ids[2] = write_one(&w, BEGIN_S + 1, "c");
	assert_int_equal(count_files(dir), 4);
	ids[3] = write_one(&w, BEGIN_S - 86400, "d");
	assert_false(is_there(&w, &ids[0]));
	assert_true(is_there(&w, &ids[1]));
	assert_true(is_there(&w, &ids[3]));
	ids[4] = write_one(&w, BEGIN_S - 86399, "e");
	assert_false(is_there(&w, &ids[1]));
	assert_true(is_there(&w, &ids[3]));
	/* Writing a window again replaces its file. */
	snapshot = ids[4];
	assert_int_equal(window_files_write(&w, BEGIN_S, &snapshot, "ee", 2, &err), 0);
	assert_int_equal(count_files(dir), 4);
	window_files_deinit(&w);

	/* In a later run existing files count as older; others' files do not. */
	w = (struct window_files){.output = output, .max_bytes = 3};
	ids[5] = write_one(&w, BEGIN_S - 90000, "f");
	assert_true(is_there(&w, &ids[5]));
	assert_true(is_there(&w, &ids[2]));
	assert_false(is_there(&w, &ids[3]));
	assert_int_equal(access(other, F_OK), 0);
	window_files_deinit(&w);
	remove_all(dir);
}

static struct window_id write_more(struct window_files *w, int64_t begin_s)
{
	struct window_id id = {.goes_on = true};
	struct error err = {0};

	if (window_files_write(w, begin_s, &id, "m", 1, &err))
		fail_msg("%s", err.text);
	return id;
}

/* Whoever fills the memory makes many files, but takes the place of no other window. */
static void files_of_a_window_share_its_name_and_place(void **state)
{
	char dir[SCRATCH_BYTES], output[64];
	struct window_files w = {.output = output, .keep = 2};
	struct window_id old, first, more[9], next;

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	old = write_one(&w, BEGIN_S, "a");
	first = write_one(&w, BEGIN_S + 60, "b");
	for (uint32_t i = 0; i < 9; i++) {
		more[i] = write_more(&w, BEGIN_S + 61 + i);
		assert_int_equal(more[i].begin_s, BEGIN_S + 60);
		assert_int_equal(more[i].number, i + 2); /* also if one is removed */
	}
	assert_int_equal(count_files(dir), 8);
	assert_true(is_there(&w, &old));
	assert_false(is_there(&w, &first) || is_there(&w, &more[1]));
	assert_true(is_there(&w, &more[2]));
	next = write_one(&w, BEGIN_S + 120, "c");
	assert_false(is_there(&w, &old));
	assert_true(is_there(&w, &more[2]) && is_there(&w, &next));
	window_files_deinit(&w);

	/* They are one window in a later run, too. */
	w = (struct window_files){.output = output, .keep = 3};
	write_one(&w, BEGIN_S + 180, "d");
	assert_int_equal(count_files(dir), 9);
	write_one(&w, BEGIN_S + 240, "e");
	assert_int_equal(count_files(dir), 3);
	window_files_deinit(&w);
	remove_all(dir);
}

static void failures_are_said(void **state)
{
	char dir[SCRATCH_BYTES], output[64], sub[64];
	struct window_files w = {.output = output, .keep = 1};
	struct window_id id = {0};
	struct error err = {0};

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/sub/p.pb.gz", dir);
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	assert_int_equal(window_files_write(&w, BEGIN_S, &id, "a", 1, &err), -ENOENT);
	assert_int_equal(id.number, 0);
	assert_non_null(strstr(err.text, "cannot write"));
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(window_files_write(&w, BEGIN_S, &id, "a", 1, &err), 0);
	assert_true(is_there(&w, &id));
	/* A removed directory is opened again when it exists again. */
	remove_all(sub);
	id = (struct window_id){0};
	assert_int_equal(window_files_write(&w, BEGIN_S, &id, "a", 1, &err), -ENOENT);
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(window_files_write(&w, BEGIN_S, &id, "a", 1, &err), 0);
	assert_true(is_there(&w, &id));
	window_files_deinit(&w);
	remove_all(dir);
}

static size_t count_in(const char *dir, const char *sub)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", dir, sub);
	return count_files(path);
}

static void in_folder(const char *dir, const char *from, const char *to,
		      int (*act)(const char *, const char *))
{
	char a[96], b[96];

	snprintf(a, sizeof(a), "%s/%s", dir, from);
	snprintf(b, sizeof(b), "%s/%s", dir, to);
	assert_int_equal(act(a, b), 0);
}

/* Files go to the opened directory until it is opened by name again. */
static void the_folder_is_not_what_has_its_name(void **state)
{
	char dir[SCRATCH_BYTES], output[64], sub[64];
	struct window_files w = {.output = output, .keep = 2};

	(void)state;
	scratch_make(dir, 0700);
	snprintf(sub, sizeof(sub), "%s/logs", dir);
	snprintf(output, sizeof(output), "%s/logs/p.pb.gz", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	snprintf(sub, sizeof(sub), "%s/evil", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(window_files_open(&w), 0);
	write_one(&w, BEGIN_S, "a");
	in_folder(dir, "logs", "moved", rename);
	in_folder(dir, "evil", "logs", symlink);
	write_one(&w, BEGIN_S + 1, "b");
	write_one(&w, BEGIN_S + 2, "c");
	assert_int_equal(count_in(dir, "moved"), 2);
	assert_int_equal(count_in(dir, "evil"), 0);
	/* Opened by name again: now the directory that has the name. */
	assert_int_equal(window_files_open(&w), 0);
	write_one(&w, BEGIN_S + 3, "d");
	assert_int_equal(count_in(dir, "moved"), 2);
	assert_int_equal(count_in(dir, "evil"), 1);
	/* The name is gone: the opened directory is kept. */
	snprintf(sub, sizeof(sub), "%s/logs", dir);
	assert_int_equal(unlink(sub), 0);
	assert_int_equal(window_files_open(&w), -ENOENT);
	write_one(&w, BEGIN_S + 4, "e");
	assert_int_equal(count_in(dir, "evil"), 2);
	window_files_deinit(&w);
	remove_all(dir);
}

/*
 * Two recordings neither overwrite nor remove each other's files. Files of ended
 * recordings may be removed.
 */
static void two_recordings_of_one_name(void **state)
{
	char dir[SCRATCH_BYTES], output[64];
	struct window_files a = {.output = output, .keep = 2}, b = a, c = a;
	struct window_id ids[3], others[3], left;

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	left = write_one(&c, BEGIN_S - 1, "left");
	window_files_deinit(&c);

	ids[0] = write_one(&a, BEGIN_S, "a");
	others[0] = write_one(&b, BEGIN_S, "b");
	assert_int_equal(ids[0].number, 1);
	assert_int_equal(others[0].number, 2);
	assert_true(is_there(&a, &left));
	for (int i = 1; i < 3; i++) {
		ids[i] = write_one(&a, BEGIN_S + i, "a");
		others[i] = write_one(&b, BEGIN_S + i, "b");
	}
	assert_int_equal(count_files(dir), 4);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(is_there(&a, &ids[i]), i > 0);
		assert_int_equal(is_there(&b, &others[i]), i > 0);
	}
	window_files_deinit(&a);
	window_files_deinit(&b);
	/* Both have ended: their files count, those of a second as one window's. */
	write_one(&c, BEGIN_S + 9, "c");
	assert_int_equal(count_files(dir), 3);
	assert_false(is_there(&c, &ids[1]));
	assert_true(is_there(&c, &ids[2]) && is_there(&c, &others[2]));
	window_files_deinit(&c);
	remove_all(dir);
}

/* The group of a file may read it: it cannot keep it from being removed. */
static void readers_are_no_writers(void **state)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char dir[SCRATCH_BYTES], output[64], path[PATH_MAX];
	struct window_files a = {.output = output}, b = {.output = output, .keep = 1};
	struct window_id id;
	int fd, other;

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	id = write_one(&a, BEGIN_S, "a");
	window_files_deinit(&a);
	window_path(output, &id, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	other = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(fcntl(other, F_OFD_SETLK, &lock), 0);
	write_one(&b, BEGIN_S + 1, "b");
	assert_int_equal(count_files(dir), 1);
	close(fd);
	close(other);
	window_files_deinit(&b);
	remove_all(dir);
}

/*
 * While one process lists the files, a recording writes the next and unlocks the last.
 */
static void a_recording_is_seen_between_its_files(void **state)
{
	char dir[SCRATCH_BYTES], output[64];
	struct window_files a = {.output = output, .keep = 3}, b;
	int status;
	pid_t writer;

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	write_one(&a, BEGIN_S, "a");
	writer = fork();
	assert_true(writer >= 0);
	if (!writer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1;; i++)
			write_one(&a, BEGIN_S + i, "a");
	}
	/* Close the lock on the first file here, so that only the writer has it. */
	window_files_deinit(&a);
	for (int i = 0; i < 500; i++) {
		b = (struct window_files){.output = output, .keep = 2};
		assert_int_equal(window_files_open(&b), 0);
		assert_int_equal(b.nr_turns, 0);
		window_files_deinit(&b);
	}
	assert_int_equal(kill(writer, SIGKILL), 0);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	remove_all(dir);
}

/* The memory is bounded for any number of files, also if others remove them. */
static void what_is_remembered_is_bounded(void **state)
{
	char dir[SCRATCH_BYTES], output[64], path[PATH_MAX];
	struct window_files w = {.output = output, .keep = 3};
	struct window_id id;

	(void)state;
	scratch_make(dir, 0700);
	snprintf(output, sizeof(output), "%s/p.pb.gz", dir);
	for (int i = 0; i < 100; i++) {
		id = write_one(&w, BEGIN_S + i, "a");
		if (i % 2) {
			window_path(output, &id, path, sizeof(path));
			assert_int_equal(unlink(path), 0);
		}
	}
	assert_true(w.nr_turns <= 4);
	assert_int_equal(count_files(dir), 2); /* the newest was removed */
	window_files_deinit(&w);

	/* Without limits names are remembered, so that none is used twice. */
	w = (struct window_files){.output = output};
	id = write_one(&w, BEGIN_S + 200, "a");
	window_path(output, &id, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write_one(&w, BEGIN_S + 200, "b").number, 2);
	window_files_deinit(&w);
	remove_all(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(names_of_others),
		cmocka_unit_test(names_that_are_too_long),
		cmocka_unit_test(order),
		cmocka_unit_test(surplus),
		cmocka_unit_test(windows_leave_room_to_others),
		cmocka_unit_test(who_may_read),
		cmocka_unit_test(files_are_kept_by_age),
		cmocka_unit_test(files_of_a_window_share_its_name_and_place),
		cmocka_unit_test(failures_are_said),
		cmocka_unit_test(the_folder_is_not_what_has_its_name),
		cmocka_unit_test(two_recordings_of_one_name),
		cmocka_unit_test(readers_are_no_writers),
		cmocka_unit_test(a_recording_is_seen_between_its_files),
		cmocka_unit_test(what_is_remembered_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
