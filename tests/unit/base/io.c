// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that are written whole or not at all, and only where the user asked. */
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/scratch.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static const char *in_dir(const char *name)
{
	static char path[4][512];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int write_text(const char *path, const char *text, bool keep_old,
		      struct error *err)
{
	return io_write_file_atomic(path, text, strlen(text), keep_old, err);
}

static void assert_contents(const char *path, const char *wanted)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	assert_int_equal(io_read_file(path, 1 << 20, &text, &len), 0);
	assert_int_equal(len, strlen(wanted));
	assert_string_equal(text, wanted);
}

static size_t count_entries(const char *path)
{
	_cleanup_closedir_ DIR *d = opendir(path);
	size_t nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	return nr - 2;
}

/* ---- reading ---- */

static void test_read_limits(void **state)
{
	static char data[10000];
	struct error err;
	char *text = NULL;
	size_t len = 77;

	(void)state;
	memset(data, 'd', sizeof(data));
	assert_int_equal(
		io_write_file_atomic(in_dir("read"), data, sizeof(data), false, &err), 0);
	assert_int_equal(io_read_file(in_dir("read"), 9999, &text, &len), -EFBIG);
	assert_null(text);
	assert_int_equal(len, 77);
	assert_int_equal(io_read_file(in_dir("read"), 10000, &text, &len), 0);
	assert_int_equal(len, 10000);
	assert_int_equal(text[9999], 'd');
	assert_int_equal(text[10000], '\0');
	free(text);
	text = NULL;
	assert_int_equal(io_read_file(in_dir("none"), 10, &text, &len), -ENOENT);
	assert_int_equal(io_read_file(NULL, 10, &text, &len), -EINVAL);
	assert_int_equal(io_read_file(dir, 10, &text, &len), -EISDIR);
	/* A file without an end. */
	assert_int_equal(io_read_file("/dev/zero", 100000, &text, &len), -EFBIG);
	assert_null(text);
	assert_int_equal(io_read_file("/dev/null", 0, &text, &len), 0);
	assert_int_equal(len, 0);
	assert_string_equal(text, "");
	free(text);
}

/* A pipe is read in pieces. */
static void test_read_pipe(void **state)
{
	_cleanup_free_ char *text = NULL;
	int ends[2];
	size_t len;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 300; i++)
			if (io_write_all(ends[1], "0123456789", 10))
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(io_read_all(ends[0], 3000, &text, &len), 0);
	assert_int_equal(len, 3000);
	assert_memory_equal(text + 2990, "0123456789", 11);
	close(ends[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- writing ---- */

static void test_new_file(void **state)
{
	struct error err;
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(write_text(in_dir("new"), "text", true, &err), 0);
	assert_contents(in_dir("new"), "text");
	assert_int_equal(stat(in_dir("new"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_int_not_equal(access(in_dir("new.old"), F_OK), 0);
	assert_int_equal(write_text(in_dir("empty"), "", true, &err), 0);
	assert_contents(in_dir("empty"), "");
}

static void test_old_is_kept(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(write_text(in_dir("kept"), "first", true, &err), 0);
	assert_int_equal(write_text(in_dir("kept"), "second", true, &err), 0);
	assert_contents(in_dir("kept"), "second");
	assert_contents(in_dir("kept.old"), "first");
	assert_int_equal(write_text(in_dir("kept"), "third", true, &err), 0);
	assert_contents(in_dir("kept.old"), "second");
	assert_int_equal(write_text(in_dir("kept"), "fourth", false, &err), 0);
	assert_contents(in_dir("kept"), "fourth");
	assert_contents(in_dir("kept.old"), "second");
}

/*
 * The default name in a directory that others can write: it may be an attacker's link.
 */
static void test_symlinks(void **state)
{
	struct error err;
	struct stat st;

	(void)state;
	assert_int_equal(write_text(in_dir("victim"), "precious", false, &err), 0);
	assert_int_equal(symlink("victim", in_dir("link")), 0);
	assert_int_equal(symlink("victim", in_dir("link.old")), 0);
	assert_int_equal(write_text(in_dir("link"), "profile", true, &err), 0);
	assert_contents(in_dir("victim"), "precious");
	assert_contents(in_dir("link"), "profile");
	assert_int_equal(lstat(in_dir("link"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	/* A dangling link is not followed either. */
	assert_int_equal(symlink("nowhere", in_dir("dangling")), 0);
	assert_int_equal(write_text(in_dir("dangling"), "profile", false, &err), 0);
	assert_int_not_equal(access(in_dir("nowhere"), F_OK), 0);
	/* The second time the file replaces the link, and does not follow it. */
	assert_int_equal(write_text(in_dir("link"), "newer", true, &err), 0);
	assert_contents(in_dir("victim"), "precious");
	assert_contents(in_dir("link.old"), "profile");
}

static void assert_refused(const char *path, int code, const char *reason)
{
	struct error err = {0};

	assert_int_equal(write_text(path, "x", true, &err), code);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, reason));
	assert_non_null(strstr(err.text, "-o"));
	memset(&err, 0, sizeof(err));
	assert_int_equal(io_check_output(path, &err), code);
	assert_non_null(strstr(err.text, reason));
}

static void test_refused(void **state)
{
	size_t before;

	(void)state;
	assert_int_equal(mkdir(in_dir("directory"), 0700), 0);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(symlink("/proc/self/fd/1", in_dir("stdout")), 0);
	before = count_entries(dir);
	assert_refused(in_dir("directory"), -EEXIST, "a directory");
	assert_refused(in_dir("fifo"), -EEXIST, "a pipe");
	assert_refused(in_dir("stdout"), -EEXIST, "a link to an open file");
	assert_refused(in_dir("missing/file"), -ENOENT, "No such file or directory");
	assert_refused(in_dir("victim/file"), -ENOTDIR, "Not a directory");
	assert_int_equal(count_entries(dir), before);
	assert_contents(in_dir("victim"), "precious");
}

#define NOBODY 65534

static void test_no_permission(void **state)
{
	const char *folder = in_dir("closed");
	struct error err = {0};
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(mkdir(folder, 0500), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(folder, NOBODY, NOBODY) | chmod(dir, 0711), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		/* Root may write everywhere, so drop root. */
		if (geteuid() == 0 &&
		    (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		     setresuid(NOBODY, NOBODY, NOBODY)))
			_exit(1);
		if (write_text(in_dir("closed/file"), "x", true, &err) != -EACCES ||
		    !strstr(err.text, "Permission denied"))
			_exit(2);
		_exit(io_check_output(in_dir("closed/file"), &err) == -EACCES ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* "-o /dev/null" as root must not replace /dev/null. */
static void test_device(void **state)
{
	struct error err = {0};
	struct stat st;

	(void)state;
	if (geteuid()) {
		print_message("only root makes devices\n");
		skip();
	}
	if (mknod(in_dir("null"), S_IFCHR | 0600, makedev(1, 3)) ||
	    mknod(in_dir("full"), S_IFCHR | 0600, makedev(1, 7))) {
		print_message("no devices can be made here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(io_check_output(in_dir("null"), &err), 0);
	assert_int_equal(write_text(in_dir("null"), "profile", true, &err), 0);
	assert_int_equal(lstat(in_dir("null"), &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_not_equal(access(in_dir("null.old"), F_OK), 0);
	assert_int_equal(write_text(in_dir("full"), "profile", true, &err), -ENOSPC);
}

static void test_check_output(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(io_check_output(in_dir("later"), &err), 0);
	assert_int_equal(io_check_output(in_dir("victim"), &err), 0);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(io_check_output("relative", &err), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_not_equal(access(in_dir("later"), F_OK), 0); /* no file was made */
}

static void test_relative_path(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(write_text("relative", "here", true, &err), 0);
	assert_contents(in_dir("relative"), "here");
	assert_int_equal(chdir("/"), 0);
}

static void test_disk_full(void **state)
{
	static char data[1 << 20];
	struct error err = {0};
	const char *mount_point;

	(void)state;
	if (geteuid()) {
		print_message("only root mounts a small disk\n");
		skip();
	}
	mount_point = in_dir("disk");
	assert_int_equal(mkdir(mount_point, 0700), 0);
	if (mount("none", mount_point, "tmpfs", 0, "size=64k")) {
		print_message("no tmpfs can be mounted here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(write_text(in_dir("disk/profile"), "earlier", true, &err), 0);
	assert_int_equal(io_write_file_atomic(in_dir("disk/profile"), data, sizeof(data),
					      true, &err),
			 -ENOSPC);
	assert_non_null(strstr(err.text, "No space left on device"));
	assert_non_null(strstr(err.text, "disk/profile"));
	/* Only the earlier file is there. */
	assert_int_equal(count_entries(in_dir("disk")), 1);
	assert_contents(in_dir("disk/profile"), "earlier");
	assert_int_equal(umount(in_dir("disk")), 0);
}

/* A program that is killed while it writes a file leaves nothing of it. */
static void test_killed(void **state)
{
	const struct rlimit limit = {4096, 4096};
	_cleanup_free_ char *data = calloc(1, 8192);
	struct error err = {0};
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(mkdir(in_dir("killed"), 0700), 0);
	assert_int_equal(write_text(in_dir("killed/p"), "old", false, &err), 0);
	pid = fork();
	if (!pid) {
		/* The write that exceeds the limit kills it: SIGXFSZ. */
		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_FSIZE, &limit);
		io_write_file_atomic(in_dir("killed/p"), data, 8192, false, &err);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
	assert_int_equal(count_entries(in_dir("killed")), 1);
	assert_contents(in_dir("killed/p"), "old");
}

static void test_only_regular_files_are_opened(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	write_text(in_dir("text"), "text", false, NULL);
	fd = io_open_regular(in_dir("text"), &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(close(fd), 0);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(io_open_regular(in_dir("fifo"), &st), -EINVAL);
	assert_int_equal(io_open_regular(in_dir("."), &st), -EINVAL);
	assert_int_equal(io_open_regular("/dev/null", &st), -EINVAL);
	assert_int_equal(io_open_regular("/proc/self/status", &st), -EXDEV);
	assert_int_equal(symlink("/proc/self/status", in_dir("link")), 0);
	assert_int_equal(io_open_regular(in_dir("link"), &st), -EXDEV);
	assert_int_equal(io_open_regular(in_dir("nothing"), &st), -ENOENT);
	assert_int_equal(unlink(in_dir("text")), 0);
	assert_int_equal(unlink(in_dir("fifo")), 0);
	assert_int_equal(unlink(in_dir("link")), 0);
}

static void test_no_link_leads_out_of_a_folder(void **state)
{
	char folder[512];
	struct stat st;
	int fd;

	(void)state;
	snprintf(folder, sizeof(folder), "%s", in_dir("folder"));
	assert_int_equal(mkdir(folder, 0700), 0);
	write_text(in_dir("secret"), "text", false, NULL);
	write_text(in_dir("folder/text"), "texts", false, NULL);
	assert_int_equal(symlink("text", in_dir("folder/in")), 0);
	assert_int_equal(symlink("../secret", in_dir("folder/out")), 0);
	assert_int_equal(symlink("..", in_dir("folder/up")), 0);
	fd = io_open_regular_below(folder, in_dir("folder/in"), &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(close(fd), 0);
	assert_int_equal(io_open_regular_below(folder, in_dir("folder/out"), &st),
			 -ENOLINK);
	assert_int_equal(io_open_regular_below(folder, in_dir("folder/up/secret"), &st),
			 -ENOLINK);
	assert_int_equal(rename(in_dir("secret"), in_dir("folder2")), 0);
	assert_int_equal(io_open_regular_below(folder, in_dir("folder2"), &st), -ENOLINK);
	assert_int_equal(io_open_regular_below(folder, in_dir("none"), &st), -ENOENT);
	assert_int_equal(io_open_regular_below(folder, in_dir("folder"), &st), -ENOLINK);
	fd = io_open_regular_below("", in_dir("folder2"), &st);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(io_open_regular_below("/", "/proc/self/status", &st), -EXDEV);
	assert_int_equal(unlink(in_dir("folder2")), 0);
	assert_int_equal(unlink(in_dir("folder/text")), 0);
	assert_int_equal(unlink(in_dir("folder/in")), 0);
	assert_int_equal(unlink(in_dir("folder/out")), 0);
	assert_int_equal(unlink(in_dir("folder/up")), 0);
	assert_int_equal(rmdir(in_dir("folder")), 0);
}

/* Puts a device and a link to the file @victim at @path, in turn, for ever. */
static _Noreturn void swap_for_ever(const char *path, const char *victim)
{
	for (;;) {
		unlink(path);
		if (mknod(path, S_IFCHR | 0666, makedev(1, 3)))
			_exit(1);
		unlink(path);
		(void)!link(victim, path);
	}
}

/* Whoever owns the folder makes a device of the output, and then a file of others. */
static void test_device_that_becomes_a_file(void **state)
{
	char path[512], victim[512];
	struct error err = {0};
	struct timespec begin, now;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s", in_dir("swapped"));
	snprintf(victim, sizeof(victim), "%s", in_dir("victim"));
	assert_int_equal(write_text(victim, "of others", false, &err), 0);
	if (mknod(path, S_IFCHR | 0666, makedev(1, 3))) {
		print_message("no devices can be made here: %s\n", strerror(errno));
		skip();
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (!pid)
		swap_for_ever(path, victim);
	do {
		write_text(path, "ours", false, &err);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 1 || now.tv_nsec < begin.tv_nsec);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_contents(victim, "of others");
	unlink(path);
	unlink(victim);
}

/* Where a file goes whose folder's path leads to another one by the time it is written. */
static void test_folder(void **state)
{
	struct io_folder f;
	struct error err = {0};

	(void)state;
	assert_int_equal(mkdir(in_dir("others"), 0700), 0);
	assert_int_equal(mkdir(in_dir("out"), 0700), 0);
	assert_int_equal(io_folder_open(in_dir("out/p"), &f), 0);
	assert_int_equal(io_write_file_in(&f, in_dir("out/p"), "a", 1, false, &err), 0);
	assert_contents(in_dir("out/p"), "a");

	/* Moved, and a link has its name. */
	assert_int_equal(rename(in_dir("out"), in_dir("was")), 0);
	assert_int_equal(symlink("others", in_dir("out")), 0);
	assert_int_equal(io_write_file_in(&f, in_dir("out/p"), "b", 1, false, &err), 0);
	assert_contents(in_dir("was/p"), "b");

	/* Removed: a link is not followed, but a folder is. */
	assert_int_equal(unlink(in_dir("was/p")) | rmdir(in_dir("was")), 0);
	assert_int_equal(io_write_file_in(&f, in_dir("out/p"), "c", 1, false, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "its folder was removed"));
	assert_int_equal(count_entries(in_dir("others")), 0);
	assert_int_equal(unlink(in_dir("out")) | mkdir(in_dir("out"), 0700), 0);
	assert_int_equal(io_write_file_in(&f, in_dir("out/p"), "d", 1, false, &err), 0);
	assert_contents(in_dir("out/p"), "d");
	io_folder_close(&f);
	assert_int_equal(io_folder_open(in_dir("missing/p"), &f), -ENOENT);
	assert_int_equal(f.fd, -1);
	assert_int_equal(io_write_file_in(&f, in_dir("missing/p"), "e", 1, false, &err),
			 -ENOENT);
	io_folder_close(&f);
}

/* A link that was there when the folder was opened is the user's. */
static void test_folder_behind_a_link(void **state)
{
	struct io_folder f;
	struct error err = {0};

	(void)state;
	assert_int_equal(mkdir(in_dir("behind"), 0700), 0);
	assert_int_equal(symlink("behind", in_dir("before")), 0);
	assert_int_equal(io_folder_open(in_dir("before/p"), &f), 0);
	assert_int_equal(rmdir(in_dir("behind")) | mkdir(in_dir("behind"), 0700), 0);
	assert_int_equal(io_write_file_in(&f, in_dir("before/p"), "a", 1, false, &err),
			 0);
	assert_contents(in_dir("behind/p"), "a");
	io_folder_close(&f);
}

/* A bit for each descriptor from 3 to 33 that is open. */
static uint32_t open_fds(void)
{
	uint32_t fds = 0;

	for (int fd = 3; fd < 34; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fds |= 1u << (fd - 3);
	return fds;
}

static void test_close_others(void **state)
{
	static const struct {
		int a, b;
	} kept[] = {{3, 4}, {9, 5}, {7, -1}, {-1, 33}, {-1, -1}, {12, 12}, {3, 20}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		int a = kept[i].a, b = kept[i].b, status;
		pid_t pid = fork();

		if (!pid) {
			for (int fd = 3; fd < 34; fd++)
				dup2(STDERR_FILENO, fd);
			io_close_others(a, b);
			_exit(fcntl(STDERR_FILENO, F_GETFD) >= 0 &&
					      open_fds() == ((a < 0 ? 0 : 1u << (a - 3)) |
							     (b < 0 ? 0 : 1u << (b - 3)))
				      ? 0
				      : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_limits),
		cmocka_unit_test(test_read_pipe),
		cmocka_unit_test(test_only_regular_files_are_opened),
		cmocka_unit_test(test_no_link_leads_out_of_a_folder),
		cmocka_unit_test(test_new_file),
		cmocka_unit_test(test_old_is_kept),
		cmocka_unit_test(test_symlinks),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_permission),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_device_that_becomes_a_file),
		cmocka_unit_test(test_check_output),
		cmocka_unit_test(test_relative_path),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_folder_behind_a_link),
		cmocka_unit_test(test_close_others),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
