// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose a profile is decides with which rights root looks at it. Needs root. */
#include "cli/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/scratch.h"

#define USER  54321
#define OTHER 54322

static char dir[SCRATCH_BYTES];

static int make_dir(void **state)
{
	(void)state;
	scratch_make(dir, 0755);
	return chdir(dir);
}

static int remove_dir(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	scratch_remove(dir);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return 0;
}

static void rights_by_owner(void **state)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		enum viewer_rights rights, under_sudo;
	} cases[] = {
		{0, 0, 0600, RIGHTS_OWN, RIGHTS_OWN},
		{0, 0, 0664, RIGHTS_OWN, RIGHTS_OWN},
		{0, USER, 0644, RIGHTS_OWN, RIGHTS_OWN},
		{0, USER, 0664, RIGHTS_NONE, RIGHTS_NONE},
		{0, 0, 0602, RIGHTS_NONE, RIGHTS_NONE},
		{USER, USER, 0600, RIGHTS_NONE, RIGHTS_USER},
		{USER, USER, 0664, RIGHTS_NONE, RIGHTS_USER},
		{USER, OTHER, 0664, RIGHTS_NONE, RIGHTS_NONE},
		{USER, OTHER, 0644, RIGHTS_NONE, RIGHTS_USER},
		{USER, 0, 0664, RIGHTS_NONE, RIGHTS_NONE},
		{USER, USER, 0666, RIGHTS_NONE, RIGHTS_NONE},
		{OTHER, USER, 0644, RIGHTS_NONE, RIGHTS_NONE},
	};

	(void)state;
	if (geteuid()) {
		print_message("only root gives up rights\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int sudo = 0; sudo < 2; sudo++) {
			enum viewer_rights wanted = sudo ? cases[i].under_sudo
							 : cases[i].rights;
			_cleanup_(profile_input_deinit) struct profile_input reading = {
				.fd = -1};
			struct error err = {0};

			if (sudo) {
				setenv("SUDO_UID", "54321", 1);
				setenv("SUDO_GID", "54321", 1);
			} else {
				unsetenv("SUDO_UID");
			}
			close(open("p", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
			assert_int_equal(chown("p", cases[i].uid, cases[i].gid), 0);
			assert_int_equal(chmod("p", cases[i].mode), 0);
			assert_int_equal(profile_input_open("p", &reading, &err), 0);
			assert_int_equal(reading.rights, wanted);
			assert_int_equal(reading.is_strangers, wanted == RIGHTS_NONE);
		}
}

/* An access list of the file "p": OTHER may write. See include/linux/posix_acl_xattr.h. */
static int let_another_write(void)
{
	static const struct {
		uint16_t tag, perm;
		uint32_t id;
	} entries[] = {{0x01, 6, UINT32_MAX}, /* the owner */
		       {0x02, 6, OTHER},
		       {0x04, 4, UINT32_MAX}, /* the group */
		       {0x10, 6, UINT32_MAX}, /* the mask */
		       {0x20, 0, UINT32_MAX}}; /* others */
	uint8_t value[4 + sizeof(entries)] = {2}; /* the version */

	memcpy(value + 4, entries, sizeof(entries));
	return setxattr("p", "system.posix_acl_access", value, sizeof(value), 0);
}

static void access_list(void **state)
{
	_cleanup_(profile_input_deinit) struct profile_input reading = {.fd = -1};
	struct error err = {0};

	(void)state;
	close(open("p", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(chown("p", geteuid(), getegid()), 0);
	assert_int_equal(chmod("p", 0600), 0);
	if (let_another_write() && errno == EOPNOTSUPP) {
		print_message("skipped: the file system of %s has no access lists\n",
			      dir);
		skip();
	}
	assert_int_equal(profile_input_open("p", &reading, &err), 0);
	assert_true(reading.is_strangers);
	assert_int_equal(unlink("p"), 0);
}

static void refused(const char *path, int rc)
{
	struct profile_input reading = {.fd = -1};
	struct error err = {0};

	assert_int_equal(profile_input_open(path, &reading, &err), rc);
	assert_int_equal(reading.fd, -1);
	assert_non_null(strstr(err.text, path));
}

/* Opening it may have effects. */
static void devices_and_made_up_files(void **state)
{
	(void)state;
	refused("/dev/null", -EINVAL);
	refused("/proc/self/status", -EINVAL);
	refused(".", -EISDIR);
	assert_int_equal(symlink("/proc/self/cmdline", "link"), 0);
	refused("link", -EINVAL);
	assert_int_equal(unlink("link"), 0);
}

/* What is not a file has no owner to trust. */
static void pipes(void **state)
{
	_cleanup_(profile_input_deinit) struct profile_input reading = {.fd = -1};
	_cleanup_close_ int writer = -1;
	struct error err = {0};

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	writer = open("fifo", O_RDWR | O_CLOEXEC);
	assert_int_equal(profile_input_open("fifo", &reading, &err), 0);
	assert_true(reading.is_strangers);
	assert_int_equal(reading.rights, geteuid() ? RIGHTS_OWN : RIGHTS_NONE);
	assert_int_equal(unlink("fifo"), 0);
}

/* A recording reads back what it wrote, and neither follows nor waits for anything else. */
static void written_in_a_folder(void **state)
{
	_cleanup_close_ int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(profile_input_deinit) struct profile_input reading = {.fd = -1};
	struct error err = {0};

	(void)state;
	assert_int_equal(profile_input_open_in(folder, "x/p", &reading, &err), -ENOENT);
	assert_int_equal(mkfifo("p", 0600), 0);
	assert_int_equal(profile_input_open_in(folder, "x/p", &reading, &err), -EINVAL);
	assert_int_equal(unlink("p"), 0);
	assert_int_equal(symlink("q", "p"), 0);
	close(open("q", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(profile_input_open_in(folder, "x/p", &reading, &err), -EINVAL);
	assert_int_equal(rename("q", "p"), 0);
	assert_int_equal(profile_input_open_in(folder, "x/p", &reading, &err), 0);
	assert_int_equal(unlink("p"), 0);
}

static int type_into_terminal(void)
{
	struct error err = {0};
	int fds[2];

	if (rights_give_up(RIGHTS_NONE, &err) || pipe(fds))
		return 1;
	/* A pipe is no terminal, but that is not the reason. */
	for (int i = 0; i < 2; i++)
		if (ioctl(fds[0], i ? TIOCLINUX : TIOCSTI, "x") == 0 || errno != EPERM)
			return 2;
	return ioctl(fds[0], FIONREAD, &fds[1]) ? 3 : 0;
}

/* In a process of its own, since there is no way back. */
static void types_nothing(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("only root gives up rights\n");
		skip();
	}
	pid = fork();
	if (!pid)
		_exit(type_into_terminal());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_by_owner),
		cmocka_unit_test(access_list),
		cmocka_unit_test(devices_and_made_up_files),
		cmocka_unit_test(pipes),
		cmocka_unit_test(written_in_a_folder),
		cmocka_unit_test(types_nothing),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
