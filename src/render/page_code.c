// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_code.h"

#include <string.h>

#include "profile/mapping_kind.h"
#include "render/page_json.h"

#define BESIDE         3 /* instructions shown before and after one with samples */
#define NUMBERS_BYTES  40 /* of an instruction, about */
#define MAX_TEXT_BYTES 256

static bool has_samples(const struct placed_instruction *in)
{
	return !weight_is_zero(&in->self) || !weight_is_zero(&in->below);
}

/* Is an instruction with samples near? */
static bool is_wanted(const struct machine_piece *piece, size_t index)
{
	size_t first = index > BESIDE ? index - BESIDE : 0;

	for (size_t i = first; i < piece->nr && i <= index + BESIDE; i++)
		if (has_samples(&piece->placed[i]))
			return true;
	return false;
}

static void add_count(struct json_builder *b, json_t *array, uint64_t n)
{
	json_add(b, array, json_count(n));
}

static uint64_t value_of(const struct attribution *a, const struct weight *w)
{
	return a->all.cpu_ns ? w->cpu_ns : w->samples;
}

static void add_instruction(struct json_builder *b, const struct render_input *in,
			    const struct tally *files,
			    const struct placed_instruction *placed, json_t *at)
{
	const struct profile *p = in->profile;
	struct profile_line line = placed->row->at;
	uint32_t file = PROFILE_NONE;

	if (line.function != PROFILE_NONE)
		file = tally_find(files, tally_key(p->functions[line.function].filename),
				  0);
	add_count(b, at, placed->decoded->address);
	json_add(b, at, json_integer(file == PROFILE_NONE ? -1 : (json_int_t)file));
	add_count(b, at, line.line);
	add_count(b, at, placed->self.samples);
	add_count(b, at, value_of(in->attribution, &placed->self));
	add_count(b, at, value_of(in->attribution, &placed->below));
}

/* @left  bytes that still fit; updated */
static json_t *piece_value(struct json_builder *b, const struct render_input *in,
			   const struct tally *files, const struct machine_piece *piece,
			   size_t *left)
{
	const struct profile *p = in->profile;
	json_t *value = json_object(), *at = json_array(), *texts = json_array();
	const char *function = "", *filename = "";

	if (piece->function != PROFILE_NONE)
		function = p->functions[piece->function].name;
	if (piece->code->mapping < p->nr_mappings)
		filename = p->mappings[piece->code->mapping].filename;
	for (size_t i = 0; i<piece->nr && * left> NUMBERS_BYTES + MAX_TEXT_BYTES; i++) {
		const struct placed_instruction *placed = &piece->placed[i];
		size_t len;

		if (!is_wanted(piece, i))
			continue;
		add_instruction(b, in, files, placed, at);
		json_add(b, texts, json_visible(placed->decoded->text, MAX_TEXT_BYTES));
		len = NUMBERS_BYTES + page_text_bytes(placed->decoded->text);
		*left -= len < *left ? len : *left;
	}
	json_set(b, value, "function", json_visible(function, MAX_TEXT_BYTES));
	json_set(b, value, "object",
		 json_visible(object_name(filename, p->pool), MAX_TEXT_BYTES));
	json_set(b, value, "note", json_visible(piece->note, 4 * MAX_TEXT_BYTES));
	json_set(b, value, "at", at);
	json_set(b, value, "texts", texts);
	return value;
}

json_t *page_code_value(struct json_builder *b, const struct render_input *in)
{
	struct tally files = {0};
	json_t *pieces = json_array();
	size_t left = PAGE_MAX_CODE_BYTES;

	if (attribution_number_files(in->attribution, &files))
		b->failed = true;
	for (size_t i = 0; in->machine_code && i < in->machine_code->nr; i++)
		json_add(b, pieces,
			 piece_value(b, in, &files, &in->machine_code->pieces[i], &left));
	tally_deinit(&files);
	return pieces;
}
