// SPDX-License-Identifier: GPL-2.0-or-later
/* Tries the system calls that matter, and prints. The checks are in checks.c. */
#include "doctor/doctor.h"

#include <errno.h>
#include <jansson.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/tool.h"
#include "collect/jit_probe.h"
#include "collect/perf_event.h"

static const char *const status_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_WARN] = "warn",
	[CHECK_FAIL] = "fail",
};
_Static_assert(ARRAY_SIZE(status_names) == NR_CHECK_STATUS, "a name for each status");

/* ---- trying system calls ---- */

/* Opens the sampler's event at its slowest rate, disabled. Return: 0 or errno. */
static int try_clock(pid_t pid, int cpu, bool in_user_space)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1,
		.exclude_kernel = in_user_space,
		.exclude_hv = in_user_space,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1,
					      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int try_perf_event(void)
{
	return try_clock(-1, 0, false);
}

/* Opens an event that any process may have. Return: 0 or errno. */
static int try_own_event(void)
{
	const uint64_t admin = CAPABILITY(CAP_SYS_ADMIN);
	uint64_t have = 0;
	int error;

	/* In the effective set alone, so that it can be taken again. */
	if (capabilities_permitted(&have) || capabilities_set(have & ~admin, have, 0))
		return 0;
	error = try_clock(0, -1, true);
	capabilities_set(have, have, 0);
	return error;
}

bool doctor_is_perf_restricted(void)
{
	return try_own_event() == EACCES;
}

/* Return: 0 or errno. */
static int try_program(enum bpf_prog_type type, const struct bpf_insn *insns,
		       size_t nr_insns)
{
	union bpf_attr attr;
	_cleanup_close_ int fd = -1;

	memset(&attr, 0, sizeof(attr)); /* the kernel rejects unknown nonzero fields */
	attr.prog_type = type;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = (uint32_t)nr_insns;
	attr.license = (uint64_t)(uintptr_t) "GPL";
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

/*
 * Loads a program of the sampler's type that reads kernel memory, because lockdown
 * forbids that. A socket filter would load even if the sampler does not.
 * r1 = r10 - 8; r2 = 8; r3 = 0; call bpf_probe_read_kernel; r0 = 0; exit
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

	return try_program(BPF_PROG_TYPE_PERF_EVENT, program, ARRAY_SIZE(program));
}

/*
 * Loads a program of the JIT probe's type. Helper and cookies exist since 5.15.
 * call bpf_get_attach_cookie; r0 = 0; exit
 */
static int try_cookie(void)
{
	const struct bpf_insn program[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return try_program(BPF_PROG_TYPE_KPROBE, program, ARRAY_SIZE(program));
}

static bool has_debuginfod_find(void)
{
	const char *const argv[] = {"debuginfod-find", "--version", NULL};
	_cleanup_free_ char *text = NULL;

	return !tool_read(
		&(struct tool){.argv = argv, .timeout_ms = 10000, .max_bytes = 4096},
		&text);
}

void doctor_probe(struct doctor_probes *ret)
{
	struct rlimit limit = {.rlim_cur = 0};
	struct utsname names;

	ret->perf_errno = try_perf_event();
	ret->own_perf_errno = try_own_event();
	ret->bpf_errno = try_bpf();
	ret->cookie_errno = try_cookie();
	ret->jit_probe_errno = ret->cookie_errno ? 0 : -jit_probe_try();
	ret->are_uprobes_refused = perf_event_is_uprobe_refused();
	getrlimit(RLIMIT_MEMLOCK, &limit);
	ret->memlock_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
							     : limit.rlim_cur;
	ret->debuginfod_urls = getenv("DEBUGINFOD_URLS");
	ret->lacks_debuginfod_find = ret->debuginfod_urls && *ret->debuginfod_urls &&
				     !has_debuginfod_find();
	ret->is_arm64 = !uname(&names) && !strcmp(names.machine, "aarch64");
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
 *  ok    kernel        6.1.192: no known problem
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
			"lineburn can record here; %zu of %zu checks found something "
			"missing\n",
			nr_warnings, d->nr_checks);
	else
		fprintf(out, "lineburn can record here\n");
}

static json_t *check_value(const struct check *c)
{
	char found[1024], remedy[1024];

	return json_pack("{s:s, s:s, s:s, s:s}", "name", c->name, "status",
			 status_names[c->status], "found",
			 escape_utf8_buf(found, sizeof(found), c->found), "remedy",
			 escape_utf8_buf(remedy, sizeof(remedy), c->remedy));
}

/* Return: 0 or -ENOMEM. Jansson's setters fail if the value is NULL. */
static int print_json(const struct doctor *d, FILE *out)
{
	json_t *checks = json_array(), *root;
	int rc = 0;

	for (size_t i = 0; !rc && i < d->nr_checks; i++)
		rc = json_array_append_new(checks, check_value(&d->checks[i]));
	root = json_pack("{s:i, s:s, s:b, s:o}", "lineburn", 1, "kind", "doctor", "ok",
			 !count(d, CHECK_FAIL), "checks", checks);
	if (!root || rc || json_dumpf(root, out, JSON_INDENT(2)))
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
