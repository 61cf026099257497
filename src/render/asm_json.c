// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/asm.h"
#include "render/asm_lines.h"

static json_t *place_value(const struct profile *p, struct profile_line place)
{
	return json_text(
		place.function == PROFILE_NONE ? "" : p->functions[place.function].name);
}

/* "f30f2ac0", as they are in memory. */
static json_t *bytes_value(const uint8_t *bytes, size_t nr)
{
	char text[2 * 255 + 1];

	for (size_t i = 0; i < nr && i < 255; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_string(nr ? text : "");
}

static json_t *instruction_value(struct json_builder *b, const struct profile *p,
				 const struct machine_piece *piece,
				 const struct instruction *in)
{
	json_t *value = json_object();

	json_set(b, value, "address", json_count(in->address));
	json_set(b, value, "bytes",
		 bytes_value(piece->bytes + (in->address - piece->code->address),
			     in->size_bytes));
	json_set(b, value, "text", json_text(in->text));
	json_set(b, value, "target",
		 in->has_target ? json_count(in->target) : json_null());
	json_set(b, value, "line", json_count(in->innermost.line));
	json_set(b, value, "file", json_text(asm_place_file(p, in->innermost)));
	json_set(b, value, "function", place_value(p, in->innermost));
	json_set(b, value, "own_line", json_count(in->own.line));
	json_set_weight(b, value, "samples", &in->self);
	json_set_weight(b, value, "kernel", &in->kernel);
	json_set_weight(b, value, "below", &in->below);
	return value;
}

static json_t *piece_value(struct json_builder *b, const struct profile *p,
			   const struct machine_piece *piece)
{
	const struct profile_line own = {.function = piece->function};
	const struct profile_code *code = piece->code;
	json_t *value = json_object(), *instructions = json_array();

	json_set(b, value, "function", place_value(p, own));
	json_set(b, value, "system_name",
		 json_text(own.function == PROFILE_NONE
				   ? ""
				   : p->functions[own.function].system_name));
	json_set(b, value, "file", json_text(asm_place_file(p, own)));
	json_set(b, value, "mapping",
		 json_text(code->mapping < p->nr_mappings
				   ? p->mappings[code->mapping].filename
				   : ""));
	json_set(b, value, "address", json_count(code->address));
	json_set(b, value, "size", json_count(code->size_bytes));
	json_set_weight(b, value, "samples", &piece->self);
	json_set(b, value, "note", json_text(piece->note));
	for (size_t i = 0; i < piece->nr; i++)
		json_add(b, instructions,
			 instruction_value(b, p, piece, &piece->instructions[i]));
	json_set(b, value, "instructions", instructions);
	return value;
}

json_t *asm_value(struct json_builder *b, const struct render_input *in)
{
	json_t *pieces = json_array();

	for (size_t i = 0; i < in->machine_code->nr; i++)
		json_add(b, pieces,
			 piece_value(b, in->profile, &in->machine_code->pieces[i]));
	return pieces;
}
