// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/phase.h"
#include "analyze/tally.h"
#include "base/escape.h"
#include "profile/labels.h"

#define TEXT(name) (1u << OWNER_##name)
#define CONTAINER  (TEXT(CONTAINER) | TEXT(CONTAINER_NAME) | TEXT(RUNTIME))
#define ALL_TEXTS  ((1u << NR_OWNER_TEXTS) - 1)

const char *const group_by_names[] = {
	[GROUP_BY_NOTHING] = "",        [GROUP_BY_CONTAINER] = "container",
	[GROUP_BY_UNIT] = "unit",       [GROUP_BY_POD] = "pod",
	[GROUP_BY_PROCESS] = "process", [GROUP_BY_THREAD] = "thread",
	[GROUP_BY_COMM] = "comm",       [GROUP_BY_USER] = "user",
	[GROUP_BY_CGROUP] = "cgroup",   [GROUP_BY_PHASE] = "phase",
	[GROUP_BY_LABEL] = "",          [GROUP_BY_OWNER] = "",
};
_Static_assert(ARRAY_SIZE(group_by_names) == NR_GROUP_BY, "one name each");

/* Texts that are the same for all samples of a group. */
static const uint32_t texts_of[] = {
	[GROUP_BY_CONTAINER] = CONTAINER | TEXT(POD),
	[GROUP_BY_UNIT] = CONTAINER | TEXT(UNIT),
	[GROUP_BY_POD] = TEXT(POD),
	[GROUP_BY_PROCESS] = ALL_TEXTS,
	[GROUP_BY_THREAD] = ALL_TEXTS,
	[GROUP_BY_COMM] = TEXT(COMM),
	[GROUP_BY_USER] = TEXT(USER),
	[GROUP_BY_CGROUP] = CONTAINER | TEXT(POD) | TEXT(UNIT) | TEXT(CGROUP),
	[GROUP_BY_PHASE] = TEXT(LABEL),
	[GROUP_BY_LABEL] = TEXT(LABEL),
	[GROUP_BY_OWNER] = ALL_TEXTS,
};
_Static_assert(ARRAY_SIZE(texts_of) == NR_GROUP_BY, "one set each");

struct group_work {
	const struct profile *p;
	enum group_by by;
	struct owner_labels labels;
	uint8_t *phases; /* GROUP_BY_PHASE: enum phase of each sample; heap */
	struct tally images; /* (container, executable or unit): of processes */
	struct tally owned; /* (image, user) */
	struct tally unnumbered; /* (owned, command): of processes without a pid */
	/* See group_of(). total: charged to a line; tag: has the label; seen: ns_pid */
	struct tally groups;
	struct tally texts[NR_OWNER_TEXTS]; /* (group, text) */
};

static void work_deinit(struct group_work *w)
{
	tally_deinit(&w->images);
	tally_deinit(&w->owned);
	tally_deinit(&w->unnumbered);
	tally_deinit(&w->groups);
	for (size_t i = 0; i < NR_OWNER_TEXTS; i++)
		tally_deinit(&w->texts[i]);
	owner_labels_deinit(&w->labels);
	free(w->phases);
}

enum owner_text group_by_text(enum group_by by)
{
	static const enum owner_text texts[] = {
		[GROUP_BY_CONTAINER] = OWNER_CONTAINER,
		[GROUP_BY_UNIT] = OWNER_UNIT,
		[GROUP_BY_POD] = OWNER_POD,
		[GROUP_BY_COMM] = OWNER_COMM,
		[GROUP_BY_USER] = OWNER_USER,
		[GROUP_BY_CGROUP] = OWNER_CGROUP,
		[GROUP_BY_PHASE] = OWNER_LABEL,
		[GROUP_BY_LABEL] = OWNER_LABEL,
	};

	return texts[by];
}

static bool has_pid(enum group_by by)
{
	return by == GROUP_BY_PROCESS || by == GROUP_BY_THREAD || by == GROUP_BY_OWNER;
}

static bool is_told(enum group_by by, const struct sample_owner *o)
{
	if (by == GROUP_BY_PROCESS)
		return o->pid;
	if (by == GROUP_BY_THREAD)
		return o->tid;
	if (by == GROUP_BY_OWNER)
		return o->pid || *o->text[OWNER_COMM] || *o->text[OWNER_CONTAINER] ||
		       *o->text[OWNER_UNIT];
	return *o->text[group_by_text(by)] || (by == GROUP_BY_CGROUP && o->cgroup_id);
}

/*
 * Returns the number of what a pid is at a time, so that processes which had the same one
 * after each other are not one group, with the name of one and the user of the other.
 * Without a pid, as in profiles of other tools, processes differ by their commands.
 * PROFILE_NONE: out of memory.
 */
static uint32_t image_of(struct group_work *w, const struct sample_owner *o)
{
	const char *const *text = o->text;
	enum owner_text second = w->by == GROUP_BY_OWNER ? OWNER_UNIT : OWNER_EXE;
	uint32_t image = tally_number(&w->images, tally_key(text[OWNER_CONTAINER]),
				      tally_key(text[second]));

	if (image != PROFILE_NONE)
		image = tally_number(&w->owned, image, tally_key(text[OWNER_USER]));
	if (image != PROFILE_NONE && w->by == GROUP_BY_OWNER && !o->pid)
		image = tally_number(&w->unnumbered, image, tally_key(text[OWNER_COMM]));
	return image;
}

/* Returns the number of the sample's group; PROFILE_NONE: out of memory. */
static uint32_t group_of(struct group_work *w, const struct sample_owner *o)
{
	const char *const *text = o->text;
	uint64_t of = 0;

	if (!is_told(w->by, o))
		return tally_number(&w->groups, 0, PROFILE_NONE);
	if (has_pid(w->by)) {
		uint32_t tid = w->by == GROUP_BY_THREAD ? o->tid : 0;
		uint32_t image = image_of(w, o);

		return image == PROFILE_NONE
			       ? PROFILE_NONE
			       : tally_number(&w->groups, (uint64_t)o->pid << 32 | tid,
					      image);
	}
	if (w->by == GROUP_BY_CONTAINER)
		of = tally_key(text[OWNER_RUNTIME]);
	else if (w->by == GROUP_BY_UNIT)
		of = tally_key(text[OWNER_CONTAINER]);
	else if (w->by == GROUP_BY_CGROUP && !*text[OWNER_CGROUP])
		of = o->cgroup_id;
	return tally_number(&w->groups, tally_key(text[group_by_text(w->by)]), of);
}

/* Reads the labels of a sample. Its phase is one, if it was exported. */
static struct sample_owner owner_of(const struct group_work *w, size_t index)
{
	struct sample_owner o = sample_owner_of(&w->labels, &w->p->samples[index]);

	if (w->phases && !*o.text[OWNER_LABEL])
		o.text[OWNER_LABEL] =
			strpool_add(w->p->pool, phase_names[w->phases[index]]);
	return o;
}

static int tally_sample(struct group_work *w, size_t index, struct weight weight,
			bool has_line)
{
	struct sample_owner o = owner_of(w, index);
	bool told = is_told(w->by, &o);
	uint32_t group;

	if (!told && w->by == GROUP_BY_OWNER)
		return 0;
	group = group_of(w, &o);
	if (group == PROFILE_NONE)
		return -ENOMEM;
	weight_add(&w->groups.items[group].self, weight);
	if (has_line)
		weight_add(&w->groups.items[group].total, weight);
	w->groups.items[group].tag = told;
	if (!w->groups.items[group].seen)
		w->groups.items[group].seen = o.ns_pid;
	for (size_t i = 0; i < NR_OWNER_TEXTS && told; i++) {
		uint32_t item;

		if (!(texts_of[w->by] & 1u << i) || !*o.text[i])
			continue;
		item = tally_number(&w->texts[i], group, tally_key(o.text[i]));
		if (item == PROFILE_NONE)
			return -ENOMEM;
		weight_add(&w->texts[i].items[item].self, weight);
	}
	return 0;
}

static int tally_all(struct group_work *w, const struct attribution *a)
{
	struct weigher weigher = weigher_of(w->p);

	if (w->by == GROUP_BY_PHASE) {
		w->phases = malloc(w->p->nr_samples + 1);
		if (!w->phases || phases_of_samples(w->p, w->phases))
			return -ENOMEM;
	}
	for (size_t i = 0; i < w->p->nr_samples; i++) {
		const struct profile_sample *s = &w->p->samples[i];
		struct weight weight = weigher_weigh(&weigher, s);

		if (!weight_is_zero(&weight) &&
		    tally_sample(w, i, weight, a->charges[i].frame != PROFILE_NONE))
			return -ENOMEM;
	}
	return 0;
}

/* Compares by name if the weights are equal. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int r = weight_compare(x->self, y->self);

	if (!r && x->pid != y->pid)
		r = x->pid < y->pid ? -1 : 1;
	if (!r && x->tid != y->tid)
		r = x->tid < y->tid ? -1 : 1;
	for (size_t i = 0; i < NR_OWNER_TEXTS && !r; i++)
		r = strcmp(x->text[i], y->text[i]);
	if (!r && x->cgroup_id != y->cgroup_id)
		r = x->cgroup_id < y->cgroup_id ? -1 : 1;
	return r;
}

static void set_texts(const struct group_work *w, struct groups *g, enum owner_text text,
		      struct weight *best)
{
	const struct tally *t = &w->texts[text];

	memset(best, 0, (g->nr + 1) * sizeof(*best));
	for (size_t i = 0; i < t->nr; i++) {
		const struct tally_item *item = &t->items[i];
		struct group *group = &g->items[item->a];

		if (*group->text[text] && weight_compare(item->self, best[item->a]) >= 0)
			continue;
		group->text[text] = tally_string(item->b);
		best[item->a] = item->self;
	}
}

static int build(const struct group_work *w, struct groups *g)
{
	_cleanup_free_ struct weight *best = calloc(w->groups.nr + 1, sizeof(*best));

	g->items = calloc(w->groups.nr + 1, sizeof(*g->items));
	if (!g->items || !best)
		return -ENOMEM;
	g->nr = w->groups.nr;
	for (size_t i = 0; i < g->nr; i++) {
		const struct tally_item *item = &w->groups.items[i];
		struct group *group = &g->items[i];

		*group = (struct group){
			.is_told = item->tag,
			.pid = has_pid(w->by) ? (uint32_t)(item->a >> 32) : 0,
			.tid = has_pid(w->by) ? (uint32_t)item->a : 0,
			.ns_pid = w->by == GROUP_BY_OWNER ? item->seen : 0,
			.cgroup_id = item->tag && w->by == GROUP_BY_CGROUP ? item->b : 0,
			.self = item->self,
			.with_line = item->total,
		};
		for (size_t k = 0; k < NR_OWNER_TEXTS; k++)
			group->text[k] = w->labels.empty;
	}
	for (size_t k = 0; k < NR_OWNER_TEXTS; k++)
		set_texts(w, g, (enum owner_text)k, best);
	qsort(g->items, g->nr, sizeof(*g->items), compare_groups);
	return 0;
}

const char *group_by_name(const struct groups *g)
{
	return g->label ? g->label : group_by_names[g->by];
}

/* "comm, exe, pid" */
static void list_labels(const struct profile *p, char *buf, size_t size)
{
	struct tally keys = {0};

	*buf = '\0';
	for (size_t i = 0; i < p->nr_labels; i++) {
		size_t nr = keys.nr;

		/* Out of memory the list may be short. */
		if (tally_number(&keys, tally_key(p->labels[i].key), 0) == nr)
			text_append(buf, size, "%s%.64s", nr ? ", " : "",
				    p->labels[i].key);
	}
	tally_deinit(&keys);
}

static int refuse_label(const struct profile *p, const char *label, struct error *err)
{
	char labels[512], names[128] = "";

	list_labels(p, labels, sizeof(labels));
	for (int by = GROUP_BY_NOTHING + 1; by < GROUP_BY_LABEL; by++)
		text_append(names, sizeof(names), "%s, ", group_by_names[by]);
	return error_set(err, -ENODATA,
			 "no sample has the label \"%s\"; --by takes %sor a label: %s",
			 label, names, *labels ? labels : "there is none here");
}

/*
 * Explains missing labels: maybe nothing ran in a container, maybe they were not
 * recorded.
 */
static int check_labels(const struct profile *p, const struct groups *g,
			struct error *err)
{
	if (g->nr != 1 || g->items[0].is_told)
		return 0;
	if (g->by == GROUP_BY_LABEL)
		return refuse_label(p, g->label, err);
	if (!p->extra.present)
		return error_set(
			err, -ENODATA,
			"the samples of this profile have no label \"%s\": another tool "
			"wrote it",
			g->by == GROUP_BY_PROCESS  ? LABEL_PID
			: g->by == GROUP_BY_THREAD ? LABEL_TID
						   : group_by_names[g->by]);
	if (g->by == GROUP_BY_THREAD)
		return error_set(
			err, -ENODATA,
			"threads are not told apart in this profile; record with "
			"--tid, or group by process");
	return 0;
}

int groups_new(const struct profile *p, const struct attribution *a, enum group_by by,
	       const char *label, struct groups **ret, struct error *err)
{
	_cleanup_(groups_freep) struct groups *g = calloc(1, sizeof(*g));
	struct group_work w = {
		.p = p,
		.by = by,
		.labels = owner_labels_of(p, by == GROUP_BY_PHASE ? LABEL_PHASE : label)};
	int rc = g ? tally_all(&w, a) : -ENOMEM;

	if (!rc) {
		g->by = by;
		g->label = label;
		rc = build(&w, g);
	}
	work_deinit(&w);
	if (rc)
		return error_set(err, rc, "out of memory");
	rc = check_labels(p, g, err);
	if (!rc)
		*ret = take_ptr(g);
	return rc;
}

void groups_free(struct groups *g)
{
	if (!g)
		return;
	free(g->items);
	free(g);
}
