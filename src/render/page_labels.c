// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/phase.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/vec.h"
#include "profile/labels.h"

#define SHORT_ID 12 /* digits of a container's id */

const char *const page_label_names[NR_PAGE_LABELS] = {
	[PAGE_PROGRAM] = "Program", [PAGE_PROCESS] = "Process",
	[PAGE_THREAD] = "Thread",   [PAGE_CONTAINER] = "Container",
	[PAGE_POD] = "Pod",         [PAGE_UNIT] = "Unit",
	[PAGE_USER] = "User",       [PAGE_PHASE] = "Phase",
};

struct labels_builder {
	const struct profile *p;
	struct page_labels *to;
	struct hashmap index; /* of to->sets */
};

static void labels_builder_deinit(struct labels_builder *b)
{
	page_labels_free(b->to);
	hashmap_deinit(&b->index);
}

static const struct profile_label *find_label(const struct profile *p,
					      const struct profile_sample *s,
					      const char *key)
{
	for (uint32_t i = 0; i < s->nr_labels; i++)
		if (!strcmp(p->labels[s->first_label + i].key, key))
			return &p->labels[s->first_label + i];
	return NULL;
}

/* Returns the label's text; "": it has none, or is a number. */
static const char *text_of(const struct profile *p, const struct profile_sample *s,
			   const char *key)
{
	const struct profile_label *l = find_label(p, s, key);

	return l ? l->str : "";
}

/* "python3.11 (4711)"; without the number if there is none. */
static const char *numbered(const struct profile *p, const char *name,
			    const struct profile_label *number)
{
	if (!number)
		return strpool_add(p->pool, name);
	return strpool_print(p->pool, "%.256s%s(%" PRId64 ")", name, *name ? " " : "",
			     number->num);
}

static void read_labels(const struct profile *p, const struct profile_sample *s,
			enum phase phase, bool has_phases, struct page_label_set *ret)
{
	const char *comm = text_of(p, s, LABEL_COMM);
	const char *program = path_basename(text_of(p, s, LABEL_EXE));
	const char *container = text_of(p, s, LABEL_CONTAINER_NAME);

	if (!*program)
		program = comm; /* a thread of the kernel */
	ret->text[PAGE_PROGRAM] = strpool_add(p->pool, program);
	ret->text[PAGE_PROCESS] = numbered(p, program, find_label(p, s, LABEL_PID));
	ret->text[PAGE_THREAD] = numbered(p, comm, find_label(p, s, LABEL_TID));
	if (*container)
		ret->text[PAGE_CONTAINER] = strpool_add(p->pool, container);
	else
		ret->text[PAGE_CONTAINER] = strpool_print(p->pool, "%.*s", SHORT_ID,
							  text_of(p, s, LABEL_CONTAINER));
	ret->text[PAGE_POD] = strpool_add(p->pool, text_of(p, s, LABEL_POD));
	ret->text[PAGE_UNIT] = strpool_add(p->pool, text_of(p, s, LABEL_UNIT));
	ret->text[PAGE_USER] = strpool_add(p->pool, text_of(p, s, LABEL_USER));
	ret->text[PAGE_PHASE] =
		strpool_add(p->pool, has_phases ? phase_words[phase] : "");
}

static bool is_set(uint32_t item, const void *key, const void *ctx)
{
	const struct page_labels *l = ctx;

	return !memcmp(&l->sets[item], key, sizeof(l->sets[item]));
}

static uint32_t set_number(struct labels_builder *b, const struct page_label_set *set)
{
	struct page_labels *to = b->to;
	uint64_t hash = hash_bytes(0, set, sizeof(*set));
	uint32_t number = hashmap_get(&b->index, hash, is_set, set, to);

	if (number != HASHMAP_NONE)
		return number;
	number = (uint32_t)to->nr_sets;
	if (vec_grow(&to->sets, &to->cap_sets, to->nr_sets + 1, sizeof(*to->sets),
		     HASHMAP_NONE) ||
	    hashmap_add(&b->index, hash, number))
		return PROFILE_NONE;
	to->sets[to->nr_sets++] = *set;
	return number;
}

static void forget_labels(const struct profile *p, enum page_detail detail,
			  struct page_label_set *set)
{
	for (int i = 0; i < NR_PAGE_LABELS; i++)
		if (detail == PAGE_NO_LABELS || (detail == PAGE_NO_PROCESSES &&
						 (i == PAGE_PROCESS || i == PAGE_THREAD)))
			set->text[i] = strpool_add(p->pool, "");
}

int page_labels_new(const struct profile *p, enum page_detail detail,
		    struct page_labels **ret)
{
	_cleanup_(labels_builder_deinit) struct labels_builder b = {.p = p};
	_cleanup_free_ uint8_t *phases = malloc(p->nr_samples + 1);
	bool has_phases = false;

	b.to = calloc(1, sizeof(*b.to));
	if (!phases || !b.to || phases_of_samples(p, phases))
		return -ENOMEM;
	b.to->set_of = calloc(p->nr_samples + 1, sizeof(*b.to->set_of));
	if (!b.to->set_of)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_samples; i++)
		has_phases |= phases[i] != PHASE_REST;
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct page_label_set set;

		read_labels(p, &p->samples[i], (enum phase)phases[i], has_phases, &set);
		forget_labels(p, detail, &set);
		b.to->set_of[i] = set_number(&b, &set);
		if (b.to->set_of[i] == PROFILE_NONE)
			return -ENOMEM;
	}
	*ret = take_ptr(b.to);
	return 0;
}

void page_labels_free(struct page_labels *l)
{
	if (!l)
		return;
	free(l->sets);
	free(l->set_of);
	free(l);
}
