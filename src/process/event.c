// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Task events into the table. They were opened before /proc was scanned, so what
 * happened in between is told twice: an event that is not younger than the reading
 * of a process (read_ns, taken just before) is part of what was read, and only adds
 * what /proc does not say: when it began, and build ids.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "process/table.h"

/* A process is listed in /proc a moment before its fork is reported. */
static bool is_told_already(const struct image *img, const struct task_event *ev)
{
	uint64_t start_ns;

	if (ev->time_ns <= img->read_ns)
		return true;
	if (!img->read_ns || !img->start_known || image_is_ended(img) || img->fork_ns)
		return false;
	start_ns = boottime_to_monotonic(img->proc.start_boottime_ns);
	return start_ns <= ev->time_ns && ev->time_ns <= img->read_ns + PROC_TICK_NS &&
	       ev->time_ns - start_ns <= 2 * PROC_TICK_NS;
}

static void apply_fork(struct process_table *t, const struct task_event *ev)
{
	struct image *known = image_newest(t, ev->pid);
	struct image *parent = image_newest(t, ev->ppid);
	struct image *img;

	if (known && is_told_already(known, ev)) {
		known->fork_ns = known->proc.from_ns = ev->time_ns;
		known->ppid = ev->ppid;
		/* What it inherited, /proc did not say; it may have executed another file. */
		known->proc.jit_code.walk_wanted |= parent && parent->proc.jit_code.nr;
		return;
	}
	if (known) {
		image_end(known, ev->time_ns);
		known->proc.exited = true;
	}
	if (t->restricted && !parent)
		return;
	img = image_new(t, ev->pid, ev->time_ns);
	if (!img)
		return;
	img->fork_ns = ev->time_ns;
	img->ppid = ev->ppid;
	if (!parent || parent == img)
		return;
	image_inherit(img, parent);
	image_copy_maps(t, img, parent);
	if (jit_code_copy(&img->proc.jit_code, &parent->proc.jit_code, t->jit_store,
			  ev->time_ns) == -ENOMEM)
		img->proc.jit_code.walk_wanted = true;
	/* In the initial pid namespace both numbers are one; elsewhere /proc tells. */
	if (parent->proc.ns_tgid == parent->proc.tgid)
		img->proc.ns_tgid = ev->pid;
}

/*
 * /proc was read for the first sample of the old image, but by then the process had
 * become the new one: the mappings are the new one's.
 */
static void hand_over_maps(struct image *img, struct image *next)
{
	next->proc.maps = img->proc.maps;
	next->read_ns = img->read_ns;
	next->unopened = true;
	next->may_have_jit_code = img->may_have_jit_code;
	next->has_jitdump = img->has_jitdump;
	img->proc.maps = (struct maps){0};
}

static void apply_exec(struct process_table *t, const struct task_event *ev)
{
	struct image *img = image_newest(t, ev->pid), *next;
	bool read_later = img && ev->time_ns <= img->read_ns;

	if (!img && t->restricted)
		return;
	if (img && (read_later || ev->time_ns < img->proc.from_ns) &&
	    !(img->sampled_ns && img->sampled_ns < ev->time_ns)) {
		img->proc.from_ns = ev->time_ns;
		img->by_exec = true;
		img->maps_known = true;
		if (ev->time_ns >= img->ids_from_ns)
			image_forget_ids(t, img);
		return;
	}
	next = image_new(t, ev->pid, ev->time_ns);
	if (!next)
		return;
	next->by_exec = true;
	next->maps_known = true;
	if (img) {
		/* After the leader's exit: a thread of it, or a fork went unseen. */
		if (!img->proc.exited) {
			next->proc.start_boottime_ns = img->proc.start_boottime_ns;
			next->start_known = img->start_known;
			next->fork_ns = img->fork_ns;
		}
		image_end(img, ev->time_ns);
		image_inherit(next, img);
		if (ev->time_ns <= img->ids_ns)
			image_forget_ids(t, img);
		next->proc.ns_tgid = img->proc.ns_tgid;
		next->ppid = img->ppid;
		if (read_later)
			hand_over_maps(img, next);
	}
	memcpy(next->proc.comm, ev->comm, sizeof(next->proc.comm));
	next->proc.comm[sizeof(next->proc.comm) - 1] = '\0';
}

static void apply_comm(struct process_table *t, const struct task_event *ev)
{
	struct image *img = image_newest(t, ev->pid);

	if (!img || ev->time_ns <= img->read_ns)
		return;
	memcpy(img->proc.comm, ev->comm, sizeof(img->proc.comm));
	img->proc.comm[sizeof(img->proc.comm) - 1] = '\0';
}

static void apply_exit(struct process_table *t, const struct task_event *ev)
{
	struct image *img = image_newest(t, ev->pid);

	/* Read later, it was alive later: that exit was of an earlier process. */
	if (!img || ev->time_ns <= img->read_ns)
		return;
	img->proc.exited = true;
	image_end(img, ev->time_ns);
}

static bool is_known_mapping(const struct image *img, const struct mapping *m)
{
	const struct mapping *known;

	return maps_find(&img->proc.maps, m->start, UINT64_MAX - 1, UINT64_MAX - 1,
			 &known) == MAPS_FOUND &&
	       known->start == m->start && known->end == m->end &&
	       known->file_off == m->file_off && known->path == m->path &&
	       (!known->inode || !m->inode || known->inode == m->inode);
}

static void apply_mmap(struct process_table *t, const struct task_event *ev)
{
	struct image *img = image_newest(t, ev->pid);
	struct mapping m = {
		.start = ev->start,
		.end = ev->end,
		.file_off = ev->file_off,
		.major = ev->major,
		.minor = ev->minor,
		.inode = ev->inode,
		.build_id_len = ev->build_id_len,
		.from_ns = ev->time_ns,
	};

	if (!(ev->prot & PROT_EXEC) || !ev->path || ev->build_id_len > sizeof(m.build_id))
		return;
	if (!img && !t->restricted)
		img = image_new(t, ev->pid, ev->time_ns);
	if (!img)
		return;
	memcpy(m.build_id, ev->build_id, ev->build_id_len);
	mapping_set_path(&m, t->pool, ev->path, strlen(ev->path));
	if (ev->time_ns > img->read_ns || is_known_mapping(img, &m))
		image_add_mapping(t, img, &m);
}

void process_table_event(struct process_table *t, const struct task_event *ev)
{
	switch (ev->kind) {
	case TASK_EVENT_FORK:
		apply_fork(t, ev);
		break;
	case TASK_EVENT_EXEC:
		apply_exec(t, ev);
		break;
	case TASK_EVENT_COMM:
		apply_comm(t, ev);
		break;
	case TASK_EVENT_EXIT:
		apply_exit(t, ev);
		break;
	case TASK_EVENT_MMAP:
		apply_mmap(t, ev);
		break;
	case TASK_EVENT_LOST:
		t->nr_lost_events += ev->nr_lost;
		t->lost_seq++;
		break;
	}
}
