// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps of doctor --fix as they are printed, for made-up states of /etc and /proc/sys.
 * tests/root/doctor-rights.sh makes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "doctor/fix.h"
#include "lib/scratch.h"

/* A file that belongs to root alone on every machine. */
#define ROOTS_FILE "/etc/passwd"

static void write_file(const char *root, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Return: heap: what is printed, or the message. */
static char *run(const struct fix *f, bool agreed, int *ret_rc)
{
	struct error err = {.text = ""};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	*ret_rc = fix_run(f, agreed, out, &err);
	fputs(err.text, out);
	fclose(out);
	return text;
}

static const struct {
	const char *group; /* /etc/group */
	const char *paranoid, *kptr_restrict, *drop_in;
	bool is_restricted;
	const char *said[4]; /* some of it */
	const char *unsaid;
} cases[] = {
	{.group = "root:x:0:\n",
	 .paranoid = "2\n",
	 .kptr_restrict = "0\n",
	 .said = {"to do groupadd --system lineburn\n",
		  "to do chgrp lineburn /opt/lineburn\n",
		  "to do chmod 0750 /opt/lineburn\n",
		  "to do setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
		  "cap_checkpoint_restore,cap_syslog=ep /opt/lineburn\n"},
	 .unsaid = "sysctl"},
	/* Another group's name may contain ours. */
	{.group = "xlineburn:x:7:\nlineburners:x:8:\n",
	 .paranoid = "2\n",
	 .kptr_restrict = "0\n",
	 .said = {"to do groupadd"}},
	{.group = "root:x:0:\nlineburn:x:998:ann\n",
	 .paranoid = "3\n",
	 .kptr_restrict = "1\n",
	 .said = {"done  groupadd"},
	 .unsaid = "sysctl"},
	{.group = "lineburn::998:\n",
	 .paranoid = "3\n",
	 .kptr_restrict = "1\n",
	 .is_restricted = true,
	 .said = {"done  groupadd", "to do printf 'kernel.perf_event_paranoid = 2\\n' "
				    ">/etc/sysctl.d/90-lineburn.conf && sysctl -p "
				    "/etc/sysctl.d/90-lineburn.conf\n"},
	 .unsaid = "kptr_restrict"},
	{.group = "",
	 .paranoid = "4\n",
	 .kptr_restrict = "2\n",
	 .is_restricted = true,
	 .said = {"'kernel.perf_event_paranoid = 2\\nkernel.kptr_restrict = 1\\n'",
		  "every user may count", "CAP_SYSLOG see addresses"}},
	/* What the drop-in does already stays in it. */
	{.group = "",
	 .paranoid = "2\n",
	 .kptr_restrict = "2\n",
	 .drop_in = "kernel.perf_event_paranoid = 2\n",
	 .said = {"to do printf 'kernel.perf_event_paranoid = 2\\nkernel.kptr_restrict"}},
	{.group = "",
	 .paranoid = "2\n",
	 .kptr_restrict = "1\n",
	 .drop_in = "kernel.perf_event_paranoid = 2\n",
	 .said = {"done  printf 'kernel.perf_event_paranoid = 2\\n'"}},
};

static void the_steps_are_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char root[SCRATCH_BYTES];
		const struct fix f = {.root = root,
				      .program = "/opt/lineburn",
				      .file = ROOTS_FILE,
				      .is_perf_restricted = cases[i].is_restricted};
		_cleanup_free_ char *text = NULL;
		int rc;

		scratch_make(root, 0755);
		write_file(root, "/etc/group", cases[i].group);
		write_file(root, "/proc/sys/kernel/perf_event_paranoid",
			   cases[i].paranoid);
		write_file(root, "/proc/sys/kernel/kptr_restrict",
			   cases[i].kptr_restrict);
		if (cases[i].drop_in)
			write_file(root, FIX_SYSCTL_PATH, cases[i].drop_in);
		text = run(&f, false, &rc);
		scratch_remove(root);
		assert_int_equal(rc, 0);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].said); k++)
			if (cases[i].said[k] && !strstr(text, cases[i].said[k]))
				fail_msg("case %zu: not said: %s: %s", i,
					 cases[i].said[k], text);
		if (cases[i].unsaid && strstr(text, cases[i].unsaid))
			fail_msg("case %zu: said: %s: %s", i, cases[i].unsaid, text);
		assert_non_null(strstr(text, "Nothing was changed."));
		assert_non_null(strstr(text, "doctor --fix --yes\n"));
	}
}

static void what_cannot_be_is_refused(void **state)
{
	char root[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];
	struct fix f = {.root = root, .program = "/opt/lineburn", .file = ROOTS_FILE};
	_cleanup_free_ char *unasked = NULL, *absent = NULL, *open_to_all = NULL,
			    *folder = NULL;
	int rc;

	(void)state;
	scratch_make(root, 0755);
	unasked = run(&f, true, &rc);
	assert_int_equal(rc, -EPERM);
	assert_non_null(strstr(unasked, "only root may make these steps: sudo "));

	/* Root, too, refuses a program that somebody else could change. */
	f.is_root = true;
	write_file(root, "/program", "");
	snprintf(path, sizeof(path), "%s/program", root);
	assert_int_equal(chmod(path, 0775), 0);
	f.file = path;
	open_to_all = run(&f, true, &rc);
	assert_int_equal(rc, -EPERM);
	assert_non_null(strstr(open_to_all, "another user than root"));
	assert_non_null(strstr(open_to_all, "sudo install /opt/lineburn /usr/local/bin"));

	f.file = root;
	folder = run(&f, true, &rc);
	assert_int_equal(rc, -EINVAL);
	assert_non_null(strstr(folder, "not a regular file"));

	f.file = "/nonexistent";
	absent = run(&f, true, &rc);
	assert_int_equal(rc, -ENOENT);
	assert_non_null(strstr(absent, "cannot open /opt/lineburn"));
	scratch_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_steps_are_printed),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
