// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One function per check, which reads only its own facts. A check always reports what
 * it found, and has a remedy for every problem.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/as_root.h"
#include "base/cleanup.h"
#include "collect/kernel_quirks.h"
#include "doctor/doctor.h"

/* Oldest kernel that lineburn supports. */
#define MIN_MAJOR 5
#define MIN_MINOR 10

/* Before 5.11 BPF maps counted as locked memory. */
#define MEMLOCK_MAJOR     5
#define MEMLOCK_MINOR     11
#define MEMLOCK_MIN_BYTES (UINT64_C(512) << 20)

/*
 * With this value or a higher one, Debian's and Ubuntu's kernels require CAP_SYS_ADMIN.
 * The kernel itself takes it as 2.
 */
#define PARANOID_DISTRIBUTION 3

/* The highest rate that -F accepts. */
#define MAX_FREQ_HZ 10000

/* Lines to read: if the addresses in all of them are 0, the kernel hides addresses. */
#define KALLSYMS_MAX_LINES 4096

/* ---- facts for several checks, read once ---- */

/* Inode numbers of the initial namespaces, equal on all kernels (linux/proc_ns.h). */
#define INITIAL_CGROUP_NS 0xeffffffbu
#define INITIAL_PID_NS    0xeffffffcu
#define INITIAL_USER_NS   0xeffffffdu

/* Is this process in the initial namespace of a kind? */
enum placement {
	PLACE_UNKNOWN, /* /proc does not show it */
	PLACE_INITIAL,
	PLACE_NESTED,
};

struct machine {
	const char *root; /* prefix of every path */
	uint64_t caps; /* effective, one bit each; 0 when not known */
	uint32_t uid; /* effective; UINT32_MAX when not known */
	enum placement user_ns, pid_ns, cgroup_ns;
	const char *container; /* "Docker", ...; NULL: none detected */
	char release[KERNEL_RELEASE_BYTES]; /* "" when it cannot be read */
	char version[KERNEL_VERSION_BYTES];
	struct kernel_level level;
	bool level_known;
	const struct doctor_probes *probes; /* borrowed; NULL before a recording */
};

/* Prepends the root to @path. Return: @buf; "" if it does not fit. */
static const char *machine_path(const struct machine *m, const char *path, char *buf,
				size_t size)
{
	if (snprintf(buf, size, "%s%s", m->root, path) >= (int)size)
		buf[0] = '\0';
	return buf;
}

/* Return: NULL if it cannot be read. */
static FILE *machine_open(const struct machine *m, const char *path)
{
	char full[PATH_MAX];

	return fopen(machine_path(m, path, full, sizeof(full)), "re");
}

/*
 * Reads the beginning of a file as one line: terminated, cut at the first newline.
 * Return: its length, or a negative errno with "" in @buf.
 */
static ssize_t machine_line(const struct machine *m, const char *path, char *buf,
			    size_t size)
{
	_cleanup_close_ int fd = -1;
	char full[PATH_MAX];
	ssize_t n;

	buf[0] = '\0';
	fd = open(machine_path(m, path, full, sizeof(full)), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return (ssize_t)strlen(buf);
}

/*
 * Reads a decimal number. Return: 0, -EINVAL if it is not a number, or a negative
 * errno.
 */
static int machine_number(const struct machine *m, const char *path, long *ret)
{
	char buf[64], *end;
	ssize_t n = machine_line(m, path, buf, sizeof(buf));
	long v;

	if (n < 0)
		return (int)n;
	v = strtol(buf, &end, 10);
	if (end == buf || *end)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* Does @path exist? */
static bool machine_has(const struct machine *m, const char *path)
{
	char full[PATH_MAX];

	return !access(machine_path(m, path, full, sizeof(full)), F_OK);
}

static bool machine_has_cap(const struct machine *m, int cap)
{
	return m->caps >> cap & 1;
}

/* Reads CapEff and Uid of /proc/self/status. */
static void read_status(struct machine *m)
{
	_cleanup_fclose_ FILE *f = machine_open(m, "/proc/self/status");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned int uid;

		if (!strncmp(line, "CapEff:", 7))
			m->caps = strtoull(line + 7, NULL, 16);
		else if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			m->uid = uid;
	}
}

/* Compares "pid:[4026531836]" with the initial namespace's number. */
static enum placement read_placement(const struct machine *m, const char *kind,
				     unsigned int initial)
{
	char path[64], full[PATH_MAX], link[64], expected[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	snprintf(expected, sizeof(expected), "%s:[%u]", kind, initial);
	n = readlink(machine_path(m, path, full, sizeof(full)), link, sizeof(link) - 1);
	if (n < 0)
		return PLACE_UNKNOWN;
	link[n] = '\0';
	return strcmp(link, expected) ? PLACE_NESTED : PLACE_INITIAL;
}

/* Container managers, by parts of their cgroup paths and files that they create. */
static const struct {
	const char *name, *file, *cgroup;
} containers[] = {
	{"Kubernetes", "/var/run/secrets/kubernetes.io", "kubepods"},
	{"Podman", "/run/.containerenv", "libpod-"},
	{"Docker", "/.dockerenv", "docker-"},
	{"Docker", NULL, "/docker/"},
	{"containerd", NULL, "cri-containerd"},
	{"LXC", "/dev/lxd", "lxc.payload"},
	{"systemd-nspawn", NULL, "machine.slice/machine-"},
};

/*
 * Checks the cgroup first. In its own cgroup namespace a container sees only "/", and
 * then the file decides. Otherwise a file is no proof, because virtual machine images
 * are made from container images.
 */
static const char *read_container(const struct machine *m)
{
	_cleanup_fclose_ FILE *f = machine_open(m, "/proc/self/cgroup");
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < ARRAY_SIZE(containers); i++)
			if (strstr(line, containers[i].cgroup))
				return containers[i].name;
	if (m->user_ns != PLACE_NESTED && m->pid_ns != PLACE_NESTED &&
	    m->cgroup_ns != PLACE_NESTED)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(containers); i++)
		if (containers[i].file && machine_has(m, containers[i].file))
			return containers[i].name;
	return NULL;
}

static void machine_read(const char *root, struct machine *ret)
{
	*ret = (struct machine){.root = root, .uid = UINT32_MAX};
	read_status(ret);
	ret->user_ns = read_placement(ret, "user", INITIAL_USER_NS);
	ret->pid_ns = read_placement(ret, "pid", INITIAL_PID_NS);
	ret->cgroup_ns = read_placement(ret, "cgroup", INITIAL_CGROUP_NS);
	ret->container = read_container(ret);
	kernel_texts_read(root, ret->release, ret->version);
	ret->level_known = kernel_level_find(ret->release, ret->version, &ret->level);
}

/* ---- results of a check ---- */

__attribute__((format(printf, 2, 3))) static void found(struct check *c, const char *fmt,
							...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->found, sizeof(c->found), fmt, args);
	va_end(args);
}

/* Sets the status and the remedy. */
__attribute__((format(printf, 3, 4))) static void trouble(struct check *c,
							  enum check_status status,
							  const char *fmt, ...)
{
	va_list args;

	c->status = status;
	va_start(args, fmt);
	vsnprintf(c->remedy, sizeof(c->remedy), fmt, args);
	va_end(args);
}

/* Appends to a list like "CAP_BPF, CAP_PERFMON", cut if @words is full. */
__attribute__((format(printf, 3, 4))) static void list(char *words, size_t size,
						       const char *fmt, ...)
{
	size_t len = strlen(words);
	va_list args;

	if (len && len + 2 < size)
		len = (size_t)(stpcpy(words + len, ", ") - words);
	va_start(args, fmt);
	vsnprintf(words + len, size - len, fmt, args);
	va_end(args);
}

/* Returns how to start a container that may profile its host. */
static const char *privileged_start(const struct machine *m)
{
	if (!m->container && m->pid_ns != PLACE_NESTED)
		return "run it as root of the host";
	if (!m->container)
		return "run it in the host's pid namespace (in a container: --pid=host)";
	if (!strcmp(m->container, "Kubernetes"))
		return "in the pod set hostPID: true and securityContext.privileged: "
		       "true";
	if (!strcmp(m->container, "Docker") || !strcmp(m->container, "Podman"))
		return "start the container with --privileged --pid=host --cgroupns=host";
	return "run it on the host, or in a privileged container with the host's pid "
	       "namespace";
}

/* ---- our privileges ---- */

const struct needed_cap needed_caps[NR_NEEDED_CAPS] = {
	{CAP_BPF, "CAP_BPF", true, false, CHECK_FAIL, "load the sampler"},
	{CAP_PERFMON, "CAP_PERFMON", true, false, CHECK_FAIL, "sample other processes"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, false, CHECK_WARN,
	 "see which code others run"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, false, CHECK_WARN,
	 "read files of other users"},
	{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", true, false, CHECK_WARN,
	 "read programs that were replaced"},
	{CAP_SYSLOG, "CAP_SYSLOG", false, false, CHECK_WARN, "name kernel functions"},
	{CAP_KILL, "CAP_KILL", false, true, CHECK_WARN, "end helpers that are stuck"},
	{CAP_SETUID, "CAP_SETUID", false, false, CHECK_OK, "read sources of other users"},
	{CAP_SETGID, "CAP_SETGID", false, false, CHECK_OK, "the same"},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false, false, CHECK_OK,
	 "name BPF programs that are loaded already"},
};

static bool has_needed(const struct machine *m, const struct needed_cap *need)
{
	return machine_has_cap(m, need->cap) ||
	       (need->admin_does && machine_has_cap(m, CAP_SYS_ADMIN)) ||
	       (need->of_root && (m->uid || !machine_has_cap(m, CAP_SETUID)));
}

/* Lists the capabilities whose lack is serious, or those whose lack is not. */
static enum check_status list_missing(const struct machine *m, bool serious, char *words,
				      size_t size)
{
	enum check_status worst = CHECK_OK;

	for (size_t i = 0; i < NR_NEEDED_CAPS; i++) {
		const struct needed_cap *need = &needed_caps[i];

		if (has_needed(m, need) || (need->without != CHECK_OK) != serious)
			continue;
		if (need->without > worst)
			worst = need->without;
		list(words, size, "%s (%s)", need->name, need->why);
	}
	return worst;
}

static void check_privileges(const struct machine *m, struct check *c)
{
	char missing[352] = "", more[160] = "", program[320];
	enum check_status worst = list_missing(m, true, missing, sizeof(missing));

	if (m->user_ns == PLACE_NESTED) {
		found(c, "in a user namespace: root and its capabilities have no effect "
			 "outside of it");
		trouble(c, CHECK_FAIL,
			"run it as root of the host, not in a rootless container");
	} else if (worst != CHECK_OK) {
		found(c, "missing: %s", missing);
		if (!m->container && m->pid_ns != PLACE_NESTED)
			trouble(c, worst,
				"run it as root: %s ...; or give these capabilities: see "
				"what \"lineburn doctor --fix\" says",
				as_root_program(program, sizeof(program)));
		else
			trouble(c, worst, "%s; or give these capabilities",
				privileged_start(m));
	} else {
		list_missing(m, false, more, sizeof(more));
		found(c, "%s, all capabilities that are needed%s%s",
		      m->uid ? "not root" : "root", more[0] ? "; without " : "", more);
	}
}

static void check_container(const struct machine *m, struct check *c)
{
	found(c, "%s", m->container ? m->container : "none recognised");
}

static void check_pid_namespace(const struct machine *m, struct check *c)
{
	switch (m->pid_ns) {
	case PLACE_INITIAL:
		found(c, "the host's");
		break;
	case PLACE_NESTED:
		found(c, "not the host's: samples carry pids that /proc here does not "
			 "know");
		trouble(c, CHECK_FAIL, "%s", privileged_start(m));
		break;
	case PLACE_UNKNOWN:
		found(c, "not known: /proc/self/ns/pid cannot be read");
		trouble(c, CHECK_WARN, "mount /proc");
		break;
	}
}

/* ---- the kernel ---- */

static bool kernel_before(const struct machine *m, unsigned int major, unsigned int minor)
{
	return m->level_known && (m->level.major < major ||
				  (m->level.major == major && m->level.minor < minor));
}

static void check_kernel(const struct machine *m, struct check *c)
{
	const struct kernel_quirk *quirk = kernel_quirk_find_running(m->root);
	const char *release = m->release[0] ? m->release : "unknown";
	char level[48] = "";

	if (m->level_known && m->level.patch_known)
		snprintf(level, sizeof(level), " (%u.%u.%u)", m->level.major,
			 m->level.minor, m->level.patch);
	if (kernel_before(m, MIN_MAJOR, MIN_MINOR)) {
		found(c, "%.64s%s: too old", release, level);
		trouble(c, CHECK_FAIL, "boot Linux %u.%u or newer", MIN_MAJOR, MIN_MINOR);
	} else if (quirk) {
		found(c, "%.64s%s: %s", release, level, quirk->reason);
		trouble(c, quirk->is_refused ? CHECK_FAIL : CHECK_WARN, "%s",
			quirk->remedy);
	} else {
		found(c, "%.64s%s: no known problem", release, level);
	}
}

static void check_btf(const struct machine *m, struct check *c)
{
	/* The first bytes of a BTF header: 0xeb9f in the machine's byte order. */
	char head[4];
	ssize_t n = machine_line(m, "/sys/kernel/btf/vmlinux", head, sizeof(head));

	if (n >= 2 && (!memcmp(head, "\x9f\xeb", 2) || !memcmp(head, "\xeb\x9f", 2))) {
		found(c, "/sys/kernel/btf/vmlinux");
	} else if (!machine_has(m, "/sys/kernel")) {
		found(c, "/sys is not mounted");
		trouble(c, CHECK_FAIL, "mount -t sysfs sysfs /sys");
	} else {
		found(c, "no type information in /sys/kernel/btf/vmlinux");
		trouble(c, CHECK_FAIL,
			"boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, as Debian 11, "
			"Ubuntu 20.10, Fedora 32 and RHEL 8.2 and newer have it");
	}
}

static void check_lockdown(const struct machine *m, struct check *c)
{
	char line[128];

	/* For example "none [integrity] confidentiality". */
	machine_line(m, "/sys/kernel/security/lockdown", line, sizeof(line));
	if (!line[0]) {
		found(c, "none is visible");
	} else if (strstr(line, "[confidentiality]")) {
		found(c, "confidentiality: BPF programs may not read kernel memory");
		trouble(c, CHECK_FAIL,
			"boot with lockdown=integrity, or without "
			"lockdown=confidentiality (Secure Boot may force it)");
	} else {
		found(c, "%s", strstr(line, "[integrity]") ? "integrity" : "none");
	}
}

static void check_jit(const struct machine *m, struct check *c)
{
	long enabled;

	if (machine_number(m, "/proc/sys/net/core/bpf_jit_enable", &enabled)) {
		/*
		 * The file exists only in the initial network namespace, and only root
		 * can read it.
		 */
		found(c, "not visible here; kernels of distributions enable it");
	} else if (!enabled) {
		found(c, "off: the sampler is interpreted, a sample costs several times "
			 "as much");
		trouble(c, CHECK_WARN, "sysctl net.core.bpf_jit_enable=1");
	} else {
		found(c, "on");
	}
}

static void check_memlock(const struct machine *m, struct check *c)
{
	if (!kernel_before(m, MEMLOCK_MAJOR, MEMLOCK_MINOR)) {
		found(c, "not limited (since Linux 5.11)");
	} else if (m->probes->memlock_bytes == UINT64_MAX ||
		   machine_has_cap(m, CAP_SYS_RESOURCE)) {
		found(c, "may be raised");
	} else if (m->probes->memlock_bytes >= MEMLOCK_MIN_BYTES) {
		found(c, "%llu MiB", (unsigned long long)m->probes->memlock_bytes >> 20);
	} else {
		found(c,
		      "%llu KiB of locked memory, %llu MiB are needed before Linux 5.11",
		      (unsigned long long)m->probes->memlock_bytes >> 10,
		      (unsigned long long)MEMLOCK_MIN_BYTES >> 20);
		trouble(c, CHECK_FAIL, "ulimit -l unlimited, or add CAP_SYS_RESOURCE");
	}
}

/* ---- sampling ---- */

static void check_paranoid(const struct machine *m, struct check *c)
{
	long paranoid;
	int rc = machine_number(m, "/proc/sys/kernel/perf_event_paranoid", &paranoid);

	if (rc) {
		found(c, "/proc/sys/kernel/perf_event_paranoid cannot be read");
		trouble(c, CHECK_FAIL,
			"mount /proc, or boot a kernel with CONFIG_PERF_EVENTS=y");
	} else if (paranoid < PARANOID_DISTRIBUTION) {
		found(c, "%ld", paranoid);
	} else if (m->probes->own_perf_errno != EACCES) {
		found(c, "%ld: this kernel takes it as 2, CAP_PERFMON is enough",
		      paranoid);
	} else if (!m->probes->perf_errno) {
		found(c, "%ld: this kernel asks for CAP_SYS_ADMIN, which is there",
		      paranoid);
	} else {
		found(c,
		      "%ld: this kernel asks for CAP_SYS_ADMIN, CAP_PERFMON is not "
		      "enough",
		      paranoid);
		trouble(c, CHECK_FAIL,
			"sysctl kernel.perf_event_paranoid=2 (\"lineburn doctor --fix\" "
			"keeps it), or add CAP_SYS_ADMIN");
	}
}

/* Remedies by the error of a system call; error 0 in the last row matches any. */
struct errno_remedy {
	int error;
	const char *remedy;
};

static const char *remedy_of(const struct errno_remedy *rows, int error)
{
	while (rows->error && rows->error != error)
		rows++;
	return rows->remedy;
}

static void check_perf_event(const struct machine *m, struct check *c)
{
	static const struct errno_remedy remedies[] = {
		{ENOSYS, "boot a kernel with CONFIG_PERF_EVENTS=y"},
		{EMFILE, "ulimit -n 65536: an event needs a descriptor"},
		{ENODEV, "bring CPU 0 online: the event needs it"},
		{ENOENT,
		 "this kernel has no cpu-clock event: boot a kernel of a distribution"},
		{EOPNOTSUPP,
		 "this kernel has no cpu-clock event: boot a kernel of a distribution"},
		{0, "try as root on the host: perf stat -e cpu-clock -a true"},
	};
	int error = m->probes->perf_errno;

	if (!error) {
		found(c, "a cpu-clock event opens");
		return;
	}
	found(c, "perf_event_open: %s", strerror(error));
	if (error != EPERM && error != EACCES)
		trouble(c, CHECK_FAIL, "%s", remedy_of(remedies, error));
	else if (m->container)
		trouble(c, CHECK_FAIL,
			"the container's system call filter may forbid it: %s",
			privileged_start(m));
	else
		trouble(c, CHECK_FAIL,
			"see privileges and perf_event_paranoid; where both are ok, a "
			"security module (SELinux, AppArmor) or the SystemCallFilter= "
			"of a service forbids it");
}

static void check_sample_rate(const struct machine *m, struct check *c)
{
	long hz;

	if (machine_number(m, "/proc/sys/kernel/perf_event_max_sample_rate", &hz)) {
		found(c, "no limit is visible");
	} else if (hz < MAX_FREQ_HZ) {
		found(c, "%ld Hz: -F above it loses samples", hz);
		trouble(c, CHECK_WARN,
			"sysctl kernel.perf_cpu_time_max_percent=25 "
			"kernel.perf_event_max_sample_rate=100000, or stay below");
	} else {
		found(c, "up to %ld Hz", hz);
	}
}

static void check_bpf(const struct machine *m, struct check *c)
{
	static const struct errno_remedy remedies[] = {
		{ENOSYS, "boot a kernel with CONFIG_BPF_SYSCALL=y"},
		{EINVAL, "see lockdown; where it is none, boot a kernel with "
			 "CONFIG_BPF_EVENTS=y"},
		{ENOMEM, "free memory, or raise the memory limit of this control group"},
		{0, NULL},
	};
	int error = m->probes->bpf_errno;
	const char *remedy = remedy_of(remedies, error);

	if (!error) {
		found(c, "a program that reads kernel memory loads");
		return;
	}
	found(c, "bpf(BPF_PROG_LOAD): %s", strerror(error));
	if (remedy)
		trouble(c, CHECK_FAIL, "%s", remedy);
	else if (error != EPERM && error != EACCES)
		trouble(c, CHECK_FAIL, "boot a kernel of a distribution, %u.%u or newer",
			MIN_MAJOR, MIN_MINOR);
	else if (kernel_before(m, MEMLOCK_MAJOR, MEMLOCK_MINOR))
		trouble(c, CHECK_FAIL, "see privileges and memlock");
	else if (m->container)
		trouble(c, CHECK_FAIL, "%s: %s",
			has_needed(m, &needed_caps[0]) && has_needed(m, &needed_caps[1])
				? "the container's system call filter may forbid bpf(2)"
				: "the container has no right to bpf(2)",
			privileged_start(m));
	else
		trouble(c, CHECK_FAIL,
			"see privileges; where they are ok, a security module or the "
			"SystemCallFilter= of a service forbids it");
}

static void check_callers(const struct machine *m, struct check *c)
{
	if (!m->probes->is_arm64) {
		found(c, "found by unwind tables; by frame pointers where code has none");
		return;
	}
	found(c, "found by frame pointers alone on arm64: where code keeps none, as in "
		 "functions that call nothing, they are wrong or missing");
	trouble(c, CHECK_WARN,
		"build programs with -fno-omit-frame-pointer "
		"-mno-omit-leaf-frame-pointer");
}

/* A uprobe with a cookie copies the code that JITs register (jit_probe.h). */
static void check_uprobe(const struct machine *m, struct check *c)
{
	bool has_uprobes = machine_has(m, "/sys/bus/event_source/devices/uprobe/type");

	if (has_uprobes && m->probes->are_uprobes_refused && !m->probes->perf_errno &&
	    !m->probes->bpf_errno) {
		found(c, "this kernel gives uprobes to CAP_SYS_ADMIN alone: JITs' lists "
			 "of code are walked instead, and code that comes and goes "
			 "between two walks has no names");
		trouble(c, CHECK_WARN, "run it as root, or add CAP_SYS_ADMIN");
		return;
	}
	if (has_uprobes && !m->probes->cookie_errno && !m->probes->jit_probe_errno) {
		found(c, "run, -p, --container and similar options copy the code of JITs "
			 "when it is registered, other recordings read lists of it; "
			 "--uprobe always copies, and then any process that maps a "
			 "probed file can hold up all forks");
		return;
	}
	if (has_uprobes && !m->probes->cookie_errno) {
		found(c,
		      "the kernel refuses the probe of JITs: %s; their lists of code are "
		      "walked instead",
		      strerror(m->probes->jit_probe_errno));
		trouble(c, CHECK_WARN,
			"report what \"lineburn run -vv\" prints with a Numba program");
		return;
	}
	if (m->probes->bpf_errno) {
		found(c, "not tried: no BPF program loads");
		return;
	}
	found(c,
	      "no uprobes with cookies%s%s: JITs' lists of code are walked instead, "
	      "and code that comes and goes between two walks has no names",
	      has_uprobes ? ": " : "",
	      has_uprobes ? strerror(m->probes->cookie_errno) : "");
	if (!has_uprobes)
		trouble(c, CHECK_WARN,
			"mount /sys, or boot a kernel with CONFIG_UPROBE_EVENTS=y");
	else
		trouble(c, CHECK_WARN, "boot Linux 5.15 or newer");
}

/* ---- naming ---- */

/* Does kallsyms show addresses? Hidden ones are 0. */
static bool kallsyms_visible(const struct machine *m, bool *ret_exists)
{
	_cleanup_fclose_ FILE *f = machine_open(m, "/proc/kallsyms");
	char line[1024];

	*ret_exists = f;
	/* The first line is not enough: on x86 the first symbol really is at 0. */
	for (int i = 0; f && i < KALLSYMS_MAX_LINES && fgets(line, sizeof(line), f); i++)
		if (strtoull(line, NULL, 16))
			return true;
	return false;
}

static void check_kallsyms(const struct machine *m, struct check *c)
{
	long restrict_level = 0;
	bool exists;

	if (kallsyms_visible(m, &exists)) {
		found(c, "kernel addresses are visible");
		return;
	}
	if (!exists) {
		found(c, "/proc/kallsyms cannot be read: kernel code has no names");
		trouble(c, CHECK_WARN, "boot a kernel with CONFIG_KALLSYMS=y");
		return;
	}
	found(c, "kernel addresses are hidden: kernel code has no names");
	machine_number(m, "/proc/sys/kernel/kptr_restrict", &restrict_level);
	if (restrict_level >= 2)
		trouble(c, CHECK_WARN, "sysctl kernel.kptr_restrict=1");
	else
		trouble(c, CHECK_WARN, "add CAP_SYSLOG, or run it as root of the host");
}

struct cgroup_versions {
	bool v1;
	char v2[128]; /* first mount point; "": none */
};

/* Parses "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw". */
static void read_cgroup_mounts(const struct machine *m, struct cgroup_versions *ret)
{
	_cleanup_fclose_ FILE *f = machine_open(m, "/proc/self/mountinfo");
	char line[4096];

	*ret = (struct cgroup_versions){.v1 = false};
	while (f && fgets(line, sizeof(line), f)) {
		const char *type = strstr(line, " - ");
		char at[128];

		if (!type || sscanf(line, "%*s %*s %*s %*s %127s", at) != 1)
			continue;
		if (!strncmp(type, " - cgroup2 ", strlen(" - cgroup2 "))) {
			if (!ret->v2[0])
				snprintf(ret->v2, sizeof(ret->v2), "%s", at);
		} else if (!strncmp(type, " - cgroup ", strlen(" - cgroup "))) {
			ret->v1 = true;
		}
	}
}

static void check_cgroups(const struct machine *m, struct check *c)
{
	struct cgroup_versions mounts;

	read_cgroup_mounts(m, &mounts);
	if (m->cgroup_ns == PLACE_NESTED) {
		found(c, "in a cgroup namespace: containers of the host have no names "
			 "here");
		trouble(c, CHECK_WARN, "%s",
			m->container ? privileged_start(m)
				     : "run it in the host's cgroup namespace (in a "
				       "container: --cgroupns=host)");
	} else if (mounts.v2[0]) {
		found(c, "%s at %s", mounts.v1 ? "hybrid, v2" : "v2", mounts.v2);
	} else if (mounts.v1) {
		found(c, "v1 only: containers are told apart by process, not by sample");
		trouble(c, CHECK_WARN,
			"boot with systemd.unified_cgroup_hierarchy=1, or mount -t "
			"cgroup2 none DIRECTORY");
	} else {
		found(c, "none is mounted: containers cannot be told apart");
		trouble(c, CHECK_WARN, "mount -t cgroup2 none /sys/fs/cgroup");
	}
}

/* Does a list like "capability,landlock,lockdown" contain a word? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, ", "), list += strspn(list, ", "))
		if (strcspn(list, ", ") == len && !strncmp(list, word, len))
			return true;
	return false;
}

static void check_sandbox(const struct machine *m, struct check *c)
{
	char actions[256], modules[256];

	machine_line(m, "/proc/sys/kernel/seccomp/actions_avail", actions,
		     sizeof(actions));
	machine_line(m, "/sys/kernel/security/lsm", modules, sizeof(modules));
	if (!has_word(actions, "errno")) {
		found(c, "no seccomp: files of other users cannot be decoded safely, so "
			 "lineburn does not decode them");
		trouble(c, CHECK_FAIL, "boot a kernel with CONFIG_SECCOMP_FILTER=y");
	} else {
		found(c, "seccomp%s",
		      has_word(modules, "landlock") ? " and landlock" : "");
	}
}

static void check_debuginfod(const struct machine *m, struct check *c)
{
	if (!m->probes->debuginfod_urls || !m->probes->debuginfod_urls[0]) {
		found(c, "DEBUGINFOD_URLS is not set: debug info of this machine only");
		return;
	}
	found(c, "DEBUGINFOD_URLS=%s", m->probes->debuginfod_urls);
	if (m->probes->lacks_debuginfod_find)
		trouble(c, CHECK_WARN,
			"install debuginfod-find (Debian: package debuginfod), which "
			"asks "
			"these servers");
}

/* ---- before a recording ---- */

int doctor_admits(const char *root, struct error *err)
{
	char missing[256] = "", proc[PATH_MAX];
	struct machine m;

	snprintf(proc, sizeof(proc), "%s/proc/self", root);
	if (access(proc, F_OK))
		return error_set_exit(err, EXIT_SYSTEM, -EPERM,
				      "/proc is not mounted: mount -t proc proc /proc");
	machine_read(root, &m);
	if (m.user_ns == PLACE_NESTED)
		return error_set_exit(err, EXIT_SYSTEM, -EPERM,
				      "this is a user namespace (a rootless container), "
				      "where root may not load BPF programs; record as "
				      "root of the host, which sees into all containers");
	for (size_t i = 0; m.container && i < ARRAY_SIZE(needed_caps); i++)
		if (needed_caps[i].without == CHECK_FAIL &&
		    !has_needed(&m, &needed_caps[i]))
			list(missing, sizeof(missing), "%s", needed_caps[i].name);
	if (m.pid_ns == PLACE_NESTED)
		list(missing, sizeof(missing),
		     "the host's pid namespace (the kernel reports its pids)");
	if (!missing[0])
		return 0;
	return error_set_exit(err, EXIT_SYSTEM, -EPERM,
			      "cannot record in this %s without %s: record on the host, "
			      "which sees into all containers, or %s",
			      m.container ? "container" : "pid namespace", missing,
			      privileged_start(&m));
}

/* ---- all checks ---- */

void doctor_examine(const char *root, const struct doctor_probes *probes,
		    struct doctor *ret)
{
	static const struct {
		const char *name;
		void (*make)(const struct machine *m, struct check *c);
	} checks[] = {
		{"privileges", check_privileges},
		{"container", check_container},
		{"pid_namespace", check_pid_namespace},
		{"kernel", check_kernel},
		{"btf", check_btf},
		{"lockdown", check_lockdown},
		{"perf_event_paranoid", check_paranoid},
		{"perf_event", check_perf_event},
		{"sample_rate", check_sample_rate},
		{"bpf", check_bpf},
		{"bpf_jit", check_jit},
		{"callers", check_callers},
		{"uprobe", check_uprobe},
		{"memlock", check_memlock},
		{"kallsyms", check_kallsyms},
		{"cgroups", check_cgroups},
		{"sandbox", check_sandbox},
		{"debuginfod", check_debuginfod},
	};
	_Static_assert(ARRAY_SIZE(checks) <= DOCTOR_MAX_CHECKS, "room for all");
	struct machine m;

	machine_read(root, &m);
	m.probes = probes;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct check *c = &ret->checks[ret->nr_checks++];

		c->name = checks[i].name;
		checks[i].make(&m, c);
	}
}
