// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of program images.
 *
 * Who is who: events and /proc know a process by its number and by time, samples
 * by (tgid, start time of the leader, exec id), and only samples know the exec id.
 * So the images of one number form a chain, newest first, in which a moment finds
 * its image; the first sample of an image finds it there and gives it its exact
 * name, and from then on it is found by that name alone.
 *
 * An image's time reaches to the next one's beginning, not to the exit of its
 * leader: threads may live on, and are sampled.
 */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/jit_file.h"
#include "process/owner.h"
#include "process/table.h"

#define DEFAULT_MAX_IMAGES   65536
#define DEFAULT_MAX_FILES    8192
#define DEFAULT_MAX_MAPPINGS (2u << 20)
/* Descriptors left for everything else: maps, output; and perf events, 10 per CPU. */
#define RESERVED_FDS         1024
#define RESERVED_FDS_PER_CPU 12
/*
 * Directories of what began since the last drain are some of those: of few a quarter. Where
 * none is left, a process that lives cannot be told from one that is gone.
 */
#define MAX_KEPT_DIRS 256
/* A fork's event comes within this time of the start time that the kernel noted. */
#define FORK_EVENT_SLACK_NS 1000000000ull
/* All of its samples were drained long ago; but a child that is gone may ask whose it was. */
#define EXPIRE_AFTER_NS       3000000000ull
#define MAX_CHECKS_PER_EXPIRE 256

uint64_t boottime_to_monotonic(uint64_t boottime_ns)
{
	uint64_t monotonic_ns = clock_now_ns(), offset_ns;
	struct timespec ts;

	/* Read later, so never less. */
	clock_gettime(CLOCK_BOOTTIME, &ts);
	offset_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec -
		    monotonic_ns;
	return boottime_ns > offset_ns ? boottime_ns - offset_ns : 0;
}

/* Return: how many descriptors may be used for targets. @ret_rest  for everything else */
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

int process_table_new(const struct process_table_config *config, struct strpool *pool,
		      struct process_table **ret, struct error *err)
{
	_cleanup_(process_table_freep) struct process_table *t = calloc(1, sizeof(*t));
	size_t nr_rest;
	struct stat ns;

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->pool = pool;
	cgroup_ids_init(&t->cgroups, config);
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
	if (!stat("/proc/self/ns/user", &ns))
		t->user_ns = ns.st_ino;
	t->roots = roots_new(&t->budget);
	if (t->roots)
		t->files = file_cache_new(t->roots, &t->budget);
	if (!t->files)
		return error_set(err, -ENOMEM, "out of memory");
	t->container_names = owner_container_names(t->proc_fd);
	if (!t->container_names)
		return error_set(err, -ENOMEM, "out of memory");
	if (jit_store_new(config->max_jit_bytes, &t->jit_store))
		return error_set(err, -ENOMEM, "cannot make a memfd for JIT objects");
	if (python_store_new(config->max_python_bytes, &t->python_store))
		return error_set(err, -ENOMEM, "out of memory");
	*ret = take_ptr(t);
	return 0;
}

static void image_free(struct process_table *t, struct image *img)
{
	if (!img)
		return;
	image_forget_dir(t, img);
	t->nr_mappings -= img->proc.maps.nr;
	t->nr_maps_dropped += img->nr_maps_dropped + img->proc.maps.nr_dropped;
	maps_deinit(&img->proc.maps);
	jit_file_deinit(&img->proc.perf_map, &t->budget);
	jit_file_deinit(&img->proc.jitdump, &t->budget);
	t->nr_jit_lost += img->proc.jit_code.nr_lost;
	t->nr_jit_foreign += img->proc.jit_code.nr_foreign;
	jit_code_deinit(&img->proc.jit_code, t->jit_store);
	t->nr_python_lost += img->proc.python_codes.nr_lost;
	python_codes_deinit(&img->proc.python_codes);
	roots_put(t->roots, img->root);
	free(img);
}

void process_table_free(struct process_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_ids; i++)
		image_free(t, t->images[i]);
	jit_store_free(t->jit_store);
	python_store_free(t->python_store);
	file_cache_free(t->files);
	roots_free(t->roots);
	container_names_free(t->container_names);
	cgroup_ids_deinit(&t->cgroups);
	if (t->proc_fd >= 0)
		close(t->proc_fd);
	hashmap_deinit(&t->by_tgid);
	hashmap_deinit(&t->by_identity);
	free(t->images);
	free(t->free_ids);
	free(t->active);
	free(t);
}

/* ---- entries ---- */

static bool tgid_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct process_table *t = ctx;

	return t->images[item]->proc.tgid == *(const uint32_t *)key;
}

struct image *image_newest(struct process_table *t, uint32_t tgid)
{
	return image_of(t,
			hashmap_find(&t->by_tgid, hash_u64(0, tgid), tgid_eq, &tgid, t));
}

static int take_id(struct process_table *t, uint32_t *ret)
{
	if (t->nr_free) {
		*ret = t->free_ids[--t->nr_free];
		return 0;
	}
	if (vec_grow(&t->images, &t->cap_ids, t->nr_ids + 1, sizeof(*t->images),
		     t->max_images) ||
	    vec_grow(&t->free_ids, &t->cap_free, t->nr_ids + 1, sizeof(*t->free_ids),
		     0) ||
	    vec_grow(&t->active, &t->cap_active, t->nr_ids + 1, sizeof(*t->active), 0))
		return -ENOSPC;
	*ret = (uint32_t)t->nr_ids++;
	return 0;
}

struct image *image_new(struct process_table *t, uint32_t tgid, uint64_t from_ns)
{
	struct image *older = image_newest(t, tgid);
	struct image *img = calloc(1, sizeof(*img));
	uint32_t id;

	if (!img || take_id(t, &id)) {
		free(img);
		t->nr_dropped++;
		return NULL;
	}
	if (older)
		hashmap_remove(&t->by_tgid, hash_u64(0, tgid), older->proc.id);
	if (hashmap_add(&t->by_tgid, hash_u64(0, tgid), id)) {
		/* Only possible without @older: a removal makes room. */
		t->free_ids[t->nr_free++] = id;
		free(img);
		t->nr_dropped++;
		return NULL;
	}
	*img = (struct image){.older = older ? older->proc.id : IMAGE_NONE,
			      .is_newest = true,
			      .lost_seq = t->lost_seq,
			      .proc_dir = -1,
			      .proc = {.tgid = tgid,
				       .from_ns = from_ns,
				       .until_ns = UINT64_MAX,
				       .uid = (uid_t)-1,
				       .gid = (gid_t)-1,
				       .root_uid = (uid_t)-1,
				       .root_fd = -1,
				       .id = id}};
	jit_file_init(&img->proc.perf_map);
	jit_file_init(&img->proc.jitdump);
	if (older)
		older->is_newest = false;
	t->images[id] = img;
	return img;
}

void image_activate(struct process_table *t, struct image *img)
{
	if (img->is_active)
		return;
	img->is_active = true;
	t->active[t->nr_active++] = img->proc.id; /* take_id() made room for every id */
}

static void deactivate(struct process_table *t, struct image *img)
{
	size_t i = 0;

	if (!img->is_active)
		return;
	while (t->active[i] != img->proc.id)
		i++;
	t->active[i] = t->active[--t->nr_active];
	img->is_active = false;
}

struct image *image_at(struct process_table *t, uint32_t tgid, uint64_t time_ns)
{
	struct image *img = image_newest(t, tgid);

	while (img && img->proc.from_ns > time_ns)
		img = image_of(t, img->older);
	return img;
}

struct identity {
	uint32_t tgid, exec_id;
	uint64_t start_boottime_ns;
};

static uint64_t identity_hash(const struct identity *id)
{
	return hash_u64(hash_u64(1, id->start_boottime_ns),
			(uint64_t)id->tgid << 32 | id->exec_id);
}

static bool identity_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct process *p =
		&((const struct process_table *)ctx)->images[item]->proc;
	const struct identity *id = key;

	return p->tgid == id->tgid && p->exec_id == id->exec_id &&
	       p->start_boottime_ns == id->start_boottime_ns;
}

struct image *image_identified(struct process_table *t, uint32_t tgid,
			       uint64_t start_boottime_ns, uint32_t exec_id)
{
	struct identity id = {tgid, exec_id, start_boottime_ns};

	return image_of(t, hashmap_find(&t->by_identity, identity_hash(&id), identity_eq,
					&id, t));
}

static void forget_identity(struct process_table *t, struct image *img)
{
	struct identity id = {img->proc.tgid, img->proc.exec_id,
			      img->proc.start_boottime_ns};

	if (img->proc.identified)
		hashmap_remove(&t->by_identity, identity_hash(&id), img->proc.id);
	img->proc.identified = false;
}

void image_identify(struct process_table *t, struct image *img,
		    uint64_t start_boottime_ns, uint32_t exec_id)
{
	struct identity id = {img->proc.tgid, exec_id, start_boottime_ns};

	forget_identity(t, img);
	img->proc.start_boottime_ns = start_boottime_ns;
	img->start_known = true;
	img->proc.exec_id = exec_id;
	/* Without memory for the index it goes on being found by time. */
	img->proc.identified =
		!hashmap_add(&t->by_identity, identity_hash(&id), img->proc.id);
}

bool image_start_fits(const struct image *img, uint64_t start_boottime_ns)
{
	uint64_t start_ns;

	if (img->proc.identified)
		return img->proc.start_boottime_ns == start_boottime_ns;
	if (img->start_known)
		return img->proc.start_boottime_ns / PROC_TICK_NS ==
		       start_boottime_ns / PROC_TICK_NS;
	if (!img->fork_ns)
		return true;
	start_ns = boottime_to_monotonic(start_boottime_ns);
	return start_ns < img->fork_ns + PROC_TICK_NS &&
	       img->fork_ns < start_ns + FORK_EVENT_SLACK_NS;
}

void image_end(struct image *img, uint64_t time_ns)
{
	if (img->proc.until_ns > time_ns)
		img->proc.until_ns = time_ns;
}

void image_set_root(struct process_table *t, struct image *img, struct root *root)
{
	struct root *old = img->root;

	img->root = root_ref(root);
	img->proc.root_fd = root_fd(img->root);
	img->proc.root_id = root_id(img->root);
	roots_put(t->roots, old);
}

void image_inherit(struct image *img, const struct image *from)
{
	img->proc.is_kernel_thread = from->proc.is_kernel_thread;
	img->proc.owner = from->proc.owner;
	if (img->proc.tgid == from->proc.tgid)
		img->proc.owner.exe = NULL;
	memcpy(img->proc.comm, from->proc.comm, sizeof(img->proc.comm));
}

void image_add_mapping(struct process_table *t, struct image *img,
		       const struct mapping *m)
{
	size_t before = img->proc.maps.nr;

	if (t->nr_mappings >= t->max_mappings) {
		img->nr_maps_dropped++;
		return;
	}
	maps_add(&img->proc.maps, m); /* counts what it refuses */
	t->nr_mappings += img->proc.maps.nr - before;
	img->unopened = true;
	t->has_unopened |= img->proc.opened;
	img->may_have_jit_code |= mapping_may_be_jit(m);
	img->has_jitdump |= m->kind == MAPPING_JITDUMP;
}

void image_copy_maps(struct process_table *t, struct image *img, const struct image *from)
{
	size_t nr = from->proc.maps.nr_live;

	if (t->nr_mappings + nr > t->max_mappings ||
	    maps_copy(&img->proc.maps, &from->proc.maps)) {
		img->nr_maps_dropped += nr;
		return;
	}
	t->nr_mappings += nr;
	img->maps_known = from->maps_known;
	img->lost_seq = from->lost_seq;
	img->unopened = true;
	img->may_have_jit_code = from->may_have_jit_code;
	img->has_jitdump = from->has_jitdump;
}

/* ---- samples ---- */

/*
 * A sample of an exec id that is not the image's, though the time fits. The kernel
 * reports exec a moment before it counts it up, so a tick in between has already
 * given the new image the old number, which is one less; else an exec event was lost
 * or is late.
 * Return: the image of this exec id, or NULL.
 */
static struct image *resolve_exec_id(struct process_table *t, struct image *img,
				     uint64_t start_boottime_ns, uint32_t exec_id,
				     uint64_t time_ns)
{
	struct image *older = image_of(t, img->older);
	uint32_t old_id = img->proc.exec_id;
	struct image *next;

	if (exec_id < old_id)
		return NULL;
	if (img->by_exec && !img->is_expected && exec_id == old_id + 1 &&
	    img->sampled_ns < img->proc.from_ns + PROC_TICK_NS) {
		image_identify(t, img, start_boottime_ns, exec_id);
		if (older && !older->proc.identified &&
		    image_start_fits(older, start_boottime_ns))
			image_identify(t, older, start_boottime_ns, old_id);
		return img;
	}
	if (!img->is_newest)
		return NULL;
	next = image_new(t, img->proc.tgid, time_ns);
	if (!next)
		return NULL;
	image_inherit(next, img);
	/* When it executed nobody told: what was read may be of that program. */
	image_forget_ids(t, img);
	next->proc.ns_tgid = img->proc.ns_tgid;
	next->ppid = img->ppid;
	next->fork_ns = img->fork_ns;
	image_end(img, time_ns);
	image_identify(t, next, start_boottime_ns, exec_id);
	return next;
}

/* Finds the image by time and gives it its exact name. */
static struct image *identify(struct process_table *t, uint32_t tgid,
			      uint64_t start_boottime_ns, uint32_t exec_id,
			      uint64_t time_ns)
{
	struct image *img = image_identified(t, tgid, start_boottime_ns, exec_id);

	if (img)
		return img;
	img = image_at(t, tgid, time_ns);
	if (!img || !image_start_fits(img, start_boottime_ns))
		return NULL;
	if (img->proc.identified)
		return resolve_exec_id(t, img, start_boottime_ns, exec_id, time_ns);
	image_identify(t, img, start_boottime_ns, exec_id);
	return img;
}

bool process_table_is_identified(struct process_table *t, uint32_t tgid,
				 uint64_t start_boottime_ns, uint32_t exec_id)
{
	return image_identified(t, tgid, start_boottime_ns, exec_id);
}

static void mark_sampled(struct process_table *t, struct image *img, uint64_t time_ns)
{
	if (!img->sampled_ns)
		img->sampled_ns = time_ns ? time_ns : 1;
	if (!img->done)
		image_activate(t, img);
}

static struct image *identify_or_read(struct process_table *t, uint32_t tgid,
				      uint64_t start_boottime_ns, uint32_t exec_id,
				      uint64_t time_ns)
{
	struct image *img = identify(t, tgid, start_boottime_ns, exec_id, time_ns);

	if (img)
		return img;
	img = image_from_proc(t, tgid, start_boottime_ns);
	if (img)
		image_identify(t, img, start_boottime_ns, exec_id);
	return img;
}

struct process *process_table_identify(struct process_table *t, uint32_t tgid,
				       uint64_t start_boottime_ns, uint32_t exec_id,
				       uint64_t time_ns)
{
	struct image *img =
		identify_or_read(t, tgid, start_boottime_ns, exec_id, time_ns);

	return img ? &img->proc : NULL;
}

struct process *process_table_expect(struct process_table *t, uint32_t tgid,
				     uint64_t start_boottime_ns, uint32_t exec_id,
				     uint64_t time_ns)
{
	struct image *img =
		identify_or_read(t, tgid, start_boottime_ns, exec_id, time_ns);

	if (!img)
		return NULL;
	if (!img->proc.opened)
		image_open_files(t, img, clock_now_ns());
	img->is_expected = true;
	return &img->proc;
}

struct process *process_table_first_sample(struct process_table *t, uint32_t tgid,
					   uint64_t start_boottime_ns, uint32_t exec_id,
					   uint64_t time_ns)
{
	struct image *img =
		identify_or_read(t, tgid, start_boottime_ns, exec_id, time_ns);

	if (!img)
		return NULL;
	mark_sampled(t, img, time_ns);
	if (!img->was_read)
		image_open_files(t, img, clock_now_ns());
	return &img->proc;
}

struct process *process_table_find(struct process_table *t, uint32_t tgid,
				   uint64_t start_boottime_ns, uint32_t exec_id,
				   uint64_t first_ns, uint64_t last_ns)
{
	struct image *img = image_identified(t, tgid, start_boottime_ns, exec_id);

	if (!img) {
		img = image_at(t, tgid, last_ns);
		if (!img || img->proc.identified ||
		    !image_start_fits(img, start_boottime_ns))
			return NULL;
		image_identify(t, img, start_boottime_ns, exec_id);
	}
	mark_sampled(t, img, first_ns);
	if (last_ns > img->last_sample_ns)
		img->last_sample_ns = last_ns;
	if (image_is_stale(t, img) && !img->done)
		image_open_files(t, img, clock_now_ns());
	return &img->proc;
}

/* ---- upkeep ---- */

/* One that ended unseen is looked after again should a sample of it come late. */
static bool stays_active(const struct image *img)
{
	return !img->done && (img->sampled_ns || !image_is_ended(img));
}

void process_table_refresh(struct process_table *t, uint64_t now_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr_active; i++) {
		struct image *img = t->images[t->active[i]];

		/* Asked anew whether it lives. */
		image_forget_dir(t, img);
		if (img->sampled_ns && !img->done)
			image_open_files(t, img, now_ns);
		img->is_active = stays_active(img);
		if (img->is_active)
			t->active[nr++] = img->proc.id;
	}
	t->nr_active = nr;
	owner_refresh(t, now_ns);
}

bool process_table_open_new(struct process_table *t, uint64_t now_ns)
{
	if (!t->has_unopened)
		return false;
	t->has_unopened = false;
	for (size_t i = 0; i < t->nr_active; i++) {
		struct image *img = t->images[t->active[i]];

		if (img->proc.opened && img->unopened && !img->done)
			image_open_files(t, img, now_ns);
	}
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

bool process_is_alive(struct process_table *t, const struct process *p)
{
	const struct image *img = t->images[p->id];
	_cleanup_close_ int dir = img->is_newest ? image_open_dir(t, img) : -1;

	return dir >= 0;
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

int process_add_python_code(struct process_table *t, struct process *p,
			    const struct lb_python_code *record, size_t size_bytes)
{
	if (!p->python_codes.nr)
		process_read_command(t, p);
	return python_codes_add(&p->python_codes, t->python_store, record, size_bytes);
}

struct python_store *process_table_python_store(struct process_table *t)
{
	return t->python_store;
}

void process_table_forget_jit(struct process_table *t, uint64_t before_ns)
{
	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[i];

		if (!img || !img->proc.jit_code.nr)
			continue;
		if (img->proc.until_ns <= before_ns && image_is_gone(t, img, before_ns))
			jit_code_drop(&img->proc.jit_code, t->jit_store);
		else
			jit_code_forget(&img->proc.jit_code, t->jit_store, before_ns);
	}
	jit_store_was_cleaned(t->jit_store);
}

static void forget(struct process_table *t, struct image *img)
{
	uint32_t id = img->proc.id;

	forget_identity(t, img);
	deactivate(t, img);
	image_free(t, img);
	t->images[id] = NULL;
	t->free_ids[t->nr_free++] = id; /* take_id() made room for every id */
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

/* One pass over the chain of a tgid, from its newest image. */
static void expire_chain(struct process_table *t, struct image *newest, uint64_t now_ns)
{
	uint64_t hash = hash_u64(0, newest->proc.tgid);
	struct image *img = newest, *kept = NULL;

	hashmap_remove(&t->by_tgid, hash, newest->proc.id);
	while (img) {
		struct image *older = image_of(t, img->older);

		if (is_expired(img, now_ns)) {
			forget(t, img);
		} else {
			if (kept)
				kept->older = img->proc.id;
			else /* takes the place just freed: cannot fail */
				hashmap_add(&t->by_tgid, hash, img->proc.id);
			img->is_newest = !kept;
			kept = img;
		}
		img = older;
	}
	if (kept)
		kept->older = IMAGE_NONE;
}

/* The exit of this one may have been among the events that were lost. */
static void check_alive(struct process_table *t, struct image *img)
{
	int dir = image_open_dir(t, img);

	if (dir >= 0)
		close(dir);
	else
		image_end(img, clock_now_ns());
}

void process_table_expire(struct process_table *t, uint64_t now_ns)
{
	unsigned int nr_checks = 0;

	for (size_t i = 0; i < t->nr_ids; i++) {
		struct image *img = t->images[i];

		if (!img || !img->is_newest)
			continue;
		if (image_is_stale(t, img) && !img->sampled_ns && !image_is_ended(img) &&
		    img->checked_seq != t->lost_seq &&
		    nr_checks++ < MAX_CHECKS_PER_EXPIRE) {
			img->checked_seq = t->lost_seq;
			check_alive(t, img);
		}
		if (has_expired(t, img, now_ns))
			expire_chain(t, img, now_ns);
	}
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
	struct jit_store_stats jit;
	struct python_store_stats python;

	jit_store_stats(t->jit_store, &jit);
	python_store_stats(t->python_store, &python);
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
		.nr_jit_objects = jit.nr_objects,
		.nr_jit_bytes = jit.nr_bytes,
		.nr_jit_lost = t->nr_jit_lost,
		.nr_jit_foreign = t->nr_jit_foreign,
		.nr_python_bytes = python.nr_bytes,
		.nr_python_lost = t->nr_python_lost,
	};
	for (size_t i = 0; i < t->nr_ids; i++) {
		const struct image *img = t->images[i];

		if (!img)
			continue;
		ret->nr_mappings_dropped += img->nr_maps_dropped +
					    img->proc.maps.nr_dropped;
		ret->nr_jit_lost += img->proc.jit_code.nr_lost;
		ret->nr_jit_foreign += img->proc.jit_code.nr_foreign;
		ret->nr_python_lost += img->proc.python_codes.nr_lost;
	}
}

size_t process_table_nr_files(const struct process_table *t)
{
	return file_cache_count(t->files);
}

struct target_file *process_table_file(struct process_table *t, uint32_t id)
{
	return file_cache_at(t->files, id);
}

int process_open_in_root(const struct process *proc, const char *path,
			 unsigned int safe_open_flags, uint64_t max_bytes)
{
	struct safe_open how = {
		.root_fd = proc->root_fd,
		.path = path,
		.flags = safe_open_flags,
		.uid = proc->uid,
		.gid = proc->gid,
		.root_uid = proc->root_uid,
		.max_bytes = max_bytes,
	};

	return process_may_open(proc) ? safe_open(&how) : -ESRCH;
}
