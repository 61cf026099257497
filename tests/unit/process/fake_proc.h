/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake /proc in a temporary directory. */
#ifndef TESTS_FAKE_PROC_H
#define TESTS_FAKE_PROC_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/scratch.h"
#include "lineburn.h"
#include "process/cgroup_mount.h"

/* The key of a program image. */
#define IMAGE(pid, start_ns, exec_nr) \
	(&(struct lb_image){          \
		.tgid = (pid), .start_boottime_ns = (start_ns), .exec_id = (exec_nr)})

struct fake_proc {
	char path[64]; /* contains proc/ and root/ */
	char proc[80], root[80];
};

/*
 * Cgroups named by root: those below the top, because it is this machine's root directory,
 * and that is root's.
 */
static char fake_slash[] = "/";
static const struct cgroup_mounts fake_cgroups = {
	.at = {{.path = fake_slash, .root = fake_slash}}, .nr = 1};

struct fake_process {
	uint32_t pid, ppid;
	uint64_t start_ticks;
	const char *comm; /* NULL: "fake" */
	char state; /* 0: 'S' */
	unsigned int flags, nr_threads; /* nr_threads 0: 1 */
	uid_t uid;
	uid_t real_uid; /* 0: same as uid */
	uint32_t ns_pid; /* 0: same as pid */
	const char *maps; /* NULL: empty */
	const char *uid_map; /* NULL: "0 0 4294967295" */
	const char *cgroup; /* NULL: "0::/" */
	const char *exe; /* NULL: no exe link */
};

static inline int fake_remove(const char *path, const struct stat *st, int type,
			      struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void fake_remove_tree(const char *path)
{
	nftw(path, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void fake_write(const char *text, size_t len, const char *fmt, ...)
{
	char path[512];
	va_list args;
	FILE *f;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	f = fopen(path, "w");
	if (!f || fwrite(text, 1, len, f) != len || fclose(f))
		abort();
}

static inline void fake_mkdir(const char *fmt, ...)
{
	char path[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	if (mkdir(path, 0755) && errno != EEXIST)
		abort();
}

static inline void fake_proc_init(struct fake_proc *f)
{
	scratch_make(f->path, 0700);
	snprintf(f->proc, sizeof(f->proc), "%s/proc", f->path);
	snprintf(f->root, sizeof(f->root), "%s/root", f->path);
	fake_mkdir("%s", f->proc);
	fake_mkdir("%s", f->root);
	fake_mkdir("%s/tmp", f->root);
}

static inline void fake_proc_deinit(struct fake_proc *f)
{
	fake_remove_tree(f->path);
}

/* Writes the files of a process's or a thread's directory. */
static inline void fake_process_files(const char *dir, uint32_t pid, uint32_t tgid,
				      char state, const struct fake_process *p)
{
	const char *maps = p->maps ? p->maps : "";
	const char *uid_map = p->uid_map ? p->uid_map : "0 0 4294967295\n";
	const char *cgroup = p->cgroup ? p->cgroup : "0::/\n";
	char text[1024];
	int len;

	len = snprintf(text, sizeof(text),
		       "%u (%s) %c %u 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 %u 0 %llu 0 0 0\n",
		       pid, p->comm ? p->comm : "fake", state, p->ppid, p->flags,
		       p->nr_threads ? p->nr_threads : 1,
		       (unsigned long long)p->start_ticks);
	fake_write(text, (size_t)len, "%s/stat", dir);
	len = snprintf(text, sizeof(text),
		       "Name:\tfake\nTgid:\t%u\nUid:\t%u\t%u\t1\t1\nGid:\t2\t%u\t2\t2\n"
		       "Groups:\t1 2 3\nNStgid:\t%u\t%u\nNSpid:\t1\t2\n",
		       tgid, p->real_uid ? p->real_uid : p->uid, p->uid, p->uid, tgid,
		       p->ns_pid ? p->ns_pid : tgid);
	fake_write(text, (size_t)len, "%s/status", dir);
	fake_write(maps, strlen(maps), "%s/maps", dir);
	fake_write(uid_map, strlen(uid_map), "%s/uid_map", dir);
	fake_write(cgroup, strlen(cgroup), "%s/cgroup", dir);
}

static inline void fake_process_remove(const struct fake_proc *f, uint32_t pid)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/%u", f->proc, pid);
	fake_remove_tree(dir);
}

/* Replaces a process of the same pid. */
static inline void fake_process_add(const struct fake_proc *f,
				    const struct fake_process *p)
{
	char dir[128], link[160];

	fake_process_remove(f, p->pid);
	snprintf(dir, sizeof(dir), "%s/%u", f->proc, p->pid);
	fake_mkdir("%s", dir);
	fake_mkdir("%s/map_files", dir);
	fake_mkdir("%s/task", dir);
	fake_process_files(dir, p->pid, p->pid, p->state ? p->state : 'S', p);
	snprintf(link, sizeof(link), "%s/root", dir);
	if (symlink("../../root", link))
		abort();
	snprintf(link, sizeof(link), "%s/exe", dir);
	if (p->exe && symlink(p->exe, link))
		abort();
}

/* Puts a file into map_files that differs from the one at the mapping's path. */
static inline void fake_map_file(const struct fake_proc *f, uint32_t pid, uint64_t start,
				 uint64_t end, const char *content)
{
	fake_write(content, strlen(content), "%s/%u/map_files/%llx-%llx", f->proc, pid,
		   (unsigned long long)start, (unsigned long long)end);
}

static inline uint64_t fake_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The content of a descriptor's file as text. */
static inline const char *fake_content(int fd)
{
	static char text[256];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return "(no file)";
	text[n] = '\0';
	return text;
}

#endif
