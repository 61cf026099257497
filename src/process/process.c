// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/target_fd.h"
#include "base/vec.h"
#include "opener/opener.h"
#include "process/proc_dir.h"

bool process_may_open(const struct process *proc)
{
	return proc->root_fd >= 0 && proc->uid != (uid_t)-1 && proc->gid != (gid_t)-1;
}

bool process_may_open_in(const struct process *proc, uint64_t root_id)
{
	return process_may_open(proc) && (!root_id || proc->root_id == root_id);
}

bool process_has_time(const struct process *proc)
{
	return opener_has_time(proc->tenant);
}

static struct safe_open rules_for(const struct process *p, const char *path,
				  unsigned int flags, uint64_t max_bytes)
{
	return (struct safe_open){
		.root_fd = p->root_fd,
		.path = path,
		.flags = flags,
		.uid = p->uid,
		.gid = p->gid,
		.root_uid = p->root_uid,
		.who = p->tenant,
		.max_bytes = max_bytes,
	};
}

int process_open_in_root(const struct process *proc, uint64_t root_id, const char *path,
			 uint64_t max_bytes, struct look_facts *ret)
{
	struct safe_open how = rules_for(proc, path, LOOK_AS_OWNER, max_bytes);

	return process_may_open_in(proc, root_id) ? safe_open(&how, ret) : -ESRCH;
}

int process_read_in_root(const struct process *proc, uint64_t root_id, const char *path,
			 uint64_t max_bytes, char **ret, size_t *ret_len,
			 struct look_facts *ret_facts)
{
	struct safe_open how = rules_for(proc, path, LOOK_AS_OWNER, max_bytes);

	return process_may_open_in(proc, root_id)
		       ? safe_open_read(&how, ret, ret_len, ret_facts)
		       : -ESRCH;
}

/* ---- files in which a JIT describes its code ---- */

#define JIT_FILE_RULES     (LOOK_OWNED | LOOK_NOFOLLOW)
#define PERF_MAP_MAX_BYTES (256ull << 20)
#define JITDUMP_MAX_BYTES  (4ull << 30)
#define JIT_FILE_MAX_SIZES 4096 /* sizes kept; then every second one is dropped */

void jit_file_init(struct jit_file *f)
{
	*f = (struct jit_file){.fd = -1, .open_errno = ENOENT, .path = ""};
}

void jit_file_deinit(struct jit_file *f, struct fd_budget *budget)
{
	if (f->fd >= 0) {
		target_fd_close(f->fd);
		fd_budget_give(budget, f->payer);
	}
	free(f->sizes);
	jit_file_init(f);
}

static void set_refusal(struct jit_file *f, const struct process *p, int why)
{
	if (f->open_errno != why)
		log_debug("%s of process %u: %s, skipping", f->path, p->tgid,
			  strerror(why));
	f->open_errno = why;
}

/* Drops every second size: ages become half as exact. */
static void drop_every_second_size(struct jit_file *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->nr_sizes; i += 2)
		f->sizes[nr++] = f->sizes[i];
	f->nr_sizes = nr;
}

/*
 * Keeps the first and the last observation of each size: these bytes were written
 * before the first, the next bytes after the last.
 */
static void note_size(struct jit_file *f, uint64_t now_ns, uint64_t size_bytes)
{
	size_t nr = f->nr_sizes;

	if (nr && size_bytes < f->sizes[nr - 1].size_bytes)
		nr = f->nr_sizes = 0;
	if (nr >= 2 && f->sizes[nr - 1].size_bytes == size_bytes &&
	    f->sizes[nr - 2].size_bytes == size_bytes) {
		f->sizes[nr - 1].time_ns = now_ns;
		return;
	}
	if (nr >= JIT_FILE_MAX_SIZES)
		drop_every_second_size(f);
	/* Out of memory: this size is not recorded, ages are less exact. */
	if (vec_grow(&f->sizes, &f->cap_sizes, f->nr_sizes + 1, sizeof(*f->sizes),
		     JIT_FILE_MAX_SIZES))
		return;
	f->sizes[f->nr_sizes++] =
		(struct jit_file_size){.time_ns = now_ns, .size_bytes = size_bytes};
}

static bool is_same_file(const struct jit_file *f, const struct look_facts *facts)
{
	return f->fd >= 0 && f->dev == facts->dev && f->inode == facts->inode;
}

/* Takes @fd; @payer has taken its place in the budget. */
static void adopt(struct jit_file *f, int fd, const struct look_facts *facts,
		  struct fd_budget *budget, struct tenant payer)
{
	if (f->fd >= 0) {
		target_fd_close(f->fd);
		fd_budget_give(budget, f->payer);
	}
	f->fd = fd;
	f->payer = payer;
	f->dev = facts->dev;
	f->inode = facts->inode;
	f->open_errno = 0;
	f->nr_sizes = 0;
}

/* Was there a file, which the rules refused? */
static bool was_refused(const struct jit_file *f)
{
	switch (f->open_errno) {
	case ENOENT:
	case ESRCH:
	case EMFILE:
	case ENFILE:
		return false;
	default:
		return !file_is_late(f->open_errno);
	}
}

void perf_map_look(struct process *p, struct strpool *pool, struct fd_budget *budget,
		   uint64_t now_ns)
{
	int fd = process_may_open(p) ? -ENOENT : -ESRCH;
	struct jit_file *f = &p->perf_map;
	struct look_facts facts;
	struct safe_open how;
	bool has_place;
	char path[64];

	if (fd == -ENOENT && p->ns_tgid) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", p->ns_tgid);
		f->path = strpool_add(pool, path);
		how = rules_for(p, f->path, JIT_FILE_RULES, PERF_MAP_MAX_BYTES);
		/*
		 * The name is new in a folder that all share. Who holds that is not known, but
		 * it is not the JIT's user: no link is followed, and no other file system.
		 */
		if (p->has_machines_root)
			how.who = TENANT_OF_TMP;
		has_place = fd_budget_take(budget, p->tenant);
		fd = has_place ? safe_open(&how, &facts) : -EMFILE;
		if (fd < 0 && has_place)
			fd_budget_give(budget, p->tenant);
	}
	if (fd >= 0 && is_same_file(f, &facts)) {
		target_fd_close(fd);
		fd_budget_give(budget, p->tenant);
	} else if (fd >= 0) {
		adopt(f, fd, &facts, budget, p->tenant);
	} else if (f->fd < 0 && (fd != -ENOENT || !was_refused(f))) {
		/* If it was removed since, it stays refused. */
		set_refusal(f, p, -fd);
	}
	/* It was removed, but its writer may still have it open. */
	if (fd < 0 && f->fd >= 0 && safe_open_facts(f->fd, p->tenant, 0, &facts))
		return;
	if (f->fd >= 0)
		note_size(f, now_ns, facts.size_bytes);
}

static bool is_dump_of(const struct mapping *m, const struct process *p)
{
	const char *base = strrchr(m->path, '/');
	unsigned long pid;

	if (m->kind != MAPPING_JITDUMP || !base)
		return false;
	pid = strtoul(base + strlen("/jit-"), NULL, 10);
	return pid == p->tgid || (p->ns_tgid && pid == p->ns_tgid);
}

/* Returns the newest one: after exec or a restart of the JIT there is another. */
static const struct mapping *find_dump(const struct process *p)
{
	for (size_t i = p->maps.nr; i-- > 0;)
		if (is_dump_of(&p->maps.items[i], p))
			return &p->maps.items[i];
	return NULL;
}

static int open_mapped_dump(const struct safe_open *how, const struct mapping *m,
			    int proc_dir, struct look_facts *ret)
{
	_cleanup_target_fd_ int fd = proc_dir_find_mapped(proc_dir, how->who, m, ret);

	return fd < 0 ? fd : safe_reopen(fd, how, ret);
}

void jitdump_look(struct process *p, int proc_dir, struct fd_budget *budget)
{
	const struct mapping *m = find_dump(p);
	struct jit_file *f = &p->jitdump;
	struct look_facts facts;
	struct safe_open how;
	int fd;

	if (!m || (f->fd >= 0 && f->path == m->path))
		return;
	if (f->fd < 0)
		f->path = m->path;
	how = rules_for(p, m->path, JIT_FILE_RULES, JITDUMP_MAX_BYTES);
	fd = process_may_open(p) ? -EMFILE : -ESRCH;
	if (fd == -EMFILE && fd_budget_take(budget, p->tenant)) {
		fd = proc_dir >= 0 ? open_mapped_dump(&how, m, proc_dir, &facts) : -ESRCH;
		if ((fd == -ESRCH || fd == -ENOENT) && !m->deleted)
			fd = safe_open(&how, &facts);
		if (fd < 0)
			fd_budget_give(budget, p->tenant);
	}
	if (fd >= 0) {
		adopt(f, fd, &facts, budget, p->tenant);
		f->path = m->path;
	} else if (f->fd < 0) {
		set_refusal(f, p, -fd);
	}
}
