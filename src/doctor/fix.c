// SPDX-License-Identifier: GPL-2.0-or-later
#include "doctor/fix.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/as_root.h"
#include "base/capability.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/tool.h"
#include "doctor/doctor.h"

#define PROGRAM_MODE      0750
#define CAPABILITY_XATTR  "security.capability"
#define GROUPS_MAX_BYTES  (4u << 20)
#define SYSCTL_MAX_BYTES  (64u << 10)
#define GROUPADD_MS       30000
#define SYSCTL_TEXT_BYTES 512

/* Settings of the kernel that keep a recording from what its capabilities allow. */
static const struct setting {
	const char *name, *path;
	long worst; /* more than this is in the way */
	bool of_perf; /* only if the kernel restricts perf events */
	const char *opens;
} settings[] = {
	{"kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", 2, true,
	 "every user may count and sample what its own processes do in user space, as "
	 "with "
	 "kernels of other distributions; other users and the kernel stay closed"},
	{"kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict", 1, false,
	 "processes with CAP_SYSLOG see addresses of the kernel; others see zeros, as "
	 "before"},
};

/* As they are now, and what is to be done. */
struct state {
	const struct fix *fix;
	int fd; /* the program */
	struct stat st;
	bool has_group, has_gid, has_mode, has_caps;
	gid_t gid; /* of the group, if it is there */
	char sysctl[SYSCTL_TEXT_BYTES]; /* the whole file; "": it is not needed */
	bool has_sysctl;
};

/* ---- what is there ---- */

static const char *path_of(const struct fix *f, const char *path, char buf[PATH_MAX])
{
	if (snprintf(buf, PATH_MAX, "%s%s", f->root, path) >= PATH_MAX)
		buf[0] = '\0';
	return buf;
}

/* Reads "lineburn:x:998:" of /etc/group. */
static bool find_group(const struct fix *f, gid_t *ret)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	size_t len;

	if (io_read_file(path_of(f, "/etc/group", path), GROUPS_MAX_BYTES, &text, &len))
		return false;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		unsigned int gid;

		line += *line == '\n';
		if (sscanf(line, FIX_GROUP ":%*[^:]:%u", &gid) == 1 ||
		    sscanf(line, FIX_GROUP "::%u", &gid) == 1) {
			*ret = gid;
			return true;
		}
	}
	return false;
}

/* Do members of the group get it? */
static bool is_given(const struct needed_cap *cap)
{
	return cap->without != CHECK_OK && !cap->of_root;
}

/* The value of the file attribute: permitted and effective, as "=ep" of setcap(8). */
static struct vfs_cap_data wanted_caps(void)
{
	struct vfs_cap_data caps = {
		.magic_etc = htole32(VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE)};
	uint64_t set = 0;

	for (size_t i = 0; i < NR_NEEDED_CAPS; i++)
		if (is_given(&needed_caps[i]))
			set |= CAPABILITY(needed_caps[i].cap);
	caps.data[0].permitted = htole32((uint32_t)set);
	caps.data[1].permitted = htole32((uint32_t)(set >> 32));
	return caps;
}

static bool has_wanted_caps(int fd)
{
	const struct vfs_cap_data wanted = wanted_caps();
	struct vfs_cap_data now;

	return fgetxattr(fd, CAPABILITY_XATTR, &now, sizeof(now)) == sizeof(now) &&
	       !memcmp(&now, &wanted, sizeof(now));
}

/* Is the value now worse than what capabilities can get over? */
static bool is_in_the_way(const struct fix *f, const struct setting *s)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	size_t len;

	if (s->of_perf && !f->is_perf_restricted)
		return false;
	return !io_read_file(path_of(f, s->path, path), 64, &text, &len) &&
	       strtol(text, NULL, 10) > s->worst;
}

/* The drop-in keeps a setting that it has: it is the reason why nothing is in the way. */
static void look_at_settings(struct state *s)
{
	_cleanup_free_ char *now = NULL;
	char path[PATH_MAX];
	size_t len;

	s->has_sysctl = true;
	if (io_read_file(path_of(s->fix, FIX_SYSCTL_PATH, path), SYSCTL_MAX_BYTES, &now,
			 &len))
		now = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		bool in_the_way = is_in_the_way(s->fix, &settings[i]);

		if (in_the_way || (now && strstr(now, settings[i].name)))
			text_append(s->sysctl, sizeof(s->sysctl), "%s = %ld\n",
				    settings[i].name, settings[i].worst);
		s->has_sysctl &= !in_the_way;
	}
}

/* Refuses a file that capabilities have no effect on, or that others could open again. */
static int check_program(const struct state *s, struct error *err)
{
	const char *program = s->fix->program;
	struct statvfs fs;

	if (!S_ISREG(s->st.st_mode))
		return error_set(err, -EINVAL, "%s is not a regular file", program);
	if (s->st.st_uid || s->st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set_exit(err, EXIT_SYSTEM, -EPERM,
				      "%s belongs to, or may be written by, another user "
				      "than root, who "
				      "could give it to everybody; install it as root "
				      "first: sudo install "
				      "%s /usr/local/bin/lineburn",
				      program, program);
	if (!fstatvfs(s->fd, &fs) && fs.f_flag & ST_NOSUID)
		return error_set_exit(
			err, EXIT_SYSTEM, -EPERM,
			"%s is on a file system that is mounted nosuid, where "
			"capabilities of files have no effect; install it "
			"elsewhere first: sudo install %s "
			"/usr/local/bin/lineburn",
			program, program);
	return 0;
}

static int state_read(struct state *s, struct error *err)
{
	s->fd = open(s->fix->file, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &s->st))
		return error_set(err, -errno, "cannot open %s: %m", s->fix->program);
	s->has_group = find_group(s->fix, &s->gid);
	s->has_gid = s->has_group && s->st.st_gid == s->gid;
	s->has_mode = (s->st.st_mode & 07777) == PROGRAM_MODE;
	/* chgrp(1) removes capabilities. */
	s->has_caps = s->has_gid && has_wanted_caps(s->fd);
	look_at_settings(s);
	return check_program(s, err);
}

/* ---- what each step does ---- */

static int add_group(struct state *s, struct error *err)
{
	const char *const argv[] = {"groupadd", "--system", FIX_GROUP, NULL};
	_cleanup_free_ char *text = NULL;

	tool_read(&(struct tool){.argv = argv,
				 .timeout_ms = GROUPADD_MS,
				 .max_bytes = 4096},
		  &text);
	if (find_group(s->fix, &s->gid))
		return 0;
	return error_set_exit(err, EXIT_SYSTEM, -ENOENT,
			      "groupadd did not make the group; make it by hand (Alpine: "
			      "addgroup -S " FIX_GROUP ") and try again");
}

/* @what  of the program, with errno */
static int cannot_change(const struct state *s, const char *what, struct error *err)
{
	return error_set_exit(err, EXIT_SYSTEM, -errno,
			      "cannot change the %s of %s: %m; install it on a file "
			      "system that can be written",
			      what, s->fix->program);
}

static int set_group(struct state *s, struct error *err)
{
	return fchown(s->fd, (uid_t)-1, s->gid) ? cannot_change(s, "group", err) : 0;
}

static int set_mode(struct state *s, struct error *err)
{
	return fchmod(s->fd, PROGRAM_MODE) ? cannot_change(s, "mode", err) : 0;
}

static int set_caps(struct state *s, struct error *err)
{
	const struct vfs_cap_data caps = wanted_caps();

	if (!fsetxattr(s->fd, CAPABILITY_XATTR, &caps, sizeof(caps), 0))
		return 0;
	return error_set_exit(err, EXIT_SYSTEM, -errno,
			      "cannot give capabilities to %s: %m; do it as root of the "
			      "host, on a file system that keeps them (ext4, xfs, btrfs)",
			      s->fix->program);
}

/* Writes the drop-in, and then the values, as sysctl(8) does. */
static int set_sysctl(struct state *s, struct error *err)
{
	char path[PATH_MAX];
	int rc = io_write_file_atomic(path_of(s->fix, FIX_SYSCTL_PATH, path), s->sysctl,
				      strlen(s->sysctl), false, NULL);

	if (!rc && chmod(path, 0644))
		rc = -errno;
	errno = -rc;
	if (rc)
		return error_set_exit(err, EXIT_SYSTEM, rc,
				      "cannot write %s: %m; make its folder, on a file "
				      "system that can be written",
				      path);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(settings); i++) {
		_cleanup_close_ int fd = -1;
		char value[32];
		int len;

		if (!strstr(s->sysctl, settings[i].name))
			continue;
		len = snprintf(value, sizeof(value), "%ld\n", settings[i].worst);
		fd = open(path_of(s->fix, settings[i].path, path), O_WRONLY | O_CLOEXEC);
		rc = fd < 0 ? -errno : io_write_all(fd, value, (size_t)len);
		errno = -rc;
		if (rc)
			error_set_exit(err, EXIT_SYSTEM, rc,
				       "cannot set %s: %m; do it as root of the host",
				       settings[i].name);
	}
	return rc;
}

/* ---- the steps ---- */

struct step {
	char command[PATH_MAX + 256];
	char opens[768];
	bool is_made;
	int (*make)(struct state *s, struct error *err);
};

#define MAX_STEPS 5

/* "cap_bpf,cap_perfmon" */
static void append_caps(char *buf, size_t size)
{
	const char *comma = "";

	for (size_t i = 0; i < NR_NEEDED_CAPS; i++) {
		char *name = buf + strlen(buf) + strlen(comma);

		if (!is_given(&needed_caps[i]))
			continue;
		text_append(buf, size, "%s%s", comma, needed_caps[i].name);
		for (; *name; name++)
			*name = (char)(*name >= 'A' && *name <= 'Z' ? *name + 32 : *name);
		comma = ",";
	}
}

static void plan_program(const struct state *s, struct step *steps)
{
	steps[0] = (struct step){.is_made = s->has_group, .make = add_group};
	snprintf(steps[0].command, sizeof(steps[0].command),
		 "groupadd --system " FIX_GROUP);
	snprintf(steps[0].opens, sizeof(steps[0].opens),
		 "nothing; then add who may record: usermod -aG " FIX_GROUP " USER");
	steps[1] = (struct step){.is_made = s->has_gid, .make = set_group};
	snprintf(steps[1].command, sizeof(steps[1].command), "chgrp " FIX_GROUP " %s",
		 s->fix->program);
	snprintf(steps[1].opens, sizeof(steps[1].opens), "nothing");
	steps[2] = (struct step){.is_made = s->has_mode, .make = set_mode};
	snprintf(steps[2].command, sizeof(steps[2].command), "chmod %04o %s",
		 PROGRAM_MODE, s->fix->program);
	snprintf(
		steps[2].opens, sizeof(steps[2].opens),
		"nothing; users outside of the group can no longer start it, also not to "
		"look at a profile");
	steps[3] = (struct step){.is_made = s->has_caps, .make = set_caps};
	snprintf(steps[3].command, sizeof(steps[3].command), "setcap ");
	append_caps(steps[3].command, sizeof(steps[3].command));
	text_append(steps[3].command, sizeof(steps[3].command), "=ep %s",
		    s->fix->program);
	snprintf(steps[3].opens, sizeof(steps[3].opens),
		 "members of the group see of every process of this machine, of root and "
		 "of all users, when it runs, its name, and the functions, files and "
		 "lines in which it runs. They cannot write where they could not before. "
		 "A mistake in lineburn could let them read every file and the memory of "
		 "every process. An upgrade undoes this and the two steps above");
}

static void plan_sysctl(const struct state *s, struct step *step)
{
	*step = (struct step){.is_made = s->has_sysctl, .make = set_sysctl};
	snprintf(step->command, sizeof(step->command), "printf '");
	for (const char *line = s->sysctl; *line; line = strchr(line, '\n') + 1)
		text_append(step->command, sizeof(step->command), "%.*s\\n",
			    (int)strcspn(line, "\n"), line);
	text_append(step->command, sizeof(step->command),
		    "' >" FIX_SYSCTL_PATH " && sysctl -p " FIX_SYSCTL_PATH);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (strstr(s->sysctl, settings[i].name))
			text_append(step->opens, sizeof(step->opens), "%s%s",
				    step->opens[0] ? ". Also, " : "", settings[i].opens);
}

static size_t plan(const struct state *s, struct step steps[MAX_STEPS])
{
	plan_program(s, steps);
	if (!s->sysctl[0])
		return MAX_STEPS - 1;
	plan_sysctl(s, &steps[MAX_STEPS - 1]);
	return MAX_STEPS;
}

/*
 * done  chgrp lineburn /usr/local/bin/lineburn
 *       opens: nothing
 */
static void print_step(const struct step *step, const char *word, FILE *out)
{
	fprintf(out, "%-6s", word);
	escape_terminal(out, step->command);
	fprintf(out, "\n      opens: %s\n", step->opens);
}

static int make_steps(struct state *s, struct step *steps, size_t nr, FILE *out,
		      struct error *err)
{
	for (size_t i = 0; i < nr; i++) {
		int rc = steps[i].is_made ? 0 : steps[i].make(s, err);

		print_step(&steps[i],
			   rc                 ? "fail"
			   : steps[i].is_made ? "done"
					      : "now",
			   out);
		if (rc)
			return rc;
	}
	return 0;
}

static int run(struct state *s, bool agreed, FILE *out, struct error *err)
{
	struct step steps[MAX_STEPS];
	char program[AS_ROOT_MAX_BYTES];
	size_t nr, nr_left = 0;
	int rc = state_read(s, err);

	if (rc)
		return rc;
	nr = plan(s, steps);
	for (size_t i = 0; i < nr; i++)
		nr_left += !steps[i].is_made;
	if (agreed && nr_left && !s->fix->is_root)
		return error_set_exit(err, EXIT_SYSTEM, -EPERM,
				      "only root may make these steps: %s doctor --fix "
				      "--yes",
				      as_root_program(program, sizeof(program)));
	fputs("So that the group " FIX_GROUP " may record without root:\n", out);
	if (agreed)
		return make_steps(s, steps, nr, out, err);
	for (size_t i = 0; i < nr; i++)
		print_step(&steps[i], steps[i].is_made ? "done" : "to do", out);
	if (nr_left)
		fprintf(out,
			"Nothing was changed. To make these steps: %s doctor --fix "
			"--yes\n",
			as_root_program(program, sizeof(program)));
	else
		fputs("Nothing is left to do.\n", out);
	return 0;
}

int fix_run(const struct fix *f, bool agreed, FILE *out, struct error *err)
{
	struct state s = {.fix = f, .fd = -1};
	int rc = run(&s, agreed, out, err);

	cleanup_closep(&s.fd);
	return rc;
}

int doctor_fix(bool agreed, FILE *out, struct error *err)
{
	char program[PATH_MAX];
	ssize_t len;
	/* Capabilities of a file have no effect where nothing can be recorded. */
	int rc = doctor_admits("", err);

	if (rc)
		return rc;
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (len < 0)
		return error_set_exit(
			err, EXIT_SYSTEM, -errno,
			"cannot find this program in /proc: %m; mount -t proc "
			"proc /proc");
	program[len] = '\0';
	return fix_run(&(struct fix){.root = "",
				     .program = program,
				     .file = "/proc/self/exe",
				     .is_perf_restricted = doctor_is_perf_restricted(),
				     .is_root = !geteuid()},
		       agreed, out, err);
}
