// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two indexes over the files. By mapping: the kernel's data about a mapping (path,
 * build id, or else device and inode), which needs no system call. By identity: the
 * fstat() data of the opened file, so that a file with two names, or seen through two
 * mounts, is one entry. On overlayfs and on btrfs of older kernels /proc/PID/maps shows
 * another device than fstat(), so the two indexes are never compared.
 */
#include "process/file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/quota.h"
#include "base/target_fd.h"
#include "base/vec.h"
#include "process/proc_dir.h"

/* More entries than descriptors: files that could not be opened have an entry, too. */
#define ENTRIES_PER_FD 4
/* Most roots of other processes in which a path is tried. */
#define MAX_OTHER_ROOTS 8
/* Most tenants that are remembered to map a file; others look at it each time. */
#define MAX_USERS 4

/* An entry and its keys. The public part comes first. */
struct cached_file {
	struct target_file file;
	uint32_t major, minor; /* from the mapping */
	uint64_t inode;
	struct root *root; /* referenced */
	struct tenant payer; /* of the entry; the file itself has its own */
	/* Tenants whose mappings were seen to be of this very file. */
	struct tenant users[MAX_USERS];
	size_t nr_users;
	bool is_everybodys; /* root maps it */
	bool is_free; /* given back: its id is in file_cache.free_ids */
};

struct file_cache {
	struct cached_file **items;
	size_t nr, cap;
	uint32_t *free_ids; /* heap */
	size_t nr_free, cap_free;
	struct hashmap by_mapping, by_identity;
	struct roots *roots;
	struct fd_budget *budget;
	struct quota quota; /* of entries */
};

/* Entry 0 stands for all files that did not fit the limit. */
#define OVER_LIMIT 0

/* fstat() data that identifies a file. */
struct file_identity {
	uint64_t dev, inode, size_bytes;
	int64_t mtime_ns;
};

/* Result of a search. */
struct found_file {
	int fd; /* O_PATH, owned; -1 */
	bool by_path; /* not found through map_files: the build id must be verified */
	struct file_identity identity;
};

void file_cache_free(struct file_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nr; i++) {
		struct cached_file *e = c->items[i];

		if (e->file.fd >= 0) {
			target_fd_close(e->file.fd);
			fd_budget_give(c->budget, e->file.tenant);
		}
		roots_put(c->roots, e->root);
		free(e->file.facts);
		free(e);
	}
	quota_deinit(&c->quota);
	free(c->items);
	free(c->free_ids);
	hashmap_deinit(&c->by_mapping);
	hashmap_deinit(&c->by_identity);
	free(c);
}

static uint64_t mapping_hash(const struct mapping *m)
{
	uint64_t hash = hash_bytes(1, m->path, strlen(m->path));

	if (m->build_id_len)
		return hash_bytes(hash, m->build_id, m->build_id_len);
	hash = hash_u64(hash, (uint64_t)m->major << 32 | m->minor);
	return hash_u64(hash, m->inode);
}

static bool same_build_id(const struct target_file *file, const struct mapping *m)
{
	return file->build_id_len == m->build_id_len &&
	       !memcmp(file->build_id, m->build_id, m->build_id_len);
}

static bool is_mapping_of(const struct cached_file *e, const struct mapping *m)
{
	if (strcmp(e->file.path, m->path) != 0)
		return false;
	if (m->build_id_len)
		return same_build_id(&e->file, m);
	return e->major == m->major && e->minor == m->minor && e->inode == m->inode;
}

/*
 * A path and a build id can be forged: a user may mount what he likes in a mount namespace
 * of his own. So they tell a file only to tenants that have mapped that very file, and
 * to everybody if root maps it.
 */
static bool is_trusted_by(const struct file_cache *c, const struct cached_file *e,
			  struct tenant who)
{
	if (e->is_everybodys || !c->quota.max)
		return true;
	for (size_t i = 0; i < e->nr_users; i++)
		if (tenant_is_same(e->users[i], who))
			return true;
	return false;
}

static void add_user(const struct file_cache *c, struct cached_file *e, struct tenant who)
{
	if (tenant_is_same(who, (struct tenant){0}))
		e->is_everybodys = true;
	else if (e->nr_users < MAX_USERS && !is_trusted_by(c, e, who))
		e->users[e->nr_users++] = who;
}

/*
 * The place of a file that was closed is not for a file that only this tenant vouches
 * for, if others were told that it is theirs.
 */
static bool is_closed_to(const struct cached_file *e, struct tenant who)
{
	return e->file.fd < 0 && !tenant_is_same(who, (struct tenant){0}) &&
	       (e->is_everybodys || e->nr_users > 1);
}

struct mapping_key {
	const struct mapping *m;
	struct tenant who;
};

static bool mapping_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct file_cache *c = ctx;
	const struct mapping_key *k = key;

	return is_mapping_of(c->items[item], k->m) &&
	       is_trusted_by(c, c->items[item], k->who) &&
	       !(c->quota.max && is_closed_to(c->items[item], k->who));
}

static bool is_entry(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct file_cache *)ctx)->items[item] == key;
}

static uint64_t identity_hash(const struct file_identity *id)
{
	return hash_bytes(2, id, sizeof(*id));
}

static bool is_identity(const struct target_file *file, const struct file_identity *id)
{
	return file->fd >= 0 && file->dev == id->dev && file->inode == id->inode &&
	       file->mtime_ns == id->mtime_ns && file->size_bytes == id->size_bytes;
}

struct identity_key {
	const struct file_identity *identity;
	const struct mapping *m;
	bool verify;
};

/*
 * A file found by path (verify) is accepted only for the build id that the mapping had.
 * A file that was really mapped matches unless both build ids are known and differ.
 */
static bool identity_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct target_file *file =
		&((const struct file_cache *)ctx)->items[item]->file;
	const struct identity_key *k = key;

	if (!is_identity(file, k->identity))
		return false;
	if (k->verify || file->verify_build_id)
		return same_build_id(file, k->m);
	return !file->build_id_len || !k->m->build_id_len || same_build_id(file, k->m);
}

static struct cached_file *find_identity(const struct file_cache *c,
					 const struct found_file *f,
					 const struct mapping *m)
{
	struct identity_key key = {
		.identity = &f->identity, .m = m, .verify = f->by_path};
	uint32_t item = hashmap_get(&c->by_identity, identity_hash(&f->identity),
				    identity_eq, &key, c);

	return item == HASHMAP_NONE ? NULL : c->items[item];
}

static struct file_identity identity_of(const struct look_facts *facts)
{
	return (struct file_identity){.dev = facts->dev,
				      .inode = facts->inode,
				      .size_bytes = facts->size_bytes,
				      .mtime_ns = facts->mtime_ns};
}

/* Return: 0, or a positive errno; EINVAL if it is not a regular file. */
static int find_mapped(const struct mapping *m, const struct file_source *source,
		       struct found_file *ret)
{
	_cleanup_target_fd_ int fd = -1;
	struct look_facts facts;

	if (source->proc_dir < 0)
		return ESRCH;
	fd = proc_dir_find_mapped(source->proc_dir, source->tenant, m, &facts);
	if (fd < 0)
		return -fd;
	if (!S_ISREG(facts.mode))
		return EINVAL;
	ret->identity = identity_of(&facts);
	ret->fd = take_fd(&fd);
	ret->by_path = false;
	return 0;
}

static int find_in_root(const struct mapping *m, const struct root *root,
			struct tenant who, struct found_file *ret)
{
	struct safe_open how = {.root_fd = root->fd, .path = m->path, .who = who};
	struct look_facts facts;
	_cleanup_target_fd_ int fd = safe_open_find(&how, &facts);
	bool is_same;

	if (fd < 0)
		return -fd;
	ret->identity = identity_of(&facts);
	is_same = m->inode && m->inode == ret->identity.inode &&
		  m->major == major(ret->identity.dev) &&
		  m->minor == minor(ret->identity.dev);
	if (!is_same && !m->build_id_len)
		return ESTALE;
	ret->fd = take_fd(&fd);
	ret->by_path = !is_same;
	return 0;
}

static bool may_have_path(const struct mapping *m)
{
	return !m->deleted && m->kind == MAPPING_FILE && m->path[0] == '/' &&
	       m->path[1] != '/' && (m->build_id_len || m->inode);
}

/* A user's root is no place to look for the files of another. */
static bool may_look_in(const struct file_cache *c, const struct root *root,
			const struct file_source *source)
{
	return root != source->root &&
	       (!c->quota.max || tenant_is_same(root->tenant, (struct tenant){0}) ||
		tenant_is_same(root->tenant, source->tenant));
}

static int find_by_path(struct file_cache *c, const struct mapping *m,
			const struct file_source *source, struct found_file *ret)
{
	struct root *own_root = source->root;
	int why = ENOENT;

	if (!may_have_path(m))
		return ENOENT;
	if (own_root)
		why = find_in_root(m, own_root, source->tenant, ret);
	for (size_t i = 0; why && i < c->roots->nr && i < MAX_OTHER_ROOTS; i++) {
		struct root *root = c->roots->items[i];

		if (may_look_in(c, root, source) &&
		    !find_in_root(m, root, source->tenant, ret))
			why = 0;
	}
	return why;
}

int file_source_find(const struct file_source *source, const struct mapping *m,
		     bool *ret_by_path)
{
	struct found_file f = {.fd = -1};
	int why = find_mapped(m, source, &f);

	if (why && !source->no_path && source->root && may_have_path(m))
		why = find_in_root(m, source->root, source->tenant, &f);
	*ret_by_path = f.by_path;
	return why ? -why : f.fd;
}

/* Returns an unused entry with an id, to be filled in. NULL: no room. */
static struct cached_file *take_entry(struct file_cache *c)
{
	struct cached_file *e;

	if (c->nr_free)
		return c->items[c->free_ids[--c->nr_free]];
	if (vec_grow(&c->items, &c->cap, c->nr + 1, sizeof(*c->items),
		     c->budget->max * ENTRIES_PER_FD + 1) ||
	    vec_grow(&c->free_ids, &c->cap_free, c->nr + 1, sizeof(*c->free_ids), 0))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->file.id = (uint32_t)c->nr;
	c->items[c->nr++] = e;
	return e;
}

static struct cached_file *append(struct file_cache *c, const struct mapping *m,
				  struct tenant who)
{
	struct cached_file *e;

	if (!quota_take(&c->quota, who, 1))
		return NULL;
	e = take_entry(c);
	if (!e) {
		quota_give(&c->quota, who, 1);
		return NULL;
	}
	*e = (struct cached_file){.major = m->major,
				  .payer = who,
				  .minor = m->minor,
				  .inode = m->inode,
				  .file = {.fd = -1,
					   .open_errno = EMFILE,
					   .path = m->path,
					   .build_id_len = m->build_id_len,
					   .id = e->file.id,
					   .use = e->file.use}};
	memcpy(e->file.build_id, m->build_id, sizeof(m->build_id));
	add_user(c, e, who);
	return e;
}

struct file_cache *file_cache_new(struct roots *roots, struct fd_budget *budget)
{
	static const struct mapping nothing = {.path = ""};
	_cleanup_(file_cache_freep) struct file_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->roots = roots;
	c->budget = budget;
	return append(c, &nothing, (struct tenant){0}) ? take_ptr(c) : NULL;
}

/* Without build id and inode a mapping does not identify its file. */
static bool is_named(const struct mapping *m)
{
	return m->build_id_len || m->inode;
}

/* Adds an entry; it replaces @known (may be NULL) in the index. NULL: no room. */
static struct cached_file *add_entry(struct file_cache *c,
				     const struct cached_file *known,
				     const struct mapping *m, struct tenant who)
{
	struct cached_file *e = append(c, m, who);

	if (!e)
		return NULL;
	if (known)
		hashmap_remove(&c->by_mapping, mapping_hash(m), known->file.id);
	/* Out of memory for the index: the file is still found by identity. */
	if (is_named(m))
		hashmap_add(&c->by_mapping, mapping_hash(m), e->file.id);
	return e;
}

static struct target_file *fail(struct file_cache *c, struct cached_file *known,
				const struct mapping *m, struct tenant who, int why)
{
	struct cached_file *e = known ? known : add_entry(c, NULL, m, who);

	if (!e || e->file.fd >= 0)
		return &c->items[OVER_LIMIT]->file;
	e->file.open_errno = why;
	return &e->file;
}

/* Could the file of a process that lives only not be opened yet? */
static bool is_later(const struct file_source *source, int why)
{
	return source->proc_dir >= 0 && file_is_late(why);
}

void file_cache_share(struct file_cache *c)
{
	c->quota = (struct quota){.what = "known files",
				  .loss = "some of its code has no names",
				  .max = c->budget->max * ENTRIES_PER_FD};
}

/*
 * Stores the opened file of @f in @known, or in a new entry if that has a file already.
 * Return: as file_cache_open()
 */
static struct target_file *keep(struct file_cache *c, struct cached_file *known,
				const struct mapping *m, const struct file_source *source,
				const struct found_file *f)
{
	_cleanup_target_fd_ int fd = -1;
	struct cached_file *e = known;

	if (!fd_budget_take(c->budget, source->tenant))
		return fail(c, known, m, source->tenant, EMFILE);
	fd = safe_reopen_any(f->fd, source->tenant);
	if (fd < 0) {
		fd_budget_give(c->budget, source->tenant);
		c->budget->nr_refused += fd == -EMFILE || fd == -ENFILE;
		return is_later(source, -fd) ? NULL
					     : fail(c, known, m, source->tenant, -fd);
	}
	if (!e || e->file.fd >= 0)
		e = add_entry(c, known, m, source->tenant);
	if (!e || hashmap_add(&c->by_identity, identity_hash(&f->identity), e->file.id)) {
		fd_budget_give(c->budget, source->tenant);
		return &c->items[OVER_LIMIT]->file;
	}
	e->file.fd = take_fd(&fd);
	e->file.open_errno = 0;
	e->file.dev = f->identity.dev;
	e->file.inode = f->identity.inode;
	e->file.mtime_ns = f->identity.mtime_ns;
	e->file.size_bytes = f->identity.size_bytes;
	e->file.verify_build_id = f->by_path;
	e->file.tenant = source->tenant;
	e->file.payers = e->is_everybodys ? (struct payers){0}
					  : payers_of_one(source->tenant);
	e->root = root_ref(source->root);
	return &e->file;
}

/* @m maps a file that @e has already opened for another mapping. */
static struct target_file *recognise(struct file_cache *c, struct cached_file *e,
				     const struct cached_file *known,
				     const struct mapping *m, bool by_path,
				     struct tenant who)
{
	e->file.verify_build_id &= by_path;
	payers_add(&e->file.payers, who);
	if (!by_path)
		add_user(c, e, who);
	if (!e->file.build_id_len) {
		memcpy(e->file.build_id, m->build_id, sizeof(m->build_id));
		e->file.build_id_len = m->build_id_len;
	}
	if (!e->inode) {
		e->major = m->major;
		e->minor = m->minor;
		e->inode = m->inode;
	}
	/* Index it, so that the next look-up needs no system call. */
	if (e != known && is_named(m) && is_mapping_of(e, m)) {
		uint64_t hash = mapping_hash(m);

		if (known)
			hashmap_remove(&c->by_mapping, hash, known->file.id);
		if (hashmap_get(&c->by_mapping, hash, is_entry, e, c) == HASHMAP_NONE)
			hashmap_add(&c->by_mapping, hash, e->file.id);
	}
	return &e->file;
}

/* Is the file that @m maps still the one in @e? */
static bool is_current(const struct cached_file *e, const struct mapping *m,
		       const struct file_source *source)
{
	struct found_file f = {.fd = -1};
	int why;

	if (m->build_id_len)
		return !e->file.verify_build_id || source->proc_dir < 0;
	why = find_mapped(m, source, &f);
	target_fd_close(f.fd);
	return why || is_identity(&e->file, &f.identity);
}

static struct cached_file *find_mapping(const struct file_cache *c,
					const struct mapping *m, struct tenant who)
{
	const struct mapping_key key = {m, who};
	uint32_t item = HASHMAP_NONE;

	if (is_named(m))
		item = hashmap_get(&c->by_mapping, mapping_hash(m), mapping_eq, &key, c);
	return item == HASHMAP_NONE ? NULL : c->items[item];
}

struct target_file *file_cache_find(const struct file_cache *c, const struct mapping *m,
				    struct tenant who)
{
	struct cached_file *known = m->build_id_len ? find_mapping(c, m, who) : NULL;

	return known && known->file.fd >= 0 && !known->file.verify_build_id ? &known->file
									    : NULL;
}

static struct target_file *find_or_open(struct file_cache *c, const struct mapping *m,
					const struct file_source *source)
{
	struct found_file f = {.fd = -1};
	struct cached_file *known, *same;
	struct target_file *file;
	int why;

	if (m->kind != MAPPING_FILE && m->kind != MAPPING_MEMFD)
		return NULL;
	known = find_mapping(c, m, source->tenant);
	if (known && known->file.fd >= 0 && is_current(known, m, source))
		return &known->file;
	why = find_mapped(m, source, &f);
	if (why && (source->no_path || is_later(source, why)))
		return NULL;
	if (why)
		why = find_by_path(c, m, source, &f);
	if (why)
		return known && known->file.fd >= 0 ? &known->file
		       : is_later(source, why)      ? NULL
					       : fail(c, known, m, source->tenant, why);
	same = find_identity(c, &f, m);
	file = same ? recognise(c, same, known, m, f.by_path, source->tenant)
		    : keep(c, known, m, source, &f);
	target_fd_close(f.fd);
	return file;
}

struct target_file *file_cache_open(struct file_cache *c, const struct mapping *m,
				    const struct file_source *source)
{
	uint64_t nr_refused = c->budget->nr_refused;
	struct target_file *file = find_or_open(c, m, source);

	/* Count a refusal once: the budget may have counted this one already. */
	if (file == &c->items[OVER_LIMIT]->file && c->budget->nr_refused == nr_refused)
		c->budget->nr_refused++;
	return file;
}

/* Removes the entry from the index by mapping: both its build-id and its inode key. */
static void forget_mappings(struct file_cache *c, const struct cached_file *e)
{
	struct mapping m = {.path = e->file.path,
			    .major = e->major,
			    .minor = e->minor,
			    .inode = e->inode};

	hashmap_remove(&c->by_mapping, mapping_hash(&m), e->file.id);
	m.build_id_len = e->file.build_id_len;
	memcpy(m.build_id, e->file.build_id, sizeof(m.build_id));
	if (m.build_id_len)
		hashmap_remove(&c->by_mapping, mapping_hash(&m), e->file.id);
}

static void close_entry(struct file_cache *c, struct cached_file *e)
{
	struct file_identity identity = {
		.dev = e->file.dev,
		.inode = e->file.inode,
		.size_bytes = e->file.size_bytes,
		.mtime_ns = e->file.mtime_ns,
	};

	hashmap_remove(&c->by_identity, identity_hash(&identity), e->file.id);
	/* Without a build id a later file at this path cannot be verified. */
	if (!e->file.build_id_len)
		forget_mappings(c, e);
	target_fd_close(e->file.fd);
	fd_budget_give(c->budget, e->file.tenant);
	roots_put(c->roots, e->root);
	e->root = NULL;
	e->file.fd = -1;
	e->file.open_errno = ENOENT;
}

void file_cache_close_unused(struct file_cache *c, const bool *is_used)
{
	for (size_t i = OVER_LIMIT + 1; i < c->nr; i++)
		if (c->items[i]->file.fd >= 0 && !is_used[i])
			close_entry(c, c->items[i]);
}

void file_cache_forget_unused(struct file_cache *c, const bool *is_used)
{
	for (size_t i = OVER_LIMIT + 1; i < c->nr; i++) {
		struct cached_file *e = c->items[i];

		if (e->is_free || e->file.fd >= 0 || is_used[i])
			continue;
		forget_mappings(c, e);
		e->is_free = true;
		e->file.use++;
		e->file.path = ""; /* the old path's pool may be freed */
		free(e->file.facts);
		e->file.facts = NULL;
		e->file.inspect_from_ns = 0;
		quota_give(&c->quota, e->payer, 1);
		c->free_ids[c->nr_free++] = e->file.id; /* take_entry() made room */
	}
}

size_t file_cache_in_use(const struct file_cache *c)
{
	return c->nr - c->nr_free;
}

struct quota *file_cache_quota(struct file_cache *c)
{
	return &c->quota;
}

size_t file_cache_count(const struct file_cache *c)
{
	return c->nr;
}

struct target_file *file_cache_at(const struct file_cache *c, size_t id)
{
	return id < c->nr ? &c->items[id]->file : NULL;
}
