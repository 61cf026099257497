// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/container_name.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/io.h"
#include "base/vec.h"
#include "opener/opener.h"
#include "process/cgroup_folder.h"
#include "process/file.h"

#define MAX_ROOTS        2
#define MAX_CONFIG_BYTES ((size_t)1 << 20) /* of one container */
#define MAX_LIST_BYTES   ((size_t)4 << 20) /* of all of them */
#define MAX_LOGS         65536
#define MAX_NAMES_BYTES  ((uint64_t)MAX_LOGS * 256)
#define LOOK_EVERY_NS    1000000000ull
#define MAX_LOOKS        4

/*
 * Container lists of containers/storage: for each storage driver, persistent and
 * volatile ones.
 */
static const char *const lists[] = {
	"/var/lib/containers/storage/overlay-containers/containers.json",
	"/var/lib/containers/storage/overlay-containers/volatile-containers.json",
	"/run/containers/storage/overlay-containers/volatile-containers.json",
	"/var/lib/containers/storage/vfs-containers/containers.json",
	"/var/lib/containers/storage/vfs-containers/volatile-containers.json",
	"/run/containers/storage/vfs-containers/volatile-containers.json",
	"/var/lib/containers/storage/btrfs-containers/containers.json",
	"/var/lib/containers/storage/btrfs-containers/volatile-containers.json",
	"/run/containers/storage/btrfs-containers/volatile-containers.json",
	"/var/lib/containers/storage/zfs-containers/containers.json",
	"/var/lib/containers/storage/zfs-containers/volatile-containers.json",
	"/run/containers/storage/zfs-containers/volatile-containers.json",
};
#define LOGS "/var/log/containers"

struct named_container {
	char id[CONTAINER_HEX_ID_LEN + 1];
	char *name; /* NULL: not found */
	unsigned int nr_looks; /* failed look-ups so far; MAX_LOOKS: no more */
	uint64_t next_ns;
};

/* Detects whether a file or folder changed since it was last read. */
struct stamp {
	uint64_t dev, inode, size_bytes;
	int64_t mtime_ns;
};

struct name_place {
	int root_fd;
	struct stamp lists[ARRAY_SIZE(lists)], logs;
};

struct container_names {
	struct name_place places[MAX_ROOTS];
	size_t nr_places;
	struct named_container *items;
	size_t nr, cap;
	bool found_late; /* a retry found a name, not reported yet */
	struct hashmap index;
	uint64_t looked_ns; /* time of the last check of lists and logs; 0: never */
	/* Something did not answer: in the last look; in the last one at lists and logs. */
	bool is_late, lists_are_late;
};

struct container_names *container_names_new(const int *root_fds, size_t nr_roots)
{
	struct container_names *names = calloc(1, sizeof(*names));

	for (size_t i = 0; i < nr_roots; i++) {
		if (root_fds[i] < 0)
			continue;
		if (names && names->nr_places < MAX_ROOTS)
			names->places[names->nr_places++].root_fd = root_fds[i];
		else
			close(root_fds[i]);
	}
	return names;
}

static void forget_all(struct container_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->items[i].name);
	hashmap_deinit(&names->index);
	names->index = (struct hashmap){0};
	names->nr = 0;
	names->looked_ns = 0;
	for (size_t i = 0; i < names->nr_places; i++)
		names->places[i] =
			(struct name_place){.root_fd = names->places[i].root_fd};
}

void container_names_free(struct container_names *names)
{
	if (!names)
		return;
	forget_all(names);
	for (size_t i = 0; i < names->nr_places; i++)
		close(names->places[i].root_fd);
	free(names->items);
	free(names);
}

/* ---- cache of names ---- */

static uint64_t id_hash(const char *id)
{
	return hash_bytes(0, id, CONTAINER_HEX_ID_LEN);
}

static bool id_eq(uint32_t item, const void *key, const void *ctx)
{
	return !strcmp(((const struct container_names *)ctx)->items[item].id, key);
}

static struct named_container *find_entry(struct container_names *names, const char *id)
{
	uint32_t item = hashmap_get(&names->index, id_hash(id), id_eq, id, names);

	return item == HASHMAP_NONE ? NULL : &names->items[item];
}

/* Return: NULL: no memory, or the cache is full (the caller empties it). */
static struct named_container *add_entry(struct container_names *names, const char *id)
{
	struct named_container *entry;

	if (vec_grow(&names->items, &names->cap, names->nr + 1, sizeof(*names->items),
		     CONTAINER_NAMES_MAX) ||
	    hashmap_add(&names->index, id_hash(id), (uint32_t)names->nr))
		return NULL;
	entry = &names->items[names->nr++];
	*entry = (struct named_container){.nr_looks = MAX_LOOKS};
	memcpy(entry->id, id, sizeof(entry->id));
	return entry;
}

static void add_name(void *ctx, const char *id, const char *name)
{
	struct container_names *names = ctx;
	struct named_container *entry = find_entry(names, id);
	bool is_asked_for = entry;

	if (!entry)
		entry = add_entry(names, id);
	if (!entry || entry->name)
		return;
	entry->name = strdup(name);
	if (!entry->name || !is_asked_for)
		return;
	entry->nr_looks = MAX_LOOKS;
	names->found_late = true;
}

/* ---- files ---- */

/* Returns whether the file changed since the last call, and updates @stamp. */
static bool has_changed(struct stamp *stamp, const struct look_facts *facts)
{
	struct stamp now = {facts->dev, facts->inode, facts->size_bytes, facts->mtime_ns};

	if (!memcmp(stamp, &now, sizeof(now)))
		return false;
	*stamp = now;
	return true;
}

static struct safe_open how_of(int root_fd, const char *path, size_t max_bytes)
{
	return (struct safe_open){.root_fd = root_fd,
				  .path = path,
				  .flags = LOOK_OWNED, /* by root: uid 0 */
				  .max_bytes = max_bytes};
}

static void look_in_docker(struct container_names *names, int root_fd, const char *id)
{
	char path[128], name[CONTAINER_NAME_BYTES];
	_cleanup_free_ char *text = NULL;
	struct safe_open how = how_of(root_fd, path, MAX_CONFIG_BYTES);
	struct look_facts facts;
	size_t len;
	int rc;

	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", id);
	rc = safe_open_read(&how, &text, &len, &facts);
	names->is_late |= cgroup_folder_is_late(rc);
	if (!rc && !container_name_in_docker(text, len, name))
		add_name(names, id, name);
}

static void look_in_list(struct container_names *names, struct name_place *place,
			 size_t i)
{
	struct safe_open how = how_of(place->root_fd, lists[i], MAX_LIST_BYTES);
	_cleanup_free_ char *text = NULL;
	_cleanup_target_fd_ int found = -1;
	struct look_facts facts;
	size_t len;
	int rc;

	found = safe_open_find(&how, &facts);
	names->lists_are_late |= cgroup_folder_is_late(found);
	if (found < 0 || !has_changed(&place->lists[i], &facts))
		return;
	rc = safe_open_read(&how, &text, &len, &facts);
	if (!rc)
		container_names_in_storage(text, len, add_name, names);
	if (!cgroup_folder_is_late(rc))
		return;
	place->lists[i] = (struct stamp){0};
	names->lists_are_late = true;
}

/* Log file names contain container names; the log files are not opened. */
static void look_in_logs(struct container_names *names, struct name_place *place)
{
	_cleanup_(look_deinit) struct look look = {
		.where = LOOK_IN_ROOT, .what = LOOK_HANDLE, .name = LOGS, .fd = -1};
	_cleanup_(look_deinit) struct look list = {.where = LOOK_BELOW,
						   .what = LOOK_NAMES,
						   .name = ".",
						   .max_bytes = MAX_NAMES_BYTES,
						   .fd = -1};
	char *next;

	opener_look_at(place->root_fd, TENANT_OF_FOLDERS(TENANT_UNKNOWN_UID), &look);
	names->lists_are_late |= cgroup_folder_is_late(look.rc);
	if (look.rc || !S_ISDIR(look.facts.mode) || look.facts.uid ||
	    look.facts.mode & S_IWOTH || !has_changed(&place->logs, &look.facts))
		return;
	if (opener_look_at(look.fd, TENANT_OF_FOLDERS(TENANT_UNKNOWN_UID), &list))
		place->logs = (struct stamp){0};
	names->lists_are_late |= cgroup_folder_is_late(list.rc);
	next = list.text;
	for (int n = 0; next && *next && n < MAX_LOGS; n++) {
		char id[CONTAINER_HEX_ID_LEN + 1], name[CONTAINER_NAME_BYTES];

		if (container_of_log(strsep(&next, "\n"), id, name))
			add_name(names, id, name);
	}
}

static void look(struct container_names *names, const char *id, uint64_t now_ns)
{
	bool lists_too = !names->looked_ns || now_ns >= names->looked_ns + LOOK_EVERY_NS;

	names->is_late = false;
	if (lists_too)
		names->lists_are_late = false;
	for (size_t i = 0; i < names->nr_places; i++) {
		look_in_docker(names, names->places[i].root_fd, id);
		if (!lists_too)
			continue;
		look_in_logs(names, &names->places[i]);
		for (size_t j = 0; j < ARRAY_SIZE(lists); j++)
			look_in_list(names, &names->places[i], j);
	}
	if (lists_too)
		names->looked_ns = now_ns ? now_ns : 1;
	names->is_late |= names->lists_are_late;
}

/* ---- look-ups ---- */

const char *container_names_find(struct container_names *names, const char *id,
				 uint64_t now_ns)
{
	struct named_container *entry;

	if (!container_is_hex_id(id))
		return "";
	entry = find_entry(names, id);
	if (!entry) {
		/* Cache full: empty it; names are looked up again. */
		if (names->nr == CONTAINER_NAMES_MAX)
			forget_all(names);
		look(names, id, now_ns);
		entry = find_entry(names, id);
	}
	if (!entry) {
		entry = add_entry(names, id);
		if (!entry)
			return "";
		entry->nr_looks = !names->is_late;
		entry->next_ns = now_ns + LOOK_EVERY_NS;
	}
	return entry->name ? entry->name : "";
}

bool container_names_retry(struct container_names *names, uint64_t now_ns)
{
	bool found;

	for (size_t i = 0; i < names->nr; i++) {
		struct named_container *entry = &names->items[i];
		char id[CONTAINER_HEX_ID_LEN + 1];

		if (entry->nr_looks == MAX_LOOKS || entry->next_ns > now_ns)
			continue;
		memcpy(id, entry->id, sizeof(id));
		look(names, id, now_ns);
		entry = &names->items[i]; /* look() may have moved the array */
		entry->next_ns = now_ns + LOOK_EVERY_NS;
		entry->nr_looks += !names->is_late && entry->nr_looks < MAX_LOOKS;
	}
	found = names->found_late;
	names->found_late = false;
	return found;
}

/* ---- parsers of the files of runtimes and the kubelet: pure functions ---- */

static void json_freep(json_t **json)
{
	json_decref(*json);
}

bool container_is_hex_id(const char *id)
{
	return strspn(id, "0123456789abcdefABCDEF") == CONTAINER_HEX_ID_LEN &&
	       !id[CONTAINER_HEX_ID_LEN];
}

static bool put_kubernetes(const char *ns, const char *pod, const char *container,
			   char *ret)
{
	if (strlen(ns) + strlen(pod) + strlen(container) + 3 > CONTAINER_NAME_BYTES)
		return false;
	snprintf(ret, CONTAINER_NAME_BYTES, "%s/%s/%s", ns, pod, container);
	return true;
}

#define PART       "%511[^_]_" /* one part of a name of CONTAINER_NAME_BYTES */
#define PART_BYTES CONTAINER_NAME_BYTES

/*
 * cri-dockerd and CRI-O name Kubernetes containers
 * k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT (cri-dockerd: core/naming.go).
 */
static bool put_name(const char *name, char *ret)
{
	char container[PART_BYTES], pod[PART_BYTES], ns[PART_BYTES], attempt;
	size_t len = strlen(name);

	if (sscanf(name, "k8s_" PART PART PART "%*511[^_]_%c", container, pod, ns,
		   &attempt) == 4)
		return put_kubernetes(ns, pod, container, ret);
	if (!len || len >= CONTAINER_NAME_BYTES)
		return false;
	memcpy(ret, name, len + 1);
	return true;
}

int container_names_in_storage(const char *text, size_t len, container_add add, void *ctx)
{
	_cleanup_(json_freep) json_t *root = json_loadb(text, len, 0, NULL);
	json_t *container;
	size_t i;

	if (!json_is_array(root))
		return -EBADMSG;
	json_array_foreach(root, i, container)
	{
		const char *id = json_string_value(json_object_get(container, "id"));
		const char *name = json_string_value(
			json_array_get(json_object_get(container, "names"), 0));
		char shown[CONTAINER_NAME_BYTES];

		if (id && name && container_is_hex_id(id) && put_name(name, shown))
			add(ctx, id, shown);
	}
	return 0;
}

int container_name_in_docker(const char *text, size_t len, char *ret)
{
	_cleanup_(json_freep) json_t *root = json_loadb(text, len, 0, NULL);
	const char *name = json_string_value(json_object_get(root, "Name"));

	if (name && *name == '/')
		name++;
	return name && put_name(name, ret) ? 0 : -EBADMSG;
}

bool container_of_log(const char *file, char *ret_id, char *ret_name)
{
	static const char suffix[] = ".log";
	char pod[PART_BYTES], ns[PART_BYTES], container[PART_BYTES];
	size_t len = strlen(file), tail = CONTAINER_HEX_ID_LEN + sizeof(suffix) - 1;
	char id[CONTAINER_HEX_ID_LEN + 1] = "", name[CONTAINER_NAME_BYTES] = "";

	if (len < tail + 1 || len - tail > sizeof(name) ||
	    strcmp(file + len - sizeof(suffix) + 1, suffix) ||
	    file[len - tail - 1] != '-')
		return false;
	memcpy(id, file + len - tail, CONTAINER_HEX_ID_LEN);
	memcpy(name, file, len - tail - 1);
	if (!container_is_hex_id(id) ||
	    sscanf(name, PART PART "%511[^/]", pod, ns, container) != 3 ||
	    !put_kubernetes(ns, pod, container, ret_name))
		return false;
	memcpy(ret_id, id, sizeof(id));
	return true;
}
