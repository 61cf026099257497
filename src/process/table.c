// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of program images.
 *
 * Events and /proc identify a process by pid and time, samples by (tgid, start time of
 * the leader, exec id); only samples have the exec id. So the images of one pid form a
 * chain, newest first, which is searched by time. The first sample of an image finds it
 * there and sets its exact identity; later samples find it by that identity alone.
 *
 * An image ends where the next one begins, not at the exit of its leader: other threads
 * may live on and be sampled.
 */
#include "process/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/vec.h"
#include "opener/opener.h"
#include "process/image.h"
#include "process/owner.h"

#define MAX_COMMAND_BYTES 16384

/* As process_read_command(), for whom the pool serves. */
static void read_command(struct process_table *t, struct process *p)
{
	struct image *img = t->images[p->id];
	struct look looks[] = {
		{.what = LOOK_LINK, .name = "cwd", .fd = -1},
		{.what = LOOK_PROC_TEXT,
		 .name = "cmdline",
		 .max_bytes = MAX_COMMAND_BYTES,
		 .fd = -1},
	};
	struct look *cwd = &looks[0], *command = &looks[1];
	_cleanup_close_ int dir = -1;

	if (p->command || !img->is_newest || img->command_tried == t->nr_refreshes)
		return;
	img->command_tried = t->nr_refreshes;
	dir = image_open_dir(t, img);
	if (dir < 0)
		return;
	opener_look(dir, p->tenant, looks, ARRAY_SIZE(looks));
	if (!cwd->rc && *cwd->text == '/')
		p->cwd = strpool_add_n(t->pool, cwd->text, cwd->len);
	/*
	 * The arguments become one string. One with a newline is cut there; paths
	 * rarely have any.
	 */
	for (size_t i = 0; i < command->len; i++)
		if (!command->text[i])
			command->text[i] = '\n';
	if (command->len)
		p->command = strpool_add_n(t->pool, command->text, command->len);
	look_deinit(cwd);
	look_deinit(command);
}

void process_read_command(struct process_table *t, struct process *p)
{
	strpool_serve(t->pool, p->tenant);
	read_command(t, p);
	strpool_serve(t->pool, (struct tenant){0});
}

/* ---- the pool of names ---- */

static void move_name(struct strpool *pool, const char **name)
{
	if (*name)
		*name = strpool_move(pool, *name);
}

static void move_image(struct strpool *pool, struct process *p)
{
	strpool_serve(pool, p->tenant);
	owner_set_pool(&p->owner, pool);
	move_name(pool, &p->perf_map.path);
	move_name(pool, &p->jitdump.path);
	move_name(pool, &p->command);
	move_name(pool, &p->cwd);
	for (size_t i = 0; i < p->maps.nr; i++)
		move_name(pool, &p->maps.items[i].path);
}

void process_table_set_pool(struct process_table *t, struct strpool *pool)
{
	for (size_t i = 0; i < t->nr_ids; i++)
		if (t->images[i])
			move_image(pool, &t->images[i]->proc);
	process_owners_set_pool(t->owners, pool);
	for (size_t i = 0; i < file_cache_count(t->files); i++) {
		struct target_file *f = file_cache_at(t->files, i);

		strpool_serve_any(pool, &f->payers);
		move_name(pool, &f->path);
	}
	strpool_serve(pool, (struct tenant){0});
	t->pool = pool;
}

/*
 * Applies task events to the table. They were opened before /proc was scanned, so
 * changes in between are reported twice. An event that is not newer than read_ns (the
 * time just before /proc was read) is included in what was read. It only adds what
 * /proc lacks: the start of the image, and build ids.
 */

/* Is this fork already known? /proc lists a process a moment before its fork event. */
static bool is_known_fork(const struct image *img, const struct task_event *ev)
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

/* Most images that are asked whose a new one is. */
#define MAX_BEFORE 32

/* Returns its image before its exec, or its parent; NULL: not known. */
static const struct image *image_before(struct process_table *t, const struct image *img)
{
	const struct image *parent;
	uint64_t start_ns;

	if (img->by_exec && img->older != IMAGE_NONE)
		return image_of(t, img->older);
	parent = image_newest(t, img->ppid);
	if (!parent)
		return NULL;
	start_ns = parent->fork_ns ? parent->fork_ns : parent->proc.from_ns;
	/* Another process may have the parent's number by now. */
	return start_ns <= img->fork_ns ? parent : NULL;
}

/*
 * Returns who pays for what @from forks or executes, until it is known. What a program of
 * root's forks is that program still. What it executes may be any user's, and root has no
 * limit.
 *
 * @from  its parent, or its image before an exec; NULL: not known
 */
static struct tenant tenant_after(struct process_table *t, const struct image *from,
				  bool is_exec)
{
	const struct image *known = from;

	if (!from)
		return TENANT_UNKNOWN;
	/* It may be known by now whose those before it are. */
	for (int i = 0; known && image_is_new(known) && i < MAX_BEFORE; i++)
		known = image_before(t, known);
	if (known && !tenant_is_same(known->proc.tenant, (struct tenant){0}))
		return known->proc.tenant;
	return (is_exec && t->is_shared) || known != from ? TENANT_NEW
							  : (struct tenant){0};
}

static void apply_fork(struct process_table *t, const struct task_event *ev)
{
	struct image *known = image_newest(t, ev->pid);
	struct image *parent = image_newest(t, ev->ppid);
	struct image *img;

	if (known && is_known_fork(known, ev)) {
		known->fork_ns = known->proc.from_ns = ev->time_ns;
		known->ppid = ev->ppid;
		/*
		 * /proc does not show inherited JIT code. By now the process may run
		 * another file.
		 */
		known->proc.jit_code.walk_wanted |= parent && parent->proc.jit_code.nr;
		return;
	}
	if (known) {
		image_end(known, ev->time_ns);
		known->proc.exited = true;
	}
	if (t->restricted && !parent)
		return;
	img = image_new(t, ev->pid, ev->time_ns, tenant_after(t, parent, false));
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
	/*
	 * In the initial pid namespace both numbers are equal; otherwise /proc has it.
	 */
	if (parent->proc.ns_tgid == parent->proc.tgid)
		img->proc.ns_tgid = ev->pid;
}

/*
 * /proc was read for the first sample of the old image, but after the exec: the
 * mappings are those of the new image.
 */
static void hand_over_maps(struct process_table *t, struct image *img, struct image *next)
{
	size_t nr = img->proc.maps.nr;

	next->proc.maps = img->proc.maps;
	next->read_ns = img->read_ns;
	next->unopened = true;
	next->may_have_jit_code = img->may_have_jit_code;
	next->has_jitdump = img->has_jitdump;
	img->proc.maps = (struct maps){0};
	image_count_maps(t, img, nr);
	image_count_maps(t, next, 0);
}

static void set_comm(struct image *img, const struct task_event *ev)
{
	memcpy(img->proc.comm, ev->comm, sizeof(img->proc.comm));
	img->proc.comm[sizeof(img->proc.comm) - 1] = '\0';
}

/*
 * Begins what the newest image of a process has executed. Where that was root's, the new one
 * has a place beyond the part of what root's programs execute: without one, all that the
 * program forks would be root's, whoever it runs for. There is one at most for each image of
 * root's, of which a program can make none itself.
 */
static struct image *begin_program(struct process_table *t, const struct image *from,
				   const struct task_event *ev)
{
	struct tenant who = tenant_after(t, from, true);
	bool is_beyond = from && tenant_is_same(from->proc.tenant, (struct tenant){0}) &&
			 !quota_has_room(&t->image_quota, who, 1);
	struct image *img =
		image_new(t, ev->pid, ev->time_ns, is_beyond ? (struct tenant){0} : who);

	if (!img || !is_beyond)
		return img;
	img->proc.tenant = img->payer = who;
	quota_add(&t->image_quota, who, 1);
	return img;
}

/*
 * Takes the image of what was executed before for a program that has no place of its own:
 * its samples would have the names of the wrong one. Only one of which nothing is known.
 */
static void begin_in_place(struct process_table *t, struct image *img,
			   const struct task_event *ev)
{
	size_t nr_maps = img->proc.maps.nr;

	if (!image_is_new(img) || img->sampled_ns || img->proc.identified ||
	    img->proc.exited)
		return;
	maps_deinit(&img->proc.maps);
	image_count_maps(t, img, nr_maps);
	jit_code_deinit(&img->proc.jit_code, t->jit_store);
	img->proc.from_ns = ev->time_ns;
	img->by_exec = img->maps_known = true;
	img->may_have_jit_code = img->has_jitdump = img->unopened = false;
	img->lost_seq = t->lost_seq;
	set_comm(img, ev);
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
	next = begin_program(t, img, ev);
	if (!next && img)
		begin_in_place(t, img, ev);
	if (!next)
		return;
	next->by_exec = true;
	next->maps_known = true;
	if (img) {
		/*
		 * An exec after the leader's exit is by another thread, or a fork event
		 * was lost.
		 */
		if (!img->proc.exited) {
			next->proc.start_boottime_ns = img->proc.start_boottime_ns;
			next->start_known = img->start_known;
			next->fork_ns = img->fork_ns;
		}
		image_end(img, ev->time_ns);
		image_inherit(next, img);
		if (ev->time_ns <= img->ids_ns)
			image_forget_ids(t, img);
		if (read_later)
			hand_over_maps(t, img, next);
	}
	set_comm(next, ev);
}

static void apply_comm(struct process_table *t, const struct task_event *ev)
{
	struct image *img = image_newest(t, ev->pid);

	if (img && ev->time_ns > img->read_ns)
		set_comm(img, ev);
}

static void apply_exit(struct process_table *t, const struct task_event *ev)
{
	struct image *img = image_newest(t, ev->pid);

	/* An exit before /proc was read is that of an earlier process with this pid. */
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

	if (!(ev->prot & PROT_EXEC) || !ev->name || ev->build_id_len > sizeof(m.build_id))
		return;
	if (!img && !t->restricted)
		img = image_new(t, ev->pid, ev->time_ns, TENANT_UNKNOWN);
	if (!img)
		return;
	memcpy(m.build_id, ev->build_id, ev->build_id_len);
	strpool_serve(t->pool, img->proc.tenant);
	mapping_set_path(&m, t->pool, ev->name);
	strpool_serve(t->pool, (struct tenant){0});
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
	case TASK_EVENT_KERNEL_CODE:
	case TASK_EVENT_KERNEL_CODE_END:
		break;
	}
}

/*
 * Frees entries of a live table, so that a run of months needs no more memory than a
 * run of minutes. Descriptors are closed first, when a window's samples are named. Ids
 * and memory are freed when other tables indexed by these ids are reset.
 */

/* No event of a process is pending this long after its exit. */
#define OVER_AFTER_NS 10000000000ull
/* Most in a round whose threads are found alive; one that is gone stays so. */
#define MAX_ALIVE_PER_ROUND 128
/* Longest time for the checks of a round: a process may have many threads that ended. */
#define CHECKS_NS (50 * CLOCK_MS_NS)

/* Returns the id to begin with. */
static size_t begin_round(struct check_round *round)
{
	round->nr_alive = 0;
	round->until_ns = clock_now_ns() + CHECKS_NS;
	return round->from;
}

/**
 * Returns whether no thread of it ran at @time_ns. An image ends with its leader, but
 * threads may outlive the leader, unless exec or another process with this pid
 * followed. Reads /proc, which shows only the present: the first check cannot tell
 * about @time_ns. One that is not checked in this round may run.
 */
static bool image_is_gone(struct process_table *t, struct image *img,
			  struct check_round *round, uint64_t time_ns)
{
	if (!img->is_newest)
		return true;
	if (round->nr_alive == MAX_ALIVE_PER_ROUND || clock_now_ns() >= round->until_ns)
		return false;
	round->from = img->proc.id + 1;
	if (!process_is_gone(t, &img->proc)) {
		round->nr_alive++;
		img->gone_ns = 0;
		return false;
	}
	if (!img->gone_ns)
		img->gone_ns = clock_now_ns();
	return img->gone_ns < time_ns;
}

static bool is_over_now(struct process_table *t, struct image *img, uint64_t now_ns)
{
	return img->sampled_ns && img->last_sample_ns < now_ns && image_is_ended(img) &&
	       img->proc.until_ns + OVER_AFTER_NS < now_ns &&
	       image_is_gone(t, img, &t->trim_round, now_ns);
}

/* Marks the files of mappings that have not ended before @since_ns. */
static void mark_mapped(const struct process *p, uint64_t since_ns, bool *is_used)
{
	for (size_t i = 0; i < p->maps.nr; i++) {
		const struct mapping *m = &p->maps.items[i];

		if (m->file && m->until_ns >= since_ns)
			is_used[m->file->id] = true;
	}
}

/* Returns the time before which all samples of ended mappings have been named. */
static uint64_t over_before(uint64_t now_ns)
{
	return now_ns > OVER_AFTER_NS ? now_ns - OVER_AFTER_NS : 0;
}

void process_table_trim(struct process_table *t, uint64_t now_ns)
{
	_cleanup_free_ bool *is_used =
		calloc(file_cache_count(t->files), sizeof(*is_used));
	size_t from = begin_round(&t->trim_round);

	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[(from + i) % t->nr_ids];

		if (!img)
			continue;
		if (!img->proc.is_over && is_over_now(t, img, now_ns)) {
			img->proc.is_over = true;
			jit_file_deinit(&img->proc.perf_map, &t->budget);
			jit_file_deinit(&img->proc.jitdump, &t->budget);
		}
		if (is_used && !img->proc.is_over)
			mark_mapped(&img->proc, over_before(now_ns), is_used);
	}
	if (is_used)
		file_cache_close_unused(t->files, is_used);
}

void process_table_forget_ended(struct process_table *t, uint64_t now_ns)
{
	_cleanup_free_ bool *is_used =
		calloc(file_cache_count(t->files), sizeof(*is_used));

	process_table_trim(t, now_ns);
	process_owners_forget(t->owners, now_ns);
	for (size_t i = 0; i < t->nr_ids; i++)
		if (t->images[i] && t->images[i]->proc.is_over &&
		    t->images[i]->last_sample_ns < now_ns)
			t->images[i]->sampled_ns = 0;
	process_table_expire(t, now_ns);
	for (size_t i = 0; i < t->nr_ids; i++) {
		struct process *p = process_table_at(t, (uint32_t)i);
		size_t nr = p ? p->maps.nr : 0;

		if (!p)
			continue;
		maps_forget(&p->maps, over_before(now_ns));
		image_count_maps(t, t->images[i], nr);
		if (is_used)
			mark_mapped(p, 0, is_used);
	}
	if (is_used)
		file_cache_forget_unused(t->files, is_used);
}

#define DEFAULT_MAX_IMAGES   65536
#define DEFAULT_MAX_FILES    8192
#define DEFAULT_MAX_MAPPINGS (2u << 20)
/*
 * Descriptors reserved for everything else: maps, output; and perf events, 10 per CPU.
 */
#define RESERVED_FDS         1024
#define RESERVED_FDS_PER_CPU 12
/*
 * Most /proc directories kept open between drains; a quarter of the descriptors where
 * few are allowed. Some descriptors must stay free, because without one a live process
 * looks like an ended one.
 */
#define MAX_KEPT_DIRS 256
/* Keep an ended image this long: an ended child may still need its parent's owner. */
#define EXPIRE_AFTER_NS       3000000000ull
#define MAX_CHECKS_PER_EXPIRE 256

/* Return: how many descriptors targets may use. @ret_rest  left for everything else */
static size_t raise_fd_limit(size_t wanted, size_t *ret_rest)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t reserved = RESERVED_FDS +
			  RESERVED_FDS_PER_CPU * (nr_cpus > 0 ? (size_t)nr_cpus : 1);
	struct rlimit limit;

	*ret_rest = reserved;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return wanted;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = {limit.rlim_max, limit.rlim_max};

		if (!setrlimit(RLIMIT_NOFILE, &raised))
			limit = raised;
	}
	if (limit.rlim_cur >= wanted + reserved)
		return wanted;
	if (limit.rlim_cur >= 2 * reserved)
		return limit.rlim_cur - reserved;
	*ret_rest = limit.rlim_cur - limit.rlim_cur / 2;
	return limit.rlim_cur / 2;
}

/* From now on nobody but root gets more than a quarter of a table. */
static void share(struct process_table *t)
{
	t->budget.quota = (struct quota){.what = "open files",
					 .loss = "some of its code has no names",
					 .max = t->budget.max};
	t->image_quota = (struct quota){.what = "program images",
					.loss = "some of its processes have no names",
					.max = t->max_images};
	t->mapping_quota = (struct quota){.what = "mappings",
					  .loss = "some of its code has no names",
					  .max = t->max_mappings};
	file_cache_share(t->files);
	jit_store_share(t->jit_store);
	interp_store_share(t->interp_store);
	process_owners_share(t->owners);
}

int process_table_new(const struct process_table_config *config, struct strpool *pool,
		      struct process_table **ret, struct error *err)
{
	_cleanup_(process_table_freep) struct process_table *t = calloc(1, sizeof(*t));
	struct statx root;
	size_t nr_rest;
	struct stat ns;

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->pool = pool;
	t->nr_refreshes = 1;
	t->max_images = config->max_processes ? config->max_processes
					      : DEFAULT_MAX_IMAGES;
	t->max_mappings = config->max_mappings ? config->max_mappings
					       : DEFAULT_MAX_MAPPINGS;
	t->budget.max = raise_fd_limit(
		config->max_files ? config->max_files : DEFAULT_MAX_FILES, &nr_rest);
	t->max_dirs = nr_rest / 4 < MAX_KEPT_DIRS ? nr_rest / 4 : MAX_KEPT_DIRS;
	t->proc_fd = open(config->proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd < 0)
		return error_set_exit(err, EXIT_SYSTEM, -errno,
				      "cannot open %s: %m; mount procfs there",
				      config->proc_path);
	t->is_our_proc = !strcmp(config->proc_path, "/proc");
	if (!stat("/proc/self/ns/user", &ns))
		t->user_ns = ns.st_ino;
	if (!statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &root))
		t->machines_root = (struct root_key){
			.dev = makedev(root.stx_dev_major, root.stx_dev_minor),
			.inode = root.stx_ino,
			.mount_id = root.stx_mnt_id};
	t->roots = roots_new(&t->budget);
	if (t->roots)
		t->files = file_cache_new(t->roots, &t->budget);
	if (!t->files)
		return error_set(err, -ENOMEM, "out of memory");
	if (config->cgroup_mounts)
		cgroup_places_open(&t->places, config->cgroup_mounts);
	t->owners = process_owners_new(t->proc_fd, config->cgroups, config->max_cgroups);
	if (!t->owners)
		return error_set(err, -ENOMEM, "out of memory");
	if (jit_store_new(JIT_STORE_DEFAULT_BYTES, &t->jit_store))
		return error_set(err, -ENOMEM, "cannot make a memfd for JIT objects");
	if (interp_store_new(INTERP_STORE_DEFAULT_BYTES, &t->interp_store))
		return error_set(err, -ENOMEM, "out of memory");
	t->is_shared = config->is_shared;
	t->scan_must_end = config->scan_must_end;
	if (t->is_shared)
		share(t);
	if (t->is_shared && config->subuid_path)
		uid_owners_read(&t->uid_owners, config->subuid_path);
	*ret = take_ptr(t);
	return 0;
}

bool process_table_is_shared(const struct process_table *t)
{
	return t->is_shared;
}

void process_table_free(struct process_table *t)
{
	if (!t)
		return;
	ahead_forget(&t->ahead);
	for (size_t i = 0; i < t->nr_ids; i++)
		image_free(t, t->images[i]);
	jit_store_free(t->jit_store);
	interp_store_free(t->interp_store);
	file_cache_free(t->files);
	roots_free(t->roots);
	process_owners_free(t->owners);
	uid_owners_deinit(&t->uid_owners);
	cgroup_places_close(&t->places);
	quota_deinit(&t->budget.quota);
	quota_deinit(&t->image_quota);
	quota_deinit(&t->mapping_quota);
	if (t->proc_fd >= 0)
		close(t->proc_fd);
	hashmap_deinit(&t->by_tgid);
	hashmap_deinit(&t->by_identity);
	free(t->images);
	free(t->free_ids);
	free(t->active);
	free(t);
}

/* ---- reading /proc ---- */

/* Opens files that are not open yet; the first time it also finds the owner. */
static void open_files(struct process_table *t, struct image *img, uint64_t now_ns)
{
	bool is_first = !img->was_read;

	strpool_serve(t->pool, img->proc.tenant);
	/* Its tenant has to be known when a file is opened; its cgroup may not be read. */
	if (is_first && img->sampled_ns && owner_fill_told(t, img))
		image_find_tenant(t, img, NULL);
	image_open_files(t, img, now_ns);
	/* Code that no file has belongs to the program that its command names. */
	if (img->proc.perf_map.fd >= 0 || img->proc.jitdump.fd >= 0)
		read_command(t, &img->proc);
	/* One that cannot be looked at yet has the owner that is known until then. */
	if (is_first && (img->was_read || (img->sampled_ns && !img->proc.owner.exe &&
					   !img->proc.is_kernel_thread))) {
		owner_fill(t, img);
		image_find_tenant(t, img, NULL);
	}
	strpool_serve(t->pool, (struct tenant){0});
	image_forget_view(t);
	if (t->nr_dirs > t->max_dirs)
		image_forget_dir(t, img);
}

struct process *process_table_prepare(struct process_table *t, uint32_t tgid)
{
	struct image *img = image_newest(t, tgid);

	/* Skip this if the scan of the targets has read it already. */
	if (!img || !img->maps_known) {
		image_scan(t, tgid);
		img = image_newest(t, tgid);
	}
	if (!img || img->proc.exited || img->proc.is_kernel_thread)
		return NULL;
	open_files(t, img, clock_now_ns());
	return &img->proc;
}

#define SCAN_ENDED 1 /* for proc_dir_each(): not an error */

/* A process may keep each look at it waiting for a while (opener/opener.h). */
static bool scan_must_end(const struct process_table *t)
{
	return t->scan_must_end && t->scan_must_end();
}

static int scan_each(void *ctx, uint32_t tgid, int dir)
{
	(void)dir;
	if (scan_must_end(ctx))
		return SCAN_ENDED;
	image_scan(ctx, tgid);
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
	/* A target may have started this recording, which is not the target's work. */
	proc_tree_detach(&tree, (uint32_t)getpid());
	proc_tree_mark_descendants(&tree);
	for (size_t i = 0; i < tree.nr && !scan_must_end(t); i++)
		if (tree.items[i].is_marked)
			image_scan(t, tree.items[i].tgid);
	return 0;
}

int process_table_scan(struct process_table *t, const uint32_t *tgids, size_t nr_tgids,
		       struct error *err)
{
	int rc;

	t->restricted = tgids;
	rc = tgids ? scan_some(t, tgids, nr_tgids, err)
		   : proc_dir_each(t->proc_fd, scan_each, t);
	if (rc == SCAN_ENDED)
		return 0;
	/* Who holds /proc, or an opener that was taken over, must not end a recording of all. */
	if (rc < 0 && !tgids && rc != -ENOMEM) {
		log_warning(
			"/proc could not be listed (%s): what runs already is looked at "
			"when it has samples",
			strerror(-rc));
		return 0;
	}
	errno = -rc;
	if (rc && rc != -ESRCH)
		return error_set_exit(err, EXIT_SYSTEM, rc, "cannot list /proc: %m");
	return rc;
}

/* ---- samples ---- */

/*
 * Handles a sample whose exec id differs from that of @img, though the time fits. The
 * kernel reports an exec a moment before it increments the exec id, so a tick in
 * between has given the new image the old id, which is one less. Otherwise an exec
 * event was lost or is late.
 *
 * @told  as identify()'s @who
 * Return: the image of this exec id, or NULL.
 */
static struct image *resolve_exec_id(struct process_table *t, struct image *img,
				     const struct lb_image *id, uint64_t time_ns,
				     struct tenant told)
{
	struct tenant who = tenant_after(t, img, true);
	struct image *older = image_of(t, img->older);
	struct lb_image before = *id;
	struct image *next;

	before.exec_id = img->proc.exec_id;
	if (id->exec_id < before.exec_id)
		return NULL;
	if (img->by_exec && !img->is_expected && !image_is_stale(t, img) &&
	    id->exec_id == before.exec_id + 1 &&
	    img->sampled_ns < img->proc.from_ns + PROC_TICK_NS) {
		if (older && !older->proc.identified &&
		    image_start_fits(older, id->start_boottime_ns))
			image_identify(t, older, &before);
		return img;
	}
	if (!img->is_newest)
		return NULL;
	if (tenant_is_same(who, TENANT_NEW) && !tenant_is_same(told, TENANT_UNKNOWN))
		who = told;
	next = image_new(t, img->proc.tgid, time_ns, who);
	if (!next)
		return NULL;
	image_inherit(next, img);
	/*
	 * The time of the exec is not known: the ids read may be those of the new
	 * program.
	 */
	image_forget_ids(t, img);
	next->fork_ns = img->fork_ns;
	image_end(img, time_ns);
	return next;
}

/*
 * Finds the image by time, or reads it from /proc, and sets its exact identity.
 *
 * @who  pays for one that is not known; TENANT_UNKNOWN: nothing tells
 */
static struct image *identify(struct process_table *t, const struct lb_image *id,
			      uint64_t time_ns, struct tenant who)
{
	struct image *img = image_identified(t, id);

	if (img)
		return img;
	if (image_was_refused(t, id)) {
		t->nr_dropped++;
		return NULL;
	}
	img = image_at(t, id->tgid, time_ns);
	if (img && !image_start_fits(img, id->start_boottime_ns))
		img = NULL;
	/* /proc has no more of a process that is known. */
	if (img && img->proc.identified)
		img = resolve_exec_id(t, img, id, time_ns, who);
	else if (!img)
		img = image_from_proc(t, id, who);
	if (img)
		image_identify(t, img, id);
	return img;
}

const struct process *process_table_identified(struct process_table *t,
					       const struct lb_image *id)
{
	struct image *img = image_identified(t, id);

	return img ? &img->proc : NULL;
}

static void mark_sampled(struct process_table *t, struct image *img, uint64_t time_ns)
{
	if (!img->sampled_ns) {
		img->sampled_ns = time_ns ? time_ns : 1;
		img->look.until_ns = 0;
	}
	if (!img->done)
		image_activate(t, img);
}

struct process *process_table_identify(struct process_table *t, const struct lb_image *id,
				       uint64_t time_ns)
{
	struct image *img = identify(t, id, time_ns, TENANT_UNKNOWN);

	return img ? &img->proc : NULL;
}

struct process *process_table_expect(struct process_table *t, const struct lb_image *id,
				     uint64_t time_ns)
{
	struct image *img = identify(t, id, time_ns, TENANT_UNKNOWN);

	if (!img)
		return NULL;
	/* If it has ended, its files are opened at its first sample, if it has one. */
	if (!img->proc.opened && !image_is_ended(img))
		open_files(t, img, clock_now_ns());
	if (!img->is_kept && image_drop_refused(t, img))
		return NULL;
	img->is_expected = true;
	return &img->proc;
}

struct process *process_table_first_sample(struct process_table *t,
					   const struct lb_image *id, uint64_t time_ns)
{
	struct image *img = identify(t, id, time_ns, TENANT_UNKNOWN);

	if (!img)
		return NULL;
	mark_sampled(t, img, time_ns);
	if (!img->was_read)
		open_files(t, img, clock_now_ns());
	if (!img->is_kept && image_drop_refused(t, img))
		return NULL;
	img->is_kept = true;
	return &img->proc;
}

struct process *process_table_find(struct process_table *t, const struct lb_image *id,
				   uint64_t first_ns, uint64_t last_ns)
{
	struct image *img = image_identified(t, id);

	if (!img) {
		img = image_at(t, id->tgid, last_ns);
		if (!img || img->proc.identified ||
		    !image_start_fits(img, id->start_boottime_ns))
			return NULL;
		image_identify(t, img, id);
	}
	mark_sampled(t, img, first_ns);
	img->is_kept = true;
	if (last_ns > img->last_sample_ns)
		img->last_sample_ns = last_ns;
	if (image_is_stale(t, img) && !img->done)
		open_files(t, img, clock_now_ns());
	return &img->proc;
}

bool process_table_announce(struct process_table *t, const struct lb_first_sample *first)
{
	struct lb_image id = {first->start_boottime_ns, first->tgid, first->exec_id};
	const struct image *img = image_identified(t, &id);
	struct tenant who, known = TENANT_UNKNOWN;
	unsigned int parts;

	_Static_assert(LB_NO_ID == TENANT_UNKNOWN_UID, "a user who is not known");
	image_tell_parent(t, &first->ids, first->time_ns);
	if (!img)
		img = image_newest(t, first->tgid);
	else if (img->was_read)
		return true;
	if (img && img->proc.is_kernel_thread)
		return true;
	/* Users of a container are not those outside, and who runs as root may be any. */
	if (img && !image_is_new(img))
		known = img->proc.tenant;
	who = !first->ids.uid || known.container
		      ? known
		      : process_table_tenant(t, first->ids.uid, NULL);
	parts = image_first_parts(t, img, &first->ids, first->time_ns);
	return !parts || ahead_want(&t->ahead, t->proc_fd, first->tgid, who, parts);
}

void process_table_read_announced(struct process_table *t)
{
	ahead_read(&t->ahead);
}

void process_table_forget_announced(struct process_table *t)
{
	ahead_forget(&t->ahead);
}

struct process *process_table_first_told(struct process_table *t,
					 const struct lb_first_sample *first)
{
	struct lb_image id = {first->start_boottime_ns, first->tgid, first->exec_id};
	/* Who runs as root is found by the look: nobody's account keeps root's from it. */
	struct tenant who = first->ids.uid ? process_table_tenant(t, first->ids.uid, NULL)
					   : (struct tenant){0};
	struct image *img = identify(t, &id, first->time_ns, who);

	if (!img)
		return NULL;
	image_tell_ids(t, img, &first->ids, first->time_ns);
	if (first->ids.uid && !img->is_kept && image_drop_refused(t, img))
		return NULL;
	return process_table_first_sample(t, &id, first->time_ns);
}

struct tenant process_table_tenant(void *ctx, uint32_t uid, const struct look *cgroup)
{
	const struct process p = {.uid = uid, .real_uid = uid, .tenant = TENANT_UNKNOWN};

	return image_tenant(ctx, &p, cgroup);
}

/* ---- maintenance ---- */

/*
 * An image without samples is no longer tracked after its end. A late sample activates
 * it again.
 */
static bool stays_active(const struct image *img)
{
	return !img->done && (img->sampled_ns || !image_is_ended(img));
}

static void fill_late(struct process_table *t, struct image *img)
{
	strpool_serve(t->pool, img->proc.tenant);
	owner_fill_late(t, img);
	image_find_tenant(t, img, NULL);
	strpool_serve(t->pool, (struct tenant){0});
}

/* Longest time for the files of all images at once: the rest, and slow ones, wait. */
#define ALL_OPENS_NS (200 * CLOCK_MS_NS)

/* One image at least. The next time begins where this one ended. */
static void open_some(struct process_table *t, bool only_new, uint64_t now_ns)
{
	uint64_t until_ns = clock_now_ns() + ALL_OPENS_NS;
	size_t nr = t->nr_active, from = t->opens_from, nr_opened = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t at = (from + i) % nr;
		struct image *img = t->images[t->active[at]];

		if (img->done || !(only_new ? img->proc.opened && img->unopened
					    : img->sampled_ns != 0))
			continue;
		if (nr_opened++ && clock_now_ns() >= until_ns) {
			t->opens_from = at;
			t->has_unopened = true;
			return;
		}
		open_files(t, img, now_ns);
	}
}

void process_table_refresh(struct process_table *t, uint64_t now_ns)
{
	size_t nr = 0;

	t->nr_refreshes++;
	uid_owners_refresh(&t->uid_owners);
	memset(t->refused, 0, sizeof(t->refused));
	/* Reopened at the next use, which checks again whether the process lives. */
	for (size_t i = 0; i < t->nr_active; i++)
		image_forget_dir(t, t->images[t->active[i]]);
	open_some(t, false, now_ns);
	for (size_t i = 0; i < t->nr_active; i++) {
		struct image *img = t->images[t->active[i]];

		if (img->owner_waits)
			fill_late(t, img);
		img->is_active = stays_active(img);
		if (img->is_active)
			t->active[nr++] = img->proc.id;
	}
	t->nr_active = nr;
	process_owners_refresh(t, now_ns);
}

bool process_table_open_new(struct process_table *t, uint64_t now_ns)
{
	if (!t->has_unopened)
		return false;
	t->has_unopened = false;
	open_some(t, true, now_ns);
	return true;
}

size_t process_table_nr_active(const struct process_table *t)
{
	return t->nr_active;
}

struct process *process_table_active(struct process_table *t, size_t i)
{
	return &t->images[t->active[i]]->proc;
}

/* Return: O_PATH; -ESRCH: it is gone; another negative errno: it may be there. */
static int open_newest(struct process_table *t, const struct process *p)
{
	const struct image *img = t->images[p->id];

	return img->is_newest ? image_open_dir(t, img) : -ESRCH;
}

bool process_is_alive(struct process_table *t, const struct process *p)
{
	_cleanup_close_ int dir = open_newest(t, p);

	return dir >= 0;
}

bool process_is_gone(struct process_table *t, const struct process *p)
{
	_cleanup_close_ int dir = open_newest(t, p);

	return dir == -ESRCH;
}

int process_find_mapped(struct process_table *t, const struct process *p,
			const struct mapping *m, bool *ret_by_path)
{
	const struct image *img = t->images[p->id];
	_cleanup_close_ int dir = open_newest(t, p);
	struct file_source source = {
		.proc_dir = dir, .root = img->root, .tenant = img->proc.tenant};

	if (dir < 0 || m->until_ns != UINT64_MAX)
		return dir < 0 ? dir : -ESRCH;
	if (!opener_has_time(p->tenant))
		return -EBUSY;
	return file_source_find(&source, m, ret_by_path);
}

bool process_is_sampled(const struct process_table *t, const struct process *p)
{
	return t->images[p->id]->sampled_ns;
}

struct process *process_table_newest(struct process_table *t, uint32_t tgid)
{
	struct image *img = image_newest(t, tgid);

	return img ? &img->proc : NULL;
}

struct jit_store *process_table_jit_store(struct process_table *t)
{
	return t->jit_store;
}

int process_add_interp_code(struct process_table *t, struct process *p,
			    const struct lb_interp_code *record, size_t size_bytes)
{
	if (!p->interp_codes.nr) {
		interp_codes_charge(&p->interp_codes, p->tenant);
		process_read_command(t, p);
	}
	return interp_codes_add(&p->interp_codes, t->interp_store, record, size_bytes);
}

void process_table_forget_jit(struct process_table *t, uint64_t before_ns)
{
	size_t from = begin_round(&t->jit_round);

	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[(from + i) % t->nr_ids];

		if (!img)
			continue;
		replaced_code_forget(&img->proc.replaced_code, before_ns);
		if (!img->proc.jit_code.nr)
			continue;
		if (img->proc.until_ns <= before_ns &&
		    image_is_gone(t, img, &t->jit_round, before_ns))
			jit_code_drop(&img->proc.jit_code, t->jit_store);
		else
			jit_code_forget(&img->proc.jit_code, t->jit_store, before_ns);
	}
	jit_store_was_cleaned(t->jit_store);
}

static bool is_expired(const struct image *img, uint64_t now_ns)
{
	return !img->sampled_ns && image_is_ended(img) &&
	       img->proc.until_ns + EXPIRE_AFTER_NS < now_ns;
}

static bool has_expired(struct process_table *t, const struct image *newest,
			uint64_t now_ns)
{
	const struct image *img = newest;

	while (img && !is_expired(img, now_ns))
		img = image_of(t, img->older);
	return img;
}

/* Frees the expired images of a tgid; @newest begins its chain. */
static void expire_chain(struct process_table *t, struct image *newest, uint64_t now_ns)
{
	uint64_t hash = hash_u64(0, newest->proc.tgid);
	struct image *img = newest, *kept = NULL;

	hashmap_remove(&t->by_tgid, hash, newest->proc.id);
	while (img) {
		struct image *older = image_of(t, img->older);

		if (is_expired(img, now_ns)) {
			image_forget(t, img);
		} else {
			if (kept)
				kept->older = img->proc.id;
			else /* cannot fail: a slot was just freed */
				hashmap_add(&t->by_tgid, hash, img->proc.id);
			img->is_newest = !kept;
			kept = img;
		}
		img = older;
	}
	if (kept)
		kept->older = IMAGE_NONE;
}

/* What runs for a shorter time is mostly gone before a look. */
#define LOOK_AFTER_NS CLOCK_SECOND_NS

/*
 * Processes that root's programs started, and that sleep so that no sample tells whose they
 * are, are looked at before they use up their part: then a user's are on his account.
 */
static void look_at_new(struct process_table *t, uint64_t now_ns)
{
	size_t from = begin_round(&t->new_round);

	if (!quota_is_half_used(&t->image_quota, TENANT_NEW) &&
	    !quota_is_half_used(&t->mapping_quota, TENANT_NEW))
		return;
	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[(from + i) % t->nr_ids];

		if (!img || !image_is_new(img) || !img->is_newest || img->sampled_ns ||
		    image_is_ended(img) || img->proc.from_ns + LOOK_AFTER_NS > now_ns)
			continue;
		if (clock_now_ns() >= t->new_round.until_ns)
			return;
		t->new_round.from = img->proc.id + 1;
		image_look(t, img);
	}
}

void process_table_expire(struct process_table *t, uint64_t now_ns)
{
	uint64_t until_ns = clock_now_ns() + CHECKS_NS;
	unsigned int nr_checks = 0;

	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[i];

		if (!img || !img->is_newest)
			continue;
		if (image_is_stale(t, img) && !img->sampled_ns && !image_is_ended(img) &&
		    img->checked_seq != t->lost_seq &&
		    nr_checks++ < MAX_CHECKS_PER_EXPIRE && clock_now_ns() < until_ns) {
			img->checked_seq = t->lost_seq;
			/* Its exit event may have been lost. */
			if (process_is_gone(t, &img->proc))
				image_end(img, clock_now_ns());
		}
		if (has_expired(t, img, now_ns))
			expire_chain(t, img, now_ns);
	}
	look_at_new(t, now_ns);
}

size_t process_table_nr_ids(const struct process_table *t)
{
	return t->nr_ids;
}

struct process *process_table_at(struct process_table *t, uint32_t id)
{
	return id < t->nr_ids && t->images[id] ? &t->images[id]->proc : NULL;
}

void process_table_stats(const struct process_table *t, struct process_table_stats *ret)
{
	*ret = (struct process_table_stats){
		.nr_processes = t->nr_ids - t->nr_free,
		.nr_dropped = t->nr_dropped,
		.nr_lost_events = t->nr_lost_events,
		.nr_rereads = t->nr_rereads,
		.nr_files_open = t->budget.nr_open,
		.nr_files_known = file_cache_in_use(t->files),
		.nr_files_dropped = t->budget.nr_refused,
		.nr_mappings = t->nr_mappings,
		.nr_mappings_dropped = t->nr_maps_dropped,
		.nr_jit_objects = t->jit_store->stats.nr_objects,
		.nr_jit_bytes = t->jit_store->stats.nr_bytes,
		.nr_jit_lost = t->nr_jit_lost,
		.nr_jit_foreign = t->nr_jit_foreign,
		.nr_interp_codes_lost = t->nr_interp_codes_lost,
	};
	for (size_t i = 0; i < t->nr_ids; i++) {
		const struct image *img = t->images[i];

		if (!img)
			continue;
		ret->nr_mappings_dropped += img->nr_maps_dropped +
					    img->proc.maps.nr_dropped;
		ret->nr_jit_lost += img->proc.jit_code.nr_lost;
		ret->nr_jit_foreign += img->proc.jit_code.nr_foreign;
		ret->nr_interp_codes_lost += img->proc.interp_codes.nr_lost;
	}
}

struct target_file *process_table_file(struct process_table *t, uint32_t id)
{
	return file_cache_at(t->files, id);
}

const struct process_owner *process_table_container(const struct process_table *t,
						    uint64_t container)
{
	for (size_t i = 0; i < t->nr_ids; i++) {
		const struct process *p = t->images[i] ? &t->images[i]->proc : NULL;

		if (p && p->tenant.container == container && p->owner.container &&
		    *p->owner.container)
			return &p->owner;
	}
	return NULL;
}

void process_table_each_refused(struct process_table *t, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&t->budget.quota, fn, ctx);
	quota_each_refused(file_cache_quota(t->files), fn, ctx);
	quota_each_refused(&t->image_quota, fn, ctx);
	quota_each_refused(&t->mapping_quota, fn, ctx);
	quota_each_refused(&t->jit_store->quota, fn, ctx);
	quota_each_refused(&t->jit_store->registration_quota, fn, ctx);
	quota_each_refused(&t->interp_store->quota, fn, ctx);
	quota_each_refused(process_owners_quota(t->owners), fn, ctx);
}

const struct process_owner *process_table_cgroup(struct process_table *t, uint64_t id,
						 uint64_t time_ns)
{
	return process_owners_find(t, id, time_ns);
}
