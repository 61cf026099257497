// SPDX-License-Identifier: GPL-2.0-or-later
/* Tries the two system calls that matter, and prints. The checks: doctor_checks.c. */
#include "doctor.h"

#include <errno.h>
#include <jansson.h>
#include <linux/bpf.h>
<<<<<<< HEAD
#include <linux/perf_event.h>
	== == ==
	=
#include <linux/capability.h>
#include <stdarg.h>
		>>>>>>> refs / heads / doctor
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/escape.h"

		< < < < < < < HEAD static const char *const status_names[] = {
			[CHECK_OK] = "ok",
			[CHECK_WARN] = "warn",
			[CHECK_FAIL] = "fail",
};
_Static_assert(ARRAY_SIZE(status_names) == NR_CHECK_STATUS, "a name for each status");
=======
#define MAX_TEXT         (16u << 20) /* mountinfo is the largest */
#define MAX_SYMBOL_LINES 1000

static struct check *add(struct doctor *d, const char *name, enum check_status status,
			 const char *remedy)
{
	struct check *c = &d->checks[d->nr_checks++];

	*c = (struct check){.name = name, .status = status};
	snprintf(c->remedy, sizeof(c->remedy), "%s", remedy);
	return c;
}

__attribute__((format(printf, 2, 3))) static void found(struct check *c, const char *fmt,
							...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->found, sizeof(c->found), fmt, args);
	va_end(args);
}

/* The text of a file below @root without its last newline, or NULL. */
static char *slurp(const char *root, const char *path)
{
	_cleanup_free_ char *full = NULL;
	char *text;
	size_t len;

	if (asprintf(&full, "%s%s", root, path) < 0 ||
	    io_read_file(full, MAX_TEXT, &text, &len))
		return NULL;
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

/* ---- privileges ---- */

#define CAP_BIT(name)                (1ULL << (name))
#define PERFMON_BY_NUMBER            38 /* 5.8; older headers lack these three */
#define BPF_BY_NUMBER                39
#define CHECKPOINT_RESTORE_BY_NUMBER 40

static const struct {
	uint64_t any_of; /* one of these is enough */
	const char *name;
	bool is_needed; /* else there is less to see */
} wanted_caps[] = {
	{CAP_BIT(BPF_BY_NUMBER) | CAP_BIT(CAP_SYS_ADMIN), "CAP_BPF", true},
	{CAP_BIT(PERFMON_BY_NUMBER) | CAP_BIT(CAP_SYS_ADMIN), "CAP_PERFMON", true},
	{CAP_BIT(CAP_SYS_PTRACE), "CAP_SYS_PTRACE", false},
	{CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_DAC_OVERRIDE), "CAP_DAC_READ_SEARCH",
	 false},
	{CAP_BIT(CHECKPOINT_RESTORE_BY_NUMBER) | CAP_BIT(CAP_SYS_ADMIN),
	 "CAP_CHECKPOINT_RESTORE", false},
	{CAP_BIT(CAP_SYSLOG), "CAP_SYSLOG", false},
	{CAP_BIT(CAP_SETUID), "CAP_SETUID", false},
	{CAP_BIT(CAP_SETGID), "CAP_SETGID", false},
};

static void check_privileges(struct doctor *d, const char *root)
{
	_cleanup_free_ char *status = slurp(root, "/proc/self/status");
	_cleanup_free_ char *paranoid =
		slurp(root, "/proc/sys/kernel/perf_event_paranoid");
	const char *line = status ? strstr(status, "\nCapEff:") : NULL;
	uint64_t caps = line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : 0;
	enum check_status worst = CHECK_OK;
	char missing[160] = "";
	struct check *c;

	for (size_t i = 0; i < ARRAY_SIZE(wanted_caps); i++) {
		if (caps & wanted_caps[i].any_of)
			continue;
		strcat(missing, " ");
		strcat(missing, wanted_caps[i].name);
		if (wanted_caps[i].is_needed)
			worst = CHECK_FAIL;
		else if (worst == CHECK_OK)
			worst = CHECK_WARN;
	}
	/* Debian's kernels know a level 3, at which CAP_PERFMON does not suffice. */
	if (paranoid && atoi(paranoid) >= 3 && !(caps & CAP_BIT(CAP_SYS_ADMIN))) {
		strcat(missing, " CAP_SYS_ADMIN");
		worst = CHECK_FAIL;
	}
	c = add(d, "privileges", worst,
		worst == CHECK_OK ? ""
				  : "run as root, with sudo; in a container add "
				    "--privileged and --pid=host");
	if (worst == CHECK_OK)
		found(c, "all that is needed");
	else
		found(c, "%smissing:%s",
		      worst == CHECK_WARN ? "enough to record, not to see all; " : "",
		      missing);
}

static void check_paranoid(struct doctor *d, const char *root)
{
	_cleanup_free_ char *text = slurp(root, "/proc/sys/kernel/perf_event_paranoid");
	struct check *c;

	if (!text) {
		c = add(d, "perf_event_paranoid", CHECK_FAIL,
			"use a kernel with CONFIG_PERF_EVENTS, and mount /proc");
		found(c, "no such setting: the kernel has no perf events");
		return;
	}
	c = add(d, "perf_event_paranoid", CHECK_OK, "");
	found(c, "%s: root may use perf events at any level", text);
}

/* ---- kernel ---- */

static void check_btf(struct doctor *d, const char *root)
{
	_cleanup_free_ char *path = NULL;
	bool there = asprintf(&path, "%s/sys/kernel/btf/vmlinux", root) >= 0 &&
		     !access(path, R_OK);
	struct check *c =
		add(d, "btf", there ? CHECK_OK : CHECK_FAIL,
		    there ? ""
			  : "use a kernel with CONFIG_DEBUG_INFO_BTF=y; distributions "
			    "have it since about 2021");

	found(c, there ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux");
}

static void check_lockdown(struct doctor *d, const char *root)
{
	_cleanup_free_ char *text = slurp(root, "/sys/kernel/security/lockdown");
	bool confidential = text && strstr(text, "[confidentiality]");
	struct check *c =
		add(d, "lockdown", confidential ? CHECK_FAIL : CHECK_OK,
		    confidential ? "boot with lockdown=integrity or none: the kernel "
				   "refuses reads of its memory by BPF"
				 : "");

	found(c, "%s", text ? text : "none");
}

static void check_kernel(struct doctor *d, const char *root)
{
	_cleanup_free_ char *release = slurp(root, "/proc/sys/kernel/osrelease");
	_cleanup_free_ char *version = slurp(root, "/proc/version");
	const struct kernel_quirk *quirk = release ? kernel_quirk_find(release, version)
						   : NULL;
	unsigned int major = 0, minor = 0;
	struct check *c;

	if (!release || sscanf(release, "%u.%u", &major, &minor) != 2) {
		c = add(d, "kernel", CHECK_FAIL, "mount /proc");
		found(c, "its version cannot be read");
		return;
	}
	if (major < 5 || (major == 5 && minor < 10)) {
		c = add(d, "kernel", CHECK_FAIL, "use Linux 5.10 or newer");
	} else if (quirk) {
		c = add(d, "kernel", CHECK_WARN, quirk->reason);
	} else {
		c = add(d, "kernel", CHECK_OK, "");
	}
	found(c, "%s%s", release, quirk ? ", on the list of bad kernels" : "");
}

/* The first symbols may well be at 0, so some more lines are read. */
static void check_kallsyms(struct doctor *d, const char *root)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	bool visible = false;
	char line[1024];
	struct check *c;

	if (asprintf(&path, "%s/proc/kallsyms", root) >= 0)
		f = fopen(path, "re");
	for (int i = 0; f && i < MAX_SYMBOL_LINES && !visible; i++)
		visible = fgets(line, sizeof(line), f) && strtoull(line, NULL, 16);
	c = add(d, "kallsyms", visible ? CHECK_OK : CHECK_WARN,
		visible ? ""
			: (f ? "run as root, or set kernel.kptr_restrict to 0 or 1"
			     : "use a kernel with CONFIG_KALLSYMS, and mount /proc"));
	found(c, "%s",
	      visible ? "kernel functions have names"
		      : (f ? "kernel addresses are hidden: kernel functions have no names"
			   : "no /proc/kallsyms: kernel functions have no names"));
}

static void check_jit(struct doctor *d, const char *root)
{
	_cleanup_free_ char *text = slurp(root, "/proc/sys/net/core/bpf_jit_enable");
	bool off = text && !strcmp(text, "0");
	struct check *c =
		add(d, "bpf_jit", off ? CHECK_WARN : CHECK_OK,
		    off ? "sysctl net.core.bpf_jit_enable=1 makes a sample several times "
			  "cheaper"
			: "");

	found(c, off ? "off: BPF programs are interpreted" : "on");
}

/* ---- where we run ---- */

static void check_cgroup(struct doctor *d, const char *root)
{
	_cleanup_free_ char *text = slurp(root, "/proc/self/mountinfo");
	bool v1 = text && strstr(text, " - cgroup "),
	     v2 = text && strstr(text, " - cgroup2 ");
	struct check *c = add(d, "cgroup", v2 ? CHECK_OK : CHECK_WARN,
			      v2 ? "" : "mount cgroup2 to tell containers apart");

	found(c, v1 && v2 ? "hybrid: v1 and v2"
			  : (v2 ? "v2" : (v1 ? "v1 only" : "not mounted")));
}

/* The inode of the initial one is a constant of the kernel (PROC_PID_INIT_INO). */
static void check_pid_namespace(struct doctor *d, const char *root)
{
	static const char initial_link[] = "pid:[4026531836]";
	_cleanup_free_ char *path = NULL;
	char link[64] = "";
	bool initial;
	struct check *c;

	initial = asprintf(&path, "%s/proc/self/ns/pid", root) >= 0 &&
		  readlink(path, link, sizeof(link) - 1) > 0 &&
		  !strcmp(link, initial_link);
	c = add(d, "pid_namespace", initial ? CHECK_OK : CHECK_FAIL,
		initial ? ""
			: "run on the host, or start the container with --pid=host: "
			  "samples carry the host's process ids");
	found(c, "%s",
	      initial ? "the initial one" : (*link ? "a nested one" : "cannot be read"));
}

static void check_debuginfod(struct doctor *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct check *c = add(d, "debuginfod", CHECK_OK, "");

	found(c, "%s",
	      urls && *urls ? urls
			    : "not set: debug info is looked for on this machine only");
}

void doctor_read(struct doctor *d, const char *root)
{
	check_privileges(d, root);
	check_paranoid(d, root);
	check_kernel(d, root);
	check_btf(d, root);
	check_lockdown(d, root);
	check_kallsyms(d, root);
	check_jit(d, root);
	check_cgroup(d, root);
	check_pid_namespace(d, root);
	check_debuginfod(d);
}
>>>>>>> refs/heads/doctor

/* ---- trying ---- */

/* The event that the sampler uses, at its slowest; it counts nothing here. */
static int try_perf_event(void)
{
<<<<<<< HEAD
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1,
	};
	_cleanup_close_ int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? errno : 0;
=======
	int fd = perf_event_open_clock(0, 1000000);
	struct check *c;

	if (fd >= 0) {
		close(fd);
		c = add(d, "perf_event_open", CHECK_OK, "");
		found(c, "a cpu-clock event opens");
		return;
	}
	c = add(d, "perf_event_open", CHECK_FAIL,
		"run as root; in a container add --privileged, its seccomp profile "
		"blocks the call");
	found(c, "%s", strerror(-fd));
>>>>>>> refs/heads/doctor
}

/*
 * A program of the sampler's type that reads kernel memory, because that is what
 * lockdown forbids; a socket filter would load where the sampler does not.
 *   r1 = r10 - 8; r2 = 8; r3 = 0; call bpf_probe_read_kernel; r0 = 0; exit
 */
static int try_bpf(void)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;
	_cleanup_close_ int fd = -1;

	memset(&attr, 0, sizeof(attr)); /* the kernel refuses what is not zero */
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insns = (uint64_t)(uintptr_t)program;
	attr.insn_cnt = ARRAY_SIZE(program);
	attr.license = (uint64_t)(uintptr_t) "GPL";
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

void doctor_probe(struct doctor_probes *ret)
{
	struct rlimit limit = {.rlim_cur = 0};

	ret->perf_errno = try_perf_event();
	ret->bpf_errno = try_bpf();
	getrlimit(RLIMIT_MEMLOCK, &limit);
	ret->memlock_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
							     : limit.rlim_cur;
	ret->debuginfod_urls = getenv("DEBUGINFOD_URLS");
}

/* ---- printing ---- */

static size_t count(const struct doctor *d, enum check_status status)
{
	size_t nr = 0;

	for (size_t i = 0; i < d->nr_checks; i++)
		nr += d->checks[i].status == status;
	return nr;
}

/*
 *  ok    kernel        6.1.192, nothing is known against it
 *  warn  cgroups       v1 only: samples are told apart by process, not by ...
 *                      remedy: boot with systemd.unified_cgroup_hierarchy=1
 */
static void print_text(const struct doctor *d, FILE *out)
{
	size_t nr_failed = count(d, CHECK_FAIL), nr_warnings = count(d, CHECK_WARN);
	int width = 0;

	for (size_t i = 0; i < d->nr_checks; i++) {
		int len = (int)strlen(d->checks[i].name);

		width = len > width ? len : width;
	}
	for (size_t i = 0; i < d->nr_checks; i++) {
		const struct check *c = &d->checks[i];

		fprintf(out, "%-4s  %-*s  ", status_names[c->status], width, c->name);
		escape_terminal(out, c->found);
		if (c->remedy[0]) {
			fprintf(out, "\n%*s  remedy: ", 6 + width, "");
			escape_terminal(out, c->remedy);
		}
		fputc('\n', out);
	}
	if (nr_failed)
		fprintf(out, "lineburn cannot record here: %zu of %zu checks failed\n",
			nr_failed, d->nr_checks);
	else if (nr_warnings)
		fprintf(out,
			"lineburn can record here; %zu of %zu checks say what is "
			"missing\n",
			nr_warnings, d->nr_checks);
	else
		fprintf(out, "lineburn can record here\n");
}

static json_t *text_of(const char *s)
{
	char buf[1024];

	return json_string(escape_utf8_buf(buf, sizeof(buf), s));
}

/* Return: 0 or -ENOMEM. The setters take NULL as a failure, so one check is enough. */
static int add_check(json_t *checks, const struct check *c)
{
	json_t *object = json_object();

	if (json_object_set_new(object, "name", text_of(c->name)) ||
	    json_object_set_new(object, "status", json_string(status_names[c->status])) ||
	    json_object_set_new(object, "found", text_of(c->found)) ||
	    json_object_set_new(object, "remedy", text_of(c->remedy))) {
		json_decref(object);
		return -ENOMEM;
	}
	return json_array_append_new(checks, object) ? -ENOMEM : 0;
}

static int print_json(const struct doctor *d, FILE *out)
{
	json_t *root = json_object(), *checks = json_array();
	int rc = 0;

	for (size_t i = 0; !rc && i < d->nr_checks; i++)
		rc = add_check(checks, &d->checks[i]);
	if (rc) {
		json_decref(checks);
		checks = NULL;
	}
	if (json_object_set_new(root, "lineburn", json_integer(1)) ||
	    json_object_set_new(root, "kind", json_string("doctor")) ||
	    json_object_set_new(root, "ok", json_boolean(!count(d, CHECK_FAIL))) ||
	    json_object_set_new(root, "checks", checks) ||
	    json_dumpf(root, out, JSON_INDENT(2)))
		rc = -ENOMEM;
	json_decref(root);
	fputc('\n', out);
	return rc;
}

int doctor_print(const struct doctor *d, bool json, FILE *out)
{
	if (!json)
		print_text(d, out);
	else if (print_json(d, out))
		return EXIT_FAILED;
	return count(d, CHECK_FAIL) ? EXIT_SYSTEM : EXIT_OK;
}

int doctor_run(bool json, FILE *out)
{
	struct doctor_probes probes;
	struct doctor d;

	doctor_probe(&probes);
	doctor_examine("", &probes, &d);
	return doctor_print(&d, json, out);
}
