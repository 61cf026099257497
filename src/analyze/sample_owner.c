// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/sample_owner.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/labels.h"

static const char *const text_labels[] = {
	[OWNER_CONTAINER_NAME] = LABEL_CONTAINER_NAME,
	[OWNER_CONTAINER] = LABEL_CONTAINER,
	[OWNER_RUNTIME] = LABEL_RUNTIME,
	[OWNER_POD] = LABEL_POD,
	[OWNER_UNIT] = LABEL_UNIT,
	[OWNER_COMM] = LABEL_COMM,
	[OWNER_EXE] = LABEL_EXE,
	[OWNER_USER] = LABEL_USER,
	[OWNER_CGROUP] = LABEL_CGROUP,
	[OWNER_LABEL] = NULL, /* the caller chooses */
};
_Static_assert(ARRAY_SIZE(text_labels) == NR_OWNER_TEXTS, "one label per text");

static bool has_id(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct owner_labels *)ctx)->names[item].id == key;
}

/* @id  interned. Return: "" if unknown */
static const char *name_of(const struct owner_labels *labels, const char *id)
{
	uint32_t item =
		hashmap_get(&labels->by_id, hash_pointer(0, id), has_id, id, labels);

	return item == HASHMAP_NONE ? labels->empty : labels->names[item].name;
}

static void learn_name(struct owner_labels *labels, const struct profile_sample *s)
{
	const char *id = labels->empty, *name = labels->empty;

	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label =
			&labels->p->labels[s->first_label + i];

		if (label->key == labels->text[OWNER_CONTAINER])
			id = label->str;
		else if (label->key == labels->text[OWNER_CONTAINER_NAME])
			name = label->str;
	}
	if (!*id || !*name || *name_of(labels, id) ||
	    vec_grow(&labels->names, &labels->cap_names, labels->nr_names + 1,
		     sizeof(*labels->names), OWNER_NAMES_MAX) ||
	    hashmap_add(&labels->by_id, hash_pointer(0, id), (uint32_t)labels->nr_names))
		return;
	labels->names[labels->nr_names++] = (struct owner_name){id, name};
}

static void learn_names(struct owner_labels *labels)
{
	for (size_t i = 0; i < labels->p->nr_samples; i++)
		learn_name(labels, &labels->p->samples[i]);
}

static bool has_texts(const struct owner_labels *labels, const char *key)
{
	const struct profile *p = labels->p;

	for (size_t i = 0; i < NR_OWNER_TEXTS; i++)
		if (i != OWNER_LABEL && labels->text[i] == key)
			return true;
	for (size_t i = 0; i < p->nr_labels; i++)
		if (p->labels[i].key == key && *p->labels[i].str)
			return true;
	return false;
}

struct owner_labels owner_labels_of(const struct profile *p, const char *label)
{
	struct owner_labels labels = {
		.p = p,
		.pid = strpool_add(p->pool, LABEL_PID),
		.tid = strpool_add(p->pool, LABEL_TID),
		.ns_pid = strpool_add(p->pool, LABEL_NS_PID),
		.cgroup_id = strpool_add(p->pool, LABEL_CGROUP_ID),
		.empty = strpool_add(p->pool, ""),
	};

	for (size_t i = 0; i < NR_OWNER_TEXTS; i++)
		if (i != OWNER_LABEL)
			labels.text[i] = strpool_add(p->pool, text_labels[i]);
	if (label) {
		labels.text[OWNER_LABEL] = strpool_add(p->pool, label);
		labels.is_text = has_texts(&labels, labels.text[OWNER_LABEL]);
	}
	learn_names(&labels);
	return labels;
}

void owner_labels_deinit(struct owner_labels *labels)
{
	free(labels->names);
	hashmap_deinit(&labels->by_id);
}

static void take_number(uint32_t *ret, int64_t num)
{
	if (num > 0 && num <= INT32_MAX)
		*ret = (uint32_t)num;
}

static void take_label(const struct owner_labels *labels, struct sample_owner *owner,
		       const struct profile_label *label)
{
	if (label->key == labels->pid)
		take_number(&owner->pid, label->num);
	else if (label->key == labels->tid)
		take_number(&owner->tid, label->num);
	else if (label->key == labels->ns_pid)
		take_number(&owner->ns_pid, label->num);
	else if (label->key == labels->cgroup_id && label->num > 0)
		owner->cgroup_id = (uint64_t)label->num;
	for (size_t i = 0; i < NR_OWNER_TEXTS; i++)
		if (label->key == labels->text[i])
			owner->text[i] = label->str;
	if (label->key == labels->text[OWNER_LABEL] && !*label->str &&
	    (label->num || *label->unit || !labels->is_text))
		owner->text[OWNER_LABEL] =
			strpool_print(labels->p->pool, "%" PRId64, label->num);
}

struct sample_owner sample_owner_of(const struct owner_labels *labels,
				    const struct profile_sample *s)
{
	struct sample_owner owner = {0};

	for (size_t i = 0; i < NR_OWNER_TEXTS; i++)
		owner.text[i] = labels->empty;
	for (uint32_t i = 0; i < s->nr_labels; i++)
		take_label(labels, &owner, &labels->p->labels[s->first_label + i]);
	if (*owner.text[OWNER_CONTAINER] && !*owner.text[OWNER_CONTAINER_NAME])
		owner.text[OWNER_CONTAINER_NAME] =
			name_of(labels, owner.text[OWNER_CONTAINER]);
	if (labels->text[OWNER_LABEL] == labels->text[OWNER_CONTAINER_NAME] &&
	    !*owner.text[OWNER_LABEL])
		owner.text[OWNER_LABEL] = owner.text[OWNER_CONTAINER_NAME];
	return owner;
}
