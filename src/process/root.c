// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/target_fd.h"
#include "base/vec.h"

struct roots *roots_new(struct fd_budget *budget)
{
	struct roots *roots = calloc(1, sizeof(*roots));

	if (roots)
		roots->budget = budget;
	return roots;
}

void roots_free(struct roots *roots)
{
	if (!roots)
		return;
	for (size_t i = 0; i < roots->nr; i++) {
		target_fd_close(roots->items[i]->fd);
		fd_budget_give(roots->budget, roots->items[i]->tenant);
		free(roots->items[i]);
	}
	free(roots->items);
	hashmap_deinit(&roots->by_key);
	free(roots);
}

static uint64_t key_hash(const struct root_key *key)
{
	return hash_bytes(0, key, sizeof(*key));
}

static bool key_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct roots *roots = ctx;

	return !memcmp(&roots->items[item]->key, key, sizeof(struct root_key));
}

static struct root *add(struct roots *roots, int fd, const struct root_key *key,
			bool is_mount_root, struct tenant who)
{
	struct root *root;

	/* Each has a descriptor, so their budget is the limit. */
	if (vec_grow(&roots->items, &roots->cap, roots->nr + 1, sizeof(*roots->items),
		     roots->budget->max))
		return NULL;
	root = calloc(1, sizeof(*root));
	if (!root || hashmap_add(&roots->by_key, key_hash(key), (uint32_t)roots->nr)) {
		free(root);
		return NULL;
	}
	*root = (struct root){.key = *key,
			      .id = ++roots->last_id,
			      .since_ns = clock_now_ns(),
			      .is_mount_root = is_mount_root,
			      .fd = fd,
			      .tenant = who,
			      .nr_refs = 1,
			      .slot = (uint32_t)roots->nr};
	target_fd_opened(fd, who);
	roots->items[roots->nr++] = root;
	return root;
}

struct root *roots_take(struct roots *roots, struct look *found, struct tenant who)
{
	const struct look_facts *facts = &found->facts;
	struct root_key key = {
		.dev = facts->dev, .inode = facts->inode, .mount_id = facts->mount_id};
	struct root *root;
	uint32_t item;

	if (found->rc || !S_ISDIR(facts->mode))
		return NULL;
	item = hashmap_get(&roots->by_key, key_hash(&key), key_eq, &key, roots);
	if (item != HASHMAP_NONE)
		return root_ref(roots->items[item]);
	if (!fd_budget_take(roots->budget, who))
		return NULL;
	root = add(roots, found->fd, &key, facts->is_mount_root, who);
	if (root)
		take_fd(&found->fd);
	else
		fd_budget_give(roots->budget, who);
	return root;
}

static struct root *find_mount(const struct roots *roots, uint64_t mount_id,
			       uint64_t time_ns)
{
	for (size_t i = 0; mount_id && i < roots->nr; i++) {
		struct root *root = roots->items[i];

		if (root->is_mount_root && root->key.mount_id == mount_id &&
		    root->since_ns < time_ns)
			return root;
	}
	return NULL;
}

struct root *roots_find_mount(const struct roots *roots, uint64_t mount_id,
			      uint64_t time_ns)
{
	return root_ref(find_mount(roots, mount_id, time_ns));
}

bool roots_have_mount(const struct roots *roots, uint64_t mount_id, uint64_t time_ns)
{
	return find_mount(roots, mount_id, time_ns);
}

struct root *root_ref(struct root *root)
{
	if (root)
		root->nr_refs++;
	return root;
}

void roots_put(struct roots *roots, struct root *root)
{
	struct root *last;

	if (!root || --root->nr_refs)
		return;
	hashmap_remove(&roots->by_key, key_hash(&root->key), root->slot);
	last = roots->items[--roots->nr];
	if (last != root) {
		/* Removing first makes room: the re-add cannot fail. */
		hashmap_remove(&roots->by_key, key_hash(&last->key), last->slot);
		last->slot = root->slot;
		roots->items[last->slot] = last;
		hashmap_add(&roots->by_key, key_hash(&last->key), last->slot);
	}
	target_fd_close(root->fd);
	fd_budget_give(roots->budget, root->tenant);
	free(root);
}
