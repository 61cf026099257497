// SPDX-License-Identifier: GPL-2.0-or-later
/* A system on which all is well, and what each check says when one thing is not. */
#include "doctor.h"

#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#define FIXTURES "tests/fixtures/doctor/"

static char root[64];

/* ---- the system ---- */

static void put(const char *path, const char *text)
{
	char full[256];
	_cleanup_close_ int fd = -1;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	unlink(full);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static char *fixture(const char *name)
{
	char path[128];
	char *text;
	size_t len;

	snprintf(path, sizeof(path), FIXTURES "%s", name);
	assert_int_equal(io_read_file(path, 1 << 20, &text, &len), 0);
	return text;
}

static void put_fixture(const char *path, const char *name)
{
	_cleanup_free_ char *text = fixture(name);

	put(path, text);
}

static void take_away(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(unlink(full), 0);
}

static void put_link(const char *path, const char *to)
{
	char full[256];

	put(path, "");
	take_away(path);
	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(symlink(to, full), 0);
}

/* The status of a process with these effective capabilities. */
static void put_caps(const char *caps)
{
	_cleanup_free_ char *text = fixture("status");
	char *line = strstr(text, "CapEff:");

	assert_int_equal(strlen(caps), 16);
	memcpy(line + strlen("CapEff:\t"), caps, 16);
	put("/proc/self/status", text);
}

static int make_system(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/lineburn-doctor-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	unsetenv("DEBUGINFOD_URLS");
	put_fixture("/proc/self/status", "status");
	put_fixture("/proc/self/mountinfo", "mountinfo.v2");
	put_fixture("/proc/kallsyms", "kallsyms.visible");
	put_link("/proc/self/ns/pid", "pid:[4026531836]");
	put("/proc/2/comm", "kthreadd\n");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	put("/proc/sys/kernel/osrelease", "6.1.0-39-amd64\n");
	put("/proc/version", "Linux version 6.1.0-39-amd64 (debian-kernel@example.org) "
			     "(gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.148-1 "
			     "(2025-08-26)\n");
	put("/proc/sys/net/core/bpf_jit_enable", "1\n");
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb");
	put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	return 0;
}

static int remove_system(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* ---- what is said of it ---- */

static void check(const char *name, enum check_status status, const char *found,
		  const char *remedy)
{
	struct doctor d = {0};
	const struct check *c = NULL;

	doctor_read(&d, root);
	for (size_t i = 0; i < d.nr_checks; i++)
		if (!strcmp(d.checks[i].name, name))
			c = &d.checks[i];
	assert_non_null(c);
	if (c->status != status || !strstr(c->found, found) ||
	    !strstr(c->remedy, remedy) || (status == CHECK_OK) != !*c->remedy)
		fail_msg("%s: %d, \"%s\", \"%s\"", name, c->status, c->found, c->remedy);
	/* One thing is wrong at most, and the whole says so. */
	for (size_t i = 0; i < d.nr_checks; i++)
		if (&d.checks[i] != c)
			assert_int_equal(d.checks[i].status, CHECK_OK);
	{
		_cleanup_fclose_ FILE *null = fopen("/dev/null", "we");

		assert_int_equal(doctor_print(&d, false, null),
				 status == CHECK_FAIL ? EXIT_SYSTEM : EXIT_OK);
	}
}

static void test_all_is_well(void **state)
{
	static const char *const names[] = {
		"privileges",    "perf_event_paranoid",
		"kernel",        "btf",
		"lockdown",      "kallsyms",
		"bpf_jit",       "cgroup",
		"pid_namespace", "debuginfod",
	};
	struct doctor d = {0};

	(void)state;
	doctor_read(&d, root);
	assert_int_equal(d.nr_checks, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(d.checks[i].name, names[i]);
		assert_true(*d.checks[i].found);
		check(names[i], CHECK_OK, "", "");
	}
}

static void test_privileges(void **state)
{
	(void)state;
	check("privileges", CHECK_OK, "all that is needed", "");
	put_caps("0000000000000000");
	check("privileges", CHECK_FAIL, "missing: CAP_BPF CAP_PERFMON CAP_SYS_PTRACE",
	      "run as root");
	/* All but CAP_BPF (39) and CAP_SYS_ADMIN (21). */
	put_caps("0000017fffdfffff");
	check("privileges", CHECK_FAIL, "missing: CAP_BPF", "--privileged");
	/* All but CAP_PERFMON (38) and CAP_SYS_ADMIN. */
	put_caps("000001bfffdfffff");
	check("privileges", CHECK_FAIL, "missing: CAP_PERFMON", "run as root");
	/* An older container runtime: CAP_SYS_ADMIN, but nothing above 37. */
	put_caps("0000003fffffffff");
	check("privileges", CHECK_OK, "all that is needed", "");
	/* All but CAP_SYSLOG (34): works, with less to see. */
	put_caps("000001fbffffffff");
	check("privileges", CHECK_WARN, "missing: CAP_SYSLOG", "run as root");
	/* All but CAP_SYS_PTRACE (19). */
	put_caps("000001fffff7ffff");
	check("privileges", CHECK_WARN, "missing: CAP_SYS_PTRACE", "run as root");
	put("/proc/self/status", "Name:\tx\n");
	check("privileges", CHECK_FAIL, "CAP_BPF", "run as root");
	put_fixture("/proc/self/status", "status");
}

static void test_paranoid(void **state)
{
	static const char path[] = "/proc/sys/kernel/perf_event_paranoid";

	(void)state;
	put(path, "-1\n");
	check("perf_event_paranoid", CHECK_OK, "-1:", "");
	put(path, "3\n");
	check("perf_event_paranoid", CHECK_OK, "3:", "");
	/* Root has CAP_SYS_ADMIN; who has only CAP_PERFMON and the like does not get by. */
	put_caps("000001ffffdfffff");
	check("privileges", CHECK_FAIL, "missing: CAP_SYS_ADMIN", "run as root");
	put(path, "2\n");
	check("privileges", CHECK_OK, "all that is needed", "");
	put_fixture("/proc/self/status", "status");
	take_away(path);
	check("perf_event_paranoid", CHECK_FAIL, "no perf events", "CONFIG_PERF_EVENTS");
	put(path, "2\n");
}

static void test_btf(void **state)
{
	(void)state;
	take_away("/sys/kernel/btf/vmlinux");
	check("btf", CHECK_FAIL, "no /sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF");
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb");
}

static void test_lockdown(void **state)
{
	static const char path[] = "/sys/kernel/security/lockdown";

	(void)state;
	put(path, "none integrity [confidentiality]\n");
	check("lockdown", CHECK_FAIL, "[confidentiality]", "lockdown=integrity");
	put(path, "none [integrity] confidentiality\n");
	check("lockdown", CHECK_OK, "[integrity]", "");
	take_away(path);
	check("lockdown", CHECK_OK, "none", "");
	put(path, "[none] integrity confidentiality\n");
}

static void put_kernel(const char *release, const char *rest)
{
	char text[256];

	snprintf(text, sizeof(text), "%s\n", release);
	put("/proc/sys/kernel/osrelease", text);
	snprintf(text, sizeof(text), "Linux version %s %s\n", release, rest);
	put("/proc/version", text);
}

static void test_kernel(void **state)
{
	static const char debian[] = "(debian-kernel@example.org) #1 SMP Debian ";
	char rest[128];

	(void)state;
	put_kernel("5.4.0-200-generic", "(buildd@example) #220-Ubuntu SMP");
	check("kernel", CHECK_FAIL, "5.4.0-200-generic", "5.10 or newer");
	put_kernel("4.19.0", "");
	check("kernel", CHECK_FAIL, "4.19.0", "5.10 or newer");
	put_kernel("5.10.0", "");
	check("kernel", CHECK_OK, "5.10.0", "");
	put_kernel("6.18.44", "");
	check("kernel", CHECK_OK, "6.18.44", "");
	/* Freezes when user memory is read in the interrupt. */
	put_kernel("6.1.20", "");
	check("kernel", CHECK_WARN, "6.1.20", "update");
	put_kernel("5.19.17", "");
	check("kernel", CHECK_WARN, "5.19.17", "update");
	put_kernel("6.3.9", "");
	check("kernel", CHECK_WARN, "6.3.9", "update");
	put_kernel("6.3.10", "");
	check("kernel", CHECK_OK, "6.3.10", "");
	/* The level is in /proc/version only. */
	snprintf(rest, sizeof(rest), "%s6.1.27-1 (2023-05-08)", debian);
	put_kernel("6.1.0-9-amd64", rest);
	check("kernel", CHECK_WARN, "6.1.0-9-amd64", "update");
	snprintf(rest, sizeof(rest), "%s6.1.37-1 (2023-07-03)", debian);
	put_kernel("6.1.0-10-amd64", rest);
	check("kernel", CHECK_OK, "6.1.0-10-amd64", "");
	put("/proc/sys/kernel/osrelease", "strange\n");
	put("/proc/version", "strange\n");
	check("kernel", CHECK_FAIL, "cannot be read", "mount /proc");
	put_kernel("6.18.44", "");
}

static void test_kallsyms(void **state)
{
	(void)state;
	put_fixture("/proc/kallsyms", "kallsyms.hidden");
	check("kallsyms", CHECK_WARN, "hidden", "kptr_restrict");
	put("/proc/kallsyms", "");
	check("kallsyms", CHECK_WARN, "hidden", "kptr_restrict");
	take_away("/proc/kallsyms");
	check("kallsyms", CHECK_WARN, "no /proc/kallsyms", "CONFIG_KALLSYMS");
	put_fixture("/proc/kallsyms", "kallsyms.visible");
}

static void test_jit(void **state)
{
	static const char path[] = "/proc/sys/net/core/bpf_jit_enable";

	(void)state;
	put(path, "0\n");
	check("bpf_jit", CHECK_WARN, "interpreted", "bpf_jit_enable=1");
	put(path, "2\n");
	check("bpf_jit", CHECK_OK, "on", "");
	take_away(path); /* CONFIG_BPF_JIT_ALWAYS_ON without networking */
	check("bpf_jit", CHECK_OK, "on", "");
	put(path, "1\n");
}

static void test_cgroup(void **state)
{
	static const char path[] = "/proc/self/mountinfo";

	(void)state;
	put_fixture(path, "mountinfo.v1");
	check("cgroup", CHECK_WARN, "v1 only", "mount cgroup2");
	put_fixture(path, "mountinfo.hybrid");
	check("cgroup", CHECK_OK, "hybrid", "");
	put_fixture(path, "mountinfo.none");
	check("cgroup", CHECK_WARN, "not mounted", "mount cgroup2");
	put_fixture(path, "mountinfo.v2");
	check("cgroup", CHECK_OK, "v2", "");
}

static void test_pid_namespace(void **state)
{
	(void)state;
	take_away("/proc/self/ns/pid");
	check("pid_namespace", CHECK_FAIL, "cannot be read", "--pid=host");
	put_link("/proc/self/ns/pid", "pid:[4026532201]");
	check("pid_namespace", CHECK_FAIL, "a nested one", "--pid=host");
	take_away("/proc/self/ns/pid");
	put_link("/proc/self/ns/pid", "pid:[4026531836]");
}

static void test_debuginfod(void **state)
{
	(void)state;
	check("debuginfod", CHECK_OK, "not set", "");
	setenv("DEBUGINFOD_URLS", "https://debuginfod.example/", 1);
	check("debuginfod", CHECK_OK, "https://debuginfod.example/", "");
	setenv("DEBUGINFOD_URLS", "", 1);
	check("debuginfod", CHECK_OK, "not set", "");
	unsetenv("DEBUGINFOD_URLS");
}

/* No /proc at all: an answer, no crash. */
static void test_empty_system(void **state)
{
	struct doctor d = {0};
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "%s/none", root);
	doctor_read(&d, command);
	assert_int_equal(d.nr_checks, 10);
	assert_int_equal(d.checks[0].status, CHECK_FAIL);
}

/* ---- output ---- */

static char *print(const struct doctor *d, bool json, int *status)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*status = doctor_print(d, json, f);
	fclose(f);
	return text;
}

static const char *member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	assert_non_null(text);
	return text;
}

static void check_json(const struct doctor *d, bool ok)
{
	static const char *const words[] = {"ok", "warn", "fail"};
	json_error_t error;
	int status;
	_cleanup_free_ char *text = print(d, true, &status);
	json_t *top = json_loads(text, 0, &error), *checks;

	assert_non_null(top);
	assert_int_equal(status, ok ? EXIT_OK : EXIT_SYSTEM);
	assert_int_equal(json_object_size(top), 4);
	assert_int_equal(json_integer_value(json_object_get(top, "lineburn")), 1);
	assert_string_equal(member(top, "kind"), "doctor");
	assert_true(json_is_boolean(json_object_get(top, "ok")));
	assert_int_equal(json_is_true(json_object_get(top, "ok")), ok);
	checks = json_object_get(top, "checks");
	assert_int_equal(json_array_size(checks), d->nr_checks);
	for (size_t i = 0; i < d->nr_checks; i++) {
		const json_t *c = json_array_get(checks, i);

		assert_int_equal(json_object_size(c), 4);
		assert_string_equal(member(c, "name"), d->checks[i].name);
		assert_string_equal(member(c, "status"), words[d->checks[i].status]);
		assert_string_equal(member(c, "remedy"), d->checks[i].remedy);
		assert_non_null(member(c, "found"));
	}
	json_decref(top);
}

static void test_json(void **state)
{
	struct doctor good = {0}, bad = {0};

	(void)state;
	doctor_read(&good, root);
	check_json(&good, true);
	put_caps("0000000000000000");
	put_fixture("/proc/self/mountinfo", "mountinfo.v1");
	doctor_read(&bad, root);
	put_fixture("/proc/self/status", "status");
	put_fixture("/proc/self/mountinfo", "mountinfo.v2");
	check_json(&bad, false);
}

static void test_text(void **state)
{
	struct doctor d = {0};
	int status;
	_cleanup_free_ char *good = NULL, *bad = NULL;

	(void)state;
	doctor_read(&d, root);
	good = print(&d, false, &status);
	assert_non_null(strstr(good, "ok    privileges           all that is needed\n"));
	assert_non_null(strstr(good, "\nlineburn works here.\n"));
	assert_null(strstr(good, "fail"));

	d = (struct doctor){0};
	take_away("/sys/kernel/btf/vmlinux");
	doctor_read(&d, root);
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb");
	bad = print(&d, false, &status);
	assert_int_equal(status, EXIT_SYSTEM);
	assert_non_null(strstr(bad, "fail  btf "));
	assert_non_null(strstr(bad, "CONFIG_DEBUG_INFO_BTF=y"));
	assert_non_null(strstr(bad, "does not work here"));
}

/* What is found in the environment is printed, but not obeyed. */
static void test_hostile_environment(void **state)
{
	struct doctor d = {0};
	int status;
	_cleanup_free_ char *text = NULL, *json = NULL;
	json_error_t error;
	json_t *top;

	(void)state;
	setenv("DEBUGINFOD_URLS", "\033]52;c;eA==\a\xff \"quoted\"", 1);
	doctor_read(&d, root);
	unsetenv("DEBUGINFOD_URLS");
	text = print(&d, false, &status);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "\\x1b]52;c;eA==\\x07\\xff \"quoted\""));
	json = print(&d, true, &status);
	top = json_loads(json, 0, &error);
	assert_non_null(top);
	assert_string_equal(
		member(json_array_get(json_object_get(top, "checks"), 9), "found"),
		"\033]52;c;eA==\a\xef\xbf\xbd \"quoted\"");
	json_decref(top);
}

/* What is tried with system calls: on any machine it is said, with a remedy. */
static void test_trying(void **state)
{
	struct doctor d = {0};

	(void)state;
	doctor_read(&d, "");
	doctor_try(&d);
	assert_int_equal(d.nr_checks, 12);
	assert_string_equal(d.checks[10].name, "perf_event_open");
	assert_string_equal(d.checks[11].name, "bpf");
	for (size_t i = 10; i < d.nr_checks; i++) {
		assert_true(*d.checks[i].found);
		assert_int_equal(d.checks[i].status == CHECK_OK, !*d.checks[i].remedy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_privileges),
		cmocka_unit_test(test_paranoid),
		cmocka_unit_test(test_btf),
		cmocka_unit_test(test_lockdown),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_jit),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_pid_namespace),
		cmocka_unit_test(test_debuginfod),
		cmocka_unit_test(test_empty_system),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_hostile_environment),
		cmocka_unit_test(test_trying),
	};

	return cmocka_run_group_tests(tests, make_system, remove_system);
}
