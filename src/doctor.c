// SPDX-License-Identifier: GPL-2.0-or-later
#include "doctor.h"

#include <errno.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/io.h"
#include "collect/kernel_quirks.h"
#include "collect/perf_event.h"

#define MAX_TEXT (16u << 20) /* kallsyms is the largest */

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

static const struct {
	unsigned int bit;
	const char *name;
} needed_caps[] = {
	{39, "CAP_BPF"},
	{38, "CAP_PERFMON"},
	{19, "CAP_SYS_PTRACE"},
	{2, "CAP_DAC_READ_SEARCH"},
	{40, "CAP_CHECKPOINT_RESTORE"},
	{34, "CAP_SYSLOG"},
};
#define CAP_SYS_ADMIN_BIT 21

static void check_privileges(struct doctor *d, const char *root)
{
	_cleanup_free_ char *status = slurp(root, "/proc/self/status");
	_cleanup_free_ char *paranoid =
		slurp(root, "/proc/sys/kernel/perf_event_paranoid");
	const char *line = status ? strstr(status, "\nCapEff:") : NULL;
	uint64_t caps = line ? strtoull(line + 8, NULL, 16) : 0;
	char missing[160] = "";
	struct check *c;

	for (size_t i = 0; i < ARRAY_SIZE(needed_caps); i++)
		if (!(caps & 1ULL << needed_caps[i].bit)) {
			strcat(missing, " ");
			strcat(missing, needed_caps[i].name);
		}
	/* Debian's kernels know a level 3, at which CAP_PERFMON does not suffice. */
	if (paranoid && atoi(paranoid) >= 3 && !(caps & 1ULL << CAP_SYS_ADMIN_BIT))
		strcat(missing, " CAP_SYS_ADMIN");
	c = add(d, "privileges", *missing ? CHECK_FAIL : CHECK_OK,
		*missing ? "run as root, with sudo; in a container add --privileged and "
			   "--pid=host"
			 : "");
	if (*missing)
		found(c, "missing:%s", missing);
	else
		found(c, "all that is needed");
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
	const struct kernel_quirk *quirk = kernel_quirk_find_running(root);
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
		c = add(d, "kernel", CHECK_WARN, quirk->remedy);
	} else {
		c = add(d, "kernel", CHECK_OK, "");
	}
	found(c, "%s%s%s", release, quirk ? ": " : "", quirk ? quirk->reason : "");
}

static void check_kallsyms(struct doctor *d, const char *root)
{
	_cleanup_free_ char *text = slurp(root, "/proc/kallsyms");
	bool visible = false;
	struct check *c;

	for (const char *line = text; line && *line && !visible;) {
		visible = strtoull(line, NULL, 16) != 0;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	c = add(d, "kallsyms", visible ? CHECK_OK : CHECK_WARN,
		visible ? "" : "run as root, or set kernel.kptr_restrict to 0 or 1");
	found(c, visible ? "kernel functions have names"
			 : "kernel addresses are hidden: kernel functions have no names");
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

/* NSpid has one number per nested pid namespace; kthreadd is pid 2 in the first one only. */
static void check_pid_namespace(struct doctor *d, const char *root)
{
	_cleanup_free_ char *status = slurp(root, "/proc/self/status");
	_cleanup_free_ char *kthreadd = slurp(root, "/proc/2/comm");
	const char *line = status ? strstr(status, "\nNSpid:") : NULL;
	bool nested = line && strchr(line + strlen("\nNSpid:\t"), '\t') &&
		      strchr(line + strlen("\nNSpid:\t"), '\t') <
			      strchrnul(line + 1, '\n');
	bool initial = !nested && kthreadd && !strcmp(kthreadd, "kthreadd");
	struct check *c =
		add(d, "pid_namespace", initial ? CHECK_OK : CHECK_FAIL,
		    initial ? ""
			    : "run on the host, or start the container with --pid=host: "
			      "samples carry the host's process ids");

	found(c, initial ? "the initial one" : "a nested one");
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

/* ---- trying ---- */

static void try_perf_event(struct doctor *d)
{
	struct error err = {0};
	int fd = perf_event_open_clock(0, 1000000);
	struct check *c;

	if (fd >= 0) {
		close(fd);
		c = add(d, "perf_event_open", CHECK_OK, "");
		found(c, "a cpu-clock event opens");
		return;
	}
	perf_event_explain(fd, &err);
	c = add(d, "perf_event_open", CHECK_FAIL,
		"run as root; in a container add --privileged, its seccomp profile "
		"blocks the call");
	found(c, "%s", strerror(-fd));
}

/* The smallest program: return 0. */
static void try_bpf(struct doctor *d)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uint64_t)(uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uint64_t)(uintptr_t) "GPL",
	};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	struct check *c =
		add(d, "bpf", fd >= 0 ? CHECK_OK : CHECK_FAIL,
		    fd >= 0 ? ""
			    : "run as root; the kernel needs CONFIG_BPF_SYSCALL and "
			      "CONFIG_BPF_EVENTS, and a container --privileged");

	found(c, "%s", fd >= 0 ? "a perf_event program loads" : strerror(errno));
	if (fd >= 0)
		close(fd);
}

void doctor_try(struct doctor *d)
{
	try_perf_event(d);
	try_bpf(d);
}

/* ---- output ---- */

static const char *const status_words[] = {
	[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

static bool is_good(const struct doctor *d)
{
	for (size_t i = 0; i < d->nr_checks; i++)
		if (d->checks[i].status == CHECK_FAIL)
			return false;
	return true;
}

static void print_json(const struct doctor *d, FILE *out)
{
	json_t *checks = json_array();
	json_t *top;

	for (size_t i = 0; i < d->nr_checks; i++) {
		const struct check *c = &d->checks[i];
		char text[sizeof(c->found) * 3];

		json_array_append_new(
			checks, json_pack("{s:s, s:s, s:s, s:s}", "name", c->name,
					  "status", status_words[c->status], "found",
					  escape_utf8_buf(text, sizeof(text), c->found),
					  "remedy", c->remedy));
	}
	top = json_pack("{s:i, s:s, s:b, s:o}", "lineburn", 1, "kind", "doctor", "ok",
			is_good(d), "checks", checks);
	json_dumpf(top, out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(top);
}

static void print_text(const struct doctor *d, FILE *out)
{
	for (size_t i = 0; i < d->nr_checks; i++) {
		const struct check *c = &d->checks[i];

		fprintf(out, "%-4s  %-20s ", status_words[c->status], c->name);
		escape_terminal(out, c->found);
		fputc('\n', out);
		if (*c->remedy)
			fprintf(out, "      %-20s %s\n", "", c->remedy);
	}
	fputs(is_good(d) ? "\nlineburn works here.\n"
			 : "\nlineburn does not work here: mend what says \"fail\".\n",
	      out);
}

int doctor_print(const struct doctor *d, bool json, FILE *out)
{
	if (json)
		print_json(d, out);
	else
		print_text(d, out);
	return is_good(d) ? EXIT_OK : EXIT_SYSTEM;
}

int doctor_run(bool json, FILE *out)
{
	struct doctor d = {0};

	doctor_read(&d, "");
	doctor_try(&d);
	return doctor_print(&d, json, out);
}
