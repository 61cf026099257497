// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads any tool's profile into the model. The file is untrusted: it is unpacked up to
 * a limit, split into parts that are decoded one at a time in an arena, and walked in
 * passes, so that everything a pass refers to was read before.
 */
#include "profile/pprof.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/vec.h"
#include "profile.pb-c.h"
#include "profile/arena.h"
#include "profile/extra.h"
#include "profile/gzip.h"
#include "profile/id_table.h"
#include "profile/mapping_kind.h"
#include "profile/order.h"
#include "profile/profile.h"

enum rank {
	RANK_OTHER,
	RANK_LIBRARY,
	RANK_PROGRAM
};

struct presence {
	uint64_t weight;
	size_t last_sample; /* + 1; counts each sample once */
};

static enum rank rank_of(const struct profile *p, size_t mapping)
{
	enum code_kind kind = mapping_kind(p, mapping);
	const char *base = path_basename(p->mappings[mapping].filename);

	if ((!code_kind_is_native(kind) && kind != CODE_INTERPRETER) || base[0] == '[')
		return RANK_OTHER;
	return strstr(base, ".so") ? RANK_LIBRARY : RANK_PROGRAM;
}

static void count_presence(const struct profile *p, struct presence *presence)
{
	uint32_t value = p->cpu_value != PROFILE_NONE ? p->cpu_value : p->count_value;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		int64_t weight = profile_value(p, s, value);

		for (size_t k = 0; weight > 0 && k < s->nr_locations; k++) {
			uint32_t location = p->sample_locations[s->first_location + k];
			uint32_t mapping = p->locations[location].mapping;

			if (mapping == PROFILE_NONE ||
			    presence[mapping].last_sample == i + 1)
				continue;
			presence[mapping].last_sample = i + 1;
			presence[mapping].weight += (uint64_t)weight;
		}
	}
}

/**
 * Finds the program that is in most samples' stacks; else a library, then anything
 * else. PROFILE_NONE: no mappings, or out of memory.
 */
static uint32_t main_mapping_find(const struct profile *p)
{
	_cleanup_free_ struct presence *presence =
		calloc(p->nr_mappings + 1, sizeof(*presence));
	uint32_t best = PROFILE_NONE;
	enum rank best_rank = RANK_OTHER;

	if (!presence)
		return PROFILE_NONE;
	count_presence(p, presence);
	for (uint32_t i = 0; i < p->nr_mappings; i++) {
		enum rank rank = rank_of(p, i);

		if (best != PROFILE_NONE &&
		    (rank < best_rank ||
		     (rank == best_rank && presence[i].weight <= presence[best].weight)))
			continue;
		best = i;
		best_rank = rank;
	}
	return best;
}

/* a run ends at this size; a single field may exceed it */
#define PPROF_PART_BYTES  (64u << 10)
#define PPROF_EXTRA_FIELD 20001
#define PPROF_WANT(field) (UINT32_C(1) << (field)) /* fields 1 to 31 */
#define PPROF_WANT_EXTRA  UINT32_C(1)

struct pprof_part {
	const uint8_t *data; /* borrowed */
	size_t len;
};

#define PPROF_MAX_STRINGS    (1u << 26)
#define PPROF_MAX_PART_BYTES (512u << 20) /* one part, unpacked */

/*
 * A few bytes of a file can refer to a long text, or to many inlined frames, and all
 * that show the profile look at each such reference. So texts are cut, and references to
 * long ones and inlined frames are bounded by the bytes of the file. No recording comes
 * near: a location has up to FRAMES_MAX_INLINE lines, most have one, and stacks have some
 * 0.02 inlined frames for each byte of the file.
 */
#define PPROF_MAX_TEXT_BYTES   (64u << 10) /* with NUL */
#define PPROF_MAX_INLINE       1024u /* lines of a location */
#define PPROF_LONG_TEXT_BYTES  1024u /* what is beyond counts at each reference */
#define PPROF_LONG_BYTES       (64u << 20) /* so many together */
#define PPROF_LONG_PER_BYTE    512u /* and so many for each byte of the file */
#define PPROF_MAX_LONG_BYTES   (UINT64_C(1) << 33)
#define PPROF_INLINED          (1u << 18) /* the same for inlined frames of samples */
#define PPROF_INLINED_PER_BYTE 16u
#define PPROF_MAX_INLINED      (UINT64_C(1) << 27)

struct pprof_reader {
	const char *name; /* of the file, for messages */
	struct profile *p;
	const char **strings; /* the string table, interned; heap */
	size_t nr_strings, cap_strings;
	/* Bytes over PPROF_LONG_TEXT_BYTES: of each string, and of all that an item has. */
	uint32_t *string_rests, *function_rests, *location_rests; /* heap */
	size_t cap_string_rests, cap_function_rests, cap_location_rests;
	uint64_t long_bytes; /* the sum of these over all references */
	uint64_t nr_inlined; /* frames of all samples */
	size_t nr_bytes; /* of the file, unpacked */
	struct id_table mapping_ids, function_ids, location_ids;
	struct arena arena; /* of one part */
	struct error *err;
};

/* Zero-initialised: an empty table. */
struct string_table {
	struct hashmap index;
	const char **strings; /* heap array; [0] is unused */
	size_t nr, cap;
	bool failed; /* out of memory; later numbers are 0 */
};

/** @s is borrowed, not NULL, interned (compared by address). */
static int64_t string_table_number(struct string_table *t, const char *s)
{
	uint64_t hash = hash_pointer(0, s);
	uint32_t item;

	if (!*s)
		return 0;
	item = hashmap_get(&t->index, hash, NULL, NULL, NULL);
	if (item != HASHMAP_NONE)
		return item;
	if (!t->nr)
		t->nr = 1;
	if (t->nr >= HASHMAP_NONE ||
	    vec_grow(&t->strings, &t->cap, t->nr + 1, sizeof(*t->strings), 0) ||
	    hashmap_add(&t->index, hash, (uint32_t)t->nr)) {
		t->failed = true;
		return 0;
	}
	t->strings[t->nr] = s;
	return (int64_t)t->nr++;
}

static void string_table_deinit(struct string_table *t)
{
	hashmap_deinit(&t->index);
	free(t->strings);
	*t = (struct string_table){0};
}

/* ---- Wire format: protobuf.dev/programming-guides/encoding ---- */

enum wire_type {
	WIRE_VARINT,
	WIRE_FIXED64,
	WIRE_BYTES,
	WIRE_FIXED32 = 5
};

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *p = *at;

	*ret = 0;
	for (unsigned int shift = 0; shift < 64 && p < end; shift += 7) {
		*ret |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80)) {
			*at = p;
			return true;
		}
	}
	return false;
}

static bool skip_value(const uint8_t **at, const uint8_t *end, uint64_t type)
{
	uint64_t len;

	switch (type) {
	case WIRE_VARINT:
		return varint(at, end, &len);
	case WIRE_FIXED64:
		len = 8;
		break;
	case WIRE_FIXED32:
		len = 4;
		break;
	case WIRE_BYTES:
		if (!varint(at, end, &len))
			return false;
		break;
	default: /* groups do not occur in this format */
		return false;
	}
	if (len > (uint64_t)(end - *at))
		return false;
	*at += len;
	return true;
}

/* Skips one field; sets *number to its number. */
static bool skip_field(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
	uint64_t tag;

	if (!varint(at, end, &tag))
		return false;
	*number = tag >> 3;
	return *number && *number < (UINT64_C(1) << 29) && skip_value(at, end, tag & 7);
}

static bool is_wanted(uint64_t number, uint32_t wanted)
{
	if (number == PPROF_EXTRA_FIELD)
		return wanted & PPROF_WANT_EXTRA;
	return number < 32 && (wanted & PPROF_WANT(number));
}

/**
 * Finds the next run of wanted fields from *at, and advances *at past it.
 * Return: 1, 0 if there is none, -EBADMSG if the data has no valid fields.
 */
static int pprof_part_next(const uint8_t **at, const uint8_t *end, uint32_t wanted,
			   struct pprof_part *ret)
{
	const uint8_t *from = *at;
	size_t len = 0;

	while (*at < end && len < PPROF_PART_BYTES) {
		const uint8_t *field = *at;
		uint64_t number;

		if (!skip_field(at, end, &number))
			return -EBADMSG;
		if (is_wanted(number, wanted)) {
			if (!len)
				from = field;
			len = (size_t)(*at - from);
		} else if (len) {
			break; /* the run ended before this unwanted field */
		}
	}
	*ret = (struct pprof_part){.data = from, .len = len};
	return len > 0;
}

/** Sets the message "NAME is malformed: ...; ..." Return: -EBADMSG. */
__attribute__((format(printf, 2, 3))) static int pprof_malformed(struct pprof_reader *r,
								 const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return error_set(r->err, -EBADMSG,
			 "%s is malformed: %s; copy it again from where it was written, "
			 "or record again",
			 r->name, what);
}

/** Sets a message for -ENOMEM or -ENOSPC of vec_grow() of a table of @what. */
static int pprof_no_room(struct pprof_reader *r, int code, const char *what)
{
	if (code == -ENOSPC)
		return error_set(r->err, -EFBIG,
				 "%s is too big: it has too many %s; record for a "
				 "shorter time or at a lower -F",
				 r->name, what);
	return error_set(r->err, -ENOMEM, "out of memory while reading %s", r->name);
}

static const char remedy[] =
	"give a file that lineburn record or another tool wrote in pprof's format";

static int too_big(struct pprof_reader *r, const char *what)
{
	return error_set(r->err, -EFBIG, "%s is too big: %s; %s", r->name, what, remedy);
}

static uint64_t limit_for(const struct pprof_reader *r, uint64_t base, uint64_t per_byte,
			  uint64_t max)
{
	uint64_t limit = base + per_byte * r->nr_bytes;

	return limit < max ? limit : max;
}

/* Refuses what would be too much work to show. Return: 0 or -EFBIG. */
static int check_work(struct pprof_reader *r)
{
	if (r->nr_inlined >
	    limit_for(r, PPROF_INLINED, PPROF_INLINED_PER_BYTE, PPROF_MAX_INLINED))
		return too_big(r, "its samples have too many inlined frames for a file "
				  "of its size");
	if (r->long_bytes >
	    limit_for(r, PPROF_LONG_BYTES, PPROF_LONG_PER_BYTE, PPROF_MAX_LONG_BYTES))
		return too_big(r, "it repeats long names too often for a file of its "
				  "size");
	return 0;
}

/** Gets the string with number @i. Return: 0 or -EBADMSG. */
static int pprof_string(struct pprof_reader *r, int64_t i, const char **ret)
{
	if (i < 0 || (uint64_t)i >= r->nr_strings)
		return pprof_malformed(r, "string %lld of %zu", (long long)i,
				       r->nr_strings);
	*ret = r->strings[i];
	r->long_bytes += r->string_rests[i];
	return 0;
}

/**
 * Adds the next item of a table under @id. Return: 0, -EBADMSG (@id is 0 or used),
 * -ENOMEM.
 */
static int pprof_add_id(struct pprof_reader *r, struct id_table *ids, uint64_t id,
			const char *what)
{
	int code = id ? id_table_add(ids, id) : -EINVAL;

	if (code == -EINVAL)
		return pprof_malformed(r, "a %s has the id 0", what);
	if (code == -EEXIST)
		return pprof_malformed(r, "two %ss have the id %llu", what,
				       (unsigned long long)id);
	return code ? pprof_no_room(r, -ENOMEM, what) : 0;
}

/*
 * Interns a text that is too long as its beginning and a hash of all of it: different
 * texts stay different, and equal ones of two files equal.
 */
static const char *add_cut(struct strpool *pool, const char *text, size_t len)
{
	static const struct hash_key key = {{0}};
	char buf[PPROF_MAX_TEXT_BYTES], end[32];
	size_t nr = sizeof(buf) - sizeof(end);

	while (nr && ((unsigned char)text[nr] & 0xc0) == 0x80)
		nr--; /* not within a character */
	snprintf(end, sizeof(end), "[...%016llx]",
		 (unsigned long long)hash_sip13(&key, text, len));
	memcpy(buf, text, nr);
	memcpy(buf + nr, end, strlen(end) + 1);
	return strpool_add(pool, buf);
}

/* Returns the bytes of a text that count at each reference. */
static uint32_t rest_of(size_t len)
{
	if (len > PPROF_MAX_TEXT_BYTES)
		len = PPROF_MAX_TEXT_BYTES;
	return len > PPROF_LONG_TEXT_BYTES ? (uint32_t)len - PPROF_LONG_TEXT_BYTES : 0;
}

static int read_string(struct pprof_reader *r, const char *text)
{
	size_t len = strlen(text);
	int code = vec_grow(&r->strings, &r->cap_strings, r->nr_strings + 1,
			    sizeof(*r->strings), PPROF_MAX_STRINGS);

	if (!code)
		code = vec_grow(&r->string_rests, &r->cap_string_rests, r->nr_strings + 1,
				sizeof(*r->string_rests), 0);
	if (code)
		return pprof_no_room(r, code, "strings");
	r->strings[r->nr_strings] = len < PPROF_MAX_TEXT_BYTES
					    ? strpool_add(r->p->pool, text)
					    : add_cut(r->p->pool, text, len);
	r->string_rests[r->nr_strings++] = rest_of(len);
	return 0;
}

static int read_strings(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	int code = 0;

	for (size_t i = 0; i < part->n_string_table && !code; i++)
		code = read_string(r, part->string_table[i]);
	return code;
}

/* Returns the line number; 0 if it does not fit. */
static uint32_t line_number(int64_t line)
{
	return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static int read_line(struct pprof_reader *r, const Perftools__Profiles__Line *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->lines, &p->cap_lines, p->nr_lines + 1, sizeof(*p->lines),
			    PROFILE_MAX_LINES);

	if (code)
		return pprof_no_room(r, code, "lines");
	p->lines[p->nr_lines++] = (struct profile_line){
		.function = id_table_find(&r->function_ids, from->function_id),
		.line = line_number(from->line),
	};
	return 0;
}

static uint32_t function_rest(const struct pprof_reader *r, uint32_t function)
{
	return function < r->p->nr_functions ? r->function_rests[function] : 0;
}

/* Counts the long texts of the location that was read last. */
static void add_location_rest(struct pprof_reader *r)
{
	const struct profile *p = r->p;
	const struct profile_location *l = &p->locations[p->nr_locations - 1];
	uint32_t rest = 0;

	if (l->mapping != PROFILE_NONE)
		rest += rest_of(strlen(p->mappings[l->mapping].filename));
	for (uint32_t i = 0; i < l->nr_lines; i++)
		rest += function_rest(r, p->lines[l->first_line + i].function);
	r->location_rests[p->nr_locations - 1] = rest;
	r->long_bytes += rest;
}

static int read_location(struct pprof_reader *r,
			 const Perftools__Profiles__Location *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->locations, &p->cap_locations, p->nr_locations + 1,
			    sizeof(*p->locations), PROFILE_MAX_LOCATIONS);

	if (!code)
		code = vec_grow(&r->location_rests, &r->cap_location_rests,
				p->nr_locations + 1, sizeof(*r->location_rests), 0);
	if (code)
		return pprof_no_room(r, code, "locations");
	if (from->n_line > PPROF_MAX_INLINE)
		return error_set(r->err, -EFBIG,
				 "%s is too big: a location has more than %u lines; %s",
				 r->name, PPROF_MAX_INLINE, remedy);
	code = pprof_add_id(r, &r->location_ids, from->id, "location");
	if (code)
		return code;
	p->locations[p->nr_locations++] = (struct profile_location){
		.mapping = id_table_find(&r->mapping_ids, from->mapping_id),
		.address = from->address,
		.first_line = (uint32_t)p->nr_lines,
		.nr_lines = (uint32_t)from->n_line,
		.miss = MISS_NONE,
		.is_folded = from->is_folded,
	};
	for (size_t i = 0; i < from->n_line && !code; i++)
		code = read_line(r, from->line[i]);
	if (!code)
		add_location_rest(r);
	return code;
}

static int read_label(struct pprof_reader *r, const Perftools__Profiles__Label *from)
{
	struct profile *p = r->p;
	struct profile_label *to;
	int code = vec_grow(&p->labels, &p->cap_labels, p->nr_labels + 1,
			    sizeof(*p->labels), PROFILE_MAX_LABELS);

	if (code)
		return pprof_no_room(r, code, "labels");
	to = &p->labels[p->nr_labels++];
	to->num = from->num;
	code = pprof_string(r, from->key, &to->key);
	if (!code)
		code = pprof_string(r, from->str, &to->str);
	return code ? code : pprof_string(r, from->num_unit, &to->unit);
}

static int read_stack(struct pprof_reader *r, const Perftools__Profiles__Sample *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->sample_locations, &p->cap_sample_locations,
			    p->nr_sample_locations + from->n_location_id,
			    sizeof(*p->sample_locations), PROFILE_MAX_SAMPLE_LOCATIONS);

	if (code)
		return pprof_no_room(r, code, "stack frames");
	for (size_t i = 0; i < from->n_location_id; i++) {
		uint32_t location = id_table_find(&r->location_ids, from->location_id[i]);

		if (location == PROFILE_NONE)
			return pprof_malformed(r, "sample %zu has no location %llu",
					       p->nr_samples,
					       (unsigned long long)from->location_id[i]);
		r->long_bytes += r->location_rests[location];
		if (p->locations[location].nr_lines)
			r->nr_inlined += p->locations[location].nr_lines - 1;
		p->sample_locations[p->nr_sample_locations++] = location;
	}
	return 0;
}

static int read_sample(struct pprof_reader *r, const Perftools__Profiles__Sample *from)
{
	struct profile *p = r->p;
	int code;

	if (from->n_value != p->nr_value_types)
		return pprof_malformed(r, "sample %zu has %zu values for %zu types",
				       p->nr_samples, from->n_value, p->nr_value_types);
	code = vec_grow(&p->samples, &p->cap_samples, p->nr_samples + 1,
			sizeof(*p->samples), PROFILE_MAX_SAMPLES);
	if (!code)
		code = vec_grow(&p->values, &p->cap_values, p->nr_values + from->n_value,
				sizeof(*p->values), PROFILE_MAX_VALUES);
	if (code)
		return pprof_no_room(r, code, "samples");
	p->samples[p->nr_samples] = (struct profile_sample){
		.first_location = (uint32_t)p->nr_sample_locations,
		.nr_locations = (uint32_t)from->n_location_id,
		.first_label = (uint32_t)p->nr_labels,
		.nr_labels = (uint32_t)from->n_label,
		.first_value = (uint32_t)p->nr_values,
	};
	for (size_t i = 0; i < from->n_value; i++)
		p->values[p->nr_values++] = from->value[i];
	code = read_stack(r, from);
	for (size_t i = 0; i < from->n_label && !code; i++)
		code = read_label(r, from->label[i]);
	if (!code)
		p->samples[p->nr_samples].first_label =
			profile_share_labels(p, p->samples[p->nr_samples].first_label);
	p->nr_samples++;
	return code;
}

/* Counts the long texts of all rows of code. */
static void add_code_rests(struct pprof_reader *r)
{
	const struct profile_extra *extra = &r->p->extra;

	for (size_t i = 0; i < extra->nr_codes; i++)
		for (size_t k = 0; k < extra->codes[i].nr_rows; k++)
			r->long_bytes +=
				function_rest(r, extra->codes[i].rows[k].at.function);
}

static int read_extra(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	const ProtobufCBinaryData *extra = &part->lineburn_extra;
	const struct extra_ids ids = {&r->location_ids, &r->mapping_ids,
				      &r->function_ids};
	int code;

	if (!extra->len)
		return 0;
	if (r->p->extra.present)
		return pprof_malformed(r, "it holds two recordings in one file");
	code = extra_unpack(r->p, extra->data, extra->len, &ids, &r->arena);
	switch (code) {
	case 0:
		add_code_rests(r);
		return 0;
	case -EBADMSG:
		return pprof_malformed(r, "the part that only lineburn reads is damaged");
	default:
		return pprof_no_room(r, code == -EFBIG ? -ENOSPC : -ENOMEM,
				     "details of lineburn's own");
	}
}

/* Tables that refer only to strings: types, mappings, functions, the head. */

static int read_value_type(struct pprof_reader *r,
			   const Perftools__Profiles__ValueType *from,
			   struct profile_value_type *to)
{
	int code = pprof_string(r, from->type, &to->type);

	return code ? code : pprof_string(r, from->unit, &to->unit);
}

static int read_sample_type(struct pprof_reader *r,
			    const Perftools__Profiles__ValueType *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->value_types, &p->cap_value_types, p->nr_value_types + 1,
			    sizeof(*p->value_types), PROFILE_MAX_VALUE_TYPES);

	if (code)
		return pprof_no_room(r, code, "sample types");
	return read_value_type(r, from, &p->value_types[p->nr_value_types++]);
}

static int read_mapping(struct pprof_reader *r, const Perftools__Profiles__Mapping *from)
{
	struct profile *p = r->p;
	struct profile_mapping *to;
	int code = vec_grow(&p->mappings, &p->cap_mappings, p->nr_mappings + 1,
			    sizeof(*p->mappings), PROFILE_MAX_MAPPINGS);

	if (code)
		return pprof_no_room(r, code, "mappings");
	code = pprof_add_id(r, &r->mapping_ids, from->id, "mapping");
	if (code)
		return code;
	to = &p->mappings[p->nr_mappings++];
	*to = (struct profile_mapping){.start = from->memory_start,
				       .limit = from->memory_limit,
				       .file_off = from->file_offset,
				       .has_functions = from->has_functions,
				       .has_filenames = from->has_filenames,
				       .has_line_numbers = from->has_line_numbers,
				       .has_inline_frames = from->has_inline_frames};
	code = pprof_string(r, from->filename, &to->filename);
	return code ? code : pprof_string(r, from->build_id, &to->build_id);
}

static int read_function(struct pprof_reader *r,
			 const Perftools__Profiles__Function *from)
{
	struct profile *p = r->p;
	struct profile_function *to;
	int code = vec_grow(&p->functions, &p->cap_functions, p->nr_functions + 1,
			    sizeof(*p->functions), PROFILE_MAX_FUNCTIONS);

	if (!code)
		code = vec_grow(&r->function_rests, &r->cap_function_rests,
				p->nr_functions + 1, sizeof(*r->function_rests), 0);
	if (code)
		return pprof_no_room(r, code, "functions");
	code = pprof_add_id(r, &r->function_ids, from->id, "function");
	if (code)
		return code;
	to = &p->functions[p->nr_functions++];
	code = pprof_string(r, from->name, &to->name);
	if (!code)
		code = pprof_string(r, from->system_name, &to->system_name);
	if (!code)
		code = pprof_string(r, from->filename, &to->filename);
	if (code)
		return code;
	if (!*to->name)
		to->name = to->system_name;
	/* Frames are shown by one of their names. */
	r->function_rests[p->nr_functions - 1] = rest_of(strlen(to->name)) +
						 rest_of(strlen(to->filename));
	if (to->name[0] == '[' && *to->filename &&
	    to->name == object_stand_in(to->filename, p->pool))
		to->name = strpool_add(p->pool, "");
	if (to->system_name == to->name)
		to->system_name = strpool_add(p->pool, "");
	if (from->start_line > 0 && from->start_line < UINT32_MAX)
		to->start_line = (uint32_t)from->start_line;
	return 0;
}

/* A scalar of 0 was written as 0, or is in another part. */
static int read_head_string(struct pprof_reader *r, int64_t number, const char **ret)
{
	return number ? pprof_string(r, number, ret) : 0;
}

static int read_head(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	struct profile *p = r->p;
	int code = read_head_string(r, part->drop_frames, &p->drop_frames);

	if (!code)
		code = read_head_string(r, part->keep_frames, &p->keep_frames);
	if (!code)
		code = read_head_string(r, part->default_sample_type,
					&p->default_sample_type);
	if (!code)
		code = read_head_string(r, part->doc_url, &p->doc_url);
	if (!code && part->period_type)
		code = read_value_type(r, part->period_type, &p->period_type);
	if (part->time_nanos)
		p->time_nanos = part->time_nanos;
	if (part->duration_nanos > 0)
		p->duration_nanos = part->duration_nanos;
	if (part->period > 0)
		p->period = part->period;
	for (size_t i = 0; i < part->n_comment && !code; i++) {
		const char *comment = "";

		code = pprof_string(r, part->comment[i], &comment);
		/* Skip comments over the maximum: they have no data. */
		if (!code && profile_add_comment(p, comment) == -ENOMEM)
			code = pprof_no_room(r, -ENOMEM, "comments");
	}
	return code;
}

/* Reads all of a part; it has only the fields that walk() wants. */
static int read_part(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	int code = read_strings(r, part);

	if (!code)
		code = read_head(r, part);
	for (size_t i = 0; i < part->n_sample_type && !code; i++)
		code = read_sample_type(r, part->sample_type[i]);
	for (size_t i = 0; i < part->n_mapping && !code; i++)
		code = read_mapping(r, part->mapping[i]);
	for (size_t i = 0; i < part->n_function && !code; i++)
		code = read_function(r, part->function[i]);
	for (size_t i = 0; i < part->n_location && !code; i++)
		code = read_location(r, part->location[i]);
	for (size_t i = 0; i < part->n_sample && !code; i++)
		code = read_sample(r, part->sample[i]);
	if (!code)
		code = read_extra(r, part);
	return code ? code : check_work(r);
}

static int not_a_profile(struct pprof_reader *r, const char *why)
{
	return error_set(r->err, -EBADMSG, "%s is not a profile: %s; %s", r->name, why,
			 remedy);
}

static int unpack_gzip(struct pprof_reader *r, const void *data, size_t len,
		       uint8_t **ret, size_t *ret_len)
{
	int code = gzip_inflate(data, len, PPROF_MAX_BYTES, ret, ret_len);

	switch (code) {
	case 0:
		return 0;
	case -ENODATA:
		return error_set(r->err, -EBADMSG,
				 "%s is truncated: the recording or a copy of it was cut "
				 "short; copy it again, or record again",
				 r->name);
	case -EBADMSG:
		return pprof_malformed(r, "its gzip data is damaged");
	case -E2BIG:
		return error_set(r->err, -EFBIG,
				 "%s is not a profile: it unpacks to more than %d times "
				 "its size; %s",
				 r->name, GZIP_MAX_RATIO, remedy);
	case -EFBIG:
		return error_set(r->err, -EFBIG,
				 "%s is too big: it unpacks to more than %u MB; record "
				 "for a shorter time or at a lower -F",
				 r->name, PPROF_MAX_BYTES >> 20);
	default:
		return pprof_no_room(r, -ENOMEM, "bytes");
	}
}

/* Reads the @wanted fields. */
static int walk(struct pprof_reader *r, const uint8_t *data, size_t len, uint32_t wanted)
{
	ProtobufCAllocator allocator = arena_allocator(&r->arena);
	const uint8_t *at = data;
	struct pprof_part part;
	int code;

	while ((code = pprof_part_next(&at, data + len, wanted, &part)) > 0) {
		Perftools__Profiles__Profile *message =
			perftools__profiles__profile__unpack(&allocator, part.len,
							     part.data);

		if (!message && r->arena.full)
			code = pprof_no_room(r, -ENOSPC, "items in one place");
		else if (!message)
			code = not_a_profile(r, "its protobuf does not decode");
		else
			code = read_part(r, message);
		arena_reset(&r->arena);
		if (code)
			return code;
	}
	if (code < 0)
		return not_a_profile(r,
				     "it is neither gzip nor protobuf, or is cut short");
	return 0;
}

/* Returns the first value of one of these types, the first of @types preferred. */
static uint32_t find_value(const struct profile *p, const char *const *types,
			   const char *unit)
{
	for (; *types; types++)
		for (uint32_t i = 0; i < p->nr_value_types; i++)
			if (!strcmp(p->value_types[i].type, *types) &&
			    !strcmp(p->value_types[i].unit, unit))
				return i;
	return PROFILE_NONE;
}

/*
 * Finds CPU time, and the count of its samples. Only beside CPU time are the names that
 * other tools give that count taken for it: beside wall time, it counts waiting, too.
 */
static void find_values(struct profile *p)
{
	static const char *const cpu[] = {"cpu", "cpu-time", "cpu_time", NULL};
	static const char *const samples[] = {"samples", NULL};
	static const char *const others[] = {"cpu-samples", "cpu_samples", "sample",
					     NULL};

	p->cpu_value = find_value(p, cpu, "nanoseconds");
	p->count_value = find_value(p, samples, "count");
	if (p->count_value == PROFILE_NONE && p->cpu_value != PROFILE_NONE)
		p->count_value = find_value(p, others, "count");
}

/* Other tools put several measures into one file, of which one is shown: says so. */
static int tell_other_values(struct pprof_reader *r)
{
	struct profile *p = r->p;
	uint32_t shown = profile_shown_value(p);
	char sentence[1024] = "This profile also has ";
	size_t nr = 0;

	for (uint32_t i = 0; i < p->nr_value_types && !p->extra.present; i++) {
		const struct profile_value_type *v = &p->value_types[i];

		/* A count beside CPU time is the number of samples. */
		if (i != shown && (i != p->count_value || shown != p->cpu_value))
			text_append(sentence, sizeof(sentence), "%s%.64s (%.64s)",
				    nr++ ? ", " : "", v->type, v->unit);
	}
	if (!nr)
		return 0;
	nr = strnlen(sentence, 900);
	snprintf(sentence + nr, 64, "%s: not shown.", nr == 900 ? "..." : "");
	return profile_add_warning(p, sentence) == -ENOMEM
		       ? pprof_no_room(r, -ENOMEM, "warnings")
		       : 0;
}

/*
 * Pyroscope gives each profile of CPU time a period of 1 s. A sample has at least one
 * period; one with less than half of it shows that the period is not that of the samples.
 */
static void drop_false_period(struct profile *p)
{
	if (p->count_value != PROFILE_NONE || p->cpu_value == PROFILE_NONE)
		return;
	for (size_t i = 0; i < p->nr_samples; i++) {
		int64_t cpu_ns = profile_value(p, &p->samples[i], p->cpu_value);

		if (cpu_ns > 0 && cpu_ns < p->period / 2)
			p->period = 0;
	}
}

/* Clears the defaults that profile_new() sets for our own profiles. */
static void forget_defaults(struct profile *p)
{
	const char *empty = strpool_add(p->pool, "");

	p->nr_value_types = 0;
	p->period_type = (struct profile_value_type){.type = empty, .unit = empty};
	p->default_sample_type = empty;
}

static int read_message(struct pprof_reader *r, const uint8_t *data, size_t len)
{
	const uint32_t tables =
		~(PPROF_WANT_EXTRA | PPROF_WANT(2) | PPROF_WANT(4) | PPROF_WANT(6)) &
		(PPROF_WANT(16) - 1);
	int code;

	r->nr_bytes = len;
	code = walk(r, data, len, PPROF_WANT(6));
	if (code)
		return code;
	if (!r->nr_strings || *r->strings[0])
		return not_a_profile(r, "it has no table of strings");
	code = walk(r, data, len, tables);
	if (code)
		return code;
	if (!r->p->nr_value_types)
		return not_a_profile(r, "it does not say what was counted");
	find_values(r->p);
	code = walk(r, data, len, PPROF_WANT(4));
	if (!code)
		code = walk(r, data, len, PPROF_WANT(2));
	drop_false_period(r->p);
	if (!code)
		code = walk(r, data, len, PPROF_WANT_EXTRA);
	return code ? code : tell_other_values(r);
}

static int read_bytes(struct pprof_reader *r, const void *data, size_t len)
{
	_cleanup_free_ uint8_t *unpacked = NULL;
	size_t unpacked_len;
	int code;

	if (!len)
		return not_a_profile(r, "it is empty");
	if (len >= 8 && !memcmp(data, "PERFILE2", 8))
		return not_a_profile(r, "it is a recording of perf");
	if (!gzip_is(data, len)) {
		if (len > PPROF_MAX_BYTES)
			return error_set(r->err, -EFBIG,
					 "%s is too big: more than %u MB; record for a "
					 "shorter time or at a lower -F",
					 r->name, PPROF_MAX_BYTES >> 20);
		return read_message(r, data, len);
	}
	code = unpack_gzip(r, data, len, &unpacked, &unpacked_len);
	return code ? code : read_message(r, unpacked, unpacked_len);
}

int pprof_read(const void *data, size_t len, const char *name, struct strpool *pool,
	       struct profile **ret, struct error *err)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	struct pprof_reader r = {
		.name = name, .p = p, .arena = {.max = PPROF_MAX_PART_BYTES}, .err = err};
	int code;

	if (!p)
		return pprof_no_room(&r, -ENOMEM, "bytes");
	forget_defaults(p);
	code = read_bytes(&r, data, len);
	free(r.strings);
	free(r.string_rests);
	free(r.function_rests);
	free(r.location_rests);
	id_table_deinit(&r.mapping_ids);
	id_table_deinit(&r.function_ids);
	id_table_deinit(&r.location_ids);
	arena_deinit(&r.arena);
	if (code)
		return code;
	*ret = take_ptr(p);
	return 0;
}

/*
 * Writes the model as gzipped profile.proto. Concatenated messages are one message
 * whose repeated fields are joined. So the file is written in parts of one item each,
 * straight into the compressor, without a second copy of the profile. Strings come
 * last, when all are numbered.
 */

struct writer {
	ProtobufCBuffer sink; /* first: protobuf-c passes it back to us */
	const struct profile *p;
	struct gzip_writer *gzip;
	struct string_table strings;
	struct arena arena; /* of one part */
	uint32_t first_mapping; /* PROFILE_NONE: none */
	struct profile_order order;
	/* Ids of functions, by index; 0: not written. Heap. */
	uint64_t *function_ids;
	/*
	 * Ids of the placeholder functions for code without a function, by mapping; the
	 * last one is for code without a mapping. 0: there is no such code. Heap.
	 */
	uint64_t *stand_in_ids;
	uint32_t nr_stand_ins;
	bool failed;
};

typedef Perftools__Profiles__Profile Part;

static void append_to_gzip(ProtobufCBuffer *sink, size_t len, const uint8_t *data)
{
	gzip_put(((struct writer *)sink)->gzip, data, len);
}

static int64_t number(struct writer *w, const char *s)
{
	return string_table_number(&w->strings, s);
}

static void *allocate(struct writer *w, size_t nr, size_t size)
{
	void *given = arena_alloc(&w->arena, nr * size);

	if (!given)
		w->failed = true;
	return given;
}

static void put(struct writer *w, const Part *part)
{
	if (!w->failed)
		perftools__profiles__profile__pack_to_buffer(part, &w->sink);
	arena_reset(&w->arena);
}

/* Writes a part with one @item of the repeated @field. */
#define PUT_ONE(w, field, item)                                 \
	do {                                                    \
		Part part = PERFTOOLS__PROFILES__PROFILE__INIT; \
		__typeof__(*part.field) one = (item);           \
                                                                \
		part.n_##field = 1;                             \
		part.field = &one;                              \
		put(w, &part);                                  \
	} while (0)

static Perftools__Profiles__ValueType value_type(struct writer *w,
						 const struct profile_value_type *from)
{
	Perftools__Profiles__ValueType to = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	to.type = number(w, from->type);
	to.unit = number(w, from->unit);
	return to;
}

static void put_value_types(struct writer *w)
{
	for (size_t i = 0; i < w->p->nr_value_types; i++) {
		Perftools__Profiles__ValueType to = value_type(w, &w->p->value_types[i]);

		PUT_ONE(w, sample_type, &to);
	}
}

static void fill_labels(struct writer *w, const struct profile_sample *from,
			Perftools__Profiles__Sample *to)
{
	Perftools__Profiles__Label *labels =
		allocate(w, from->nr_labels, sizeof(*labels));

	to->label = allocate(w, from->nr_labels, sizeof(*to->label));
	if (!labels || !to->label)
		return;
	to->n_label = from->nr_labels;
	for (size_t i = 0; i < from->nr_labels; i++) {
		const struct profile_label *label = &w->p->labels[from->first_label + i];

		perftools__profiles__label__init(&labels[i]);
		labels[i].key = number(w, label->key);
		labels[i].str = number(w, label->str);
		labels[i].num = label->num;
		labels[i].num_unit = number(w, label->unit);
		to->label[i] = &labels[i];
	}
}

static uint64_t location_id_of(const struct writer *w, uint32_t index)
{
	return w->order.location_places[index] + UINT64_C(1);
}

static void put_sample(struct writer *w, const struct profile_sample *from)
{
	Perftools__Profiles__Sample to = PERFTOOLS__PROFILES__SAMPLE__INIT;

	to.location_id = allocate(w, from->nr_locations, sizeof(*to.location_id));
	if (!to.location_id)
		return;
	to.n_location_id = from->nr_locations;
	for (size_t i = 0; i < from->nr_locations; i++)
		to.location_id[i] = location_id_of(
			w, w->p->sample_locations[from->first_location + i]);
	to.n_value = w->p->nr_value_types;
	to.value = w->p->values + from->first_value;
	fill_labels(w, from, &to);
	PUT_ONE(w, sample, &to);
}

static void put_mapping(struct writer *w, uint32_t index)
{
	const struct profile_mapping *from = &w->p->mappings[index];
	Perftools__Profiles__Mapping to = PERFTOOLS__PROFILES__MAPPING__INIT;

	to.id = mapping_id_of(w->first_mapping, index);
	to.memory_start = from->start;
	to.memory_limit = from->limit;
	to.file_offset = from->file_off;
	to.filename = number(w, from->filename);
	to.build_id = number(w, from->build_id);
	to.has_functions = from->has_functions;
	to.has_filenames = from->has_filenames;
	to.has_line_numbers = from->has_line_numbers;
	to.has_inline_frames = from->has_inline_frames;
	PUT_ONE(w, mapping, &to);
}

static void put_mappings(struct writer *w)
{
	if (w->first_mapping != PROFILE_NONE)
		put_mapping(w, w->first_mapping);
	for (uint32_t i = 0; i < w->p->nr_mappings; i++)
		if (i != w->first_mapping)
			put_mapping(w, i);
}

/* Returns the number of the placeholder for @location's function. */
static size_t stand_in_of(const struct profile *p,
			  const struct profile_location *location)
{
	return location->mapping == PROFILE_NONE ? p->nr_mappings : location->mapping;
}

static void put_location(struct writer *w, uint32_t index)
{
	const struct profile_location *from = &w->p->locations[index];
	Perftools__Profiles__Location to = PERFTOOLS__PROFILES__LOCATION__INIT;
	size_t nr_lines = from->nr_lines ? from->nr_lines : 1;
	Perftools__Profiles__Line *lines = allocate(w, nr_lines, sizeof(*lines));

	to.line = allocate(w, nr_lines, sizeof(*to.line));
	if (!lines || !to.line)
		return;
	to.id = location_id_of(w, index);
	to.mapping_id = mapping_id_of(w->first_mapping, from->mapping);
	to.address = from->address;
	to.is_folded = from->is_folded;
	to.n_line = nr_lines;
	if (!from->nr_lines) {
		perftools__profiles__line__init(&lines[0]);
		lines[0].function_id = w->stand_in_ids[stand_in_of(w->p, from)];
		to.line[0] = &lines[0];
	}
	for (size_t i = 0; i < from->nr_lines; i++) {
		const struct profile_line *line = &w->p->lines[from->first_line + i];

		perftools__profiles__line__init(&lines[i]);
		lines[i].line = line->line;
		if (line->function != PROFILE_NONE)
			lines[i].function_id = w->function_ids[line->function];
		to.line[i] = &lines[i];
	}
	PUT_ONE(w, location, &to);
}

static void put_function(struct writer *w, uint32_t index)
{
	const struct profile_function *from = &w->p->functions[index];
	Perftools__Profiles__Function to = PERFTOOLS__PROFILES__FUNCTION__INIT;

	to.id = w->function_ids[index];
	/* Assembly may have lines and no function: "[clone.S]". read_function() drops it. */
	to.name = number(w, *from->name ? from->name
					: object_stand_in(from->filename, w->p->pool));
	/*
	 * pprof would demangle a system name that equals the name, but not an empty
	 * one.
	 */
	if (from->system_name != from->name)
		to.system_name = number(w, from->system_name);
	to.filename = number(w, from->filename);
	to.start_line = from->start_line;
	PUT_ONE(w, function, &to);
}

static void put_head(struct writer *w)
{
	const struct profile *p = w->p;
	Perftools__Profiles__ValueType period_type = value_type(w, &p->period_type);
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	part.drop_frames = number(w, p->drop_frames);
	part.keep_frames = number(w, p->keep_frames);
	part.time_nanos = p->time_nanos;
	part.duration_nanos = p->duration_nanos;
	part.period_type = &period_type;
	part.period = p->period;
	part.default_sample_type = number(w, p->default_sample_type);
	part.doc_url = number(w, p->doc_url);
	part.comment = allocate(w, p->nr_comments, sizeof(*part.comment));
	part.n_comment = part.comment ? p->nr_comments : 0;
	for (size_t i = 0; i < part.n_comment; i++)
		part.comment[i] = number(w, p->comments[i]);
	put(w, &part);
}

static void put_strings(struct writer *w)
{
	if (w->strings.failed)
		w->failed = true;
	for (size_t i = 0; i < w->strings.nr || i == 0; i++) {
		const char *utf8 = i ? arena_utf8(&w->arena, w->strings.strings[i]) : "";

		if (!utf8)
			w->failed = true;
		PUT_ONE(w, string_table, (char *)utf8);
	}
}

/*
 * Finds the functions to write: plain pprof omits those that only code refers to. @used
 * has one byte a function; returns false if all must be written.
 */
static bool find_used(const struct profile *p, uint8_t *used)
{
	memset(used, 1, p->nr_functions);
	for (size_t i = 0; i < p->extra.nr_codes; i++)
		for (size_t k = 0; k < p->extra.codes[i].nr_rows; k++) {
			uint32_t function = p->extra.codes[i].rows[k].at.function;

			if (function < p->nr_functions)
				used[function] = 0;
		}
	for (size_t i = 0; i < p->nr_lines; i++)
		if (p->lines[i].function < p->nr_functions)
			used[p->lines[i].function] = 1;
	return p->extra.nr_codes;
}

/* Numbers the written functions: 1 to N in file order. Servers require that. */
static int number_functions(struct writer *w, bool with_extra)
{
	const struct profile *p = w->p;
	_cleanup_free_ uint8_t *used = malloc(p->nr_functions + 1);
	uint64_t last = 0;
	bool some;

	w->function_ids = calloc(p->nr_functions + 1, sizeof(*w->function_ids));
	w->stand_in_ids = calloc(p->nr_mappings + 1, sizeof(*w->stand_in_ids));
	if (!used || !w->function_ids || !w->stand_in_ids)
		return -ENOMEM;
	some = !with_extra && find_used(p, used);
	for (uint32_t i = 0; i < p->nr_functions; i++)
		if (!some || used[w->order.functions[i]])
			w->function_ids[w->order.functions[i]] = ++last;
	for (size_t i = 0; i < p->nr_locations; i++)
		if (!p->locations[i].nr_lines)
			w->stand_in_ids[stand_in_of(p, &p->locations[i])] = 1;
	for (size_t i = 0; i <= p->nr_mappings; i++)
		if (w->stand_in_ids[i]) {
			w->stand_in_ids[i] = ++last;
			w->nr_stand_ins++;
		}
	return 0;
}

/*
 * A location without a function is a frame that servers lose when they merge profiles.
 * So it gets a placeholder function named after its object. Placeholders come last, and
 * extra_unpack() removes them.
 */
static void put_stand_in(struct writer *w, size_t i)
{
	const struct profile *p = w->p;
	Perftools__Profiles__Function to = PERFTOOLS__PROFILES__FUNCTION__INIT;

	to.id = w->stand_in_ids[i];
	to.name = number(
		w, object_stand_in(i < p->nr_mappings ? p->mappings[i].filename : "",
				   p->pool));
	PUT_ONE(w, function, &to);
}

static void put_functions(struct writer *w)
{
	for (uint32_t i = 0; i < w->p->nr_functions; i++)
		if (w->function_ids[w->order.functions[i]])
			put_function(w, w->order.functions[i]);
	for (size_t i = 0; i <= w->p->nr_mappings; i++)
		if (w->stand_in_ids[i])
			put_stand_in(w, i);
}

static void put_profile(struct writer *w)
{
	put_value_types(w);
	for (size_t i = 0; i < w->p->nr_samples; i++)
		put_sample(w, &w->p->samples[w->order.samples[i]]);
	put_mappings(w);
	for (uint32_t i = 0; i < w->p->nr_locations; i++)
		put_location(w, w->order.locations[i]);
	put_functions(w);
	put_head(w);
	put_strings(w);
}

static void put_extra(struct writer *w)
{
	const struct extra_file file = {.first_mapping = w->first_mapping,
					.order = &w->order,
					.nr_stand_ins = w->nr_stand_ins};
	_cleanup_free_ uint8_t *packed = NULL;
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	gzip_end_member(w->gzip);
	if (extra_pack(w->p, &file, &packed, &part.lineburn_extra.len))
		w->failed = true;
	part.lineburn_extra.data = packed;
	put(w, &part);
}

int pprof_write(const struct profile *p, bool with_extra, void **ret, size_t *ret_len)
{
	_cleanup_free_ struct gzip_writer *gzip = calloc(1, sizeof(*gzip));
	struct writer w = {.sink = {.append = append_to_gzip},
			   .p = p,
			   .gzip = gzip,
			   .arena = {.max = SIZE_MAX},
			   .first_mapping = main_mapping_find(p)};
	int r = -ENOMEM;

	if (!gzip)
		return -ENOMEM;
	if (profile_order_init(&w.order, p, w.first_mapping) ||
	    number_functions(&w, with_extra))
		w.failed = true;
	else
		put_profile(&w);
	if (!w.failed && with_extra && p->extra.present)
		put_extra(&w);
	if (!w.failed)
		r = gzip_take(gzip, ret, ret_len);
	gzip_writer_deinit(gzip);
	string_table_deinit(&w.strings);
	profile_order_deinit(&w.order);
	arena_deinit(&w.arena);
	free(w.function_ids);
	free(w.stand_in_ids);
	return r;
}
