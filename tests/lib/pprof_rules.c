// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/pprof_rules.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile.pb-c.h"
#include "profile/gzip.h"

#define MAX_BYTES (1u << 30)

struct rules {
	const Perftools__Profiles__Profile *p;
	char *text; /* the first broken rule; "": none yet */
	size_t text_size;
};

__attribute__((format(printf, 3, 4))) static bool rule(struct rules *r, bool holds,
						       const char *broken, ...)
{
	va_list args;

	if (!holds && !*r->text) {
		va_start(args, broken);
		vsnprintf(r->text, r->text_size, broken, args);
		va_end(args);
	}
	return holds;
}

/* Length of the UTF-8 code point at @s (RFC 3629); 0: invalid. */
static size_t code_point(const uint8_t *s)
{
	size_t len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;

	if (*s > 0xf4)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Reject overlong forms, surrogates, and code points above U+10FFFF. */
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static bool is_utf8(const char *s)
{
	while (*s) {
		size_t len = code_point((const uint8_t *)s);

		if (!len)
			return false;
		s += len;
	}
	return true;
}

/* Checks that @i is an index into the string table, and not of "" if @must. */
static void string(struct rules *r, int64_t i, bool must, const char *what, size_t at)
{
	rule(r, i >= 0 && (uint64_t)i < r->p->n_string_table, "%s %zu: no string %lld",
	     what, at, (long long)i);
	rule(r, !must || i > 0, "%s %zu: it has no name", what, at);
}

static void strings(struct rules *r)
{
	rule(r, r->p->n_string_table && !*r->p->string_table[0],
	     "the first string is not empty");
	for (size_t i = 0; i < r->p->n_string_table; i++)
		rule(r, is_utf8(r->p->string_table[i]), "string %zu is not UTF-8", i);
}

static void types(struct rules *r)
{
	const Perftools__Profiles__ValueType *period = r->p->period_type;

	rule(r, r->p->n_sample_type, "no sample type");
	for (size_t i = 0; i < r->p->n_sample_type; i++) {
		string(r, r->p->sample_type[i]->type, true, "sample type", i);
		string(r, r->p->sample_type[i]->unit, true, "sample type", i);
		for (size_t k = 0; k < i; k++)
			rule(r, r->p->sample_type[k]->type != r->p->sample_type[i]->type,
			     "sample type %zu is there twice", i);
	}
	if (rule(r, period, "no period type")) {
		string(r, period->type, true, "period type", 0);
		string(r, period->unit, true, "period type", 0);
	}
}

static void mappings(struct rules *r)
{
	for (size_t i = 0; i < r->p->n_mapping; i++) {
		const Perftools__Profiles__Mapping *m = r->p->mapping[i];

		rule(r, m->id == i + 1, "mapping %zu has the id %llu", i,
		     (unsigned long long)m->id);
		rule(r, m->memory_start <= m->memory_limit, "mapping %zu ends too early",
		     i);
		string(r, m->filename, true, "mapping", i);
		string(r, m->build_id, false, "mapping", i);
	}
}

static void functions(struct rules *r)
{
	for (size_t i = 0; i < r->p->n_function; i++) {
		const Perftools__Profiles__Function *f = r->p->function[i];

		rule(r, f->id == i + 1, "function %zu has the id %llu", i,
		     (unsigned long long)f->id);
		rule(r, f->start_line >= 0, "function %zu begins before its file", i);
		string(r, f->name, true, "function", i);
		string(r, f->system_name, false, "function", i);
		string(r, f->filename, false, "function", i);
	}
}

static void locations(struct rules *r)
{
	for (size_t i = 0; i < r->p->n_location; i++) {
		const Perftools__Profiles__Location *l = r->p->location[i];

		rule(r, l->id == i + 1, "location %zu has the id %llu", i,
		     (unsigned long long)l->id);
		rule(r, l->mapping_id <= r->p->n_mapping, "location %zu: no mapping %llu",
		     i, (unsigned long long)l->mapping_id);
		rule(r, l->n_line, "location %zu has no function", i);
		for (size_t k = 0; k < l->n_line; k++) {
			const Perftools__Profiles__Line *line = l->line[k];

			rule(r,
			     line->function_id && line->function_id <= r->p->n_function,
			     "location %zu: no function %llu", i,
			     (unsigned long long)line->function_id);
			rule(r, line->line >= 0, "location %zu: line %lld", i,
			     (long long)line->line);
		}
	}
}

static void labels(struct rules *r, const Perftools__Profiles__Sample *s, size_t i)
{
	for (size_t k = 0; k < s->n_label; k++) {
		const Perftools__Profiles__Label *label = s->label[k];

		string(r, label->key, true, "label of sample", i);
		string(r, label->str, false, "label of sample", i);
		string(r, label->num_unit, false, "label of sample", i);
		rule(r, !label->str || !label->num,
		     "sample %zu: a label is a string and a number", i);
	}
}

static void samples(struct rules *r)
{
	for (size_t i = 0; i < r->p->n_sample; i++) {
		const Perftools__Profiles__Sample *s = r->p->sample[i];

		rule(r, s->n_value == r->p->n_sample_type,
		     "sample %zu has %zu values of %zu types", i, s->n_value,
		     r->p->n_sample_type);
		for (size_t k = 0; k < s->n_value; k++)
			rule(r, s->value[k] >= 0, "sample %zu has the value %lld", i,
			     (long long)s->value[k]);
		for (size_t k = 0; k < s->n_location_id; k++)
			rule(r,
			     s->location_id[k] && s->location_id[k] <= r->p->n_location,
			     "sample %zu: no location %llu", i,
			     (unsigned long long)s->location_id[k]);
		labels(r, s, i);
	}
}

/* ---- what is sent to servers ---- */

#define PUSH_MAX_BYTES   (4u << 20)
#define PUSH_MAX_SAMPLES 16000

static void no_address(struct rules *r)
{
	for (size_t i = 0; i < r->p->n_location; i++)
		rule(r, !r->p->location[i]->address, "location %zu has an address", i);
	for (size_t i = 0; i < r->p->n_mapping; i++) {
		const Perftools__Profiles__Mapping *m = r->p->mapping[i];

		rule(r, !m->memory_start && !m->memory_limit && !m->file_offset,
		     "mapping %zu has addresses", i);
		rule(r, m->has_functions && m->has_line_numbers,
		     "mapping %zu could be symbolized", i);
	}
}

static bool is_label_of_many(const char *key)
{
	static const char *const keys[] = {"pid",    "tid",       "ns_pid", "cgroup_id",
					   "cgroup", "container", "pod"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void few_labels(struct rules *r)
{
	for (size_t i = 0; i < r->p->n_sample; i++) {
		const Perftools__Profiles__Sample *s = r->p->sample[i];

		for (size_t k = 0; k < s->n_label; k++) {
			int64_t key = s->label[k]->key;

			/* labels() has checked the rest */
			if (key > 0 && (uint64_t)key < r->p->n_string_table)
				rule(r, !is_label_of_many(r->p->string_table[key]),
				     "sample %zu has the label %s", i,
				     r->p->string_table[key]);
			if (s->label[k]->str > 0 &&
			    (uint64_t)s->label[k]->str < r->p->n_string_table)
				rule(r,
				     !strstr(r->p->string_table[s->label[k]->str],
					     ".scope"),
				     "sample %zu has a scope as label", i);
		}
	}
}

/* Samples with equal stacks and labels are one. */
static bool is_same_sample(const Perftools__Profiles__Sample *a,
			   const Perftools__Profiles__Sample *b)
{
	if (a->n_location_id != b->n_location_id || a->n_label != b->n_label)
		return false;
	if (a->n_location_id && memcmp(a->location_id, b->location_id,
				       a->n_location_id * sizeof(*a->location_id)) != 0)
		return false;
	for (size_t i = 0; i < a->n_label; i++)
		if (a->label[i]->key != b->label[i]->key ||
		    a->label[i]->str != b->label[i]->str ||
		    a->label[i]->num != b->label[i]->num)
			return false;
	return true;
}

static void merged(struct rules *r)
{
	for (size_t i = 1; i < r->p->n_sample; i++)
		for (size_t k = i > 100 ? i - 100 : 0; k < i; k++)
			rule(r, !is_same_sample(r->p->sample[i], r->p->sample[k]),
			     "sample %zu is sample %zu once more", i, k);
}

static void push(struct rules *r, size_t unpacked_len)
{
	rule(r, unpacked_len <= PUSH_MAX_BYTES, "it unpacks to %zu bytes", unpacked_len);
	rule(r, r->p->n_sample <= PUSH_MAX_SAMPLES, "it has %zu samples", r->p->n_sample);
	rule(r, !r->p->lineburn_extra.len, "it has lineburn's own data");
	no_address(r);
	few_labels(r);
	merged(r);
}

static bool hold(const void *data, size_t len, bool is_pushed, char *text,
		 size_t text_size)
{
	struct rules r = {.text = text, .text_size = text_size};
	_cleanup_free_ uint8_t *unpacked = NULL;
	Perftools__Profiles__Profile *p;
	size_t unpacked_len;

	*text = '\0';
	if (!rule(&r, !gzip_inflate(data, len, MAX_BYTES, &unpacked, &unpacked_len),
		  "it is not gzipped, or damaged"))
		return false;
	p = perftools__profiles__profile__unpack(NULL, unpacked_len, unpacked);
	if (!rule(&r, p, "it is no profile.proto"))
		return false;
	r.p = p;
	strings(&r);
	types(&r);
	mappings(&r);
	functions(&r);
	locations(&r);
	samples(&r);
	if (is_pushed)
		push(&r, unpacked_len);
	perftools__profiles__profile__free_unpacked(p, NULL);
	return !*text;
}

bool pprof_rules_hold(const void *data, size_t len, char *text, size_t text_size)
{
	return hold(data, len, false, text, text_size);
}

bool pprof_push_rules_hold(const void *data, size_t len, char *text, size_t text_size)
{
	return hold(data, len, true, text, text_size);
}
