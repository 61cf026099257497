// SPDX-License-Identifier: GPL-2.0-or-later
/* The browser belongs to the user; a stand-in for xdg-open notes who it is, and the file. */
#include "launch/browser.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "lib/scratch.h"

#define NOBODY "65534"

static char dir[SCRATCH_BYTES];

static int make_dir(void **state)
{
	char path[128];
	FILE *out;

	(void)state;
	scratch_make(dir, 0777);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("bin", 0777), 0);
	out = fopen("bin/xdg-open", "w");
	assert_non_null(out);
	fprintf(out, "#!/bin/sh\necho \"$(id -u) $1\" >%s/opened.new\n", dir);
	fprintf(out, "mv %s/opened.new %s/opened\n", dir, dir);
	fclose(out);
	chmod("bin/xdg-open", 0755);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", dir);
	setenv("PATH", path, 1);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	out = fopen("page.html", "w");
	assert_non_null(out);
	fclose(out);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	scratch_remove(dir);
	return 0;
}

/* What the stand-in noted; NULL: it was not started within @ms. */
static char *opened(int ms)
{
	char *text = NULL;
	size_t len;

	for (; ms > 0 && io_read_file("opened", 1 << 20, &text, &len); ms -= 10)
		poll(NULL, 0, 10);
	return text;
}

static void be_sudo(void)
{
	setenv("SUDO_UID", NOBODY, 1);
	setenv("SUDO_GID", NOBODY, 1);
}

static void the_user_opens_it(void **state)
{
	_cleanup_free_ char *text = NULL;
	char expected[128];

	(void)state;
	if (!geteuid())
		be_sudo();
	snprintf(expected, sizeof(expected), "%u %s/page.html\n",
		 geteuid() ? geteuid() : (unsigned int)atoi(NOBODY), dir);
	chmod("page.html", 0644);
	browser_open("page.html");
	text = opened(60000);
	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void root_does_not(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	browser_open("page.html");
	assert_null(opened(200));
}

static void a_page_of_root_stays_that(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	be_sudo();
	chmod("page.html", 0600);
	browser_open("page.html");
	assert_null(opened(200));
	assert_int_equal(access("page.html", R_OK), 0);
}

static void no_browser_is_no_failure(void **state)
{
	(void)state;
	if (!geteuid())
		be_sudo();
	unlink("bin/xdg-open");
	setenv("PATH", "bin", 1);
	browser_open("page.html");
	browser_open("gone.html");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
	const struct CMUnitTest tests[] = {
		TEST(the_user_opens_it),
		TEST(root_does_not),
		TEST(a_page_of_root_stays_that),
		TEST(no_browser_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
