// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens the files of a sampled image while it lives. The first sample of a command
 * that lives 10 ms races with its exit, so files that need the live process are
 * opened first.
 */
#include <errno.h>
#include <string.h>

#include "process/jit_file.h"
#include "process/owner.h"
#include "process/image.h"
#include "process/table.h"

/* A target with very many mappings is opened a part at each refresh. */
#define MAX_OPENS_AT_ONCE 1024

static bool wants_file(const struct mapping *m)
{
	return !m->file && (m->kind == MAPPING_FILE || m->kind == MAPPING_MEMFD);
}

struct opening {
	struct process_table *t;
	struct image *img;
	struct file_source source;
	unsigned int nr_left; /* that may be opened this time */
};

/* Return: how many have no file after this. */
static size_t open_all(struct opening *o)
{
	struct maps *maps = &o->img->proc.maps;
	size_t nr_without = 0;

	for (size_t i = 0; i < maps->nr; i++) {
		struct mapping *m = &maps->items[i];

		if (!wants_file(m))
			continue;
		if (o->nr_left) {
			o->nr_left--;
			m->file = file_cache_open(o->t->files, m, &o->source);
			maps->nr_changes += m->file != NULL;
		}
		nr_without += !m->file;
	}
	return nr_without;
}

/* @now is what is there now; the log may know it as a part of something larger. */
static int open_part(void *ctx, const struct mapping *now)
{
	struct opening *o = ctx;
	const struct mapping *found;
	struct mapping *m, named = *now;

	if (maps_find(&o->img->proc.maps, now->start, UINT64_MAX - 1, UINT64_MAX - 1,
		      &found) != MAPS_FOUND)
		return 0;
	m = &o->img->proc.maps.items[found - o->img->proc.maps.items];
	if (!wants_file(m) || m->kind != now->kind ||
	    m->start - m->file_off != now->start - now->file_off)
		return 0;
	named.build_id_len = m->build_id_len;
	memcpy(named.build_id, m->build_id, sizeof(named.build_id));
	m->file = file_cache_open(o->t->files, &named, &o->source);
	o->img->proc.maps.nr_changes++;
	return 0;
}

/*
 * map_files has a name for each mapping as it is now. Since the kernel told of it,
 * a mapping may have been cut (Node takes the right to execute from a page of its
 * code): then the names come from the text of maps.
 * Return: false when some are left for the next time.
 */
static bool open_mapped_files(struct process_table *t, struct image *img, int proc_dir)
{
	struct opening o = {.t = t,
			    .img = img,
			    .source = {.proc_dir = proc_dir,
				       .root = img->root,
				       .no_path = proc_dir >= 0},
			    .nr_left = MAX_OPENS_AT_ONCE};
	size_t nr_without = open_all(&o);

	if (!nr_without)
		return true;
	if (proc_dir >= 0 && o.nr_left)
		proc_dir_maps(proc_dir, t->buf, sizeof(t->buf), 0, t->pool, open_part,
			      &o);
	o.source.no_path = false;
	return !open_all(&o);
}

int process_find_mapped(struct process_table *t, const struct process *p,
			const struct mapping *m, bool *ret_by_path)
{
	const struct image *img = t->images[p->id];
	_cleanup_close_ int dir = img->is_newest ? image_open_dir(t, img) : -1;
	struct file_source source = {.proc_dir = dir, .root = img->root};

	if (dir < 0 || m->until_ns != UINT64_MAX)
		return -ESRCH;
	return file_source_find(&source, m, ret_by_path);
}

/*
 * Checks the JIT's files. After exec the pid, and so their names, belong to the next
 * image: this one keeps its open files, but gets no new ones.
 */
static void look_at_jit_files(struct process_table *t, struct image *img, int proc_dir,
			      uint64_t now_ns)
{
	if (!img->is_newest)
		return;
	if (img->may_have_jit_code)
		perf_map_look(&img->proc, t->pool, &t->budget, now_ns);
	if (img->has_jitdump)
		jitdump_look(&img->proc, proc_dir, &t->budget);
}

/*
 * Opens the files without /proc, as most processes end before a sample: while the image
 * has no sample and all its mapped files are known. Return: false if that does not hold.
 */
static bool open_unread(struct process_table *t, struct image *img)
{
	struct maps *maps = &img->proc.maps;

	if (img->sampled_ns || !img->maps_known || !maps->nr_live ||
	    image_is_stale(t, img) || image_is_ended(img))
		return false;
	for (size_t i = 0; i < maps->nr; i++) {
		struct mapping *m = &maps->items[i];

		if (!wants_file(m))
			continue;
		m->file = file_cache_find(t->files, m);
		if (!m->file)
			return false;
		maps->nr_changes++;
	}
	img->unopened = false;
	return true;
}

static void read_while_alive(struct process_table *t, struct image *img, int proc_dir)
{
	bool stale = image_is_stale(t, img);

	/* After an exec no mapping is known until its events arrive. */
	if (!img->maps_known || !img->proc.maps.nr_live || stale) {
		image_read_maps(t, img, proc_dir);
		t->nr_rereads += stale;
	}
}

/* Return: its directory in /proc, borrowed; -1: it is gone. */
static int open_dir(struct process_table *t, struct image *img)
{
	int dir;

	/*
	 * Threads may live on when the leader has ended: one of them is to be found. And
	 * its end may have been lost.
	 */
	if (image_is_ended(img) || image_is_stale(t, img))
		image_forget_dir(t, img);
	if (img->proc_dir >= 0)
		return img->proc_dir;
	dir = image_keep_dir(t, img);
	if (dir >= 0 && image_read_root(t, img, dir) && img->was_read)
		image_read_identity(t, img, dir);
	return dir < 0 ? -1 : dir;
}

void image_open_files(struct process_table *t, struct image *img, uint64_t now_ns)
{
	bool is_first = !img->was_read;
	bool wants_dir = is_first || img->unopened || image_is_stale(t, img) ||
			 image_is_ended(img) ||
			 (img->has_jitdump && img->proc.jitdump.fd < 0);
	int dir = -1;

	img->proc.opened = true;
	if (img->proc.is_kernel_thread)
		return;
	if (!img->done)
		image_activate(t, img);
	if (open_unread(t, img))
		return;
	if (img->is_newest && wants_dir)
		dir = open_dir(t, img);
	img->was_read = true;
	image_use_told_root(t, img);
	if (dir >= 0)
		read_while_alive(t, img, dir);
	if (img->unopened && open_mapped_files(t, img, dir))
		img->unopened = false;
	if (dir >= 0 && is_first)
		image_read_identity(t, img, dir);
	if (is_first)
		owner_fill(t, img, dir);
	look_at_jit_files(t, img, dir, now_ns);
	if (t->nr_dirs > t->max_dirs)
		image_forget_dir(t, img);
	if (dir >= 0 || (img->is_newest && !wants_dir))
		return;
	/* Its exit event may come later, or was lost. */
	image_end(img, now_ns);
	if (!img->gone_ns)
		img->gone_ns = now_ns;
	img->done = !img->unopened;
}
