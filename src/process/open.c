// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening what a sampled image is made of, while it lives. The first sample of a
 * command that lives 10 ms is a race with its exit, so the order is: what only a
 * living process can give, then what can be had without it.
 */
#include <string.h>

#include "process/jit_file.h"
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

/*
 * After exec the number, and so the names, belong to the next image: what this one
 * has open stays, but nothing new is taken for its own.
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

static void read_while_alive(struct process_table *t, struct image *img, int proc_dir)
{
	bool stale = image_is_stale(t, img);

	image_read_root(t, img, proc_dir);
	/* After an exec whose mappings were not told yet there is none known. */
	if (!img->maps_known || !img->proc.maps.nr_live || stale) {
		image_read_maps(t, img, proc_dir);
		t->nr_rereads += stale;
	}
}

void image_open_files(struct process_table *t, struct image *img, uint64_t now_ns)
{
	_cleanup_close_ int dir = -1;
	bool is_first = !img->proc.opened;
	bool wants_dir = is_first || img->unopened || image_is_stale(t, img) ||
			 image_is_ended(img) ||
			 (img->has_jitdump && img->proc.jitdump.fd < 0);

	img->proc.opened = true;
	if (img->proc.is_kernel_thread)
		return;
	if (img->is_newest && wants_dir)
		dir = image_open_dir(t, img);
	if (dir >= 0)
		read_while_alive(t, img, dir);
	if (img->unopened && open_mapped_files(t, img, dir))
		img->unopened = false;
	if (dir >= 0 && is_first)
		image_read_identity(t, img, dir);
	look_at_jit_files(t, img, dir, now_ns);
	if (dir >= 0 || (img->is_newest && !wants_dir))
		return;
	/* Its exit may be told later, or was lost. */
	image_end(img, now_ns);
	img->done = !img->unopened;
}
