// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

static const size_t none = SIZE_MAX;

static size_t find(const struct ahead *a, uint32_t tgid)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->tgids[i] == tgid)
			return i;
	return none;
}

bool ahead_want(struct ahead *a, int proc_fd, uint32_t tgid, struct tenant who,
		unsigned int parts)
{
	struct proc_view_request *r = &a->items[a->nr];

	if (find(a, tgid) != none)
		return true;
	*r = (struct proc_view_request){.proc_fd = proc_fd,
					.pid = tgid,
					.who = who,
					.parts = parts,
					.proc_dir = -1,
					.view = PROC_VIEW_NONE};
	a->tgids[a->nr++] = tgid;
	return a->nr < ARRAY_SIZE(a->items);
}

void ahead_read(struct ahead *a)
{
	if (a->nr)
		proc_views_read(a->items, a->nr);
}

int ahead_take(struct ahead *a, uint32_t tgid, struct proc_view *ret)
{
	size_t i = find(a, tgid);

	if (i == none || !a->items[i].is_read)
		return -1;
	if (a->items[i].proc_dir < 0)
		return a->items[i].proc_dir;
	*ret = a->items[i].view;
	a->items[i].view = PROC_VIEW_NONE;
	a->tgids[i] = 0;
	return take_fd(&a->items[i].proc_dir);
}

int ahead_stat(const struct ahead *a, uint32_t tgid, struct proc_stat *ret)
{
	size_t i = find(a, tgid);

	if (i == none || !a->items[i].is_read)
		return -1;
	if (a->items[i].view.stat_rc)
		return a->items[i].proc_dir < 0 ? a->items[i].proc_dir : -1;
	*ret = a->items[i].view.stat;
	return fcntl(a->items[i].proc_dir, F_DUPFD_CLOEXEC, 0);
}

void ahead_forget(struct ahead *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		proc_view_deinit(&a->items[i].view);
		cleanup_closep(&a->items[i].proc_dir);
	}
	a->nr = 0;
}
