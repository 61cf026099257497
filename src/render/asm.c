// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annotate --asm: instructions under their source lines.
 *
 * mean  /home/me/mean.c:3   self 92.1 %
 *   921 samples; 24 instructions, 78 bytes at 1139 in mean
 *
 * self %  samples  address  instruction
 *
 * line 7   90.4 %   sum += x[i] / d;
 *    1.1       11     1150  mov     eax, dword ptr [rdi]
 *                      ...  2 instructions without samples
 *   88.0      880     1156  add     ecx, eax           ; div_of util.h:3
 *    1.3       13     1158  jne     0x1150             ; -> line 7 (back)
 */
#include "render/asm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/path.h"
#include "base/search.h"
#include "render/figure.h"
#include "render/listing.h"
#include "render/render.h"
#include "render/text.h"

/* Returns the file of a place; "": unknown. */
static const char *place_file(const struct profile *p, struct profile_line place)
{
	return place.function == PROFILE_NONE ? ""
					      : p->functions[place.function].filename;
}

static struct profile_line place_of(const struct placed_instruction *in)
{
	return in->own.line ? in->own : in->row->at;
}

/* Returns the line at @address of the piece; line 0: not in the piece, or no line. */
static struct profile_line place_at(const struct machine_piece *piece, uint64_t address)
{
	size_t at =
		SEARCH_FIRST(i, piece->nr, piece->placed[i].decoded->address >= address);

	if (at < piece->nr && piece->placed[at].decoded->address == address)
		return place_of(&piece->placed[at]);
	return (struct profile_line){.function = PROFILE_NONE};
}

static bool has_samples(const struct placed_instruction *in)
{
	return !weight_is_zero(&in->self) || !weight_is_zero(&in->below);
}

static json_t *place_value(const struct profile *p, struct profile_line place)
{
	return json_text(
		place.function == PROFILE_NONE ? "" : p->functions[place.function].name);
}

/* Bytes in memory order: "f30f2ac0". */
static json_t *bytes_value(const uint8_t *bytes, size_t nr)
{
	char text[2 * 255 + 1];

	for (size_t i = 0; i < nr && i < 255; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_string(nr ? text : "");
}

static json_t *instruction_value(struct json_builder *b, const struct profile *p,
				 const struct machine_piece *piece,
				 const struct placed_instruction *in)
{
	json_t *value = json_object();

	json_set(b, value, "address", json_count(in->decoded->address));
	json_set(b, value, "bytes",
		 bytes_value(piece->bytes + (in->decoded->address - piece->code->address),
			     in->decoded->size_bytes));
	json_set(b, value, "text", json_text(in->decoded->text));
	json_set(b, value, "target",
		 in->decoded->has_target ? json_count(in->decoded->target) : json_null());
	json_set(b, value, "line", json_count(in->row->at.line));
	json_set(b, value, "file", json_text(place_file(p, in->row->at)));
	json_set(b, value, "function", place_value(p, in->row->at));
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
	json_set(b, value, "file", json_text(place_file(p, own)));
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
			 instruction_value(b, p, piece, &piece->placed[i]));
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

#define MNEMONIC_COLUMNS        7
#define MAX_INSTRUCTION_COLUMNS 40 /* longer ones are followed by their comment */

struct asm_listing {
	struct listing l;
	/* width of the column in this piece, up to MAX_INSTRUCTION_COLUMNS */
	size_t instruction_columns;
	struct tally files; /* (path, 0); numbers the files of the attribution */
	bool has_hidden; /* unknown operands were printed */
};

/* ---- comments after an instruction ---- */

struct comment {
	char text[1024];
};

#define COMMENT(c, fmt, ...)                                                        \
	text_append((c)->text, sizeof((c)->text), "%s" fmt, *(c)->text ? ", " : "", \
		    __VA_ARGS__)

/* Appends the origin of inlined code: "diffuse dither.h:6". */
static void comment_inlined(const struct listing *l, struct comment *c,
			    const struct placed_instruction *in)
{
	const struct profile *p = l->in->profile;
	const struct profile_line *at = &in->row->at;

	if (!at->line || at->function == PROFILE_NONE || at->function == in->own.function)
		return;
	COMMENT(c, "%.200s %.200s:%" PRIu32, p->functions[at->function].name,
		path_basename(place_file(p, *at)), at->line);
}

static void comment_target(const struct listing *l, struct comment *c,
			   const struct machine_piece *piece,
			   const struct placed_instruction *in)
{
	const struct profile *p = l->in->profile;
	const struct profile_line own = {.function = piece->function};
	struct profile_line place;
	const char *back = in->decoded->target <= in->decoded->address ? " (back)" : "";

	if (!in->decoded->has_target || in->decoded->flow != INSTRUCTION_JUMP)
		return;
	place = place_at(piece, in->decoded->target);
	if (place.line && strcmp(place_file(p, place), place_file(p, own)))
		COMMENT(c, "-> %.200s:%" PRIu32 "%s", path_basename(place_file(p, place)),
			place.line, back);
	else if (place.line)
		COMMENT(c, "-> line %" PRIu32 "%s", place.line, back);
	else if (in->decoded->target - piece->code->address >= piece->code->size_bytes)
		COMMENT(c, "%s", "leaves the function");
}

static void compose_comment(const struct listing *l, struct comment *c,
			    const struct machine_piece *piece,
			    const struct placed_instruction *in)
{
	double kernel = listing_share(l, &in->kernel),
	       below = listing_share(l, &in->below);

	comment_inlined(l, c, in);
	comment_target(l, c, piece, in);
	if (kernel > 0)
		COMMENT(c, "%s %% in the kernel", figure_percent(kernel).text);
	if (below > 0)
		COMMENT(c, "%s %% in what it calls", figure_percent(below).text);
}

/* ---- rows ---- */

/* Columns left of the instruction: "%7s  %7s  %*x  ". */
static size_t instruction_column(const struct listing *l)
{
	return 7 + 2 + 7 + 2 + (size_t)l->digits + 2;
}

/* Pads the mnemonic, so that operands form a column. */
static void compose_text(char *buf, size_t size, const struct placed_instruction *in)
{
	size_t mnemonic = strcspn(in->decoded->text, " ");

	snprintf(buf, size, "%-*.*s%s",
		 in->decoded->text[mnemonic] ? MNEMONIC_COLUMNS : 0, (int)mnemonic,
		 in->decoded->text, in->decoded->text + mnemonic);
}

static size_t widest_instruction(const struct machine_piece *piece)
{
	size_t widest = 0;

	for (size_t i = 0; i < piece->nr; i++) {
		char text[256];
		size_t columns;

		compose_text(text, sizeof(text), &piece->placed[i]);
		columns = text_columns(text, MAX_INSTRUCTION_COLUMNS);
		widest = columns > widest ? columns : widest;
	}
	return widest < MAX_INSTRUCTION_COLUMNS ? widest : MAX_INSTRUCTION_COLUMNS;
}

static void print_text(struct asm_listing *a, const struct machine_piece *piece,
		       const struct placed_instruction *in)
{
	const struct listing *l = &a->l;
	size_t column = instruction_column(l);
	struct comment comment = {""};
	char text[256];
	size_t used;

	compose_text(text, sizeof(text), in);
	a->has_hidden |= piece->not_linked && strchr(in->decoded->text, '?');
	used = text_cell(l->out, text, listing_room(l, column));
	compose_comment(l, &comment, piece, in);
	if (!*comment.text)
		return;
	if (used < a->instruction_columns) {
		text_spaces(l->out, a->instruction_columns - used);
		used = a->instruction_columns;
	}
	fputs("  ", l->out);
	paint_begin(l, PAINT_NAME);
	fputs("; ", l->out);
	text_cell(l->out, comment.text, listing_room(l, column + used + 4));
	paint_end(l, PAINT_NAME);
}

static void print_instruction(struct asm_listing *a, const struct machine_piece *piece,
			      const struct placed_instruction *in)
{
	const struct listing *l = &a->l;
	double self = listing_share(l, &in->self);
	enum paint heat = paint_heat(l, self);
	enum paint style = has_samples(in) ? PAINT_PLAIN : PAINT_DIM;

	paint_print(l, heat, "%7s", figure_percent(self).text);
	if (in->self.samples)
		fprintf(l->out, "  %7" PRIu64 "  ", in->self.samples);
	else
		text_spaces(l->out, 11);
	paint_begin(l, style);
	fprintf(l->out, "%*" PRIx64 "  ", l->digits, in->decoded->address);
	print_text(a, piece, in);
	paint_end(l, style);
	fputc('\n', l->out);
}

/* Separates code of different lines. */
static void print_gap(const struct listing *l)
{
	paint_print(l, PAINT_DIM, "%*s\n", (int)instruction_column(l) - 2, "--");
}

static void print_skipped(const struct listing *l, size_t nr)
{
	paint_print(l, PAINT_DIM, "%*s  %s without samples\n",
		    (int)instruction_column(l) - 2, "...",
		    figure_count(nr, "instruction", "instructions").text);
}

static const char *source_text(const struct asm_listing *a, struct profile_line place)
{
	const struct render_input *in = a->l.in;
	uint32_t file =
		tally_find(&a->files, tally_key(place_file(in->profile, place)), 0);
	const struct attribution_source *source;

	if (file == PROFILE_NONE)
		return NULL;
	source = &in->attribution->files[file].source;
	return place.line && place.line <= source->nr_lines
		       ? source->lines[place.line - 1]
		       : NULL;
}

/* "line 17   13.7 %   row[x] = new;": the figure is a sum, so it is not in a column. */
static void print_line_heading(const struct asm_listing *a,
			       const struct machine_piece *piece,
			       const struct asm_line *line)
{
	const struct listing *l = &a->l;
	const struct profile *p = l->in->profile;
	const char *text = source_text(a, line->place);
	const char *file = place_file(p, line->place);
	const char *own =
		place_file(p, (struct profile_line){.function = piece->function});
	double self = listing_share(l, &line->self);
	char place[600];

	if (!line->place.line)
		snprintf(place, sizeof(place), "no source line");
	else if (strcmp(file, own))
		snprintf(place, sizeof(place), "%.500s:%" PRIu32, path_basename(file),
			 line->place.line);
	else
		snprintf(place, sizeof(place), "line %" PRIu32, line->place.line);
	fputc('\n', l->out);
	paint_cell(l, PAINT_BOLD, place, listing_room(l, 20));
	fprintf(l->out, self > 0 ? "   %s %%" : "%s", figure_percent(self).text);
	if (text) {
		fputs("   ", l->out);
		text += strspn(text, " \t");
		paint_cell(l, PAINT_BOLD, text, listing_room(l, strlen(place) + 14));
	}
	fputc('\n', l->out);
}

static bool line_is_shown(const struct listing *l, const struct asm_line *line)
{
	double self = listing_share(l, &line->self),
	       below = listing_share(l, &line->below);

	return (self > 0 && self >= l->opts->min_share) ||
	       (below > 0 && below >= l->opts->min_share);
}

static void print_rows(struct asm_listing *a, const struct asm_lines *lines,
		       const struct asm_line *line)
{
	const struct listing *l = &a->l;
	struct asm_rows rows = {lines, line, l->opts->context, 0};
	const struct placed_instruction *last = NULL;
	struct asm_row row;

	while (asm_rows_next(&rows, &row)) {
		if (!row.instruction)
			print_skipped(l, row.nr_skipped);
		else if (last && row.instruction != last + 1)
			print_gap(l);
		if (row.instruction)
			print_instruction(a, lines->piece, row.instruction);
		last = row.instruction;
	}
}

static void print_lines(struct asm_listing *a, const struct asm_lines *lines)
{
	const struct listing *l = &a->l;
	const struct machine_piece *piece = lines->piece;
	struct weight rest = {0};
	size_t nr_lines = 0, nr_instructions = 0;

	for (size_t i = 0; i < lines->nr; i++) {
		const struct asm_line *line = &lines->items[i];

		if (!line_is_shown(l, line)) {
			nr_lines++;
			nr_instructions += line->nr;
			weight_add(&rest, line->self);
			continue;
		}
		print_line_heading(a, piece, line);
		print_rows(a, lines, line);
	}
	if (!nr_lines)
		return;
	paint_print(l, PAINT_DIM, "\n%7s           %*s  %s, %s, not shown\n",
		    figure_percent(listing_share(l, &rest)).text, l->digits, "...",
		    figure_count(nr_lines, "more line", "more lines").text,
		    figure_count(nr_instructions, "instruction", "instructions").text);
}

/* ---- pieces ---- */

static void print_facts(const struct listing *l, const struct machine_piece *piece)
{
	const struct profile *p = l->in->profile;
	const char *object =
		piece->code->mapping < p->nr_mappings
			? path_basename(p->mappings[piece->code->mapping].filename)
			: "";
	char kernel[64] = "", instructions[64] = "";

	if (piece->kernel.samples)
		snprintf(kernel, sizeof(kernel), ", %" PRIu64 " of them in the kernel",
			 piece->kernel.samples);
	if (piece->nr)
		snprintf(instructions, sizeof(instructions), "%s, ",
			 figure_count(piece->nr, "instruction", "instructions").text);
	paint_begin(l, PAINT_DIM);
	listing_sentence(l, 2, 2, "%s%s; %s%" PRIu64 " bytes at %" PRIx64 "%s%.200s",
			 figure_count(piece->self.samples, "sample", "samples").text,
			 kernel, instructions, piece->code->size_bytes,
			 piece->code->address, *object ? " in " : "", object);
	paint_end(l, PAINT_DIM);
	if (*piece->note) {
		paint_begin(l, PAINT_WARNING);
		listing_sentence(l, 2, 2, "%s", piece->note);
		paint_end(l, PAINT_WARNING);
	}
}

static void print_piece_heading(const struct listing *l,
				const struct machine_piece *piece)
{
	const struct profile *p = l->in->profile;
	const struct profile_function *f =
		piece->function == PROFILE_NONE ? NULL : &p->functions[piece->function];
	char figures[64], where[4400] = "";
	size_t columns;

	snprintf(figures, sizeof(figures), "   self %.1f %%",
		 100 * listing_share(l, &piece->self));
	if (f && *f->filename)
		snprintf(where, sizeof(where), f->start_line ? "%.4300s:%u" : "%.4300s",
			 f->filename, f->start_line);
	fputc('\n', l->out);
	columns = paint_cell(l, PAINT_BOLD, f && *f->name ? f->name : "[no name]",
			     listing_room(l, strlen(figures)));
	if (*where) {
		fputs("  ", l->out);
		text_cell_tail(l->out, where,
			       listing_room(l, columns + 2 + strlen(figures)));
	}
	fprintf(l->out, "%s\n", figures);
	print_facts(l, piece);
}

static int print_piece(struct asm_listing *a, const struct machine_piece *piece)
{
	struct listing *l = &a->l;
	_cleanup_(asm_lines_deinit) struct asm_lines lines = {0};
	uint64_t last = piece->nr ? piece->placed[piece->nr - 1].decoded->address : 0;

	print_piece_heading(l, piece);
	if (!piece->nr)
		return 0;
	if (asm_lines_init(&lines, l->in->profile, piece))
		return -ENOMEM;
	a->instruction_columns = widest_instruction(piece);
	l->digits = 7;
	for (last >>= 28; last; last >>= 4)
		l->digits++;
	fputc('\n', l->out);
	paint_print(l, PAINT_DIM, " self %%  samples  %*s  instruction\n", l->digits,
		    "address");
	print_lines(a, &lines);
	return 0;
}

static void print_legend(const struct listing *l)
{
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(
		l, 0, 7,
		"self:  %s at the instruction itself and in the kernel on its behalf",
		counted_name(l->in->attribution));
	paint_end(l, PAINT_DIM);
}

static int print_pieces(struct asm_listing *a)
{
	const struct machine_code *m = a->l.in->machine_code;
	int rc = attribution_number_files(a->l.in->attribution, &a->files);

	for (size_t i = 0; i < m->nr && !rc; i++)
		rc = print_piece(a, &m->pieces[i]);
	tally_deinit(&a->files);
	return rc;
}

static void print_closing(const struct asm_listing *a)
{
	const struct listing *l = &a->l;
	const struct machine_code *m = l->in->machine_code;

	if (m->nr_left_out) {
		paint_print(
			l, PAINT_DIM, "\n%s of code not shown, self %.1f %% together\n",
			figure_count(m->nr_left_out, "more piece", "more pieces").text,
			100 * listing_share(l, &m->left_out));
	}
	if (l->hottest <= 0)
		return;
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(
		l, 0, 0,
		"The cost sits on the instruction that waits for it: look for the "
		"slow load, division or call just before it, or for what computes "
		"its operands.");
	if (a->has_hidden)
		listing_sentence(
			l, 0, 0,
			"\"?\" is an address that the JIT's linker wrote into the "
			"code after this copy was made.");
	paint_end(l, PAINT_DIM);
}

int render_asm(const struct render_input *in, const struct render_options *opts,
	       FILE *out)
{
	const struct machine_code *m = in->machine_code;
	struct asm_listing a = {.l = {.in = in, .opts = opts, .out = out}};
	struct listing *l = &a.l;
	int rc;

	for (size_t i = 0; i < m->nr; i++)
		for (size_t k = 0; k < m->pieces[i].nr; k++)
			listing_heat(l, listing_share(l, &m->pieces[i].placed[k].self));
	render_head(l);
	print_legend(l);
	rc = print_pieces(&a);
	if (rc)
		return rc;
	print_closing(&a);
	render_misses(l);
	return render_finish(out);
}

/* ---- lines of a listing ---- */

/* Lines of the function's own file come first, code without a line last. */
static int compare_places(const struct asm_lines *l, struct profile_line a,
			  struct profile_line b)
{
	const struct profile *p = l->p;
	const char *file_a = place_file(p, a), *file_b = place_file(p, b);
	const char *own =
		place_file(p, (struct profile_line){.function = l->piece->function});
	int order;

	if (!a.line || !b.line)
		return !a.line - !b.line;
	order = !!strcmp(file_a, own) - !!strcmp(file_b, own);
	if (!order)
		order = strcmp(file_a, file_b);
	return order ? order : (a.line > b.line) - (a.line < b.line);
}

static int compare_instructions(const void *va, const void *vb, void *ctx)
{
	const struct asm_lines *l = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	int order = compare_places(l, place_of(&l->piece->placed[a]),
				   place_of(&l->piece->placed[b]));

	return order ? order : (a > b) - (a < b);
}

int asm_lines_init(struct asm_lines *lines, const struct profile *p,
		   const struct machine_piece *piece)
{
	size_t nr = piece->nr;

	*lines = (struct asm_lines){.p = p, .piece = piece};
	lines->order = calloc(nr + 1, sizeof(*lines->order));
	lines->items = calloc(nr + 1, sizeof(*lines->items));
	if (!lines->order || !lines->items) {
		asm_lines_deinit(lines);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++)
		lines->order[i] = (uint32_t)i;
	qsort_r(lines->order, nr, sizeof(*lines->order), compare_instructions, lines);
	for (size_t i = 0; i < nr; i++) {
		const struct placed_instruction *in = &piece->placed[lines->order[i]];
		struct asm_line *line = lines->nr ? &lines->items[lines->nr - 1] : NULL;

		if (!line || compare_places(lines, line->place, place_of(in))) {
			line = &lines->items[lines->nr++];
			*line = (struct asm_line){.place = place_of(in), .first = i};
		}
		line->nr++;
		weight_add(&line->self, in->self);
		weight_add(&line->below, in->below);
	}
	return 0;
}

void asm_lines_deinit(struct asm_lines *lines)
{
	free(lines->order);
	free(lines->items);
}

static const struct placed_instruction *member(const struct asm_rows *rows, size_t i)
{
	const struct asm_lines *l = rows->lines;

	return &l->piece->placed[l->order[rows->line->first + i]];
}

/* Does member @i directly follow member @i - 1 in memory? */
static bool is_contiguous(const struct asm_rows *rows, size_t i)
{
	const struct asm_lines *l = rows->lines;
	const uint32_t *order = l->order + rows->line->first;

	return order[i] == order[i - 1] + 1;
}

/* Does it have samples, or is it near an instruction of the same block that has? */
static bool is_shown(const struct asm_rows *rows, size_t i)
{
	if (has_samples(member(rows, i)))
		return true;
	for (size_t k = i; k && i - k < rows->context && is_contiguous(rows, k); k--)
		if (has_samples(member(rows, k - 1)))
			return true;
	for (size_t k = i + 1;
	     k < rows->line->nr && k - i <= rows->context && is_contiguous(rows, k); k++)
		if (has_samples(member(rows, k)))
			return true;
	return false;
}

bool asm_rows_next(struct asm_rows *rows, struct asm_row *ret)
{
	size_t i = rows->next;

	if (i >= rows->line->nr)
		return false;
	while (i < rows->line->nr && !is_shown(rows, i))
		i++;
	/* Print a single omitted row, because a note about it takes as much room. */
	if (i - rows->next > 1) {
		*ret = (struct asm_row){.nr_skipped = i - rows->next};
		rows->next = i;
		return true;
	}
	*ret = (struct asm_row){.instruction = member(rows, rows->next)};
	rows->next++;
	return true;
}
