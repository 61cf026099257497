// SPDX-License-Identifier: GPL-2.0-or-later
/* Which pool the names of a process table are in. */
#include "process/table.h"

static void move(struct strpool *pool, const char **name)
{
	if (*name)
		*name = strpool_add(pool, *name);
}

static void move_owner(struct strpool *pool, struct process_owner *o)
{
	const char **owner[] = {
		&o->cgroup, &o->container, &o->container_name, &o->runtime, &o->pod,
		&o->unit,   &o->exe,
	};

	for (size_t i = 0; i < sizeof(owner) / sizeof(*owner); i++)
		move(pool, owner[i]);
}

static void move_image(struct strpool *pool, struct process *p)
{
	move_owner(pool, &p->owner);
	move(pool, &p->perf_map.path);
	move(pool, &p->jitdump.path);
	move(pool, &p->command);
	move(pool, &p->cwd);
	for (size_t i = 0; i < p->maps.nr; i++)
		move(pool, &p->maps.items[i].path);
}

void process_table_set_pool(struct process_table *t, struct strpool *pool)
{
	for (size_t i = 0; i < t->nr_ids; i++)
		if (t->images[i])
			move_image(pool, &t->images[i]->proc);
	for (size_t i = 0; i < t->cgroups.nr; i++)
		move_owner(pool, &t->cgroups.items[i]->owner);
	for (size_t i = 0; i < file_cache_count(t->files); i++)
		move(pool, &file_cache_at(t->files, i)->path);
	t->pool = pool;
}
