// SPDX-License-Identifier: GPL-2.0-or-later
/* A server on 127.0.0.1 with one debug file. Needs debuginfod-find and python3. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "symbolize/debuginfod.h"
#include "lib/scratch.h"

static const uint8_t known_id[20] = {0xab, 0xcd, 1, 2, 3};
static const uint8_t other_id[20] = {0xff, 0xcd, 1, 2, 3};
static const char content[] = "not really ELF";

static char dir[SCRATCH_BYTES];

static void make_tree(void)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "mkdir -p %s/cache %s/buildid/abcd010203000000000000000000000000000000 "
		 "&& "
		 "printf '%s' >"
		 "%s/buildid/abcd010203000000000000000000000000000000/debuginfo",
		 dir, dir, content, dir);
	assert_int_equal(system(command), 0);
}

/* A listening socket on a free port that never accepts. */
static int listen_on_free_port(int *ret_port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static void use_server(int port)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", url, 1);
}

static pid_t start_server(int *ret_port)
{
	char port[16];
	pid_t pid;
	int fd = listen_on_free_port(ret_port);

	close(fd);
	snprintf(port, sizeof(port), "%d", *ret_port);
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout) ||
		    !freopen("/dev/null", "w", stderr))
			_exit(126);
		execlp("python3", "python3", "-m", "http.server", "-b", "127.0.0.1", "-d",
		       dir, port, NULL);
		_exit(127);
	}
	for (int i = 0; i < 1200; i++) {
		struct sockaddr_in addr = {.sin_family = AF_INET,
					   .sin_port = htons((uint16_t)*ret_port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int up = !connect(s, (struct sockaddr *)&addr, sizeof(addr));

		close(s);
		if (up)
			return pid;
		usleep(50000);
	}
	fail_msg("python3 -m http.server does not answer");
	return -1;
}

static void skip_without_program(void)
{
	if (system("command -v debuginfod-find >/dev/null")) {
		print_message("skipped: debuginfod is not installed\n");
		skip();
	}
}

static void test_wanted(void **state)
{
	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	assert_false(debuginfod_is_wanted());
	setenv("DEBUGINFOD_URLS", " ", 1);
	assert_false(debuginfod_is_wanted());
	use_server(80);
	assert_true(debuginfod_is_wanted());
}

static void test_fetch(void **state)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t len;
	int port;
	pid_t pid;

	(void)state;
	skip_without_program();
	pid = start_server(&port);
	use_server(port);
	assert_int_equal(debuginfod_fetch(known_id, sizeof(known_id), 30000, &fd), 0);
	assert_int_equal(io_read_all(fd, 1000, &text, &len), 0);
	assert_string_equal(text, content);
	assert_int_equal(debuginfod_fetch(other_id, sizeof(other_id), 30000, &fd),
			 -ENOENT);
	assert_int_equal(debuginfod_fetch(known_id, 0, 30000, &fd), -EINVAL);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void test_no_program(void **state)
{
	_cleanup_free_ char *path = strdup(getenv("PATH"));
	int fd = -1;

	(void)state;
	setenv("PATH", dir, 1);
	assert_int_equal(debuginfod_fetch(known_id, sizeof(known_id), 30000, &fd),
			 -ENOSYS);
	setenv("PATH", path, 1);
	assert_int_equal(fd, -1);
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) +
	       (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* A server that accepts the connection and never answers. */
static void test_silent_server(void **state)
{
	const uint8_t id[20] = {0x77};
	_cleanup_close_ int listener = -1;
	struct timespec start;
	int port, fd = -1;

	(void)state;
	skip_without_program();
	listener = listen_on_free_port(&port);
	use_server(port);
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(debuginfod_fetch(id, sizeof(id), 1500, &fd), -ETIMEDOUT);
	assert_true(seconds_since(&start) < 60);
	assert_int_equal(fd, -1);
}

static int setup(void **state)
{
	char cache[sizeof(dir) + 8];

	(void)state;
	scratch_make(dir, 0700);
	make_tree();
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	return setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_silent_server),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
