// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/source_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/source.h"
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
	int64_t mtime_ns;
	uint8_t sha256[32];
};

struct source_name {
	const char *path; /* interned */
	const char *name; /* path, or an alias of it */
	const struct object *object; /* the first object with its code */
	const struct process *user; /* a process that can open it, in this root of its */
	uint64_t root_id;
	struct file_content content;
	uint32_t next; /* next file with this path; HASHMAP_NONE */
};

void source_names_init(struct source_names *files, struct profile *profile)
{
	*files = (struct source_names){.profile = profile,
				       .looks_left = SOURCE_NAMES_MAX_LOOKS,
				       .bytes_left = SOURCE_NAMES_MAX_BYTES};
}

void source_names_deinit(struct source_names *files)
{
	free(files->items);
	hashmap_deinit(&files->index);
	*files = (struct source_names){0};
}

/* ---- the index ---- */

enum key_kind {
	KEY_PATH,
	KEY_OBJECT,
	KEY_ROOT
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

static void look(struct source_names *files, struct source_name *file)
{
	struct file_content *content = &file->content;
	_cleanup_target_fd_ int fd = -1;
	struct look_facts facts;

	if (content->state != CONTENT_UNSEEN)
		return;
	content->state = CONTENT_ABSENT;
	if (!files->looks_left) {
		files->nr_not_told++;
		return;
	}
	files->looks_left--;
	fd = process_open_in_root(file->user, file->root_id, file->path,
				  SOURCE_MAX_FILE_BYTES, &facts);
	if (fd < 0)
		return;
	*content = (struct file_content){.state = CONTENT_SEEN,
					 .dev = facts.dev,
					 .inode = facts.inode,
					 .size = facts.size_bytes,
					 .mtime_ns = facts.mtime_ns};
}

static bool read_hash(struct source_names *files, struct source_name *file)
{
	struct file_content *content = &file->content;
	_cleanup_free_ char *text = NULL;
	struct look_facts facts;
	size_t len;

	if (content->state == CONTENT_HASHED)
		return true;
	if (content->size > files->bytes_left)
		return false;
	if (process_read_in_root(file->user, file->root_id, file->path, files->bytes_left,
				 &text, &len, &facts))
		return false;
	files->bytes_left -= len;
	source_hash(text, len, content->sha256);
	content->state = CONTENT_HASHED;
	return true;
}

/* May these be different builds of one program? */
static bool is_other_build(const struct object *a, const struct object *b)
{
	if (a == b || a->kind != OBJECT_FILE || b->kind != OBJECT_FILE)
		return false;
	return !a->build_id_len || a->build_id_len != b->build_id_len ||
	       memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool is_same(struct source_names *files, struct source_name *known,
		    struct source_name *added)
{
	const struct file_content *a = &known->content, *b = &added->content;
	bool is_other = is_other_build(known->object, added->object);

	look(files, known);
	look(files, added);
	/*
	 * Must not show one file's text for code built from another. If neither file
	 * exists, this matters only for two builds of one program.
	 */
	if (a->state == CONTENT_ABSENT && b->state == CONTENT_ABSENT)
		return strcmp(known->object->name, added->object->name) || !is_other;
	if (a->state == CONTENT_ABSENT || b->state == CONTENT_ABSENT)
		return !is_other;
	if (a->dev == b->dev && a->inode == b->inode)
		return true;
	if (a->size != b->size)
		return false;
	if (read_hash(files, known) && read_hash(files, added))
		return !memcmp(a->sha256, b->sha256, sizeof(a->sha256));
	return a->mtime_ns == b->mtime_ns;
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

static uint32_t count_indistinct(struct source_names *files, uint32_t first)
{
	files->nr_not_told++;
	return first;
}

/* Decides which file a path means in a root where it is seen for the first time. */
static uint32_t decide(struct source_names *files, const char *path,
		       const struct object *object, const struct process *user)
{
	struct source_name added = {.path = path,
				    .name = path,
				    .object = object,
				    .user = user,
				    .root_id = user->root_id,
				    .next = HASHMAP_NONE};
	uint32_t first = find(files, key_of(path, KEY_PATH, 0)), item,
		 last = HASHMAP_NONE;
	size_t nr_known = 0;

	for (item = first; item != HASHMAP_NONE; item = files->items[item].next) {
		struct source_name *known = &files->items[item];

		if (is_same(files, known, &added)) {
			if (known->content.state == CONTENT_ABSENT) {
				known->user = user;
				known->root_id = added.root_id;
				known->content = added.content;
			}
			return item;
		}
		last = item;
		if (++nr_known == SOURCE_NAMES_MAX_OF_A_PATH)
			return count_indistinct(files, first);
	}
	if (first != HASHMAP_NONE) {
		added.name = profile_add_namesake(files->profile, path);
		if (added.name == path)
			return count_indistinct(files, first);
	}
	item = add(files, &added);
	if (item != HASHMAP_NONE && last != HASHMAP_NONE)
		files->items[last].next = item;
	else if (item != HASHMAP_NONE)
		remember(files, key_of(path, KEY_PATH, 0), item);
	return item;
}

const char *source_names_find(struct source_names *files, const char *file,
			      const struct object *object, const struct process *user)
{
	const char *path = strpool_add(files->profile->pool, file);
	uint64_t by_object, by_root;
	uint32_t item;

	if (*path != '/' || !user || !process_may_open(user))
		return path;
	by_object = key_of(path, KEY_OBJECT, object->id);
	item = find(files, by_object);
	if (item == HASHMAP_NONE) {
		by_root = key_of(path, KEY_ROOT, user->root_id);
		item = find(files, by_root);
		if (item == HASHMAP_NONE)
			item = decide(files, path, object, user);
		if (item == HASHMAP_NONE)
			return path;
		remember(files, by_object, item);
		remember(files, by_root, item);
	}
	return files->items[item].name;
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

int source_names_read(const struct source_names *files, const char *name, char **ret,
		      size_t *ret_len, struct look_facts *ret_facts)
{
	const struct source_name *file = find_name(files, name);

	return file ? process_read_in_root(file->user, file->root_id, file->path,
					   SOURCE_MAX_FILE_BYTES, ret, ret_len, ret_facts)
		    : -ENOENT;
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
