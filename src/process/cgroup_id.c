// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cgroup_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/maps.h"

#define IDS_MAX        65536
#define MAX_PATH_BYTES 4096

/* The number is all that a handle has (kernel: fs/kernfs/mount.c, since 5.5). */
union handle {
	struct file_handle head;
	char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
};

static char *number_of(union handle *h)
{
	return h->bytes + sizeof(struct file_handle);
}

/* Return: does the kernel make handles as they are taken for here? */
static bool learn_type(struct cgroup_ids *ids)
{
	union handle h = {.head.handle_bytes = sizeof(uint64_t)};
	struct stat st;
	uint64_t id;
	int mount_id;

	if (name_to_handle_at(ids->mount_fd, "", &h.head, &mount_id, AT_EMPTY_PATH) ||
	    h.head.handle_bytes != sizeof(id) || fstat(ids->mount_fd, &st))
		return false;
	memcpy(&id, number_of(&h), sizeof(id));
	ids->handle_type = h.head.handle_type;
	return id == st.st_ino;
}

static void open_places(struct cgroup_ids *ids, const struct cgroup_mounts *mounts)
{
	for (; ids->nr_places < mounts->nr; ids->nr_places++) {
		const struct cgroup_mount *mount = &mounts->at[ids->nr_places];

		ids->places[ids->nr_places].hierarchy = mount->hierarchy;
		ids->places[ids->nr_places].fd =
			open(mount->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
}

int cgroup_ids_place(const struct cgroup_ids *ids, uint32_t hierarchy)
{
	for (size_t i = 0; i < ids->nr_places; i++)
		if (ids->places[i].hierarchy == hierarchy)
			return ids->places[i].fd;
	return -1;
}

void cgroup_ids_init(struct cgroup_ids *ids, const struct cgroup_mounts *mounts,
		     const char *v2)
{
	*ids = (struct cgroup_ids){.mount_fd = -1};
	if (mounts)
		open_places(ids, mounts);
	ids->mount = v2 ? strdup(v2) : NULL;
	if (!ids->mount)
		return;
	ids->mount_fd = open(ids->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ids->mount_fd >= 0 && !learn_type(ids)) {
		close(ids->mount_fd);
		ids->mount_fd = -1;
	}
}

void cgroup_ids_deinit(struct cgroup_ids *ids)
{
	if (ids->mount_fd >= 0)
		close(ids->mount_fd);
	for (size_t i = 0; i < ids->nr_places; i++)
		if (ids->places[i].fd >= 0)
			close(ids->places[i].fd);
	for (size_t i = 0; i < ids->nr; i++)
		free(ids->items[i]);
	free(ids->items);
	free(ids->mount);
	hashmap_deinit(&ids->index);
	*ids = (struct cgroup_ids){.mount_fd = -1};
}

void cgroup_ids_forget(struct cgroup_ids *ids, uint64_t before_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < ids->nr; i++) {
		struct cgroup_id *known = ids->items[i];
		uint64_t hash = hash_u64(0, known->id);

		hashmap_remove(&ids->index, hash, (uint32_t)i);
		if (known->used_ns < before_ns) {
			free(known);
			continue;
		}
		/* Without memory it is looked for anew; this one may be in use. */
		hashmap_add(&ids->index, hash, (uint32_t)nr);
		ids->items[nr++] = known;
	}
	ids->nr = nr;
}

/* Below the mount, "/a/b" or "/". Return: its length; 0: it is gone, or not to be had. */
static size_t find_path(const struct cgroup_ids *ids, uint64_t id, char *path,
			size_t size)
{
	union handle h = {.head.handle_bytes = sizeof(id),
			  .head.handle_type = ids->handle_type};
	size_t skip = strlen(ids->mount);
	_cleanup_close_ int fd = -1;
	char link[32];
	size_t len;
	ssize_t n;

	memcpy(number_of(&h), &id, sizeof(id));
	fd = open_by_handle_at(ids->mount_fd, &h.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, size);
	if (n <= 0 || (size_t)n >= size)
		return 0;
	len = maps_text_without_deleted(path, (size_t)n);
	if (len < skip || memcmp(path, ids->mount, skip))
		return 0;
	if (len == skip)
		path[len++] = '/';
	if (path[skip] != '/')
		return 0;
	memmove(path, path + skip, len - skip);
	return len - skip;
}

static struct cgroup_id *add(struct cgroup_ids *ids, uint64_t id, cgroup_owner_fn fill,
			     void *ctx)
{
	_cleanup_free_ struct cgroup_id *known = NULL;
	char path[MAX_PATH_BYTES];
	size_t len = find_path(ids, id, path, sizeof(path));

	if (!len)
		return NULL;
	known = calloc(1, sizeof(*known));
	if (!known ||
	    vec_grow(&ids->items, &ids->cap, ids->nr + 1, sizeof(*ids->items), IDS_MAX) ||
	    hashmap_add(&ids->index, hash_u64(0, id), (uint32_t)ids->nr))
		return NULL;
	known->id = id;
	fill(ctx, path, len, &known->owner);
	ids->items[ids->nr++] = known;
	return take_ptr(known);
}

static bool is_id(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct cgroup_ids *)ctx)->items[item]->id ==
	       *(const uint64_t *)key;
}

const struct process_owner *cgroup_ids_owner(struct cgroup_ids *ids, uint64_t id,
					     uint64_t time_ns, cgroup_owner_fn fill,
					     void *ctx)
{
	uint32_t item;
	struct cgroup_id *known;

	if (ids->mount_fd < 0 || !id)
		return NULL;
	item = hashmap_find(&ids->index, hash_u64(0, id), is_id, &id, ids);
	known = item == HASHMAP_NONE ? add(ids, id, fill, ctx) : ids->items[item];
	if (!known)
		return NULL;
	if (known->used_ns < time_ns)
		known->used_ns = time_ns;
	return &known->owner;
}
