// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/phase.h"
#include "analyze/sample_owner.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/vec.h"
#include "profile/labels.h"
#include "render/groups.h"

const char *const page_label_names[NR_PAGE_LABELS] = {
	[PAGE_PROGRAM] = "Program", [PAGE_PROCESS] = "Process",
	[PAGE_THREAD] = "Thread",   [PAGE_CONTAINER] = "Container",
	[PAGE_POD] = "Pod",         [PAGE_UNIT] = "Unit",
	[PAGE_USER] = "User",       [PAGE_PHASE] = "Phase",
};

/* What report --by container tells apart; all interned, "": not known. */
struct page_container {
	const char *id, *name, *runtime;
	const char *text; /* on the page, different from others; without id: "" */
};

struct labels_builder {
	const struct profile *p;
	struct page_labels *to;
	struct hashmap index; /* of to->sets */
	struct owner_labels owners;
	struct tally containers_index; /* (id, runtime): as containers */
	struct page_container *containers;
	size_t cap_containers;
};

static void labels_builder_deinit(struct labels_builder *b)
{
	page_labels_free(b->to);
	hashmap_deinit(&b->index);
	owner_labels_deinit(&b->owners);
	tally_deinit(&b->containers_index);
	free(b->containers);
}

/* ---- containers ---- */

static int add_container(struct labels_builder *b, const struct profile_sample *s)
{
	struct sample_owner o = sample_owner_of(&b->owners, s);
	const char *id = o.text[OWNER_CONTAINER], *name = o.text[OWNER_CONTAINER_NAME];
	const char *runtime = o.text[OWNER_RUNTIME];
	size_t known = b->containers_index.nr;
	uint32_t number =
		tally_number(&b->containers_index, tally_key(id), tally_key(runtime));

	if (number == PROFILE_NONE ||
	    vec_grow(&b->containers, &b->cap_containers, b->containers_index.nr,
		     sizeof(*b->containers), 0))
		return -ENOMEM;
	if (number < known)
		return 0;
	b->containers[number] = (struct page_container){id, name, runtime, id};
	if (*id)
		b->containers[number].text = strpool_add(
			b->p->pool, *name ? name : container_short_id(id).text);
	return 0;
}

/* Returns a text that says more: with the short id, or all of it (@is_whole). */
static const char *longer_text(const struct labels_builder *b,
			       const struct page_container *c, bool is_whole)
{
	struct strpool *pool = b->p->pool;

	if (is_whole)
		return strpool_print(pool, "%.512s%s(%.4096s%s%.64s)", c->name,
				     *c->name ? " " : "", c->id, *c->runtime ? ", " : "",
				     c->runtime);
	return strpool_add(pool, container_name(c->id, c->name, c->runtime).text);
}

/* Makes the texts of those longer that have one text. */
static int tell_apart(struct labels_builder *b, bool is_whole)
{
	_cleanup_(tally_deinit) struct tally texts = {0};

	for (size_t i = 0; i < b->containers_index.nr; i++) {
		uint32_t text = tally_number(&texts, tally_key(b->containers[i].text), 0);

		if (text == PROFILE_NONE)
			return -ENOMEM;
		texts.items[text].tag++;
	}
	for (size_t i = 0; i < b->containers_index.nr; i++) {
		struct page_container *c = &b->containers[i];

		if (*c->id &&
		    texts.items[tally_find(&texts, tally_key(c->text), 0)].tag > 1)
			c->text = longer_text(b, c, is_whole);
	}
	return 0;
}

static int list_containers(struct labels_builder *b)
{
	int r = 0;

	b->owners = owner_labels_of(b->p, NULL);
	for (size_t i = 0; i < b->p->nr_samples && !r; i++)
		r = add_container(b, &b->p->samples[i]);
	if (!r)
		r = tell_apart(b, false);
	return r ? r : tell_apart(b, true);
}

static const char *container_text(const struct labels_builder *b,
				  const struct profile_sample *s)
{
	struct sample_owner o = sample_owner_of(&b->owners, s);
	uint32_t number = tally_find(&b->containers_index,
				     tally_key(o.text[OWNER_CONTAINER]),
				     tally_key(o.text[OWNER_RUNTIME]));

	return b->containers[number].text;
}

/* ---- sets of labels ---- */

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

static void read_labels(const struct labels_builder *b, const struct profile_sample *s,
			enum phase phase, bool has_phases, struct page_label_set *ret)
{
	const struct profile *p = b->p;
	const char *comm = text_of(p, s, LABEL_COMM);
	const char *program = path_basename(text_of(p, s, LABEL_EXE));

	if (!*program)
		program = comm; /* a thread of the kernel */
	ret->text[PAGE_PROGRAM] = strpool_add(p->pool, program);
	ret->text[PAGE_PROCESS] = numbered(p, program, find_label(p, s, LABEL_PID));
	ret->text[PAGE_THREAD] = numbered(p, comm, find_label(p, s, LABEL_TID));
	ret->text[PAGE_CONTAINER] = container_text(b, s);
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
	if (!phases || !b.to || phases_of_samples(p, phases) || list_containers(&b))
		return -ENOMEM;
	b.to->set_of = calloc(p->nr_samples + 1, sizeof(*b.to->set_of));
	if (!b.to->set_of)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_samples; i++)
		has_phases |= phases[i] != PHASE_REST;
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct page_label_set set;

		read_labels(&b, &p->samples[i], (enum phase)phases[i], has_phases, &set);
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
