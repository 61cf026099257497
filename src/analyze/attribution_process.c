// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose the samples are, by their labels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribution_work.h"
#include "profile/labels.h"

struct process_keys process_keys_of(const struct profile *p)
{
	return (struct process_keys){.pid = strpool_add(p->pool, LABEL_PID),
				     .comm = strpool_add(p->pool, LABEL_COMM),
				     .cgroup = strpool_add(p->pool, LABEL_CGROUP),
				     .container = strpool_add(p->pool, LABEL_CONTAINER),
				     .unit = strpool_add(p->pool, LABEL_UNIT),
				     .empty = strpool_add(p->pool, "")};
}

int process_tally(struct work *w, const struct process_keys *keys,
		  const struct profile_sample *s, struct weight weight)
{
	const char *comm = keys->empty, *container = keys->empty, *unit = keys->empty;
	const char *cgroup = keys->empty;
	uint32_t identity, process, comm_item, cgroup_item;
	uint64_t pid = 0;

	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label = &w->p->labels[s->first_label + i];

		if (label->key == keys->pid && label->num > 0 && label->num <= INT32_MAX)
			pid = (uint64_t)label->num;
		else if (label->key == keys->comm)
			comm = label->str;
		else if (label->key == keys->cgroup)
			cgroup = label->str;
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
	cgroup_item = tally_number(&w->cgroups, process, tally_key(cgroup));
	if (comm_item == PROFILE_NONE || cgroup_item == PROFILE_NONE)
		return -ENOMEM;
	if (!w->processes.items[process].tag)
		w->processes.items[process].tag = (uint32_t)(s - w->p->samples) + 1;
	weight_add(&w->processes.items[process].self, weight);
	weight_add(&w->comms.items[comm_item].self, weight);
	weight_add(&w->cgroups.items[cgroup_item].self, weight);
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
	r = strcmp(x->container, y->container);
	return r ? r : strcmp(x->unit, y->unit);
}

/* What one sample says, for all of the process. */
static void describe(const struct profile *p, const struct profile_sample *s,
		     struct attribution_process *process)
{
	const struct {
		const char *key, **text;
	} texts[] = {
		{LABEL_CONTAINER_NAME, &process->container_name},
		{LABEL_RUNTIME, &process->runtime},
		{LABEL_POD, &process->pod},
		{LABEL_USER, &process->user},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*texts[i].text = "";
	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label = &p->labels[s->first_label + i];

		if (!strcmp(label->key, LABEL_NS_PID) && label->num > 0 &&
		    label->num <= INT32_MAX)
			process->ns_pid = (uint32_t)label->num;
		for (size_t j = 0; j < ARRAY_SIZE(texts); j++)
			if (!strcmp(label->key, texts[j].key))
				*texts[j].text = label->str;
	}
}

static const char **comm_of(struct attribution_process *process)
{
	return &process->comm;
}

static const char **cgroup_of(struct attribution_process *process)
{
	return &process->cgroup;
}

/* Of the texts that @tally has of each process, the one with most of it. Return: 0, -ENOMEM */
static int take_heaviest(struct attribution *a, size_t nr_processes,
			 const struct tally *tally,
			 const char **(*text_of)(struct attribution_process *))
{
	_cleanup_free_ struct weight *best = calloc(nr_processes + 1, sizeof(*best));

	if (!best)
		return -ENOMEM;
	for (size_t i = 0; i < tally->nr; i++) {
		const struct tally_item *item = &tally->items[i];
		const char **text = text_of(&a->processes[item->a]);

		if (!*tally_string(item->b) ||
		    (**text && weight_compare(item->self, best[item->a]) >= 0))
			continue;
		*text = tally_string(item->b);
		best[item->a] = item->self;
	}
	return 0;
}

int processes_build(struct work *w, struct attribution *a)
{
	a->processes = calloc(w->processes.nr + 1, sizeof(*a->processes));
	if (!a->processes)
		return -ENOMEM;
	for (size_t i = 0; i < w->processes.nr; i++) {
		const struct tally_item *item = &w->processes.items[i];
		const struct tally_item *identity = &w->identities.items[item->b];

		a->processes[i] = (struct attribution_process){
			.pid = (uint32_t)item->a,
			.comm = "",
			.cgroup = "",
			.container = tally_string(identity->a),
			.unit = tally_string(identity->b),
			.self = item->self,
		};
		describe(w->p, &w->p->samples[item->tag - 1], &a->processes[i]);
	}
	if (take_heaviest(a, w->processes.nr, &w->comms, comm_of) ||
	    take_heaviest(a, w->processes.nr, &w->cgroups, cgroup_of))
		return -ENOMEM;
	a->nr_processes = w->processes.nr;
	qsort(a->processes, a->nr_processes, sizeof(*a->processes), compare_processes);
	return 0;
}
