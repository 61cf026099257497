// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/jit/inodes.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/target_fd.h"
#include "base/user.h"
#include "collect/jit_probe.h"
#include "process/file.h"
#include "worker/shared.h"

/*
 * On overlayfs the device number is that of the mount (or of one of its layers), but
 * inode number and change time are those of the underlying inode. A copy in the upper
 * layer keeps the number, but has its own change time.
 */
struct inode_identity {
	uint64_t dev, inode;
	int64_t ctime_ns;
	bool is_overlay;
};

struct inode {
	struct inode_identity identity;
	uint64_t register_off;
	uint64_t number, probed_ns; /* as in struct jit_inode */
	/* Its probe is being attached or removed, since begin_ns; one at a time. */
	bool is_attaching, is_removing;
	bool is_kept; /* used since the last sweep */
};

/*
 * After this time an inode whose probe is being attached or removed counts as not probed:
 * the lists of its processes are walked. A process that maps it can hold up the kernel.
 */
#define PENDING_MAX_NS 1000000000ULL

struct jit_inodes {
	struct jit_probe *probe; /* borrowed */
	struct shared_worker *decoder; /* borrowed */
	const uid_t *user; /* borrowed; NULL: every file may be probed */
	struct tenant who; /* whose file is looked at */
	struct inode items[JIT_PROBE_MAX_FILES];
	size_t nr;
	uint64_t last_number;
	uint64_t begin_ns; /* CLOCK_MONOTONIC: of the last attachment or removal */
	char attach_path[PATH_MAX]; /* of the last attachment */
	bool is_over; /* no probe is attached or removed any more */
};

struct jit_inodes *jit_inodes_new(struct jit_probe *probe, struct shared_worker *decoder,
				  const uid_t *user)
{
	struct jit_inodes *inodes = calloc(1, sizeof(*inodes));

	if (!inodes)
		return NULL;
	inodes->probe = probe;
	inodes->decoder = decoder;
	inodes->user = user;
	return inodes;
}

void jit_inodes_free(struct jit_inodes *inodes)
{
	free(inodes); /* the probe frees its own data */
}

static int read_identity(int fd, struct tenant who, struct inode_identity *ret)
{
	struct look_facts facts;
	int rc = safe_open_facts(fd, who, LOOK_WITH_FS, &facts);

	if (rc)
		return rc;
	*ret = (struct inode_identity){.dev = facts.dev,
				       .inode = facts.inode,
				       .ctime_ns = facts.ctime_ns,
				       .is_overlay = facts.fs_magic ==
						     OVERLAYFS_SUPER_MAGIC};
	return 0;
}

static bool is_same(const struct inode_identity *a, const struct inode_identity *b)
{
	if (a->inode != b->inode)
		return false;
	return a->dev == b->dev ||
	       ((a->is_overlay || b->is_overlay) && a->ctime_ns == b->ctime_ns);
}

static struct inode *find(struct jit_inodes *inodes,
			  const struct inode_identity *identity, uint64_t register_off)
{
	for (size_t i = 0; i < inodes->nr; i++)
		if (inodes->items[i].register_off == register_off &&
		    is_same(&inodes->items[i].identity, identity))
			return &inodes->items[i];
	return NULL;
}

/* Trusts the owner only if the kernel knows it, not a file system's server. */
static bool is_trusted(int fd, struct tenant who, uid_t user)
{
	struct look_facts facts;

	return !safe_open_facts(fd, who, LOOK_CHECKED, &facts) &&
	       (!facts.uid || facts.uid == user) &&
	       !user_others_may_write(facts.uid, facts.gid, facts.mode, facts.has_acl);
}

static bool may_probe(const struct jit_inodes *inodes, int fd)
{
	return !inodes->user || is_trusted(fd, inodes->who, *inodes->user);
}

static int attach(struct jit_inodes *inodes, int fd, const struct jit_interface *point)
{
	return jit_probe_attach(
		inodes->probe, fd, point->register_off,
		(int64_t)(point->descriptor_vaddr - point->register_vaddr));
}

/*
 * Checks the file itself before probing, as the target may fake a build id. Return: 0
 * or -errno.
 */
static int probe_unknown(struct jit_inodes *inodes, int path_fd,
			 const struct jit_interface *point)
{
	const struct safe_open any_file = {
		.root_fd = -1, .uid = (uid_t)-1, .who = inodes->who};
	_cleanup_target_fd_ int fd = safe_reopen(path_fd, &any_file, NULL);
	const struct jit_interface *found;
	struct file_facts facts;
	int rc;

	if (fd < 0)
		return fd;
	/* Before the loop waits for a decoder: it must not wait for other users' files. */
	if (!may_probe(inodes, fd))
		return -EPERM;
	rc = file_facts_read(shared_worker_begin(inodes->decoder, inodes->who),
			     inodes->who, fd, &facts);
	shared_worker_end(inodes->decoder, inodes->who, 0);
	if (rc)
		return rc;
	found = file_facts_of(&facts, RUNTIME_JIT);
	if (!found || found->register_off != point->register_off ||
	    found->register_vaddr != point->register_vaddr ||
	    found->descriptor_vaddr != point->descriptor_vaddr)
		return -ESTALE;
	return attach(inodes, fd, point);
}

/* Is there no use in waiting for the probe? */
static bool is_stuck(const struct jit_inodes *inodes)
{
	return inodes->is_over || (jit_probe_is_busy(inodes->probe) &&
				   clock_now_ns() >= inodes->begin_ns + PENDING_MAX_NS);
}

static struct jit_inode state_of(const struct jit_inodes *inodes,
				 const struct inode *inode)
{
	return (struct jit_inode){
		.number = inode->number,
		.probed_ns = inode->probed_ns,
		.is_pending = (inode->is_attaching || inode->is_removing) &&
			      !is_stuck(inodes)};
}

/* Is it the file that the target's processes were seen to map? */
static bool is_target(const struct target_file *target,
		      const struct inode_identity *identity)
{
	return target->fd >= 0 && target->dev == identity->dev &&
	       target->inode == identity->inode;
}

/* Begins to probe the file. Return: 0 or -errno. */
static int begin(struct jit_inodes *inodes, int fd, const struct inode_identity *identity,
		 const struct target_file *target, const struct jit_interface *point)
{
	if (inodes->is_over || jit_probe_is_busy(inodes->probe))
		return -EBUSY;
	if (is_target(target, identity))
		return may_probe(inodes, target->fd) ? attach(inodes, target->fd, point)
						     : -EPERM;
	return probe_unknown(inodes, fd, point);
}

static struct inode *find_unused(struct jit_inodes *inodes)
{
	for (size_t i = 0; i < inodes->nr; i++)
		if (!inodes->items[i].is_kept && inodes->items[i].probed_ns)
			return &inodes->items[i];
	return NULL;
}

/* Must a new inode wait: for the probe of another one, or for the place of an unused one? */
static bool must_wait(struct jit_inodes *inodes)
{
	return !is_stuck(inodes) &&
	       (jit_probe_is_busy(inodes->probe) ||
		(inodes->nr == JIT_PROBE_MAX_FILES && find_unused(inodes)));
}

struct jit_inode jit_inodes_probe(struct jit_inodes *inodes, struct tenant who, int fd,
				  const struct target_file *target,
				  const struct jit_interface *point)
{
	struct inode_identity identity;
	struct inode *inode;
	int rc;

	inodes->who = who;
	if (read_identity(fd, who, &identity))
		return (struct jit_inode){0};
	inode = find(inodes, &identity, point->register_off);
	if (inode) {
		inode->is_kept = true;
		return state_of(inodes, inode);
	}
	/* The decoder inspects a file that is not the target. */
	if (must_wait(inodes) || (!is_target(target, &identity) &&
				  !shared_worker_may_send(inodes->decoder, who)))
		return (struct jit_inode){.is_pending = true};
	if (inodes->nr == JIT_PROBE_MAX_FILES)
		return (struct jit_inode){0};
	rc = begin(inodes, fd, &identity, target, point);
	if (rc)
		log_debug("%s has the GDB JIT interface, not probed", target->path);
	inode = &inodes->items[inodes->nr++];
	*inode = (struct inode){
		.identity = identity,
		.register_off = point->register_off,
		.number = ++inodes->last_number,
		.is_attaching = !rc,
		.is_kept = true,
	};
	if (!rc) {
		inodes->begin_ns = clock_now_ns();
		snprintf(inodes->attach_path, sizeof(inodes->attach_path), "%s",
			 target->path);
	}
	return state_of(inodes, inode);
}

static void settle(struct jit_inodes *inodes, struct inode *inode, int rc)
{
	if (inode->is_removing) {
		*inode = inodes->items[--inodes->nr];
		return;
	}
	inode->is_attaching = false;
	inode->probed_ns = rc ? 0 : clock_now_ns();
	log_debug("%s has the GDB JIT interface, %s", inodes->attach_path,
		  rc ? "not probed" : "probed");
}

bool jit_inodes_settle(struct jit_inodes *inodes, int timeout_ms)
{
	int rc;

	if (!jit_probe_settle(inodes->probe, timeout_ms, &rc))
		return false;
	for (size_t i = 0; i < inodes->nr; i++) {
		struct inode *inode = &inodes->items[i];

		if (!inode->is_attaching && !inode->is_removing)
			continue;
		settle(inodes, inode, rc);
		break;
	}
	return true;
}

void jit_inodes_end(struct jit_inodes *inodes)
{
	jit_inodes_settle(inodes, PENDING_MAX_NS / CLOCK_MS_NS);
	inodes->is_over = true;
}

void jit_inodes_begin_sweep(struct jit_inodes *inodes)
{
	for (size_t i = 0; i < inodes->nr; i++)
		inodes->items[i].is_kept = false;
}

void jit_inodes_keep(struct jit_inodes *inodes, uint64_t number)
{
	for (size_t i = 0; i < inodes->nr; i++)
		inodes->items[i].is_kept |= inodes->items[i].number == number;
}

void jit_inodes_end_sweep(struct jit_inodes *inodes)
{
	size_t nr = 0;

	for (size_t i = 0; i < inodes->nr; i++) {
		const struct inode *inode = &inodes->items[i];

		if (inode->is_kept || inode->is_attaching || inode->is_removing ||
		    inode->probed_ns)
			inodes->items[nr++] = *inode;
	}
	inodes->nr = nr;
}

void jit_inodes_remove_unused(struct jit_inodes *inodes)
{
	struct inode *inode = find_unused(inodes);
	int rc;

	if (!inode || inodes->is_over || jit_probe_is_busy(inodes->probe))
		return;
	inode->is_removing = true;
	inode->probed_ns = 0;
	inodes->begin_ns = clock_now_ns();
	rc = jit_probe_detach(inodes->probe, inode->identity.dev, inode->identity.inode,
			      inode->register_off);
	if (rc)
		settle(inodes, inode, rc);
}
