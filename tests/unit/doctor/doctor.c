// SPDX-License-Identifier: GPL-2.0-or-later
/* The doctor, on fake machines made of files: machines.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "doctor/doctor.h"
#include "lib/scratch.h"
#include "machines.h"

static const struct doctor_probes all_work = {.memlock_bytes = 8 << 20};

static void write_part(const char *path, const struct machine_part *part)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, part->content, part->len), (ssize_t)part->len);
	close(fd);
}

static void make_part(const char *root, const struct machine_part *part)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", root, part->path);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	switch (part->kind) {
	case PART_FILE:
		write_part(path, part);
		break;
	case PART_LINK:
		unlink(path);
		assert_int_equal(symlink(part->content, path), 0);
		break;
	case PART_ABSENT:
		scratch_remove(path);
		break;
	}
}

static size_t make_parts(const char *root, const char *machine)
{
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(machine_parts); i++) {
		if (strcmp(machine_parts[i].machine, machine))
			continue;
		make_part(root, &machine_parts[i]);
		nr++;
	}
	return nr;
}

/* @root  receives the path of the machine; the caller removes it */
static void make_machine(const char *name, char root[SCRATCH_BYTES])
{
	scratch_make(root, 0755);
	assert_true(make_parts(root, "healthy") > 0);
	assert_true(make_parts(root, name) > 0);
}

static void examine(const char *name, const struct doctor_probes *probes,
		    struct doctor *ret)
{
	char root[SCRATCH_BYTES];

	make_machine(name, root);
	doctor_examine(root, probes, ret);
	scratch_remove(root);
}

static const struct check *check_of(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->nr_checks; i++)
		if (!strcmp(d->checks[i].name, name))
			return &d->checks[i];
	fail_msg("no check %s", name);
	return NULL;
}

static void assert_consistent(const char *name, const struct doctor *d)
{
	for (size_t i = 0; i < d->nr_checks; i++) {
		const struct check *c = &d->checks[i];

		if (!c->found[0] || !c->remedy[0] != (c->status == CHECK_OK))
			fail_msg("%s: %s: found '%s', remedy '%s'", name, c->name,
				 c->found, c->remedy);
		/* No text was truncated. */
		assert_true(strlen(c->found) < sizeof(c->found) - 1);
		assert_true(strlen(c->remedy) < sizeof(c->remedy) - 1);
	}
}

/* Why a recording is refused; NULL: it is not. */
static void test_admission(void **state)
{
	static const struct {
		const char *name, *said, *remedy;
	} cases[] = {
		{"healthy", NULL, NULL},
		{"no-caps", NULL, NULL}, /* not in a container */
		{"no-proc", "/proc is not mounted", "mount -t proc"},
		{"docker-hostpid", NULL, NULL},
		{"docker", "CAP_BPF, CAP_PERFMON, the host's pid namespace",
		 "--privileged --pid=host"},
		{"kubernetes", "without the host's pid namespace", "hostPID: true"},
		{"pid-namespace", "without the host's pid namespace", "--pid=host"},
		{"rootless-podman", "user namespace", "root of the host"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char root[SCRATCH_BYTES];
		struct error err = {0};

		make_machine(cases[i].name, root);
		assert_int_equal(doctor_admits(root, &err), cases[i].said ? -EPERM : 0);
		scratch_remove(root);
		if (!cases[i].said)
			continue;
		assert_int_equal(err.exit_code, EXIT_SYSTEM);
		if (!strstr(err.text, cases[i].said) ||
		    !strstr(err.text, cases[i].remedy))
			fail_msg("%s: %s", cases[i].name, err.text);
	}
}

/* All other checks of a case are ok unless a row says otherwise. */
static const struct {
	const char *name, *check;
	enum check_status status;
	const char *found, *remedy;
} cases[] = {
	{"healthy", "privileges", CHECK_OK, "root", ""},
	{"healthy", "kernel", CHECK_OK, "6.1.0-56-amd64 (6.1.192)", ""},
	{"healthy", "cgroups", CHECK_OK, "v2 at /sys/fs/cgroup", ""},
	{"healthy", "lockdown", CHECK_OK, "none", ""},
	{"healthy", "sandbox", CHECK_OK, "seccomp and landlock", ""},
	{"healthy", "container", CHECK_OK, "none", ""},
	{"no-caps", "privileges", CHECK_FAIL, "CAP_BPF", "sudo"},
	{"no-caps", "perf_event_paranoid", CHECK_OK, "3: this kernel takes it as 2", ""},
	{"caps-paranoid-3", "privileges", CHECK_OK, "without CAP_SETUID", ""},
	{"caps-paranoid-3", "perf_event_paranoid", CHECK_OK, "takes it as 2", ""},
	{"caps-paranoid-2", "perf_event_paranoid", CHECK_OK, "2", ""},
	{"admin-only", "privileges", CHECK_WARN, "CAP_SYS_PTRACE", "capabilities"},
	{"rootless-podman", "privileges", CHECK_FAIL, "user namespace",
	 "root of the host"},
	{"rootless-podman", "container", CHECK_OK, "Podman", ""},
	{"rootless-podman", "pid_namespace", CHECK_FAIL, "not the host's", "--pid=host"},
	{"rootless-podman", "cgroups", CHECK_WARN, "namespace", "--cgroupns=host"},
	{"docker", "container", CHECK_OK, "Docker", ""},
	{"docker", "privileges", CHECK_FAIL, "CAP_BPF", "--privileged"},
	{"docker", "pid_namespace", CHECK_FAIL, "pids", "--pid=host"},
	{"docker", "cgroups", CHECK_WARN, "namespace", "--cgroupns=host"},
	{"docker-hostpid", "container", CHECK_OK, "Docker", ""},
	{"docker-hostpid", "cgroups", CHECK_WARN, "namespace", "--cgroupns=host"},
	{"docker-v1", "container", CHECK_OK, "Docker", ""},
	{"docker-service", "container", CHECK_OK, "none", ""},
	{"kubernetes", "container", CHECK_OK, "Kubernetes", ""},
	{"kubernetes", "pid_namespace", CHECK_FAIL, "not the host's", "hostPID"},
	{"vm-from-image", "container", CHECK_OK, "none", ""},
	{"pid-namespace", "pid_namespace", CHECK_FAIL, "not the host's", "--pid=host"},
	{"no-proc", "privileges", CHECK_FAIL, "missing", "sudo"},
	{"no-proc", "pid_namespace", CHECK_WARN, "cannot be read", "/proc"},
	{"no-proc", "kernel", CHECK_WARN, "cannot be read", "/proc"},
	{"no-proc", "perf_event_paranoid", CHECK_FAIL, "cannot be read", "/proc"},
	{"no-proc", "kallsyms", CHECK_WARN, "cannot be read", "CONFIG_KALLSYMS"},
	{"no-proc", "cgroups", CHECK_WARN, "none", "cgroup2"},
	{"no-proc", "sandbox", CHECK_FAIL, "no seccomp", "CONFIG_SECCOMP_FILTER"},
	{"no-sys", "btf", CHECK_FAIL, "/sys is not mounted", "mount"},
	{"no-sys", "uprobe", CHECK_WARN, "lists of code are walked", "UPROBE_EVENTS"},
	{"no-sys", "sandbox", CHECK_OK, "seccomp", ""},
	{"paranoid-absent", "perf_event_paranoid", CHECK_FAIL, "cannot be read",
	 "CONFIG_PERF_EVENTS"},
	{"no-btf", "btf", CHECK_FAIL, "no type information", "CONFIG_DEBUG_INFO_BTF"},
	{"btf-empty", "btf", CHECK_FAIL, "no type information", "CONFIG_DEBUG_INFO_BTF"},
	{"lockdown-confidentiality", "lockdown", CHECK_FAIL, "confidentiality",
	 "integrity"},
	{"lockdown-integrity", "lockdown", CHECK_OK, "integrity", ""},
	{"lockdown-absent", "lockdown", CHECK_OK, "none is visible", ""},
	{"kallsyms-restricted", "kallsyms", CHECK_WARN, "hidden", "kptr_restrict=1"},
	{"kallsyms-no-syslog", "kallsyms", CHECK_WARN, "hidden", "CAP_SYSLOG"},
	{"kallsyms-absent", "kallsyms", CHECK_WARN, "cannot be read", "CONFIG_KALLSYMS"},
	{"cgroup-v1", "cgroups", CHECK_WARN, "v1 only", "cgroup2"},
	{"cgroup-hybrid", "cgroups", CHECK_OK, "hybrid, v2 at /sys/fs/cgroup/unified",
	 ""},
	{"cgroup-none", "cgroups", CHECK_WARN, "none is mounted", "mount -t cgroup2"},
	{"cgroup-namespace", "cgroups", CHECK_WARN, "namespace", "--cgroupns=host"},
	{"kernel-old", "kernel", CHECK_FAIL, "too old", "5.10"},
	{"kernel-old", "memlock", CHECK_OK, "may be raised", ""},
	{"kernel-5.10", "kernel", CHECK_OK, "no known problem", ""},
	{"kernel-quirk", "kernel", CHECK_WARN, "(6.1.27): reading user memory", "6.1.36"},
	{"kernel-rt", "kernel", CHECK_FAIL, "(6.1.112): writing to a BPF ring",
	 "6.1.115"},
	{"kernel-ubuntu", "kernel", CHECK_OK, "(6.1.57)", ""},
	{"jit-off", "bpf_jit", CHECK_WARN, "interpreted", "bpf_jit_enable=1"},
	{"jit-hidden", "bpf_jit", CHECK_OK, "not visible", ""},
	{"sample-rate-low", "sample_rate", CHECK_WARN, "2000 Hz",
	 "perf_event_max_sample_rate"},
	{"no-seccomp", "sandbox", CHECK_FAIL, "no seccomp", "CONFIG_SECCOMP_FILTER"},
	{"no-landlock", "sandbox", CHECK_OK, "seccomp", ""},
	{"garbage", "privileges", CHECK_FAIL, "missing", "sudo"},
	{"garbage", "kernel", CHECK_WARN, "", "/proc"},
	{"garbage", "perf_event_paranoid", CHECK_FAIL, "cannot be read", "mount"},
	{"garbage", "cgroups", CHECK_WARN, "none", "cgroup2"},
	{"garbage", "kallsyms", CHECK_WARN, "hidden", "CAP_SYSLOG"},
};

static bool is_listed(const char *name, const char *check)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (!strcmp(cases[i].name, name) && !strcmp(cases[i].check, check))
			return true;
	return false;
}

static void every_failure_has_its_remedy(void **state)
{
	struct doctor d;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct check *c;

		if (!i || strcmp(cases[i].name, cases[i - 1].name)) {
			examine(cases[i].name, &all_work, &d);
			assert_consistent(cases[i].name, &d);
			for (size_t k = 0; k < d.nr_checks; k++)
				if (d.checks[k].status != CHECK_OK &&
				    !is_listed(cases[i].name, d.checks[k].name))
					fail_msg("%s: unexpected: %s: %s", cases[i].name,
						 d.checks[k].name, d.checks[k].found);
		}
		c = check_of(&d, cases[i].check);
		if (c->status != cases[i].status || !strstr(c->found, cases[i].found) ||
		    !strstr(c->remedy, cases[i].remedy))
			fail_msg("%s: %s: status %d, found '%s', remedy '%s'",
				 cases[i].name, c->name, c->status, c->found, c->remedy);
	}
}

/* Results of system calls, inside and outside of containers, on old and new kernels. */
static const struct {
	const char *name;
	struct doctor_probes probes;
	const char *check;
	enum check_status status;
	const char *remedy;
} probe_cases[] = {
	{"healthy", {.perf_errno = EACCES}, "perf_event", CHECK_FAIL, "paranoid"},
	{"docker", {.perf_errno = EPERM}, "perf_event_paranoid", CHECK_OK, ""},
	{"docker",
	 {.perf_errno = EACCES, .own_perf_errno = EACCES},
	 "perf_event_paranoid",
	 CHECK_FAIL,
	 "add CAP_SYS_ADMIN"},
	{"lockdown-absent", {.bpf_errno = EINVAL}, "bpf", CHECK_FAIL, "see lockdown"},
	{"caps-paranoid-2",
	 {.are_uprobes_refused = true},
	 "uprobe",
	 CHECK_WARN,
	 "add CAP_SYS_ADMIN"},
	/* Without events nobody asks about uprobes. */
	{"no-caps",
	 {.are_uprobes_refused = true,
	  .perf_errno = EACCES,
	  .bpf_errno = EPERM,
	  .cookie_errno = EPERM},
	 "uprobe",
	 CHECK_OK,
	 ""},
	{"docker", {.perf_errno = EPERM}, "perf_event", CHECK_FAIL, "--privileged"},
	{"kubernetes",
	 {.perf_errno = EPERM},
	 "perf_event",
	 CHECK_FAIL,
	 "privileged: true"},
	{"healthy", {.perf_errno = ENOENT}, "perf_event", CHECK_FAIL, "cpu-clock"},
	{"healthy",
	 {.perf_errno = ENOSYS},
	 "perf_event",
	 CHECK_FAIL,
	 "CONFIG_PERF_EVENTS"},
	{"healthy", {.perf_errno = EMFILE}, "perf_event", CHECK_FAIL, "ulimit -n"},
	{"healthy", {.perf_errno = ENODEV}, "perf_event", CHECK_FAIL, "online"},
	{"healthy", {.perf_errno = EINVAL}, "perf_event", CHECK_FAIL, "perf stat"},
	{"healthy", {.bpf_errno = EPERM}, "bpf", CHECK_FAIL, "privileges"},
	{"docker", {.bpf_errno = EPERM}, "bpf", CHECK_FAIL, "no right to bpf(2)"},
	{"docker-hostpid", {.bpf_errno = EPERM}, "bpf", CHECK_FAIL, "call filter may"},
	{"kernel-5.10", {.bpf_errno = EPERM}, "bpf", CHECK_FAIL, "memlock"},
	{"lockdown-confidentiality",
	 {.bpf_errno = EINVAL},
	 "bpf",
	 CHECK_FAIL,
	 "lockdown"},
	{"healthy", {.bpf_errno = ENOSYS}, "bpf", CHECK_FAIL, "CONFIG_BPF_SYSCALL"},
	{"healthy", {.bpf_errno = ENOMEM}, "bpf", CHECK_FAIL, "memory"},
	{"healthy", {.bpf_errno = E2BIG}, "bpf", CHECK_FAIL, "5.10"},
	{"healthy", {.jit_probe_errno = EACCES}, "uprobe", CHECK_WARN, "-vv"},
	{"healthy", {.cookie_errno = EINVAL}, "uprobe", CHECK_WARN, "5.15"},
	{"no-sys", {.cookie_errno = EINVAL}, "uprobe", CHECK_WARN, "UPROBE_EVENTS"},
	{"healthy", {.bpf_errno = EPERM, .cookie_errno = EPERM}, "uprobe", CHECK_OK, ""},
	{"healthy", {.memlock_bytes = 65536}, "memlock", CHECK_OK, ""},
	{"kernel-5.10", {.memlock_bytes = 65536}, "memlock", CHECK_OK, ""},
	{"healthy", {.debuginfod_urls = "https://x.example"}, "debuginfod", CHECK_OK, ""},
	{"healthy",
	 {.debuginfod_urls = "https://x.example", .lacks_debuginfod_find = true},
	 "debuginfod",
	 CHECK_WARN,
	 "debuginfod-find"},
	{"healthy", {.debuginfod_urls = ""}, "debuginfod", CHECK_OK, ""},
	{"healthy", {.is_arm64 = false}, "callers", CHECK_OK, ""},
	{"healthy", {.is_arm64 = true}, "callers", CHECK_WARN, "frame-pointer"},
};

static void system_calls_that_fail_are_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(probe_cases); i++) {
		const struct check *c;
		struct doctor d;

		examine(probe_cases[i].name, &probe_cases[i].probes, &d);
		assert_consistent(probe_cases[i].name, &d);
		c = check_of(&d, probe_cases[i].check);
		if (c->status != probe_cases[i].status ||
		    !strstr(c->remedy, probe_cases[i].remedy))
			fail_msg("case %zu: %s: status %d, found '%s', remedy '%s'", i,
				 c->name, c->status, c->found, c->remedy);
	}
}

/* ---- with and without each capability, under every setting ---- */

/* CAP_BPF and so on, as linux/capability.h numbers them, and what is worse without. */
static const struct right {
	unsigned int cap;
	const char *name;
	enum check_status without;
} rights[] = {
	{39, "CAP_BPF", CHECK_FAIL},
	{38, "CAP_PERFMON", CHECK_FAIL},
	{19, "CAP_SYS_PTRACE", CHECK_WARN},
	{2, "CAP_DAC_READ_SEARCH", CHECK_WARN},
	{40, "CAP_CHECKPOINT_RESTORE", CHECK_WARN},
	{34, "CAP_SYSLOG", CHECK_WARN},
	{5, "CAP_KILL", CHECK_WARN}, /* of root */
	{21, "CAP_SYS_ADMIN", CHECK_OK},
};

enum {
	BPF,
	PERFMON,
	PTRACE,
	READ,
	RESTORE,
	SYSLOG,
	KILL,
	ADMIN,
	NR_RIGHTS
};
_Static_assert(ARRAY_SIZE(rights) == NR_RIGHTS, "a name for each");

struct caller {
	bool has[NR_RIGHTS];
	bool is_root;
	long paranoid;
	bool is_patched; /* the kernel: 3 and more ask for CAP_SYS_ADMIN */
};

static void write_caller(const char *root, const struct caller *who)
{
	/* Root's CAP_SETUID gives helpers uids of their own. */
	uint64_t caps = who->is_root ? UINT64_C(1) << 7 : 0;
	char text[128];

	for (size_t i = 0; i < NR_RIGHTS; i++)
		caps |= who->has[i] ? UINT64_C(1) << rights[i].cap : 0;
	snprintf(text, sizeof(text), "Uid:\t0\t%d\t0\t0\nCapEff:\t%016llx\n",
		 who->is_root ? 0 : 1000, (unsigned long long)caps);
	make_part(root, &(struct machine_part){.path = "/proc/self/status",
					       .kind = PART_FILE,
					       .content = text,
					       .len = strlen(text)});
	snprintf(text, sizeof(text), "%ld\n", who->paranoid);
	make_part(root,
		  &(struct machine_part){.path = "/proc/sys/kernel/perf_event_paranoid",
					 .kind = PART_FILE,
					 .content = text,
					 .len = strlen(text)});
}

/* What the kernel answers (perf_event_open() of kernel/events/core.c, bpf_prog_load()). */
static struct doctor_probes answers_to(const struct caller *who)
{
	bool restricted = who->is_patched && who->paranoid >= 3;
	bool perfmon = who->has[PERFMON] || who->has[ADMIN];

	return (struct doctor_probes){
		.memlock_bytes = UINT64_MAX,
		.own_perf_errno = restricted ? EACCES : 0,
		.perf_errno = perfmon && (!restricted || who->has[ADMIN]) ? 0 : EACCES,
		.bpf_errno = perfmon && (who->has[BPF] || who->has[ADMIN]) ? 0 : EPERM,
	};
}

static bool lacks(const struct caller *who, size_t right)
{
	bool admin_does = right == BPF || right == PERFMON || right == RESTORE;

	return !who->has[right] && !(admin_does && who->has[ADMIN]) &&
	       !(right == KILL && !who->is_root);
}

static void judge_caller(const char *root, const struct caller *who)
{
	const struct doctor_probes probes = answers_to(who);
	const struct check *privileges, *paranoid;
	enum check_status worst = CHECK_OK;
	size_t nr_failed = 0;
	struct doctor d;

	write_caller(root, who);
	doctor_examine(root, &probes, &d);
	assert_consistent("caller", &d);
	privileges = check_of(&d, "privileges");
	for (size_t i = 0; i < NR_RIGHTS; i++) {
		bool is_missing = lacks(who, i) && rights[i].without != CHECK_OK;

		if (is_missing && rights[i].without > worst)
			worst = rights[i].without;
		if (is_missing && !strstr(privileges->found, rights[i].name))
			fail_msg("not missed: %s: %s", rights[i].name, privileges->found);
		if (!lacks(who, i) && strstr(privileges->found, rights[i].name))
			fail_msg("missed: %s: %s", rights[i].name, privileges->found);
	}
	assert_int_equal(privileges->status, worst);
	/* The setting is the trouble only where CAP_SYS_ADMIN is asked for, and not there. */
	paranoid = check_of(&d, "perf_event_paranoid");
	assert_int_equal(paranoid->status, probes.own_perf_errno && !who->has[ADMIN]
						   ? CHECK_FAIL
						   : CHECK_OK);
	/* Doctor says that recording works if and only if the kernel lets it. */
	for (size_t i = 0; i < d.nr_checks; i++)
		nr_failed += d.checks[i].status == CHECK_FAIL;
	assert_int_equal(!nr_failed, !probes.perf_errno && !probes.bpf_errno);
}

/*
 * All sets of the three capabilities that decide; with each all others, all but one, and
 * none.
 */
static void judge_callers(const char *root, bool is_patched, long paranoid)
{
	for (unsigned int set = 0; set < 8; set++)
		for (size_t lacking = PTRACE; lacking <= NR_RIGHTS; lacking++) {
			struct caller who = {.paranoid = paranoid,
					     .is_patched = is_patched,
					     .is_root = lacking == KILL};

			who.has[BPF] = set & 1;
			who.has[PERFMON] = set & 2;
			for (size_t i = PTRACE; i < ADMIN; i++)
				who.has[i] = i != lacking && lacking != NR_RIGHTS;
			who.has[ADMIN] = set & 4;
			judge_caller(root, &who);
		}
}

static void every_caller_is_told_the_truth(void **state)
{
	char root[SCRATCH_BYTES];

	(void)state;
	make_machine("caps-paranoid-2", root);
	for (long paranoid = 2; paranoid <= 4; paranoid++) {
		judge_callers(root, false, paranoid);
		judge_callers(root, true, paranoid);
	}
	scratch_remove(root);
}

/* Before 5.11, memory of BPF maps is limited without CAP_SYS_RESOURCE. */
static void locked_memory_counts_on_old_kernels(void **state)
{
	static const struct {
		uint64_t bytes;
		enum check_status status;
	} limits[] = {
		{65536, CHECK_FAIL},
		{(512 << 20) - 1, CHECK_FAIL},
		{512 << 20, CHECK_OK},
		{UINT64_MAX, CHECK_OK},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct doctor_probes probes = {.memlock_bytes = limits[i].bytes};
		const struct check *c;
		struct doctor d;

		examine("kernel-5.10-no-caps", &probes, &d);
		c = check_of(&d, "memlock");
		assert_int_equal(c->status, limits[i].status);
		if (c->status == CHECK_FAIL)
			assert_non_null(strstr(c->remedy, "ulimit -l"));
	}
}

static char *print(const struct doctor *d, bool json, int *ret_status)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	*ret_status = doctor_print(d, json, f);
	fclose(f);
	return text;
}

static void the_text_is_for_people(void **state)
{
	_cleanup_free_ char *good = NULL, *warned = NULL, *bad = NULL;
	struct doctor d;
	int status;

	(void)state;
	examine("healthy", &all_work, &d);
	good = print(&d, false, &status);
	assert_int_equal(status, EXIT_OK);
	assert_non_null(
		strstr(good, "ok    btf                  /sys/kernel/btf/vmlinux\n"));
	assert_non_null(strstr(good, "\nlineburn can record here\n"));
	assert_null(strstr(good, "remedy"));

	examine("cgroup-v1", &all_work, &d);
	warned = print(&d, false, &status);
	assert_int_equal(status, EXIT_OK);
	assert_non_null(strstr(warned, "\nwarn  cgroups "));
	assert_non_null(strstr(warned, "\n                           remedy: boot with"));
	assert_non_null(strstr(warned, "can record here; 1 of 18 checks"));

	examine("no-btf", &all_work, &d);
	bad = print(&d, false, &status);
	assert_int_equal(status, EXIT_SYSTEM);
	assert_non_null(strstr(bad, "cannot record here: 1 of 18 checks failed\n"));
}

/* A release and environment that contain terminal escapes. */
static void what_is_printed_is_escaped(void **state)
{
	const struct doctor_probes probes = {.debuginfod_urls = "\033[2J\xff\n\u202e"};
	_cleanup_free_ char *text = NULL, *json = NULL;
	json_error_t error;
	struct doctor d;
	json_t *object;
	int status;

	(void)state;
	examine("garbage", &probes, &d);
	text = print(&d, false, &status);
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
	assert_non_null(strstr(text, "\\x1b]52;c;aGk=\\x07\\xff"));
	assert_non_null(strstr(text, "DEBUGINFOD_URLS=\\x1b[2J\\xff\\x0a\\u{202e}\n"));

	json = print(&d, true, &status);
	object = json_loads(json, 0, &error);
	assert_non_null(object);
	json_decref(object);
}

static void the_json_is_for_scripts(void **state)
{
	_cleanup_free_ char *text = NULL;
	json_t *object, *checks, *check;
	json_error_t error;
	struct doctor d;
	size_t i;
	int status;

	(void)state;
	examine("no-btf", &all_work, &d);
	text = print(&d, true, &status);
	assert_int_equal(status, EXIT_SYSTEM);
	object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(object);
	assert_int_equal(json_integer_value(json_object_get(object, "lineburn")), 1);
	assert_string_equal(json_string_value(json_object_get(object, "kind")), "doctor");
	assert_true(json_is_false(json_object_get(object, "ok")));
	checks = json_object_get(object, "checks");
	assert_int_equal(json_array_size(checks), d.nr_checks);
	json_array_foreach(checks, i, check)
	{
		static const char *const names[] = {"ok", "warn", "fail"};

		assert_string_equal(json_string_value(json_object_get(check, "name")),
				    d.checks[i].name);
		assert_string_equal(json_string_value(json_object_get(check, "status")),
				    names[d.checks[i].status]);
		assert_string_equal(json_string_value(json_object_get(check, "found")),
				    d.checks[i].found);
		assert_string_equal(json_string_value(json_object_get(check, "remedy")),
				    d.checks[i].remedy);
	}
	json_decref(object);

	free(take_ptr(text));
	examine("cgroup-v1", &all_work, &d);
	text = print(&d, true, &status);
	assert_int_equal(status, EXIT_OK);
	object = json_loads(text, 0, &error);
	assert_true(json_is_true(json_object_get(object, "ok")));
	json_decref(object);
}

/* Any machine is described, and the exit status agrees with the description. */
static void this_system_is_described(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct doctor_probes probes;
	bool failed = false;
	struct doctor d;
	int status;

	(void)state;
	doctor_probe(&probes);
	doctor_examine("", &probes, &d);
	assert_consistent("this system", &d);
	for (size_t i = 0; i < d.nr_checks; i++)
		failed |= d.checks[i].status == CHECK_FAIL;
	text = print(&d, false, &status);
	assert_int_equal(status, failed ? EXIT_SYSTEM : EXIT_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admission),
		cmocka_unit_test(every_failure_has_its_remedy),
		cmocka_unit_test(system_calls_that_fail_are_explained),
		cmocka_unit_test(every_caller_is_told_the_truth),
		cmocka_unit_test(locked_memory_counts_on_old_kernels),
		cmocka_unit_test(the_text_is_for_people),
		cmocka_unit_test(what_is_printed_is_escaped),
		cmocka_unit_test(the_json_is_for_scripts),
		cmocka_unit_test(this_system_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
