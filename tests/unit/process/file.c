// SPDX-License-Identifier: GPL-2.0-or-later
/* Files placed by other users: each must be refused with the right error. */
#include "process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_proc.h"

#define OWNED (LOOK_OWNED | LOOK_NOFOLLOW)

static struct fake_proc fake;
static int root_dir = -1;

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&fake);
	root_dir = open(fake.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_dir < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_dir);
	fake_proc_deinit(&fake);
	return 0;
}

static const char *in_root(const char *path)
{
	static char full[256];

	snprintf(full, sizeof(full), "%s%s", fake.root, path);
	return full;
}

static void put(const char *path, const char *text)
{
	fake_write(text, strlen(text), "%s%s", fake.root, path);
}

static void link_to(const char *target, const char *path)
{
	assert_int_equal(symlink(target, in_root(path)), 0);
}

/* Opens and closes a file. Return: 0, or -errno. */
static int try(const char *path, unsigned int flags)
{
	struct safe_open how = {
		.root_fd = root_dir,
		.path = path,
		.flags = flags,
		.uid = geteuid(),
		.gid = getegid(),
		.root_uid = geteuid(),
		.max_bytes = 1 << 20,
	};
	int fd = safe_open(&how, NULL);

	if (fd < 0)
		return fd;
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	return 0;
}

static void good_files_open(void **state)
{
	struct safe_open how = {.root_fd = root_dir, .path = "/tmp/perf-1.map"};
	int fd;

	(void)state;
	put("/tmp/perf-1.map", "content");
	assert_int_equal(try("/tmp/perf-1.map", 0), 0);
	assert_int_equal(try("/tmp/perf-1.map", OWNED), 0);
	assert_int_equal(try("/tmp/perf-1.map", OWNED | LOOK_AS_OWNER), 0);
	fd = safe_open(&how, NULL);
	assert_string_equal(fake_content(fd), "content");
	close(fd);
}

static void hostile_kinds_are_refused(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(mkfifo(in_root("/tmp/fifo"), 0600), 0);
	assert_int_equal(mkdir(in_root("/tmp/dir"), 0700), 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/tmp/sock", fake.root);
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	alarm(60); /* the test fails if a FIFO blocks */
	assert_int_equal(try("/tmp/fifo", OWNED), -EINVAL);
	assert_int_equal(try("/tmp/fifo", 0), -EINVAL);
	alarm(0);
	assert_int_equal(try("/tmp/dir", OWNED), -EINVAL);
	assert_int_equal(try("/tmp/sock", OWNED), -EINVAL);
	assert_int_equal(try("/tmp/none", OWNED), -ENOENT);
	assert_int_equal(try("/tmp/none/deeper", OWNED), -ENOENT);
	assert_int_equal(try("", OWNED), -ENOENT);
	assert_int_equal(try("/", OWNED), -EINVAL);
	close(sock);
}

/* Waits up to a minute for the process to block in open(2). Return: whether it does. */
static bool sleeps(pid_t pid)
{
	const struct timespec moment = {.tv_nsec = 10000000};
	char path[64], state = '?';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 6000 && state != 'S' && state != 'Z'; i++) {
		FILE *f = fopen(path, "re");

		nanosleep(&moment, NULL);
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = '?';
		if (f)
			fclose(f);
	}
	return state == 'S';
}

/* Our open must not wake a writer that waits for a reader of its FIFO. */
static void fifo_writer_is_not_woken(void **state)
{
	pid_t writer;
	int status;

	(void)state;
	assert_int_equal(mkfifo(in_root("/tmp/fifo2"), 0600), 0);
	writer = fork();
	if (!writer) {
		alarm(60);
		_exit(open(in_root("/tmp/fifo2"), O_WRONLY) < 0);
	}
	assert_true(sleeps(writer));
	assert_int_equal(try("/tmp/fifo2", 0), -EINVAL);
	assert_true(sleeps(writer));
	assert_int_equal(waitpid(writer, &status, WNOHANG), 0);
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
}

static void symlinks_stay_inside(void **state)
{
	(void)state;
	put("/inside", "inside");
	link_to("/etc/shadow", "/tmp/shadow");
	link_to("/inside", "/tmp/absolute");
	link_to("../inside", "/tmp/relative");
	link_to("../../../../../../inside", "/tmp/climbing");
	link_to("loop-b", "/tmp/loop-a");
	link_to("loop-a", "/tmp/loop-b");
	link_to("/proc/self/root", "/tmp/magic");

	/* The target's root has no such file: the link must not lead to the host's. */
	assert_int_equal(try("/tmp/shadow", 0), -ENOENT);
	assert_int_equal(try("/tmp/shadow", OWNED), -ELOOP);
	assert_int_equal(try("/tmp/absolute", 0), 0);
	assert_int_equal(try("/tmp/absolute", OWNED), -ELOOP);
	assert_int_equal(try("/tmp/relative", 0), 0);
	assert_int_equal(try("/tmp/climbing", 0), 0);
	assert_int_equal(try("/tmp/loop-a", 0), -ELOOP);
	assert_int_equal(try("/tmp/loop-a", OWNED), -ELOOP);
	assert_int_equal(try("/../../../../../etc/passwd", 0), -ENOENT);
	assert_int_equal(try("/tmp/../../../inside", 0), 0);
	assert_int_equal(try("/tmp/magic/etc/passwd", 0), -ENOENT);
}

static void magic_links_are_refused(void **state)
{
	struct safe_open how = {.path = "/proc/self/exe"};
	int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	how.root_fd = host;
	assert_int_equal(safe_open(&how, NULL), -ELOOP);
	how.path = "/proc/self/root/etc/passwd";
	assert_int_equal(safe_open(&how, NULL), -ELOOP);
	how.path = "/proc/self/status";
	assert_int_equal(safe_open(&how, NULL), -EXDEV);
	how.path = "/proc/kallsyms";
	assert_int_equal(safe_open(&how, NULL), -EXDEV);
	how.path = "/sys/kernel/notes";
	assert_int_equal(safe_open(&how, NULL), -EXDEV);
	how.path = "/dev/null";
	assert_int_equal(safe_open(&how, NULL), -EINVAL);
	close(host);
}

static void sparse_terabyte_is_too_big(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	put("/tmp/sparse", "");
	if (truncate(in_root("/tmp/sparse"), 1ll << 40)) {
		print_message("skipped: /tmp cannot hold a sparse file of 1 TB\n");
		skip();
	}
	assert_int_equal(try("/tmp/sparse", OWNED), -EFBIG);
	fd = open(in_root("/tmp/sparse"), O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_blocks < 100);
	close(fd);
	put("/tmp/limit", "");
	assert_int_equal(truncate(in_root("/tmp/limit"), 1 << 20), 0);
	assert_int_equal(try("/tmp/limit", OWNED), 0);
	assert_int_equal(truncate(in_root("/tmp/limit"), (1 << 20) + 1), 0);
	assert_int_equal(try("/tmp/limit", OWNED), -EFBIG);
}

static void shared_files_are_refused(void **state)
{
	char other[256];

	(void)state;
	put("/tmp/world", "x");
	assert_int_equal(chmod(in_root("/tmp/world"), 0646), 0);
	assert_int_equal(try("/tmp/world", OWNED), -EPERM);
	assert_int_equal(try("/tmp/world", 0), 0);
	assert_int_equal(chmod(in_root("/tmp/world"), 0664), 0);
	assert_int_equal(try("/tmp/world", OWNED), 0);

	put("/tmp/secret", "x");
	snprintf(other, sizeof(other), "%s/tmp/hard", fake.root);
	assert_int_equal(link(in_root("/tmp/secret"), other), 0);
	assert_int_equal(try("/tmp/hard", OWNED), -EPERM);
	assert_int_equal(try("/tmp/hard", 0), 0);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: needs root, to make files of other users\n");
	skip();
}

static void owner_is_checked(void **state)
{
	struct safe_open how = {.root_fd = root_dir,
				.path = "/tmp/owned",
				.flags = OWNED,
				.uid = 1000,
				.gid = 1000,
				.root_uid = 100000};
	static const struct {
		uid_t owner;
		int result;
	} cases[] = {
		{1000, 0},
		{100000, 0}, /* root in the user namespace */
		{0, -EPERM}, /* host root is not mapped inside */
		{1001, -EPERM},
	};

	(void)state;
	need_root();
	put("/tmp/owned", "x");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd;

		assert_int_equal(chown(in_root("/tmp/owned"), cases[i].owner, 0), 0);
		fd = safe_open(&how, NULL);
		assert_int_equal(fd < 0 ? fd : 0, cases[i].result);
		if (fd >= 0)
			close(fd);
	}
	/* Unknown user: no owner is accepted. */
	how.uid = (uid_t)-1;
	how.flags |= LOOK_AS_OWNER;
	assert_int_equal(safe_open(&how, NULL), -EPERM);
}

static void opens_with_the_rights_of_the_owner(void **state)
{
	struct safe_open how = {.root_fd = root_dir,
				.path = "/tmp/mine",
				.flags = LOOK_AS_OWNER,
				.uid = 65534,
				.gid = 65534};
	int fd;

	(void)state;
	need_root();
	assert_int_equal(chmod(fake.path, 0755), 0);
	put("/tmp/mine", "x");
	assert_int_equal(chmod(in_root("/tmp/mine"), 0600), 0);
	assert_int_equal(safe_open(&how, NULL), -EACCES);
	assert_int_equal(chmod(in_root("/tmp/mine"), 0644), 0);
	fd = safe_open(&how, NULL);
	assert_true(fd >= 0);
	close(fd);
	/* Afterwards we have root's rights again. */
	assert_int_equal(chmod(in_root("/tmp/mine"), 0600), 0);
	how.flags = 0;
	fd = safe_open(&how, NULL);
	assert_true(fd >= 0);
	close(fd);
}

static void devices_are_not_opened(void **state)
{
	(void)state;
	need_root();
	if (mknod(in_root("/tmp/zero"), S_IFCHR | 0666, makedev(1, 5))) {
		print_message("skipped: no device nodes may be made here\n");
		skip();
	}
	assert_int_equal(try("/tmp/zero", OWNED), -EINVAL);
}

/* Several decoders get it, one after the other. */
static void the_vdso_cannot_be_written_to(void **state)
{
	uint64_t size = 0;
	int fd = vdso_open(&size);
	char magic[4];

	(void)state;
	if (fd == -ENOENT) {
		print_message("skipped: this process has no vdso\n");
		skip();
	}
	assert_true(fd >= 0 && size >= 4096);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pread(fd, magic, sizeof(magic), 0), sizeof(magic));
	assert_memory_equal(magic, "\177ELF", sizeof(magic));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_files_open),
		cmocka_unit_test(hostile_kinds_are_refused),
		cmocka_unit_test(fifo_writer_is_not_woken),
		cmocka_unit_test(symlinks_stay_inside),
		cmocka_unit_test(magic_links_are_refused),
		cmocka_unit_test(sparse_terabyte_is_too_big),
		cmocka_unit_test(shared_files_are_refused),
		cmocka_unit_test(owner_is_checked),
		cmocka_unit_test(opens_with_the_rights_of_the_owner),
		cmocka_unit_test(devices_are_not_opened),
		cmocka_unit_test(the_vdso_cannot_be_written_to),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
