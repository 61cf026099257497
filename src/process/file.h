/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of a target, opened without trusting the target, and kept open
 * so that samples of a process that has exited still get their lines.
 */
#ifndef LB_PROCESS_FILE_H
#define LB_PROCESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/quota.h"
#include "base/retry_pause.h"
#include "base/target_fd.h"
#include "decode/runtimes.h"
#include "opener/look.h"

struct shared_worker;
struct worker;

/*
 * Facts about a file, from a decoder. Untrusted: each runtime validates its own. They
 * depend on nothing but the file's content.
 */
struct file_facts {
	bool is_elf;
	struct runtime_facts {
		bool is_known; /* the file is such a runtime; else words are 0 */
		uint64_t words[RUNTIME_FACTS_BYTES / sizeof(uint64_t)];
	} runtimes[NR_RUNTIMES];
};

/*
 * One file, shared by all processes that map it. Owned by the cache; its address never
 * changes. The cache reuses an unmapped entry for another file and increments `use`.
 */
struct target_file {
	int fd; /* O_RDONLY, regular file; -1: could not be opened */
	int open_errno; /* why not, when fd is -1; ESTALE: another file is there now,
			 * EMFILE: too many are open */
	/*
	 * As the first target saw it, interned. For the cache and for messages only: every
	 * process has a path of its own for the file, mapping.path, and nobody names or
	 * judges it for others.
	 */
	const char *path;
	uint64_t dev, inode; /* of the opened descriptor, from fstat(2) */
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint8_t build_id
		[20]; /* from the kernel; checked by the decoder; len 0: not known */
	uint8_t build_id_len;
	bool verify_build_id; /* opened by path: accept it only if the build id matches */
	struct tenant tenant; /* of the first target that mapped it */
	struct payers payers; /* who map it, and pay for its places in all tables */
	uint32_t id; /* 0, 1, 2 ...: index for other tables */
	uint32_t use; /* files that had this id before: pairs (id, use) are unique */
	struct file_facts *facts; /* heap; NULL: it was not inspected */
	uint64_t inspect_from_ns; /* CLOCK_MONOTONIC: again then; 0: it never failed */
	/* How it failed. Not valid if that is 0. */
	bool inspect_died;
	struct retry_pause inspect_late;
};

/*
 * Rules for opening a file of a target: which it may be, and whose rights count. All are
 * followed in the opener (opener/opener.h).
 */
struct safe_open {
	int root_fd; /* O_PATH directory that paths are resolved in */
	const char *path; /* absolute in that root */
	unsigned int flags; /* LOOK_OWNED, LOOK_NOFOLLOW, LOOK_AS_OWNER */
	uid_t uid; /* of the target, in our user namespace */
	gid_t gid;
	uid_t root_uid; /* the uid that is 0 in the target's user namespace */
	struct tenant who; /* whose file it is: opener_look() */
	uint64_t max_bytes; /* larger is -EFBIG; 0 for no limit */
};

/**
 * Opens a regular file inside a target's root: openat2(RESOLVE_IN_ROOT |
 * RESOLVE_NO_MAGICLINKS), non-blocking. Refuses FIFOs, devices, directories, files on
 * FUSE, procfs, sysfs and other pseudo file systems.
 *
 * @ret  facts about it; may be NULL
 * Return: a descriptor, or -errno: -ENOENT, -ELOOP (symlink), -EPERM (owner, mode or
 * hard link), -EINVAL (not a regular file), -EFBIG, -EXDEV (procfs, FUSE ...), -EACCES
 * (LOOK_AS_OWNER), -ENOSYS (before Linux 5.6), and as opener_look().
 */
int safe_open(const struct safe_open *how, struct look_facts *ret);

/**
 * Does @why, an errno of safe_open() and the like, say that nothing is known about the file:
 * it or its tenant was late, somebody has a lease of it (EAGAIN), or no opener was there?
 */
bool file_is_late(int why);

/** Finds it by the same rules, but does not open it. Return: O_PATH, or -errno. */
int safe_open_find(const struct safe_open *how, struct look_facts *ret);

/** Opens and reads it. @ret  heap, terminated. Return: 0 or -errno. */
int safe_open_read(const struct safe_open *how, char **ret, size_t *ret_len,
		   struct look_facts *ret_facts);

/** Opens for reading what @fd (O_PATH) is, by the rules but root, path and AS_OWNER. */
int safe_reopen(int fd, const struct safe_open *how, struct look_facts *ret);
/** The same without rules. */
int safe_reopen_any(int fd, struct tenant who);

/**
 * Reads facts about an open file, which may be on any file system.
 *
 * @rules  LOOK_CHECKED, LOOK_WITH_FS
 */
int safe_open_facts(int fd, struct tenant who, unsigned int rules,
		    struct look_facts *ret);

/**
 * Copies this process' own vdso, which every 64-bit process maps, into a memfd.
 *
 * @ret_size  bytes mapped; a target whose [vdso] has another size (a 32-bit
 *            process) has another image
 * Return: a descriptor the caller closes, -ENOENT (no vdso), or -errno.
 */
int vdso_open(uint64_t *ret_size);

/* ---- facts about a file ---- */

/**
 * Inspects a file that is not in the cache, and waits for it.
 *
 * @who  it is its file
 * Cost: 0.04 ms for most programs, 4 ms with 15 MB of symbol names (LLVM linked
 * statically), 35 ms if they must be read from disk.
 * Return: 0, or -ENODATA: the decoder failed (deadline, crash) or did not start.
 */
int file_facts_read(struct worker *decoder, struct tenant who, int fd,
		    struct file_facts *ret);

/**
 * Asks for the facts about @file, unless they are known. A failure is final, but a decoder
 * that dies or does not start is asked once more, after a second, and one that is late after
 * pauses that double (file_facts_late_until()).
 *
 * @who  waits for them
 * Return: true: file->facts has what is known, NULL if the file is not open; false: the
 * answer comes later, or @who is refused (WORKER_REFUSED): ask again.
 */
bool file_facts_are_there(struct target_file *file, struct shared_worker *decoder,
			  struct tenant who);

/**
 * Returns when the decoder, which was late about @file, is asked again (CLOCK_MONOTONIC).
 * Go on without the facts: it may be long until then, and it may be late again. 0: it was
 * not late.
 */
uint64_t file_facts_late_until(const struct target_file *file);

/**
 * Returns the facts about a file in memory; waits for them if they are not known, but not
 * before file_facts_late_until().
 *
 * @who  needs them
 * Return: borrowed, valid as long as the file; NULL: nothing is known.
 */
const struct file_facts *file_facts_get(struct target_file *file, struct worker *decoder,
					struct tenant who);

/** Returns a runtime's facts: the struct that its inspector fills in. NULL: none. */
static inline const void *file_facts_of(const struct file_facts *facts,
					enum runtime_number runtime)
{
	return facts && facts->runtimes[runtime].is_known ? facts->runtimes[runtime].words
							  : NULL;
}

/* ---- limit of open descriptors ---- */

struct fd_budget {
	size_t nr_open;
	size_t max;
	uint64_t nr_refused; /* not opened, or not kept, because of the limit */
	struct quota quota; /* of max */
};

/* Call before opening. Return: false, counted, if a limit is reached. */
static inline bool fd_budget_take(struct fd_budget *budget, struct tenant who)
{
	if (budget->nr_open + target_fd_nr_waiting() >= budget->max ||
	    !quota_take(&budget->quota, who, 1)) {
		budget->nr_refused++;
		return false;
	}
	budget->nr_open++;
	return true;
}

/* Call after closing a descriptor, or if opening it failed. */
static inline void fd_budget_give(struct fd_budget *budget, struct tenant who)
{
	quota_give(&budget->quota, who, 1);
	budget->nr_open--;
}

#endif
