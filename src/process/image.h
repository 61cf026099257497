/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Program images, and the state of the process table. Internal to this folder. */
#ifndef LB_PROCESS_IMAGE_H
#define LB_PROCESS_IMAGE_H

#include "base/hashmap.h"
#include "process/ahead.h"
#include "process/cgroup_mount.h"
#include "process/file.h"
#include "process/file_cache.h"
#include "process/proc_dir.h"
#include "process/process.h"
#include "process/root.h"
#include "process/uid_owners.h"

struct process_owners;

#define IMAGE_NONE HASHMAP_NONE
/* One that is forgotten costs a look at /proc. */
#define MAX_REFUSED 1024

/* A program image; its public part comes first. */
struct image {
	struct process proc;
	struct root *root; /* referenced; proc.root_fd is its descriptor */
	/* Of its place and its mappings: its tenant, unless they are over its part. */
	struct tenant payer;
	uint32_t older; /* the image that had this tgid before; IMAGE_NONE */
	bool by_exec; /* began with an exec event */
	bool is_newest; /* the one in by_tgid */
	bool start_known; /* proc.start_boottime_ns is right to 10 ms */
	/* complete: from /proc, or from its fork or exec and later events */
	bool maps_known;
	/* by process_table_expect(), or read after a lost event: its exec id is final */
	bool is_expected;
	bool is_kept; /* it was sampled, and is its tenant's: it is not dropped any more */
	bool unopened; /* new mappings since its files were opened */
	struct retry_pause look; /* one that could not be looked at is then */
	uint64_t
		late_until_ns; /* files that could not be looked at are tried again then */
	bool was_read; /* its owner was read, if possible; waits for a sample */
	bool owner_waits; /* it is gone, and its parent will be read: owner_fill_late() */
	bool may_have_jit_code; /* it has, or had, a mapping that a JIT may have made */
	bool has_jitdump; /* ... or the marker page of a jitdump */
	bool done; /* ended, and no more files will be opened */
	uint64_t gone_ns; /* first found without any running thread; 0: never */
	bool is_active; /* its id is in process_table.active */
	int proc_dir; /* its directory in /proc, verified; until the next drain; -1 */
	uint64_t fork_ns; /* time of its process's fork event; 0: not known */
	uint32_t ppid; /* parent, by its fork event or /proc; 0: not known */
	uint64_t read_ns; /* just before its maps were read from /proc; 0: never */
	/* Its root and ids were read from /proc between these; 0: never. */
	uint64_t ids_from_ns, ids_ns;
	struct lb_ids told; /* the newest ids from the kernel */
	uint64_t told_ns; /* of the sample with these ids; 0: none */
	/* Its cgroup was read, or told, last between these; 0: never. */
	uint64_t owner_ns, owner_until_ns;
	/* lb_ids.cgroups, and when it was so; 0: not told */
	uint64_t cgroups, cgroups_ns;
	/* Those of its owner, and when that was read: told alike before and after; 0: not */
	uint64_t owner_cgroups, owner_cgroups_ns;
	uint64_t sampled_ns; /* first sample; 0: never */
	uint64_t last_sample_ns; /* last drained sample */
	uint64_t lost_seq; /* of the table, when its mappings were last complete */
	uint64_t checked_seq; /* same, when /proc last showed that it runs */
	uint64_t nr_maps_dropped; /* mappings refused because of the total limit */
	uint64_t command_tried; /* nr_refreshes at the last try; 0: none */
};

/*
 * Asks whether the threads of ended images live, of which there may be any number: what has
 * to wait is asked about in the next round.
 */
struct check_round {
	size_t from; /* id where the next round begins */
	unsigned int nr_alive; /* found in this one */
	uint64_t until_ns; /* no more are asked about then */
};

struct process_table {
	struct strpool *pool; /* borrowed */
	int proc_fd; /* O_PATH, /proc */
	bool is_our_proc; /* and no directory of a test */
	uint64_t user_ns; /* inode of our own user namespace; 0: not known */
	struct image **images; /* by id; NULL: free */
	size_t nr_ids, cap_ids;
	uint32_t *free_ids;
	size_t nr_free, cap_free;
	/*
	 * Ids of the images whose files are tracked: opened or sampled, not done.
	 * Short-lived images never enter it, so its size does not depend on their
	 * number.
	 */
	uint32_t *active;
	size_t nr_active, cap_active;
	size_t nr_dirs, max_dirs; /* of images, kept open */
	struct hashmap by_tgid; /* newest image of each tgid */
	struct hashmap by_identity; /* identified ones: (tgid, start, exec id) */
	struct fd_budget budget;
	struct roots *roots;
	struct root_key machines_root; /* that of pid 1; until it is read, our own */
	struct file_cache *files;
	struct cgroup_places places;
	struct process_owners *owners;
	struct uid_owners uid_owners;
	struct jit_store *jit_store;
	uint64_t nr_jit_lost, nr_jit_foreign; /* of images that are forgotten by now */
	struct interp_store *interp_store;
	uint64_t nr_interp_codes_lost; /* same */
	bool has_unopened; /* a sampled image has new mappings */
	size_t opens_from; /* index in active where the next opening of files begins */
	size_t max_images, max_mappings;
	size_t nr_mappings;
	uint64_t nr_dropped, nr_lost_events, nr_rereads;
	uint64_t nr_maps_dropped; /* of images that are forgotten by now */
	struct quota image_quota, mapping_quota;
	/* Hashes of identities that were dropped since the last drain; 0: none. */
	uint64_t refused[MAX_REFUSED];
	uint64_t lost_seq; /* counts TASK_EVENT_LOST */
	uint64_t nr_refreshes; /* and one */
	struct check_round trim_round, jit_round, new_round;
	bool is_shared;
	bool (*scan_must_end)(void);
	bool restricted; /* only descendants of known processes are of interest */
	/* What was just read of this image, for its owner; NULL: nothing. */
	const struct image *viewed;
	struct proc_view view;
	struct ahead ahead;
};

static inline struct image *image_of(struct process_table *t, uint32_t id)
{
	return id == IMAGE_NONE ? NULL : t->images[id];
}

/*
 * Returns whether events were lost since its mappings were complete: read them again.
 */
static inline bool image_is_stale(const struct process_table *t, const struct image *img)
{
	return img->lost_seq != t->lost_seq;
}

static inline bool image_is_ended(const struct image *img)
{
	return img->proc.until_ns != UINT64_MAX;
}

/*
 * Boot time includes suspends: a time before the last suspend is off by its duration.
 */
uint64_t boottime_to_monotonic(uint64_t boottime_ns);

/* Is nothing known of it but that a program of root's started it? */
static inline bool image_is_new(const struct image *img)
{
	return tenant_is_same(img->proc.tenant, TENANT_NEW);
}

/* ---- entries ---- */

/**
 * Creates the newest image of @tgid, which began at @from_ns.
 *
 * @who  pays until it is known who has to
 * Return: NULL, counted: no room.
 */
struct image *image_new(struct process_table *t, uint32_t tgid, uint64_t from_ns,
			struct tenant who);

/** Removes it from the table, but not from the images of its tgid, and frees it. */
void image_forget(struct process_table *t, struct image *img);

/**
 * Drops an image, which must not be sampled, that its tenant has no room for. Its identity
 * is refused until the next drain. Return: false: there is room.
 */
bool image_drop_refused(struct process_table *t, struct image *img);

/** Was this identity refused since the last drain? Its records come again and again. */
bool image_was_refused(const struct process_table *t, const struct lb_image *id);

/** Frees an image that is no longer in the table. Accepts NULL. */
void image_free(struct process_table *t, struct image *img);
/** Tracks its files from now on, until it is done. */
void image_activate(struct process_table *t, struct image *img);
void image_deactivate(struct process_table *t, struct image *img);

/** Returns the newest image of @tgid, or NULL. */
struct image *image_newest(struct process_table *t, uint32_t tgid);

/** Returns the image that ran at @time_ns, or NULL when the first one began later. */
struct image *image_at(struct process_table *t, uint32_t tgid, uint64_t time_ns);

struct image *image_identified(struct process_table *t, const struct lb_image *id);

/**
 * Returns whether this may be the process that started at @start_boottime_ns. The
 * comparison is exact when identified; else to a tick, as the time may come from /proc.
 */
bool image_start_fits(const struct image *img, uint64_t start_boottime_ns);

/** Sets its exact identity, from a sample. Overrides an earlier one. */
void image_identify(struct process_table *t, struct image *img,
		    const struct lb_image *id);

/** Removes it from the index of identities. */
void image_forget_identity(struct process_table *t, struct image *img);
/** Ends it at @time_ns, unless it has ended before. */
void image_end(struct image *img, uint64_t time_ns);

/**
 * Copies what fork and exec preserve, except mappings, ids and root: a process may
 * change those between fork and exec.
 */
void image_inherit(struct image *img, const struct image *from);

/**
 * As tenant_find(). Where the caller chose the targets, tenants share no table, and a user
 * is one.
 */
struct tenant image_tenant(const struct process_table *t, const struct process *p,
			   const struct look *cgroup);
/** Finds @img's tenant, who pays for its places from now on. */
void image_find_tenant(struct process_table *t, struct image *img,
		       const struct look *cgroup);

/** maps_add() within the limit of all images together. */
void image_add_mapping(struct process_table *t, struct image *img,
		       const struct mapping *m);
void image_copy_maps(struct process_table *t, struct image *img,
		     const struct image *from);
/** Counts the mappings that it has, instead of @nr_before. */
void image_count_maps(struct process_table *t, const struct image *img, size_t nr_before);

/**
 * Sets its ids and root from the kernel's sample at @time_ns. The newest ids win, also
 * over those of /proc, which may belong to a program executed later. The root is found
 * only if another process had the same one when the sample was taken.
 */
void image_tell_ids(struct process_table *t, struct image *img, const struct lb_ids *ids,
		    uint64_t time_ns);
/** Takes what the kernel told of a process's parent at @time_ns. */
void image_tell_parent(struct process_table *t, const struct lb_ids *ids,
		       uint64_t time_ns);
/** Drops ids read from /proc, which may be another program's; keeps the kernel's. */
void image_forget_ids(struct process_table *t, struct image *img);

/** Returns its executable from the exec event, if no event was lost since; NULL: unknown. */
const char *image_exe_by_exec(const struct process_table *t, const struct image *img);

/**
 * Returns the parent of a process that the kernel told this of at @time_ns, if both were in
 * the same cgroups; else NULL.
 */
struct image *image_parent_beside(struct process_table *t, const struct lb_ids *ids,
				  uint64_t time_ns);
/** Returns that parent if its owner, which is that process's, too, is known; else NULL. */
const struct image *image_told_owner(struct process_table *t, const struct lb_ids *ids,
				     uint64_t time_ns);

/**
 * Returns what has to be read of /proc, of proc_view_part, before its files are opened for
 * the first time; 0: the kernel told all.
 *
 * @img      NULL: not known
 * @ids      what the kernel told of it at @time_ns; 0: nothing
 */
unsigned int image_first_parts(struct process_table *t, const struct image *img,
			       const struct lb_ids *ids, uint64_t time_ns);

/**
 * Opens the /proc directory of @img's process, or of a living thread of it.
 * Return: a descriptor; -ESRCH when it is gone or the pid is another process's; another
 * negative errno: it could not be looked at.
 */
int image_open_dir(struct process_table *t, const struct image *img);
/** Forgets what image_open_files() has read of an image. */
void image_forget_view(struct process_table *t);
/** Closes the directory that image_open_files() keeps open. */
void image_forget_dir(struct process_table *t, struct image *img);

/** Finds who pays for one that was not sampled. Drops it as image_drop_refused(). */
void image_look(struct process_table *t, struct image *img);

/** Reads what /proc has about a process now, known or new. */
void image_scan(struct process_table *t, uint32_t tgid);

/**
 * Adds a process without events from /proc. @who  pays until it is known who has to
 * Return: NULL when it is gone or another, or there is no room.
 */
struct image *image_from_proc(struct process_table *t, const struct lb_image *id,
			      struct tenant who);

/**
 * Opens files that are not open yet, and checks the JIT's. Cheap when all is done. Does nothing
 * if the process cannot be looked at now: call it again.
 */
void image_open_files(struct process_table *t, struct image *img, uint64_t now_ns);

#endif
