/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of program images. Events and /proc fill it; samples are looked up in it. */
#ifndef LB_PROCESS_TABLE_H
#define LB_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strpool.h"
#include "collect/task_event.h"
#include "process/file.h"
#include "process/process.h"

struct process_table;

struct process_table_stats {
	uint64_t nr_processes; /* images known now */
	uint64_t nr_dropped; /* images over the maximum */
	uint64_t nr_lost_events; /* task events the kernel dropped */
	uint64_t nr_rereads; /* /proc/PID/maps read again because of that */
	uint64_t nr_files_open; /* descriptors held: mapped files, JIT files, roots */
	uint64_t nr_files_known; /* entries of the file cache, opened or not */
	uint64_t nr_files_dropped; /* not opened: too many files */
	uint64_t nr_mappings; /* in all images */
	uint64_t nr_jit_objects, nr_jit_bytes; /* held */
	uint64_t nr_jit_lost; /* JIT objects that were not kept, or could not be had */
	uint64_t nr_jit_foreign; /* listed in a format of the runtime's own */
	uint64_t nr_interp_bytes; /* held of code objects of interpreters */
	uint64_t nr_interp_codes_lost; /* code objects that were not kept */
	uint64_t nr_mappings_dropped; /* over MAPS_MAX of an image, or over all of them */
};

struct cgroup_mounts;

struct process_table_config {
	const char *proc_path; /* "/proc"; tests give a directory of their own */
	/* Where hierarchies are mounted, to see whose cgroups are; may be NULL. Copied. */
	const struct cgroup_mounts *cgroup_mounts;
	/* Where cgroup v2 is mounted, whole, and no other hierarchy; NULL: not so. Copied. */
	const char *cgroups;
	size_t max_processes; /* images; 0: the default, 65536 */
	size_t max_files; /* open descriptors; 0: the default, 8192, or what
			   * RLIMIT_NOFILE allows */
	size_t max_mappings; /* of all images together; 0: the default, 2 Mi */
	uint64_t max_jit_bytes; /* of JIT objects; 0: JIT_STORE_DEFAULT_BYTES */
	uint64_t max_interp_bytes; /* of code objects; 0: INTERP_STORE_DEFAULT_BYTES */
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
 * Reads every process (or, with @tgids, only those and their descendants) from
 * /proc: identity, executable mappings. Call after the task events were opened
 * and before they are consumed: what the events say later wins. With @tgids, events
 * about processes that do not descend from known ones are ignored from then on.
 * Return: 0, -ESRCH when one of @tgids does not exist, or -errno.
 */
int process_table_scan(struct process_table *t, const uint32_t *tgids, size_t nr_tgids,
		       struct error *err);

/**
 * Reads a process of which nothing was sampled yet, and opens its files.
 * Return: NULL: it is gone, or has no user code.
 */
struct process *process_table_prepare(struct process_table *t, uint32_t tgid);

/** Events must come in order of time_ns. Copies what it needs. */
void process_table_event(struct process_table *t, const struct task_event *ev);

/**
 * The first sample of an image was taken: names the entry exactly and opens its
 * files while it lives: mapped files through /proc/PID/map_files or its root,
 * perf map and jitdump if it maps anonymous code. An unknown process is read
 * from /proc if its start time fits. Later samples need not call this. Consume the
 * task events up to @time_ns first.
 *
 * Return: the entry, or NULL when nothing is known (a counted miss).
 */
struct process *process_table_first_sample(struct process_table *t, uint32_t tgid,
					   uint64_t start_boottime_ns, uint32_t exec_id,
					   uint64_t time_ns);

/**
 * Whose @p is, as the kernel told at a sample of it at @time_ns. The newest counts, and more
 * than what /proc says, which may be of the program that it executed since. Its root is known
 * by this only if another process had the same when the sample was taken.
 */
void process_table_told(struct process_table *t, struct process *p,
			const struct lb_ids *ids, uint64_t time_ns);

/** process_table_first_sample() of what the kernel told, with process_table_told() before. */
struct process *process_table_first_told(struct process_table *t,
					 const struct lb_first_sample *first);

/**
 * As process_table_first_sample(), for an image that may never be sampled: its files are
 * open and followed from now on, but it is forgotten as others are that were not sampled.
 * The exec is over: @exec_id is the image's for good.
 */
struct process *process_table_expect(struct process_table *t, uint32_t tgid,
				     uint64_t start_boottime_ns, uint32_t exec_id,
				     uint64_t time_ns);

/**
 * Is there an image of exactly this identity? If not, task events that were not read yet may
 * tell of it: it is found by time then, and they must have been.
 */
bool process_table_is_identified(struct process_table *t, uint32_t tgid,
				 uint64_t start_boottime_ns, uint32_t exec_id);

/**
 * The image of this identity that ran at @time_ns, known or read from /proc; NULL
 * when nothing is known. For what is no sample (JIT events): nothing is opened.
 */
struct process *process_table_identify(struct process_table *t, uint32_t tgid,
				       uint64_t start_boottime_ns, uint32_t exec_id,
				       uint64_t time_ns);

/**
 * The image that a sample belongs to, or NULL. Matches (start_boottime, exec_id)
 * exactly where identified, else by time (and then counts as identified).
 */
struct process *process_table_find(struct process_table *t, uint32_t tgid,
				   uint64_t start_boottime_ns, uint32_t exec_id,
				   uint64_t first_ns, uint64_t last_ns);

/**
 * Whose cgroup @id is, a number of samples, which tell it at @time_ns. Later calls may let
 * the number be forgotten: process_table_forget_ended() with a later time than that.
 * Return: exe is NULL; NULL: it is not known, ask the process's own.
 */
const struct process_owner *process_table_cgroup(struct process_table *t, uint64_t id,
						 uint64_t time_ns);

/**
 * After a drain: opens files of mappings that came since (dlopen) in images that
 * were sampled, notes the sizes of growing perf maps, looks for perf maps and
 * jitdumps that appeared.
 * @now_ns  CLOCK_MONOTONIC of the drain
 */
void process_table_refresh(struct process_table *t, uint64_t now_ns);

/**
 * Between drains: opens the files of what sampled images mapped since (dlopen).
 * Return: is there anything new? Cheap when not.
 */
bool process_table_open_new(struct process_table *t, uint64_t now_ns);

/** Was there a sample of it? Else it is only known to have begun. */
bool process_is_sampled(const struct process_table *t, const struct process *p);

/** Is this very process still there? Reads /proc. */
bool process_is_alive(struct process_table *t, const struct process *p);

/**
 * The very file that @m, of @p, maps: m->file may be another inode with the same path and
 * build id.
 * @ret_by_path  by its path only, so that it may be another file by now
 * Return: a descriptor (O_PATH) of a regular file; -ESRCH: the process or the mapping is
 * gone; another negative errno.
 */
int process_find_mapped(struct process_table *t, const struct process *p,
			const struct mapping *m, bool *ret_by_path);

/** The image that has this number now, or had it last; NULL: none is known. */
struct process *process_table_newest(struct process_table *t, uint32_t tgid);

/** Fills in command and cwd of a process that lives, once. */
void process_read_command(struct process_table *t, struct process *p);

/**
 * Notes a code object that one of its frames ran: interp_codes_add(). With the first one
 * its command is read, too: file names of code objects can be relative.
 */
int process_add_interp_code(struct process_table *t, struct process *p,
			    const struct lb_interp_code *record, size_t size_bytes);

/** Where the objects of all jit_code are. */
struct jit_store *process_table_jit_store(struct process_table *t);
/** Where the texts of all interp_codes are. */
struct interp_store *process_table_interp_store(struct process_table *t);
/**
 * Lets go of JIT objects that had gone by @before_ns, of all images: also by exit. All samples
 * up to then have been named.
 */
void process_table_forget_jit(struct process_table *t, uint64_t before_ns);

/**
 * Images that ended more than 3 s before @now_ns and were never sampled are forgotten
 * (bounded memory). Their ids are used again. All samples up to @now_ns have been drained:
 * of a drain it is the beginning, which may be long ago by its end.
 */
void process_table_expire(struct process_table *t, uint64_t now_ns);

/**
 * Closes files that nobody has mapped but images that are over: they ended more than 10 s
 * before @now_ns, and all samples up to then have been named. Or that nobody has had mapped
 * for as long. Names stay.
 */
void process_table_trim(struct process_table *t, uint64_t now_ns);

/**
 * As process_table_trim(), and forgets those images, mappings that ended as long ago, and
 * files that nobody has: nobody may hold images, mappings or files of this table, but by
 * id, and by (id, target_file.use).
 */
void process_table_forget_ended(struct process_table *t, uint64_t now_ns);

/**
 * From now on names are in @pool, borrowed, those there are now too: the one before may
 * go when nobody else has names of it.
 */
void process_table_set_pool(struct process_table *t, struct strpool *pool);

/**
 * The images whose files are, or will be opened, and that may still run: [0, nr), in no
 * order. Of those that ended some are among them until the next drain.
 */
size_t process_table_nr_active(const struct process_table *t);
struct process *process_table_active(struct process_table *t, size_t i);

/** Ids are less than this. */
size_t process_table_nr_ids(const struct process_table *t);
/** NULL for an id that is not in use. */
struct process *process_table_at(struct process_table *t, uint32_t id);
void process_table_stats(const struct process_table *t, struct process_table_stats *ret);

/** Number of files in the cache, and the file of an id. */
size_t process_table_nr_files(const struct process_table *t);
struct target_file *process_table_file(struct process_table *t, uint32_t id);

#endif
