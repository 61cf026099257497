// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads /proc into the table: once at the start, and for single processes later. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/image.h"
#include "process/table.h"

static bool is_zombie(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

/*
 * Opens the directory of @tgid and reads its stat; when the leader is a zombie, the
 * directory is that of a thread that lives.
 */
static int open_process(struct process_table *t, uint32_t tgid, struct proc_stat *stat)
{
	_cleanup_close_ int dir = proc_dir_open(t->proc_fd, tgid);

	if (dir < 0 || proc_dir_stat(dir, stat))
		return -ESRCH;
	if (!is_zombie(stat))
		return take_fd(&dir);
	return stat->nr_threads > 1 ? proc_dir_open_thread(t->proc_fd, dir, tgid)
				    : -ESRCH;
}

static bool is_ticks_of(const struct image *img, const struct proc_stat *stat)
{
	if (img->start_known)
		return img->proc.start_boottime_ns / PROC_TICK_NS == stat->start_ticks;
	return image_start_fits(img, stat->start_ticks * PROC_TICK_NS);
}

int image_open_dir(struct process_table *t, const struct image *img)
{
	struct proc_stat stat;
	int dir = open_process(t, img->proc.tgid, &stat);

	if (dir >= 0 && !is_ticks_of(img, &stat)) {
		close(dir);
		return -ESRCH;
	}
	return dir;
}

int image_keep_dir(struct process_table *t, struct image *img)
{
	if (img->proc_dir >= 0)
		return img->proc_dir;
	img->proc_dir = image_open_dir(t, img);
	t->nr_dirs += img->proc_dir >= 0;
	return img->proc_dir;
}

void image_forget_dir(struct process_table *t, struct image *img)
{
	if (img->proc_dir < 0)
		return;
	close(img->proc_dir);
	img->proc_dir = -1;
	t->nr_dirs--;
}

struct maps_reading {
	struct process_table *t;
	struct image *img;
};

static int add_read_mapping(void *ctx, const struct mapping *m)
{
	const struct maps_reading *reading = ctx;
	struct image *img = reading->img;
	const struct mapping *known;
	struct mapping add = *m;

	/* maps_add() moves it to the time of the newest entry. */
	if (maps_find(&img->proc.maps, m->start, UINT64_MAX - 1, UINT64_MAX - 1,
		      &known) == MAPS_NONE)
		add.from_ns = 0;
	image_add_mapping(reading->t, img, &add);
	return 0;
}

bool image_read_maps(struct process_table *t, struct image *img, int proc_dir)
{
	struct maps_reading reading = {.t = t, .img = img};
	uint64_t now_ns = clock_now_ns();

	if (proc_dir_maps(proc_dir, t->buf, sizeof(t->buf), now_ns, t->pool,
			  add_read_mapping, &reading) <= 0)
		return false;
	img->read_ns = now_ns;
	img->maps_known = true;
	img->lost_seq = t->lost_seq;
	return true;
}

/* The image of a process as /proc shows it now: known, or new. */
static struct image *image_for(struct process_table *t, uint32_t tgid,
			       const struct proc_stat *stat)
{
	struct image *img = image_newest(t, tgid);
	uint64_t start_ns = stat->start_ticks * PROC_TICK_NS, from_ns = 0;

	if (!img || !is_ticks_of(img, stat)) {
		if (img) {
			from_ns = boottime_to_monotonic(start_ns);
			if (from_ns < img->proc.from_ns)
				from_ns = img->proc.from_ns;
			image_end(img, from_ns);
		}
		img = image_new(t, tgid, from_ns);
		if (!img)
			return NULL;
	}
	if (!img->start_known) {
		img->proc.start_boottime_ns = start_ns;
		img->start_known = true;
	}
	/* An orphan's parent is its reaper, mostly 1, not the process that forked it. */
	if (!img->ppid && stat->ppid > 1)
		img->ppid = stat->ppid;
	memcpy(img->proc.comm, stat->comm, sizeof(img->proc.comm));
	img->proc.is_kernel_thread = stat->is_kernel_thread;
	if (is_zombie(stat)) {
		/* Its exit event will not come again, so it must end here. */
		img->proc.exited = true;
		image_end(img, clock_now_ns());
	}
	return img;
}

struct image *image_from_proc(struct process_table *t, uint32_t tgid,
			      uint64_t start_boottime_ns)
{
	_cleanup_close_ int dir = -1;
	struct proc_stat stat;
	struct image *img;

	dir = open_process(t, tgid, &stat);
	if (dir < 0 || stat.start_ticks != start_boottime_ns / PROC_TICK_NS)
		return NULL;
	img = image_newest(t, tgid);
	/* This process is known, but as later images of itself. */
	if (img && is_ticks_of(img, &stat))
		return NULL;
	img = image_for(t, tgid, &stat);
	if (img && !stat.is_kernel_thread)
		image_read_maps(t, img, dir);
	return img;
}

static void scan_one(struct process_table *t, uint32_t tgid)
{
	_cleanup_close_ int dir = -1;
	struct proc_stat stat;
	struct image *img;

	dir = open_process(t, tgid, &stat);
	if (dir < 0)
		return;
	img = image_for(t, tgid, &stat);
	if (!img)
		return;
	if (stat.is_kernel_thread) {
		img->maps_known = true;
		return;
	}
	image_read_maps(t, img, dir);
	image_read_root(t, img, dir);
	image_read_identity(t, img, dir);
}

struct process *process_table_prepare(struct process_table *t, uint32_t tgid)
{
	struct image *img = image_newest(t, tgid);

	/* A scan of the targets has read it already. */
	if (!img || !img->maps_known) {
		scan_one(t, tgid);
		img = image_newest(t, tgid);
	}
	if (!img || img->proc.exited || img->proc.is_kernel_thread)
		return NULL;
	image_open_files(t, img, clock_now_ns());
	return &img->proc;
}

/* ---- which processes ---- */

static int scan_each(void *ctx, uint32_t tgid, int dir)
{
	(void)dir;
	scan_one(ctx, tgid);
	return 0;
}

static int scan_some(struct process_table *t, const uint32_t *tgids, size_t nr_tgids,
		     struct error *err)
{
	_cleanup_(proc_tree_deinit) struct proc_tree tree = {0};
	int rc = proc_tree_read(t->proc_fd, &tree);

	if (rc)
		return rc;
	for (size_t i = 0; i < nr_tgids; i++)
		if (!proc_tree_mark(&tree, tgids[i]))
			return error_set(err, -ESRCH,
					 "there is no process %u: it has ended, or the "
					 "number is wrong",
					 tgids[i]);
	proc_tree_mark_descendants(&tree);
	for (size_t i = 0; i < tree.nr; i++)
		if (tree.items[i].is_marked)
			scan_one(t, tree.items[i].tgid);
	return 0;
}

int process_table_scan(struct process_table *t, const uint32_t *tgids, size_t nr_tgids,
		       struct error *err)
{
	int rc;

	t->restricted = tgids;
	rc = tgids ? scan_some(t, tgids, nr_tgids, err)
		   : proc_dir_each(t->proc_fd, scan_each, t);
	errno = -rc;
	if (rc && rc != -ESRCH)
		return error_set_exit(err, EXIT_SYSTEM, rc, "cannot list /proc: %m");
	return rc;
}
