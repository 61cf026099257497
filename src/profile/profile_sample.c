// SPDX-License-Identifier: GPL-2.0-or-later
/* The samples of a profile: one entry per distinct stack, labels and status. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

struct sample_key {
	const uint32_t *locations;
	const struct profile_label *labels; /* not interned yet */
	size_t nr_locations, nr_labels;
	uint32_t status;
};

static bool text_eq(const char *interned, const char *text)
{
	return interned == text || !strcmp(interned, text ? text : "");
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text)) : hash_bytes(hash, "", 0);
}

static uint64_t sample_hash(const struct sample_key *key)
{
	uint64_t hash = hash_u64(key->status, key->nr_locations);

	for (size_t i = 0; i < key->nr_locations; i++)
		hash = hash_u64(hash, key->locations[i]);
	for (size_t i = 0; i < key->nr_labels; i++) {
		const struct profile_label *label = &key->labels[i];

		hash = hash_text(hash_u64(hash, (uint64_t)label->num), label->key);
		hash = hash_text(hash_text(hash, label->str), label->unit);
	}
	return hash;
}

static bool sample_eq(uint32_t item, const void *k, const void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_sample *s = &p->samples[item];
	const struct sample_key *key = k;

	if (s->status != key->status || s->nr_locations != key->nr_locations ||
	    s->nr_labels != key->nr_labels)
		return false;
	if (key->nr_locations &&
	    memcmp(&p->sample_locations[s->first_location], key->locations,
		   key->nr_locations * sizeof(*key->locations)))
		return false;
	for (size_t i = 0; i < key->nr_labels; i++) {
		const struct profile_label *a = &p->labels[s->first_label + i];
		const struct profile_label *b = &key->labels[i];

		if (a->num != b->num || !text_eq(a->key, b->key) ||
		    !text_eq(a->str, b->str) || !text_eq(a->unit, b->unit))
			return false;
	}
	return true;
}

static uint64_t labels_hash(const struct profile_label *labels, size_t nr)
{
	uint64_t hash = hash_u64(0, nr);

	for (size_t i = 0; i < nr; i++) {
		hash = hash_pointer(hash, labels[i].key);
		hash = hash_pointer(hash, labels[i].str);
		hash = hash_u64(hash, (uint64_t)labels[i].num);
		hash = hash_pointer(hash, labels[i].unit);
	}
	return hash;
}

/* @key  the first one of a run that ends with the last label */
static bool labels_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_label *a = &p->labels[item], *b = key;
	size_t nr = (size_t)(p->labels + p->nr_labels - b);

	if (a + nr > b)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (a[i].key != b[i].key || a[i].str != b[i].str ||
		    a[i].num != b[i].num || a[i].unit != b[i].unit)
			return false;
	return true;
}

uint32_t profile_share_labels(struct profile *p, uint32_t first)
{
	const struct profile_label *labels;
	uint64_t hash;
	uint32_t item;

	if (first == p->nr_labels)
		return first; /* there may be no array at all */
	labels = &p->labels[first];
	hash = labels_hash(labels, p->nr_labels - first);
	item = hashmap_find(&p->label_index, hash, labels_eq, labels, p);
	if (item != HASHMAP_NONE) {
		p->nr_labels = first;
		return item;
	}
	/* Without memory for the index it is just not shared. */
	hashmap_add(&p->label_index, hash, first);
	return first;
}

static int reserve(struct profile *p, const struct sample_key *key)
{
	size_t nr_locations = p->nr_sample_locations + key->nr_locations;
	size_t nr_labels = p->nr_labels + key->nr_labels;
	size_t nr_values = p->nr_values + p->nr_value_types;

	if (vec_grow(&p->sample_locations, &p->cap_sample_locations, nr_locations,
		     sizeof(*p->sample_locations), PROFILE_MAX_SAMPLE_LOCATIONS) ||
	    vec_grow(&p->labels, &p->cap_labels, nr_labels, sizeof(*p->labels),
		     PROFILE_MAX_LABELS) ||
	    vec_grow(&p->values, &p->cap_values, nr_values, sizeof(*p->values),
		     PROFILE_MAX_VALUES) ||
	    vec_grow(&p->samples, &p->cap_samples, p->nr_samples + 1, sizeof(*p->samples),
		     PROFILE_MAX_SAMPLES))
		return -ENOMEM;
	return 0;
}

static uint32_t insert(struct profile *p, const struct sample_key *key, uint64_t hash)
{
	uint32_t first_label = (uint32_t)p->nr_labels;
	struct profile_sample *s;

	if (reserve(p, key) ||
	    hashmap_add(&p->sample_index, hash, (uint32_t)p->nr_samples))
		return PROFILE_NONE;
	for (size_t i = 0; i < key->nr_labels; i++)
		p->labels[p->nr_labels++] = (struct profile_label){
			.key = strpool_add(p->pool, key->labels[i].key),
			.str = strpool_add(p->pool, key->labels[i].str),
			.num = key->labels[i].num,
			.unit = strpool_add(p->pool, key->labels[i].unit),
		};
	s = &p->samples[p->nr_samples];
	*s = (struct profile_sample){
		.first_location = (uint32_t)p->nr_sample_locations,
		.nr_locations = (uint32_t)key->nr_locations,
		.first_label = profile_share_labels(p, first_label),
		.nr_labels = (uint32_t)key->nr_labels,
		.first_value = (uint32_t)p->nr_values,
		.status = key->status,
	};
	for (size_t i = 0; i < key->nr_locations; i++)
		p->sample_locations[p->nr_sample_locations++] = key->locations[i];
	for (size_t i = 0; i < p->nr_value_types; i++)
		p->values[p->nr_values++] = 0;
	return (uint32_t)p->nr_samples++;
}

/* Sums stay within the type: a hostile file has nothing to gain from wrapping. */
static void add_value(struct profile *p, const struct profile_sample *s, uint32_t value,
		      int64_t amount)
{
	int64_t *sum;

	if (value == PROFILE_NONE)
		return;
	sum = &p->values[s->first_value + value];
	if (__builtin_add_overflow(*sum, amount, sum))
		*sum = amount < 0 ? INT64_MIN : INT64_MAX;
}

uint32_t profile_add_sample(struct profile *p, const uint32_t *locations, size_t nr,
			    const struct profile_label *labels, size_t nr_labels,
			    uint32_t status, int64_t count, int64_t cpu_ns)
{
	struct sample_key key = {.locations = locations,
				 .labels = labels,
				 .nr_locations = nr,
				 .nr_labels = nr_labels,
				 .status = status};
	uint64_t hash = sample_hash(&key);
	uint32_t item = hashmap_find(&p->sample_index, hash, sample_eq, &key, p);

	if (item == HASHMAP_NONE) {
		for (size_t i = 0; i < nr; i++)
			if (locations[i] >= p->nr_locations)
				return PROFILE_NONE;
		item = insert(p, &key, hash);
	}
	if (item == PROFILE_NONE)
		return PROFILE_NONE;
	add_value(p, &p->samples[item], p->count_value, count);
	add_value(p, &p->samples[item], p->cpu_value, cpu_ns);
	return item;
}
