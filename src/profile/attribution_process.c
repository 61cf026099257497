// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose the samples are, by their labels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/attribution_work.h"

struct process_keys process_keys_of(const struct profile *p)
{
	return (struct process_keys){.pid = strpool_add(p->pool, "pid"),
				     .comm = strpool_add(p->pool, "comm"),
				     .container = strpool_add(p->pool, "container"),
				     .unit = strpool_add(p->pool, "unit"),
				     .empty = strpool_add(p->pool, "")};
}

int process_tally(struct work *w, const struct process_keys *keys,
		  const struct profile_sample *s, struct weight weight)
{
	const char *comm = keys->empty, *container = keys->empty, *unit = keys->empty;
	uint32_t identity, process, comm_item;
	uint64_t pid = 0;

	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label = &w->p->labels[s->first_label + i];

		if (label->key == keys->pid && label->num > 0 && label->num <= INT32_MAX)
			pid = (uint64_t)label->num;
		else if (label->key == keys->comm)
			comm = label->str;
		else if (label->key == keys->container)
			container = label->str;
		else if (label->key == keys->unit)
			unit = label->str;
	}
	if (!pid && !*comm && !*container && !*unit)
		return 0;
	identity = tally_number(&w->identities, tally_key(container), tally_key(unit));
	if (identity == PROFILE_NONE)
		return -ENOMEM;
	process = tally_number(&w->processes, pid, identity);
	if (process == PROFILE_NONE)
		return -ENOMEM;
	comm_item = tally_number(&w->comms, process, tally_key(comm));
	if (comm_item == PROFILE_NONE)
		return -ENOMEM;
	weight_add(&w->processes.items[process].self, weight);
	weight_add(&w->comms.items[comm_item].self, weight);
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct attribution_process *x = a, *y = b;
	int r = weight_compare(x->self, y->self);

	if (r)
		return r;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->container, y->container);
}

int processes_build(struct work *w, struct attribution *a)
{
	_cleanup_free_ struct weight *best = calloc(w->processes.nr + 1, sizeof(*best));

	a->processes = calloc(w->processes.nr + 1, sizeof(*a->processes));
	if (!a->processes || !best)
		return -ENOMEM;
	for (size_t i = 0; i < w->processes.nr; i++) {
		const struct tally_item *item = &w->processes.items[i];
		const struct tally_item *identity = &w->identities.items[item->b];

		a->processes[i] = (struct attribution_process){
			.pid = (uint32_t)item->a,
			.comm = "",
			.container = tally_string(identity->a),
			.unit = tally_string(identity->b),
			.self = item->self,
		};
	}
	for (size_t i = 0; i < w->comms.nr; i++) {
		const struct tally_item *item = &w->comms.items[i];
		struct attribution_process *process = &a->processes[item->a];

		if (!*tally_string(item->b) ||
		    (*process->comm && weight_compare(item->self, best[item->a]) >= 0))
			continue;
		process->comm = tally_string(item->b);
		best[item->a] = item->self;
	}
	a->nr_processes = w->processes.nr;
	qsort(a->processes, a->nr_processes, sizeof(*a->processes), compare_processes);
	return 0;
}
