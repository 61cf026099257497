// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/source_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/source.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/target_fd.h"
#include "base/vec.h"

enum content_state {
	CONTENT_UNSEEN,
	CONTENT_ABSENT, /* or cannot be opened */
	CONTENT_SEEN,
	CONTENT_HASHED,
};

struct file_content {
	enum content_state state;
	uint64_t dev, inode, size;
	uint8_t sha256[32];
};

struct source_name {
	const char *path; /* interned */
	const char *name; /* path, or an alias of it */
	const struct object *object; /* the first object with its code */
	const struct process *user; /* a process that can open it, in this root of its */
	uint64_t root_id;
	struct file_content content;
	bool is_joined; /* it is that of several roots, as the content told */
	struct tenant payer; /* of its place */
	uint32_t next; /* next file with this path; HASHMAP_NONE */
};

void source_names_init(struct source_names *files, struct profile *profile,
		       bool is_shared)
{
	static const char apart[] = "equal files of it may be listed apart";

	*files = (struct source_names){
		.profile = profile,
		.is_shared = is_shared,
		.looks_left = SOURCE_NAMES_MAX_LOOKS,
		.bytes_left = SOURCE_NAMES_MAX_BYTES,
		.looks = {.what = "checks of source files", .loss = apart},
		.bytes = {.what = "bytes read to compare source files", .loss = apart},
		.places = {.what = "further source files at one path",
			   .loss = "some of its source files have no text"},
	};
	if (!is_shared)
		return;
	files->looks.max = SOURCE_NAMES_MAX_LOOKS;
	files->bytes.max = SOURCE_NAMES_MAX_BYTES;
	files->places.max = PROFILE_MAX_NAMESAKES;
}

void source_names_deinit(struct source_names *files)
{
	free(files->items);
	hashmap_deinit(&files->index);
	quota_deinit(&files->looks);
	quota_deinit(&files->bytes);
	quota_deinit(&files->places);
	*files = (struct source_names){0};
}

void source_names_serve(struct source_names *files, struct tenant who)
{
	files->who = who;
}

void source_names_each_refused(struct source_names *files, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&files->looks, fn, ctx);
	quota_each_refused(&files->bytes, fn, ctx);
	quota_each_refused(&files->places, fn, ctx);
}

/* ---- the index ---- */

enum key_kind {
	KEY_PATH,
	KEY_OBJECT,
	KEY_ROOT,
	KEY_REFUSED /* an object, to a tenant */
};

static uint64_t key_of(const char *path, enum key_kind kind, uint64_t number)
{
	return hash_u64(hash_pointer(kind, path), number);
}

static uint32_t find(const struct source_names *files, uint64_t key)
{
	return hashmap_get(&files->index, key, NULL, NULL, NULL);
}

/* Out of memory: the file is determined again the next time. */
static void remember(struct source_names *files, uint64_t key, uint32_t item)
{
	if (find(files, key) == HASHMAP_NONE)
		hashmap_add(&files->index, key, item);
}

/* ---- comparing files ---- */

static bool take(struct source_names *files, struct quota *q, uint64_t *left, uint64_t nr)
{
	bool has_room = nr <= *left && quota_take(q, files->who, nr);

	if (has_room)
		*left -= nr;
	files->was_refused |= !has_room;
	return has_room;
}

/*
 * May the file be opened now? Not of a tenant whose files were slow; without tenants, which
 * share the opener's time, there is a time for all.
 */
static bool has_time(const struct source_names *files, const struct source_name *file)
{
	return (files->is_shared || files->took_ns < SOURCE_NAMES_MAX_NS) &&
	       process_has_time(file->user);
}

static bool may_compare(struct source_names *files, const struct source_name *file)
{
	bool may = has_time(files, file);

	files->was_refused |= !may;
	return may;
}

static int open_file(struct source_names *files, const struct source_name *file,
		     struct look_facts *ret)
{
	uint64_t begin_ns = clock_now_ns();
	int fd = process_open_in_root(file->user, file->root_id, file->path,
				      SOURCE_MAX_FILE_BYTES, ret);

	files->took_ns += clock_now_ns() - begin_ns;
	return fd;
}

static int read_file(struct source_names *files, const struct source_name *file,
		     uint64_t max, char **ret, size_t *ret_len,
		     struct look_facts *ret_facts)
{
	uint64_t begin_ns = clock_now_ns();
	int rc = process_read_in_root(file->user, file->root_id, file->path, max, ret,
				      ret_len, ret_facts);

	files->took_ns += clock_now_ns() - begin_ns;
	return rc;
}

/* Return: false: it was not looked at. */
static bool look(struct source_names *files, struct source_name *file)
{
	struct file_content *content = &file->content;
	_cleanup_target_fd_ int fd = -1;
	struct look_facts facts;

	if (content->state != CONTENT_UNSEEN)
		return true;
	if (!may_compare(files, file) ||
	    !take(files, &files->looks, &files->looks_left, 1))
		return false;
	content->state = CONTENT_ABSENT;
	fd = open_file(files, file, &facts);
	if (fd >= 0)
		*content = (struct file_content){.state = CONTENT_SEEN,
						 .dev = facts.dev,
						 .inode = facts.inode,
						 .size = facts.size_bytes};
	return true;
}

static bool read_hash(struct source_names *files, struct source_name *file)
{
	struct file_content *content = &file->content;
	uint64_t max = content->size + 1; /* has it grown? */
	_cleanup_free_ char *text = NULL;
	struct look_facts facts;
	size_t len;

	if (content->state == CONTENT_HASHED)
		return true;
	if (!may_compare(files, file) ||
	    !take(files, &files->bytes, &files->bytes_left, max))
		return false;
	if (read_file(files, file, max, &text, &len, &facts) || len != content->size)
		return false;
	source_hash(text, len, content->sha256);
	content->state = CONTENT_HASHED;
	return true;
}

/* May these be different builds of one program? */
static bool is_other_build(const struct object *a, const struct object *b)
{
	a = object_first(a);
	b = object_first(b);
	if (a == b || a->kind != OBJECT_FILE || b->kind != OBJECT_FILE)
		return false;
	return !a->build_id_len || a->build_id_len != b->build_id_len ||
	       memcmp(a->build_id, b->build_id, a->build_id_len);
}

/*
 * What cannot be compared is not the same: nobody's text may stand for code of others.
 * @added  was looked at
 */
static bool is_same(struct source_names *files, struct source_name *known,
		    struct source_name *added)
{
	const struct file_content *a = &known->content, *b = &added->content;
	bool is_other = is_other_build(known->object, added->object);

	if (!look(files, known))
		return false;
	/*
	 * Must not show one file's text for code built from another. If neither file
	 * exists, this matters only for two builds of one program. A stranger may forge
	 * a build.
	 */
	if (a->state == CONTENT_ABSENT && b->state == CONTENT_ABSENT)
		return strcmp(known->object->name, added->object->name) || !is_other;
	if (a->state == CONTENT_ABSENT || b->state == CONTENT_ABSENT)
		return !is_other && !files->is_shared;
	if (a->dev == b->dev && a->inode == b->inode)
		return true;
	return a->size == b->size && read_hash(files, known) && read_hash(files, added) &&
	       !memcmp(a->sha256, b->sha256, sizeof(a->sha256));
}

/* ---- names ---- */

static uint32_t add(struct source_names *files, const struct source_name *file)
{
	if (vec_grow(&files->items, &files->cap, files->nr + 1, sizeof(*files->items),
		     HASHMAP_NONE - 1))
		/* the listing reports that this source is missing */
		return HASHMAP_NONE;
	files->items[files->nr] = *file;
	return (uint32_t)files->nr++;
}

/*
 * Takes the name of a further file. @nr_known files have the path, @nr_own of them are
 * paid by who pays for this one. Return: NULL: there is none left.
 */
static const char *take_name(struct source_names *files, const char *path,
			     size_t nr_known, size_t nr_own)
{
	const char *name;

	if (nr_own >= SOURCE_NAMES_MAX_OF_A_PATH / 4 &&
	    quota_refuse(&files->places, files->who, 1))
		return NULL;
	if (nr_known >= SOURCE_NAMES_MAX_OF_A_PATH ||
	    !quota_take(&files->places, files->who, 1))
		return NULL;
	name = profile_add_namesake(files->profile, path);
	if (name != path)
		return name;
	quota_give(&files->places, files->who, 1);
	return NULL;
}

/*
 * Decides which file a path means in a root where it is seen for the first time.
 * HASHMAP_NONE: there is no room for it.
 */
static uint32_t decide(struct source_names *files, const char *path,
		       const struct object *object, const struct process *user)
{
	struct source_name added = {.path = path,
				    .name = path,
				    .object = object,
				    .user = user,
				    .root_id = user->root_id,
				    .payer = files->who,
				    .next = HASHMAP_NONE};
	uint32_t first = find(files, key_of(path, KEY_PATH, 0)), item,
		 last = HASHMAP_NONE;
	size_t nr_known = 0, nr_own = 0;
	bool is_seen;

	files->was_refused = false;
	is_seen = first != HASHMAP_NONE && look(files, &added);
	for (item = first; item != HASHMAP_NONE; item = files->items[item].next) {
		struct source_name *known = &files->items[item];

		if (is_seen && is_same(files, known, &added)) {
			if (known->content.state == CONTENT_ABSENT && !files->is_shared) {
				known->user = user;
				known->root_id = added.root_id;
				known->content = added.content;
			}
			known->is_joined = true;
			return item;
		}
		last = item;
		nr_known++;
		nr_own += tenant_is_same(known->payer, files->who);
	}
	if (first != HASHMAP_NONE)
		added.name = take_name(files, path, nr_known, nr_own);
	item = added.name ? add(files, &added) : HASHMAP_NONE;
	if (item != HASHMAP_NONE)
		files->nr_not_told += files->was_refused;
	if (item != HASHMAP_NONE && last != HASHMAP_NONE)
		files->items[last].next = item;
	else if (item != HASHMAP_NONE)
		remember(files, key_of(path, KEY_PATH, 0), item);
	return item;
}

/* Finds the file by its object or root, else decides. HASHMAP_NONE: no room. */
static uint32_t find_file(struct source_names *files, const char *path,
			  const struct object *object, const struct process *user)
{
	uint64_t by_object = key_of(path, KEY_OBJECT, object->id),
		 by_root = key_of(path, KEY_ROOT, user->root_id),
		 refused = key_of(path, KEY_REFUSED,
				  hash_u64(hash_u64(object->id, files->who.container),
					   files->who.uid));
	uint32_t item = find(files, by_object);

	if (item != HASHMAP_NONE)
		return item;
	item = find(files, by_root);
	if (item == HASHMAP_NONE && find(files, refused) != HASHMAP_NONE)
		return item;
	if (item == HASHMAP_NONE)
		item = decide(files, path, object, user);
	if (item == HASHMAP_NONE) {
		/* Others may have room for the file of this object and root. */
		files->nr_not_told++;
		remember(files, refused, 0);
		return item;
	}
	remember(files, by_object, item);
	remember(files, by_root, item);
	return item;
}

const char *source_names_find(struct source_names *files, const char *file,
			      const struct object *object, const struct process *user)
{
	const char *path = strpool_add(files->profile->pool, file);
	uint32_t item;

	if (*path != '/' || !user || !process_may_open(user))
		return path;
	item = find_file(files, path, object, user);
	/* No file has such a name, so none is read. */
	return item == HASHMAP_NONE
		       ? strpool_print(files->profile->pool, "<too many files>%s", path)
		       : files->items[item].name;
}

static const struct source_name *find_name(const struct source_names *files,
					   const char *name)
{
	const char *path = strpool_add(files->profile->pool, name);
	uint32_t item = find(files, key_of(path, KEY_PATH, 0));

	while (item != HASHMAP_NONE && files->items[item].name != name)
		item = files->items[item].next;
	return item == HASHMAP_NONE ? NULL : &files->items[item];
}

/* Is it what was compared with the files of other roots? */
static bool is_still(const struct file_content *content, const char *text, size_t len,
		     const struct look_facts *facts)
{
	uint8_t hash[sizeof(content->sha256)];

	if (content->state != CONTENT_HASHED)
		return content->state == CONTENT_SEEN && content->dev == facts->dev &&
		       content->inode == facts->inode;
	source_hash(text, len, hash);
	return !memcmp(hash, content->sha256, sizeof(hash));
}

int source_names_read(struct source_names *files, const char *name, char **ret,
		      size_t *ret_len, struct look_facts *ret_facts)
{
	const struct source_name *file = find_name(files, name);
	_cleanup_free_ char *text = NULL;
	size_t len;
	int rc;

	if (!file)
		return -ENOENT;
	if (!has_time(files, file))
		return -EBUSY;
	rc = read_file(files, file, SOURCE_MAX_FILE_BYTES, &text, &len, ret_facts);
	if (rc)
		return rc;
	if (file->is_joined && !is_still(&file->content, text, len, ret_facts))
		return -ESTALE;
	*ret = take_ptr(text);
	*ret_len = len;
	return 0;
}

/* ---- owners ---- */

static const char *owner_text(const struct source_names *files,
			      const struct process *user)
{
	const struct process_owner *o = &user->owner;
	char words[512];

	if (o->container_name && *o->container_name)
		snprintf(words, sizeof(words), "container %s", o->container_name);
	else if (o->container && *o->container)
		snprintf(words, sizeof(words), "container %.12s", o->container);
	else if (o->unit && *o->unit)
		snprintf(words, sizeof(words), "%s", o->unit);
	else
		snprintf(words, sizeof(words), "process %u", user->tgid);
	return strpool_add(files->profile->pool, words);
}

void source_names_tell_owners(const struct source_names *files)
{
	struct profile_extra *extra = &files->profile->extra;

	for (size_t i = 0; files->profile->nr_namesakes && i < extra->nr_sources; i++) {
		const char *path =
			strpool_add(files->profile->pool, extra->sources[i].path);
		uint32_t first = find(files, key_of(path, KEY_PATH, 0));
		const struct source_name *file = find_name(files, extra->sources[i].path);

		if (file && files->items[first].next != HASHMAP_NONE)
			extra->sources[i].owner = owner_text(files, file->user);
	}
}
