// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds user, group and root of an image. lineburn opens files as that user, so it
 * accepts only ids read from this same image, or sent by the kernel with its sample.
 * Nothing is inherited over fork and exec: a job started by a root daemon has dropped its
 * rights by its first instruction, and may be gone by the time that /proc is read.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "process/image.h"
#include "process/table.h"

/* ---- from the kernel side ---- */

void image_use_told_root(struct process_table *t, struct image *img)
{
	struct root *root;

	if (img->root || !img->told_ns)
		return;
	root = roots_find_mount(t->roots, img->told.root_mount, img->told_ns);
	image_set_root(t, img, root);
	roots_put(t->roots, root);
}

static void use_told_ids(const struct process_table *t, struct image *img)
{
	struct process *p = &img->proc;
	bool was_ours = p->in_our_user_ns;

	p->uid = img->told.uid;
	p->gid = img->told.gid;
	if (img->told_ns < img->ids_ns)
		return; /* it may have left our user namespace since */
	p->in_our_user_ns = img->told.user_ns && img->told.user_ns == t->user_ns;
	if (p->in_our_user_ns)
		p->root_uid = 0;
	else if (was_ours)
		p->root_uid = (uid_t)-1;
}

void image_forget_ids(struct process_table *t, struct image *img)
{
	img->proc.uid = img->proc.root_uid = (uid_t)-1;
	img->proc.gid = (gid_t)-1;
	img->proc.in_our_user_ns = false;
	img->ids_from_ns = img->ids_ns = 0;
	image_set_root(t, img, NULL);
	if (img->told_ns)
		use_told_ids(t, img);
	image_use_told_root(t, img);
}

void process_table_told(struct process_table *t, struct process *p,
			const struct lb_ids *ids, uint64_t time_ns)
{
	struct image *img = t->images[p->id];

	if (ids->uid == LB_NO_ID || time_ns < img->told_ns || p->is_kernel_thread)
		return;
	img->told = *ids;
	img->told_ns = time_ns;
	use_told_ids(t, img);
	/* Else it is read while it lives. */
	if (img->was_read)
		image_use_told_root(t, img);
}

struct process *process_table_first_told(struct process_table *t,
					 const struct lb_first_sample *first)
{
	struct process *p = process_table_identify(
		t, first->tgid, first->start_boottime_ns, first->exec_id, first->time_ns);

	if (p)
		process_table_told(t, p, &first->ids, first->time_ns);
	return process_table_first_sample(t, first->tgid, first->start_boottime_ns,
					  first->exec_id, first->time_ns);
}

/* ---- from /proc ---- */

/*
 * In our own user namespace 0 is 0, but its uid_map would show another id where that
 * is not the initial one: a reader inside sees the ids outside.
 */
static bool is_in_our_user_ns(const struct process_table *t, const struct image *img,
			      int proc_dir)
{
	struct stat ns;

	/* It is exiting: the kernel's data stays valid. */
	if (fstatat(proc_dir, "ns/user", &ns, 0))
		return img->proc.in_our_user_ns;
	return t->user_ns && ns.st_ino == t->user_ns;
}

/*
 * Copies ns_tgid, which exec preserves, to older images that could not be read, or seemed
 * to be in their parent's namespace (unshare -p).
 */
static void tell_older(struct process_table *t, const struct image *img)
{
	struct image *older = image_of(t, img->older);

	while (older && img->fork_ns && older->fork_ns == img->fork_ns) {
		older->proc.ns_tgid = img->proc.ns_tgid;
		older = image_of(t, older->older);
	}
}

void image_read_identity(struct process_table *t, struct image *img, int proc_dir)
{
	struct proc_status status;

	if (proc_dir_status(proc_dir, &status))
		return;
	if (!img->told_ns) {
		img->proc.uid = status.uid;
		img->proc.gid = status.gid;
	}
	img->proc.ns_tgid = status.ns_tgid;
	tell_older(t, img);
	/* Without a 0 in its namespace nobody but the target itself is its root. */
	img->proc.in_our_user_ns = is_in_our_user_ns(t, img, proc_dir);
	img->proc.root_uid = img->proc.in_our_user_ns ? 0 : (uid_t)-1;
	if (!img->proc.in_our_user_ns &&
	    proc_dir_root_uid(proc_dir, &img->proc.root_uid) == -ENOENT)
		img->proc.root_uid = status.uid;
	img->ids_ns = clock_now_ns();
}

bool image_read_root(struct process_table *t, struct image *img, int proc_dir)
{
	uint64_t from_ns = clock_now_ns();
	struct root *root = roots_get(t->roots, proc_dir);
	bool is_new = root && root != img->root;

	/* What is known from before may still be right: /proc may be half gone. */
	if (is_new) {
		/* Below another root than it was told with that is another user's file. */
		if (root_mount(root) != img->told.root_mount) {
			img->proc.in_our_user_ns = false;
			img->proc.root_uid = (uid_t)-1;
		}
		image_set_root(t, img, root);
		img->ids_from_ns = from_ns;
		img->ids_ns = clock_now_ns();
	}
	roots_put(t->roots, root);
	return is_new;
}
