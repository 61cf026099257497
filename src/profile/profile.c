// SPDX-License-Identifier: GPL-2.0-or-later
/* Life of a profile, and its tables of mappings, functions and locations. */
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/match.h"
#include "base/vec.h"

struct profile *profile_new(struct strpool *pool)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p || vec_grow(&p->value_types, &p->cap_value_types, 2,
			   sizeof(*p->value_types), PROFILE_MAX_VALUE_TYPES)) {
		free(p);
		return NULL;
	}
	p->pool = pool;
	p->value_types[0].type = strpool_add(pool, "samples");
	p->value_types[0].unit = strpool_add(pool, "count");
	p->value_types[1].type = strpool_add(pool, "cpu");
	p->value_types[1].unit = strpool_add(pool, "nanoseconds");
	p->nr_value_types = 2;
	p->count_value = 0;
	p->cpu_value = 1;
	p->period_type = p->value_types[1];
	p->default_sample_type = p->value_types[1].type;
	p->drop_frames = p->keep_frames = p->doc_url = strpool_add(pool, "");
	profile_clear_extra(p);
	return p;
}

void profile_set_measure(struct profile *p, const char *type, const char *unit)
{
	struct profile_value_type *measure = &p->value_types[1];

	measure->type = strpool_add(p->pool, type);
	measure->unit = strpool_add(p->pool, unit);
	if (strcmp(type, "cpu") != 0)
		p->cpu_value = PROFILE_NONE;
	p->period_type = *measure;
	p->default_sample_type = measure->type;
}

void profile_source_deinit(struct profile_source *source)
{
	for (size_t i = 0; i < source->nr_runs; i++)
		free((char *)source->runs[i].text);
	free(source->runs);
	*source = (struct profile_source){0};
}

int profile_add_source(struct profile *p, const struct profile_source *source)
{
	struct profile_extra *extra = &p->extra;
	int r = vec_grow(&extra->sources, &extra->cap_sources, extra->nr_sources + 1,
			 sizeof(*extra->sources), 0);

	if (!r)
		extra->sources[extra->nr_sources++] = *source;
	return r;
}

void profile_losses_add(struct profile_losses *sum, const struct profile_losses *part)
{
#define ADD(name) sum->name += part->name;
	PROFILE_LOSSES(ADD)
#undef ADD
}

void profile_cost_add(struct profile_cost *sum, const struct profile_cost *part)
{
	sum->bpf_runs += part->bpf_runs;
	sum->bpf_ns += part->bpf_ns;
	sum->collector_cpu_ns += part->collector_cpu_ns;
	sum->lowered_ns += part->lowered_ns;
}

static void extra_deinit(struct profile_extra *extra)
{
	for (size_t i = 0; i < extra->nr_sources; i++)
		profile_source_deinit(&extra->sources[i]);
	for (size_t i = 0; i < extra->nr_codes; i++) {
		free(extra->codes[i].rows);
		free(extra->codes[i].bytes);
	}
	free(extra->codes);
	free(extra->sources);
	free(extra->command);
	free(extra->warnings);
}

void profile_clear_extra(struct profile *p)
{
	const char *none = p->doc_url;

	extra_deinit(&p->extra);
	p->extra = (struct profile_extra){.target = none,
					  .host = none,
					  .kernel_release = none,
					  .version = none,
					  .arch = none};
	p->nr_comments = 0;
}

void profile_clear_samples(struct profile *p)
{
	hashmap_deinit(&p->sample_index);
	hashmap_deinit(&p->label_index);
	series_deinit(&p->times);
	p->times_lost = false;
	p->nr_samples = p->nr_sample_locations = p->nr_labels = p->nr_values = 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	extra_deinit(&p->extra);
	hashmap_deinit(&p->function_index);
	hashmap_deinit(&p->location_index);
	hashmap_deinit(&p->sample_index);
	hashmap_deinit(&p->label_index);
	hashmap_deinit(&p->namesake_index);
	free(p->namesakes);
	free(p->value_types);
	free(p->mappings);
	free(p->functions);
	free(p->lines);
	free(p->locations);
	free(p->sample_locations);
	free(p->labels);
	free(p->values);
	free(p->samples);
	series_deinit(&p->times);
	free(p->comments);
	free(p);
}

void profile_add_times(struct profile *p, uint32_t sample, const struct series *from,
		       const struct series_list *list)
{
	const struct series_lists all = {&p->samples->times, p->nr_samples,
					 sizeof(*p->samples)};

	if (p->times_lost ||
	    !series_add_list(&p->times, &p->samples[sample].times, from, list, &all))
		return;
	series_deinit(&p->times);
	for (size_t i = 0; i < p->nr_samples; i++)
		p->samples[i].times = (struct series_list){0};
	p->times_lost = true;
}

uint32_t profile_add_mapping(struct profile *p, const struct profile_mapping *m)
{
	struct profile_mapping *added;

	if (vec_grow(&p->mappings, &p->cap_mappings, p->nr_mappings + 1,
		     sizeof(*p->mappings), PROFILE_MAX_MAPPINGS))
		return PROFILE_NONE;
	added = &p->mappings[p->nr_mappings];
	*added = *m;
	added->filename = strpool_add(p->pool, m->filename);
	added->build_id = strpool_add(p->pool, m->build_id);
	return (uint32_t)p->nr_mappings++;
}

static bool function_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct profile_function *a =
		&((const struct profile *)ctx)->functions[item];
	const struct profile_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

bool profile_is_namesake(const struct profile *p, const char *path)
{
	return p->nr_namesakes && hashmap_get(&p->namesake_index, hash_pointer(0, path),
					      NULL, NULL, NULL) != HASHMAP_NONE;
}

const char *profile_add_namesake(struct profile *p, const char *path)
{
	const char *other;

	if (vec_grow(&p->namesakes, &p->cap_namesakes, p->nr_namesakes + 1,
		     sizeof(*p->namesakes), PROFILE_MAX_NAMESAKES))
		return path;
	other = strpool_add_namesake(p->pool, path);
	if (other == path || hashmap_add(&p->namesake_index, hash_pointer(0, other),
					 (uint32_t)p->nr_namesakes))
		return path;
	p->namesakes[p->nr_namesakes++] = other;
	return other;
}

uint32_t profile_add_function(struct profile *p, const struct profile_function *f)
{
	struct profile_function added = {
		.name = strpool_add(p->pool, f->name),
		.system_name = strpool_add(p->pool, f->system_name),
		.filename = profile_is_namesake(p, f->filename)
				    ? f->filename
				    : strpool_add(p->pool, f->filename),
		.start_line = f->start_line,
	};
	uint64_t hash;
	uint32_t item;

	if (added.system_name == added.name)
		added.system_name = strpool_add(p->pool, "");
	hash = hash_pointer(hash_u64(0, added.start_line), added.name);
	hash = hash_pointer(hash_pointer(hash, added.system_name), added.filename);
	item = hashmap_get(&p->function_index, hash, function_eq, &added, p);
	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&p->functions, &p->cap_functions, p->nr_functions + 1,
		     sizeof(*p->functions), PROFILE_MAX_FUNCTIONS))
		return PROFILE_NONE;
	if (hashmap_add(&p->function_index, hash, (uint32_t)p->nr_functions))
		return PROFILE_NONE;
	p->functions[p->nr_functions] = added;
	return (uint32_t)p->nr_functions++;
}

struct profile_line profile_add_frame(struct profile *p, const struct frame *frame,
				      const char *filename)
{
	const struct profile_function function = {
		.name = frame->function,
		.system_name = frame->system_name,
		.filename = filename,
		.start_line = frame->start_line,
	};

	return (struct profile_line){profile_add_function(p, &function), frame->line};
}

struct location_key {
	struct profile_location location;
	const struct profile_line *lines;
};

static bool lines_eq(const struct profile_line *a, const struct profile_line *b,
		     size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (a[i].function != b[i].function || a[i].line != b[i].line)
			return false;
	return true;
}

static bool location_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_location *a = &p->locations[item];
	const struct location_key *k = key;
	const struct profile_location *b = &k->location;

	return a->mapping == b->mapping && a->address == b->address &&
	       a->miss == b->miss && a->nr_lines == b->nr_lines &&
	       (!b->nr_lines ||
		lines_eq(&p->lines[a->first_line], k->lines, b->nr_lines));
}

static bool location_is_sound(const struct profile *p, const struct location_key *key,
			      size_t nr)
{
	if (key->location.mapping != PROFILE_NONE &&
	    key->location.mapping >= p->nr_mappings)
		return false;
	if (nr > PROFILE_MAX_LINES - p->nr_lines)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (key->lines[i].function != PROFILE_NONE &&
		    key->lines[i].function >= p->nr_functions)
			return false;
	return true;
}

uint32_t profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			      enum miss miss, const struct profile_line *lines, size_t nr)
{
	struct location_key key = {
		.location = {.mapping = mapping,
			     .address = address,
			     .first_line = (uint32_t)p->nr_lines,
			     .nr_lines = (uint32_t)nr,
			     .miss = miss},
		.lines = lines,
	};
	uint64_t hash = hash_u64(hash_u64(mapping, address), (uint64_t)miss << 32 | nr);
	uint32_t item;

	if (!location_is_sound(p, &key, nr))
		return PROFILE_NONE;
	for (size_t i = 0; i < nr; i++)
		hash = hash_u64(hash, (uint64_t)lines[i].function << 32 | lines[i].line);
	item = hashmap_get(&p->location_index, hash, location_eq, &key, p);
	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&p->lines, &p->cap_lines, p->nr_lines + nr, sizeof(*p->lines),
		     PROFILE_MAX_LINES) ||
	    vec_grow(&p->locations, &p->cap_locations, p->nr_locations + 1,
		     sizeof(*p->locations), PROFILE_MAX_LOCATIONS))
		return PROFILE_NONE;
	if (hashmap_add(&p->location_index, hash, (uint32_t)p->nr_locations))
		return PROFILE_NONE;
	for (size_t i = 0; i < nr; i++)
		p->lines[p->nr_lines++] = lines[i];
	p->locations[p->nr_locations] = key.location;
	return (uint32_t)p->nr_locations++;
}

/* The samples of a profile: one entry per distinct stack, labels and status. */

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
	uint64_t hash = hash_bytes(key->status, key->locations,
				   key->nr_locations * sizeof(*key->locations));

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

/* @key first label of a run that ends with the last label */
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
		return first; /* the array may be NULL */
	labels = &p->labels[first];
	hash = labels_hash(labels, p->nr_labels - first);
	item = hashmap_get(&p->label_index, hash, labels_eq, labels, p);
	if (item != HASHMAP_NONE) {
		p->nr_labels = first;
		return item;
	}
	/* Out of memory for the index: not shared. */
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

/* Adds values. Sums saturate, because a hostile file could make them overflow. */
static void add_value(struct profile *p, const struct profile_sample *s, uint32_t value,
		      int64_t amount)
{
	int64_t *sum;

	sum = &p->values[s->first_value + value];
	if (__builtin_add_overflow(*sum, amount, sum))
		*sum = amount < 0 ? INT64_MIN : INT64_MAX;
}

uint32_t profile_add_sample(struct profile *p, const uint32_t *locations, size_t nr,
			    const struct profile_label *labels, size_t nr_labels,
			    uint32_t status, const int64_t *values)
{
	struct sample_key key = {.locations = locations,
				 .labels = labels,
				 .nr_locations = nr,
				 .nr_labels = nr_labels,
				 .status = status};
	uint64_t hash = sample_hash(&key);
	uint32_t item = hashmap_get(&p->sample_index, hash, sample_eq, &key, p);

	if (item == HASHMAP_NONE) {
		for (size_t i = 0; i < nr; i++)
			if (locations[i] >= p->nr_locations)
				return PROFILE_NONE;
		item = insert(p, &key, hash);
	}
	if (item == PROFILE_NONE)
		return PROFILE_NONE;
	for (uint32_t i = 0; i < p->nr_value_types; i++)
		add_value(p, &p->samples[item], i, values[i]);
	return item;
}

/* Machine code that a profile stores (profile.h), with a size limit for any source. */

static size_t code_bytes(const struct profile_code *code)
{
	return code->nr_rows * sizeof(*code->rows) + (code->bytes ? code->size_bytes : 0);
}

static bool is_sound(const struct profile *p, const struct profile_code *code)
{
	uint64_t at = code->address;

	if (!code->size_bytes || !code->nr_rows ||
	    code->address > UINT64_MAX - code->size_bytes ||
	    (code->mapping >= p->nr_mappings && code->mapping != PROFILE_NONE))
		return false;
	for (size_t i = 0; i < code->nr_rows; i++) {
		const struct profile_code_row *row = &code->rows[i];

		if (row->address < at || (row->at.function >= p->nr_functions &&
					  row->at.function != PROFILE_NONE))
			return false;
		at = row->address;
	}
	return at <= code->address + code->size_bytes;
}

int profile_add_code(struct profile *p, const struct profile_code *code)
{
	struct profile_extra *extra = &p->extra;
	_cleanup_free_ struct profile_code_row *rows = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct profile_code *added;

	if (code->nr_rows > PROFILE_MAX_CODE_BYTES / sizeof(*rows) ||
	    code->size_bytes > (code->bytes ? PROFILE_MAX_CODE_BYTES : UINT64_MAX) ||
	    code_bytes(code) > PROFILE_MAX_CODE_BYTES - extra->codes_bytes)
		return -ENOSPC;
	if (!is_sound(p, code))
		return -EINVAL;
	rows = calloc(code->nr_rows, sizeof(*rows));
	if (code->bytes)
		bytes = malloc(code->size_bytes);
	if (!rows || (code->bytes && !bytes) ||
	    vec_grow(&extra->codes, &extra->cap_codes, extra->nr_codes + 1,
		     sizeof(*extra->codes), 0))
		return -ENOMEM;
	memcpy(rows, code->rows, code->nr_rows * sizeof(*rows));
	if (bytes)
		memcpy(bytes, code->bytes, code->size_bytes);
	added = &extra->codes[extra->nr_codes++];
	*added = *code;
	added->rows = take_ptr(rows);
	added->bytes = take_ptr(bytes);
	extra->codes_bytes += code_bytes(added);
	return 0;
}

/* Texts of a profile: the command, warnings, comments, a summary. */

static int add_sentence(struct profile *p, const char ***list, size_t *nr, size_t *cap,
			const char *sentence)
{
	int r = vec_grow(list, cap, *nr + 1, sizeof(**list), PROFILE_MAX_SENTENCES);

	if (r)
		return r;
	(*list)[(*nr)++] = strpool_add(p->pool, sentence);
	return 0;
}

int profile_add_warning(struct profile *p, const char *sentence)
{
	struct profile_extra *extra = &p->extra;

	return add_sentence(p, &extra->warnings, &extra->nr_warnings,
			    &extra->cap_warnings, sentence);
}

int profile_add_comment(struct profile *p, const char *sentence)
{
	return add_sentence(p, &p->comments, &p->nr_comments, &p->cap_comments, sentence);
}

int profile_set_command(struct profile *p, char *const *argv)
{
	const char **copy = NULL;
	size_t nr = 0;

	if (argv && argv[0]) {
		while (argv[nr])
			nr++;
		copy = calloc(nr + 1, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		for (size_t i = 0; i < nr; i++)
			copy[i] = strpool_add(p->pool, argv[i]);
	}
	free(p->extra.command);
	p->extra.command = copy;
	return 0;
}

bool profile_is_of_arm64(const struct profile_extra *extra)
{
	return extra->present && !strcmp(extra->arch, "aarch64");
}

/* Prints the command line, cut at @size. */
static void print_command(char *buf, size_t size, const char *const *command)
{
	buf[0] = '\0';
	while (*command && text_append(buf, size, " %s", *command))
		command++;
}

/*
 * lineburn 0.1.0: 5012 samples, 50.6 s of CPU in 60.0 s on 4 CPUs at 99 Hz, 0 lost,
 * 12 missed; ./a.out 3
 * lineburn 0.1.0: 5012 samples, 5012 page-faults in 60.0 s on 4 CPUs, 0 lost, 0 missed; -a
 */
int profile_add_summary(struct profile *p)
{
	const struct profile_extra *extra = &p->extra;
	uint64_t samples = 0, sum = 0;
	char command[256], measured[128], rate[32] = "", sentence[768];

	for (size_t i = 0; i < p->nr_samples; i++) {
		samples += (uint64_t)profile_value(p, &p->samples[i], p->count_value);
		sum += (uint64_t)profile_value(p, &p->samples[i], 1);
	}
	if (p->cpu_value != PROFILE_NONE)
		snprintf(measured, sizeof(measured), "%.1f s of CPU", (double)sum / 1e9);
	else
		snprintf(measured, sizeof(measured), "%" PRIu64 " %s", sum,
			 p->value_types[1].type);
	if (extra->freq_hz)
		snprintf(rate, sizeof(rate), " at %u Hz", extra->freq_hz);
	if (extra->command)
		print_command(command, sizeof(command), extra->command);
	else
		snprintf(command, sizeof(command), " %s", extra->target);
	snprintf(sentence, sizeof(sentence),
		 "lineburn %s: %" PRIu64 " samples, %s in %.1f s on %u CPUs%s, %" PRIu64
		 " lost, %" PRIu64 " missed;%s",
		 extra->version, samples, measured, (double)extra->wall_ns / 1e9,
		 extra->nr_cpus, rate, extra->losses.sampled - extra->losses.counted,
		 extra->losses.missed, command);
	return profile_add_comment(p, sentence);
}

static const struct {
	const char *language, *suffixes; /* each between spaces */
} languages[] = {
	{"c", " c h "},
	{"c++", " cc cpp cxx c++ C hh hpp hxx h++ ipp tcc inl "},
	{"rust", " rs "},
	{"go", " go "},
	{"python", " py pyw "},
	{"cython", " pyx pxd "},
	{"javascript", " js mjs cjs jsx "},
	{"typescript", " ts tsx mts cts "},
	{"java", " java "},
	{"kotlin", " kt "},
	{"scala", " scala "},
	{"clojure", " clj "},
	{"c#", " cs "},
	{"f#", " fs "},
	{"ruby", " rb "},
	{"php", " php "},
	{"lua", " lua "},
	{"perl", " pl pm "},
	{"assembly", " s S asm "},
	{"fortran", " f F f90 F90 f95 f03 f08 for "},
	{"zig", " zig "},
	{"d", " d "},
	{"swift", " swift "},
	{"objective-c", " m "},
	{"objective-c++", " mm "},
	{"julia", " jl "},
	{"nim", " nim "},
	{"ocaml", " ml "},
	{"haskell", " hs "},
	{"ada", " adb ads "},
	{"cuda", " cu cuh "},
	{"erlang", " erl "},
	{"elixir", " ex exs "},
	{"dart", " dart "},
	{"v", " v "},
	{"crystal", " cr "},
	{"pascal", " pas "},
};

const char *language_of(const char *path, bool jit)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	if (!dot) /* the C++ library's headers have no suffix */
		return strstr(path, "/c++/") ? "c++" : "";
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (match_word(dot + 1, languages[i].suffixes))
			return jit && !strcmp(languages[i].language, "python")
				       ? "numba"
				       : languages[i].language;
	return "";
}

static const char *const names[] = {
	[LB_STACK_COMPLETE] = "complete",
	[LB_STACK_NO_USER] = "no-user",
	[LB_STACK_TRUNCATED] = "truncated",
	[LB_STACK_BAD_FP] = "bad-fp",
	[LB_STACK_FAULT] = "fault",
	[LB_STACK_NO_REGS] = "no-regs",
	[LB_STACK_LEAF_ONLY] = "leaf-only",
	[LB_STACK_NO_BODY] = "no-body",
	[LB_STACK_NO_MAPPING] = "no-mapping",
	[LB_STACK_NO_TABLE] = "no-table",
	[LB_STACK_UNSUPPORTED] = "unsupported",
	[LB_STACK_BAD_CFA] = "bad-cfa",
	[LB_STACK_32_BIT] = "32-bit",
	[LB_STACK_GUESSED] = "guessed",
	[LB_STACK_REPLACED] = "replaced",
	[LB_STACK_DERIVED] = "derived",
};
_Static_assert(ARRAY_SIZE(names) == LB_NR_STACK_STATUS, "one name per status");

const char *stack_status_name(uint32_t status)
{
	return names[status < LB_NR_STACK_STATUS ? status : LB_STACK_COMPLETE];
}

uint32_t stack_status_from_name(const char *name)
{
	for (uint32_t i = 0; i < LB_NR_STACK_STATUS; i++)
		if (!strcmp(names[i], name))
			return i;
	return LB_NR_STACK_STATUS;
}

bool stack_status_is_incomplete(uint32_t status)
{
	return status != LB_STACK_COMPLETE && status != LB_STACK_NO_USER &&
	       status != LB_STACK_GUESSED && status != LB_STACK_DERIVED &&
	       status < LB_NR_STACK_STATUS;
}

/* ---- values ---- */

bool profile_has_cpu_period(const struct profile *p)
{
	return p->period > 0 && !strcmp(p->period_type.type, "cpu") &&
	       !strcmp(p->period_type.unit, "nanoseconds");
}

uint32_t profile_shown_value(const struct profile *p)
{
	if (p->cpu_value != PROFILE_NONE)
		return p->cpu_value;
	if (p->count_value != PROFILE_NONE &&
	    (profile_has_cpu_period(p) || !*p->default_sample_type))
		return p->count_value;
	for (uint32_t i = 0; i < p->nr_value_types && *p->default_sample_type; i++)
		if (!strcmp(p->value_types[i].type, p->default_sample_type))
			return i;
	return p->nr_value_types ? (uint32_t)p->nr_value_types - 1 : PROFILE_NONE;
}

/* ---- build ids ---- */

size_t build_id_parse(const char *hex, uint8_t ret[BUILD_ID_MAX_BYTES])
{
	size_t len = strlen(hex) / 2;

	if (strlen(hex) % 2 || len > BUILD_ID_MAX_BYTES ||
	    hex[strspn(hex, "0123456789abcdef")])
		return 0;
	for (size_t i = 0; i < len; i++) {
		char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		ret[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return len;
}
