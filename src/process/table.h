/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of program images, filled from events and /proc. Finds the image of a
 * sample.
 */
#ifndef LB_PROCESS_TABLE_H
#define LB_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strpool.h"
#include "collect/task_event.h"
#include "opener/opener.h"
#include "process/file.h"
#include "process/process.h"

struct process_table;

struct process_table_stats {
	uint64_t nr_processes; /* images known now */
	uint64_t nr_dropped; /* images over the maximum */
	uint64_t nr_lost_events; /* task events the kernel dropped */
	uint64_t nr_rereads; /* /proc/PID/maps read again because of lost events */
	uint64_t nr_files_open; /* descriptors held: mapped files, JIT files, roots */
	uint64_t nr_files_known; /* entries of the file cache, opened or not */
	uint64_t nr_files_dropped; /* not opened: too many files */
	uint64_t nr_mappings; /* in all images */
	uint64_t nr_jit_objects, nr_jit_bytes; /* held */
	uint64_t nr_jit_lost; /* JIT objects that were not kept, or not available */
	uint64_t nr_jit_foreign; /* listed in a runtime-specific format */
	uint64_t nr_interp_codes_lost; /* code objects that were not kept */
	uint64_t nr_mappings_dropped; /* over MAPS_MAX of an image, or over all of them */
};

struct cgroup_mounts;

struct process_table_config {
	const char *proc_path; /* "/proc"; tests give a directory of their own */
	/* Mounts of hierarchies, to find the owners of cgroups; NULL: none is. Copied. */
	const struct cgroup_mounts *cgroup_mounts;
	/* Mount of a whole cgroup v2, if it is the only hierarchy; else NULL. Copied. */
	const char *cgroups;
	/*
	 * The targets are of many users, who did not ask for it: none may take the places
	 * of others (base/quota.h).
	 */
	bool is_shared;
	/* "/etc/subuid", for whose account uids are on; NULL: not read. Borrowed. */
	const char *subuid_path;
	/* Asked before each process of a scan: shall it end? NULL: never. */
	bool (*scan_must_end)(void);
	size_t max_processes; /* images; 0: the default, 65536 */
	size_t max_files; /* open descriptors; 0: the default, 8192, or what
			   * RLIMIT_NOFILE allows */
	size_t max_mappings; /* of all images together; 0: the default, 2 Mi */
	size_t max_cgroups; /* known by number; 0: the default, 65536 */
};

/**
 * Raises the soft RLIMIT_NOFILE to the hard one. @pool is borrowed and must outlive
 * the table. Return: 0, -ENOMEM, or -errno with a sentence when there is no /proc.
 */
int process_table_new(const struct process_table_config *config, struct strpool *pool,
		      struct process_table **ret, struct error *err);
void process_table_free(struct process_table *t);
DEFINE_CLEANUP(struct process_table, process_table_free);

/**
 * Reads every process (or, with @tgids, only those and their descendants) from /proc:
 * identity, executable mappings. Call it after the task events were opened and before
 * they are consumed: later events take precedence. With @tgids, later events of
 * processes that do not descend from known ones are ignored.
 * Return: 0, also if scan_must_end() ended it, -ESRCH when one of @tgids does not exist, or
 * -errno.
 */
int process_table_scan(struct process_table *t, const uint32_t *tgids, size_t nr_tgids,
		       struct error *err);

/**
 * Reads a process that was not sampled yet, and opens its files.
 * Return: NULL: it is gone, or has no user code.
 */
struct process *process_table_prepare(struct process_table *t, uint32_t tgid);

/** Applies an event. Events must come in order of time_ns. Copies what it needs. */
void process_table_event(struct process_table *t, const struct task_event *ev);

/**
 * Handles the first sample of an image: sets its exact identity and opens its files
 * while it lives: mapped files through /proc/PID/map_files or its root, perf map and
 * jitdump if it maps anonymous code. An unknown process is read from /proc if its start
 * time fits. Later samples need not call this. Consume the task events up to @time_ns
 * first.
 *
 * Return: the entry, or NULL when nothing is known (a counted miss).
 */
struct process *process_table_first_sample(struct process_table *t,
					   const struct lb_image *id, uint64_t time_ns);

/**
 * Announces a first sample that process_table_first_told() will get: what /proc has of
 * the announced processes is read by process_table_read_announced(), in one request, and
 * kept until process_table_forget_announced(). Return: false: no more have room.
 */
bool process_table_announce(struct process_table *t, const struct lb_first_sample *first);
void process_table_read_announced(struct process_table *t);
void process_table_forget_announced(struct process_table *t);

/** Like process_table_first_sample(), but first applies the record's ids and root. */
struct process *process_table_first_told(struct process_table *t,
					 const struct lb_first_sample *first);

/**
 * Like process_table_first_sample(), for an image that may never be sampled: its files
 * are opened and tracked from now on, unless it has ended, but it expires like others
 * without samples. Its exec must be complete: its exec id is final.
 */
struct process *process_table_expect(struct process_table *t, const struct lb_image *id,
				     uint64_t time_ns);

/**
 * Returns the image of exactly this identity, or NULL: it is not known, but pending task
 * events may announce it. Read them before a look-up by time.
 */
const struct process *process_table_identified(struct process_table *t,
					       const struct lb_image *id);

/**
 * Finds the image of this identity that ran at @time_ns, or reads it from /proc; NULL
 * when nothing is known. For JIT events: unlike a sample, it opens no files.
 */
struct process *process_table_identify(struct process_table *t, const struct lb_image *id,
				       uint64_t time_ns);

/**
 * Finds the image of a sample, or NULL. Matches (start_boottime, exec_id) exactly where
 * identified, else by time (which then sets the identity).
 */
struct process *process_table_find(struct process_table *t, const struct lb_image *id,
				   uint64_t first_ns, uint64_t last_ns);

/**
 * Finds the owner of cgroup @id of a sample at @time_ns. process_table_forget_ended()
 * with a later time may drop it.
 * Return: exe is NULL; NULL: not known, use the process's own.
 */
const struct process_owner *process_table_cgroup(struct process_table *t, uint64_t id,
						 uint64_t time_ns);

/**
 * Call after a drain: opens files of new mappings (dlopen) in images that were sampled,
 * records the sizes of growing perf maps, finds new perf maps and jitdumps.
 * @now_ns  CLOCK_MONOTONIC of the drain
 */
void process_table_refresh(struct process_table *t, uint64_t now_ns);

/**
 * Between drains: opens the files of new mappings (dlopen) of sampled images.
 * Return: whether there was anything new. Cheap when not.
 */
bool process_table_open_new(struct process_table *t, uint64_t now_ns);

/** Returns whether it was sampled. Otherwise only its start is known. */
bool process_is_sampled(const struct process_table *t, const struct process *p);

/** Returns whether this same process still exists. Reads /proc. */
bool process_is_alive(struct process_table *t, const struct process *p);
/** Returns whether it surely does not. Else it does, or cannot be looked at now. */
bool process_is_gone(struct process_table *t, const struct process *p);

/**
 * Opens the exact file that @m of @p maps: m->file may be another inode with the same
 * path and build id.
 * @ret_by_path  found by its path only: the file may have been replaced
 * Return: a descriptor (O_PATH) of a regular file; -ESRCH: the process or the mapping
 * is gone; -EBUSY: its tenant's files are slow, others' are looked at first; another
 * negative errno: it could not be looked at.
 */
int process_find_mapped(struct process_table *t, const struct process *p,
			const struct mapping *m, bool *ret_by_path);

/** Returns the image that has this tgid now, or had it last; NULL: none is known. */
struct process *process_table_newest(struct process_table *t, uint32_t tgid);

/**
 * Fills in command and cwd of a live process, once. If that fails, tries again only after
 * the next process_table_refresh().
 */
void process_read_command(struct process_table *t, struct process *p);

/**
 * Adds a code object of one of its frames with interp_codes_add(). Before the first one it
 * reads the command, because file names of code objects can be relative.
 */
int process_add_interp_code(struct process_table *t, struct process *p,
			    const struct lb_interp_code *record, size_t size_bytes);

/** Finds the tenant of a process that is not in the table yet. @ctx  the table */
opener_tenant_fn process_table_tenant;

/** Returns is_shared of its configuration. */
bool process_table_is_shared(const struct process_table *t);

/** Returns the store of all JIT objects. */
struct jit_store *process_table_jit_store(struct process_table *t);
/**
 * Frees JIT objects that ended by @before_ns, also by exit, in all images. All samples up
 * to then must have been named.
 */
void process_table_forget_jit(struct process_table *t, uint64_t before_ns);

/**
 * Drops images that ended more than 3 s before @now_ns and were never sampled (bounded
 * memory). Their ids are reused. All samples up to @now_ns must have been drained: pass
 * the start of a drain, which may be long before its end.
 */
void process_table_expire(struct process_table *t, uint64_t now_ns);

/**
 * Closes files that are mapped only by images that are over: those ended more than 10 s
 * before @now_ns, and their samples are named. Also closes files that were unmapped as
 * long ago. Names stay.
 */
void process_table_trim(struct process_table *t, uint64_t now_ns);

/**
 * Like process_table_trim(), and drops those images, mappings that ended as long ago,
 * and unused files. Callers must not keep pointers to images, mappings or files across
 * it, only ids and (id, target_file.use).
 */
void process_table_forget_ended(struct process_table *t, uint64_t now_ns);

/**
 * Moves all names to @pool, borrowed, for present and future entries. The previous pool
 * may be freed if no other table uses its names.
 */
void process_table_set_pool(struct process_table *t, struct strpool *pool);

/**
 * Lists the images that may still run and whose files are, or will be, opened: [0, nr),
 * in no order. Some ended ones stay listed until the next drain.
 */
size_t process_table_nr_active(const struct process_table *t);
struct process *process_table_active(struct process_table *t, size_t i);

/** Returns the upper bound of ids. */
size_t process_table_nr_ids(const struct process_table *t);
/** Returns the image of an id; NULL if the id is not in use. */
struct process *process_table_at(struct process_table *t, uint32_t id);
void process_table_stats(const struct process_table *t, struct process_table_stats *ret);
/**
 * Finds the owner of a process in a container (struct tenant). NULL: none is known any more.
 */
const struct process_owner *process_table_container(const struct process_table *t,
						    uint64_t container);
/** quota_each_refused() of all its tables. */
void process_table_each_refused(struct process_table *t, quota_refused_fn fn, void *ctx);

/** Returns the file of an id in the cache. */
struct target_file *process_table_file(struct process_table *t, uint32_t id);

#endif
